"""Keeps the entries of an audit: beside it, and in the store where that cannot be written.

The chain beside an audit is `seals/<slug>.jsonl` in its folder. An audit that came with an
installation, or lies in a folder that cannot be written, is not added to: what is run goes to
`seals.<slug>.jsonl` in the store, a chain that goes on from the audit's own. Looks at smaller
tiers go there, too. The store's manifest lists the last entry that this store has seen beside the
audit, so that a chain which is removed or cut short is missed there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reproaudit.audit.catalog import PACKAGE, Entry
from reproaudit.audit.model import Audit
from reproaudit.errors import SpecError
from reproaudit.running.manifest import RecordManifest
from reproaudit.seals.chain import (
    append,
    last_seal,
    read_chain,
    rule_after,
    sealed_rule,
    sealed_rules,
    tree_of,
)
from reproaudit.seals.changes import changes_between
from reproaudit.seals.confirming import looks_sealed
from reproaudit.seals.entries import Changes, Draft, RuleChange, SealEntry, SealsEntry, parsed_entry
from reproaudit.seals.history import (
    NoCheckoutError,
    NoHistoryError,
    is_anywhere,
    lacking,
    others,
    revision_of,
)
from reproaudit.seals.reconstruct import reconstruct, uncommitted
from reproaudit.seals.rule import CODE, RuleData, canonical, digest, rule_of

if TYPE_CHECKING:  # it needs NumPy, which commands that only read chains do without
    from reproaudit.running.store import Store

Make = Callable[[tuple[SealsEntry, ...]], Iterable[Draft]]


def name_in_store(slug: str) -> str:
    """The file's name at the store's root."""
    return f"seals.{slug}.jsonl"


class Seen(NamedTuple):
    """All that was entered on an audit.

    Attributes:
        here: the entries of the chains beside it and in the store.
        elsewhere: those that other branches have besides.
        unknown: why git cannot tell of them, in a checkout where it does not; else empty.
    """

    here: tuple[SealsEntry, ...]
    elsewhere: tuple[SealsEntry, ...]
    unknown: str = ""

    @property
    def every(self) -> tuple[SealsEntry, ...]:
        """All of them, those here first."""
        return (*self.here, *self.elsewhere)


@dataclass(frozen=True)
class Chains:
    """The chain beside an audit, and the one in a store.

    Attributes:
        paper: the paper.
        store: the store's folder; None to look beside the audit alone.
        manifest: the store's list of records, if it was read already.
    """

    paper: Entry
    store: Path | None = None
    manifest: RecordManifest | None = None

    @classmethod
    def of(cls, paper: Entry, store: Store) -> Chains:
        """The chains of a paper in a store that is open."""
        return cls(paper, store.root, store.manifest)

    @property
    def in_store(self) -> Path | None:
        """The chain in the store, whether it exists or not."""
        return None if self.store is None else self.store / name_in_store(self.paper.slug)

    @property
    def is_read_only(self) -> bool:
        """True if nothing can, or should, be written beside the audit."""
        folder = self.paper.seals_file.parent
        while not folder.exists():
            folder = folder.parent
        installed = self.paper.audit_file.parent.resolve() == (PACKAGE / "audits").resolve()
        return installed or not os.access(folder, os.W_OK)

    def own(self) -> tuple[SealsEntry, ...]:
        """The entries beside the audit.

        Raises:
            SpecError: if the chain is damaged, or lacks what git or the store has seen of it.
        """
        file = self.paper.seals_file
        if link := next((one for one in (file, file.parent) if one.is_symlink()), None):
            raise SpecError(
                f"{link}: found a symbolic link; expected the chain of seals itself. Git keeps "
                "another history of what a link leads to. Put the file or folder in its place."
            )
        entries = read_chain(self.paper.seals_file, self.paper.slug)
        self._require_all(entries)
        return entries

    def entries(self) -> tuple[SealsEntry, ...]:
        """Every entry, those beside the audit first; errors as `own`."""
        own = self.own()
        if self.in_store is None:
            return own
        return (*own, *read_chain(self.in_store, self.paper.slug, after=own))

    def seen(self) -> Seen:
        """Every entry, here and on other branches, in today's words; errors as `own`."""
        entries = _in_words(self.entries())
        known = {one.hash for one in entries}
        try:
            elsewhere = self._elsewhere()
        except NoCheckoutError:
            return Seen(entries, ())
        except NoHistoryError as error:
            return Seen(entries, (), str(error))
        return Seen(entries, tuple(one for one in elsewhere if one.hash not in known))

    def _elsewhere(self) -> Iterable[SealsEntry]:
        """The entries that other branches of this repository have, each once.

        What was run or sealed on a branch was seen, whichever branch is kept. Of a chain that is
        damaged there, every line counts that is an entry.
        """
        file = self.paper.seals_file
        contents = others(file, file.read_bytes() if file.is_file() else b"")
        return {one.hash: one for text in contents for one in entries_among(text)}.values()

    def look_of(self, rule: str) -> int:
        """The number of a sealed rule among all that were sealed on any branch, from 1.

        Those of other branches count as earlier ones.
        """
        seen = self.seen()
        here = looks_sealed(seen.here)
        elsewhere = set(looks_sealed(seen.elsewhere)).difference(here)
        return len(elsewhere) + here.index(rule) + 1

    def add(self, make: Make, *, to_store: bool = False) -> tuple[SealsEntry, ...]:
        """Adds what `make` returns for all the entries that are there; errors as `append`, `own`.

        Args:
            make: given every entry, returns those to add.
            to_store: whether to add to the store's chain, also where the audit's can be written.
        """
        file, slug, own = self.paper.seals_file, self.paper.slug, self.own()
        if self.in_store is not None and (to_store or self.is_read_only):
            return append(self.in_store, slug, make, after=own, linked=self.is_read_only)

        def made(own: tuple[SealsEntry, ...]) -> Iterable[Draft]:
            stored = () if self.in_store is None else read_chain(self.in_store, slug, after=own)
            return make((*own, *stored))

        added = append(file, slug, made)
        is_more = any(not isinstance(one, SealEntry) for one in added)  # than a rule nobody ran
        if is_more and self._manifest is not None and self._manifest.file.parent.is_dir():
            self._manifest.add(self._listed_as, added[-1].hash)
        return added

    def seal(self, audit: Audit, why: str, *, by_run: bool = False) -> SealEntry | None:
        """Seals today's rule and text of an audit; None if they are those of the last seal.

        Before the first seal, what git tells of earlier changes is entered. What is changed and
        not committed by then is told by the seal.

        Args:
            audit: the audit.
            why: why it was changed.
            by_run: whether `run` seals what it is about to run; a changed wording is then left.

        Raises:
            SpecError: if the chain is damaged, or the paper's module cannot be read.
            UsageError: before the first seal, if the clone is shallow.
            StoreError, TechnicalError: if the chain cannot be written.
        """
        rule, text = rule_of(self.paper, audit)
        revision = revision_of(self.paper.audit_file)
        own = self.own()
        is_stored = self.is_read_only and by_run and self.in_store is not None
        now_changed: Changes = ()
        if last_seal(own) is None and not is_stored:
            now_changed = uncommitted(self.paper)
            if revision is not None:
                reconstruct(self.paper)

        def made(there: tuple[SealsEntry, ...]) -> Iterable[Draft]:
            known = there if is_stored else there[: len(self.own())]
            last, before = last_seal(known), rule_after(known)
            if last is not None and last.rule == digest(rule) and (by_run or last.text == text):
                return
            paths = sorted(before.keys() | rule.keys())
            differing = {
                path: rule.get(path)
                for path in paths
                if canonical(before.get(path)) != canonical(rule.get(path))  # 1 is not 1.0 there
            }
            fields = {
                "revision": revision,
                "rule": digest(rule),
                "text": text,
                "change": tree_of(differing),
                "since": None if last is None else last.rule,
                "what": now_changed if last is None else changes_since(known, rule),
                "why": why,
                "by": "run" if by_run else "seal",
            }
            yield Draft(SealEntry, fields)

        added = self.add(made)
        return added[0] if added and isinstance(added[0], SealEntry) else None

    # --- what was seen before

    @property
    def _manifest(self) -> RecordManifest | None:
        if self.manifest is not None or self.store is None:
            return self.manifest
        return RecordManifest(self.store / "manifest.log")

    @property
    def _listed_as(self) -> str:
        return f"last entry of seals/{self.paper.slug}.jsonl"

    def _require_all(self, entries: Sequence[SealsEntry]) -> None:
        """Refuses a chain that lacks what git or this store has seen of it."""
        file = self.paper.seals_file
        with suppress(NoHistoryError):
            commit = lacking(file, file.read_bytes() if file.is_file() else b"")
            if commit is not None:
                raise SpecError(
                    f"{file}: the chain of seals is shorter than in commit {commit[:12]}, or gone; "
                    f"expected all of it. Put it back: git checkout {commit[:12]} -- {file}"
                )
        if self._manifest is None:
            return
        present = {one.hash for one in entries}
        for seen in self._manifest.digests().get(self._listed_as, ()):
            if seen in present:
                continue
            unknown = ""
            try:
                if is_anywhere(file, seen):
                    continue  # another branch has it
            except NoHistoryError as error:
                unknown = f" Or another branch has it, which git cannot tell here: {error}."
            raise SpecError(
                f"{file}: found no entry {seen[:12]}, which the store {self.store} has seen in "
                f"this chain of seals; expected all of them. Put the file back as it was.{unknown}"
            )


