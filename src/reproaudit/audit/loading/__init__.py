"""From a YAML file to an audit, or to every fault that a reviewer has to mend, each with its place.

There are three steps, and each goes on after a fault as far as it can:

1. `loading.tree` reads the text into a tree of values that know their line and column.
2. The models of `reproaudit.audit.model` validate the tree; `loading.models` puts what they refuse
   into plain words. What is refused is cut out of the tree, so that the rest is still checked.
3. `reproaudit.audit.rules` checks what spans several nodes.

No input makes it raise anything but a `SpecError`. The work grows with the size of the file and
with nothing else: values, nesting and listed faults are limited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from reproaudit.audit.loading.fault import (
    MOST_FAULTS,
    START,
    Fault,
    Place,
    has_errors,
    in_order,
)
from reproaudit.audit.loading.models import FIELDS, Complaint, complaints, faults_of
from reproaudit.audit.loading.pruning import Pruner
from reproaudit.audit.loading.tree import (
    MAX_VALUES,
    MappingNode,
    Node,
    ScalarNode,
    TreeBuilder,
    as_written,
    children,
    place_of,
    plain,
    shortened,
)
from reproaudit.audit.model import Audit
from reproaudit.audit.reviews import Reviews
from reproaudit.audit.rules import RULES, Loc, Rule, Violation, broken_rules
from reproaudit.audit.rules.papers import unfinished
from reproaudit.audit.rules.reviews import broken_by_reviews
from reproaudit.bounded import UnfitFileError, read_regular
from reproaudit.errors import SpecError, did_you_mean

__all__ = ["Fault", "Place", "load_audit", "read_as", "read_audit", "read_text"]

_Model = TypeVar("_Model", bound=BaseModel)

MAX_AUDIT_BYTES = 2**20
"""The largest audit file; the largest written so far has a twentieth of it."""

MOST_UNREADABLE = 20
"""Control characters that are reported, since a binary file has thousands."""

MOST_COMPARED = 100_000
"""Known names that an unknown one is compared with, for all hints of a file together."""

_UNREADABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)


def load_audit(path: Path | str, *, today: date | None = None) -> Audit:
    """The audit in a file.

    Args:
        path: the YAML file; its stem is the paper's slug.
        today: the day against which dates are held; the current one if None.

    Raises:
        SpecError: if the file has errors; the text lists every fault, warnings as well.
    """
    audit, faults = read_audit(path, today=today)
    if audit is None:
        raise SpecError("\n".join(str(fault) for fault in faults))
    return audit


def load_reviews(path: Path) -> Reviews:
    """Return what a review file says; nothing where there is none.

    Raises:
        SpecError: if the file has errors; the text lists every fault.
    """
    if not path.exists():
        return Reviews()
    reviews, _, faults = read_as(Reviews, path, "the reviews of an audit")
    if reviews is None:
        raise SpecError("\n".join(str(fault) for fault in faults))
    return reviews


def faults_of_reviews(path: Path, audit: Audit | None) -> list[Fault]:
    """Return the faults of a review file, by itself and held against its audit."""
    if not path.exists():
        return []
    reviews, root, faults = read_as(Reviews, path, "the reviews of an audit")
    if reviews is None or root is None or audit is None:
        return faults
    for rule_id, violation in broken_by_reviews(audit, reviews):
        rule = RULES[rule_id]
        hint = did_you_mean(violation.about, violation.known) if violation.about else ""
        place = place_of(root, violation.loc, at_key=violation.at_key)
        loc = as_written(root, violation.loc)
        faults.append(Fault(str(path), place, loc, violation.message, hint or rule.remedy, rule_id))
    return in_order(faults)


def read_audit(path: Path | str, *, today: date | None = None) -> tuple[Audit | None, list[Fault]]:
    """The audit in a file and its faults by place; no audit if one of them is an error."""
    file = str(path)
    text, fault = _text_of(Path(path), file)
    return read_text(text, file, today=today) if fault is None else (None, [fault])


def read_text(
    text: str, file: str, *, today: date | None = None
) -> tuple[Audit | None, list[Fault]]:
    """The audit in a text and its faults by place; the slug is held against the file's stem."""
    unreadable = _unreadable(text, file)
    if unreadable:
        return None, unreadable
    builder = TreeBuilder(file)
    root = builder.build(text)
    if root is None or not isinstance(root, MappingNode):
        faults = builder.faults
        if not faults:
            found = "an empty file" if root is None or plain(root) is None else "no mapping"
            faults = [_fault(file, "RA005", f"found {found}; expected an audit")]
        return None, in_order(faults, builder.unlisted)
    validation = _Validation(root, file)
    audit = validation.audit(today)
    told = {(fault.place, fault.rule) for fault in validation.faults}  # in better words
    faults = [one for one in builder.faults if (one.place, one.rule) not in told]
    faults = in_order([*faults, *validation.faults], builder.unlisted + validation.unlisted)
    return (None if has_errors(faults) else audit), faults


