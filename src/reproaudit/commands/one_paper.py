"""One paper of a report by itself: it is judged, its pages are written, both are remembered.

A paper is judged anew when a file of its own was touched, or a file of reproaudit. Records of other
papers change one thing alone in its scorecard: the root of the store's manifest, which is put in
each time. The manifest's lines on the paper's own records are part of the key under which it is
remembered; they are read, and their chain is checked, every time.

Several papers are judged at once, in as many processes as there are cores.
"""

from __future__ import annotations

import gc
import io
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, redirect_stderr, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.commands.disclosing import told_by_seals
from reproaudit.commands.output import say
from reproaudit.commands.remembering import Files, files_of_paper, together
from reproaudit.errors import AuditError, StoreError, TechnicalError
from reproaudit.reports.files import folder_name, read_scorecard, write_report
from reproaudit.reports.phrasing import warnings
from reproaudit.reports.register.model import PaperEntry
from reproaudit.reports.register.writing import write_entry
from reproaudit.running.cores import available_cores
from reproaudit.running.files import sha256
from reproaudit.running.groups import todays_groups
from reproaudit.running.memo import Memo, memo_folder, one_moment, tool_files
from reproaudit.running.read_once import ReadOnce
from reproaudit.running.shipped import FILE_NAME, TAKE_AGAIN, unpack_records
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import scorecard_of
from reproaudit.scorecard.model import Scorecard

FEWEST_FOR_PROCESSES = 8
"""Fewer papers are judged before more processes have started."""


@dataclass(frozen=True)
class AskedOfPapers:
    """The question that is put to every paper.

    Attributes:
        store: the folder of records.
        tier: the tier to report; None for the highest one that a paper has.
        out: the report folder.
        group: the beginning of the id of the group of records to show; None for today's.
        formats: the formats to write.
        to_draw: whether the scorecards are shown with all that they draw.
    """

    store: Path
    tier: TierName | None
    out: Path
    group: str | None
    formats: frozenset[str]
    to_draw: bool = True


@dataclass(frozen=True)
class PaperReport:
    """One paper, judged and written.

    Attributes:
        card: its scorecard; None if it has nothing to report, or cannot be shown. From another
            process it comes without its drawings where nobody draws them: they are most of it.
        written: its files.
        said: what is to be printed on standard error.
        error: why it cannot be shown.
        entry: of pages, its entry in the register; None if there is none, or it cannot be made.
    """

    card: Scorecard | None = None
    written: tuple[Path, ...] = ()
    said: str = ""
    error: AuditError | None = None
    entry: PaperEntry | None = None


