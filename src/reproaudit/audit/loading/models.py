"""Errors of the models in plain words, each with its place in the file.

pydantic names a place by field names and positions, mixed with the tags of the union members that
it chose. Here each error is led back to the file, and put into a reviewer's words with the nearest
known name as a remedy.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from reproaudit.audit.field_docs import description
from reproaudit.audit.loading.document import Document, has_step
from reproaudit.audit.loading.fault import MOST_FAULTS, Faults
from reproaudit.audit.rules.papers import UNFINISHED
from reproaudit.audit.rules.table import Loc
from reproaudit.audit.rules.values import quoted
from reproaudit.checks import Check, Kind
from reproaudit.errors import closest, did_you_mean

_Model = TypeVar("_Model", bound=BaseModel)


def validate(model: type[_Model], document: Document, faults: Faults) -> _Model | None:
    """Return a document as a model; None if the model refuses it, with a fault for each reason."""
    try:
        return model.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        count, found = error.error_count(), error
    if count > MOST_FAULTS:  # each of pydantic's errors takes a kilobyte
        try:
            model.model_validate_json(json.dumps(_shortened(document.data)))
        except ValidationError as error:
            found = error
    errors = found.errors(include_url=False, include_input=False)
    complaints = [_lead_back(one, document, model) for one in errors[:MOST_FAULTS]]
    faults.count(max(0, count - len(complaints)))
    for one in _without_echoes(complaints):
        if not any(one.loc[:depth] in document.doubtful for depth in range(len(one.loc) + 1)):
            place = document.place(one.loc, at_key=one.at_key)
            faults.add(place, one.loc, one.rule, *one.words())
    return None


def _shortened(value: Any) -> Any:
    """Plain data with the first entries of each list and mapping, and every field's name."""
    if isinstance(value, dict):
        names = [name for i, name in enumerate(value) if i < MOST_FAULTS or name in _fields()]
        return {name: _shortened(value[name]) for name in names}
    return list(map(_shortened, value[:MOST_FAULTS])) if isinstance(value, list) else value


def _fields() -> frozenset[str]:
    from reproaudit.audit.model import Audit

    return frozenset(Audit.model_fields)


# --- from pydantic's loc to the file ------------------------------------------------------------


@dataclass(frozen=True)
class Complaint:
    """One of pydantic's errors, led back to the file.

    Attributes:
        document: the file.
        top: the model of the whole file.
        loc: the place, without the tags of union members.
        type: pydantic's name of the error.
        name: the name of a missing or unknown field, else empty.
        at_key: whether a name is at fault, and not the value below it.
        context: the numbers and words of the error.
        text: pydantic's own words.
    """

    document: Document
    top: type[BaseModel]
    loc: Loc
    type: str
    name: str
    at_key: bool
    context: dict[str, Any]
    text: str

    @property
    def value(self) -> Any:
        """What the file has there."""
        return self.document.at(self.loc)

    @property
    def found(self) -> str:
        """The value as a message names it."""
        value = self.value
        if isinstance(value, dict | list):
            noun = "mapping" if isinstance(value, dict) else "list"
            return f"a {noun}" if value else f"an empty {noun}"
        if value is None:
            return "nothing"
        return quoted(value) if isinstance(value, str) else self.document.written[self.loc]

    @property
    def unfinished(self) -> bool:
        """Whether the value is a text with a TODO."""
        value = None if self.at_key else self.value
        return isinstance(value, str) and UNFINISHED.search(value) is not None

    @property
    def rule(self) -> str:
        """The id of the rule that is broken."""
        if self.unfinished:
            return "RA058"
        if self.type == "missing" and self.name == "from":
            return "RA063"
        if self.type == "value_error":
            model = model_at(self.document.data, self.loc, self.top)
            return "RA062" if model is not None and issubclass(model, Kind) else "RA059"
        return "RA056" if self.type.startswith("date") else _RULES.get(self.type, "RA059")

    def words(self) -> tuple[str, str]:
        """Return the message and the remedy; an empty remedy stands for the rule's own."""
        special = _SPECIAL.get(self.type)
        if special is not None:
            message, remedy = special(self)
        elif self.type in _TYPES:
            message, remedy = f"found {self.found}; expected {_TYPES[self.type]}", _of_type(self)
        elif self.type in _LIMITS:
            words, limit = _LIMITS[self.type]
            message = f"found {self.found}; expected {words} {self.context[limit]:g}"
            remedy = ""
        elif self.type.startswith("date"):
            message, remedy = f"found {self.found}; expected a date, YYYY-MM-DD", ""
        else:
            message, remedy = f"found {self.found}; expected something else: {self.text}", ""
        return message, "" if self.unfinished else remedy