def read_as(
    model: type[_Model], path: Path, noun: str
) -> tuple[_Model | None, Node | None, list[Fault]]:
    """A file that is no audit, by the same rules of YAML: what it says, its tree, and its faults.

    Args:
        model: the model of the whole file.
        path: the file.
        noun: what the file is expected to be, with its article.
    """
    file = str(path)
    text, fault = _text_of(path, file)
    faults = [fault] if fault is not None else _unreadable(text, file)
    if faults:
        return None, None, faults
    builder = TreeBuilder(file)
    root = builder.build(text)
    if builder.faults:
        return None, root, in_order(builder.faults, builder.unlisted)
    if not isinstance(root, MappingNode):
        found = "an empty file" if root is None or plain(root) is None else "no mapping"
        remedy = "Write its fields, one 'name: value' per line."
        message = f"found {found}; expected {noun}"
        return None, None, [Fault(file, START, (), message, remedy, "RA005")]
    try:
        return model.model_validate_json(json.dumps(plain(root))), root, []
    except ValidationError as error:
        found_faults = faults_of(complaints(error, root, model), root, file)
        return None, root, in_order(found_faults)


def _fault(file: str, rule: str, message: str, place: Place = START) -> Fault:
    return Fault(file, place, (), message, RULES[rule].remedy, rule)


def _text_of(path: Path, file: str) -> tuple[str, Fault | None]:
    """The text of a file, without a byte order mark."""
    try:
        data = read_regular(path, MAX_AUDIT_BYTES)
    except UnfitFileError as error:
        return "", _fault(file, "RA001", f"found {error.strerror}")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return "", _fault(file, "RA001", f"found no readable file ({reason.lower()})")
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        place = _end_of(data[: error.start].decode("utf-8", "replace"))
        message = f"found the byte 0x{data[error.start]:02x}; expected UTF-8"
        return "", _fault(file, "RA002", message, place)


def _unreadable(text: str, file: str) -> list[Fault]:
    """A fault for every character that an editor would not show."""
    return [
        _fault(
            file,
            "RA002",
            f"found the control character U+{ord(match.group()):04X}; expected readable text",
            _end_of(text[: match.start()]),
        )
        for match in islice(_UNREADABLE.finditer(text), MOST_UNREADABLE)
    ]


def _end_of(text: str) -> Place:
    """The place that follows the last character of a text."""
    return Place(text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1)


