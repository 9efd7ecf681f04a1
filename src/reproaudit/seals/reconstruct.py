"""Reads from git the time before the first seal: changed rules and code, reported results.

A changed rule is found by comparing a committed audit with the one in the commit before it, as
YAML, so that audits of older forms are read as well; changed code by hashing both commits' files
(`past_code`). A result is found in a committed `scorecard.json` of the paper tier.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml

from reproaudit.audit.catalog import Entry
from reproaudit.errors import SpecError, UsageError
from reproaudit.seals.chain import append
from reproaudit.seals.changes import changes_between
from reproaudit.seals.entries import (
    ChangeEntry,
    Changes,
    ClaimResult,
    Draft,
    ResultEntry,
    SealEntry,
    SealsEntry,
)
from reproaudit.seals.history import NoHistoryError, Repository
from reproaudit.seals.past import numbers_of
from reproaudit.seals.past_code import PastCode
from reproaudit.seals.rule import RuleData, digest, rule_and_text

LARGEST_COMMITTED = 2**25


@dataclass(frozen=True)
class _Commit:
    """A commit that touched a file: its full name, when it was made, its subject, and the path."""

    name: str
    date: datetime
    subject: str
    path: str


def reconstruct(paper: Entry) -> tuple[SealsEntry, ...]:
    """Enters what git's history tells of a paper that has no seal yet, each commit once.

    Raises:
        UsageError: if there is no history, or the paper is sealed.
        SpecError: if the chain is damaged.
    """
    try:
        repository = Repository.of(paper.audit_file)
        if repository.is_shallow():
            raise NoHistoryError("this clone is shallow: fetch the rest with git fetch --unshallow")
        listed = repository.git("rev-list", "--reverse", "--topo-order", "HEAD").decode().split()
        order = {commit: number for number, commit in enumerate(listed)}
        rules = list(_rules(repository, paper))
        found = [
            *_changes(rules),
            *(_code_changes(repository, paper, rules[0][0].name) if rules else ()),
            *_results(repository, paper.slug),
        ]
    except NoHistoryError as error:
        raise UsageError(f"{paper.slug}: history not available ({error}).") from error
    found.sort(key=lambda one: (one.fields["date"], order.get(one.fields["revision"], 0)))

    def made(there: tuple[SealsEntry, ...]) -> Iterator[Draft]:
        if any(isinstance(one, SealEntry) for one in there):
            raise UsageError(
                f"{paper.slug}: it is sealed already, and what came before a seal cannot be "
                "entered after it."
            )
        known = {(type(one), one.revision, getattr(one, "what", None)) for one in there}
        for one in found:
            if (one.kind, one.fields["revision"], one.fields.get("what")) not in known:
                yield one

    return append(paper.seals_file, paper.slug, made)


def uncommitted(paper: Entry) -> Changes:
    """The changes of a paper's files against the last commit, in rule and code; none outside git.

    Raises:
        UsageError: if the clone is shallow, so that nobody can see what came before.
    """
    try:
        repository = Repository.of(paper.audit_file)
        repository.revision()
    except NoHistoryError:
        return ()
    if repository.is_shallow():
        raise UsageError(
            f"{paper.slug}: this clone is shallow, so earlier changes cannot be entered before the "
            "first seal. Fetch them with: git fetch --unshallow"
        )
    then = _rule_at(repository, "HEAD", repository.name(paper.audit_file))
    now = _rule_in(paper.audit_file.read_bytes())
    changes = changes_between(then, now) if then and now else ()
    return (*changes, *PastCode(repository, paper).uncommitted())


def _commits(repository: Repository, name: str) -> Iterator[_Commit]:
    """Yields the commits that touched a file, also under earlier names, the oldest first."""
    form = "--format=%x00%H%x1f%cI%x1f%s"
    told = repository.git("log", "--follow", "--no-merges", "--name-only", form, "--", name)
    for block in reversed(told.decode(errors="replace").split("\0")[1:]):
        head, _, rest = block.partition("\n")
        commit, date, subject = head.split("\x1f", 2)
        paths = [line for line in rest.splitlines() if line]
        yield _Commit(commit, datetime.fromisoformat(date), subject, paths[-1] if paths else name)


def _draft(kind: type[ChangeEntry] | type[ResultEntry], commit: _Commit, **more: Any) -> Draft:
    fields = {"date": commit.date, "revision": commit.name, "reconstructed": True}
    return Draft(kind, {**fields, **more})


# --- audits -------------------------------------------------------------------------------------


def _rules(repository: Repository, paper: Entry) -> Iterator[tuple[_Commit, RuleData, RuleData]]:
    """Yields each commit that changed an audit, with its rule before and after, oldest first."""
    before: str | None = None
    for commit in _commits(repository, repository.name(paper.audit_file)):
        now = _rule_at(repository, commit.name, commit.path)
        then = _rule_at(repository, f"{commit.name}^", before or commit.path)
        before = commit.path
        if now is not None:
            yield commit, then or {}, now


def _changes(rules: Sequence[tuple[_Commit, RuleData, RuleData]]) -> Iterator[Draft]:
    earlier: list[RuleData] = []
    for commit, then, now in rules:
        if not then:
            yield _draft(ChangeEntry, commit, what=(), why=f"The first audit: {commit.subject}")
            continue
        earlier.append(then)
        what = changes_between(then, now, earlier)
        if any(one.claims is None or one.claims for one in what):
            yield _draft(ChangeEntry, commit, what=what, why=commit.subject)


def _rule_at(repository: Repository, commit: str, name: str) -> RuleData | None:
    """The rule of an audit in a commit, without code; None if it is no audit there."""
    text = repository.at(commit, name)
    return None if text is None else _rule_in(text)


def _rule_in(text: bytes) -> RuleData | None:
    """The rule in an audit's bytes, without code; None if they are no audit."""
    if len(text) > LARGEST_COMMITTED:
        return None
    try:
        audit = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return rule_and_text(audit)[0] if isinstance(audit, Mapping) else None
    except (yaml.YAMLError, SpecError, RecursionError):
        return None


