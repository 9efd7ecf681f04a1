"""Text for people: tables that are drawn in it, and lines of numbers by name.

A table is drawn in Markdown, Org, reStructuredText, LaTeX or HTML, with frames, or by blanks alone.
Lines hold JSON, or names and numbers with what usually stands between them: ``epoch 3 | loss 0.5``,
``Epoch 3/9 - loss: 0.5``, ``[3] train-loss:0.5``, ``step=3, loss=0.5``.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Any

from reproaudit.logs.asked import Asked
from reproaudit.logs.documents import holds_number, of_objects
from reproaudit.logs.logged import LogError, number_of, some
from reproaudit.logs.names import CLOCK, is_seed_name, names_arm
from reproaudit.logs.opening import parse_object
from reproaudit.logs.rows import HEADING, Table, cells_table, csv_table
from reproaudit.logs.spread import spread

TEXT_LOG = "text"  # the logger of what is read from lines for people
MOST_IN_SENTENCE = 2_000  # characters of a line in which names and numbers are looked for
MOST_BEFORE = 50  # lines in which the header of a table by blanks is looked for

_Cells = list[list[str]]
_RULE = re.compile(r"[\s|:+=│├┤┼─-]*")
_FRAME = "|+│├"
_LATEX_RULE = re.compile(r"\\(?:(?:top|mid|bottom|cmid)rule|[ch]line)(?:\([lr]*\))?(?:\{[\d-]*\})?")
_LATEX_STYLE = re.compile(r"\\(?:textbf|textit|texttt|emph|underline|mathbf)\{([^{}]*)\}")
_LATEX_HEAD = re.compile(r"[a-z*]*\}(?:\[.\])?(?:\{[^{}]*\})*\{(?:[^{}]|\{[^{}]*\})*\}")
_LATEX_CELL = re.compile(r"\\multicolumn\{1\}\{[^{}]*\}\{([^{}]*)\}")
_LATEX_SUM = re.compile(r"\\multicolumn\{\d+\}\{[^{}]*\}\{([\d.%\s()]|\\pm)+\}")
"""A number in a cell that spans those of runs, as their mean does."""
_CAPTION = re.compile(r"\\caption(?:\[[^][]*\])?\{([^{}]*)\}")
_LEVELS = frozenset({"info", "debug", "warning", "warn", "error", "critical"})


def text_table(text: str, place: str, asked: Asked) -> Table | None:
    """Return the table or the lines of numbers in a text, if any; a LogError if a table is none."""
    if is_table(text):
        return csv_table(text, place, "\t")
    found = _drawn(text)
    tables = [
        (heading, cells_table(list(enumerate(cells, start=1)), place))
        for heading, cells in found
        if cells is not None and len(cells) > 1 and len(cells[0]) > 1
    ]
    spanned = [f"'{heading}' (cells span others)" for heading, cells in found if cells is None]
    drawn = _as_one(tables, place, asked, spanned)
    return drawn or lines_table(text, place, asked) or _aligned(text, place)


def notebook_table(tree: Any, place: str, asked: Asked) -> Table | None:
    """Return the tables, or the lines of numbers, in the outputs of a notebook; None if none are.

    Each is called as the last line of its cell.
    """
    tables = []
    unread: list[str] = []
    for cell in tree.get("cells", ()) if isinstance(tree, dict) else ():
        heading = _heading("".join(cell.get("source", ())).splitlines())
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            text = data.get("text/html") or data.get("text/plain") or output.get("text") or ""
            try:
                table = text_table("".join(text), place, asked)
            except LogError as error:
                unread.append(f"'{heading}' ({error.text})")
                continue
            tables += [] if table is None else [(heading, table)]
            if table is None and any(cells is None for _, cells in _drawn("".join(text))):
                unread.append(f"'{heading}' (cells span others)")
    return _as_one(tables, place, asked, unread)


def is_table(text: str) -> bool:
    """Return True if a text begins with a header and rows of numbers, with tabs or the like."""
    lines = [line for line in text[:20_000].splitlines()[:20] if line.strip()]
    plain = [line for line in lines if not line.lstrip().startswith("#")]
    if len(plain) > 2:  # the last may be cut off
        lines = lines[: lines.index(plain[-1])]
    try:
        table = csv_table("\n".join(lines), "", "\t")
    except LogError:
        return False
    named = len(table.columns) > 1 and all(number_of(column) is None for column in table.columns)
    cells = [list(row.values()) for _, row in table.rows]
    return named and _all_number(cells)


def _all_number(rows: Sequence[Sequence[Any]]) -> bool:
    return bool(rows) and all(any(number_of(cell) is not None for cell in row) for row in rows)


# --- tables that are drawn ------------------------------------------------------------------------


def _as_one(
    tables: Sequence[tuple[str, Table]], place: str, asked: Asked, unread: Sequence[str]
) -> Table | None:
    """Return the tables that hold something wanted as one, else those that name an arm.

    If none does, it is the first, and None if there is none. The others are named, and so is
    what is unread.
    """
    fitting = [each for each in tables if _holds_wanted(each[1], asked)]
    used = fitting or [each for each in tables if _names_arm(each[1], asked)] or tables[:1]
    others = [*(_called(*each) for each in tables if each not in used), *unread]
    remarks = [f"parts of it that were not used: {some(others)}"] if others else []
    if len(used) < 2:
        alone = next((table for _, table in used), None)
        return alone and replace(alone, remarks=(*alone.remarks, *remarks))
    apart = _told_apart(used)
    rows = [{HEADING: heading, **row} for heading, table in apart for _, row in table.rows]
    own = dict.fromkeys(remark for _, table in used for remark in table.remarks)
    joined = of_objects(enumerate(rows, start=1), place)
    as_one = f"{len(used)} tables of it were read as one"
    return replace(joined, remarks=(*own, as_one, *remarks))


def _told_apart(tables: Sequence[tuple[str, Table]]) -> Iterator[tuple[str, Table]]:
    """Yield tables with headings, numbered where a table above has the same heading and seeds."""
    known: dict[str, list[set[tuple[str, ...]]]] = {}
    for heading, table in tables:
        seeds = [column for column in table.columns if is_seed_name(column)]
        others = [c for c in table.columns if any(number_of(v) is None for v in table.observed(c))]
        own = table.apart(*seeds, *others) if seeds else set()
        above = known.setdefault(heading, [])
        repeats = any(own & each for each in above)
        above.append(own)
        yield f"{heading or 'table'} ({len(above)})" if repeats else heading, table


def _holds_wanted(table: Table, asked: Asked) -> bool:
    """Tell whether a column or a cell of a table names something wanted, or a column an arm."""
    cells = (str(cell) for _, row in table.rows for cell in row.values())
    return asked.wants_any(chain(spread(table, asked).columns, cells))


def _names_arm(table: Table, asked: Asked) -> bool:
    texts = chain(table.columns, *(row.values() for _, row in table.rows))
    return not {str(text).lower() for text in texts}.isdisjoint(asked.arms)


def _called(heading: str, table: Table) -> str:
    columns = ", ".join(filter(None, table.columns))
    return f"'{heading}' ({columns})" if heading else f"({columns})"


def _drawn(text: str) -> list[tuple[str, _Cells | None]]:
    return [*_framed(text), *_latex(text), *_of_html(text)]


def _framed(text: str) -> Iterator[tuple[str, _Cells]]:
    """Yield tables whose lines begin and end with a bar, with the heading of each."""
    above = ""
    for is_framed, group in groupby(text.splitlines(), _is_framed):
        lines = [line.strip() for line in group]
        if is_framed:
            kept = [line.strip("|│") for line in lines if not _RULE.fullmatch(line)]
            yield above, [_plain(re.split(r"[|│]", line.replace("**", ""))) for line in kept]
        else:
            above = _heading(lines) or above


def _is_framed(line: str) -> bool:
    plain = line.strip()
    return len(plain) > 1 and plain[0] in _FRAME and plain[-1] in "|+│┤"


def _heading(lines: Sequence[str]) -> str:
    """Return the last of some lines that has letters, without its marks."""
    words = (line.strip("#*=:<> \t") for line in reversed(lines) if re.search("[A-Za-z]", line))
    return next(words, "")


def _latex(text: str) -> Iterator[tuple[str, _Cells | None]]:
    """Yield LaTeX's tables; None for one with cells that span others, and for rows of sums."""
    above, *blocks = re.split(r"\\begin\{(?:tabular|longtable)", text)
    for block in blocks:
        body, _, after = block.partition(r"\end{")
        around = above.rpartition(r"\end{table")[2] + after.partition(r"\end{table")[0]
        caption = _CAPTION.search(around)
        heading = caption[1] if caption else _heading(above.splitlines())
        plain = _LATEX_RULE.sub("", _LATEX_HEAD.sub("", body, count=1))
        plain = _LATEX_CELL.sub(r"\1", _LATEX_STYLE.sub(r"\1", plain).replace("$", ""))
        plain = re.sub(r"\\([_%#&])", lambda m: "\0" if m[1] == "&" else m[1], plain)
        lines = [line for line in plain.split(r"\\") if line.strip()]
        sums = [line for line in lines[1:] if _LATEX_SUM.search(line)]
        rows = [line.split("&") for line in lines if line not in sums]
        is_spanned = any(r"\multi" in cell for row in rows for cell in row)
        yield heading, None if is_spanned else [_plain(row) for row in rows]
        yield from ((f"row {line.partition('&')[0].strip()}", None) for line in sums)
        above = after


