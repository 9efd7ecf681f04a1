"""Columns that tell runs apart: ``split{seed}_score``, a column for each arm or model.

A tag of the mapping may have `{seed}`, `{step}`, `{arm}` or a setting's name in braces. Such
columns become rows, each with its seed, step or settings. An arm's name in a column's is found
without.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from reproaudit.cell import SettingValue
from reproaudit.logs.asked import Asked
from reproaudit.logs.logged import number_of, some
from reproaudit.logs.names import (
    LISTED,
    SEED_COUNTS,
    is_seed_name,
    is_status_name,
    names_seed,
    normal,
)
from reproaudit.logs.rows import WITH_DEVIATION, Table

PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
COUNTED = ("seed", "step")
TAG = "tag"  # the place of a tag in a file's name, unless a setting is called so
_JOINTS = r"[./_ :|-]"
_SEED = re.compile(
    rf"(?i)(?:^|(?<={_JOINTS}))(?:seed|split|fold)[_= -]?(\d{{1,10}})(?=$|{_JOINTS})"
)


class RunLabel(NamedTuple):
    """What a column's or a file's name says: a quantity, and the run that it is of."""

    name: str  # the quantity, without what tells runs apart
    counts: Mapping[str, int]  # the seed and the step, where they are told
    settings: Mapping[str, SettingValue]  # the settings that are told, those of an arm among them
    tag: str | None = None  # the tag, where a file's name tells it


def without_places(tag: str, places: Collection[str]) -> str:
    """Return a tag with parentheses in place of the braces around these places."""
    return PLACE.sub(lambda m: f"({m[1]})" if m[1] in places else m[0], tag)


def label_by_pattern(pattern: str, text: str, asked: Asked) -> RunLabel | None:
    """Return what a text says by a pattern with places; None if it does not match."""
    names = PLACE.findall(pattern)
    parts = [re.escape(part).replace(r"\*", ".*?") for part in PLACE.split(pattern)[::2]]
    groups = [f"({_written(asked, name)})" for name in names]
    matched = re.fullmatch("".join(map("".join, zip(parts, [*groups, ""], strict=True))), text)
    if matched is None:
        return None
    counts: dict[str, int] = {}
    settings: dict[str, SettingValue] = {}
    at = dict(zip(names, matched.groups(), strict=True))
    for name, written in at.items():
        if name in COUNTED:
            counts[name] = int(written)
        elif name not in asked.axes and (name != TAG or TAG in asked.values):
            values = _known(asked, name, written)
            if values is None:
                return None
            settings |= values
    quantity = PLACE.sub(lambda m: at[m[1]] if m[1] in asked.axes else f"({m[1]})", pattern)
    return RunLabel(quantity, counts, settings, None if TAG in asked.values else at.get(TAG))


def label_of_run(name: str, asked: Asked) -> RunLabel | None:
    """Return what the mapping reads from a run's name: its last parts, as many as `names` has."""
    pattern = asked.names or ""
    tail = "/".join(name.split("/")[-pattern.count("/") - 1 :])
    return label_by_pattern(pattern, tail, asked) or label_by_pattern(f"*{pattern}*", tail, asked)


def is_called_so(name: str, asked: Asked) -> bool:
    """Return True if a run is called as the mapping says, whatever its arm and settings are."""
    pattern = PLACE.sub(lambda m: m[0] if m[1] in COUNTED else "*", asked.names or "")
    return label_of_run(name, replace(asked, names=pattern)) is not None


def is_seeded(name: str, parts: Iterable[str], asked: Asked) -> bool:
    """Return True if a run's name has its seed, by the mapping or by the words in it."""
    label = label_of_run(name, asked) if asked.names else None
    return (label is not None and "seed" in label.counts) or names_seed(asked.without_arms(parts))


def _written(asked: Asked, name: str) -> str:
    """Return a pattern for what may stand in a place: digits, a known name or value, or any."""
    if name in COUNTED:
        return r"\d{1,15}"
    if name == TAG and TAG not in asked.values:
        return r"[\w-]+"
    known = [*asked.arms] if name == "arm" else [str(value) for value in asked.values.get(name, ())]
    numbers = [r"[\d.]+(?:[eE][-+]?\d+)?"] * any(number_of(value) is not None for value in known)
    longest_first = sorted(map(re.escape, known), key=len, reverse=True)
    words = [re.sub(r"_|\\-", "[_-]", word) for word in longest_first]
    return rf"(?i:{'|'.join([*words, *numbers])})" if known else ".+?"


def _known(asked: Asked, name: str, written: str) -> Mapping[str, SettingValue] | None:
    """Return the settings that a text stands for: an arm's name, or a value of a setting."""
    if name == "arm" and asked.arms:
        return next((own for arm, own in asked.arms.items() if _same(arm, written)), None)
    for value in asked.values.get(name, ()):
        if _same(str(value), written):
            return {name: value}
    return None


