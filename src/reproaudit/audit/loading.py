"""From a YAML file to an audit, or to every fault that a reviewer has to mend, each with its place.

There are three steps:

1. `reproaudit.audit.document` reads the text into data that knows the place of each value.
2. The models of `reproaudit.audit.model` validate the data; what they refuse is put into plain
   words here.
3. Once the models accept, `reproaudit.audit.rules` checks what spans several nodes.

A file of reviews, and one that says how an author's repository is run, go the same way. No input
makes it raise anything but a `SpecError`: values, nesting and listed faults are limited.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from reproaudit.audit import SHORT_FILE
from reproaudit.audit.document import Document, read_file, read_yaml
from reproaudit.audit.faults import START, WARNINGS, Fault, Faults, Loc, Violation, quoted, shown
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import UNFINISHED_WORDS, broken_rules, of_reviews, unfinished
from reproaudit.checks import KINDS
from reproaudit.declarations import ByKind, description_of
from reproaudit.errors import SpecError, closest, did_you_mean

if TYPE_CHECKING:  # most audits that are checked have no reviews
    from reproaudit.audit.review import Reviews

_Model = TypeVar("_Model", bound=BaseModel)

MAX_AUDIT_BYTES = 2**20  # The largest audit file; the largest written so far has a twentieth of it

VERSION: Loc = ("schema_version",)

OF_THE_WHOLE = frozenset({"RA211"})
"""The rules that an audit's sound part may break where the whole does not."""

SHORT_FORM = 3  # The version of the short form, `reproaudit.audit.short`

Rules = Callable[[_Model], Iterable[Violation]]
"""What a file must satisfy once its model accepts it."""


def load_audit(path: Path | str) -> Audit:
    """Return the audit in a file named as its slug; a SpecError lists every fault and warning."""
    return _loaded(*read_audit(path))


def read_audit(
    path: Path | str, text: str | None = None, more: Rules[Audit] = lambda _audit: ()
) -> tuple[Audit | None, list[Fault]]:
    """Return the audit in a file and its faults by place; no audit if one of them is an error.

    Text is what the file holds, if it is not to be read; `more` are rules for an audit that breaks
    no other.
    """

    def rules(audit: Audit) -> Iterator[Violation]:
        name = Path(path).name.removesuffix(SHORT_FILE)
        broken = list(broken_rules(audit, Path(name).stem))
        yield from broken
        if all(violation.rule in WARNINGS for violation in broken):
            yield from more(audit)

    audit, _, faults = read_as(Audit, path, "an audit", rules, text)
    return audit, faults


def load_reviews(path: Path, text: str | None = None) -> Reviews:
    """Return what a review file says, nothing without one; a SpecError lists every fault."""
    return _loaded(*read_reviews(path, None, text))


def read_reviews(
    path: Path, audit: Audit | None, text: str | None = None
) -> tuple[Reviews | None, list[Fault]]:
    """Return what a review file says, and its faults; it is held against the audit, if any."""
    from reproaudit.audit.review import Reviews

    if text is None and not path.exists():
        return Reviews(), []

    def rules(reviews: Reviews) -> Iterable[Violation]:
        return of_reviews(audit, reviews) if audit is not None else ()

    reviews, _, faults = read_as(Reviews, path, "the reviews of an audit", rules, text)
    return reviews, faults


def _loaded(data: _Model | None, faults: list[Fault]) -> _Model:
    if data is None:
        raise SpecError("\n".join(map(str, faults)))
    return data


def read_as(
    model: type[_Model],
    path: Path | str,
    noun: str,
    rules: Rules[_Model] | None = None,
    text: str | None = None,
) -> tuple[_Model | None, Document | None, list[Fault]]:
    """Return what a file says (nothing if it has an error), its document, and its faults by place.

    The noun says what it is expected to be, with its article; rules what else it must satisfy: with
    these, TODOs are reported, too. Text is what it holds, if it is not to be read.
    """
    faults = Faults(str(path))
    if text is None:
        text = read_file(Path(path), MAX_AUDIT_BYTES, faults)
    document = read_yaml(text, faults) if text is not None else None
    if document is None or not isinstance(document.data, dict):
        if not faults.refuse:
            content = "no mapping" if document and document.data is not None else "an empty file"
            faults.add(START, (), "RA005", f"found {content}; expected {noun}")
        return None, None, faults.in_order()
    written = document
    if model is Audit and document.data.get(*VERSION) == SHORT_FORM:
        document = _expanded(document, faults)
    read, refusals = _validate(model, document.data)
    _take_new(refusals, document, faults)
    if rules is not None:
        if read is not None and not faults.refuse:
            _take(rules(read), document, faults)
        elif (sound := _sound_part(document, faults)) is not None:
            judged, _ = _validate(model, sound.data)
            broken = rules(judged) if judged is not None else ()
            of_parts = (violation for violation in broken if violation.rule not in OF_THE_WHOLE)
            _take_new(of_parts, sound, faults)
        known = faults.locs
        marks = unfinished(written.data)
        _take((mark for mark in marks if mark.loc not in known), written, faults)
    return None if faults.refuse else read, document, faults.in_order()


