"""Errors of the models in plain words, each with its place in the file.

pydantic names a place by field names and positions, mixed with the tags of the union members that
it chose. Here each error is led back to the file, and put into a reviewer's words with the nearest
known name as a remedy.
"""

from __future__ import annotations

import json
import re
import types
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from reproaudit.audit.loading.document import Document, has_step
from reproaudit.audit.loading.fault import MOST_FAULTS, Faults
from reproaudit.audit.model import Audit
from reproaudit.audit.rules.table import Loc
from reproaudit.audit.rules.values import quoted
from reproaudit.audit.rules.whole import UNFINISHED
from reproaudit.checks import Check, Kind
from reproaudit.errors import closest, did_you_mean

_Model = TypeVar("_Model", bound=BaseModel)
_Type = type[BaseModel] | None


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
    complaints = [_lead_back(one, document.data, model) for one in errors[:MOST_FAULTS]]
    faults.count(max(0, count - len(complaints)))
    for one in _without_echoes(complaints):
        if not any(one.loc[:depth] in document.doubtful for depth in range(len(one.loc) + 1)):
            place = document.place(one.loc, at_key=one.at_key)
            faults.add(place, one.loc, *_fault(one, document))
    return None


def _shortened(value: Any) -> Any:
    """Plain data with the first entries of each list and mapping, and every field's name."""
    if isinstance(value, dict):
        kept = set(list(value)[:MOST_FAULTS]) | Audit.model_fields.keys()
        return {name: _shortened(below) for name, below in value.items() if name in kept}
    return list(map(_shortened, value[:MOST_FAULTS])) if isinstance(value, list) else value


# --- an error, led back to the file -------------------------------------------------------------


@dataclass(frozen=True)
class Complaint:
    """One of pydantic's errors, led back to the file.

    Attributes:
        type: pydantic's name of the error.
        text: pydantic's own words.
        context: the numbers and words of the error.
        loc: the place, without the tags of union members.
        value: what the file has there.
        model: the model that has the place, or that lacks the field; None if it is none of ours.
        name: the name of a missing or unknown field, else empty.
        at_key: whether a name is at fault, and not the value below it.
    """

    type: str
    text: str
    context: dict[str, Any]
    loc: Loc
    value: Any
    model: _Type
    name: str
    at_key: bool


def _lead_back(error: Any, data: Any, top: type[BaseModel]) -> Complaint:
    steps, kind, name = list(error["loc"]), error["type"], ""
    if kind in ("missing", "extra_forbidden"):
        name = str(steps.pop())
    at_key = bool(steps) and steps[-1] == "[key]"
    loc: Loc = ()
    value, members = data, [top]
    for step in steps[:-1] if at_key else steps:
        if has_step(value, step):  # else it is the tag of a union's member
            members = _below(members, value, step)
            loc, value = (*loc, step), value[step]
    model = _meant(members, value)
    if kind == "union_tag_invalid":
        loc, value = (*loc, "kind"), value["kind"]
    if kind == "extra_forbidden":
        loc, at_key = (*loc, name), True
    context = error.get("ctx") or {}
    return Complaint(kind, error["msg"], context, loc, value, model, name, at_key)


def _without_echoes(found: list[Complaint]) -> list[Complaint]:
    """The complaints without those that only follow from another.

    A list whose entries are all refused counts as too short; a misspelt field counts as missing.
    """
    absent: dict[Loc, list[str]] = {}
    for one in found:
        if one.type == "missing":
            absent.setdefault(one.loc, []).append(one.name)
    misspelt = {
        (one.loc[:-1], closest(one.name, absent.get(one.loc[:-1], ())))
        for one in found
        if one.type == "extra_forbidden"
    }
    return [
        one
        for one in found
        if not (one.type == "too_short" and len(one.value) >= one.context["min_length"])
        and not (one.type == "missing" and (one.loc, one.name) in misspelt)
    ]


# --- the model of a node ------------------------------------------------------------------------


def _below(members: list[Any], data: Any, step: str | int) -> list[Any]:
    """The types that a value may have, one step below a value that has one of these types."""
    if (model := _meant(members, data)) is not None:
        field = _fields(model).get(str(step))
        return _members(field.annotation) if field is not None else []
    inner = {dict: 1, tuple: 0}
    below = (get_args(one)[inner[o]] for one in members if (o := get_origin(one)) in inner)
    return [member for one in below for member in _members(one)]


def _meant(members: list[Any], data: Any) -> type[BaseModel] | None:
    """The model among some types; of several, which are kinds of check, that of the kind."""
    models = [one for one in members if isinstance(one, type) and issubclass(one, BaseModel)]
    if len(models) < 2:
        return models[0] if models else None
    kind = data.get("kind") if isinstance(data, dict) else None
    return next((one for one in models if kind == kind_of_check(one)), None)


def kind_of_check(model: type[BaseModel]) -> str:
    """Return the word by which an audit names a kind of check."""
    return str(get_args(model.model_fields["kind"].annotation)[0])


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names that a file has for them."""
    return {one.alias or name: one for name, one in model.model_fields.items()}


def _members(annotation: Any) -> list[Any]:
    """An annotation without Annotated, as the list of its union's members."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _members(arguments[0])
    if origin in (Union, types.UnionType):
        return [member for one in arguments for member in _members(one)]
    return [annotation]


# --- the words of an error ----------------------------------------------------------------------

