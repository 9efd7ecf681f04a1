"""Errors of the models in plain words, each with its place in the file.

pydantic names a place by field names and positions, mixed with the tags of the union members that
it chose. Here each error is led back to the node of the file, and put into a reviewer's words with
the nearest known name as a remedy.
"""

from __future__ import annotations

import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from reproaudit.audit.field_docs import description
from reproaudit.audit.loading.fault import Fault
from reproaudit.audit.loading.tree import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    as_written,
    child_node,
    place_of,
)
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import RULES, Loc
from reproaudit.audit.rules.papers import UNFINISHED
from reproaudit.audit.rules.values import quoted
from reproaudit.checks import Check
from reproaudit.declarations import StrictModel
from reproaudit.errors import closest, did_you_mean

CHECKS: tuple[type[BaseModel], ...] = get_args(get_args(Check)[0])
"""The models of every kind of check."""

FIELDS = frozenset(
    field for one in (*StrictModel.__subclasses__(), *CHECKS) for field in one.model_fields
)
"""The names of every model's fields."""


@dataclass(frozen=True)
class Complaint:
    """One of pydantic's errors, led back to the file.

    Attributes:
        loc: the place in the file, without the tags of union members.
        node: the node at this place.
        type: pydantic's name of the error.
        field: the name of a missing or unknown field, else empty.
        at_key: True if a name is at fault, False if the node below it is.
        context: the numbers and words of the error.
        text: pydantic's own words.
        top: the model of the whole file.
    """

    loc: Loc
    node: Node
    type: str
    field: str
    at_key: bool
    context: Mapping[str, Any]
    text: str
    top: Any = Audit


def complaints(error: ValidationError, root: Node, top: type[BaseModel] = Audit) -> list[Complaint]:
    """The complaints of the models, one for each fault; `top` is the model of the whole file."""
    errors = error.errors(include_url=False, include_input=False)
    return _without_echoes([_lead_back(one, root, top) for one in errors])


def faults_of(found: Sequence[Complaint], root: Node, file: str) -> Iterator[Fault]:
    """The complaints as faults, besides those about a node that already has one."""
    for one in found:
        place = place_of(root, one.loc, at_key=one.at_key)
        loc = as_written(root, one.loc)
        if one.node.damaged and one.type != "extra_forbidden":
            if isinstance(one.node, ScalarNode) and type(one.node.value) is bool:
                meant = _meant_as_text(one, one.node)
                if meant:
                    yield Fault(file, place, loc, *meant, "RA010")
            continue
        message, remedy = _words(one, root)
        rule = _rule_of(one, root)
        if is_unfinished(one.node) and not one.at_key:
            rule, remedy = "RA058", ""
        yield Fault(file, place, loc, message, remedy or RULES[rule].remedy, rule)


def _meant_as_text(one: Complaint, node: ScalarNode) -> tuple[str, str] | None:
    """Message and remedy for an unquoted ``No`` in a field that takes text."""
    if one.type != "string_type":
        return None
    meaning = "true" if node.value else "false"
    return f"found {node.text}, which YAML reads as {meaning}; expected text", _quote(node)


def _quote(node: ScalarNode) -> str:
    return f"Quote it: '{node.text}'."


def is_unfinished(node: Node) -> bool:
    """True if the node is a text with a TODO."""
    text = node.value if isinstance(node, ScalarNode) else None
    return isinstance(text, str) and UNFINISHED.search(text) is not None


# --- from pydantic's loc to the file ------------------------------------------------------------


def _lead_back(error: Any, root: Node, top: type[BaseModel]) -> Complaint:
    steps = list(error["loc"])
    kind = error["type"]
    field = str(steps.pop()) if kind == "missing" else ""
    at_key = bool(steps) and steps[-1] == "[key]"
    node = root
    loc: Loc = ()
    for step in steps[:-1] if at_key else steps:
        below = child_node(node, step)
        if below is not None:  # else the tag of a union's member
            node, loc = below, (*loc, step)
    if kind == "union_tag_invalid":
        below = child_node(node, "kind")
        node, loc = below if below is not None else node, (*loc, "kind")
    if kind == "extra_forbidden":
        field, at_key = str(steps[-1]), True
    return Complaint(loc, node, kind, field, at_key, error.get("ctx") or {}, error["msg"], top)


