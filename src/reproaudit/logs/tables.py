"""Tables: each column gets one role, and each run its rows.

A wide table has a column for each quantity. A long one has a column of names (`name`, `metric`,
`tag` …) and a column `value`. A chart has a column `RUN - metric` for each run. All may have
columns of steps, seeds, runs, settings, and axes. The mapping states roles under `columns`; the
rest follows from names, and from what is in the columns.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from reproaudit.logs.asked import Columns
from reproaudit.logs.columns import PAGE_FILE, chart_parts, form_of, stem_of
from reproaudit.logs.configurations import plain_value, seed_ways, step_ways
from reproaudit.logs.documents import json_table, named_by_text, tree_table, unrolled, with_objects
from reproaudit.logs.logged import (
    MOST_LOGGED_RUNS,
    CurveBuilder,
    LogError,
    LoggedCoordinates,
    LoggedRun,
    LogSource,
    coordinates_of,
    is_course,
    is_percent,
    number_of,
    of_columns,
    refuse_beyond,
    some,
)
from reproaudit.logs.names import (
    ITEM_NAMES,
    MADE_NAMES,
    as_template,
    is_end,
    is_exit_code,
    is_own,
    is_seed_name,
    is_status_name,
    kin,
    last_part,
    names_arm,
    normal,
    says_diverged,
    says_ended,
    truth_of,
)
from reproaudit.logs.numbers import number_runs
from reproaudit.logs.opening import (
    MAX_YAML_BYTES,
    parse_json,
    parse_yaml,
    read_arrays,
    read_log_text,
)
from reproaudit.logs.rows import (
    IN_THOUSANDS,
    Table,
    TableRow,
    aggregated,
    cells_at,
    csv_table,
    is_observed,
    is_said,
    sampled,
    without_summaries,
)
from reproaudit.logs.spread import is_seeded, spread
from reproaudit.logs.texts import notebook_table, text_table

ARRAYS = (".npz", ".npy")
TREES = (".yaml", ".yml")
NOTEBOOK = ".ipynb"


def read_table(source: LogSource, place: str | None = None) -> list[LoggedRun]:
    """Read the runs of CSV, TSV, JSON, JSON lines or lines with numbers by name; none of others.

    Messages call the file `place`, if not as its run.
    """
    place = place or source.name
    if source.ending in ARRAYS:
        table = tree_table(source, read_arrays(source.path, place), place)
    else:
        remarks: list[str] = []
        text = read_log_text(source.path, place, remarks=remarks)
        usual = {".csv": ",", ".tsv": "\t"}.get(source.ending)
        numbers = number_runs(source, text, usual) if usual else None
        if numbers is not None:
            return numbers
        table = _written(source, text, place, usual)
        table = table and replace(table, remarks=(*remarks, *table.remarks))
    return [] if table is None else _read(source, table)


def _written(source: LogSource, text: str, place: str, usual: str | None) -> Table | None:
    if usual:
        return _with_steps(with_objects(csv_table(text, place, usual), place))
    if source.ending == NOTEBOOK:
        return notebook_table(parse_json(text, place), place, source.asked)
    if source.ending in TREES:
        refuse_beyond(MAX_YAML_BYTES, len(text), "characters of YAML", place)
        return tree_table(source, named_by_text(parse_yaml(text, place)), place)
    if source.ending in (".json", ".jsonl") or text.lstrip().startswith("{"):
        return json_table(source, text, place)
    return text_table(text, place, source.asked)


def _read(source: LogSource, table: Table) -> list[LoggedRun]:
    if not source.asked.plain:
        apart = unrolled(spread(table, source.asked), source.asked, source.name)
        table = without_summaries(apart, source.asked)
        table = _of_search(table, source.asked.columns)
    if not table.rows:
        source.skipped[source.name] = "a table without rows"
        return []
    items = [column for column in table.columns if ITEM_NAMES.fullmatch(normal(column))]
    is_read = source.asked.plain or "steps" in source.asked.numbered
    is_read |= source.asked.columns.step in items
    if items and len(table.rows) > 1 and not is_read:
        way = "for their mean, `number: [steps]` and {expression: mean(v), let: {v: …}}"
        source.skipped[source.name] = f"a row for each {items[0]}, which is no run; {way}"
        return []
    chart = {} if source.asked.plain else chart_parts(table)
    if not chart:
        return list(_runs(_of_page(source), table))
    runs: list[LoggedRun] = []
    for title, part in chart.items():
        named = replace(source, name=f"{source.name} ({title})", parts=(*source.parts, title))
        runs += _runs(named, part)
    return runs


def _with_steps(table: Table) -> Table:
    """Return the episodes of Stable-Baselines3's Monitor with the sum of their lengths as steps."""
    numbers = [number_of(row.get("l")) for _, row in table.rows]
    lengths = [int(n) for n in numbers if n is not None and n.is_integer()]
    if table.columns != ("r", "l", "t") or len(lengths) < len(numbers):
        return table
    ends = accumulate(lengths)
    rows = [(n, {**row, "step": end}) for (n, row), end in zip(table.rows, ends, strict=True)]
    return replace(table, columns=(*table.columns, "step"), rows=rows)