def _code_changes(repository: Repository, paper: Entry, first: str) -> Iterator[Draft]:
    """Yields what later commits than the first audit changed in code that computes or judges."""
    past = PastCode(repository, paper)
    for commit in past.commits(first):
        what = past.changes(commit)
        if what:
            told = repository.git("log", "-1", "--format=%cI%x1f%s", commit)
            date, subject = told.decode(errors="replace").strip().split("\x1f", 1)
            made = _Commit(commit, datetime.fromisoformat(date), subject, "")
            yield _draft(ChangeEntry, made, what=what, why=subject)


# --- reports ------------------------------------------------------------------------------------


def _results(repository: Repository, slug: str) -> Iterator[Draft]:
    """Yields what the paper tier's scorecards showed, wherever they were committed."""
    place = f":(glob)**/paper/{slug}/scorecard.json"
    listed = repository.git("log", "--format=", "--name-only", "-z", "HEAD", "--", place)
    names = {one.decode(errors="replace").strip() for one in listed.split(b"\0")} - {""}
    commits = {(one.name, one.path): one for name in names for one in _commits(repository, name)}
    last: dict[str, ClaimResult] = {}
    for commit in sorted(commits.values(), key=lambda one: (one.date, one.path)):
        claims = _claims_at(repository, commit)
        if claims and claims != last:
            last = claims
            records = digest({name: one.model_dump() for name, one in claims.items()})
            none = {"rule": None, "judged_by": None}
            yield _draft(ResultEntry, commit, records=records, claims=claims, **none)


def _claims_at(repository: Repository, commit: _Commit) -> dict[str, ClaimResult]:
    """The outcome of each claim in a committed scorecard; empty if it cannot be read."""
    text = repository.at(commit.name, commit.path)
    if text is None or len(text) > LARGEST_COMMITTED:
        return {}
    try:
        return {one["id"]: _result(one) for one in json.loads(text)["claims"]}
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}


def _result(claim: Mapping[str, Any]) -> ClaimResult:
    parts: Sequence[Mapping[str, Any]] = claim.get("parts") or ()
    return ClaimResult(
        decision=claim["decision"],
        verdict=claim["verdict"],
        estimate=claim["estimate"],
        numbers=numbers_of((part["name"], part["per_seed"]) for part in parts),
    )