def _lead_back(error: Any, document: Document, top: type[BaseModel]) -> Complaint:
    steps, kind = list(error["loc"]), error["type"]
    name = str(steps.pop()) if kind == "missing" else ""
    at_key = bool(steps) and steps[-1] == "[key]"
    loc: Loc = ()
    value = document.data
    for step in steps[:-1] if at_key else steps:
        if has_step(value, step):  # else it is the tag of a union's member
            loc, value = (*loc, step), value[step]
    if kind == "union_tag_invalid" and has_step(value, "kind"):
        loc = (*loc, "kind")
    if kind == "extra_forbidden":
        name, at_key = str(steps[-1]), True
    context = error.get("ctx") or {}
    return Complaint(document, top, loc, kind, name, at_key, context, error["msg"])


def _without_echoes(found: list[Complaint]) -> list[Complaint]:
    """The complaints without those that only follow from another.

    A list whose entries are all refused counts as too short; a misspelt field counts as missing.
    """
    absent = {(one.loc, one.name) for one in found if one.type == "missing"}
    misspelt = {
        (one.loc[:-1], closest(one.name, [name for loc, name in absent if loc == one.loc[:-1]]))
        for one in (found if absent else ())
        if one.type == "extra_forbidden"
    }
    return [
        one
        for one in found
        if not (one.type == "too_short" and len(one.value) >= one.context["min_length"])
        and not (one.type == "missing" and (one.loc, one.name) in misspelt)
    ]


# --- the model of a node ------------------------------------------------------------------------


def model_at(data: Any, loc: Loc, top: type[BaseModel]) -> type[BaseModel] | None:
    """Return the model of the value at a place; None if none of ours belongs there."""
    members: list[Any] = [top]
    for step in loc:
        model = _likeliest(members, data)
        members = [m for one in ([model] if model else members) for m in _below(one, step)]
        data = data[step]
    return _likeliest(members, data)


def _likeliest(members: list[Any], data: Any) -> type[BaseModel] | None:
    """Of several models the one that was meant: of the kind that is written, or with most fields.

    Only kinds of check have the field `kind` with a single word.
    """
    models = [one for one in members if isinstance(one, type) and issubclass(one, BaseModel)]
    if len(models) < 2 or not isinstance(data, dict):
        return models[0] if models else None
    word = data.get("kind")

    def likeness(model: type[BaseModel]) -> tuple[bool, int]:
        fields = fields_of(model)
        kinds = get_args(fields["kind"].annotation) if "kind" in fields else ()
        return word in kinds, sum(name in data for name in fields)

    return max(models, key=likeness)


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by the names that a file has for them."""
    return {one.alias or name: one for name, one in model.model_fields.items()}


def _below(annotation: Any, step: str | int) -> Iterator[Any]:
    origin = get_origin(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if (one := fields_of(annotation).get(str(step))) is not None:
            yield from _members(one.annotation)
    elif origin is dict:
        yield from _members(get_args(annotation)[1])
    elif origin is tuple:
        yield from _members(get_args(annotation)[0])


def _members(annotation: Any) -> list[Any]:
    """An annotation without Annotated, as the list of its union's members."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [m for one in get_args(annotation) for m in _members(one)]
    return [annotation]


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
_CHECKS: tuple[type[Kind], ...] = get_args(get_args(Check)[0])
KINDS = sorted(get_args(one.model_fields["kind"].annotation)[0] for one in _CHECKS)
"""The kinds of check."""


def _of_type(one: Complaint) -> str:
    scalar = not isinstance(one.value, dict | list)
    if one.value is None:
        return "Write a value, or leave the field out if it is optional."
    if one.type == "string_type" and scalar:
        return f"Quote it: '{one.document.written.get(one.loc, one.value)}'."
    if one.type == "tuple_type":
        return "Write it as a list: one '- …' per line, or [a, b]."
    return "Write its fields, one 'name: value' per line." if one.type.startswith("model") else ""


