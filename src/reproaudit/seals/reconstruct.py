"""Reads from git the time before the first seal: changed rules and code, reported results.

A changed rule is found by comparing a committed audit with the one in the commit before it, as
YAML, so that audits of older forms are read as well; changed code by hashing both commits' files
(`past_code`). A result is found in a committed `scorecard.json` of the paper tier.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any

import yaml

from reproaudit.audit.catalog import Entry
from reproaudit.errors import SpecError, UsageError
from reproaudit.seals.chain import append
from reproaudit.seals.changes import changes_between
from reproaudit.seals.commits import Commit, Commits, FileVersion, literal
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
        past = _Past(Commits.of(repository), paper)
        rules = list(past.rules())
        found = [
            *_changes(rules),
            *(past.code_changes(rules[0][0].name) if rules else ()),
            *past.results(),
        ]
    except NoHistoryError as error:
        raise UsageError(f"{paper.slug}: history not available ({error}).") from error
    by_name = past.commits.by_name
    found.sort(key=lambda one: (one.fields["date"], by_name[one.fields["revision"]].number))

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
    committed = repository.at("HEAD", repository.name(paper.audit_file))
    then = None if committed is None else _rule_in(committed)
    now = _rule_in(paper.audit_file.read_bytes())
    changes = changes_between(then, now) if then and now else ()
    return (*changes, *PastCode(repository, paper).uncommitted())


def _draft(kind: type[ChangeEntry] | type[ResultEntry], commit: Commit, **more: Any) -> Draft:
    fields = {"date": commit.date, "revision": commit.name, "reconstructed": True}
    return Draft(kind, {**fields, **more})


@dataclass
class _Past:
    """The history of a paper in git.

    Attributes:
        commits: the commits of every branch.
        paper: the paper.
    """

    commits: Commits
    paper: Entry
    _rules: dict[str, RuleData | None] = field(default_factory=dict)

    # --- audits

    def rules(self) -> Iterator[tuple[Commit, RuleData, RuleData]]:
        """Yields each commit that changed an audit, with its rule before and after.

        A rule that no parent has, as where an audit was taken away for a while or could not be
        read, is held against the one seen last on its line.
        """
        repository = self.commits.repository
        name = repository.name(self.paper.audit_file)
        versions: dict[str, FileVersion] = {}
        names = [name]
        for one in self.commits.versions(["HEAD"], literal(name)):
            names.append(one.path)
            if one.commit.name not in versions or one.path == name:
                versions[one.commit.name] = one
        against = {one: {0} for one in versions}
        for commit in self.commits.listed("--merges", "HEAD"):
            parents = self.with_news(commit)
            if parents and commit.name not in versions:
                there = (self.commits.version(commit, path) for path in dict.fromkeys(names))
                found = next((one for one in there if one.blob is not None), None)
                if found is None:
                    continue
                versions[commit.name] = found
            against.setdefault(commit.name, set()).update(parents)
        seen: dict[str, RuleData] = {}
        for commit in self.commits.by_name.values():
            version = versions.get(commit.name)
            now = None if version is None else self._rule(version.blob)
            if version is not None and now is not None:
                for number in sorted(against[commit.name]):
                    parent, before = commit.parents[number:], version.before[number:]
                    then = self._rule(before[0]) or seen[parent[0]] if parent else {}
                    yield commit, then, now
            seen[commit.name] = now or next((seen[p] for p in commit.parents if seen[p]), {})

    def _rule(self, blob: str | None) -> RuleData | None:
        """The rule of an audit, without code; None if it is no audit."""
        if blob is None:
            return None
        if blob not in self._rules:
            self._rules[blob] = _rule_in(self._content(blob))
        return self._rules[blob]

    def _content(self, blob: str) -> bytes:
        return self.commits.repository.git("cat-file", "blob", blob)

    # --- code

    def code_changes(self, first: str) -> Iterator[Draft]:
        """Yields what commits after the first audit changed in code that computes or judges."""
        code = PastCode(self.commits.repository, self.paper)
        for commit in code.commits(self.commits, first):
            against = [commit.parents[number] for number in self.with_news(commit)]
            for what in code.changes(commit, against):
                if what:
                    yield _draft(ChangeEntry, commit, what=what, why=commit.subject)

    # --- reports

    @cached_property
    def _shown(self) -> list[tuple[FileVersion, dict[str, ClaimResult]]]:
        """The paper tier's scorecards, wherever they were committed, in the order of time."""
        place = f":(glob)**/paper/{self.paper.slug}/scorecard.json"
        ends = (*self.commits.repository.ends(), "HEAD")
        found = [
            (one, _claims_in(self._content(one.blob)))
            for one in self.commits.versions(ends, place)
            if one.blob is not None
        ]
        known = [one for one in found if one[1]]
        return sorted(known, key=lambda one: (one[0].commit.date, one[0].commit.number))

    def results(self) -> Iterator[Draft]:
        """Yields what the paper tier's scorecards showed."""
        last: dict[str, ClaimResult] = {}
        for version, claims in self._shown:
            if claims != last:
                last = claims
                records = digest({name: one.model_dump() for name, one in claims.items()})
                none = {"rule": None, "judged_by": None}
                yield _draft(ResultEntry, version.commit, records=records, claims=claims, **none)

    def with_news(self, commit: Commit) -> list[int]:
        """The parents of a merge that know a result which another parent does not.

        What was changed on the line of the other one counts from the merge on: its own date shows
        only what a clock said.
        """
        known = [self._seen[one] for one in commit.parents]
        if len(known) < 2:
            return []
        common = reduce(and_, known)
        return [number for number, one in enumerate(known) if one & ~common]

    @cached_property
    def _seen(self) -> dict[str, int]:
        """By commit, the commits with results before it and in it, as the bits of a number."""
        bits = {one.commit.name: 1 << number for number, (one, _) in enumerate(self._shown)}
        seen: dict[str, int] = {}
        for name, commit in self.commits.by_name.items():
            seen[name] = reduce(or_, (seen[one] for one in commit.parents), bits.get(name, 0))
        return seen


def _changes(rules: Sequence[tuple[Commit, RuleData, RuleData]]) -> Iterator[Draft]:
    earlier: list[RuleData] = []
    for commit, then, now in rules:
        if not then:
            yield _draft(ChangeEntry, commit, what=(), why=f"The first audit: {commit.subject}")
            continue
        earlier.append(then)
        what = changes_between(then, now, earlier)
        if any(one.claims is None or one.claims for one in what):
            yield _draft(ChangeEntry, commit, what=what, why=commit.subject)


def _rule_in(text: bytes) -> RuleData | None:
    """The rule in an audit's bytes, without code; None if they are no audit."""
    if len(text) > LARGEST_COMMITTED:
        return None
    try:
        audit = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return rule_and_text(audit)[0] if isinstance(audit, Mapping) else None
    except (yaml.YAMLError, SpecError, RecursionError):
        return None


def _claims_in(text: bytes) -> dict[str, ClaimResult]:
    """The outcome of each claim in a scorecard; empty if it cannot be read."""
    if len(text) > LARGEST_COMMITTED:
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