def _plain(row: Sequence[str]) -> list[str]:
    return [" ".join(cell.replace("\0", "&").split()) for cell in row]


def _of_html(text: str) -> Iterator[tuple[str, _Cells | None]]:
    """Yield the tables of HTML; None for one with cells that span others."""
    above, *blocks = re.split(r"(?i)<table\b", text)
    for block in blocks:
        body, _, after = block.replace("</TABLE", "</table").partition("</table")
        heading = _heading(re.sub("<[^<>]*>", "\n", above).splitlines())
        rows = re.split(r"(?i)<tr\b[^<>]*>", body)[1:]
        cells = [re.split(r"(?i)<t[hd]\b[^<>]*>", row)[1:] for row in rows]
        spans = re.search(r"""(?i)(?:row|col)span=["']?(?!["']?1\b)""", body)
        yield (
            heading,
            None if spans else [_plain([_untagged(cell) for cell in row]) for row in cells],
        )
        above = after


def _untagged(cell: str) -> str:
    return html.unescape(re.sub("<[^<>]*>", "", cell))


def _aligned(text: str, place: str) -> Table | None:
    """Return a table that blanks alone part; None if lines after its end look as its rows do."""
    lines = text.splitlines()
    kept = [(n, line) for n, line in enumerate(lines, start=1) if not _RULE.fullmatch(line)]
    for start, (number, line) in enumerate(kept[:MOST_BEFORE]):
        for gap in (r"\s{2,}", r"\s+"):
            header = _split(line, gap)
            first = _split(kept[start + 1][1], gap) if kept[start + 1 :] else []
            lacking = len(first) - len(header)
            is_named = len(header) > 1 and all(number_of(cell) is None for cell in header)
            if not is_named or lacking not in (0, 1) or not _all_number([first]):
                continue
            rows = [(n, _split(own, gap)) for n, own in kept[start + 1 :]]
            fits = [len(own) == len(first) for _, own in rows]
            end = fits.index(False) if False in fits else len(rows)
            columns = [*zip(*(own for _, own in rows[:end]), strict=True)]
            counted = any(all(number_of(cell) is not None for cell in own) for own in columns)
            widths = {len(own.split()) for _, own in kept[start + 1 : start + 1 + end]}
            rest = [own.split() for _, own in kept[start + 1 + end :]]
            is_cut = any(len(own) in widths and _all_number([own]) for own in rest)
            if end > 1 and counted and not is_cut:
                names = [*[""] * lacking, *header]
                return cells_table([(number, names), *rows[:end]], place)
    return None