def _unknown(one: Complaint) -> tuple[str, str]:
    model = model_at(one.document.data, one.loc[:-1], one.top)
    known = fields_of(model) if model is not None else {}
    name = model.__name__ if model is not None else "mapping"
    message = f"found the unknown field {quoted(one.name)}; expected a field of {name}"
    return message, did_you_mean(one.name, known)


def _missing(one: Complaint) -> tuple[str, str]:
    model = model_at(one.document.data, one.loc, one.top)
    about = description(model, one.name) if model is not None else ""
    add = f"Add '{one.name}'"
    return f"found no '{one.name}'; expected one", f"{add}: {about}" if about else f"{add}."


def _choice(one: Complaint) -> tuple[str, str]:
    """A word that is none of those that the field takes."""
    found, value, expected = one.found, one.value, str(one.context.get("expected", ""))
    options = re.findall(r"'([^']*)'", expected) or [expected]
    if one.type == "union_tag_invalid":
        found, value, options = f"the kind {one.found}", one.context["tag"], KINDS
    close = closest(value, options) if isinstance(value, str) else None
    words = options[0] if len(options) == 1 else f"one of {', '.join(options)}"
    return f"found {found}; expected {words}", f"Did you mean '{close}'?" if close else ""


def _no_kind(_: Complaint) -> tuple[str, str]:
    kinds = ", ".join(KINDS)
    return "found a check without 'kind'; expected one", f"Add 'kind': one of {kinds}."


def _form(one: Complaint) -> tuple[str, str]:
    word, pattern = str(one.loc[-1]) if one.at_key else str(one.value), one.context["pattern"]
    form = next((words for part, words in _FORMS if part in pattern), f"the form {pattern}")
    return f"found {quoted(word)}; expected {form}", ""


def _length(one: Complaint) -> tuple[str, str]:
    least, most = one.context.get("min_length"), one.context.get("max_length")
    words = f"at least {least}" if least is not None else f"at most {most}"
    entries = "entry" if (least or most) == 1 else "entries"
    return f"found {len(one.value) or 'none'}; expected {words} {entries}", ""


def _empty(_: Complaint) -> tuple[str, str]:
    return "found empty text; expected some", "Write the text, or leave an optional field out."


def _long(one: Complaint) -> tuple[str, str]:
    return f"found {one.found}; expected at most {one.context['max_length']} characters", ""


def _own(one: Complaint) -> tuple[str, str]:
    """The words of a validator of ours: a ValueError's, or a custom error's."""
    words = str(one.context.get("error", one.text))
    return (words if isinstance(one.value, dict) else f"found {one.found}; {words}"), ""


def _words(one: Complaint) -> tuple[str, str]:
    found, most = one.context["found"], one.context["most"]
    return f"found {found} words; expected at most {most}", "Shorten it."


def _union(one: Complaint) -> tuple[str, str]:
    return f"found {one.found}; expected {one.context['expected']}", ""


_SPECIAL: dict[str, Callable[[Complaint], tuple[str, str]]] = {
    "extra_forbidden": _unknown,
    "missing": _missing,
    "enum": _choice,
    "literal_error": _choice,
    "union_tag_invalid": _choice,
    "union_tag_not_found": _no_kind,
    "string_pattern_mismatch": _form,
    "too_short": _length,
    "too_long": _length,
    "string_too_short": _empty,
    "string_too_long": _long,
    "union": _union,
    **dict.fromkeys(
        ("value_error", "bound", "bound_form", "unexplained_guess", "unlocated_setting"), _own
    ),
    "too_many_words": _words,
}

_RULES = {
    "extra_forbidden": "RA050",
    "missing": "RA051",
    "union_tag_not_found": "RA051",
    **dict.fromkeys((*_TYPES, "union"), "RA052"),
    **dict.fromkeys((*_LIMITS, "string_too_short", "string_too_long"), "RA053"),
    **dict.fromkeys(("enum", "literal_error", "union_tag_invalid"), "RA054"),
    "string_pattern_mismatch": "RA055",
    **dict.fromkeys(("too_short", "too_long"), "RA057"),
    "unexplained_guess": "RA060",
    "unlocated_setting": "RA061",
    "bound": "RA063",
    "bound_form": "RA062",
    "too_many_words": "RA066",
}
"""The rule of an error, by pydantic's name of it."""
