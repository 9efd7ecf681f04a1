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

from collections.abc import Iterable
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

VERSION = 2
"""The version of the format of audits."""


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
    faults = Faults(file)
    document = _document(text, faults, "an audit")
    if document is None or not _is_current(document, faults):
        return None, faults.in_order()
    audit = validate(Audit, document, faults)
    if audit is not None and not faults.refuse:
        stem = Path(file).stem
        if audit.paper.slug != stem:
            message = f"found '{audit.paper.slug}'; expected '{stem}', the file's own name"
            faults.add(document.place(("paper", "slug")), ("paper", "slug"), "RA014", message)
        else:
            _take(broken_rules(audit), document, faults)
    _take(unfinished(document.data, faults.locs), document, faults)
    return (None if faults.refuse else audit), faults.in_order()


def load_reviews(path: Path, audit: Audit | None = None) -> Reviews:
    """Return what a review file says; nothing where there is none.

    Args:
        path: the file.
        audit: what the reviews are held against, if they are.

    Raises:
        SpecError: if the file has errors; the text lists every fault.
    """
    faults = Faults(str(path))
    reviews = _reviews(path, audit, faults)
    if reviews is None or faults.refuse:
        raise SpecError("\n".join(map(str, faults.in_order())))
    return reviews


def faults_of_reviews(path: Path, audit: Audit | None) -> list[Fault]:
    """Return the faults of a review file, by itself and held against its audit if there is one."""
    faults = Faults(str(path))
    _reviews(path, audit, faults)
    return faults.in_order()


def _reviews(path: Path, audit: Audit | None, faults: Faults) -> Reviews | None:
    if not path.exists():
        return Reviews()
    reviews, document = _read(Reviews, path, "the reviews of an audit", faults)
    if document is not None:
        if reviews is not None and audit is not None:
            _take(of_reviews(audit, reviews), document, faults)
        _take(unfinished(document.data, faults.locs), document, faults)
    return reviews


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
    found, document = _read(model, path, noun, faults)
    return found, document, faults.in_order()


def _read(
    model: type[_Model], path: Path, noun: str, faults: Faults
) -> tuple[_Model | None, Document | None]:
    text = read_file(path, MAX_AUDIT_BYTES, faults)
    document = None if text is None else _document(text, faults, noun)
    if document is None or faults.refuse:
        return None, None
    found = validate(model, document, faults)
    return (None if faults.refuse else found), document


def _document(text: str, faults: Faults, noun: str) -> Document | None:
    """What a text holds, if that is a mapping."""
    document = read_yaml(text, faults) if is_readable(text, faults) else None
    if document is None or isinstance(document.data, dict):
        return document
    if not faults.refuse:
        found = "an empty file" if document.data is None else "no mapping"
        faults.add(START, (), "RA005", f"found {found}; expected {noun}")
    return None


def _is_current(document: Document, faults: Faults) -> bool:
    """Whether an audit is of this version; another would be refused field by field."""
    loc = ("schema_version",)
    found = document.written.get(loc, f"no '{loc[0]}'")
    if found != str(VERSION):
        message = f"found {found}; expected 'schema_version: {VERSION}'"
        faults.add(document.place(loc), loc, "RA067", message)
    return found == str(VERSION)


def _take(found: Iterable[Violation], document: Document, faults: Faults) -> None:
    """Keep the first violation of each rule at each place, with the nearest known name."""
    compared, seen = 0, set()
    for one in found:
        if (one.rule, one.loc) in seen:
            continue
        seen.add((one.rule, one.loc))
        hint = ""
        if one.about and one.known and not one.remedy:
            compared += len(one.known)
            hint = did_you_mean(one.about, one.known) if compared <= MOST_COMPARED else ""
        place = document.place(one.loc, at_key=one.at_key)
        faults.add(place, one.loc, one.rule, one.message, one.remedy or hint)
