"""Tells of other audits of the same paper: what was run for one was seen, whatever it is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import PurePosixPath

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, Paper
from reproaudit.commands.beside.conditions import letters
from reproaudit.reports.numbers import counted
from reproaudit.reports.warning import OTHER_AUDITS
from reproaudit.seals.entries import BegunEntry, ResultEntry, RunEntry
from reproaudit.seals.history import NoHistoryError, Repository, in_any_folder
from reproaudit.seals.kept import entries_among

NUMBERS_SEEN: dict[type, str] = {
    ResultEntry: "recorded result",
    RunEntry: "begun run",
    BegunEntry: "begun confirmation",
}
"""The entries of a chain before which numbers were, or may have been, seen."""


def told_of_other_audits(entry: Entry, audit: Audit) -> str:
    """A sentence on other audits of the same paper that were run, in any folder and branch.

    Args:
        entry: the paper.
        audit: its audit.
    """
    told = []
    for label, seen in sorted(dict(_chains(entry, audit.paper)).items()):
        had = [counted(seen[kind], named) for kind, named in NUMBERS_SEEN.items() if seen[kind]]
        told += [f"{label}, with {' and '.join(had)}"] if had else []
    return f"{OTHER_AUDITS}: {'; '.join(told)}." if told else ""


def _chains(entry: Entry, paper: Paper) -> Iterator[tuple[str, Counter[type]]]:
    """Yields the name of each other audit of the same paper, with what was seen.

    The chain of an audit that is gone is known by the audit that git had.
    """
    audit, folder = entry.audit_file, entry.seals_file.parent
    known = {entry.slug}  # of its own name, the entries themselves are told of
    for file in (one for one in audit.parent.glob("*.yaml") if one != audit):
        chain = folder / f"{file.stem}.jsonl"
        if chain.is_file():
            known.add(file.stem)
            with suppress(OSError):
                if _is_of(paper, file.read_bytes()):
                    yield file.stem, _seen_in([chain.read_bytes()])
    with suppress(NoHistoryError):
        repository = Repository.of(audit)
        own = repository.name(folder)
        for name in in_any_folder(folder):
            place = PurePosixPath(name)
            slug, there = place.stem, place.parent.parent
            label = slug if str(place.parent) == own else f"{slug} in {there}"
            if label in known or slug == entry.slug:
                continue
            audits = repository.every_content(str(there / f"{slug}.yaml"))
            if any(_is_of(paper, one) for one in audits):
                yield label, _seen_in(repository.every_content(name))


def _seen_in(chains: Iterable[bytes]) -> Counter[type]:
    """The number of each of `NUMBERS_SEEN` in all versions of a chain, each entry once."""
    found = {one.hash: type(one) for text in chains for one in entries_among(text)}
    return Counter(kind for kind in found.values() if kind in NUMBERS_SEEN)


def _is_of(paper: Paper, text: bytes) -> bool:
    """True if the text of an audit has an identifier of this paper, or its title."""
    there = text.decode(errors="replace")
    identifiers = (one for one in (paper.arxiv, paper.openreview) if one)
    return any(one in there for one in identifiers) or letters(paper.title) in letters(there)