def _expanded(document: Document, faults: Faults) -> Document:
    """Return a document in the short form as one of schema 2; keep what is wrong with it."""
    from reproaudit.audit.short.expansion import expanded
    from reproaudit.audit.short.forms import ShortAudit
    from reproaudit.audit.short.refusals import in_short, is_missed

    long, found, unused = expanded(document)
    _, refusals = _validate(ShortAudit, document.data)
    _take_new(in_short(refusals, document), document, faults)
    above = long.above(faults.locs)
    _take_new((one for one in found if not is_missed(one, above)), document, faults)
    if not faults.refuse:
        _take(unused, document, faults)
    return long


def _sound_part(document: Document, faults: Faults) -> Document | None:
    """Return a document without the entries at fault; None if that cannot be told."""
    if not document.is_expanded:
        return None
    from reproaudit.audit.short.expansion import sound_part

    return sound_part(document, faults.locs)


def _take_new(violations: Iterable[Violation], document: Document, faults: Faults) -> None:
    """Keep what breaks a rule, but for what follows from faults that are kept already."""
    doubtful = faults.locs
    above = document.above(doubtful)

    def is_new(violation: Violation) -> bool:
        loc = document.written_at(violation.loc)
        follows = loc in above
        return not follows and doubtful.isdisjoint(loc[:depth] for depth in range(len(loc) + 1))

    _take(filter(is_new, violations), document, faults)


def _take(violations: Iterable[Violation], document: Document, faults: Faults) -> None:
    """Keep what breaks a rule as faults, each once, with the nearest known name as a remedy."""
    distinct: dict[tuple[str, Loc, str], Violation] = {}
    for violation in violations:
        distinct.setdefault((violation.rule, violation.loc, violation.remedy), violation)
    for rule, loc, message, remedy, about, known, beside in distinct.values():
        hint = did_you_mean(about, known) if about and known else ""
        place = document.place(loc, at_key=about in loc[-1:])
        line = f" (see line {document.place(beside).line})" if beside else ""
        words = (f"{message}{line}", remedy or hint)
        if document.is_expanded:
            from reproaudit.audit.short.refusals import short_words

            words = short_words(*words, rule)
        faults.add(place, document.written_at(loc), rule, *words)


# --- what the models refuse ----------------------------------------------------------------------


def _validate(model: type[_Model], data: Any) -> tuple[_Model | None, list[Violation]]:
    """Return a file's data as a model, or None and each reason why the model refuses it."""
    try:
        return model.model_validate_json(json.dumps(data)), []
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
    # of a file of another version nothing else is said: it would be refused field by field
    errors = [refusal for refusal in errors if refusal["loc"] == VERSION] or errors
    return None, [violation for refusal in errors for violation in _lead_back(refusal, data, model)]


def _lead_back(error: Any, data: Any, top: type[BaseModel]) -> Iterator[Violation]:
    """Yield an error with its place in the file; nothing if it only follows from others."""
    steps = list(error["loc"])
    kind = error["type"]
    name = str(steps.pop()) if kind in ("missing", "extra_forbidden") else ""
    at_key = bool(steps) and steps[-1] == "[key]"
    loc: Loc = ()
    value = data
    members = [top]
    for step in steps[:-1] if at_key else steps:
        there = step in value if isinstance(value, dict) else isinstance(step, int)
        if there:  # else it is the tag of a union's member
            members = _below(members, value, step)
            loc = (*loc, step)
            value = value[step]
    model = _meant(members, value)
    missing = kind == "missing" and isinstance(value, dict) and error["loc"] != VERSION
    if missing and closest(name, value.keys() - _fields(model).keys()):
        return  # it is misspelt, and reported as unknown
    if name or kind == "union_tag_not_found":
        yield _of_name(kind, name, loc, model)
        return
    if kind == "union_tag_invalid":
        loc = (*loc, "kind")
        value = value["kind"]
    context = error.get("ctx") or {}
    if kind == "too_short" and len(value) >= context["min_length"]:
        return  # its entries are refused, so that they do not count
    given = quoted(str(loc[-1])) if at_key else _found(value)
    if kind in ("enum", "literal_error", "union_tag_invalid"):
        violation = _of_word(loc, value, given, context)
    else:
        rule, message = _of_value(kind, value, given, error["msg"])
        violation = Violation(rule, loc, message, about=str(loc[-1]) if at_key else "")
    todo = isinstance(value, str) and not at_key and UNFINISHED_WORDS.search(value)
    yield violation._replace(rule="RA058", remedy="") if todo else violation