def reports_of_papers(entries: Sequence[Entry], asked: AskedOfPapers) -> Iterator[PaperReport]:
    """Judges papers and writes their pages; yields them in their order.

    Raises:
        TechnicalError: if a process that judges is killed.
    """
    workers = min(available_cores(), len(entries) // (FEWEST_FOR_PROCESSES // 2))
    if workers < 2:
        store, tool = Store(asked.store), tool_files()
        with one_moment():
            yield from (_report_of(entry, asked, store, tool) for entry in entries)
        return
    counts = Counter(path.partition("/")[0] for path in Store(asked.store).manifest.digests())
    largest = sorted(range(len(entries)), key=lambda place: -counts[entries[place].slug])
    context = multiprocessing.get_context("spawn")  # a fork may leave NumPy's threads behind
    pool = ProcessPoolExecutor(workers, context, _prepare, (asked, os.getcwd(), gc.get_threshold()))
    try:
        ahead = [pool.submit(_report_in_process, entries[place]) for place in largest]
        found = dict(zip(largest, ahead, strict=True))
        yield from (found[place].result() for place in range(len(entries)))
    except BrokenProcessPool as error:
        raise TechnicalError(
            "a process that judged a paper was ended from outside, perhaps for want of memory. "
            "What it had written is whole; report fewer papers at once, by name."
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # they end while the register is written


_process = ExitStack()
"""Of a process of the pool: what lasts as long as itself."""

_prepared: list[tuple[AskedOfPapers, Store, Files]] = []
"""In a process of the pool: what it was started with."""


def _prepare(asked: AskedOfPapers, folder: str, collecting: tuple[int, int, int]) -> None:
    gc.set_threshold(*collecting)
    Thread(target=_end_with_the_command, daemon=True).start()
    _process.enter_context(one_moment())
    os.chdir(folder)
    _prepared.append((asked, Store(asked.store), tool_files()))


def _end_with_the_command() -> None:
    """Ends a process of the pool when the command was killed; it would wait for work for ever."""
    command = multiprocessing.parent_process()
    if command is not None:
        command.join()
        os._exit(1)


def _report_in_process(entry: Entry) -> PaperReport:
    found = _report_of(entry, *_prepared[0])
    if found.card is None or found.entry is None or _prepared[0][0].to_draw:
        return found
    return replace(found, card=without_drawings(found.card))


def _report_of(entry: Entry, asked: AskedOfPapers, store: Store, tool: Files) -> PaperReport:
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            card = scorecard_of_paper(entry, store, asked.tier, asked.out, asked.group, tool)
    except AuditError as error:
        return PaperReport(said=said.getvalue(), error=error)
    if card is None:
        return PaperReport(said=said.getvalue())
    shown = None
    with redirect_stderr(said):
        written = _pages(card, asked, store, tool)
    if "html" in asked.formats:
        with suppress(StoreError):  # why is told when the register is written
            shown = write_entry(card, asked.out, is_written="json" in asked.formats)
    return PaperReport(card, written, said.getvalue(), entry=shown)


# --- the scorecard ------------------------------------------------------------------------------


def scorecard_of_paper(
    entry: Entry,
    store: Store,
    tier: TierName | None,
    out: Path,
    group: str | None = None,
    tool: Files = None,
) -> Scorecard | None:
    """A paper's scorecard: from its records, else from the report folder; None if it has neither.

    In the report folder, the records that were exported with the report are judged anew; without
    them, the scorecard is read as it was written.

    Args:
        entry: the paper.
        store: its records.
        tier: the tier; None for the highest one that the paper has.
        out: the report folder.
        group: the beginning of the id of the group of records to show; None for today's.
        tool: the state of reproaudit's own files; None to remember nothing.

    Raises:
        AuditError: if it cannot be shown, as where two groups of records may be meant.
    """
    if store.root.is_file():
        has_records(store, entry.slug, tier or TIERS[0])  # says what stands where
    files = together(tool, files_of_paper(entry, store.root))
    for one in [tier] if tier else reversed(TIERS):
        memo = None
        if (store.root / entry.slug / one).is_dir():
            memo = Memo(_question(entry, store, one, group), files)
            if (known := memo.answer()) is not None:
                card = Scorecard.model_validate_json(known)
                return card.model_copy(update={"store_root": store.manifest.root()})
            memo = memo if has_records(store, entry.slug, one) else None
        # what was shipped lies beside the store, wherever the new pages go
        folders = [place / one / entry.slug for place in (out, store.root.parent / "reports")]
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
            return _from_shipped(entry, audit, one, shipped, group)
        card = read_scorecard(committed)
        if card.digest is None:
            say(f"{committed} has no digest: nothing shows whether it was edited.", stderr=True)
        return card
    audit = entry.audit()
    if audit.claims:
        return None
    return scorecard_of(store, audit, tier or "quick")  # its documentation is all there is to show


def _question(entry: Entry, store: Store, tier: TierName, group: str | None) -> list[object]:
    below = f"{entry.slug}/"
    digests = store.manifest.digests().items()
    listed = [(path, found) for path, found in digests if path.startswith(below)]
    named = [entry.slug, str(entry.audit_file), str(entry.code), str(store.root)]
    return ["scorecard", *named, tier, group, listed]


def _judged(
    entry: Entry, audit: Audit, store: Store, tier: TierName, group: str | None, memo: Memo
) -> Scorecard:
    said, store = io.StringIO(), ReadOnce(store)
    with redirect_stderr(said):
        today = todays_groups(entry.code)
        card = scorecard_of(store, audit, tier, today=today, wanted=group)
        card = told_by_seals(card, entry, audit, store, group, today)
    sys.stderr.write(said.getvalue())
    if not said.getvalue():  # of a damaged record, say, it is to be told each time
        memo.keep(_text_of(card))
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
    theirs = read_scorecard(beside) if beside.is_file() else None
    stated = None if theirs is None else theirs.store_root
    if stated not in (None, root):
        raise StoreError(
            f"{file}: found a list of records that ends in {root[:16]}; expected {stated[:16]}, as "
            f"{beside} states. One of the two was replaced: take both from where they were "
            "published, or remove the scorecard to judge these records by themselves."
        )
    there = store.listed(entry.slug, tier).values()
    if missing := len(there) - sum(there):
        say(
            f"{file}: lacks {missing} of the {len(there)} records of this tier that its list "
            f"names. {TAKE_AGAIN}",
            stderr=True,
        )
    today = todays_groups(entry.code)
    card = scorecard_of(store, audit, tier, today=today, wanted=group)
    card = card.model_copy(update={"shipped": True})
    card = told_by_seals(card, entry, audit, store, group, today)
    if theirs is None or _without_origin(card) != _without_origin(theirs):
        return card
    say(f"{entry.slug}: judged again from {file}, with the result of {beside}", stderr=True)
    return card.model_copy(update={"shipped": theirs.shipped})


def _without_origin(card: Scorecard) -> dict[str, object]:
    """A scorecard as data, without the word on whether its records were in a store or a report."""
    return card.model_dump(mode="json", exclude={"shipped", "digest"})


def _text_of(card: Scorecard) -> str:
    """A scorecard as it is remembered: the root of the manifest is put in each time."""
    return card.model_copy(update={"store_root": None}).model_dump_json()


def without_drawings(card: Scorecard) -> Scorecard:
    """The same scorecard without its figures, and without pictures that warn of nothing."""
    claims = tuple(
        claim if warnings(claim) else claim.model_copy(update={"pictures": ()})
        for claim in card.claims
    )
    return card.model_copy(update={"claims": claims, "figures": ()})


def has_records(store: Store, slug: str, tier: TierName) -> bool:
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


def _pages(card: Scorecard, asked: AskedOfPapers, store: Store, tool: Files) -> tuple[Path, ...]:
    """Writes a paper's files; those that would be the same, and stand there whole, are left."""
    folder = asked.out / folder_name(card.tier) / folder_name(card.paper.get("slug"))
    about = [sha256(_text_of(card).encode()), (folder / "multiverse.html").is_file()]
    formats = sorted(asked.formats)
    memo = Memo(["pages", str(folder.absolute()), str(folder), formats, *about], tool)
    known = memo.answer()
    if known is not None and _digests(known) == known:
        if "json" in asked.formats:
            write_report(card, asked.out, ["json"])
        return tuple(map(Path, known))
    tell_of_other_store(card, store, asked.out)
    written = write_report(card, asked.out, asked.formats)
    memo.keep(_digests(map(str, written)))
    return written


def _digests(paths: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of pages; none of JSON, which tells the root of the manifest, and of no file."""
    pages = {path: Path(path) for path in paths}
    return {
        path: sha256(page.read_bytes()) if page.suffix != ".json" and page.is_file() else ""
        for path, page in pages.items()
    }