def _of_search(table: Table, stated: Columns) -> Table:
    """Return a table that is one run without its failed trials; the others are its steps."""
    status = next(filter(is_status_name, table.columns), None)
    if not stated.of_one_run or status is None:
        return table
    states = {line: _state(row, status) for line, row in table.rows}
    words = {*states.values()}
    failed = [f"line {line} ({s})" for line, s in states.items() if not says_ended(s, words)]
    ended = [row for row in table.rows if says_ended(states[row[0]], words)]
    step = stated.step or "step"
    rows = [(line, {**row, step: n}) for n, (line, row) in enumerate(ended)]
    columns = tuple(dict.fromkeys((*table.columns, step)))
    remarks = [f"trials that failed were passed over: {some(failed)}"] * bool(failed)
    return replace(table, columns=columns, rows=rows, remarks=(*table.remarks, *remarks))


def _of_page(source: LogSource) -> LogSource:
    """Return a series that was downloaded from TensorBoard's page as a part of its run."""
    matched = PAGE_FILE.fullmatch(stem_of(source.path))
    if matched is None:
        return source
    above, slash, _ = source.name.rpartition("/")
    run = matched.group(1)
    return replace(source, name=f"{above}{slash}{run}", parts=(*source.parts[:-1], run))


@dataclass(frozen=True)
class _Key:
    """What tells a row's run: `number` where runs are numbered, else its `line` where it must."""

    run: str
    seed: int | None
    settings: tuple[tuple[str, Any], ...]
    number: str | None = None
    line: int | None = None
    shared: int | None = None  # the seed that others have, too


def _runs(source: LogSource, table: Table) -> Iterator[LoggedRun]:
    table = form_of(source, table)
    apart = table.column("seed") or table.column("run") or table.column("step")
    whole = any(map(source.asked.wants, table.columns))
    of_runs = source.asked.plain or any("{seed}" in as_template(c, ()) for c in table.columns)
    if not of_runs and (why := aggregated(table, apart, whole)):
        raise LogError(source.name, f"{why}{of_columns(table.words)}")
    table = _filled(source, table)
    builders = _builders(source, table)
    not_whole = sampled(table, builders.values())
    words = {
        column: [_state(row, column) for _, row in table.rows]
        for column in table.having("status", "done")
    }
    first, *others = (key.settings for key in builders)
    same = set(first)
    unlike = {setting for each in others for setting in each if setting not in same}
    varied = {name for name, _ in unlike if not is_own(name)}
    for key, builder in builders.items():
        named = source
        details = [key.run] if key.run else []
        number = [] if key.number is None or len(builders) == 1 else [f"number {key.number}"]
        parts = (*source.parts, *details, *(each for each in number if " of " not in each))
        details += number
        details += [f"{name} {value}" for name, value in key.settings if name in varied]
        details += [] if key.seed is None else [f"seed {key.seed}"]
        details += [] if key.line is None else [f"line {key.line}"]
        if details:
            named = replace(source, name=f"{source.name} ({', '.join(details)})", parts=parts)
        seeds = {name: own[0] for name, own in builder.seeds.items() if len({*own}) == 1}
        ending = _ending(builder, words)
        yield named.run(
            "W&B export" if "_step" in table.columns else table.logger,
            builder.curves(),
            seed=key.seed,
            shared_seed=key.shared,
            config={**table.config, **seeds, **dict(key.settings)},
            step=table.column("step"),
            columns=table.words,
            seed_column=table.like_seeds,
            in_time=builder.in_course,
            remarks=(*table.remarks, *builder.remarks),
            **{**table.ending, **ending, "not_whole": (*not_whole, *ending["not_whole"])},
        )


