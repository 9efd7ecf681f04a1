"""Copies of the audits whose plain form takes one or two core-hours, and a comparison of forms.

    python -m benchmarks.plain FOLDER
    python -m benchmarks.plain compare SLUG FAST PLAIN

For each paper whose quick tier would take longer, FOLDER gets ``<slug>.yaml``, the audit with
smaller quick values (`SMALLER`), and ``<slug>.py``, which names the shipped experiments. Nothing
else changes: claims, checks, seeds and controls are the audit's. docs/plain.md says how the scale
was chosen.

The second command reads the quick tier of two stores, and says how many of a paper's numbers differ
between the forms by more than their pairs of runs, seed by seed, let expect: a paired t-test on the
logarithm of each number after training that is not the same in both.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.stats import ttest_rel

from reproaudit.audit.catalog import shipped_audits
from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import Audit
from reproaudit.cell import canonical_settings
from reproaudit.records import Record
from reproaudit.store.records import Store

FEWEST_PAIRS = 5
"""Runs of both forms below which a number is not compared."""

SMALLER = {"ahn2023": {"prompts": 400}, "chen2024": {"training_sequences": 300}}
"""By paper and setting, the quick value in every experiment and reading."""

REASON = "By one cell of each experiment about a core-hour in the plain form; fixed before it ran."


def settings_in(audit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The shared settings of an audit, and those of each experiment."""
    yield audit["settings"]
    for experiment in audit["experiments"].values():
        yield experiment.get("settings") or {}


def smaller(audit: Audit, values: dict[str, int]) -> str:
    """An audit's YAML, in the long form, with other quick values."""
    data = audit.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for settings in settings_in(data):
        for name, value in values.items():
            if name in settings:
                settings[name]["quick"] = {"value": value, "reason": REASON}
            for setting in settings.values():
                for reading in setting.get("readings", ()):
                    if name in reading.get("with", {}):
                        reading["with"][name] = value
    dumped: str = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=100)
    return dumped


def after_training(record: Record) -> dict[str, float]:
    """Every number of a run, of a series the last."""
    measured = record.measurements
    found = dict(measured.scalars)
    arrays = {name: one.values[-1] for name, one in measured.series.items()} | dict(measured.arrays)
    for name, values in arrays.items():
        found |= {f"{name}{at}": float(one) for at, one in np.ndenumerate(values)}
    return found


def p_values(slug: str, fast: Store, plain: Store) -> list[float]:
    """The chance of pairs as far apart, for each number that differs between the forms."""
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    runs = [
        {(one.experiment, canonical_settings(one.settings), one.seed): one for one in records}
        for records in (store.records(slug, "quick") for store in (fast, plain))
    ]
    for key in sorted(runs[0].keys() & runs[1].keys()):
        numbers = [after_training(one[key]) for one in runs]
        for name in numbers[0]:
            pairs[f"{key[:2]} {name}"].append((numbers[0][name], numbers[1][name]))
    found = []
    for each in (np.array(one) for one in pairs.values() if len(one) >= FEWEST_PAIRS):
        same = np.allclose(each[:, 0], each[:, 1], rtol=1e-4, atol=0)
        if not same and each.all() and np.isfinite(each).all():
            found.append(float(ttest_rel(*np.log(np.abs(each.T))).pvalue))
    return found


def main(arguments: list[str]) -> int:
    """Writes the folder and prints the names of its files, or compares."""
    if len(arguments) == 4 and arguments[0] == "compare":
        slug, fast, plain = arguments[1:]
        found = np.array(p_values(slug, Store(Path(fast)), Store(Path(plain))))
        low, lower = np.sum(found < 0.05), np.sum(found < 0.01)
        print(
            f"{slug}: {len(found)} numbers are not the same; p < 0.05 of {low}, p < 0.01 of {lower}"
        )
        return 0
    if len(arguments) != 1:
        print(
            "write: python -m benchmarks.plain FOLDER, or compare SLUG FAST PLAIN", file=sys.stderr
        )
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for slug, values in SMALLER.items():
        audit, module = folder / f"{slug}.yaml", folder / f"{slug}.py"
        shipped = load_audit(shipped_audits() / f"{slug}.yaml")
        audit.write_text(smaller(shipped, values), encoding="utf-8")
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