def _same(known: str, written: str) -> bool:
    number = number_of(known)
    if number is not None and number == number_of(written):
        return True
    return known.lower().replace("-", "_") == written.strip().lower().replace("-", "_")


def label_by_name(column: str, asked: Asked) -> RunLabel | None:
    """Return what a column with an arm or a seed in its name holds; None if nothing wanted."""
    seeds = [*_SEED.finditer(column)]
    rest = column
    counts = {}
    labels: list[RunLabel] = []
    if len(seeds) == 1:
        before = column[: seeds[0].start()]
        after = column[seeds[0].end() :]
        rest = f"{before[:-1]}{after}" if before else after[1:]
        counts = {"seed": int(seeds[0].group(1))}
        labels = [RunLabel(rest or asked.only or "", counts, {})]
    labels += [label._replace(counts=counts) for label in _labels_by_arm(rest, asked)]
    for label in labels:
        is_of_run = normal(label.name) in SEED_COUNTS or is_status_name(label.name)
        if asked.wants(label.name) or is_of_run:
            return label
    return None


def _labels_by_arm(column: str, asked: Asked) -> Iterator[RunLabel]:
    """Yield what a column may hold of each arm whose name is in its own."""
    for arm, settings in asked.arms.items():
        named = re.escape(arm).replace("_", "[_-]")
        pattern = rf"(?i)(?:(.+?){_JOINTS})?{named}(?:{_JOINTS}(.+))?"
        matched = re.fullmatch(pattern, column)
        if matched is None:
            continue
        before, after = matched.groups()
        if before and after:
            rest = f"{before}{column[len(before)]}{after}"
        else:
            rest = before or after or asked.only or ""
        yield RunLabel(rest, {}, settings)


def spread(table: Table, asked: Asked) -> Table:
    """Return a table in which columns that tell runs apart have become rows."""
    labels: dict[str, RunLabel] = {}
    table = _with_lists_named(table, asked)
    seeded = any(map(is_seed_name, table.columns))
    for column in table.columns:
        by_pattern = (label_by_pattern(pattern, column, asked) for pattern in asked.patterns)
        named = next((label for label in by_pattern if label is not None), None)
        by_name = named is None and not asked.wants(column)
        if by_name:
            named = label_by_name(column, asked)
        if named is not None and not (by_name and seeded and named.counts):
            labels[column] = named
    if not labels:
        return table
    roles = {name: (name, "") for label in labels.values() for name in label.counts}
    for label in labels.values():
        roles |= {name: ("setting", name) for name in label.settings}
    sums = [c for c in table.columns if "seed" in roles and _is_sum(c, table, asked)]
    shared = [c for c in table.columns if not (c in labels or c in roles or c in sums)]
    names = dict.fromkeys(label.name for label in labels.values())
    rows = [(line, row) for line, cells in table.rows for row in _apart(cells, labels, shared)]
    columns = tuple(dict.fromkeys((*shared, *roles, *names)))
    sums += [column for column in shared if column in names]
    remarks = [f"numbers beside the runs were passed over: {some(sums)}"] if sums else []
    return replace(
        table,
        columns=columns,
        rows=rows,
        roles={**table.roles, **roles},
        alone=False,
        remarks=(*table.remarks, *remarks),
    )


def _is_sum(column: str, table: Table, asked: Asked) -> bool:
    """Tell whether a column has nothing but means with deviations, and is not wanted."""
    texts = table.observed(column)
    return (
        bool(texts)
        and not asked.wants(column)
        and all(isinstance(text, str) and WITH_DEVIATION.fullmatch(text) for text in texts)
    )


def _with_lists_named(table: Table, asked: Asked) -> Table:
    """Return a table whose lists are called as what they are of: ``ours`` for ``ours.values``."""
    called: dict[str, str] = {}
    for _, row in table.rows if table.alone else ():
        for column, cell in row.items():
            above, _, last = column.rpartition(".")
            name = above or asked.only or column
            numbers = isinstance(cell, list) and not any(isinstance(n, dict | list) for n in cell)
            if numbers and last.lower() in LISTED and name not in table.columns:
                called[column] = name
    if not called:
        return table
    rows = [
        (line, {called.get(column, column): cell for column, cell in row.items()})
        for line, row in table.rows
    ]
    columns = tuple(called.get(column, column) for column in table.columns)
    return replace(table, columns=columns, rows=rows)


def _apart(
    cells: Mapping[str, Any], labels: Mapping[str, RunLabel], shared: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows that a row holds side by side."""
    groups: dict[str, dict[str, Any]] = {}
    common = {column: cells[column] for column in shared if column in cells}
    for column, label in labels.items():
        if column in cells:
            own = {**label.settings, **label.counts}
            groups.setdefault(repr(own), {**common, **own})[label.name] = cells[column]
    yield from groups.values() or [common]
