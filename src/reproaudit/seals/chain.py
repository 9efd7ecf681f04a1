"""The file of an audit's seals: read whole, checked whole, and only ever added to."""

from __future__ import annotations

import errno
import fcntl
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reproaudit.errors import SpecError
from reproaudit.running.files import explained, write_whole
from reproaudit.seals.confirming import derived_seeds, error_of_look, seeds_of_look
from reproaudit.seals.entries import (
    BEGINNING,
    BegunEntry,
    ChangeEntry,
    Draft,
    ResultEntry,
    RunEntry,
    SealEntry,
    SealsEntry,
    hash_of,
    line_of,
    parsed_entry,
)
from reproaudit.seals.rule import RuleData, RuleValue, digest

LARGEST_CHAIN = 2**24
"""The largest chain; a seal takes some kilobytes, the first one some tens of them."""

MOST_DERIVED = 10_000

REMEDY = "Nothing in it may be edited: put the committed file back (git checkout -- FILE)."


def read_chain(
    path: Path, slug: str, *, after: Sequence[SealsEntry] = ()
) -> tuple[SealsEntry, ...]:
    """The entries of a file in order; none if there is no such file.

    Args:
        path: the file.
        slug: the paper that it must be of.
        after: the entries of another chain that this one goes on from.

    Raises:
        SpecError: at the first thing that is wrong; one line.
        StoreError, TechnicalError: if it cannot be read.
    """
    return entries_in(_bytes(path), path, slug, after=after)


def entries_in(
    data: bytes, path: Path, slug: str, *, after: Sequence[SealsEntry] = ()
) -> tuple[SealsEntry, ...]:
    """The entries in a file's bytes; arguments and errors as `read_chain`."""
    if data and not data.endswith(b"\n"):
        raise SpecError(f"{path}: the last line has no end: it was cut off. {REMEDY}")
    found: list[SealsEntry] = []
    state = _State.going_on_from(after)
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        where = f"{path}:{number}"
        try:
            entry = parsed_entry(line)
            fault = _misfit(entry, line, slug, found, after) or state.take(entry)
        except ValidationError as error:
            raise SpecError(f"{where}: {_complaint(error)}. {REMEDY}") from error
        except ValueError as error:  # NaN, or a whole number of thousands of digits
            raise SpecError(f"{where}: found a value that is no plain data. {REMEDY}") from error
        if fault is not None:
            raise SpecError(f"{where}: {fault}. {REMEDY}")
        found.append(entry)
    return tuple(found)


def _bytes(path: Path) -> bytes:
    """The bytes of a regular file; none if there is no such file.

    Raises:
        SpecError: if it is a link, no file, or too large.
    """
    with explained("read", path):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return b""
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise SpecError(
                f"{path}: found a symbolic link; expected a file. Put the file itself there."
            ) from error
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise SpecError(f"{path}: found no regular file. Move it away. {REMEDY}")
            if found.st_size > LARGEST_CHAIN:
                raise SpecError(
                    f"{path}: found {found.st_size} bytes; expected at most {LARGEST_CHAIN}. "
                    f"{REMEDY}"
                )
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read(LARGEST_CHAIN + 1)
        finally:
            os.close(descriptor)


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"found no entry of a chain of seals ({place or 'the line'}: {first['msg']})"


def _misfit(
    entry: SealsEntry,
    line: bytes,
    slug: str,
    before: Sequence[SealsEntry],
    after: Sequence[SealsEntry],
) -> str | None:
    """The fault of an entry that does not fit into its place; None if it fits."""
    if entry.slug != slug:
        return f"found an entry of '{entry.slug}'; expected one of '{slug}'"
    if line_of(entry) != line:
        return "found an entry that is not written as this command writes it"
    if hash_of(entry) != entry.hash:
        return "found an entry whose content does not have the hash that it states"
    expected = {before[-1].hash} if before else {BEGINNING, *(one.hash for one in after)}
    if entry.before not in expected:
        return "found an entry that does not follow from the one before it"
    return None


