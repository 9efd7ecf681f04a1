"""What the models refuse, in plain words and with its place in the file.

pydantic names a place by field names and positions, mixed with the names of the union's members
that it tried, and complains once per member. Here each complaint is led back to the node of the
file, a union complains once, and the words are those of a reviewer, with the nearest known name as
a remedy.
"""

from __future__ import annotations

import re
import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from reproaudit.audit.field_docs import description
from reproaudit.audit.loading.fault import Fault, quoted
from reproaudit.audit.loading.tree import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    as_written,
    child_node,
    node_at,
    place_of,
)
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import RULES, Loc
from reproaudit.audit.rules.papers import UNFINISHED
from reproaudit.checks import Check
from reproaudit.errors import did_you_mean

CHECKS: tuple[type[BaseModel], ...] = get_args(get_args(Check)[0])
"""The models of every kind of check."""


@dataclass(frozen=True)
class Complaint:
    """One of pydantic's errors, led back to the file.

    Attributes:
        loc: where in the file, without the names of union members.
        node: what stands there.
        members: the union members that were tried, each with the length of the loc before it.
        type: pydantic's name of the error.
        field: of a missing or unknown field: its name.
        at_key: whether a name is at fault, rather than what it holds.
        context: the numbers and words of the error.
        text: pydantic's own words.
    """

    loc: Loc
    node: Node
    members: tuple[tuple[int, str], ...]
    type: str
    field: str
    at_key: bool
    context: Mapping[str, Any]
    text: str


def complaints(error: ValidationError, root: Node) -> list[Complaint]:
    """Everything that the models refuse, one complaint for each node."""
    found = [_lead_back(one, root) for one in error.errors(include_url=False)]
    return _without_echoes(_one_per_union(found, root))


def faults_of(found: Sequence[Complaint], root: Node, file: str) -> Iterator[Fault]:
    """The complaints as faults, besides those about a node that already has one."""
    for one in found:
        if one.node.damaged and one.type != "extra_forbidden":
            continue
        message, remedy = _words(one, root)
        rule = _rule_of(one, root)
        if is_unfinished(one.node) and not one.at_key:
            rule, remedy = "RA058", ""
        place = place_of(root, one.loc, at_key=one.at_key)
        yield Fault(
            file, place, as_written(root, one.loc), message, remedy or RULES[rule].remedy, rule
        )


def is_unfinished(node: Node) -> bool:
    """Whether a TODO stands here."""
    text = node.value if isinstance(node, ScalarNode) else None
    return isinstance(text, str) and UNFINISHED.search(text) is not None


# --- from pydantic's loc to the file ------------------------------------------------------------


def _lead_back(error: Any, root: Node) -> Complaint:
    steps = list(error["loc"])
    kind = error["type"]
    field = str(steps.pop()) if kind == "missing" else ""
    at_key = bool(steps) and steps[-1] == "[key]"
    node = root
    loc: Loc = ()
    members: list[tuple[int, str]] = []
    for step in steps[:-1] if at_key else steps:
        below = child_node(node, step)
        if below is None:
            members.append((len(loc), str(step)))
        else:
            node, loc = below, (*loc, step)
    if kind == "union_tag_invalid":
        below = child_node(node, "kind")
        node, loc = below if below is not None else node, (*loc, "kind")
    if kind == "extra_forbidden":
        field, at_key = str(steps[-1]), True
    context = error.get("ctx") or {}
    return Complaint(loc, node, tuple(members), kind, field, at_key, context, error["msg"])


def _one_per_union(found: list[Complaint], root: Node) -> list[Complaint]:
    """Keep, of each union, the complaints of the member that was most likely meant."""
    tried: dict[Loc, list[str]] = defaultdict(list)
    for one in found:
        for depth, member in one.members:
            if member not in tried[one.loc[:depth]]:
                tried[one.loc[:depth]].append(member)
    chosen = {
        loc: _likely(members, node_at(root, loc))
        for loc, members in tried.items()
        if len(members) > 1
    }
    kept: list[Complaint] = []
    summed_up: set[Loc] = set()
    for one in found:
        unions = [(one.loc[:d], m) for d, m in one.members if one.loc[:d] in chosen]
        refused = next((loc for loc, m in unions if chosen[loc] != m), None)
        if refused is None:
            kept.append(one)
        elif chosen[refused] is None and refused not in summed_up and one.loc == refused:
            summed_up.add(refused)
            kept.append(_no_member(one, tried[refused]))
    return kept