def _builders(source: LogSource, table: Table) -> dict[_Key, CurveBuilder]:
    named = table.of_points or is_seeded(source.name, source.parts, source.asked)
    lacks = not named and not any(map(table.column, ("seed", "run", "step")))
    axes = table.named("axis")
    in_time = any(
        is_course([number_of(row.get(column)) for row in rows])
        for rows in _together(table)
        for column in table.named("measurement").values()
        if source.asked.wants(column)
    )
    may_number = (lacks or _repeats_seeds(table)) and not (in_time or table.of_points)
    numbered = may_number and "seeds" in source.asked.numbered
    keys = [_key(f"{source.name}:{line}", row, table) for line, row in table.rows]
    again = set() if numbered else _repeated(source, table, keys)
    statuses = table.having("status", "done")
    builders: dict[_Key, CurveBuilder] = {}
    seen: dict[tuple[_Key, LoggedCoordinates], int] = {}
    ways = _ways(source, table, may_number and not numbered)
    counter = tuple(step_ways(table.like_steps))
    in_time_words = f"{_IN_TIME}, `{', '.join(counter) or 'columns: {step: …}'}`"
    apart = "expected one" if source.asked.plain else _apart(table, ways)
    for (line, row), named_key in zip(table.rows, keys, strict=True):
        key = replace(named_key, line=line) if named_key in again else named_key
        at = coordinates_of({axis: row[column] for axis, column in axes.items() if column in row})
        if numbered:
            repeat = seen.get((key, at), 0)
            seen[key, at] = repeat + 1
            is_first = repeat == 0 and key.seed is not None
            number = f"{repeat}" if key.seed is None else f"{repeat} of {key.seed}"
            key = key if is_first else _Key(key.run, None, key.settings, number, shared=key.seed)
        if key not in builders:
            refuse_beyond(MOST_LOGGED_RUNS, len(builders) + 1, "runs", source.name)
            builders[key] = source.builder()
            of_seed = "" if key.seed is None else f" for seed {key.seed}"
            builders[key].unstepped = f"no step{of_seed}; {apart}"
            builders[key].offers = tuple(ways[:1])
            builders[key].in_time = f"no step{of_seed}, {in_time_words}"
            builders[key].counter = counter
            builders[key].in_course = table.of_points or (in_time and lacks)
            builders[key].is_named = named
        states = {column: _state(row, column) for column in statuses}
        builders[key].states |= {column: state for column, state in states.items() if state}
        _take_row(builders[key], table, line, row, at)
    return builders


def _state(row: TableRow, column: str) -> str:
    """Return what a cell says of a run's end: its words, or those for its truth value or code."""
    state = str(row[column]).strip() if is_observed(row.get(column)) else ""
    if column == "done":
        return "finished" if state.lower() == "true" else "unfinished"
    if state and (truth := truth_of(column)):
        return truth if state.lower() in ("true", "1") else f"not {truth}"
    if state and is_exit_code(column) and (code := number_of(state)) is not None:
        return f"{last_part(column)} {state}" if code else "ok"
    return state


