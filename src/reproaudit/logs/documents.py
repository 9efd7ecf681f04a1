"""JSON becomes a table; its contents say which form it has.

An object on each line, or a list of them, is rows. A lone object holds numbers of the end of a run,
by dotted path. Hugging Face's `trainer_state.json` holds a list of rows, Sacred's `metrics.json`
steps and values for each metric, Keras' history a list of numbers for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from reproaudit.audit.arms import ARM_NAME
from reproaudit.cell import SettingValue
from reproaudit.logs.asked import Asked
from reproaudit.logs.configurations import HUGGING_FACE
from reproaudit.logs.logged import (
    MOST_LOGGED_NAMES,
    MOST_ROWS,
    LogError,
    LogSource,
    counted_seeds,
    flat,
    named_values,
    number_of,
    refuse_beyond,
    some,
)
from reproaudit.logs.names import (
    SEED_COUNTS,
    SEED_IN_NAME,
    SEED_NAMES,
    is_own,
    is_seed_name,
    is_set_below,
    is_setting_name,
    is_started_with,
    is_summed,
    last_part,
    names_arm,
    normal,
)
from reproaudit.logs.opening import parse_json, parse_object, read_log_text
from reproaudit.logs.rows import HEADING, WITH_DEVIATION, Table, TableRow
from reproaudit.logs.spread import label_by_name, label_by_pattern

TRAINER_STATE = "trainer_state.json"  # where Hugging Face's Trainer keeps what it logged


def json_table(source: LogSource, text: str, place: str) -> Table | None:
    """Return the table in a file's text; None if it is of no known form."""
    first, *more = [line.strip() for line in text.splitlines()[:3] if line.strip()] or [""]
    is_object = first.startswith("{") and first.endswith("}")
    if source.ending == ".jsonl" or (is_object and (more or source.ending != ".json")):
        return _json_lines(text, place)
    return tree_table(source, parse_object(text, place), place)


def with_objects(table: Table, place: str) -> Table:
    """Return a table in which columns of objects have become one for each of their names.

    W&B's export has `config` and `summary`, each a dict as Python prints it.
    """
    read: dict[str, list[Mapping[str, Any]]] = {}
    for column in table.columns:
        texts = [str(row[column] or "").strip() for _, row in table.rows]
        if not any(texts) or not all(text[:1] + text[-1:] in ("{}", "") for text in texts):
            continue
        with suppress(LogError):
            trees = [parse_object(text, place) if text else {} for text in texts]
            read[column] = [dict(flat(column, tree, place)) if tree else {} for tree in trees]
    if not read:
        return table
    rows = []
    for index, (line, row) in enumerate(table.rows):
        cells = {column: cell for column, cell in row.items() if column not in read}
        for trees in read.values():
            cells |= trees[index]
        rows.append((line, cells))
    columns = tuple(dict.fromkeys(name for _, row in rows for name in row))
    refuse_beyond(MOST_LOGGED_NAMES, len(columns), "names", place)
    return replace(table, columns=columns, rows=rows)


def named_by_text(tree: Any) -> Any:
    """Return nested values of YAML as JSON has them: every name is text, as are dates."""
    if isinstance(tree, dict):
        return {str(name): named_by_text(below) for name, below in tree.items()}
    if isinstance(tree, list):
        return [named_by_text(below) for below in tree]
    return tree if tree is None or isinstance(tree, str | int | float) else str(tree)


