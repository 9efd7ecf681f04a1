"""The pages of a scorecard as a reader has them: tables, lines, and the numbers in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID_TAGS = frozenset({"meta", "link", "br", "hr", "img", "input", "col", "wbr"})
UNREAD_TAGS = frozenset({"style", "script", "title"})


@dataclass
class Node:
    """An element of a page."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All that is written in it, drawings left out."""
        if self.tag == "svg":
            return ""
        said = (child if isinstance(child, str) else child.text for child in self.children)
        return "".join(said)

    @property
    def own_text(self) -> str:
        """What is written in it outside of other elements."""
        return "".join(child for child in self.children if isinstance(child, str))

    def all(self, tag: str, **attributes: str) -> Iterator[Node]:
        """Yield the elements of a tag inside this one; `class_` is one of the classes."""
        for child in self.children:
            if isinstance(child, str):
                continue
            if child.tag == tag and child._has(attributes):
                yield child
            yield from child.all(tag, **attributes)

    def _has(self, attributes: dict[str, str]) -> bool:
        classes = self.attributes.get("class", "").split()
        wanted = attributes.get("class_")
        others = {name: at for name, at in attributes.items() if name != "class_"}
        return (wanted is None or wanted in classes) and others.items() <= self.attributes.items()

    def first(self, tag: str, **attributes: str) -> Node:
        """Return the first such element; an empty one if there is none."""
        return next(self.all(tag, **attributes), Node(tag))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("page")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: at or "" for name, at in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID_TAGS:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Node(tag, {name: at or "" for name, at in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open[-1].tag not in UNREAD_TAGS:
            self.open[-1].children.append(data)


def html_page(text: str) -> Node:
    """Return a page in HTML as a tree."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.open[0]


@dataclass(frozen=True)
class TableRow:
    """A row of a claim's table in HTML: which condition, and what its cells say."""

    place: int
    own: bool
    arm: str
    count: str
    numbers: str
    decision: str


def claim_rows(article: Node) -> Iterator[TableRow]:
    """Yield the rows of a claim's table; the place of a condition is that of its group."""
    for place, group in enumerate(article.first("table", class_="rows").all("tbody")):
        for row in group.all("tr"):
            cells = [child.text for child in row.children if isinstance(child, Node)]
            if len(cells) == 4:
                own = "own" in row.attributes.get("class", "").split()
                yield TableRow(place, own, *cells)


# --- Markdown -------------------------------------------------------------------------------------


def plain_markdown(text: str) -> str:
    """Return Markdown without its escapes."""
    return re.sub(r"\\([\\`\]\[/.~|])", r"\1", text).replace("&lt;", "<")


def sections(text: str, level: str) -> dict[str, str]:
    """Return the text under each heading of a level, `##` or `###`, by the heading."""
    parts = re.split(rf"^{level} (.*)$", text, flags=re.MULTILINE)
    ends = [re.split(rf"^#{{2,{len(level)}}} ", part, flags=re.MULTILINE)[0] for part in parts]
    return dict(zip(parts[1::2], ends[2::2], strict=True))


def bullets(text: str) -> list[str]:
    """Return the points of a list."""
    return [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]


def cells(text: str) -> list[list[str]]:
    """Return the rows of the tables, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    marks = [at for at, line in enumerate(lines) if set(line) <= set("|-")]
    heads = {*marks, *(at - 1 for at in marks)}
    return [[cell.strip() for cell in row] for at, row in enumerate(rows) if at not in heads]


def terminal_items(lines: Sequence[str]) -> list[str]:
    """Return the items under `Not met` in a terminal, each on one line."""
    items: list[str] = []
    heading = next((at for at, line in enumerate(lines) if line.startswith("Not met")), len(lines))
    there = lines[heading + 1 :]
    for line in there:
        if not line.startswith("  "):
            break
        if line.startswith("    "):
            items[-1] += f" {line.strip()}"
        else:
            items.append(line.strip())
    return items


# --- numbers --------------------------------------------------------------------------------------

_SUPERSCRIPTS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_PLAIN = str.maketrans(_SUPERSCRIPTS, "-0123456789")
_DIGITS = r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?"
NUMBER = re.compile(
    rf"(?<![\w.,])-?(?:10[{_SUPERSCRIPTS}]+|(?:{_DIGITS})(?: × 10[{_SUPERSCRIPTS}]+)?)"
    r"( %|-fold| times)?(?![\w]|[.,]\d)"
)


@dataclass(frozen=True)
class Printed:
    """A number as it is printed: its value, and how far rounding may have moved it.

    What is measured has two digits at least; one digit alone is exact.
    """

    text: str
    value: float
    half: float
    unit: str = ""

    def is_of(self, value: float) -> bool:
        """Tell whether it is a number, rounded."""
        scaled = 100 * value if self.unit == "%" else value
        return abs(scaled - self.value) <= self.half * 1.000001 + 1e-12 * abs(self.value)


def numbers_in(text: str) -> list[Printed]:
    """Return the numbers of a text."""
    return [_printed(match) for match in NUMBER.finditer(text)]


def _printed(match: re.Match[str]) -> Printed:
    unit = (match[1] or "").strip(" ")
    whole = match[0].removesuffix(match[1] or "")
    written, _, power = whole.partition(" × 10")
    if whole.lstrip("-").startswith("10") and whole[-1] in _SUPERSCRIPTS and not power:
        sign, power = ("-" if whole.startswith("-") else ""), whole.lstrip("-")[2:]
        written = f"{sign}1"
    scale = 10.0 ** int(power.translate(_PLAIN) or "0")
    digits = written.replace(",", "")
    _, _, decimals = digits.partition(".")
    half = 0.5 * 10.0 ** -len(decimals) if len(digits.lstrip("-")) > 1 else 0.0
    if not decimals and len(digits.lstrip("-")) > 3:
        zeros = len(digits) - len(digits.rstrip("0"))
        half = 0.5 * 10.0 ** min(zeros, len(digits.lstrip("-")) - 2)
    return Printed(match[0], float(digits) * scale, half * scale, unit)