def _split(line: str, gap: str) -> list[str]:
    """Return the cells of a line; a text in quotes is one cell."""
    if '"' in line:
        return [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', line)]
    return re.split(gap, line.strip())


# --- lines of numbers by name ---------------------------------------------------------------------

_NUMBER = (
    r"([-+]?(?:\.?\d[\d.]*(?:[eE][-+]?\d+)?(?:/\d+(?![\d./:])|[kKM](?![A-Za-z])|/s(?:ec)?\b| *%)?"
    r"|nan|inf))"
)
_AFTER = r"(?: *\([^()]*\))?"  # a time or a mean in parentheses
_MARKED = re.compile(rf"([A-Za-z][^:=|,]*?) *[:=] *{_NUMBER}{_AFTER}")
_WHOLE = re.compile(_NUMBER)
_JOINED = re.compile(rf"(?<![\w./@-])([A-Za-z][\w./@-]*)[:=] *{_NUMBER}(?![\w.:/-]|,\d)")
_HEAD = re.compile(r"^[A-Za-z][A-Za-z ]*: +(?=[A-Za-z][\w ]* [\w ]*[:=] *[-+.]?\d)")
"""What a line is about, before a name of several words."""
_SAID = re.compile(r"([A-Za-z][^:=|,]*?) *[:=] *([-+.]?\d[^\s|;]*)")
"""A name, a mark and what may be a number."""
_WORD = re.compile(
    r"""(?<![^\s|,;(\[])([A-Za-z][\w.-]*)="""
    r"""("[A-Za-z][^"]*"|'[A-Za-z][^']*'|[A-Za-z][\w./@+-]*)(?=[\s|,;)\]]|$)"""
)
"""A name that a word is stated of."""
_COLOURS = re.compile(r"\x1b\[[\d;]*[A-Za-z]|\\x1b\[[\d;]*m")
_THOUSANDS = re.compile(r"(?<![\w.,])([1-9]\d{0,2}(?:,\d{3})+)(?!\d|,\d)")
_MULTIPLES = {"k": 1e3, "K": 1e3, "M": 1e6}
_STEP = re.compile(
    r"(?i)\b(iteration|iter|step|epoch|round|episode)s?[ :=#\[(]+(\d+)(?:\]?[ \[]*/ *\d+)?[\]):]*"
    r"|^\[(\d+)\]"
)
_PARTS = re.compile(r"\s*(?:[|;\t]|,(?!\d))\s*|\s+[-–]\s+")
_NAMESPACE = re.compile(r"\bNamespace\((.*)\)$")
_ARGUMENT = re.compile(r"""(\w+)=('[^']*'|"[^"]*"|[-+\w.]+)(?=,|$)""")


@dataclass(frozen=True)
class _Line:
    """What a line of a text log holds."""

    number: int  # where it stands
    kind: str  # the words above its numbers, such as ``valid``
    counted: Mapping[str, Any]  # its step, by the name of what counts
    numbers: Mapping[str, Any]  # its numbers by name
    # what was stated of arms and settings in words, or of seeds alone, in it or above
    stated: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)  # what is stated in it in words


