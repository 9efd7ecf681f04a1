"""`reproaudit seal`: seals the rule of an audit, and verifies the chain of its seals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.commands.confirmed import verdicts_on_records
from reproaudit.commands.output import print_json, say
from reproaudit.errors import AuditError, SpecError, UsageError
from reproaudit.running.memo import memo_folder
from reproaudit.running.shipped import FILE_NAME, unpack_records
from reproaudit.running.store import Store
from reproaudit.seals.chain import confirmation_of, last_seal
from reproaudit.seals.confirming import derived_seeds, error_of_look, looks_sealed, seeds_of_look
from reproaudit.seals.entries import ResultEntry, SealsEntry
from reproaudit.seals.history import NoHistoryError, faults_in_history, removed
from reproaudit.seals.kept import Chains
from reproaudit.seals.reconstruct import reconstruct
from reproaudit.seals.rule import digest, rule_of
from reproaudit.seals.standing import BY_CHAIN_ALONE


def seal_audit(entry: Entry, why: str | None, store: Path | None, as_json: bool) -> int:
    """Seals today's rule of an audit and prints what changed since the last seal.

    Args:
        entry: the paper.
        why: why it was changed.
        store: the store, which remembers the last entry.
        as_json: whether to print JSON.

    Raises:
        UsageError: if something changed since the last seal and nobody says why; before the first
            seal, if the clone is shallow.
        SpecError: if the audit or its chain is at fault.
    """
    audit = entry.audit()
    chains = Chains(entry, store)
    last = last_seal(chains.own())
    if last is not None and not (why or "").strip() and _differs(entry, last.rule, last.text):
        raise UsageError(f"{entry.slug}: it differs from its last seal. Say why: --why TEXT")
    made = chains.seal(audit, (why or "").strip())
    present = made or last
    assert present is not None, "what was not sealed now was sealed before"
    look = chains.look_of(present.rule)
    spent = error_of_look(look, 1 - audit.confidence)
    seeds = derived_seeds(present.rule, "paper", seeds_of_look(spent, len(audit.seeds.paper)))
    is_new = made is not None and (last is None or last.rule != made.rule)
    if as_json:
        data = {
            "file": str(entry.seals_file),
            "sealed": None if made is None else made.model_dump(mode="json"),
            "new_rule": is_new,
            "look": look,
            "seeds": seeds,
        }
        print_json(data)
        return 0
    if made is None:
        say(f"{entry.slug}: nothing changed since the seal of {present.date.date()}")
        return 0
    kind = "a rule" if is_new else "a wording; its rule is"
    say(f"{entry.slug}: sealed {kind} {made.rule[:16]} in {entry.seals_file}")
    for change in made.what:
        say(f"  {change.what}")
    if is_new:
        say(
            f"  It is look {look}. A confirmation of it spends {spent:.3g} of the error, "
            f"on {len(seeds)} seeds."
        )
    then = f" Then: reproaudit run {entry.slug} --tier paper --confirm" if is_new else ""
    say(f"Commit the file.{then}")
    return 0


def _differs(entry: Entry, rule: str, text: str) -> bool:
    found, worded = rule_of(entry, entry.audit())
    return (digest(found), worded) != (rule, text)


def reconstruct_history(entry: Entry, as_json: bool) -> int:
    """Enters what git tells of the time before the first seal, and prints it; errors as there."""
    added = reconstruct(entry)
    if as_json:
        print_json([one.model_dump(mode="json") for one in added])
    else:
        for one in added:
            say(f"{one.date.date()} {str(one.revision)[:12]} {one.kind}: {_brief(one)}")
        say(f"{entry.slug}: {len(added)} entries added to {entry.seals_file}")
    return 0


def _brief(entry: SealsEntry) -> str:
    what = getattr(entry, "what", None)
    if what is None:
        return f"{len(getattr(entry, 'claims', ()))} claims"
    changes = "1 change" if len(what) == 1 else f"{len(what)} changes"
    return f"{changes} ({getattr(entry, 'why', '')})"


# --- verifying ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verified:
    """The findings on one paper's chain of seals.

    Attributes:
        entries: the entries of its chain; empty if it is damaged.
        faults: what is wrong, each in a line.
        no_history: why git could not be asked; None if it was.
        by_chain_alone: whether the last rule is confirmed by entries that no record here shows.
    """

    entries: Sequence[SealsEntry]
    faults: Sequence[str]
    no_history: str | None
    by_chain_alone: bool = False


def verify_chain(entry: Entry, store: Path | None) -> Verified:
    """Recomputes the chain of a paper, and holds it against git's history."""
    entries: Sequence[SealsEntry] = ()
    faults: list[str] = []
    is_alone = False
    try:
        entries = Chains(entry, store).entries()
        is_alone = _is_by_chain_alone(entry, store, entries)
    except AuditError as error:
        faults.append(str(error))
    try:
        now = entry.seals_file.read_bytes() if entry.seals_file.is_file() else b""
        faults += [f"{entry.seals_file}: {one}" for one in faults_in_history(entry.seals_file, now)]
    except NoHistoryError as error:
        return Verified(entries, faults, str(error), is_alone)
    except OSError as error:
        faults.append(f"{entry.seals_file}: cannot be read ({error.strerror})")
    return Verified(entries, faults, None, is_alone)


