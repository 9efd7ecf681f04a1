"""From a YAML file to an audit, or to every fault that a reviewer has to mend, each with its place.

There are three steps:

1. `loading.document` reads the text into plain data that knows the line and column of each value.
2. The models of `reproaudit.audit.model` validate the data; `loading.models` puts what they refuse
   into plain words.
3. Once the models accept, `reproaudit.audit.rules` checks what spans several nodes.

A file of reviews, and one that says how an author's repository is run, go the same way. No input
makes it raise anything but a `SpecError`. The work grows with the size of the file and with nothing
else: values, nesting and listed faults are limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from reproaudit.audit.loading.document import Document, is_readable, read_file, read_yaml
from reproaudit.audit.loading.fault import START, Fault, Faults, Place
from reproaudit.audit.loading.models import validate
from reproaudit.audit.model import Audit
from reproaudit.audit.reviews import Reviews
from reproaudit.audit.rules import Violation, broken_rules
from reproaudit.audit.rules.whole import of_reviews, unfinished
from reproaudit.errors import SpecError, did_you_mean

__all__ = [
    "Fault",
    "Place",
    "faults_of_reviews",
    "load_audit",
    "load_reviews",
    "read_as",
    "read_audit",
    "read_text",
]

_Model = TypeVar("_Model", bound=BaseModel)

MAX_AUDIT_BYTES = 2**20
"""The largest audit file; the largest written so far has a twentieth of it."""

MOST_COMPARED = 100_000
"""Known names that an unknown one is compared with, for all hints of a file together."""


def load_audit(path: Path | str) -> Audit:
    """Return the audit in a file, whose stem is the paper's slug.

    Raises:
        SpecError: if the file has errors; the text lists every fault, warnings as well.
    """
    audit, faults = read_audit(path)
    if audit is None:
        raise SpecError("\n".join(map(str, faults)))
    return audit


def read_audit(path: Path | str) -> tuple[Audit | None, list[Fault]]:
    """Return the audit in a file and its faults by place; no audit if one of them is an error."""
    faults = Faults(str(path))
    text = read_file(Path(path), MAX_AUDIT_BYTES, faults)
    return (None, faults.in_order()) if text is None else read_text(text, str(path))


def read_text(text: str, file: str) -> tuple[Audit | None, list[Fault]]:
    """Return the audit in a text and its faults; the slug is held against the file's stem."""
    faults, stem = Faults(file), Path(file).stem
    audit, _ = _read(Audit, text, "an audit", faults, lambda found: broken_rules(found, stem))
    return audit, faults.in_order()


def load_reviews(path: Path, audit: Audit | None = None) -> Reviews:
    """Return what a review file says; nothing where there is none.

    Args:
        path: the file.
        audit: what the reviews are held against, if they are.

    Raises:
        SpecError: if the file has errors; the text lists every fault.
    """
    reviews, faults = _reviews(path, audit)
    if reviews is None:
        raise SpecError("\n".join(map(str, faults)))
    return reviews


def faults_of_reviews(path: Path, audit: Audit | None) -> list[Fault]:
    """Return the faults of a review file, by itself and held against its audit if there is one."""
    return _reviews(path, audit)[1]


def _reviews(path: Path, audit: Audit | None) -> tuple[Reviews | None, list[Fault]]:
    if not path.exists():
        return Reviews(), []
    faults = Faults(str(path))
    text = read_file(path, MAX_AUDIT_BYTES, faults)

    def rules(reviews: Reviews) -> Iterable[Violation]:
        return of_reviews(audit, reviews) if audit is not None else ()

    return _read(Reviews, text, "the reviews of an audit", faults, rules)[0], faults.in_order()


def read_as(
    model: type[_Model], path: Path, noun: str
) -> tuple[_Model | None, Document | None, list[Fault]]:
    """Return what a file says by the same rules of YAML, its document, and its faults.

    Args:
        model: the model of the whole file.
        path: the file.
        noun: what the file is expected to be, with its article.
    """
    faults = Faults(str(path))
    found, document = _read(model, read_file(path, MAX_AUDIT_BYTES, faults), noun, faults)
    return found, document, faults.in_order()


def _read(
    model: type[_Model],
    text: str | None,
    noun: str,
    faults: Faults,
    rules: Callable[[_Model], Iterable[Violation]] | None = None,
) -> tuple[_Model | None, Document | None]:
    """Return what a text says and its document; with rules, TODOs are reported, too."""
    if text is None or not is_readable(text, faults):
        return None, None
    document = read_yaml(text, faults)
    if document is None or not isinstance(document.data, dict):
        if not faults.refuse:
            found = "no mapping" if document and document.data is not None else "an empty file"
            faults.add(START, (), "RA005", f"found {found}; expected {noun}")
        return None, None
    model_found, refusals = validate(model, document.data)
    doubtful = document.doubtful
    _take((one for one in refusals if doubtful.isdisjoint(_above(one.loc))), document, faults)
    if rules is not None:
        if model_found is not None and not faults.refuse:
            _take(rules(model_found), document, faults)
        known = faults.locs
        _take((o for o in unfinished(document.data) if o.loc not in known), document, faults)
    return (None if faults.refuse else model_found), document


def _above(loc: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    return [loc[:depth] for depth in range(len(loc) + 1)]


def _take(found: Iterable[Violation], document: Document, faults: Faults) -> None:
    """Keep what breaks a rule as faults, each once, with the nearest known name as a remedy."""
    compared, seen = 0, set()
    for one in found:
        if (one.rule, one.loc, one.remedy) in seen:
            continue
        seen.add((one.rule, one.loc, one.remedy))
        hint = ""
        if one.about and one.known:
            compared += len(one.known)
            hint = did_you_mean(one.about, one.known) if compared <= MOST_COMPARED else ""
        place = document.place(one.loc, at_key=one.at_key)
        faults.add(place, one.loc, one.rule, one.message, one.remedy or hint)
