"""What the models of the short form refuse, in words that say where a thing belongs.

Rules, and the models of schema 2, speak of that schema's fields; `short_words` says what the short
form calls them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from reproaudit.audit.document import Document
from reproaudit.audit.faults import REMEDIES, Loc, Violation, quoted
from reproaudit.audit.short import fields
from reproaudit.audit.short.forms import Arm, Claim, Experiment, Group, ShortAudit
from reproaudit.errors import closest

_RENAMED = (
    *(fields.PASSAGE, fields.ANSWER, fields.MEASUREMENT, fields.STAGE, fields.REPORTED),
    *(fields.GRADE, fields.MISSES, fields.NOT_AUDITED, fields.FINDING, fields.CHECKS),
)
NEW_NAMES: dict[str, tuple[str, ...]] = {
    **{long: (short,) for table in _RENAMED for short, long in table.items() if short != long},
    "ablations": ("without_part",),
    "also_at": ("also_stated",),
    "alternatives": ("could_be",),
    "as_of": ("card_read",),
    "at": ("where",),
    "axes": ("every_step", "once"),
    "constructed": ("must_pass",),
    "elsewhere": ("misses",),
    "evidence": ("says",),
    "excused": ("cannot_matter",),
    "is": ("absolute",),
    "kind": ("every_step", "once"),
    "lacks": ("without_part",),
    "not_read": ("read",),
    "nulls": ("must_fail",),
    "only_reading": ("no_other",),
    "readings": ("also_stated",),
    "relative": ("within",),
    "result": ("card",),
    "share": ("share_of_runs", "relative"),
    "source": ("from",),
    "symbol": ("noun",),
    "value": ("values",),
    "with": ("values",),
}
"""The names of schema 2, and of common guesses, with what the short form calls these things."""

HOMES: dict[str, type] = {
    "the audit itself": ShortAudit,
    "an arm, under 'arms'": Arm,
    "a claim": Claim,
    "an experiment": Experiment,
    "a group of settings": Group,
}
"""Where a field belongs that stands elsewhere."""


def in_short(refusals: Iterable[Violation], document: Document) -> Iterator[Violation]:
    """Yield refusals; an unknown field with what it is called here, or where it belongs."""
    data = document.data
    after_comma: set[Loc] = set()
    listed = list(refusals)
    meant = {
        (one.loc[:-1], name)
        for one in listed
        if one.rule == "RA050"
        for name in NEW_NAMES.get(one.about, ())
    }
    for one in listed:
        value = _at(data, one.loc)
        absent = _ABSENT.match(one.message) if one.rule == "RA051" else None
        if absent is not None and (one.loc, absent[1]) in meant:
            continue  # it stands there under another name, which is reported
        nothing = one.rule == "RA050" and value is None and _is_cut_off(one.loc, document)
        if nothing and not _is_known(one):
            if one.loc[:-1] not in after_comma:
                message = f"found {quoted(one.about)} after a comma in an unquoted text"
                yield Violation("RA244", one.loc, f"{message}; expected quotes", "", one.about)
            after_comma.add(one.loc[:-1])
        elif one.rule == "RA050":
            yield _unknown_field(one)
        elif one.loc and isinstance(value, dict) and _is_control(one.loc):
            remedy = "Declare it under 'arms', of the audit or of this claim, and name it here."
            yield one._replace(message="found an arm written out; expected its name", remedy=remedy)
        else:
            yield one


def is_missed(one: Violation, above: Collection[Loc]) -> bool:
    """Tell whether what is missing stands there under a name that is refused."""
    return one.rule in ("RA051", "RA241") and one.loc in above


_ABSENT = re.compile("found no '([a-z_]+)'")


def _at(data: Any, loc: Loc) -> Any:
    for step in loc:
        there = step in data if isinstance(data, dict) else isinstance(data, list)
        if not there:
            return None
        data = data[step]
    return data


def _is_cut_off(loc: Loc, document: Document) -> bool:
    """Tell whether a name may be the rest of a text: it has a space, or stands within braces."""
    above = document.names.get(loc[:-1], document.marks.get(loc[:-1]))
    within = above is not None and len(loc) > 1 and document.names[loc].line == above.line
    return " " in str(loc[-1]) or within


def _is_known(one: Violation) -> bool:
    """Tell whether an unknown field is the misspelt or former name of another."""
    return one.about in NEW_NAMES or closest(one.about, one.known) is not None


def _is_control(loc: Loc) -> bool:
    return "must_fail" in loc[-2:] or "must_pass" in loc[-2:] or "without_part" in loc[-3:]


def _unknown_field(one: Violation) -> Violation:
    """Return an unknown field with what is to be done about it."""
    new = [name for name in NEW_NAMES.get(one.about, ()) if name in one.known]
    if new:
        words = " or ".join(f"'{name}'" for name in new)
        return one._replace(remedy=f"It is called {words} here.")
    homes = [home for home, form in HOMES.items() if one.about in _fields(form)]
    if homes and closest(one.about, one.known) is None:
        return one._replace(remedy=f"It is a field of {homes[0]}: move it there.")
    return one


def _fields(form: Any) -> set[str]:
    return {field.alias or name for name, field in form.model_fields.items()}


_SAID = ("nulls", "constructed", "alternatives", "only_reading", "locator", "at", "source")
_WORDS = {
    **{f"'{old}'": f"'{NEW_NAMES[old][0]}'" for old in (*_SAID, "primary", "also_at")},
    "a headline": "a claim",
    "the headline": "'holds_if'",
    "'schema_version: 2'": "'schema_version: 3'",
    "leave out 'relative', and state": "write 'absolute', and state",
}
_OLD = re.compile("|".join(map(re.escape, sorted(_WORDS, key=len, reverse=True))))

_REMEDIES = {
    "RA212": "Add 'must_fail' with an arm that has nothing to learn, or a wrong reference, or "
    "'no_control' with the reason why there is none.",
    "RA052": "Write the expected type: quote what is text, write a list as [a, b], a mapping as "
    "{a: b}. A quantity is a text such as loss[query]@first of frozen, or {measurement: loss, "
    "where: {layer: 1}, arm: frozen}.",
}
"""The remedies that the short form words in its own way."""


def short_words(message: str, remedy: str, rule: str) -> tuple[str, str]:
    """Return a message and its remedy, '' for that of its rule, with the short form's names."""
    remedy = remedy or _REMEDIES.get(rule, REMEDIES[rule])
    return _renamed(message), _renamed(remedy)


def _renamed(text: str) -> str:
    return _OLD.sub(lambda match: _WORDS[match.group()], text)
