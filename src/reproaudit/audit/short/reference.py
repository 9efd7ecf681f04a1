"""What an audit's parts and the kinds of check are made of, with an example of each.

`reproaudit schema NAME` prints one, and docs/short-fields.md has all. The examples are those of one
audit, ``templates/example.yaml``, which `reproaudit check` accepts.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from reproaudit.audit.short import forms
from reproaudit.audit.short.checks import Bound, Quantity, short_kind
from reproaudit.checks import KINDS
from reproaudit.declarations import StrictModel, description_of
from reproaudit.errors import UsageError, did_you_mean

EXAMPLE = Path(__file__).parents[1] / "templates" / "example.yaml"

OF_EVERY_CHECK = ("where", "standard", "log", "in_share", "stands_for", "from", "why")
OF_A_BOUND = ("at_most", "at_least", "below", "above", "bound")

PARTS: Mapping[str, tuple[type[StrictModel], tuple[str | int, ...]]] = {
    "audit": (forms.ShortAudit, ("paper",)),
    "paper": (forms.Paper, ("paper",)),
    "group": (forms.Group, ("settings", 1)),
    "readings": (forms.AlsoStated, ("settings", 1, "also_stated", 0)),
    "tier": (forms.Tier, ("quick",)),
    "axis": (forms.Axis, ("axes",)),
    "bound": (Bound, ("bounds",)),
    "measurement": (forms.Measurement, ("experiments", "training", "measurements", "share")),
    "experiment": (forms.Experiment, ("experiments", "training")),
    "arm": (forms.Arm, ("arms", "shuffled")),
    "claim": (forms.Claim, ("claims", "wider")),
    "grade": (forms.Grade, ("claims", "wider", "grade")),
    "quantity": (Quantity, ("claims", "comparison", "holds_if", 0, "lower")),
}
"""The parts of an audit by name, each with where the example has one."""


@dataclass(frozen=True)
class Entry:
    """One part of an audit, or one kind of check; fields say if they are needed, and a meaning."""

    name: str
    about: str
    fields: tuple[tuple[str, bool, str], ...]
    example: str


def entry(name: str) -> Entry:
    """Return a part of an audit or a kind of check; a UsageError on an unknown name."""
    known = (*PARTS, *KINDS)
    if name not in known:
        raise UsageError(f"no part of an audit is called '{name}'. {did_you_mean(name, known)}")
    model = PARTS[name][0] if name in PARTS else short_kind(name)
    return entry_of(name, model, _example(name))


def entry_of(name: str, model: type[StrictModel], example: str) -> Entry:
    """Return the fields of a model, which the sentences below them explain."""
    fields = tuple(
        (info.alias or field, info.is_required(), " ".join(description_of(model, field).split()))
        for field, info in model.model_fields.items()
    )
    about = " ".join((model.__doc__ or "").split("\n\n")[0].split())
    return Entry(name, about, fields, example)


def lines_of(one: Entry) -> Iterator[str]:
    """Yield an entry as the terminal shows it, a line or two for each field."""
    yield f"{one.name}: {one.about}"
    check = one.name in KINDS
    shared = (*OF_EVERY_CHECK, *OF_A_BOUND, "kind") if check else ("kind",)
    for field, needed, meaning in one.fields:
        if field not in shared:
            sentence = meaning.partition(". ")[0].removesuffix(".")
            text = f"  {field}{' (needed)' if needed else ''}: {sentence}."
            yield from textwrap.wrap(text, 100, subsequent_indent="    ")
    if "at_most" in [field for field, _, _ in one.fields] and check:
        yield "  its bound: at_most, at_least, below or above, with a number; or bound: NAME"
    if check:
        yield "  as every check: where, standard, log, in_share, stands_for, from, why"
    yield "for example:"
    yield from textwrap.indent(one.example, "  ").splitlines()


def page() -> str:
    """Return every part and kind as Markdown."""
    parts = [
        "# Every field of the short form",
        "",
        "A page made by `make schema`; `reproaudit schema NAME` prints a part. Fields in bold",
        "are needed. The examples are pieces of one audit that `reproaudit check` accepts.",
    ]
    for name in (*PARTS, *KINDS):
        one = entry(name)
        title = f"Check: {name}" if name in KINDS else name.capitalize()
        parts += ["", f"## {title}", "", one.about, "", "| field | meaning |", "|---|---|"]
        for field, needed, meaning in one.fields:
            shown = f"**`{field}`**" if needed else f"`{field}`"
            parts.append(f"| {shown} | {meaning.replace('|', chr(92) + '|')} |")
        parts += ["", "```yaml", one.example, "```"]
    return "\n".join(parts) + "\n"


@cache
def _source() -> tuple[str, yaml.Node]:
    text = EXAMPLE.read_text(encoding="utf-8")
    tree: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    return text, tree


def _example(name: str) -> str:
    """Return the piece of the example that shows a part, or the first check of a kind."""
    text, tree = _source()
    if name in KINDS:
        nodes = (
            (node, [(key.value, below.value) for key, below in node.value])
            for node in _mappings(tree)
        )
        return _piece(text, next(node for node, fields in nodes if ("kind", name) in fields))
    return _piece(text, *_found(tree, PARTS[name][1]))


def _found(tree: yaml.Node, path: tuple[str | int, ...]) -> tuple[yaml.Node, yaml.Node | None]:
    """Return the node at a path, and its name where it stands in a mapping."""
    node: yaml.Node = tree
    name: yaml.Node | None = None
    for step in path:
        if isinstance(step, int):
            node = node.value[step]
            name = None
        else:
            name, node = next(pair for pair in node.value if pair[0].value == step)
    return node, name


def _piece(text: str, node: yaml.Node, name: yaml.Node | None = None) -> str:
    """Return the text of a node, from its name on, with the indentation taken away."""
    start = (name or node).start_mark
    lines = text[start.index : node.end_mark.index].rstrip().splitlines()
    rest = textwrap.dedent("\n".join(lines[1:])).splitlines()
    block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    indent = "  " if name is not None or not block else ""
    return "\n".join([lines[0], *(f"{indent}{line}" for line in rest)])


def _mappings(node: yaml.Node) -> Iterator[yaml.MappingNode]:
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, below in node.value:
            yield from _mappings(below)
    elif isinstance(node, yaml.SequenceNode):
        for below in node.value:
            yield from _mappings(below)
