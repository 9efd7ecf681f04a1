"""Errors of the models in plain words, each with its place in the file.

pydantic names a place by field names and positions, mixed with the tags of the union members that
it chose. Here each error is led back to the file, and put into a reviewer's words with the nearest
known name as a remedy.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from reproaudit.audit.field_docs import description
from reproaudit.audit.loading.document import Document, has_step
from reproaudit.audit.loading.fault import MOST_FAULTS, Faults
from reproaudit.audit.model import Audit
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
            faults.add(place, one.loc, *one.fault())
    return None


def _shortened(value: Any) -> Any:
    """Plain data with the first entries of each list and mapping, and every field's name."""
    if isinstance(value, dict):
        kept = set(list(value)[:MOST_FAULTS]) | Audit.model_fields.keys()
        return {name: _shortened(below) for name, below in value.items() if name in kept}
    return list(map(_shortened, value[:MOST_FAULTS])) if isinstance(value, list) else value


# --- the words of an error ----------------------------------------------------------------------

_TYPES = {
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "a whole number"),
    **dict.fromkeys(("model_type", "model_attributes_type"), "a mapping of fields"),
    "string_type": "text",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping of names",
    "tuple_type": "a list",
    "union": "{expected}",
}
_WORDS: dict[str, tuple[str, str, str]] = {
    **{name: ("RA052", f"found {{found}}; expected {words}", "") for name, words in _TYPES.items()},
    "greater_than": ("RA053", "found {found}; expected a number above {gt:g}", ""),
    "greater_than_equal": ("RA053", "found {found}; expected a number of at least {ge:g}", ""),
    "less_than": ("RA053", "found {found}; expected a number below {lt:g}", ""),
    "less_than_equal": ("RA053", "found {found}; expected a number of at most {le:g}", ""),
    "string_too_short": (
        "RA053",
        "found empty text; expected some",
        "Write the text, or leave an optional field out.",
    ),
    "string_too_long": ("RA053", "found {found}; expected at most {max_length} characters", ""),
    "too_short": ("RA057", "found {length}; expected at least {min_length} {entries}", ""),
    "too_long": ("RA057", "found {length}; expected at most {max_length} {entries}", ""),
    "too_many_words": ("RA066", "found {found} words; expected at most {most}", "Shorten it."),
}
"""By pydantic's name of an error its rule, what was found and expected, and the remedy."""

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
_CHECKS: tuple[type[Kind], ...] = get_args(get_args(Check)[0])
KINDS = sorted(get_args(one.model_fields["kind"].annotation)[0] for one in _CHECKS)
"""The kinds of check."""


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

    def fault(self) -> tuple[str, str, str]:
        """Return rule, message and remedy; an empty remedy stands for the rule's own."""
        rule, message, remedy = self._about_a_name() or self._about_a_value()
        value = None if self.at_key else self.value
        if isinstance(value, str) and UNFINISHED.search(value):
            return "RA058", message, ""
        return rule, message, remedy

    def _about_a_name(self) -> tuple[str, str, str] | None:
        """The fault of a field that is unknown or missing, or of a word that is none of a few."""
        if self.type == "extra_forbidden":
            model = _model_at(self.document.data, self.loc[:-1], self.top)
            name = model.__name__ if model is not None else "mapping"
            message = f"found the unknown field {quoted(self.name)}; expected a field of {name}"
            return "RA050", message, did_you_mean(self.name, _fields(model) if model else {})
        if self.type == "union_tag_not_found":
            remedy = f"Add 'kind': one of {', '.join(KINDS)}."
            return "RA051", "found a check without 'kind'; expected one", remedy
        if self.type == "missing":
            model = _model_at(self.document.data, self.loc, self.top)
            about = description(model, self.name) if model is not None else ""
            remedy = f"Add '{self.name}': {about}" if about else f"Add '{self.name}'."
            rule = "RA063" if self.name == "from" else "RA051"
            return rule, f"found no '{self.name}'; expected one", remedy
        if self.type in ("enum", "literal_error", "union_tag_invalid"):
            return self._choice()
        return None

    def _choice(self) -> tuple[str, str, str]:
        found, value, expected = self.found, self.value, str(self.context.get("expected", ""))
        options = re.findall(r"'([^']*)'", expected) or [expected]
        if self.type == "union_tag_invalid":
            found, value, options = f"the kind {self.found}", self.context["tag"], KINDS
        close = closest(value, options) if isinstance(value, str) else None
        words = options[0] if len(options) == 1 else f"one of {', '.join(options)}"
        remedy = f"Did you mean '{close}'?" if close else ""
        return "RA054", f"found {found}; expected {words}", remedy

    def _about_a_value(self) -> tuple[str, str, str]:
        if self.type == "string_pattern_mismatch":
            word = str(self.loc[-1]) if self.at_key else str(self.value)
            pattern = self.context["pattern"]
            form = next((words for part, words in _FORMS if part in pattern), f"the form {pattern}")
            return "RA055", f"found {quoted(word)}; expected {form}", ""
        if self.type.startswith("date"):
            return "RA056", f"found {self.found}; expected a date, YYYY-MM-DD", ""
        if self.type in _OWN:
            words, rule = str(self.context.get("error", self.text)), _OWN[self.type]
            model = _model_at(self.document.data, self.loc, self.top)
            if self.type == "value_error" and model is not None and issubclass(model, Kind):
                rule = "RA062"
            return (
                rule,
                words if isinstance(self.value, dict) else f"found {self.found}; {words}",
                "",
            )
        if self.type not in _WORDS:
            return "RA059", f"found {self.found}; expected something else: {self.text}", ""
        rule, template, remedy = _WORDS[self.type]
        facts = {"found": self.found, **self.context}
        if self.type in ("too_short", "too_long"):
            limit = self.context.get("min_length") or self.context.get("max_length")
            facts["length"] = len(self.value) or "none"
            facts["entries"] = "entry" if limit == 1 else "entries"
        return rule, template.format(**facts), remedy or self._remedy_of_type()

    def _remedy_of_type(self) -> str:
        if self.type not in _TYPES or self.type == "union":
            return ""
        if self.value is None:
            return "Write a value, or leave the field out if it is optional."
        if self.type == "string_type" and not isinstance(self.value, dict | list):
            return f"Quote it: '{self.document.written.get(self.loc, self.value)}'."
        if self.type == "tuple_type":
            return "Write it as a list: one '- …' per line, or [a, b]."
        model = self.type.startswith("model")
        return "Write its fields, one 'name: value' per line." if model else ""


# --- from pydantic's loc to the file ------------------------------------------------------------


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


def _model_at(data: Any, loc: Loc, top: type[BaseModel]) -> type[BaseModel] | None:
    """The model of the value at a place; None if none of ours belongs there."""
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
        fields = _fields(model)
        kinds = get_args(fields["kind"].annotation) if "kind" in fields else ()
        return word in kinds, sum(name in data for name in fields)

    return max(models, key=likeness)


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names that a file has for them."""
    return {one.alias or name: one for name, one in model.model_fields.items()}


def _below(annotation: Any, step: str | int) -> Iterator[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if (one := _fields(annotation).get(str(step))) is not None:
            yield from _members(one.annotation)
    elif get_origin(annotation) in (dict, tuple):
        yield from _members(get_args(annotation)[1 if get_origin(annotation) is dict else 0])


def _members(annotation: Any) -> list[Any]:
    """An annotation without Annotated, as the list of its union's members."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [m for one in get_args(annotation) for m in _members(one)]
    return [annotation]