def _likely(members: list[str], node: Node | None) -> str | None:
    """The union member that the author meant; None if the node fits none of them."""
    models = {m.__name__: m for m in _all_models()}
    if isinstance(node, MappingNode):
        known = [m for m in members if m in models]
        return max(known, key=lambda m: _fields_in(node, models[m]), default=None)
    if isinstance(node, SequenceNode):
        return next((m for m in members if m.startswith("tuple")), None)
    return None


def _no_member(one: Complaint, members: list[str]) -> Complaint:
    words = {
        "bool": "true or false",
        "int": "a number",
        "float": "a number",
        "str": "text",
        "Control": "a control (experiment, settings, why)",
        "NoPositiveControl": "not_constructible with the reason",
    }
    expected = dict.fromkeys(
        "a list of these" if m.startswith("tuple") else words.get(m, m) for m in members
    )
    context = {"expected": " or ".join(expected)}
    return Complaint(one.loc, one.node, (), "union", "", False, context, "")


def _without_echoes(found: list[Complaint]) -> list[Complaint]:
    """Leave out what only follows from another complaint.

    A list whose entries are all refused counts as too short; a misspelt field counts as missing.
    """
    missing: dict[Loc, list[str]] = defaultdict(list)
    for one in found:
        if one.type == "missing":
            missing[one.loc].append(one.field)
    misspelt = {
        (one.loc[:-1], close)
        for one in found
        if one.type == "extra_forbidden"
        and (close := _closest(one.field, missing.get(one.loc[:-1], [])))
    }
    return [
        one
        for one in found
        if not (one.type == "too_short" and _length(one.node) >= one.context["min_length"])
        and not (one.type == "missing" and (one.loc, one.field) in misspelt)
    ]


def _closest(name: str, missing: list[str]) -> str:
    """The missing field beside an unknown one that it was most likely meant to be."""
    hint = did_you_mean(name, missing)
    return hint.split("'")[1] if hint.startswith("Did") else ""


def known_field(extra: Complaint, root: Node) -> bool:
    """Whether an unknown field is a known one misspelt."""
    model = model_at(extra.loc[:-1], root)
    known = model.model_fields if model is not None else {}
    return did_you_mean(extra.field, known).startswith("Did")


def _length(node: Node) -> int:
    if isinstance(node, MappingNode):
        return len(node.entries)
    return len(node.items) if isinstance(node, SequenceNode) else 0


# --- which model stands at a place --------------------------------------------------------------


def model_at(loc: Loc, root: Node) -> type[BaseModel] | None:
    """The model of the node at a place, None if none of ours stands there."""
    annotations: list[Any] = [Audit]
    node: Node | None = root
    for step in loc:
        annotations = [a for one in annotations for a in _below(one, step)]
        node = child_node(node, step) if node is not None else None
    models = [a for one in annotations for a in _members(one) if _is_model(a)]
    if not isinstance(node, MappingNode):
        return models[0] if models else None
    kind = node.entries.get("kind")
    word = kind.value if isinstance(kind, ScalarNode) else None
    return max(
        models,
        key=lambda m: (_kind(m) == word, _fields_in(node, m)),
        default=None,
    )


def _fields_in(node: MappingNode, model: type[BaseModel]) -> int:
    """How many of a model's fields a mapping has."""
    return sum(field in node.entries for field in model.model_fields)


@cache
def _all_models() -> frozenset[type[BaseModel]]:
    found: set[type[BaseModel]] = set()
    queue: list[Any] = [Audit]
    while queue:
        for one in _members(queue.pop()):
            if _is_model(one) and one not in found:
                found.add(one)
                queue += [f.annotation for f in one.model_fields.values()]
            elif get_origin(one) in (tuple, dict):
                queue += get_args(one)
    return frozenset(found)


