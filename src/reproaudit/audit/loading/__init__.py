"""From a YAML file to an audit, or to every fault that a reviewer has to mend, each with its place.

Three steps, and each goes on after a fault as far as it can:

1. `loading.tree` reads the text into a tree of values that know their line and column.
2. The models of `reproaudit.audit.model` validate the tree; `loading.models` puts what they refuse
   into plain words. What is refused is cut out of the tree, so that the rest is still looked at.
3. `reproaudit.audit.rules` looks at what spans nodes.

No input makes it raise anything but a `SpecError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from reproaudit.audit.loading.fault import START, Fault, Place, has_errors, in_order
from reproaudit.audit.loading.models import Complaint, complaints, faults_of
from reproaudit.audit.loading.pruning import Pruner
from reproaudit.audit.loading.tree import (
    MappingNode,
    Node,
    ScalarNode,
    TreeBuilder,
    as_written,
    children,
    place_of,
    plain,
)
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import RULES, Loc, broken_rules
from reproaudit.audit.rules.papers import unfinished
from reproaudit.errors import SpecError

__all__ = ["Fault", "Place", "load_audit", "read_audit", "read_text"]

MAX_AUDIT_BYTES = 2**20
"""The largest audit file; the largest written so far has a twentieth of it."""

PIECE = 2**16
"""How many bytes of a file are read at once."""

MOST_CHARACTERS = 20
"""How many control characters are reported, since a binary file has thousands."""

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


def read_audit(path: Path | str, *, today: date | None = None) -> tuple[Audit | None, list[Fault]]:
    """The audit in a file and its faults by place; no audit if one of them is an error."""
    file = str(path)
    try:
        data = _bytes(Path(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return None, [_fault(file, "RA001", f"found no readable file ({reason.lower()})")]
    text, fault = _decode(data, file)
    return read_text(text, file, today=today) if fault is None else (None, [fault])


def read_text(
    text: str, file: str, *, today: date | None = None
) -> tuple[Audit | None, list[Fault]]:
    """The audit in a text and its faults; the file's name stands for the place and the slug."""
    unreadable = _unreadable(text, file)
    if unreadable:
        return None, unreadable
    builder = TreeBuilder(file)
    root = builder.build(text)
    faults = builder.faults
    if root is None or not isinstance(root, MappingNode):
        if not faults:
            found = "an empty file" if root is None or plain(root) is None else "no mapping"
            faults = [_fault(file, "RA005", f"found {found}; expected an audit")]
        return None, in_order(faults)
    audit, refused = _validate(root, file, today)
    faults = in_order([*faults, *refused])
    return (None if has_errors(faults) else audit), faults


def _fault(file: str, rule: str, message: str, place: Place = START) -> Fault:
    return Fault(file, place, (), message, RULES[rule].remedy, rule)


def _bytes(path: Path) -> bytes:
    """What a file holds, read up to the limit and a little beyond.

    In pieces, since to ask for the limit at once would reserve a whole MiB for every file.
    """
    pieces, left = [], MAX_AUDIT_BYTES + 1
    with path.open("rb", buffering=0) as stream:
        while left > 0 and (piece := stream.read(min(left, PIECE))):
            pieces.append(piece)
            left -= len(piece)
    return b"".join(pieces)


def _decode(data: bytes, file: str) -> tuple[str, Fault | None]:
    """The text of a file's bytes; a byte order mark is left out."""
    if len(data) > MAX_AUDIT_BYTES:
        return "", _fault(file, "RA001", f"found more than {MAX_AUDIT_BYTES} bytes")
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        place = _place_in(data[: error.start].decode("utf-8", "replace"))
        message = f"found the byte 0x{data[error.start]:02x}; expected UTF-8"
        return "", _fault(file, "RA002", message, place)


def _unreadable(text: str, file: str) -> list[Fault]:
    """Every character that an editor would not show."""
    return [
        _fault(
            file,
            "RA002",
            f"found the control character U+{ord(match.group()):04X}; expected readable text",
            _place_in(text[: match.start()]),
        )
        for match in islice(_UNREADABLE.finditer(text), MOST_CHARACTERS)
    ]


def _place_in(before: str) -> Place:
    """Where one stands after this text."""
    return Place(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def _validate(root: MappingNode, file: str, today: date | None) -> tuple[Audit | None, list[Fault]]:
    """The audit of a tree and everything that the models and the rules have against it."""
    faults: list[Fault] = []
    pruner = Pruner(root)
    audit, found = _try(root)
    if found:  # what is cut out with the refused nodes may hold a TODO as well
        faults += _unfinished_besides(found, root, file)
    while True:
        if audit is not None:
            return audit, [*faults, *_across(audit, root, pruner, file, today)]
        faults += faults_of(found, root, file)
        if not pruner.cut(found):
            return None, faults
        audit, found = _try(root)


def _unfinished_besides(found: list[Complaint], root: Node, file: str) -> Iterator[Fault]:
    """Every TODO in the file, besides those that are refused where they stand."""
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


def _try(root: Node) -> tuple[Audit | None, list[Complaint]]:
    try:
        return Audit.model_validate_json(json.dumps(plain(root))), []
    except ValidationError as error:
        return None, complaints(error, root)


def _across(
    audit: Audit, root: Node, pruner: Pruner, file: str, today: date | None
) -> Iterator[Fault]:
    """What the rules that span nodes have against an audit."""
    stem = Path(file).stem
    if audit.paper.slug != stem and not pruner.hides(("paper", "slug"), None):
        message = f"found '{audit.paper.slug}'; expected '{stem}', the file's own name"
        loc: Loc = ("paper", "slug")
        yield Fault(file, place_of(root, loc), loc, message, RULES["RA014"].remedy, "RA014")
        pruner.hide(audit.paper.slug)  # the ids cannot begin with both
    for rule, violation in broken_rules(audit, today):
        if not pruner.hides(violation.loc, violation.about):
            place = place_of(root, violation.loc, at_key=violation.at_key)
            remedy = violation.remedy or rule.remedy
            loc = as_written(root, violation.loc)
            yield Fault(file, place, loc, violation.message, remedy, rule.id)