_EXPECTED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), ("RA052", "a whole number")),
    **dict.fromkeys(("model_type", "model_attributes_type"), ("RA052", "a mapping of fields")),
    "string_type": ("RA052", "text"),
    "float_type": ("RA052", "a number"),
    "bool_type": ("RA052", "true or false"),
    "dict_type": ("RA052", "a mapping of names"),
    "tuple_type": ("RA052", "a list"),
    "union": ("RA052", "{expected}"),
    "greater_than": ("RA053", "a number above {gt:g}"),
    "greater_than_equal": ("RA053", "a number of at least {ge:g}"),
    "less_than": ("RA053", "a number below {lt:g}"),
    "less_than_equal": ("RA053", "a number of at most {le:g}"),
    "string_too_short": ("RA053", "text of at least one letter"),
    "string_too_long": ("RA053", "at most {max_length} characters"),
    "date": ("RA056", "a date, YYYY-MM-DD"),
    "too_short": ("RA057", "at least {min_length} {entries}"),
    "too_long": ("RA057", "at most {max_length} {entries}"),
    "too_many_words": ("RA066", "at most {most} words"),
}
"""By pydantic's name of an error its rule, and what was expected."""

_OWN = {
    "unexplained_guess": "RA060",
    "unlocated_setting": "RA061",
    "bound_form": "RA062",
    "bound": "RA063",
    "value_error": "RA059",
}
"""The rules of the errors that our own validators raise, with their words."""

_FORMS = (
    (r"\.[a-z0-9][a-z0-9-]*", "the slug, a dot, and lower-case words joined by hyphens"),
    (r"(\.[a-z][a-z0-9_]*)?", "the name of a setting, or 'experiment.setting', in lower case"),
    (r"[a-z0-9_]*", "lower-case words joined by underscores, beginning with a letter"),
    (r"\d{4}\.", "an arXiv identifier without version, such as '2410.01082'"),
)
"""By a part of a pattern what it asks for."""

_CHECKS: tuple[type[Kind], ...] = get_args(get_args(Check)[0])
KINDS = sorted(map(kind_of_check, _CHECKS))
"""The kinds of check."""


def _fault(one: Complaint, document: Document) -> tuple[str, str, str]:
    """Return rule, message and remedy; an empty remedy stands for the rule's own."""
    rule, message, remedy = _about_a_name(one) or _about_a_value(one, _found(one, document))
    if isinstance(one.value, str) and not one.at_key and UNFINISHED.search(one.value):
        return "RA058", message, ""
    return rule, message, remedy


def _found(one: Complaint, document: Document) -> str:
    """The value as a message names it."""
    if one.at_key:
        return quoted(str(one.loc[-1]))
    if isinstance(one.value, dict | list):
        noun = "mapping" if isinstance(one.value, dict) else "list"
        return f"a {noun}" if one.value else f"an empty {noun}"
    if isinstance(one.value, str):
        return quoted(one.value)
    return "nothing" if one.value is None else document.written[one.loc]


def _about_a_name(one: Complaint) -> tuple[str, str, str] | None:
    """The fault of a field that is unknown or missing."""
    if one.type == "extra_forbidden":
        name = one.model.__name__ if one.model is not None else "mapping"
        message = f"found the unknown field {quoted(one.name)}; expected a field of {name}"
        return "RA050", message, did_you_mean(one.name, _fields(one.model) if one.model else {})
    if one.type == "union_tag_not_found":
        remedy = f"Add 'kind': one of {', '.join(KINDS)}."
        return "RA051", "found a check without 'kind'; expected one", remedy
    if one.type == "missing":
        from reproaudit.audit.schema import description  # which is slow to import

        about = description(one.model, one.name) if one.model is not None else ""
        remedy = f"Add '{one.name}': {about}" if about else f"Add '{one.name}'."
        rule = "RA063" if one.name == "from" else "RA051"
        return rule, f"found no '{one.name}'; expected one", remedy
    return None


def _about_a_value(one: Complaint, found: str) -> tuple[str, str, str]:
    if one.type in ("enum", "literal_error", "union_tag_invalid"):
        said = str(one.context.get("expected", ""))
        known = (
            KINDS if one.type == "union_tag_invalid" else re.findall("'([^']*)'", said) or [said]
        )
        close = closest(one.value, known) if isinstance(one.value, str) else None
        remedy = f"Did you mean '{close}'?" if close else ""
        words = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
        return "RA054", f"found {found}; expected {words}", remedy
    if one.type == "string_pattern_mismatch":
        pattern = one.context["pattern"]
        form = next((words for part, words in _FORMS if part in pattern), f"the form {pattern}")
        return "RA055", f"found {found}; expected {form}", ""
    if one.type in _OWN:
        words, rule = str(one.context.get("error", one.text)), _OWN[one.type]
        if one.type == "value_error" and one.model is not None and issubclass(one.model, Kind):
            rule = "RA062"
        return rule, words if isinstance(one.value, dict) else f"found {found}; {words}", ""
    kind = "date" if one.type.startswith("date") else one.type
    if kind not in _EXPECTED:
        return "RA059", f"found {found}; expected something else: {one.text}", ""
    facts = dict(one.context)
    if one.type in ("too_short", "too_long"):
        limit = facts.get("min_length") or facts.get("max_length")
        facts["entries"] = "entry" if limit == 1 else "entries"
        found = str(len(one.value) or "none")
    if one.type == "too_many_words":
        found = f"{facts['found']} words"
    rule, expected = _EXPECTED[kind]
    return rule, f"found {found}; expected {expected.format(**facts)}", ""