def tree_table(source: LogSource, tree: Any, place: str) -> Table | None:
    """Return the table in nested values; None if they are of no known form."""
    tree = _framed(tree[""] if isinstance(tree, dict) and [*tree] == [""] else tree)
    if isinstance(tree, list) and tree and all(isinstance(row, dict) for row in tree):
        named = {} if source.asked.wants_any(tree[0]) else _named_by_objects(tree)
        return replace(_rows([named], place), alone=True) if named else _rows(tree, place)
    tree = _plain(tree, source.asked)
    if isinstance(tree, list) and tree and all(number_of(value) is not None for value in tree):
        return _columns({source.path.name.removesuffix(".gz").rpartition(".")[0]: tree}, place)
    if isinstance(tree, dict) and tree.keys() >= _EVALUATED:
        episodes = "its numbers are means of the episodes of each evaluation"
        means = {
            name: [fmean(cell) if isinstance(cell, list) else cell for cell in cells]
            for name, cells in tree.items()
        }
        return replace(_columns(means, place), remarks=(episodes,))
    tree = _by_column(tree)
    if not isinstance(tree, dict) or not tree:
        return None
    if "log_history" in tree or source.path.name == TRAINER_STATE:
        return _trainer_state(tree, place)
    series = dict(_series("", tree))
    if series and all(series.values()):
        return _sacred(source.path, series, place)
    if rows := _rows_below(tree, source.asked):
        return _of_rows(rows, tree, source.asked, place)
    if all(map(_is_column, tree.values())) and len(set(map(len, tree.values()))) == 1:
        named = {"seed" if name == "seeds" else str(name): cells for name, cells in tree.items()}
        return _columns(named, place)
    table = _without_deviations(replace(_rows([tree], place), alone=True), source.asked)
    numbers = any(map(holds_number, table.rows[0][1].values()))
    return table if numbers else None