class _Validation:
    """Holds one tree against the models and the rules.

    Attributes:
        faults: the first faults.
        unlisted: the number of further faults.
    """

    def __init__(self, root: MappingNode, file: str) -> None:
        self.faults: list[Fault] = []
        self.unlisted = 0
        self._root = root
        self._file = file
        self._pruner = Pruner(root)
        self._compared = 0

    def audit(self, today: date | None) -> Audit | None:
        """The audit without what the models refuse; None if nothing useful is left."""
        audit, found = self._try()
        if self._is_older():
            return None
        if found:  # what is cut out with the refused nodes may hold a TODO as well
            self._take(_unfinished_besides(found, self._root, self._file))
        while audit is None:
            self._take(faults_of(found, self._root, self._file))
            if self.unlisted or not self._pruner.cut(found):
                return None
            audit, found = self._try()
        if _written_out(audit) > MAX_VALUES:
            message = f"found shared parts that, written out, are more than {MAX_VALUES} values"
            self._take([_fault(self._file, "RA016", f"{message}; expected a few thousand")])
        else:
            self._take(self._across(audit, today))
        return audit

    def _is_older(self) -> bool:
        """Tell of an audit of another version, which the models would refuse field by field."""
        version = self._root.entries.get("schema_version")
        found = version.value if isinstance(version, ScalarNode) else None
        if found == 2:
            return False
        if type(found) is not int:
            return False
        wrote = "reproaudit 0.1" if found == 1 else "another version of reproaudit"
        message = f"found schema version {found}, which {wrote} reads; expected 2"
        self._take([_fault(self._file, "RA067", message, version.place if version else START)])
        return True

    def _try(self) -> tuple[Audit | None, list[Complaint]]:
        data = plain(self._root)
        try:
            return Audit.model_validate_json(json.dumps(data)), []
        except ValidationError as error:
            count = error.error_count()
            if count <= MOST_FAULTS:
                return None, complaints(error, self._root)
        try:  # each of pydantic's errors takes a kilobyte
            Audit.model_validate_json(json.dumps(shortened(data, MOST_FAULTS, FIELDS)))
        except ValidationError as error:
            found = complaints(error, self._root)[:MOST_FAULTS]
            self.unlisted += count - len(found)
            return None, found
        raise AssertionError("the first entries are refused as the others are")

    def _take(self, faults: Iterable[Fault | None]) -> None:
        """Keep the first faults and count the others; None is one that is only counted."""
        for fault in faults:
            if fault is not None and len(self.faults) < 2 * MOST_FAULTS:
                self.faults.append(fault)
            else:
                self.unlisted += 1

    def _across(self, audit: Audit, today: date | None) -> Iterator[Fault | None]:
        """The faults of an audit by the rules about several nodes."""
        stem = Path(self._file).stem
        loc: Loc = ("paper", "slug")
        if audit.paper.slug != stem and not self._pruner.hides(loc, None):
            message = f"found '{audit.paper.slug}'; expected '{stem}', the file's own name"
            yield self._fault(RULES["RA014"], Violation(loc, message))
            self._pruner.hide(audit.paper.slug)  # the ids cannot begin with both
        for told, (rule, violation) in enumerate(broken_rules(audit, today)):
            if not self._pruner.hides(violation.loc, violation.about):
                yield self._fault(rule, violation) if told < MOST_FAULTS else None

    def _fault(self, rule: Rule, violation: Violation) -> Fault:
        place = place_of(self._root, violation.loc, at_key=violation.at_key)
        loc = as_written(self._root, violation.loc)
        remedy = violation.remedy or self._hint(violation) or rule.remedy
        return Fault(self._file, place, loc, violation.message, remedy, rule.id)

    def _hint(self, violation: Violation) -> str:
        """The known name that is nearest to the one that was found."""
        self._compared += len(violation.known)
        if violation.about is None or not violation.known or self._compared > MOST_COMPARED:
            return ""
        return did_you_mean(violation.about, violation.known)


def _written_out(audit: Audit) -> int:
    """The number of shared measurements, at every place that uses them."""
    count = 0
    for one in audit.experiments.values():
        count += len(audit.measurements if one.measures is None else one.measures)
    return count


def _unfinished_besides(found: list[Complaint], root: Node, file: str) -> Iterator[Fault]:
    """A fault for every TODO in the file, besides those that are refused where they stand."""
    refused = {one.loc for one in found}
    waiting: list[tuple[Loc, Node]] = [((), root)]
    while waiting:
        loc, node = waiting.pop()
        waiting += [((*loc, step), below) for step, below in children(node)]
        if isinstance(node, ScalarNode) and loc not in refused:
            violation = unfinished(loc, node.value)
            if violation is not None:
                remedy = RULES["RA153"].remedy
                yield Fault(file, node.place, loc, violation.message, remedy, "RA153")