def _without_echoes(found: list[Complaint]) -> list[Complaint]:
    """The complaints without those that only follow from another one.

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
        and (close := closest(one.field, missing.get(one.loc[:-1], ())))
    }
    return [
        one
        for one in found
        if not (one.type == "too_short" and _length(one.node) >= one.context["min_length"])
        and not (one.type == "missing" and (one.loc, one.field) in misspelt)
    ]


def known_field(extra: Complaint, root: Node) -> bool:
    """True if an unknown field is a known one misspelt."""
    model = model_at(extra.loc[:-1], root, extra.top)
    return model is not None and closest(extra.field, model.model_fields) is not None


def _length(node: Node) -> int:
    if isinstance(node, MappingNode):
        return len(node.entries)
    return len(node.items) if isinstance(node, SequenceNode) else 0


# --- the model of a node ------------------------------------------------------------------------


def _annotations_at(loc: Loc, root: Node, top: type[BaseModel]) -> list[Any]:
    """The types that the models allow at a place, without Annotated and Union around them."""
    annotations: list[Any] = [top]
    node: Node | None = root
    for step in loc:
        model = _likeliest(annotations, node)
        below = [model] if model is not None else annotations
        annotations = [m for one in below for m in _below(one, step)]
        node = child_node(node, step) if node is not None else None
    return annotations


def model_at(loc: Loc, root: Node, top: type[BaseModel] = Audit) -> type[BaseModel] | None:
    """The model of the node at a place; None if none of ours belongs there."""
    node: Node | None = root
    for step in loc:
        node = child_node(node, step) if node is not None else None
    return _likeliest(_annotations_at(loc, root, top), node)


def _likeliest(annotations: list[Any], node: Node | None) -> type[BaseModel] | None:
    """Of several models the one that the node was meant as: of its kind, or with most fields."""
    models = [one for one in annotations if _is_model(one)]
    if len(models) < 2 or not isinstance(node, MappingNode):
        return models[0] if models else None
    kind = node.entries.get("kind")
    word = kind.value if isinstance(kind, ScalarNode) else None
    likeliest: type[BaseModel] = max(
        models,
        key=lambda m: (_kind(m) == word, sum(field in node.entries for field in m.model_fields)),
    )
    return likeliest


def _members(annotation: Any) -> list[Any]:
    """An annotation without Annotated, as the list of its union's members."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [m for one in get_args(annotation) for m in _members(one)]
    return [annotation]


def _below(annotation: Any, step: str | int) -> Iterator[Any]:
    if _is_model(annotation):
        for name, field in annotation.model_fields.items():
            if step == (field.alias or name):
                yield from _members(field.annotation)
    elif get_origin(annotation) is dict:
        yield from _members(get_args(annotation)[1])
    elif get_origin(annotation) is tuple:
        yield from _members(get_args(annotation)[0])


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _kind(model: type[BaseModel]) -> str | None:
    """The word in `kind` that stands for a check's model."""
    field = model.model_fields.get("kind")
    words = _choices(field.annotation) if field is not None else []
    return words[0] if len(words) == 1 else None


def _choices(annotation: Any) -> list[str]:
    """The words of an enumeration or of a Literal."""
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(one.value) for one in annotation]
    return []


# --- words --------------------------------------------------------------------------------------

_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "model_type": "a mapping of fields",
    "model_attributes_type": "a mapping of fields",
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
    (r"(\.[a-z][a-z0-9_]*)?", "the name of a setting, or 'experiment.setting', in lower case"),
    (r"[a-z0-9_]*", "lower-case words joined by underscores, beginning with a letter"),
    (r"\d{4}\.", "an arXiv identifier without version, such as '2410.01082'"),
)


