"""`reproaudit run SLUG --tier paper --confirm`: runs a sealed rule once, on seeds it implies."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from reproaudit.audit.catalog import PACKAGE, Entry
from reproaudit.audit.command_module import CommandModule
from reproaudit.audit.model import Audit
from reproaudit.commands.confirmed import with_seeds_of
from reproaudit.commands.disclosing import disclosed
from reproaudit.commands.output import say
from reproaudit.commands.recording import recorded
from reproaudit.commands.run import How, run_tier
from reproaudit.errors import UsageError
from reproaudit.lab.parts import DATA_VARIABLE
from reproaudit.running.bytecode import foreign_bytecode
from reproaudit.running.code_hash import closure_of
from reproaudit.running.groups import todays_groups
from reproaudit.running.queue import Plan
from reproaudit.scorecard.from_store import cells_of_tier, choose_records, scorecard_of
from reproaudit.scorecard.model import Scorecard
from reproaudit.seals.chain import alpha_of, confirmation_of, last_seal
from reproaudit.seals.confirming import (
    Confirmation,
    derived_seeds,
    error_of_look,
    seeds_of_look,
)
from reproaudit.seals.entries import (
    BegunEntry,
    Draft,
    ResultEntry,
    RunEntry,
    SealEntry,
    SealsEntry,
    line_of,
    parsed_entry,
)
from reproaudit.seals.history import NoHistoryError, Repository, others, revision_of
from reproaudit.seals.kept import Chains
from reproaudit.seals.rule import canonical, digest, rule_of


def confirm_papers(papers: Sequence[tuple[Entry, Audit]], how: How) -> tuple[list[Scorecard], int]:
    """Runs the confirmation of each paper's last seal, and records what it shows.

    Returns:
        The scorecards, and how many cells failed. A failed cell is tried again by the next call,
        and each try is recorded.

    Raises:
        UsageError: if a paper has no seal of its present rule, if the seal or a file is not
            committed, or if the seal was confirmed before with records that are not here.
        SpecError: if a chain is damaged.
    """
    rules = [rule_of(entry, audit)[0] for entry, audit in papers]
    begun = [
        (entry, audit, begin(entry, audit, digest(rule), how))
        for (entry, audit), rule in zip(papers, rules, strict=True)
    ]
    confirming = [(entry, with_seeds_of(audit, start)) for entry, audit, start in begun]
    summary = run_tier(confirming, "paper", how)
    cards = []
    for (entry, audit, _), (_, drawn), rule in zip(begun, confirming, rules, strict=True):
        planned = summary.planned[entry.slug]
        card = scorecard_of(how.store, drawn, "paper", planned=planned, sealed_audit=audit)
        told = recorded(card, entry, drawn, how.store, planned, rule, sealed_audit=audit)
        cards.append(disclosed(told, entry, audit, how.store))
    return cards, summary.failed


def begin(entry: Entry, audit: Audit, rule: str, how: How) -> Confirmation:
    """Enters the beginning of a confirmation, unless it was begun before; errors as above."""
    chains = Chains.of(entry, how.store)
    seen = chains.seen()
    there = seen.here
    seal = last_seal(chains.own())
    slug = entry.slug
    if not any(claim.trains for claim in audit.claims):
        raise UsageError(f"{slug}: no claim trains anything, so there is nothing to confirm.")
    if seal is None or seal.rule != rule:
        found = "no seal" if seal is None else "another rule or other code than its last seal"
        raise UsageError(
            f"{slug}: found {found}. Seal it with: reproaudit seal {slug} --why TEXT; then commit."
        )
    _require_committed(entry, seal)
    _require_readable_code(slug)
    _require_nowhere_else(slug, seen.elsewhere, rule)
    _require_first(entry, audit, how, there, rule)
    look = chains.look_of(rule)
    made_with = _made_with(entry, audit, how)

    def made(present: tuple[SealsEntry, ...]) -> Iterable[Draft]:
        if Confirmation.of(present, rule) is None:
            error = error_of_look(look, alpha_of({"confidence": audit.confidence}))
            own = {"quick": len(audit.seeds.quick), "paper": len(audit.seeds.paper)}
            yield Draft(
                BegunEntry,
                {
                    "revision": revision_of(entry.audit_file),
                    "rule": rule,
                    "look": look,
                    "error": error,
                    "seeds": {
                        tier: derived_seeds(rule, tier, seeds_of_look(error, count))
                        for tier, count in own.items()
                    },
                    "made_with": made_with,
                },
            )

    added = chains.add(made)
    confirmation = Confirmation.of(chains.entries(), rule)
    assert confirmation is not None, "it was begun before or is begun now"
    _require_one_draw(entry, audit, how, confirmation, made_with)
    start = confirmation.begun
    say(
        f"{slug}: confirmation of seal {rule[:8]}, look {start.look}, which spends "
        f"{start.error:.3g} of the error, {'begun' if added else f'begun on {start.date.date()}'}",
        stderr=True,
    )
    if confirmation.failed:
        say(f"{slug}: a confirmation {confirmation.after_failures}", stderr=True)
    return confirmation


def _require_nowhere_else(slug: str, elsewhere: Sequence[SealsEntry], rule: str) -> None:
    """Refuses to confirm what was confirmed, or begun to be, on another branch or in a folder."""
    for one in elsewhere:
        if not isinstance(one, BegunEntry | ResultEntry) or one.rule != rule:
            continue
        if isinstance(one, BegunEntry) or one.confirmation:
            raise UsageError(
                f"{slug}: seal {rule[:8]} was confirmed, or begun to be, on {one.date.date()} on "
                "another branch or in another folder of this repository, and a seal is confirmed "
                "once. Go on there, or merge its chain."
            )


def _require_first(
    entry: Entry, audit: Audit, how: How, there: Sequence[SealsEntry], rule: str
) -> None:
    """Refuses to compute again what was confirmed; to show it from its records is fine."""
    result, confirmation = confirmation_of(there, rule), Confirmation.of(there, rule)
    if result is None or confirmation is None:
        return
    drawn = with_seeds_of(audit, confirmation)
    groups = todays_groups(entry.module)
    found = choose_records(how.store, drawn, "paper", today=groups).records
    wanted = {(cell.tier, cell.key) for cell in cells_of_tier(drawn, "paper")}
    if how.fresh or wanted - found.keys():
        raise UsageError(
            f"{entry.slug}: seal {rule[:8]} was confirmed on {result.date.date()}, and a seal is "
            f"confirmed once. See its result with: reproaudit seal {entry.slug} --verify --json"
        )


def _made_with(entry: Entry, audit: Audit, how: How) -> str:
    """A hash of today's code, versions, device and data of every experiment."""
    plan = Plan(cells_of_tier(audit, "paper"), how.catalog.locate, how.store, how.chosen_device)
    found = {
        canonical([task.cell.experiment, task.code, dict(task.versions), dict(task.data)])
        for task in plan.tasks
    }
    return digest(sorted([*(one.decode() for one in found), *_data_of_commands(entry)]))


