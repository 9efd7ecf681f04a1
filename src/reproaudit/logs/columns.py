"""The role of each column of a table: as the mapping says, by its name, or by what is in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from reproaudit.errors import did_you_mean
from reproaudit.logs.asked import Asked
from reproaudit.logs.logged import LogError, LoggedRun, LogSource, number_of, of_columns
from reproaudit.logs.names import (
    CLOCK,
    CONTEXT,
    CONTEXT_NAMES,
    RUN_NAMES,
    SEED_LIKE,
    SEED_NAMES,
    SETTING_PREFIXES,
    STEP_NAMES,
    TAG_NAMES,
    UNUSED_NAMES,
    counts_steps,
    is_exit_code,
    is_own,
    is_seed_name,
    is_set_below,
    is_setting_name,
    is_started_with,
    is_status_name,
    names_seed,
    normal,
    tells_end,
    truth_of,
)
from reproaudit.logs.rows import NOT_USED, Table, cells_at, is_observed, is_said

_CHART = re.compile(r"(.+?) - (.+?)(__MIN|__MAX)?")
PAGE_FILE = re.compile(r"run-(.*)-tag-(.+)")  # A series that was downloaded from TensorBoard's page


def form_of(source: LogSource, table: Table) -> Table:
    """Give every column its role: as the mapping says, then by its name, then by its cells."""
    asked = source.asked
    columns = table.columns
    stated = asked.columns.stated()
    roles = {column: (role, name) for role, name, column in reversed(stated) if column in columns}
    roles |= table.roles
    roles |= {axis: ("axis", axis) for axis in columns if axis in asked.axes and axis not in roles}
    lower = {column.lower(): column for column in reversed(columns) if column not in roles}
    known = {role for role, _ in roles.values()}

    def first(names: Sequence[str], role: str = "") -> str | None:
        column = next((lower[name] for name in names if name in lower), None)
        if role and role not in known and column is not None:
            roles[column] = (role, "")
        return column

    tag = first(TAG_NAMES)
    value = lower.get("value", lower.get("metricvalue"))
    counted = tag is not None and tag.lower() == "metric" and not _is_text(tag, table)
    if value is None and counted and table.rows and not asked.plain:
        value = tag
        tag = None
    if asked.columns.step not in columns and not table.alone:
        first(STEP_NAMES, "step")
    if first(SEED_NAMES, "seed") is None and "seed" not in known:
        below = [column for column in columns if column not in roles and is_seed_name(column)]
        roles |= dict.fromkeys(below[:1], ("seed", ""))
    if not asked.plain:
        others = [c for c in columns if c not in roles and not asked.wants(c)]
        status = [column for column in others if _is_status(column, table)]
        roles |= {column: ("status", column) for column in status}
        if {"done", "training_iteration"} <= {*columns}:  # as Ray writes them
            roles["done"] = ("done", "")
        first((*RUN_NAMES, *(["name"] if status else [])), "run")
    if tag is not None and value is not None:
        roles |= {tag: ("tag", ""), value: ("value", "")}
        several = [c for c in columns if len(table.apart(c)) > 1]
        roles |= {c: ("context", c) for c in several if c.startswith(CONTEXT)}
        roles |= {c: ("context", c) for c in several if _is_context(c, tag, table)}
    elif value is not None:
        roles[value] = ("measurement", value if asked.wants(value) else _stem(source, value))
    known_form = replace(table, roles=dict(roles))
    for column in columns:
        if column not in roles:
            called = column if asked.wants(column) else column.removeprefix("metrics.")
            roles[column] = (_role(column, source, known_form), called)
    has_seeds = known_form.column("seed") is not None
    likely = [] if has_seeds else [c for c in columns if _is_like_seeds(c, table)]
    all_roles = {column: roles[column] for column in columns}
    return _stepped(replace(table, roles=all_roles, like_seeds=next(iter(likely), None)), asked)


def _stepped(table: Table, asked: Asked) -> Table:
    """Return a table with the column that may count its steps, if it has none.

    Where its steps have fractions, as an epoch of 0.3, a counter beside them takes their place.
    """
    step = table.column("step")
    numbers = map(number_of, table.observed(step or ""))
    whole = all(number is None or number.is_integer() for number in numbers)
    if step is not None and (whole or step == asked.columns.step):
        return table
    counters = [c for c in table.having("measurement") if counts_steps(c) and not asked.wants(c)]
    counter = next((c for c in counters if _rises(c, table)), None)
    if step is None or counter is None:
        return replace(table, like_steps=counter)
    return replace(table, roles={**table.roles, step: ("measurement", step), counter: ("step", "")})


def no_column(run: LoggedRun, role: str, column: str) -> LogError:
    """Return the fault of a run without the column to which a mapping gives a role."""
    text = f"found no column '{column}', which the mapping calls {role}; expected it."
    hint = did_you_mean(column, run.columns)
    return LogError(run.name, f"{text} {hint}{of_columns(run.columns)}")


def stem_of(path: Path) -> str:
    """Return the name of a file without its endings."""
    return path.name.removesuffix(".gz").rpartition(".")[0]


def _stem(source: LogSource, column: str) -> str:
    """Return what a lone column of values is called: as its file, if this is called as no run."""
    stem = stem_of(source.path)
    matched = PAGE_FILE.fullmatch(stem)
    return matched.group(2) if matched else column if names_seed([stem]) else stem


def _is_status(column: str, table: Table) -> bool:
    """Tell whether a column says how runs ended: by a truth value, a code, an error or a word."""
    cells = table.observed(column)
    texts = [str(cell).strip() for cell in cells]
    if truth := truth_of(column):
        numbers = {"0", "1"} if truth == "diverged" else set[str]()  # others may be counts
        return {text.lower() for text in texts} <= {"true", "false", *numbers}
    if is_exit_code(column) and all(number_of(cell) is not None for cell in cells):
        return True
    if not all(isinstance(cell, str) and number_of(cell) is None for cell in cells):
        return False
    return is_status_name(column) or tells_end(column, texts, len(table.rows))


def _is_context(column: str, tag: str, table: Table) -> bool:
    """Tell whether a column tells numbers of one name apart by words, as `validate`."""
    if normal(column) not in CONTEXT_NAMES:
        return False
    pairs = table.apart(tag, column)
    words = all(number_of(word) is None for _, word in pairs)
    return words and len(pairs) > len({name for name, _ in pairs})


def _is_like_seeds(column: str, table: Table) -> bool:
    if not SEED_LIKE.search(column):
        return False
    cells = [row.get(column) for _, row in table.rows]
    numbers = [number_of(cell) for cell in cells if is_said(cell)]
    return all(number is not None and number.is_integer() and number >= 0 for number in numbers)


def _rises(column: str, table: Table) -> bool:
    """Tell whether a column has whole numbers that rise in each run, of which one has several.

    Where there is a column of steps beside it, rows may have the same number.
    """
    runs: dict[tuple[str, ...], list[float]] = {}
    telling = table.having("seed", "run", "axis", "setting", "tag")
    for _, row in table.rows:
        number = number_of(row.get(column))
        if number is None or not number.is_integer():
            return False
        runs.setdefault(cells_at(row, telling), []).append(number)
    fewest = 2 if table.of_points else 3
    several = any(len(steps) >= fewest for steps in runs.values())
    least = 1 if table.column("step") is None else 0
    return several and all(b - a >= least for steps in runs.values() for a, b in pairwise(steps))


def _role(column: str, source: LogSource, table: Table) -> str:
    if column in UNUSED_NAMES:
        return NOT_USED
    if source.asked.plain:
        return "measurement"
    one_run = source.asked.columns.of_one_run
    if SETTING_PREFIXES.match(column):
        return NOT_USED if one_run else "setting"
    if source.asked.wants(column) or column.startswith("metrics."):
        return "measurement"
    if is_setting_name(column) and not one_run:
        return "setting"
    arms = {arm.lower() for arm in source.asked.arms}
    if any(str(row.get(column)).lower() in arms for _, row in table.rows):
        return "setting"
    if is_own(column) or column.startswith("tags."):
        return NOT_USED
    is_setting = not one_run and _holds_setting(column, source, table)
    return "setting" if is_setting else "measurement"


def _holds_setting(column: str, source: LogSource, table: Table) -> bool:
    """Return True for a column of text that tells runs apart, or is the same in all rows of one."""
    filled = [row for _, row in table.rows if is_said(row.get(column))]
    cells = [row[column] for row in filled]
    if not cells or any(isinstance(cell, list) for cell in cells):
        return False
    asked = source.asked
    is_stated = is_started_with(column) or is_set_below(column, asked.settings)
    is_known = column in asked.settings or (is_stated and _is_of_runs(column, table))
    numbers = all(number_of(cell) is not None for cell in cells if is_observed(cell))
    clocks = all(CLOCK.fullmatch(str(cell).strip()) for cell in cells)
    if (numbers or clocks) and not is_known:
        return False
    values = {str(cell).strip() for cell in cells}
    if len(values) == 1:
        return True
    tag = table.column("tag")
    wanted = {str(row[column]).strip() for row in filled if tag and asked.wants(str(row.get(tag)))}
    if len(wanted) == 1:
        return False  # which tells other numbers apart
    of_run = table.having("seed", "run")
    each: dict[tuple[str, ...], set[str]] = {}
    for row in filled:
        each.setdefault(cells_at(row, of_run), set()).add(str(row[column]).strip())
    steps = table.having("step")
    telling = [*of_run, *steps, *table.having("axis", "setting")]
    tells_apart = len(table.apart(*telling)) < len(table.rows)
    changes = not steps and not is_known and len(values) == len(filled) > 2
    if changes and (not _is_needed(column, table, telling) or "seeds" in asked.numbered):
        return False  # another text in every row, as a date or a host
    if tells_apart and (not steps or len(values) * 3 <= len(table.rows)):
        return True
    return bool(of_run or steps) and all(len(texts) == 1 for texts in each.values())


def _is_needed(column: str, table: Table, telling: Sequence[str]) -> bool:
    """Tell whether rows without a column are alike in what tells them apart and in other texts."""
    count = len(table.rows)
    texts = [c for c in table.columns if c != column and _is_text(c, table)]
    shared = [c for c in texts if len(table.apart(c)) < count]
    return len(table.apart(*telling, *shared)) < count


def _is_of_runs(column: str, table: Table) -> bool:
    """Tell whether each row is a run, and runs share numbers of a column: no schedule's."""
    texts = [c for c in table.columns if table.column("step") is None and _is_text(c, table)]
    rows = table.apart(*table.having("seed", "run"), *texts)
    values = table.apart(column)
    is_shared = len(values) == 1 or len(values) * 2 <= len(table.rows)
    return is_shared and len(rows) == len(table.rows)


def _is_text(column: str, table: Table) -> bool:
    cells = table.observed(column)
    return any(number_of(c) is None and not CLOCK.fullmatch(str(c).strip()) for c in cells)


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
    if not parts or {column.lower() for column in rest} - {*STEP_NAMES, "", "relative time (wall)"}:
        return {}
    tables = {}
    for run, called in parts.items():
        named = {**{column: column for column in rest}, **called}
        rows = [
            (line, {name: row[column] for name, column in named.items() if column in row})
            for line, row in table.rows
        ]
        while len(rows) > 1 and not any(is_observed(rows[-1][1].get(name)) for name in called):
            rows.pop()  # which longer runs have
        tables[run] = replace(table, columns=tuple(named), rows=rows, logger="W&B chart")
    return tables
