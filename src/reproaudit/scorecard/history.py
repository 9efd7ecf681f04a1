"""The log of results: a line for each answer that the paper tier gave, in the audit's folder.

`audits/<slug>.results.jsonl` says how often a paper was judged at the paper tier, by which rules
and with which outcome, so that a reader sees how many results came before the present one. Where
that folder is read-only, the lines go to `results.<slug>.jsonl` in the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from reproaudit.audit.catalog import Entry
from reproaudit.audit.faults import BROKEN_LOG, REMEDIES
from reproaudit.audit.model import Audit, Claim
from reproaudit.audit.seeds import digest, rules_of
from reproaudit.cell import canonical_settings
from reproaudit.declarations import StrictModel, first_refusal
from reproaudit.errors import SpecError
from reproaudit.files import LOCK_NAME, git, locked, sha256, write_whole
from reproaudit.store.journal import Journal, add_line, contents

if TYPE_CHECKING:  # `check` starts without NumPy
    from reproaudit.formats.verdict import ClaimAnswer
    from reproaudit.judge import History
    from reproaudit.records import Record

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Revision = Annotated[str, Field(pattern=r"^[0-9a-f]{7,64}$")]
Count = Annotated[int, Field(ge=0)]


class LoggedAnswer(StrictModel):
    """A claim's outcome, the digest of its bounds of ours, and how many of n runs say yes."""

    answer: str
    bounds: Digest
    yes: Count | None = None
    n: Count | None = None


class Result(StrictModel):
    """One answer at the paper tier.

    Attributes:
        kind: of records that were answered otherwise before, `judged again`: by another engine,
            or with other alternatives.
        engine: the number of the engine's rules, `judge.ENGINE`.
        revision: of the checkout that holds the audit.
        committed: whether the audit was committed as it is when the first of these runs began;
            left out where no checkout tells.
        salt: the word from which the seeds follow, too.
        code: the fingerprints of the code that made the records.
        records: how many were judged.
        digest: of everything that they measured.
    """

    kind: Literal["result", "judged again"] = "result"
    engine: Count = 1
    date: datetime
    revision: Revision | None = None
    committed: bool | None = None
    salt: str | None = None
    rules: dict[str, Digest]
    code: tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{8,64}$")], ...]
    records: Count
    digest: Digest
    claims: dict[str, LoggedAnswer]


class FirstVersion(StrictModel):
    """The records of version 0.1, which were in view when today's claims were designed."""

    kind: Literal["version_0.1"]
    version: Literal["0.1"]
    date: date
    revision: Revision
    records: Count


_LINE: TypeAdapter[Result | FirstVersion] = TypeAdapter(
    Annotated[Result | FirstVersion, Field(discriminator="kind")]
)
_BEGUN = TypeAdapter(dict[str, bool | None])


def read_lines(file: Path) -> tuple[list[Result | FirstVersion], list[tuple[int, str]]]:
    """Return the lines of a log, and of each line that is none its number and what is wrong.

    Raises:
        StoreError, TechnicalError: if the file cannot be read.
    """
    lines: list[Result | FirstVersion] = []
    faults: list[tuple[int, str]] = []
    for number, text in enumerate(contents(file).splitlines(), start=1):
        try:
            lines.append(_LINE.validate_json(text))
        except ValidationError as error:
            what = first_refusal(error)
            faults.append((number, f"found no result ({what}); expected a line as a run writes it"))
    return lines, faults


def logged_results(entry: Entry, store: Path | None = None) -> list[Result | FirstVersion]:
    """Return the lines beside an audit, then those in a store; a SpecError names a bad one."""
    found: list[Result | FirstVersion] = []
    for file in Journal(entry, "results", store).files:
        lines, faults = read_lines(file)
        for number, what in faults:
            raise SpecError(f"{file}:{number}: {what}. {REMEDIES[BROKEN_LOG]}")
        found += lines
    return found


def history_of(
    entry: Entry, audit: Audit, store: Path | None, judged: Iterable[Record] = ()
) -> History:
    """Return what happened before, as far as it bears on certainty.

    Args:
        store: the folder of records; None of records that came with a report.
        judged: the records of the tier that are judged now: what was logged of them is no
            earlier result.

    Raises:
        SpecError: if a log is damaged.
    """
    from reproaudit.judge import History  # here, since `check` reads logs and judges nothing

    lines = logged_results(entry, store)
    now = _digest_of(judged)
    results = [line for line in lines if isinstance(line, Result)]
    bounds = {claim.id: bounds_of(claim) for claim in audit.claims}
    changed = {
        name
        for result in results
        if result.digest != now
        for name, answer in result.claims.items()
        if bounds.get(name, answer.bounds) != answer.bounds
    }
    begun = None if store is None else _begun(store, entry.slug).get(_key(audit))
    if begun is None:  # whether the audit was committed then, as far as the log can tell
        same = (rules_of(audit, "paper"), audit.salt)
        of_rules = [one for one in results if (one.rules, one.salt or "") == same]
        begun = next((one.committed for one in of_rules), None)
    earlier = [line for line in lines if isinstance(line, FirstVersion) or line.digest != now]
    before = sum(not _has_bounds(line, bounds) for line in earlier)
    return History(begun is not False, frozenset(changed), len(earlier), before)


