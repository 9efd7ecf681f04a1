"""The role of each column of a table: as the mapping says, by its name, or by what is in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reproaudit.errors import did_you_mean
from reproaudit.logs.asked import Columns
from reproaudit.logs.configurations import SEED_NAMES, is_own
from reproaudit.logs.logged import LogError, LogSource, number_of, of_columns
from reproaudit.logs.rows import Table, is_observed, is_said

STEP_NAMES = (
    "step",
    "global_step",
    "_step",
    "trainer/global_step",
    "training_iteration",
    "iteration",
    "iter",
    "train_step",
    "total_timesteps",
    "time/total_timesteps",
    "epoch",
)
"""Columns that count steps, the likelier first; capital letters make no difference."""
_TAG_COLUMNS = ("tag", "metric", "name", "key", "variable", "measurement", "quantity")
_RUN_COLUMNS = ("run_id", "run_uuid", "run_name", "run")
_SEED_LIKE = re.compile(r"(?i)seed|trial|fold|repeat|repetition|replicate|split|^run$")
_CHART = re.compile(r"(.+?) - (.+?)(__MIN|__MAX)?")
_SETTING_PREFIXES = re.compile(r"(args|hparams|params|hyper_?parameters|config|cfg)[./]", re.I)


@dataclass(frozen=True)
class TableForm:
    """The role of each column of a table.

    Attributes:
        step: the column of steps; None if there is none.
        seed: the column of seeds; None if there is none.
        run: the column that names runs.
        axes: axis -> its column.
        settings: setting -> its column.
        long: of a long table the columns of tags and of values.
        only_value: of a table with a single column of values: that column.
        status: the column that says how a run ended.
        own: columns of what is each run's own affair.
        like_seeds: where there is no column of seeds, one that may be it.
    """

    step: str | None
    seed: str | None = None
    run: str | None = None
    axes: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    long: tuple[str, str] | None = None
    only_value: str | None = None
    status: str | None = None
    own: frozenset[str] = frozenset()
    like_seeds: str | None = None

    def roles(self, columns: Sequence[str]) -> dict[str, str]:
        """Return the role of each column."""
        named = {self.step: "step", self.seed: "seed", self.run: "run", self.status: "status"}
        named |= {one: f"axis {axis}" for axis, one in self.axes.items()}
        named |= dict.fromkeys(self.settings.values(), "setting")
        named |= dict.fromkeys(self.own, "not used")
        named |= dict(zip(self.long or (), ("tag", "value"), strict=False))
        return {one: named.get(one, "measurement") for one in columns if one}


def form_of(source: LogSource, table: Table) -> TableForm:
    """Give every column its role: as the mapping says, then by its name, then by its cells."""
    asked = source.asked
    columns = table.columns
    given = asked.columns
    taken = {one for _, one in given.stated()}
    axes = {axis: one for axis, one in given.axes.items() if one in columns}
    axes |= {one: one for one in asked.axes if one in columns and one not in taken}
    lower = {one.lower(): one for one in reversed(columns) if one not in taken}
    lower = {name: one for name, one in lower.items() if one not in axes.values()}

    def first(names: Sequence[str]) -> str | None:
        return next((lower[name] for name in names if name in lower), None)

    value = lower.get("value")
    tag = first(_TAG_COLUMNS)
    is_long = tag is not None and value is not None
    usual = None if table.alone else first(STEP_NAMES)
    status = None if asked.plain else first(("status", "state"))
    run = None if asked.plain else first((*_RUN_COLUMNS, *(["name"] if status else [])))
    form = TableForm(
        step=usual if given.step is None else given.step if given.step in columns else None,
        seed=given.seed if given.seed in columns else first(SEED_NAMES),
        run=given.run if given.run in columns else run,
        axes=axes,
        long=(tag or "", value or "") if is_long else None,
        only_value=value if tag is None else None,
        status=status,
    )
    if asked.plain:
        return form
    _refuse_absent(source, table, form, given)
    known = {form.step, form.seed, form.run, form.status, *axes.values(), *(form.long or ())}
    rest = [one for one in columns if one and one not in known]
    settings = {name: one for name, one in given.settings.items() if one in columns}
    stated = set(settings.values())
    found = [one for one in rest if one not in stated and _is_setting(one, source, table, form)]
    settings |= {one: one for one in found}
    others = set(rest) - stated - set(found)
    own = [one for one in others if is_own(one) or one.startswith("tags.")]
    own = [one for one in own if not asked.wants(one)]
    like = (one for one in columns if form.seed is None and _is_like_seeds(one, table))
    return replace(form, settings=settings, own=frozenset(own), like_seeds=next(like, None))


def _is_like_seeds(column: str, table: Table) -> bool:
    """Return True for a column that may be one of seeds, by its name and its cells."""
    if not _SEED_LIKE.search(column):
        return False
    cells = [row.get(column) for _, row in table.rows]
    numbers = [number_of(one) for one in cells if is_said(one)]
    return all(one is not None and one.is_integer() and one >= 0 for one in numbers)


def _refuse_absent(source: LogSource, table: Table, form: TableForm, given: Columns) -> None:
    """Refuse a role of a column that a table with wanted numbers does not have."""
    if form.long is None and not any(map(source.asked.wants, table.columns)):
        return
    for role, column in given.stated():
        if column not in table.columns:
            raise LogError(
                source.name,
                f"found no column '{column}', which the mapping calls {role}; expected it. "
                f"{did_you_mean(column, table.columns)}{of_columns(form.roles(table.columns))}",
            )


def _is_setting(column: str, source: LogSource, table: Table, form: TableForm) -> bool:
    """Return True if a column states what runs were started with.

    It is called as one, or it holds text; and it tells runs apart, or says the same in all rows.
    """
    asked = source.asked
    if _SETTING_PREFIXES.match(column):
        return True
    if asked.wants(column) or is_own(column) or column.startswith(("tags.", "metrics.")):
        return False
    cells = [row.get(column) for _, row in table.rows]
    seen = [one for one in cells if is_said(one)]
    if not seen or any(isinstance(one, list) for one in seen):
        return False
    numbers = all(number_of(one) is not None for one in seen if is_observed(one))
    if numbers and column not in asked.settings:
        return False
    values = {str(one).strip() for one in seen}
    if len(values) == 1 or form.step is None:
        return True
    base: dict[Any, set[str]] = {}
    rows: set[Any] = set()
    for _, row in table.rows:
        which = tuple(row.get(one) for one in (form.seed, form.run) if one is not None)
        if is_said(row.get(column)):
            base.setdefault(which, set()).add(str(row[column]).strip())
        rows.add((which, row.get(form.step), *(row.get(one) for one in form.axes.values())))
    tells_apart = len(rows) < len(table.rows) and len(values) * 3 <= len(table.rows)
    return tells_apart or all(len(one) == 1 for one in base.values())


def chart_parts(table: Table) -> dict[str, Table]:
    """Return the table of each run of a chart, whose columns are called `RUN - metric`."""
    parts: dict[str, dict[str, str]] = {}
    rest = []
    for column in table.columns:
        matched = _CHART.fullmatch(column)
        if matched is None:
            rest.append(column)
        else:
            run, metric, end = matched.groups(default="")
            parts.setdefault(run, {})[metric + end] = column
    if not parts or {one.lower() for one in rest} - {*STEP_NAMES, "", "relative time (wall)"}:
        return {}
    found = {}
    for run, called in parts.items():
        named = {**{one: one for one in rest}, **called}
        rows = [(line, {n: row[old] for n, old in named.items()}) for line, row in table.rows]
        while len(rows) > 1 and not any(is_observed(rows[-1][1][one]) for one in called):
            rows.pop()  # which longer runs have
        found[run] = Table(tuple(named), rows, table.told)
    return found