def lines_table(text: str, place: str, asked: Asked) -> Table | None:
    """Return the table of a text log; None if fewer than two lines hold numbers.

    A line without a step is of the last step that was named. Where two kinds of lines have a name
    at one step, as those of training and of validation, it begins with that of the kind. A printed
    ``Namespace(…)``, a line with a seed, and ``model=NAME`` say what the run was started with.
    Where they change, they say it of the lines below them.
    """
    lines, config, stated, others = _read_lines(text, asked)
    if len(lines) < 2:
        return None
    wanted = [line for line in lines if asked.wants_any(line.numbers)] or lines
    above = [stated, *(line.stated for line in wanted)]
    several = _several(above)
    # what was not said above the first of them may be said below each
    unclear = several - wanted[0].stated.keys()
    changing = several - unclear
    for each_stated in above:
        config |= {name: value for name, value in each_stated.items() if name not in several}
    beside = _several([line.words for line in wanted]) - stated.keys()
    read = {*stated, *beside} - unclear
    kinds: dict[tuple[str, str], set[str]] = {}
    for each in lines:
        for name in each.numbers:
            kinds.setdefault((name, repr(each.counted)), set()).add(each.kind)
    of_kinds = {name for (name, _), own_kinds in kinds.items() if len(own_kinds) > 1}
    rows = []
    for each in lines:
        told = {name: value for name, value in each.stated.items() if name in changing}
        told |= {name: word for name, word in each.words.items() if name in beside}
        rows.append((each.number, {**told, **_by_kind(each, of_kinds), **each.counted}))
    counters = {name for each in lines for name in each.counted}
    rows = [*_without_copies(rows, counters, changing | beside)]
    roles = {name: ("step", "") for name in counters if len(counters) == 1}
    said = [f"{name} ({value})" for name, value in others.items() if name not in read]
    remarks = [f"not read, as they are no plain numbers: {some(said)}"] if said else []
    table = of_objects(rows, place)
    table = replace(table, config=config, roles=roles, remarks=tuple(remarks))
    return replace(table, logger=TEXT_LOG)