def _members(annotation: Any) -> list[Any]:
    """An annotation without Annotated, as the list of its union's members."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [m for one in get_args(annotation) for m in _members(one)]
    return [annotation]


def _below(annotation: Any, step: str | int) -> Iterator[Any]:
    for one in _members(annotation):
        if _is_model(one) and step in one.model_fields:
            yield one.model_fields[str(step)].annotation
        elif get_origin(one) is dict:
            yield get_args(one)[1]
        elif get_origin(one) is tuple:
            yield get_args(one)[0]


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _kind(model: type[BaseModel]) -> str | None:
    """The word in `kind` that stands for a check's model."""
    field = model.model_fields.get("kind")
    if field is None or get_origin(field.annotation) is not Literal:
        return None
    words = get_args(field.annotation)
    return str(words[0]) if len(words) == 1 else None


# --- words --------------------------------------------------------------------------------------

_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "model_type": "a mapping of fields",
    "dict_type": "a mapping of names",
    "tuple_type": "a list",
}
_LIMITS = {
    "greater_than": ("a number above", "gt"),
    "greater_than_equal": ("a number of at least", "ge"),
    "less_than": ("a number below", "lt"),
    "less_than_equal": ("a number of at most", "le"),
}
_FORMS = (
    (r"\.[a-z0-9][a-z0-9-]*", "the slug, a dot, and lower-case words joined by hyphens"),
    (r"[a-z0-9_]*", "lower-case words joined by underscores, beginning with a letter"),
    (r"\d{4}\.", "an arXiv identifier without version, such as '2410.01082'"),
)


def found_words(node: Node) -> str:
    """What stands in the file, as an error message names it."""
    if isinstance(node, MappingNode):
        return "a mapping" if node.entries else "an empty mapping"
    if isinstance(node, SequenceNode):
        return "a list" if node.items else "an empty list"
    if node.value is None:
        return "nothing"
    return quoted(node.text) if isinstance(node.value, str) else node.text


def _words(one: Complaint, root: Node) -> tuple[str, str]:
    """The message and the remedy; an empty remedy stands for the rule's own."""
    special = _SPECIAL.get(one.type)
    if special is not None:
        return special(one, root)
    found = f"found {found_words(one.node)}; expected"
    if one.type in _TYPES:
        return f"{found} {_TYPES[one.type]}", _type_remedy(one)
    if one.type in _LIMITS:
        words, key = _LIMITS[one.type]
        return f"{found} {words} {one.context[key]:g}", ""
    if one.type.startswith("date"):
        return f"{found} a date, YYYY-MM-DD", ""
    return f"{found} something else: {one.text}", ""


def _type_remedy(one: Complaint) -> str:
    if isinstance(one.node, ScalarNode) and one.node.value is None:
        return "Write a value, or leave the field out if it is optional."
    if one.type == "string_type" and isinstance(one.node, ScalarNode):
        return f"Quote it: '{one.node.text}'."
    if one.type == "tuple_type":
        return "Write it as a list: one '- …' per line, or [a, b]."
    if one.type == "model_type":
        return "Write its fields, one 'name: value' per line."
    return ""


def _unknown(one: Complaint, root: Node) -> tuple[str, str]:
    model = model_at(one.loc[:-1], root)
    known = list(model.model_fields) if model is not None else []
    name = model.__name__ if model is not None else "mapping"
    return (
        f"found the unknown field {quoted(one.field)}; expected a field of {name}",
        did_you_mean(one.field, known),
    )


def _missing(one: Complaint, root: Node) -> tuple[str, str]:
    model = model_at(one.loc, root)
    about = description(model, one.field) if model is not None else ""
    message = f"found no '{one.field}'; expected one"
    return message, f"Add '{one.field}': {about}" if about else f"Add '{one.field}'."


def _one_of(one: Complaint, _: Node) -> tuple[str, str]:
    options = re.findall(r"'([^']*)'", one.context["expected"]) or [one.context["expected"]]
    found = found_words(one.node)
    if isinstance(one.node, ScalarNode) and isinstance(one.node.value, str):
        return _choice(found, one.node.value, options)
    return f"found {found}; expected {_options(options)}", ""


def _choice(found: str, word: str, options: list[str]) -> tuple[str, str]:
    hint = did_you_mean(word, options)
    return (
        f"found {found}; expected {_options(options)}",
        hint if hint.startswith("Did") else "",
    )


