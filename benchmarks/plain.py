"""Copies of the audits at the scale at which the plain form of a paper takes one core-hour.

    python -m benchmarks.plain FOLDER

For each paper whose quick tier would take longer, FOLDER gets ``<slug>.yaml``, the audit with
smaller quick values (`SMALLER`), and ``<slug>.py``, which names the shipped experiments. Nothing
else changes: claims, checks, seeds and controls are the audit's. docs/plain.md says how the scale
was chosen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from reproaudit.audit.catalog import shipped_audits

SMALLER = {"ahn2023": {"prompts": 400}, "chen2024": {"training_sequences": 300}}
"""By paper and setting, the quick value in every experiment and reading."""

REASON = "The largest at which the plain form takes one core-hour; fixed before it was run."


def settings_in(audit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The shared settings of an audit, and those of each experiment."""
    yield audit["settings"]
    for experiment in audit["experiments"].values():
        yield experiment.get("settings") or {}


def smaller(text: str, values: dict[str, int]) -> str:
    """An audit's YAML with other quick values."""
    audit = yaml.safe_load(text)
    for settings in settings_in(audit):
        for name, value in values.items():
            if name in settings:
                settings[name]["quick"] = {"value": value, "reason": REASON}
            for setting in settings.values():
                for reading in setting.get("readings", ()):
                    if name in reading.get("with", {}):
                        reading["with"][name] = value
    dumped: str = yaml.safe_dump(audit, allow_unicode=True, sort_keys=False, width=100)
    return dumped


def main(arguments: list[str]) -> int:
    """Writes the folder and prints the names of its files."""
    if len(arguments) != 1:
        print("write: python -m benchmarks.plain FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for slug, values in SMALLER.items():
        audit, module = folder / f"{slug}.yaml", folder / f"{slug}.py"
        text = (shipped_audits() / f"{slug}.yaml").read_text(encoding="utf-8")
        audit.write_text(smaller(text, values), encoding="utf-8")
        module.write_text(
            f'"""The experiments of {slug}, as shipped."""\n\n'
            f"from reproaudit.papers.{slug} import EXPERIMENTS\n\n"
            '__all__ = ["EXPERIMENTS"]\n',
            encoding="utf-8",
        )
        print(audit, module, sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