def _read_lines(
    text: str, asked: Asked
) -> tuple[list[_Line], dict[str, Any], Mapping[str, Any], dict[str, str]]:
    """Return the lines with numbers, what a Namespace says, what was stated last, and what else.

    The last holds every word and what is no plain number, by name.
    """
    config: dict[str, Any] = {}
    stated: Mapping[str, Any] = {}
    lines: list[_Line] = []
    counted: Mapping[str, Any] = {}
    others: dict[str, str] = {}
    has_points = re.search(r"\d\.\d", text) is not None
    for number, written in enumerate(_COLOURS.sub("", text).split("\n"), start=1):
        line = re.split("[\r\b]+", written.strip())[-1]
        if has_points and "{" not in line:
            line = _THOUSANDS.sub(lambda matched: matched[1].replace(",", ""), line)
        if matched := _NAMESPACE.search(line):
            arguments = _ARGUMENT.findall(matched.group(1))
            config |= {name: value.strip("'\"") for name, value in arguments if value != "None"}
            continue
        own = _line(number, line)
        counted = own.counted or counted
        is_code = "(" in line and not own.numbers
        words = {} if is_code else dict(_words(line))
        named = {name: word for name, word in words.items() if _tells(name, word, asked)}
        others |= {**words, **dict(_unread(line, own.numbers))}
        seeds = {name: value for name, value in own.numbers.items() if is_seed_name(name)}
        is_head = bool(seeds) and not own.counted and len(seeds) == len(own.numbers)
        stated = {**stated, **named, **(seeds if is_head else {})}
        if any(map(holds_number, own.numbers.values())) and not is_head:
            own = replace(own, counted=own.counted or counted, stated=stated, words=words)
            lines.append(own)
    return lines, config, stated, others