def _ending(builder: CurveBuilder, words: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return how a run ended, as fields of `LoggedRun`; `words` stand in its columns of statuses.

    What was taken for an end without being one by name becomes a remark.
    """
    failed = {}
    for column, state in builder.states.items():
        if not says_ended(state, words[column]):
            failed[column] = state
        elif state.lower() == "terminated":
            builder.remarks[f"{state} was taken for finished, as Ray writes it"] = None
        elif not is_end(state):
            builder.remarks[f"'{column}' says {state} of all, which tells nothing"] = None
    said = (f"its column '{column}' says {state}" for column, state in failed.items())
    return {
        "not_whole": tuple(said),
        "failed": bool(failed),
        "diverged": any(map(says_diverged, builder.states.values())),
        "state": "; ".join(failed.values() or builder.states.values()),
    }


def _repeated(source: LogSource, table: Table, keys: Sequence[_Key]) -> set[_Key]:
    """Return what rows have alike that are runs each, as a run and its second try."""
    counts = Counter(keys)
    states = bool(table.named("status"))
    stepped = table.column("step") is not None and source.asked.columns.step is None
    named = states or table.column("run") or table.column("seed")
    long = table.column("tag") or table.named("axis") or table.column("done")
    if source.asked.plain or long or not ((stepped or states) and named):
        return set()
    made = states and any(normal(column) in MADE_NAMES for column in table.columns)
    is_run = made or len(keys) < 2 * len(counts)
    return {key for key, count in counts.items() if is_run and count > 1}


def _together(table: Table) -> Iterable[list[TableRow]]:
    """Return the rows of one run, as settings, axes and names of runs tell runs, and with seeds."""
    telling = ("axis", "setting", "run")
    groups: dict[object, list[TableRow]] = {}
    for columns in {(*table.having(*telling),), (*table.having(*telling, "seed"),)}:
        for _, row in table.rows:
            groups.setdefault((columns, cells_at(row, columns)), []).append(row)
    return groups.values()


def _repeats_seeds(table: Table) -> bool:
    """Tell whether rows have one seed, and nothing that tells them apart."""
    seed = table.column("seed")
    if seed is None or table.column("run") or table.column("step") or table.column("tag"):
        return False
    return len(table.apart(*table.having("seed", "axis", "setting"))) < len(table.rows)


def _filled(source: LogSource, table: Table) -> Table:
    """Return a table whose empty cells of settings have the value above, as merged cells do.

    In a log with steps a run's only value goes before it. Nothing is filled if without it no two
    rows are of one run and hold the same number, and with it some are: what has a setting and what
    has none are two things, unless rows are numbered.

    Raises:
        LogError: if a cell of an arm has no value so.
    """
    stepped = table.column("step") is not None
    said, of_arms = _incomplete(source, table)
    if not said:
        return table
    named = table.having("seed", "run")
    of_runs = _of_runs(table, named, said) if stepped and named else {}
    one = {c for c, cells in said.items() if len({*map(str, cells)}) == 1}
    sure = said.keys() - (of_arms - one) if stepped else one - of_arms
    first = {c: said[c][0] for c in sure}
    above: dict[str, Any] = {}
    rows: list[tuple[int, TableRow]] = []
    lines: dict[tuple[str, str], list[int]] = {}
    bare: dict[str, int] = {}
    for line, row in table.rows:
        cells = dict(row)
        for column in said:
            only = of_runs.get(cells_at(row, named), {}).get(column, {})
            if is_said(row.get(column)):
                above[column] = row[column]
                continue
            if column not in row and column in of_arms and not stepped:
                if not source.asked.wants_any(row):  # so that its names tell no arm
                    cells[column] = said[column][0]
                continue
            if found := _filling(column, only, above, first):
                cells[column], whence = found
                lines.setdefault((column, whence), []).append(line)
            elif column in of_arms:
                bare.setdefault(column, line)
        rows.append((line, cells))
    filled = replace(table, rows=rows)
    numbered = "seeds" in source.asked.numbered and not stepped
    fits = numbered or _is_apart(source, filled) or not _is_apart(source, table)
    if not fits:
        bare |= {c: own[0] for (c, _), own in lines.items() if c in of_arms and not stepped}
    for column, line in bare.items() if not stepped or fits else ():
        text = f"found no '{column}', and none above it that fits; expected one, as others have. "
        way = "Write it, or say in a mapping `arms: {NAME: null}` which arm has none."
        raise LogError(f"{source.name}:{line}", text + way)
    remarks = [
        f"empty cells of '{column}' have the value {whence}: lines {some([*map(str, empty)])}"
        for (column, whence), empty in lines.items()
        if column not in one or (column in of_arms and not stepped)
    ]
    return replace(filled, remarks=(*table.remarks, *remarks)) if fits else table


def _filling(
    column: str, only: Mapping[str, Any], above: Mapping[str, Any], first: Mapping[str, Any]
) -> tuple[Any, str] | None:
    """Return what an empty cell stands for, and where that is written; None if nothing says it."""
    if len(only) == 1:
        return next(iter(only.values())), "of their run"
    if column in above:
        return above[column], "above them"
    if column in first:
        return first[column], "below them"
    return None


def _incomplete(source: LogSource, table: Table) -> tuple[dict[str, list[Any]], set[str]]:
    """Return what columns of settings with empty cells hold, and which of them tell arms.

    Where an arm has no name, its empty cells are that; a column of runs matters if it tells arms.
    """
    columns = table.having("setting", "run")
    said = {c: [row[c] for _, row in table.rows if is_said(row.get(c))] for c in columns}
    said = {c: cells for c, cells in said.items() if 0 < len(cells) < len(table.rows)}
    arms = {arm.lower() for arm in source.asked.arms}
    of_arms = {
        column
        for column, cells in said.items()
        if arms & {str(cell).lower() for cell in cells} or names_arm(column)
    }
    passed = {*table.having("run")} - of_arms
    passed |= of_arms if "none" in arms else set()
    return {c: cells for c, cells in said.items() if c not in passed}, of_arms


def _of_runs(
    table: Table, named: Sequence[str], columns: Collection[str]
) -> dict[tuple[str, ...], dict[str, dict[str, Any]]]:
    """Return the values that each run has in some columns, by run, column and text."""
    of_runs: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for _, row in table.rows:
        own = of_runs.setdefault(cells_at(row, named), {})
        for column in columns:
            if is_said(row.get(column)):
                own.setdefault(column, {})[str(row[column])] = row[column]
    return of_runs


def _is_apart(source: LogSource, table: Table) -> bool:
    """Tell whether no two rows hold the same wanted number of one run."""
    telling = table.having("seed", "run", "step", "tag", "axis", "setting")
    numbers = [
        (column, cells_at(row, telling))
        for column in filter(source.asked.wants, table.having("measurement"))
        for _, row in table.rows
        if is_observed(row.get(column))
    ]
    return len({*numbers}) == len(numbers)


def _key(place: str, row: TableRow, table: Table) -> _Key:
    """Return what tells a row's run."""
    run = table.column("run")
    seed = table.column("seed")
    stated = ((name, row.get(column)) for name, column in table.named("setting").items())
    return _Key(
        str(row[run]).strip() if run and is_said(row.get(run)) else "",
        _whole(place, row.get(seed), seed, is_seed=True) if seed else None,
        tuple((name, plain_value(value)) for name, value in stated if is_said(value)),
    )


def _ways(source: LogSource, table: Table, may_number: bool) -> list[str]:
    """Return the lines that tell rows apart, the likelier first; `may_number` if seeds may be."""
    is_told = table.column("seed") or table.column("run")
    ways = seed_ways(None if is_told else table.like_seeds)
    counted = ways if may_number else ways[:-1]
    return [*_setting_ways(source, table), *step_ways(table.like_steps), *counted]


def _setting_ways(source: LogSource, table: Table) -> list[str]:
    """Return the lines that call a column of numbers a setting of the audit.

    The column holds some of its values, shares a word with its name, and tells rows apart.
    """
    telling = table.having("seed", "run", "axis", "setting", "step", "tag")
    several = len(table.apart(*telling)) < len(table.rows)
    ways = []
    for column in table.named("measurement").values() if several else ():
        numbers = {number_of(cell) for cell in table.observed(column)} - {None}
        for name, values in source.asked.values.items():
            is_there = not numbers.isdisjoint(map(number_of, values)) and kin(name, column)
            apart = is_there and not source.asked.wants(column)
            if apart and len(table.apart(*telling, column)) > len(table.apart(*telling)):
                ways.append(f"configuration: {{{name}: {json.dumps(column)}}}")
    return ways


_IN_TIME = "as a training logs them; expected the column of steps. Name it in the mapping"


def _apart(table: Table, ways: Sequence[str]) -> str:
    others = "`columns: {settings: […]}`"
    if table.like_steps is None:
        others = f"`columns: {{step: …}}` or {others}"
    *first, last = ways or [""]
    if last == seed_ways(None)[0] and (table.column("seed") or table.column("run")):
        ways = first
        others += f", or, where each row is a run, `{last}`"
    return (
        "expected a column that tells them apart. Say in the mapping which does: "
        f"{''.join(f'`{way}`, ' for way in ways)}{others}."
        f"{of_columns(table.words).removesuffix('.')}"
    )


def _take_row(
    builder: CurveBuilder, table: Table, line: int, row: TableRow, at: LoggedCoordinates
) -> None:
    place = f"{builder.place}:{line}"
    counter = table.column("step")
    step = None if counter is None else _whole(place, row.get(counter), counter)
    for tag, value in _cells(row, table):
        number = number_of(value)
        if number is not None and is_seed_name(tag):
            builder.seeds.setdefault(tag, []).append(value)
        if not is_observed(value):
            builder.leave_open(tag, at, step)
        elif counter is not None and step is None:
            builder.spoil(
                tag, f"found no '{counter}' that counts its step in {place}; expected one", at
            )
        elif number is None:
            fault = f"found {str(value)[:40]!r}, no number, in {place}; expected one"
            is_text = isinstance(value, str) and re.search(r"\d", value) is None
            if IN_THOUSANDS.fullmatch(str(value)):
                fault += ", written without a comma, which may part thousands or decimals"
            elif not is_text:
                fault += " that stands alone"
            builder.spoil(tag, fault, at, is_text=is_text)
        else:
            builder.add(tag, step, number, at, line, percent=is_percent(value))


def _whole(place: str, value: Any, column: str, *, is_seed: bool = False) -> int | None:
    """Return the whole number in a cell; None if it is empty, which no seed may be."""
    if is_seed:
        value = re.sub(r"(?i)^\s*seed[\s_=-]*(?=\d)", "", str(value))
    if not is_seed and not is_observed(value):
        return None
    number = number_of(value)
    if number is None or not number.is_integer():
        fault = f"found the {column} {str(value)[:40]!r}; expected a whole number"
        way = "say under `columns` in the mapping which is which."
        raise LogError(place, f"{fault}. If the column is something else, {way}")
    if is_seed and not 0 <= number < 2**32:
        raise LogError(place, f"found the {column} {number:g}; expected one from 0 to 2^32 - 1.")
    return int(number)


def _cells(row: TableRow, table: Table) -> Iterator[tuple[str, Any]]:
    tag = table.column("tag")
    if tag is None:
        for column, value in row.items():
            role, name = table.roles[column]
            if role == "measurement":
                yield name, value
    elif str(row.get(tag, "")).strip():
        contexts = (row.get(column) for column in table.named("context"))
        parts = [str(part).strip() for part in (row[tag], *contexts) if is_said(part)]
        yield ".".join(parts), row.get(table.column("value") or "")