def _data_of_commands(entry: Entry) -> Iterator[str]:
    """Yields a digest of each file of the data folder, which a command may read any of.

    A module declares the data that it reads; a command is only told where the folder is. Linked
    folders are gone through as well, and each file counts under the name that it has there.
    """
    folder = os.environ.get(DATA_VARIABLE)
    if not folder or not isinstance(entry.code, CommandModule):
        return
    for file, instead in _files_below(Path(folder)):
        name = file.relative_to(folder)
        if instead is not None:
            yield f"{name} {instead}"
            continue
        try:
            with open(file, "rb") as opened:
                content = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise UsageError(
                f"{entry.slug}: cannot read {file} ({error.strerror}), which a confirmation goes "
                "on with. Make it readable, or take it out of the folder of data."
            ) from error
        yield f"{name} {content}"


def _files_below(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """Yields each file below a folder, and each link without files, with what is said in its place.

    A link may lead nowhere, or to a folder that it lies in.
    """
    for place, folders, files in os.walk(folder, followlinks=True):
        inner = Path(place)
        around = (inner, *inner.parents[: len(inner.relative_to(folder).parts)])
        real = {os.path.realpath(one): one for one in around}
        for file in (inner / name for name in files):
            if file.is_file():
                yield file, None
            elif not os.path.exists(file):
                yield file, "missing"
        for name in list(folders):
            outer = real.get(os.path.realpath(inner / name))
            if outer is not None:
                folders.remove(name)
                yield inner / name, f"leads back to {outer.relative_to(folder)}"


def _require_one_draw(
    entry: Entry, audit: Audit, how: How, confirmation: Confirmation, made_with: str
) -> None:
    """Refuses to go on with other data, versions or device, and to measure anything again.

    What a confirmation has measured stays. Were the rest measured with something else, or all of it
    again, one draw could be chosen among several.
    """
    begun = confirmation.begun
    said = f"{entry.slug}: the confirmation of seal {begun.rule[:8]} has begun"
    if begun.made_with not in (None, made_with):
        raise UsageError(
            f"{said} with other data, versions of packages, or on another device, than are found "
            "here today. A confirmation is one draw: put back what it was begun with."
        )
    cells = {
        (cell.tier, cell.key) for cell in cells_of_tier(with_seeds_of(audit, confirmation), "paper")
    }
    tiers = sorted({tier for tier, _ in cells})
    records = (one for tier in tiers for one in how.store.records(entry.slug, tier))
    if how.fresh and any((one.tier, one.key) in cells for one in records):
        raise UsageError(f"{said}, and what it measured stays. Leave --fresh out.")


def _require_committed(entry: Entry, seal: SealEntry) -> None:
    """Refuses a seal that is not committed, or files that differ from the commit.

    The chain itself may have gone on, by what confirmations and runs add to it.
    """
    slug, remedy = entry.slug, "Commit it, and confirm then."
    try:
        repository = Repository.of(entry.audit_file)
        if repository.is_shallow():
            raise UsageError(
                f"{slug}: this clone is shallow, so rules that were sealed before may be missing, "
                "and a confirmation would spend too little error. Fetch the rest: git fetch "
                "--unshallow"
            )
        others(entry.seals_file, b"")  # else looks may be missing
        committed = repository.at("HEAD", repository.name(entry.seals_file)) or b""
        code = closure_of(entry.module).files
        root = repository.root.resolve()
        beside = sorted(one for one in code if one.is_relative_to(root))
        files = [entry.audit_file, entry.module.file, *beside]
        for file in files:
            if not repository.has("HEAD", repository.name(file)):
                raise UsageError(f"{slug}: {file} is not committed. {remedy}")
        changed = repository.changed(
            [repository.name(file) for file in (*files, *_ours(repository))]
        )
    except NoHistoryError as error:
        raise UsageError(
            f"{slug}: a confirmation needs a seal that is committed to git, with all its history; "
            f"git cannot tell it here ({error})."
        ) from error
    lines = committed.split(b"\n")
    if line_of(seal) not in lines:
        raise UsageError(f"{slug}: the seal in {entry.seals_file} is not committed. {remedy}")
    present = entry.seals_file.read_bytes()
    rest = present.removeprefix(committed)
    if not present.startswith(committed) or _seals_among(rest):
        raise UsageError(f"{slug}: {entry.seals_file} differs from the committed one. {remedy}")
    if changed:
        raise UsageError(f"{slug}: {changed[0]} differs from the commit. {remedy}")


def _require_readable_code(slug: str) -> None:
    """Refuses where Python would run compiled code of ours that its source does not say."""
    for compiled, source in _foreign():
        raise UsageError(
            f"{slug}: {compiled} holds other code than {source}, and Python would run it. Delete "
            f"the folder {compiled.parent}, and give the command again."
        )


@cache
def _foreign() -> tuple[tuple[Path, Path], ...]:
    return tuple(foreign_bytecode(PACKAGE))


def _ours(repository: Repository) -> list[Path]:
    """Our own package, if it lies in the same checkout."""
    is_inside = PACKAGE.resolve().is_relative_to(repository.root.resolve())
    return [PACKAGE] if is_inside else []


def _seals_among(lines: bytes) -> bool:
    return any(
        not isinstance(parsed_entry(line), BegunEntry | ResultEntry | RunEntry)
        for line in lines.splitlines()
    )
