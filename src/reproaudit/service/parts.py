"""`reproaudit schema NAME`: a part of an audit or of a mapping, a kind of check, or a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reproaudit.audit.short.reference import (
    PARTS,
    Entry,
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


def parts_texts(names: Sequence[str]) -> Iterator[str]:
    """Yield what each part, kind or field is made of and means; of ``all`` the page of them.

    A UsageError on the first unknown name, once the others are explained.
    """
    entries = {part: entry(part) for part in (*PARTS, *KINDS)}
    entries |= {part: entry_of(part, *of) for part, of in MAPPING_PARTS.items()}
    explained = {name: [*_lines(name, entries)] for name in names if name != "all"}
    if "all" in names:
        yield page()
    for lines in filter(None, explained.values()):
        yield "\n".join([*lines, ""])
    for name, lines in explained.items():
        if not lines:
            hint = did_you_mean(name, entries)
            raise UsageError(f"no part or field of an audit is called '{name}'. {hint}")


def _lines(name: str, entries: Mapping[str, Entry]) -> Iterator[str]:
    """Yield what a field of this name means, and what the part of this name is made of."""
    if name not in entries or name in MAPPING_PARTS:
        for part, each in entries.items():
            meanings = (meaning for field, _, meaning in each.fields if field == name)
            yield from (f"{name} of {part}: {meaning}" for meaning in meanings)
    if name in entries:
        yield from lines_of(entries[name])
