"""`reproaudit schema NAME`: a part of an audit or of a mapping, a kind of check, or a field."""

from __future__ import annotations

from collections.abc import Mapping

from reproaudit.audit.short.reference import (
    PARTS,
    entry,
    entry_of,
    lines_of,
    page,
)
from reproaudit.checks import KINDS
from reproaudit.declarations import StrictModel
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.logs.asked import Columns
from reproaudit.logs.mapping import LoggedQuantity, MappingFile, RunRule

MAPPING_PARTS: Mapping[str, tuple[type[StrictModel], str]] = {
    "files": (
        MappingFile,
        "files:\n  arms: {baseline: base_v2}\n  mapping: {accuracy: eval/acc}\n  number: [seeds]",
    ),
    "mapping": (
        LoggedQuantity,
        "mapping:\n  accuracy: eval/acc\n  final_loss: {expression: last(v), let: {v: train/loss}}",
    ),
    "columns": (Columns, "columns: {seed: fold, step: xs, settings: [model, data]}"),
    "runs": (
        RunRule,
        'runs:\n  - {match: "base*", arm: baseline}\n  - {match: "ours/seed_3", status: crashed}',
    ),
}
"""The parts of a mapping by name, each with its model and an example."""


def part_text(name: str) -> str:
    """Return a part's fields with an example, what a field means, or ``all``.

    A UsageError on an unknown name.
    """
    if name == "all":
        return page()
    entries = {part: entry(part) for part in (*PARTS, *KINDS)}
    entries |= {part: entry_of(part, *of) for part, of in MAPPING_PARTS.items()}
    lines = [
        f"{name} of {part}: {meaning}"
        for part, each in entries.items()
        for field, _, meaning in each.fields
        if field == name
    ]
    if name in entries:
        lines = [*(lines if name in MAPPING_PARTS else ()), *lines_of(entries[name])]
    if not lines:
        hint = did_you_mean(name, entries)
        raise UsageError(f"no part or field of an audit is called '{name}'. {hint}")
    return "\n".join(lines) + "\n"