def _taken_away(folders: Iterable[Path]) -> Iterator[tuple[str, Verified]]:
    """Yields the chains that git had in these folders, and that were removed with their audits."""
    for folder in folders:
        with suppress(NoHistoryError):
            for name, commit in removed(folder).items():
                file = folder / name
                fault = (
                    f"{file}: commit {commit[:12]} took this chain of seals away; expected it to "
                    f"stay, also when its audit goes. Put it back: git checkout {commit[:12]}^ -- "
                    f"{file}"
                )
                yield file.stem, Verified((), [fault], None)


def _is_by_chain_alone(entry: Entry, store: Path | None, entries: Sequence[SealsEntry]) -> bool:
    """True if today's rule is confirmed in the chain, but no records here give that result."""
    if not any(isinstance(one, ResultEntry) and one.confirmation for one in entries):
        return False
    audit = entry.audit()
    rule = digest(rule_of(entry, audit)[0])
    if confirmation_of(entries, rule) is None:
        return False
    stores = [] if store is None else [Store(store)]
    shipped = (
        (store or Path("runs")).resolve().parent / "reports" / "paper" / entry.slug / FILE_NAME
    )
    if shipped.is_file():
        stores.append(unpack_records(shipped, memo_folder().parent / "shipped"))
    return not any(verdicts_on_records(entry, audit, one, entries, rule) for one in stores)


def verify_chains(
    papers: Iterable[Entry], store: Path | None, *, strict: bool, as_json: bool
) -> int:
    """Verifies the chains of papers and prints what is wrong.

    Args:
        papers: the papers.
        store: the store whose chains are verified as well.
        strict: whether a history that is not available is an error.
        as_json: whether to print JSON.

    Returns:
        2 if something is wrong, else 0.
    """
    papers = tuple(papers)
    found = {entry.slug: verify_chain(entry, store) for entry in papers}
    found = dict(_taken_away({entry.seals_file.parent for entry in papers})) | found
    if as_json:
        print_json(
            {
                slug: {
                    "entries": [entry.model_dump(mode="json") for entry in one.entries],
                    "faults": list(one.faults),
                    "history": one.no_history or "available",
                    "by_chain_alone": one.by_chain_alone,
                }
                for slug, one in found.items()
            }
        )
    else:
        for slug, one in found.items():
            for fault in one.faults:
                say(fault, style="red")
            if one.no_history is not None:
                say(f"{slug}: history not available ({one.no_history})", stderr=True)
            if one.by_chain_alone:
                say(f"{slug}: {BY_CHAIN_ALONE}", style="yellow")
            seals = len(looks_sealed(one.entries))
            if not one.faults:
                said = f"{len(one.entries)} entries, {seals} rules sealed, no faults"
                say(f"{slug}: {said if one.entries else 'nothing is sealed'}")
    wrong = any(one.faults or (strict and one.no_history) for one in found.values())
    return SpecError.exit_code if wrong else 0