# --- the model of a node ------------------------------------------------------------------------


def _below(members: list[Any], data: Any, step: str | int) -> list[Any]:
    """The types that a value may have, one step below a value that has one of these types."""
    if (model := _meant(members, data)) is not None:
        field = _fields(model).get(str(step))
        return _members(field.annotation) if field is not None else []
    inner = {dict: 1, tuple: 0}
    below = (get_args(member)[inner[o]] for member in members if (o := get_origin(member)) in inner)
    return [member for annotation in below for member in _members(annotation)]


def _meant(members: list[Any], data: Any) -> type[BaseModel] | None:
    """The model among some types; of several kinds of check that of the kind, else the likest."""
    models = [m for m in members if isinstance(m, type) and issubclass(m, BaseModel)]
    if len(models) > 1 and not all("kind" in model.model_fields for model in models):
        named = data if isinstance(data, dict) else {}
        models.sort(key=lambda model: -sum(field in named for field in _fields(model)))
    elif len(models) > 1:
        kind = data.get("kind") if isinstance(data, dict) else None
        models = [m for m in models if kind in get_args(m.model_fields["kind"].annotation)]
    return models[0] if models else None


def _fields(model: type[BaseModel] | None) -> dict[str, FieldInfo]:
    """The fields of a model by the names that a file has for them."""
    fields = model.model_fields.items() if model is not None else ()
    return {field.alias or name: field for name, field in fields}


def _members(annotation: Any) -> list[Any]:
    """An annotation without Annotated, as the list of its union's members."""
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        by_kind = [entry for entry in arguments[1:] if isinstance(entry, ByKind)]
        return [*by_kind[0].models()] if by_kind else _members(arguments[0])
    if origin in (Union, types.UnionType):
        return [member for argument in arguments for member in _members(argument)]
    return [annotation]


# --- the words of an error ----------------------------------------------------------------------


def _found(value: Any) -> str:
    if isinstance(value, dict | list):
        noun = "mapping" if isinstance(value, dict) else "list"
        return f"a {noun}" if value else f"an empty {noun}"
    return "nothing" if value is None else shown(value)


_NOUNS = {
    **{kind.__name__: "a check of this kind" for kind in KINDS.values()},
    "AlsoStated": "an entry of 'also_stated'",
    "CouldBe": "an entry of 'could_be'",
    "Group": "a group of settings",
    "MappingFile": "a mapping",
    "Misses": "'misses'",
    "NamedBound": "a bound",
    "NotAudited": "a claim that is not audited",
    "Number": "a number with its source",
    "Paper": "the paper",
    "Question": "a question of ours",
    "Read": "what was read",
    "ShortAudit": "an audit",
    "Tier": "a tier's block",
    "TierOfStated": "a tier's block",
}
"""What a message calls a model, where the words of its name do not say it."""


def _noun(model: type[BaseModel]) -> str:
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", model.__name__).lower()
    article = "an" if words[0] in "aeiou" else "a"
    plain = words if words.endswith("s") else f"{article} {words}"
    return _NOUNS.get(model.__name__, plain)


def _of_name(kind: str, name: str, loc: Loc, model: type[BaseModel] | None) -> Violation:
    if kind == "extra_forbidden":
        of = "a mapping" if model is None else _noun(model)
        message = f"found the unknown field {quoted(name)}; expected a field of {of}"
        return Violation("RA050", (*loc, name), message, "", name, _fields(model))
    name = name or "kind"
    field = _fields(model).get(name)
    described = "" if model is None or field is None else description_of(model, name)
    about = " ".join((described or "docs/answers.md has them.").split())
    return Violation("RA051", loc, f"found no '{name}'; expected one", f"Add '{name}': {about}")


def _of_word(loc: Loc, value: Any, given: str, context: dict[str, Any]) -> Violation:
    expected = str(context.get("expected") or context.get("expected_tags"))
    known = re.findall("'([^']*)'", expected)
    close = closest(value, known) if isinstance(value, str) else None
    remedy = f"Did you mean '{close}'?" if close else ""
    return Violation("RA054", loc, f"found {given}; expected {expected}", remedy)


def _of_value(kind: str, value: Any, given: str, message: str) -> tuple[str, str]:
    """The rule that a value breaks, and what was found and expected: pydantic's words or ours."""
    words = message.removeprefix("Value error, ")
    if (expected := re.fullmatch(r"[A-Z]\w+ (should .*)", words)) is None:
        if kind == "union":
            return "RA052", f"found {given}; {words}"
        return "RA059", words if isinstance(value, dict) else f"found {given}; {words}"
    rule = "RA052" if kind.endswith("_type") else "RA053"
    if kind == "string_pattern_mismatch":
        rule = "RA055"
    return rule, f"found {given}; it {expected[1]}"