def _several(stated: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names that have several values."""
    values: dict[str, set[str]] = {}
    for each in stated:
        for name, value in each.items():
            values.setdefault(name, set()).add(str(value))
    return {name for name, own in values.items() if len(own) > 1}


def _words(line: str) -> Iterator[tuple[str, str]]:
    """Yield the names in a line that a word is stated of: ``model=plain``."""
    if "{" not in line and len(line) <= MOST_IN_SENTENCE:
        for name, written in _WORD.findall(line):
            word = written.strip("'\"")
            if number_of(word) is None and word not in ("None", name):
                yield name, word


def _tells(name: str, word: str, asked: Asked) -> bool:
    """Tell whether a word is an arm's, or what is called so is a setting of the audit."""
    is_arm = word.lower() in {arm.lower() for arm in asked.arms}
    return is_arm or names_arm(name) or name in asked.settings


def _without_copies(
    rows: Iterable[tuple[int, dict[str, Any]]], counters: Collection[str], told: Collection[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield rows without the numbers that stand at the same step above, as in a summary.

    Those of another seed, or of what else is `told` of rows, are no copies.
    """
    seen: dict[tuple[str, ...], float] = {}
    for number, row in rows:
        of_run = {name: value for name, value in row.items() if name in told or is_seed_name(name)}
        at = [str(number_of(row.get(counter))) for counter in sorted(counters)]
        key = (*at, *map(str, sorted(of_run.items())))
        own = {n: number_of(v) for n, v in row.items() if n not in counters and n not in of_run}
        known = {(name, *key): value for name, value in own.items() if value is not None}
        copies = {place[0] for place, value in known.items() if at and seen.get(place) == value}
        seen |= known
        yield number, {name: value for name, value in row.items() if name not in copies}


def _unread(line: str, numbers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names in a line whose numbers are not read, and these; steps and dates are none."""
    is_read = "{" not in line and len(line) <= MOST_IN_SENTENCE
    known = [name.rpartition(".")[2] for name in numbers] if is_read else []
    for matched in _SAID.finditer(line if known else ""):
        name, value = matched[1].strip(), matched[2].strip("()[],")
        is_known = any(name.endswith(each) or each.endswith(name) for each in known)
        if not (is_known or _STEP.search(matched[0]) or CLOCK.fullmatch(value)):
            yield name, value


def _by_kind(line: _Line, several: Collection[str]) -> dict[str, Any]:
    return {
        f"{line.kind}.{name}" if name in several and line.kind else name: value
        for name, value in line.numbers.items()
    }


def _line(number: int, line: str) -> _Line:
    """Return what a line holds: its JSON, or its step and the numbers by name."""
    start = line.find("{")
    if start >= 0 and line.endswith("}"):
        tree: Any = None
        with suppress(LogError):
            tree = parse_object(line[start:], "")
        return _Line(number, "", {}, tree if isinstance(tree, dict) else {})
    step = _STEP.search(line)
    if step is None:
        sure = [(n, value) for n, value, marked in _pairs(line) if marked or "|" in line]
        return _Line(number, "", {}, _once(sure))
    head = line[: step.start()]
    kind = next(filter(None, map(_kind, reversed(_PARTS.split(head)))), "")
    counted = {(step[1] or "iteration").lower(): step[2] or step[3]}
    pairs = [(n, value) for part in (head, line[step.end() :]) for n, value, _ in _pairs(part)]
    return _Line(number, kind, counted, _once(pairs))


def _kind(part: str) -> str:
    """Return the words of a part that has nothing else, and names no level of a logger."""
    plain = part.strip(": []")
    is_kind = re.fullmatch(r"[A-Za-z][A-Za-z_ ]*", plain) and plain.lower() not in _LEVELS
    return plain if is_kind else ""


def _once(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return numbers by name, without names that occur twice in a line."""
    counts = Counter(name for name, _ in pairs)
    several = {
        name: " and ".join(value for other, value in pairs if other == name)
        for name, count in counts.items()
        if count > 1
    }
    return {**dict(pairs), **several}


def _pairs(text: str) -> list[tuple[str, str, bool]]:
    """Return the names and numbers in a text, and whether a mark joins them."""
    found: list[tuple[str, str, str, bool]] = []
    group = ""
    parts = _PARTS.split(text) if len(text) <= MOST_IN_SENTENCE else []
    for part in (_HEAD.sub("", each.strip(" []*:"), count=1) for each in parts):
        is_marked = ":" in part or "=" in part
        whole = _MARKED.fullmatch(part) if is_marked else None
        joined = _JOINED.findall(part) if is_marked else []
        if whole and len(joined) < 2:
            own = [(whole[1].strip(), whole[2], True)]
        elif joined:
            own = [(name, value, True) for name, value in joined]
        else:
            own = _in_turn(part)
        first = re.match(r"[A-Za-z]+", part)
        if first and not (own and part.startswith(own[0][0]) and " " not in own[0][0]):
            group = first[0]
        found += [(group, *each) for each in own]
    counts = Counter(name for _, name, _, _ in found)
    return [
        (f"{group}.{name}" if counts[name] > 1 and group else name, _plain_number(value), marked)
        for group, name, value, marked in found
    ]


def _plain_number(written: str) -> str:
    """Return a number without its unit: a fraction's value, 7300 for ``7.3k``."""
    number, _, divisor = written.partition("/")
    if divisor.isdigit() and int(divisor):
        return str(float(number) / int(divisor))
    multiple = _MULTIPLES.get(number[-1:])
    return number if multiple is None else str(round(float(number[:-1]) * multiple, 9))


def _in_turn(part: str) -> list[tuple[str, str, bool]]:
    """Return names and numbers that stand in turn, as ``loss 0.5 acc 0.8``; [] if others stand."""
    found: list[tuple[str, str, bool]] = []
    words: list[str] = []
    for word in re.sub(r"\([^()]*\)", "", part).split():
        number = _WHOLE.fullmatch(word)
        if number is None:
            words.append(word)
        elif words and words[0][0].isalpha():
            name = " ".join(words)
            found.append((name, number[1], name[-1].isdigit()))
            words = []
        else:
            return []
    return [] if words else found