def _in_words(entries: Sequence[SealsEntry]) -> tuple[SealsEntry, ...]:
    """The entries, of which every seal tells in words what its values say that it changed.

    Whoever writes a line could write other words into it. Of the first seal there are no values
    before it; its words stand as they are.
    """
    rules: dict[str, RuleData] = {}
    found: list[SealsEntry] = []
    for entry in entries:
        if isinstance(entry, SealEntry):
            rule = sealed_rule(entry, rules)
            if entry.since is not None:
                before = rules[entry.since]
                earlier = [one for name, one in rules.items() if name != entry.since]
                if entry.hash not in _WORDS:
                    _WORDS[entry.hash] = changes_between(before, rule, earlier)
                entry = entry.model_copy(update={"what": _WORDS[entry.hash]})
            rules.pop(entry.rule, None)
            rules[entry.rule] = rule
        found.append(entry)
    return tuple(found)


_WORDS: dict[str, Changes] = {}
"""The changes of seals by the hash of their entries, which holds all that came before them."""


def entries_among(chain: bytes) -> Iterator[SealsEntry]:
    """Yields each line of a chain that is an entry, whatever the others are."""
    for line in chain.split(b"\n"):
        with suppress(ValueError):  # of a line that is none
            yield parsed_entry(line)


def changes_since(entries: Sequence[SealsEntry], rule: RuleData) -> tuple[RuleChange, ...]:
    """The changes of a rule against the last seal of a chain.

    An audit without its module beside it has no code to compare.
    """
    *earlier, last = sealed_rules(entries).values()
    code = {CODE: last[CODE]} if CODE in last else {}
    return changes_between(last, {**code, **rule}, earlier)