def _has_bounds(line: Result | FirstVersion, bounds: Mapping[str, str]) -> bool:
    """Whether every claim had its bounds when a result came."""
    if isinstance(line, FirstVersion):
        return False
    return bounds.items() <= {name: answer.bounds for name, answer in line.claims.items()}.items()


def bounds_of(claim: Claim) -> str:
    """Return the digest of the bounds of ours in a claim's headline."""
    return digest([one for check in claim.headline for one in check.ours()])


def begin(entry: Entry, audit: Audit, store: Path) -> None:
    """Note in the store, before a number is there, whether the audit is committed as it is.

    It is noted once for each state of the rules, so that a run that is resumed later, after the
    audit was committed, does not look as if it had begun so.

    Raises:
        SpecError: if a log is damaged: it is told before hours of computing.
    """
    logged_results(entry, store)
    with locked(store / LOCK_NAME):
        begun = _begun(store, entry.slug)
        if _key(audit) not in begun:
            _note_begun(store, entry.slug, {**begun, _key(audit): is_committed(entry.audit_file)})


def append(
    entry: Entry,
    audit: Audit,
    store: Path,
    records: Iterable[Record],
    answers: Sequence[ClaimAnswer],
) -> bool:
    """Log what a run at the paper tier showed, unless a line says so of the same measurements.

    Where the last line on these answers otherwise, the new one says `judged again`: another engine
    judged, or alternatives have run since. Return whether a line was written.

    Raises:
        SpecError: if a log is damaged.
        StoreError, TechnicalError: if it cannot be written.
    """
    from reproaudit.judge import ENGINE

    judged = list(records)
    if not judged or not answers:
        return False
    bounds = {claim.id: bounds_of(claim) for claim in audit.claims}
    result = Result(
        engine=ENGINE,
        date=datetime.now(UTC).replace(microsecond=0),
        revision=git(entry.audit_file, "rev-parse", "HEAD"),
        committed=_begun(store, entry.slug).get(_key(audit)),
        salt=audit.salt or None,
        rules=rules_of(audit, "paper"),
        code=tuple(sorted({record.code for record in judged})),
        records=len(judged),
        digest=_digest_of(judged),
        claims={
            one.id: LoggedAnswer(
                answer=one.outcome.value, bounds=bounds[one.id], yes=one.base.yes, n=one.base.n
            )
            for one in answers
        },
    )
    with Journal(entry, "results", store).writing() as file:
        known = logged_results(entry, store)
        same = [one for one in known if isinstance(one, Result) and one.digest == result.digest]
        if same and _outcomes(same[-1]) == _outcomes(result):
            return False
        kind = "judged again" if same else "result"
        line = result.model_copy(update={"kind": kind})
        add_line(file, line.model_dump_json(exclude_none=True).encode())
    return True


def merge_logs(slug: str, source: Path, target: Path) -> None:
    """Take over what the store of other runs notes of a paper, so that their results count here.

    That is whether the audit was committed when they began, where it was in neither store if it was
    not in one, and the lines of logs that lie in a store.

    Raises:
        SpecError: if such a note is damaged.
        StoreError, TechnicalError: if a file cannot be read or written.
    """
    with locked(target / LOCK_NAME):
        theirs = _begun(source, slug)
        both = _begun(target, slug)
        for key, committed in theirs.items():
            both[key] = committed if both.get(key) in (None, True) else both[key]
        if theirs:
            _note_begun(target, slug, both)
        for log in sorted(source.glob(f"*.{slug}.jsonl")):
            known = contents(target / log.name).splitlines()
            for line in contents(log).splitlines():
                if line not in known:
                    add_line(target / log.name, line)


def _outcomes(result: Result) -> dict[str, str]:
    return {name: said.answer for name, said in result.claims.items()}


def _key(audit: Audit) -> str:
    """What a run that begins is noted by: the rules, and the word that draws its seeds."""
    return digest([rules_of(audit, "paper"), audit.salt])


def _digest_of(records: Iterable[Record]) -> str:
    """The digest of what some records measured, whatever code measured it and when."""

    def measured(record: Record) -> list[Any]:
        settings = canonical_settings(record.settings)
        numbers = sha256(record.measurements.model_dump_json().encode())
        cell = [record.tier, record.experiment, settings, record.seed]
        return [*cell, record.status.value, numbers]

    return digest(sorted(map(measured, records)))


def _begun(store: Path, slug: str) -> dict[str, bool | None]:
    file = store / f"results.{slug}.begun.json"
    try:
        return _BEGUN.validate_json(contents(file) or b"{}")
    except ValidationError as error:
        raise SpecError(
            f"{file}: found something else than what a run notes; expected true or false by rules. "
            "Remove it: whether the audit was committed is then noted anew."
        ) from error


def _note_begun(store: Path, slug: str, begun: Mapping[str, bool | None]) -> None:
    data = _BEGUN.dump_json(dict(begun), indent=1)
    write_whole(store / f"results.{slug}.begun.json", data + b"\n", durable=True)


def is_committed(file: Path) -> bool | None:
    """True if a file is committed as it is; None outside a checkout, or without git."""
    if git(file, "rev-parse", "HEAD") is None:
        return None
    tracked = git(file, "ls-files", "--error-unmatch", "--", file.name)
    return tracked is not None and git(file, "status", "--porcelain", "--", file.name) == ""