@dataclass
class _State:
    """The state that the entries so far lead to, to hold the next one against.

    Attributes:
        rules: every sealed rule by its hash.
        sealed: the rule and text of the last seal.
        alphas: by the hash of each sealed rule, the error that its audit allows; in order.
        begun, confirmed: the hashes of the rules whose confirmation was begun, and judged.
        begun_before: those begun in the chain that this one goes on from.
    """

    rules: dict[str, RuleData] = field(default_factory=dict)
    sealed: tuple[str, str] | None = None
    alphas: dict[str, float] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    confirmed: set[str] = field(default_factory=set)
    begun_before: frozenset[str] = frozenset()

    @classmethod
    def going_on_from(cls, entries: Sequence[SealsEntry]) -> _State:
        """The state after the seals of another chain, which is sound."""
        begun = frozenset(one.rule for one in entries if isinstance(one, BegunEntry))
        state = cls(begun_before=begun)
        for entry in entries:
            if isinstance(entry, SealEntry):
                state.take(entry)
        return state

    def take(self, entry: SealsEntry) -> str | None:
        """The contradiction of an entry to those before it, hashes apart; None if none."""
        if entry.reconstructed and not isinstance(entry, ChangeEntry | ResultEntry):
            return f"found a {entry.kind} that is marked as reconstructed, which none ever is"
        if isinstance(entry, SealEntry):
            return self._take_seal(entry)
        if isinstance(entry, BegunEntry):
            return self._take_begun(entry)
        if isinstance(entry, ChangeEntry):
            missing = "found a change without a seal that is not marked as reconstructed"
            return None if entry.reconstructed else missing
        if isinstance(entry, RunEntry):
            return None
        if not entry.reconstructed and entry.rule not in self.alphas:
            return "found a result of a rule that was not sealed before it"
        if entry.confirmation:
            if entry.rule is None or entry.rule not in self.begun | self.begun_before:
                return "found the result of a confirmation that was never begun"
            if entry.rule in self.confirmed:
                return "found a second result of one confirmation"
            self.confirmed.add(entry.rule)
        return None

    def _take_seal(self, entry: SealEntry) -> str | None:
        if entry.since is not None and entry.since not in self.rules:
            return "found a seal that starts from a rule that was never sealed"
        if entry.since != (self.sealed[0] if self.sealed is not None else None):
            return "found a seal that starts from another rule than the last one sealed"
        rule = sealed_rule(entry, self.rules)
        if digest(rule) != entry.rule:
            return "found a seal whose rule does not follow from the changes that it lists"
        self.rules[entry.rule] = rule
        if self.sealed == (entry.rule, entry.text):
            return "found the same seal twice"
        self.sealed = (entry.rule, entry.text)
        self.alphas.setdefault(entry.rule, alpha_of(rule))
        return None

    def _take_begun(self, entry: BegunEntry) -> str | None:
        if entry.rule not in self.alphas:
            return "found a confirmation of a rule that was never sealed"
        if entry.rule in self.begun:
            return "found a confirmation that was begun twice"
        number = list(self.alphas).index(entry.rule) + 1
        if entry.look < number:  # it is later where other branches had sealed rules as well
            return f"found look {entry.look}; the rule is number {number}"
        if not math.isclose(entry.error, error_of_look(entry.look, self.alphas[entry.rule])):
            return "found another error than this look may spend"
        for tier, seeds in entry.seeds.items():
            if len(seeds) > MOST_DERIVED or seeds != derived_seeds(entry.rule, tier, len(seeds)):
                return "found seeds that do not follow from the rule"
            if len(seeds) < seeds_of_look(entry.error, 0):
                return f"found {len(seeds)} seeds of tier {tier}, fewer than this look needs"
        if "paper" not in entry.seeds:
            return "found no seeds of the paper tier"
        self.begun.add(entry.rule)
        return None


def alpha_of(rule: Mapping[str, RuleValue]) -> float:
    """The error that an audit allows for each claim."""
    confidence = rule.get("confidence")
    return round(1 - confidence, 12) if isinstance(confidence, float) else 0.05


# --- adding -------------------------------------------------------------------------------------