def found_words(node: Node) -> str:
    """The node as an error message names it."""
    if isinstance(node, MappingNode):
        return "a mapping" if node.entries else "an empty mapping"
    if isinstance(node, SequenceNode):
        return "a list" if node.items else "an empty list"
    if node.value is None:
        return "nothing"
    return quoted(node.text) if isinstance(node.value, str) else node.text


def _words(one: Complaint, root: Node) -> tuple[str, str]:
    """The message and the remedy; if the remedy is empty, the rule's own is meant."""
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
        return _quote(one.node)
    if one.type == "tuple_type":
        return "Write it as a list: one '- …' per line, or [a, b]."
    if one.type.startswith("model"):
        return "Write its fields, one 'name: value' per line."
    return ""


def _unknown(one: Complaint, root: Node) -> tuple[str, str]:
    model = model_at(one.loc[:-1], root, one.top)
    fields = model.model_fields if model is not None else {}
    known = [field.alias or name for name, field in fields.items()]
    name = model.__name__ if model is not None else "mapping"
    return (
        f"found the unknown field {quoted(one.field)}; expected a field of {name}",
        did_you_mean(one.field, known),
    )


def _missing(one: Complaint, root: Node) -> tuple[str, str]:
    model = model_at(one.loc, root, one.top)
    about = description(model, one.field) if model is not None else ""
    message = f"found no '{one.field}'; expected one"
    return message, f"Add '{one.field}': {about}" if about else f"Add '{one.field}'."


def _one_of(one: Complaint, root: Node) -> tuple[str, str]:
    options = [word for a in _annotations_at(one.loc, root, one.top) for word in _choices(a)]
    return _choice(found_words(one.node), getattr(one.node, "value", None), options)


def _choice(found: str, word: Any, options: list[str]) -> tuple[str, str]:
    close = closest(word, options) if isinstance(word, str) else None
    expected = options[0] if len(options) == 1 else f"one of {', '.join(options)}"
    return f"found {found}; expected {expected}", f"Did you mean '{close}'?" if close else ""


_KINDS = sorted(filter(None, map(_kind, CHECKS)))


def _unknown_kind(one: Complaint, _: Node) -> tuple[str, str]:
    kind = str(one.context["tag"])
    return _choice(f"the kind {quoted(kind)}", kind, _KINDS)


def _no_kind(_: Complaint, __: Node) -> tuple[str, str]:
    return "found a check without 'kind'; expected one", f"Add 'kind': one of {', '.join(_KINDS)}."


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


def _own_words(one: Complaint, _: Node) -> tuple[str, str]:
    """The words of a validator of ours: a ValueError's, or a custom error's."""
    return str(one.context.get("error", one.text)), ""


def _no_such_type(one: Complaint, _: Node) -> tuple[str, str]:
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
    "value_error": _own_words,
    "bound": _own_words,
    "too_many_words": _own_words,
    "unexplained_guess": _own_words,
    "unlocated_setting": _own_words,
    "union": _no_such_type,
}

# --- the rule of a complaint --------------------------------------------------------------------

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
    "bound": "RA063",
    "too_many_words": "RA066",
    "unexplained_guess": "RA060",
    "unlocated_setting": "RA061",
    **dict.fromkeys(_TYPES, "RA052"),
    **dict.fromkeys(_LIMITS, "RA053"),
}

_ABSENT = frozenset({"missing", "too_short", "string_too_short"})


def _rule_of(one: Complaint, root: Node) -> str:
    if one.type == "value_error":
        return "RA062" if model_at(one.loc, root, one.top) in CHECKS else "RA059"
    if one.type.startswith("date"):
        return "RA056"
    if one.type in _ABSENT:
        loc = (*one.loc, one.field) if one.field else one.loc
        return _rule_of_absent(loc) or _BY_TYPE[one.type]
    return _BY_TYPE.get(one.type, "RA059")


def _rule_of_absent(loc: Loc) -> str | None:
    """The rule of a field that must not be left out, if it has its own."""
    if loc and loc[-1] == "from":
        return "RA063"
    return None