def _named_by_objects(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the numbers of a list whose items are each called by an object, as HELM's are.

    The texts in it are joined: ``exact_match.test``. Nothing, if two items are called alike.
    """
    named: dict[str, Any] = {}
    for item in items:
        called = item.get("name", item.get("metric"))
        value = item.get("value", item.get("mean"))
        parts = [part for _, part in flat("", called, "") if isinstance(part, str)]
        name = ".".join(parts)
        if not isinstance(called, dict) or number_of(value) is None or name in named or not name:
            return {}
        named[name] = value
    return named


def _without_deviations(table: Table, asked: Asked) -> Table:
    """Return a lone object without texts such as `0.91 ± 0.01` beside the numbers of each run."""
    ((line, row),) = table.rows
    beside = {
        name.rpartition(".")[0]
        for name, cell in row.items()
        if isinstance(cell, list) and len(cell) > 1 and holds_number(cell)
        if last_part(name) not in (*SEED_NAMES, *SEED_COUNTS)
    }
    sums = [
        name
        for name, cell in row.items()
        if isinstance(cell, str) and WITH_DEVIATION.fullmatch(cell)
        if name.rpartition(".")[0] in beside and not asked.wants(name)
    ]
    rest = {name: cell for name, cell in row.items() if name not in sums}
    remarks = [f"numbers beside the runs were passed over: {some(sums)}"] if sums else []
    return replace(table, columns=tuple(rest), rows=[(line, rest)], remarks=tuple(remarks))


def _framed(tree: Any) -> Any:
    """Return the rows of a table that pandas wrote by column, by row, or `split`; else the tree.

    Rows are called by their numbers; they have a seed, or texts beside their numbers.
    """
    if not isinstance(tree, dict) or not tree:
        return tree
    if tree.keys() - {"index"} == {"columns", "data"}:
        columns = tree["columns"]
        rows = tree["data"]
        lists = isinstance(columns, list) and isinstance(rows, list)
        if lists and all(isinstance(row, list) and len(row) == len(columns) for row in rows):
            return [dict(zip(map(str, columns), row, strict=True)) for row in rows]
    first, *others = tree.values()
    if (
        not first
        or not isinstance(first, dict)
        or any(not isinstance(below, dict) or below.keys() != first.keys() for below in others)
    ):
        return tree
    if all(map(str.isdecimal, tree)):
        rows = [*tree.values()]
    elif all(map(str.isdecimal, first)):
        rows = [{name: cells[key] for name, cells in tree.items()} for key in first]
    else:
        return tree
    flat_rows = not any(isinstance(cell, dict | list) for row in rows for cell in row.values())
    telling = any(
        is_seed_name(name) or (isinstance(cell, str) and number_of(cell) is None)
        for name, cell in rows[0].items()
    )
    return rows if flat_rows and telling else tree


_EVALUATED = {"timesteps", "results", "ep_lengths"}
"""The arrays of an EvalCallback of Stable-Baselines3, with a row for each evaluation."""


def holds_number(value: Any) -> bool:
    """Return True for a number, and for a list with one in it."""
    cells = value if isinstance(value, list) else [value]
    return any(number_of(cell) is not None for cell in cells)


class _Row(NamedTuple):
    """A row in nested values."""

    above: tuple[str, ...]  # the names above it
    cells: dict[str, Any]  # what is in it
    inherited: Mapping[str, Any]  # what the objects above say of all their rows, by dotted names
    key: str = ""  # what it is called by, if by its seed


def _plain(tree: Any, asked: Asked, above: str = "", depth: int = 0) -> Any:
    """Return nested values in which an object is one, whichever way it was written.

    A list of one object is this object; one of names with values is an object with these names;
    one of `[step, value]` is a series.
    """
    if depth == 16:
        return tree
    if isinstance(tree, dict):
        return {
            name: _plain(below, asked, f"{above}.{name}" if above else str(name), depth + 1)
            if name != "log_history"
            else below
            for name, below in tree.items()
        }
    if not isinstance(tree, list) or not above:
        return tree
    if len(tree) == 1 and isinstance(tree[0], dict):
        return _plain(tree[0], asked, above, depth + 1)
    if _is_stepped(tree) and not (asked.wants(f"{above}.1") or "seed" in above.lower()):
        return {"steps": [step for step, _ in tree], "values": [value for _, value in tree]}
    if named := named_values(tree):
        return named
    return [_plain(item, asked, above, depth + 1) for item in tree]


def _is_stepped(items: Sequence[Any]) -> bool:
    """Tell whether a list holds a step that rises and a number in each item."""
    if len(items) < 2 or not all(isinstance(item, list) and len(item) == 2 for item in items):
        return False
    steps = [step for step, _ in items]
    rising = all(type(step) is int for step in steps) and steps == sorted({*steps})
    return rising and all(number_of(value) is not None for _, value in items)


def _rows_below(tree: Any, asked: Asked) -> list[_Row]:
    """Return the rows that are runs, wherever they stand; none if the whole object is one run.

    Those with a seed are, and the items of a list in which something wanted is. Where nothing
    wanted is anywhere, several with a seed are, too, and the items of a list if the numbers beside
    it sum them up.
    """
    rows = list(_seeded((), tree, {}, asked))
    if rows and rows[0].cells is tree:
        return _course(tree, asked)
    names = [name for name, value in flat("", tree, "") if number_of(value) is not None]
    alone = any(map(asked.wants, names))
    is_sure = len(rows) > 1 or (not rows and all(map(is_summed, names)))
    rows = rows or ([] if alone else list(_listed((), tree, {}, asked)))
    return rows if _has_wanted(rows, asked) or (is_sure and not alone) else []


def _course(tree: Any, asked: Asked) -> list[_Row]:
    """Return the points of one run, which lie in a list below its seed and settings."""
    points = list(_listed((), tree, {}, asked))
    own = {n: v for n, v in tree.items() if is_setting_name(f"{n}.") or is_seed_name(n)}
    if any(asked.wants(name) for name, _ in flat("", tree, "")) or not _has_wanted(points, asked):
        return []
    for point in points:
        point.cells.update(own)
    return points


def _inherited(above: tuple[str, ...], tree: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    """Return what an object says of all rows below it: its settings, and texts that name it.

    The outermost object says what model or method it is of; its other texts are about the file.
    """
    said: dict[str, Any] = {}
    for name, value in tree.items():
        whole = ".".join((*above, name))
        is_said = is_setting_name(f"{name}.")
        below = flat(whole, value, "") if isinstance(value, dict) else ()
        said |= {n: v for n, v in below if is_said or is_set_below(n, asked.settings)}
        is_text = isinstance(value, str) and number_of(value) is None
        tells = is_text and (bool(above) or names_arm(name) or value in asked.arms)
        is_setting = name in asked.settings or (above and is_started_with(name))
        if tells or (is_setting and not isinstance(value, dict | list)):
            said[whole] = value
    return {name: value for name, value in said.items() if not is_seed_name(name)}


def _listed(
    above: tuple[str, ...], tree: Any, inherited: Mapping[str, Any], asked: Asked
) -> Iterator[_Row]:
    """Yield the objects of lists that have nothing but objects."""
    if isinstance(tree, list) and len(tree) > 1 and all(isinstance(item, dict) for item in tree):
        yield from (_Row(above, item, inherited) for item in tree)
    if isinstance(tree, dict) and len(above) <= 16:
        said = {**inherited, **_inherited(above, tree, asked)}
        for name, below in tree.items():
            if not is_setting_name(f"{name}."):
                yield from _listed((*above, name), below, said, asked)


def _has_wanted(rows: Sequence[_Row], asked: Asked) -> bool:
    own = {(row.above, name) for row in rows for name, _ in flat("", row.cells, "")}
    names = {name for _, name in own} | {".".join((*above, name)) for above, name in own}
    wanted = any(asked.wants(name) or label_by_name(name, asked) for name in names)
    patterned = any(
        label_by_pattern(pattern, name, asked) for pattern in asked.patterns for name in names
    )
    return wanted or patterned


def _seeded(
    above: tuple[str, ...], tree: Any, inherited: Mapping[str, Any], asked: Asked
) -> Iterator[_Row]:
    """Yield the innermost objects that have a seed, be it in their settings, or are called so.

    A lone number that is called after a seed is that of the `only` tag that is wanted. What an
    object says of itself is said of the rows below it.
    """
    if isinstance(tree, list):
        for item in tree if all(isinstance(item, dict) for item in tree) else ():
            yield from _seeded(above, item, inherited, asked)
    if not isinstance(tree, dict) or len(above) > 16:
        return
    inner = False
    said: Mapping[str, Any] | None = None
    for name, below in tree.items():
        if is_setting_name(f"{name}."):
            continue
        if isinstance(below, dict | list) and said is None:
            said = {**inherited, **_inherited(above, tree, asked)}
        only = asked.only
        named = {only: below} if only and number_of(below) is not None else below
        seed = _seed_in_key(above, name) if isinstance(named, dict) else None
        if seed is not None:
            inner = True
            yield _Row(above, {**named, "seed": seed}, said or inherited, name)
            continue
        for row in _seeded((*above, name), below, said or inherited, asked):
            inner = True
            yield row
    if not inner and any(is_seed_name(name) for name, _ in flat("", tree, "")):
        yield _Row(above, tree, inherited)


def _seed_in_key(above: tuple[str, ...], name: str) -> int | None:
    matched = SEED_IN_NAME.fullmatch(name)
    if matched is not None:
        return int(matched.group(1))
    is_below_seeds = bool(above) and "seed" in above[-1].lower()
    return int(name) if is_below_seeds and name.isdecimal() and len(name) <= 10 else None


def _of_rows(rows: Sequence[_Row], tree: Any, asked: Asked, place: str) -> Table:
    """Return the table of rows with seeds; other entries are passed over, by name."""
    arms = {**_unknown_arms(rows, asked), **asked.arms}
    lower = {arm.lower() for arm in arms}
    plain = [tuple(name for name in row.above if name not in arms) for row in rows]
    alike = len(set(plain)) == 1
    there = {outer for row, outer in zip(rows, plain, strict=True) if _wants_any(row, asked)}
    there = there if () not in there else set()
    trees = []
    roles: dict[str, tuple[str, str]] = {}
    for row, outer in zip(rows, plain, strict=True):
        settings = {n: v for name in row.above for n, v in arms.get(name, {}).items()}
        settings |= row.inherited
        roles |= {name: ("setting", name) for name in settings if not is_own(name)}
        cells = dict(settings)
        if outer in there and len(there) > 1:
            cells[HEADING] = ".".join(outer)
        for name, value in flat("", row.cells, place):
            whole = ".".join((*outer, name))
            written = ".".join(filter(None, (*row.above, row.key, name)))
            each = (label_by_pattern(pattern, written, asked) for pattern in asked.patterns)
            label = next(filter(None, each), None)
            if label is not None and asked.wants(label.name):
                cells[label.name] = value
                continue
            is_plain = (alike or outer in there) and not asked.wants(whole)
            is_said = is_setting_name(name) or normal(name) in SEED_NAMES
            is_said = is_said or names_arm(name) or str(value).lower() in lower
            cells[name if is_plain or is_said else whole] = value
        trees += _each_point(cells, place)
    table = _rows(trees, place)
    inside = {id(row.cells) for row in rows}
    beside = [
        name
        for name, value in _beside((), tree, inside)
        if holds_number(value) and name not in table.columns
    ]
    remarks = [f"numbers beside the runs were passed over: {some(beside)}"] if beside else []
    return replace(table, remarks=(*table.remarks, *remarks), roles=roles)


def _wants_any(row: _Row, asked: Asked) -> bool:
    names = [name for name, _ in flat("", row.cells, "")]
    by_arm = not asked.patterns and any(label_by_name(name, asked) for name in names)
    return by_arm or asked.wants_any(names)


def _unknown_arms(rows: Sequence[_Row], asked: Asked) -> dict[str, Mapping[str, SettingValue]]:
    """Return the names that stand where other rows have an arm's, each as an arm.

    So it is where nothing but names tells arms apart, and the rows differ in one name above them.
    """
    named = all([*settings] == [ARM_NAME] for settings in asked.arms.values())
    if not named or len({len(row.above) for row in rows}) != 1:
        return {}
    differing = [
        names
        for place in zip(*(row.above for row in rows), strict=True)
        if len(names := set(place)) > 1
    ]
    if len(differing) != 1 or differing[0].isdisjoint(asked.arms):
        return {}
    return {name: {ARM_NAME: name} for name in differing[0]}


def _each_point(cells: dict[str, Any], place: str) -> list[dict[str, Any]]:
    """Return a row for each item of the only list of objects in a run, as of its course."""
    lists = [n for n, v in cells.items() if isinstance(v, list) and v and isinstance(v[0], dict)]
    if len(lists) != 1 or not all(isinstance(item, dict) for item in cells[lists[0]]):
        return [cells]
    items = cells.pop(lists[0])
    numbers = {n: v for n, v in cells.items() if number_of(v) is not None}
    shared = {n: v for n, v in cells.items() if n not in numbers or normal(n) in SEED_NAMES}
    rows = [{**shared, **dict(flat("", item, place))} for item in items]
    rows[0] = {**numbers, **rows[0]}
    return rows


def _beside(above: tuple[str, ...], tree: Any, inside: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield the values that stand in none of the rows, with their dotted names."""
    if id(tree) in inside or len(above) > 16:
        return
    if isinstance(tree, dict):
        for name, below in tree.items():
            if _seed_in_key(above, name) is None or not isinstance(below, dict):
                yield from _beside((*above, name), below, inside)
    elif isinstance(tree, list) and tree and all(isinstance(item, dict) for item in tree):
        for item in tree:
            yield from _beside(above, item, inside)
    else:
        yield ".".join(above), tree


def unrolled(table: Table, asked: Asked, place: str) -> Table:
    """Return a table whose cells hold no lists of what is wanted: each item has a row of its own.

    Lists of one length belong together. Where the object says that it holds so many seeds, or
    lists them, the items are runs; a LogError if it lists more seeds, or fewer, than another's.
    """
    rows: list[tuple[int, TableRow]] = []
    remarks: dict[str, None] = {}
    counted = False
    unequal: list[str] = []
    of_points = False
    for line, row in table.rows:
        lists = {name: cell for name, cell in row.items() if isinstance(cell, list) and cell}
        lengths = {
            len(cells)
            for name, cells in lists.items()
            if asked.wants(name) and not any(isinstance(cell, dict | list) for cell in cells)
        }
        if not lengths:
            rows.append((line, row))
            continue
        rest = {name: cell for name, cell in row.items() if name not in lists}
        once = {n: rest.pop(n) for n in [*rest] if _is_single(n, rest[n], table, asked)}
        for length in sorted(lengths):
            has_seed = any(_is_of_seed(name, asked) for name in rest)
            of_points |= has_seed and length > 1
            seeded = not has_seed and _counts_seeds(row, lists, length)
            counted |= seeded
            if not (has_seed or seeded):
                unequal += _unlike_seeds(row, lists, length, asked)
            for index in range(length):
                cells = {name: each[index] for name, each in lists.items() if len(each) == length}
                own = {**rest, **(once if index == 0 else {}), **cells}
                listed = cells.get("seeds", index)
                rows.append((line, {**own, "seed": listed} if seeded else own))
            once = {}
        unused = [name for name, cells in lists.items() if len(cells) not in lengths]
        if unused:
            remarks[f"lists of other lengths were passed over: {some(unused)}"] = None
    if len(rows) == len(table.rows):
        return table
    if counted and unequal:
        way = "expected one for each seed. Write null for a run that has none."
        raise LogError(place, f"found {unequal[0]}; {way}")
    refuse_beyond(MOST_ROWS, len(rows), "rows", place)
    columns = tuple(dict.fromkeys(name for _, row in rows for name in row))
    if counted and not any(isinstance(row.get("seeds"), list) for _, row in table.rows):
        remarks[counted_seeds()] = None
    return replace(
        table,
        columns=columns,
        rows=rows,
        remarks=(*table.remarks, *remarks),
        alone=False,
        of_points=of_points,
    )


def _is_of_seed(name: str, asked: Asked) -> bool:
    """Tell whether a cell says the seed of a row, by its name or by the mapping."""
    return last_part(name) in SEED_NAMES or name == asked.columns.seed


def _is_single(name: str, cell: Any, table: Table, asked: Asked) -> bool:
    """Tell whether a cell is a number of the whole run, and no setting nor seed."""
    role, _ = table.roles.get(name, ("", ""))
    known = role or name in asked.settings or is_setting_name(name)
    return not known and not _is_of_seed(name, asked) and number_of(cell) is not None


def _counts_seeds(row: TableRow, lists: Mapping[str, Any], length: int) -> bool:
    """Tell whether a row says that its lists hold a number for each seed."""
    if any(normal(name) in SEED_NAMES and len(cells) == length for name, cells in lists.items()):
        return False
    seeds = next((row[name] for name in row if normal(name) in SEED_COUNTS), None)
    return len(seeds) == length if isinstance(seeds, list) else number_of(seeds) == length


def _unlike_seeds(
    row: TableRow, lists: Mapping[str, Any], length: int, asked: Asked
) -> Iterator[str]:
    """Yield each list that is wanted and has another length than the seeds of its object."""
    seeds = next((cells for name, cells in lists.items() if normal(name) in SEED_COUNTS), None)
    arm = f" of '{row[ARM_NAME]}'" if ARM_NAME in row else ""
    for name, cells in lists.items():
        if seeds is not None and len(cells) == length and asked.wants(name):
            yield f"{length} numbers of '{name}'{arm} beside {len(seeds)} seeds"


def _series(above: str, tree: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield series of steps and values by their dotted names, and nothing under other names."""
    lists = {n: v for n, v in tree.items() if isinstance(v, list)} if isinstance(tree, dict) else {}
    if {"steps", "values"} <= lists.keys():
        yield above, {"step": lists["steps"], "value": lists["values"]}
    elif above and {"x", "y"} <= lists.keys() and "name" in tree:
        yield above, {"step": lists["x"], "value": lists["y"]}
    elif not lists and isinstance(tree, dict) and above.count(".") < 16:
        for name, below in tree.items():
            yield from _series(f"{above}.{name}" if above else str(name), below)
    else:
        yield above, {}


def _by_column(tree: Any, depth: int = 0) -> Any:
    """Return nested values with a list for each column of an array of rows: ``name.c0``."""
    if not isinstance(tree, dict) or depth == 16:
        return tree
    columns: dict[str, Any] = {}
    for name, below in tree.items():
        if not _is_array(below):
            columns[name] = _by_column(below, depth + 1)
        elif len(below[0]) == 1:
            columns[name] = [cell for (cell,) in below]
        else:
            columns |= {
                f"{name}.c{n}": list(cells) for n, cells in enumerate(zip(*below, strict=True))
            }
    return columns


def _is_array(tree: Any) -> bool:
    rows = tree if isinstance(tree, list) else []
    return bool(rows) and all(
        isinstance(row, list) and 0 < len(row) == len(rows[0]) and all(map(holds_number, row))
        for row in rows
    )


def _is_column(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and not isinstance(value[0], dict | list)


def _json_lines(text: str, place: str) -> Table:
    lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise LogError(place, "found no row; expected one JSON object on each line.")
    objects = [(n, parse_object(line, f"{place}:{n}")) for n, line in lines]
    head, *others = (tree for _, tree in objects)
    names = {name for tree in others if isinstance(tree, dict) for name in tree}
    if not names or not isinstance(head, dict) or not names.isdisjoint(head):
        return of_objects(objects, place)
    return replace(of_objects(objects[1:], place), config=dict(flat("", head, place)))


def _rows(trees: Sequence[Any], place: str) -> Table:
    return of_objects(enumerate(trees, start=1), place)


def of_objects(trees: Iterable[tuple[int, Any]], name: str) -> Table:
    """Return the table of JSON objects and their lines; a LogError if others are among them.

    Nested names are joined by dots.
    """
    columns: dict[str, None] = {}
    rows = []
    for line, tree in trees:
        place = f"{name}:{line}"
        if not isinstance(tree, dict):
            raise LogError(place, "found no JSON object; expected one on each line.")
        row: dict[str, Any] = {}
        for key, value in flat("", tree, place):
            if key in row:
                text = f"found the name '{key[:80]}' twice in it; expected it once."
                raise LogError(place, text)
            row[key] = value
            refuse_beyond(MOST_LOGGED_NAMES, len(row), "names", name)
        columns.update(dict.fromkeys(row))
        rows.append((line, row))
        refuse_beyond(MOST_LOGGED_NAMES, len(columns), "names", name)
        refuse_beyond(MOST_ROWS, len(rows), "rows", name)
    return Table(tuple(columns), rows)


def _columns(tree: Mapping[str, Sequence[Any]], place: str) -> Table:
    try:
        rows = [dict(zip(tree, cells, strict=True)) for cells in zip(*tree.values(), strict=True)]
    except ValueError:
        lengths = ", ".join(f"{len(column)} of '{key[:80]}'" for key, column in tree.items())
        raise LogError(place, f"found {lengths}; expected as many of each.") from None
    return _rows(rows, place)


def _sacred(path: Path, series: Mapping[str, Mapping[str, Any]], name: str) -> Table:
    """Return the rows of series, as of Sacred's file store, which has a run's end in run.json."""
    beside = path.with_name("run.json")
    place = f"{name}, run.json"
    run = parse_json(read_log_text(beside, place), place) if beside.is_file() else None
    status = run.get("status") if isinstance(run, dict) else None
    rows: list[dict[str, Any]] = []
    for tag, points in series.items():
        for _, row in _columns(points, f"{name}: {tag}").rows:
            # a NumPy number, as jsonpickle writes it, has its own names
            value = row.get("value", row.get("value.value"))
            rows.append({"step": row["step"], "metric": tag, "value": value, "status": status})
    read = (path, beside) if run is not None else (path,)
    logger = "Sacred" if path.name == "metrics.json" else "table"
    return replace(_rows(rows, name), logger=logger, ending={"files": read})


def _trainer_state(state: Mapping[str, Any], place: str) -> Table:
    history = state.get("log_history")
    if not isinstance(history, list):
        raise LogError(place, "found no list 'log_history'; expected a Trainer's state.")
    table = replace(_rows(history, place), logger=HUGGING_FACE)
    reached = state.get("global_step")
    most = state.get("max_steps")
    if not (isinstance(reached, int) and isinstance(most, int) and reached < most):
        return table
    ending = {
        "stopped": f"its Trainer stopped at step {reached} of {most}",
        "early": "its Trainer says that it has ended" if _has_ended(state, history) else None,
        "patience": _since_best(state, history),
    }
    return replace(table, ending=ending)


def _has_ended(state: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> bool:
    """The whole time is logged in the end; early stopping sets `should_training_stop`."""
    control: Any = state
    for name in ("stateful_callbacks", "TrainerControl", "args", "should_training_stop"):
        control = control.get(name) if isinstance(control, dict) else None
    return control is True or any("train_runtime" in row for row in history[-3:])


def _since_best(state: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> int | None:
    """Return how many evaluations came after the best checkpoint; None if there is no such."""
    best = str(state.get("best_model_checkpoint") or "").rpartition("checkpoint-")[2]
    if not best.isdecimal() or len(best) > 15:
        return None
    steps = (number_of(row.get("step")) for row in history if any("eval_" in name for name in row))
    return sum(1 for step in steps if step is not None and step > int(best))
