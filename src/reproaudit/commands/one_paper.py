"""One paper of a report by itself: it is judged, its pages are written, both are remembered.

A paper is judged anew when a file of its own was touched, or a file of reproaudit. Records of other
papers change one thing alone in its scorecard: the root of the store's manifest, which is put in
each time. The manifest's lines on the paper's own records are part of the key under which it is
remembered; they are read, and their chain is checked, every time.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.audit.seeds import stored_tier
from reproaudit.commands.output import say
from reproaudit.commands.remembering import Files, files_of_paper, together
from reproaudit.commands.reporting import ReportRequest
from reproaudit.errors import AuditError, StoreError
from reproaudit.multiverse.completions import varied_tier
from reproaudit.reports.files import OtherVersionError, folder_name, read_scorecard, write_report
from reproaudit.reports.register.model import PaperEntry
from reproaudit.reports.register.writing import write_entry
from reproaudit.reports.screen import PaperLines, paper_lines
from reproaudit.running.files import sha256
from reproaudit.running.groups import todays_groups
from reproaudit.running.memo import Memo, memo_folder
from reproaudit.running.read_once import ReadOnce
from reproaudit.running.shipped import FILE_NAME, TAKE_AGAIN, unpack_records
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import scorecard_of
from reproaudit.scorecard.model import ClaimModel, Scorecard


@dataclass(frozen=True)
class PaperReport:
    """One paper, judged and written.

    Attributes:
        lines: what the last screen says of it; None if there is nothing to report or an error.
        outcomes: every verdict and decision of its claims.
        card: its scorecard, if it is to be shown whole, or no entry could be made; else None, since
            it may come from another process, and is large.
        entry: of pages, its entry in the register; None if there is none, or it cannot be made.
        written: its files.
        said: what is to be printed on standard error.
        error: why it cannot be shown.
    """

    lines: PaperLines | None = None
    outcomes: frozenset[str] = frozenset()
    card: Scorecard | None = None
    entry: PaperEntry | None = None
    written: tuple[Path, ...] = ()
    said: str = ""
    error: AuditError | None = None


def report_of(entry: Entry, asked: ReportRequest, store: Store, tool: Files) -> PaperReport:
    """Judges a paper and writes its pages; what is wrong with it is part of the answer.

    Args:
        entry: the paper.
        asked: the question that is put to every paper.
        store: the records of all papers.
        tool: the state of reproaudit's own files.
    """
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            found = _judged_paper(entry, store, asked.tier, asked.out, asked.group, tool)
    except AuditError as error:
        return PaperReport(said=said.getvalue(), error=error)
    if found is None:
        return PaperReport(said=said.getvalue())
    card, shown = found.card, None
    with redirect_stderr(said):
        written = _pages(found, asked, store, tool)
    if "html" in asked.pages:
        with suppress(StoreError):  # why is told when the register is written
            shown = write_entry(card, asked.out, is_written="json" in asked.pages)
    is_needed = asked.draws or ("html" in asked.pages and shown is None)
    return PaperReport(
        lines=paper_lines(card),
        outcomes=frozenset(one for claim in card.claims for one in _outcomes(claim)),
        card=card if is_needed else None,
        entry=shown,
        written=written,
        said=said.getvalue(),
    )


def _outcomes(claim: ClaimModel) -> Iterator[str]:
    yield from (one.value for one in (claim.verdict, claim.decision) if one is not None)


# --- the scorecard ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Judged:
    """A scorecard, and its text, which is made once."""

    card: Scorecard

    @cached_property
    def text(self) -> str:
        """The scorecard as it is remembered: the root of the manifest is put in each time."""
        return self.card.model_copy(update={"store_root": None}).model_dump_json()


def scorecard_of_paper(
    entry: Entry, store: Store, tier: TierName | None, out: Path
) -> Scorecard | None:
    """A paper's scorecard: from its records, else from the report folder; None if it has neither.

    In the report folder, the records that were exported with the report are judged anew; without
    them, the scorecard is read as it was written.

    Args:
        entry: the paper.
        store: its records.
        tier: the tier; None for the highest one that the paper has.
        out: the report folder.

    Raises:
        AuditError: if it cannot be shown, as where two groups of records may be meant.
    """
    found = _judged_paper(entry, store, tier, out, None, None)
    return None if found is None else found.card


def _judged_paper(
    entry: Entry, store: Store, tier: TierName | None, out: Path, group: str | None, tool: Files
) -> _Judged | None:
    """As `scorecard_of_paper`; ``tool`` is None to remember nothing."""
    if store.root.is_file():
        has_records(store, entry.slug, tier or TIERS[0])  # says what stands where
    files = together(tool, files_of_paper(entry, store.root))
    for one in [tier] if tier else reversed(TIERS):
        memo, kept_as = None, stored_tier(entry, one)
        if (store.root / entry.slug / kept_as).is_dir():
            memo = Memo(_question(entry, store, kept_as, group), files)
            if (known := memo.answer()) is not None:
                card = Scorecard.model_validate_json(known)
                card = card.model_copy(update={"store_root": store.manifest.root()})
                return _Judged(card)
            memo = memo if has_records(store, entry.slug, kept_as) else None
        # what was shipped lies beside the store, wherever the new pages go
        folders = [place / kept_as / entry.slug for place in (out, store.root.parent / "reports")]
        files_of = [(folder / FILE_NAME, folder / "scorecard.json") for folder in folders]
        found = next((pair for pair in files_of if any(one.is_file() for one in pair)), None)
        if memo is None and found is None:
            continue
        audit = entry.audit()
        if not audit.claims:
            break
        if memo is not None:
            return _judged(entry, audit, store, one, group, memo)
        assert found is not None
        shipped, committed = found
        if shipped.is_file():
            return _Judged(_from_shipped(entry, audit, one, shipped, group))
        return _Judged(_from_page(committed))
    audit = entry.audit()
    if audit.claims:
        return None
    return _Judged(scorecard_of(store, audit, tier or "quick"))  # documentation is all it has


def _question(entry: Entry, store: Store, tier: str, group: str | None) -> list[object]:
    below = f"{entry.slug}/"
    digests = store.manifest.digests().items()
    listed = [(path, found) for path, found in digests if path.startswith(below)]
    named = [entry.slug, str(entry.audit_file), str(entry.code), str(store.root)]
    return ["scorecard", *named, tier, group, listed]


def _judged(
    entry: Entry, audit: Audit, store: Store, tier: TierName, group: str | None, memo: Memo
) -> _Judged:
    said, store = io.StringIO(), ReadOnce(store)
    with redirect_stderr(said):
        today = todays_groups(entry.code)
        card = scorecard_of(store, audit, tier, today=today, wanted=group)
    sys.stderr.write(said.getvalue())
    judged = _Judged(card)
    if said.getvalue():  # of a damaged record, say, it is to be told each time
        return judged
    memo.keep(judged.text)
    return judged


def _from_page(file: Path) -> Scorecard:
    """The scorecard of a page whose records are not here."""
    card = read_scorecard(file)
    if card.digest is None:
        say(f"{file} has no digest: nothing shows whether it was edited.", stderr=True)
    return card


def _from_shipped(
    entry: Entry, audit: Audit, tier: TierName, file: Path, group: str | None
) -> Scorecard:
    """The scorecard from the records that lie in the report folder, judged today.

    If it comes out as the one beside them, it is that one, so that its pages stay as they are.

    Raises:
        StoreError: if they are not the records that the scorecard beside them was made from.
    """
    store = ReadOnce(unpack_records(file, memo_folder().parent / "shipped"))
    root, beside = store.manifest.root(), file.with_name("scorecard.json")
    theirs = None
    if beside.is_file():
        with suppress(OtherVersionError):  # its records say what it would say
            theirs = read_scorecard(beside)
    stated = None if theirs is None else theirs.store_root
    if stated not in (None, root):
        raise StoreError(
            f"{file}: found a list of records that ends in {root[:16]}; expected {stated[:16]}, as "
            f"{beside} states. One of the two was replaced: take both from where they were "
            "published, or remove the scorecard to judge these records by themselves."
        )
    # alternatives decide, too: without those that flip a claim it would come out better
    there = [*store.listed(entry.slug, stored_tier(audit, tier)).values()]
    there += store.listed(entry.slug, varied_tier(tier)).values()
    if missing := len(there) - sum(there):
        say(
            f"{file}: lacks {missing} of the {len(there)} records of this tier and its "
            f"alternatives that its list names. {TAKE_AGAIN}",
            stderr=True,
        )
    seeds = {record.seed for record in store.records(entry.slug, tier)}
    if seeds.issuperset(own := range(len(audit.seeds.paper))):  # made by version 0.1
        audit = audit.with_seeds({"paper": tuple(own)})
    today = todays_groups(entry.code)
    card = scorecard_of(store, audit, tier, today=today, wanted=group)
    card = card.model_copy(update={"shipped": True})
    if theirs is None or _without_origin(card) != _without_origin(theirs):
        return card
    say(f"{entry.slug}: judged again from {file}, with the result of {beside}", stderr=True)
    return card.model_copy(update={"shipped": theirs.shipped})


def _without_origin(card: Scorecard) -> dict[str, object]:
    """A scorecard as data, without the word on whether its records were in a store or a report."""
    return card.model_dump(mode="json", exclude={"shipped", "digest"})


def has_records(store: Store, slug: str, tier: str) -> bool:
    """True if a store holds a record of a paper at a tier."""
    return next(iter(store.records(slug, tier)), None) is not None


# --- its pages ----------------------------------------------------------------------------------


def tell_of_other_store(card: Scorecard, store: Store, out: Path) -> None:
    """Says so before pages are replaced that were made from the records of another store."""
    folder = out / folder_name(card.tier) / folder_name(card.paper.get("slug"))
    try:
        there = read_scorecard(folder / "scorecard.json").store_root
    except StoreError:  # there is none, or it is damaged; the new one mends that
        return
    if there in (None, card.store_root) or store.manifest.has_had(there):
        return
    say(
        f"{folder}: replaced pages that were made from other records than those of {store.root}. "
        "To have both, make the other ones again with their --store and another --out.",
        stderr=True,
    )


def _pages(judged: _Judged, asked: ReportRequest, store: Store, tool: Files) -> tuple[Path, ...]:
    """Writes a paper's files; those that would be the same, and stand there whole, are left."""
    card = judged.card
    folder = asked.out / folder_name(card.tier) / folder_name(card.paper.get("slug"))
    about = [sha256(judged.text.encode()), (folder / "multiverse.html").is_file()]
    formats = sorted(asked.pages)
    memo = Memo(["pages", str(folder.absolute()), str(folder), formats, *about], tool)
    known = memo.answer()
    if known is not None and _digests(known) == known:
        if "json" in asked.pages:
            write_report(card, asked.out, ["json"])
        return tuple(map(Path, known))
    tell_of_other_store(card, store, asked.out)
    written = write_report(card, asked.out, asked.pages)
    memo.keep(_digests(map(str, written)))
    return written


def _digests(paths: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of pages; none of JSON, which tells the root of the manifest, and of no file."""
    pages = {path: Path(path) for path in paths}
    return {
        path: sha256(page.read_bytes()) if page.suffix != ".json" and page.is_file() else ""
        for path, page in pages.items()
    }