def _options(options: list[str]) -> str:
    return options[0] if len(options) == 1 else f"one of {', '.join(options)}"


def _unknown_kind(one: Complaint, _: Node) -> tuple[str, str]:
    options = re.findall(r"'([^']*)'", one.context["expected_tags"])
    return _choice(f"the kind {quoted(str(one.context['tag']))}", str(one.context["tag"]), options)


def _no_kind(_: Complaint, __: Node) -> tuple[str, str]:
    kinds = [str(_kind(model)) for model in CHECKS]
    return "found a check without 'kind'; expected one", f"Add 'kind': one of {', '.join(kinds)}."


def _form(one: Complaint, _: Node) -> tuple[str, str]:
    word = str(one.loc[-1]) if one.at_key else str(getattr(one.node, "value", ""))
    pattern = str(one.context["pattern"])
    form = next((words for part, words in _FORMS if part in pattern), f"the form {pattern}")
    return f"found {quoted(word)}; expected {form}", ""


def _too_short(one: Complaint, _: Node) -> tuple[str, str]:
    least, length = one.context["min_length"], _length(one.node)
    entries = "entry" if least == 1 else "entries"
    return f"found {length or 'none'}; expected at least {least} {entries}", ""


def _empty_text(_: Complaint, __: Node) -> tuple[str, str]:
    return "found empty text; expected some", "Write the text, or leave an optional field out."


def _too_long(one: Complaint, _: Node) -> tuple[str, str]:
    most = one.context["max_length"]
    return f"found {found_words(one.node)}; expected at most {most} characters", ""


def _broken(one: Complaint, _: Node) -> tuple[str, str]:
    return one.text.removeprefix("Value error, "), ""


def _no_such_member(one: Complaint, _: Node) -> tuple[str, str]:
    return f"found {found_words(one.node)}; expected {one.context['expected']}", ""


_SPECIAL: dict[str, Callable[[Complaint, Node], tuple[str, str]]] = {
    "extra_forbidden": _unknown,
    "missing": _missing,
    "enum": _one_of,
    "literal_error": _one_of,
    "union_tag_invalid": _unknown_kind,
    "union_tag_not_found": _no_kind,
    "string_pattern_mismatch": _form,
    "too_short": _too_short,
    "string_too_short": _empty_text,
    "string_too_long": _too_long,
    "value_error": _broken,
    "union": _no_such_member,
}

# --- which rule ---------------------------------------------------------------------------------

_BY_TYPE = {
    "extra_forbidden": "RA050",
    "missing": "RA051",
    "union": "RA052",
    "string_too_short": "RA053",
    "string_too_long": "RA053",
    "enum": "RA054",
    "literal_error": "RA054",
    "union_tag_invalid": "RA054",
    "union_tag_not_found": "RA051",
    "string_pattern_mismatch": "RA055",
    "too_short": "RA057",
    **dict.fromkeys(_TYPES, "RA052"),
    **dict.fromkeys(_LIMITS, "RA053"),
}

_ABSENT = frozenset({"missing", "too_short", "string_too_short"})


def _rule_of(one: Complaint, root: Node) -> str:
    if one.type == "value_error":
        return _rule_of_model(one, root)
    if one.type.startswith("date"):
        return "RA056"
    if one.type in _ABSENT:
        loc = (*one.loc, one.field) if one.field else one.loc
        return _rule_of_absent(loc, root) or _BY_TYPE[one.type]
    return _BY_TYPE.get(one.type, "RA059")


def _rule_of_absent(loc: Loc, root: Node) -> str | None:
    """The rule of a field that must not be left out, if it has its own."""
    if loc in (("seeds", "quick"), ("seeds", "paper")):
        return "RA064"
    if not loc or not isinstance(loc[-1], str):
        return None
    model, field = model_at(loc[:-1], root), loc[-1]
    if model in CHECKS and field == "reason":
        return "RA063"
    if len(loc) == 3 and loc[0] == "claims" and field in ("controls", "positive_control"):
        return "RA065"
    return None


def _rule_of_model(one: Complaint, root: Node) -> str:
    model = model_at(one.loc, root)
    if model in CHECKS:
        return "RA062"
    if model is not None and model.__name__ == "Setting":
        return "RA060" if "assumption" in one.text else "RA061"
    return "RA059"