def append(
    path: Path,
    slug: str,
    make: Callable[[tuple[SealsEntry, ...]], Iterable[Draft]],
    *,
    after: Sequence[SealsEntry] = (),
    linked: bool = True,
) -> tuple[SealsEntry, ...]:
    """Adds entries to a file, under a lock, so that it is seen with all of them or with none.

    Args:
        path: the file; it and its folder are made if they are missing.
        slug: the paper.
        make: given all the entries that are there, those of `after` first, returns those to add.
        after: as in `read_chain`.
        linked: whether the first entry holds the hash of the last one of `after`.

    Returns:
        The entries that were added.

    Raises:
        SpecError: if the file is damaged, or the new entries do not follow from it.
        StoreError, TechnicalError: if it cannot be written. What was there is intact.
    """
    with _locked(path):
        data = _bytes(path)
        there = entries_in(data, path, slug, after=after)
        added: list[SealsEntry] = []
        for draft in make((*after, *there)):
            last = next(reversed((*(after if linked else ()), *there, *added)), None)
            added.append(draft.after(last.hash if last is not None else BEGINNING, slug))
        if added:
            whole = data + b"".join(line_of(one) + b"\n" for one in added)
            if entries_in(whole, path, slug, after=after) != (*there, *added):
                raise AssertionError("an entry reads as it was written")
            write_whole(path, whole, durable=True)
        return tuple(added)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keeps other processes from adding to the files of a folder."""
    with explained("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise
    try:
        yield
    finally:
        os.close(descriptor)


# --- what the entries say together --------------------------------------------------------------


def last_seal(entries: Sequence[SealsEntry]) -> SealEntry | None:
    """The last seal; None if nothing was sealed."""
    return next((one for one in reversed(entries) if isinstance(one, SealEntry)), None)


def confirmation_of(entries: Sequence[SealsEntry], rule: str | None) -> ResultEntry | None:
    """The result of the confirmation of a rule; None if there is none."""
    for one in entries:
        if isinstance(one, ResultEntry) and one.confirmation and one.rule == rule:
            return one
    return None


def sealed_rules(entries: Iterable[SealsEntry]) -> dict[str, RuleData]:
    """Every sealed rule by its hash, in the order of its last seal, put together from changes."""
    rules: dict[str, RuleData] = {}
    for entry in entries:
        if isinstance(entry, SealEntry):
            rule = sealed_rule(entry, rules)
            rules.pop(entry.rule, None)
            rules[entry.rule] = rule
    return rules


def sealed_anywhere(entries: Iterable[SealsEntry]) -> dict[str, RuleData]:
    """As `sealed_rules`, of entries of several branches, but for rules that lack their beginning.

    A branch may change a rule that was sealed on another one, which is not here.
    """
    rules: dict[str, RuleData] = {}
    for one in entries:
        if isinstance(one, SealEntry):
            with suppress(KeyError):
                rules[one.rule] = sealed_rule(one, rules)
    return rules


def rule_after(entries: Iterable[SealsEntry]) -> RuleData:
    """The rule of the last seal; empty if nothing was sealed."""
    return next(reversed(sealed_rules(entries).values()), {})


def sealed_rule(entry: SealEntry, rules: Mapping[str, RuleData]) -> RuleData:
    """The rule of a seal, from those sealed before it."""
    rule = dict(rules[entry.since]) if entry.since is not None else {}
    for path, leaf in flat(entry.change).items():
        if leaf is None:
            rule.pop(path, None)
        else:
            rule[path] = leaf
    return rule


def flat(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> dict[str, RuleValue | None]:
    """The values of a tree, by path."""
    found: dict[str, RuleValue | None] = {}
    for key, below in tree.items():
        place = (*path, key.replace("~", "~0").replace("/", "~1"))
        if isinstance(below, Mapping):
            found |= flat(below, place)
        else:
            found["/".join(place)] = below
    return found


def tree_of(values: Mapping[str, RuleValue | None]) -> dict[str, Any]:
    """The tree of which `flat` gives these values."""
    tree: dict[str, Any] = {}
    for path, leaf in values.items():
        *above, last = (one.replace("~1", "/").replace("~0", "~") for one in path.split("/"))
        place = tree
        for step in above:
            place = place.setdefault(step, {})
        place[last] = leaf
    return tree
