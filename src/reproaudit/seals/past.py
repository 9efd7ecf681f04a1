"""The past of one claim, as a chain of seals tells it: changes, runs, draws and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reproaudit.seals.entries import (
    SEEN_BEFORE,
    ChangeEntry,
    ClaimResult,
    CodeChange,
    ResultEntry,
    RuleChange,
    RunEntry,
    SealEntry,
    SealsEntry,
    in_time,
    names_of,
)
from reproaudit.seals.rule import digest


@dataclass
class Epoch:
    """The time of one rule, after numbers at the paper's scale may have been seen.

    Attributes:
        draws: the distinct draws that were judged.
        failed: the distinct runs that failed, and were judged so.
        was_run: whether a run was begun.
    """

    draws: list[Mapping[str, str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    was_run: bool = False

    @property
    def judged(self) -> int:
        """The number of occasions on which something was judged."""
        return len(self.draws) + len(self.failed)


@dataclass(frozen=True)
class LateChange:
    """A change that came after numbers at the paper's scale may have been seen.

    Attributes:
        entry: the entry that tells of it.
        changes: what changed.
        was_judged: whether a result was recorded by then, and not a run's beginning alone.
    """

    entry: SealEntry | ChangeEntry
    changes: Sequence[RuleChange]
    was_judged: bool

    @property
    def is_past_code(self) -> bool:
        """True if it is a commit of code alone, read from git."""
        return self.entry.reconstructed and all(isinstance(one, CodeChange) for one in self.changes)

    @property
    def when(self) -> str:
        """The day, and what had happened by then."""
        seen = "after results had been seen" if self.was_judged else _AFTER_RUN
        by = self.entry.by if isinstance(self.entry, SealEntry) else None
        sealed = ", sealed by the run that followed" if by == "run" else ""
        return f"{date_of(self.entry)}, {seen}{mark_of(self.entry)}{sealed}"


_SEEN_BEFORE = "runs of another tier had computed cells that the paper tier has listed since"
_AFTER_RUN = "after a run had begun whose numbers may have been seen"


PastResult = tuple[ResultEntry, str, ClaimResult]
"""A result of a claim, with its entry and the claim's id at that time."""


@dataclass
class Past:
    """The past of one claim, and of the claims that it took the place of.

    Attributes:
        names: its id, and theirs.
        was_judged: whether it was judged at the paper's scale.
        early: the entries that changed its rule before its numbers may have been seen.
        late: the changes after that.
        results: its exploratory results, with the entries and the ids.
        failures: by failed run, the first result that judged it.
        looks: sentences about runs of other tiers, and about changes that nothing explains.
        epochs: the times of its rules since its numbers may have been seen.
    """

    names: frozenset[str]
    was_judged: bool = False
    early: list[SealEntry | ChangeEntry] = field(default_factory=list)
    late: list[LateChange] = field(default_factory=list)
    results: list[PastResult] = field(default_factory=list)
    failures: dict[str, PastResult] = field(default_factory=dict)
    looks: list[str] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    _rule: str | None = None
    _explained: set[str] = field(default_factory=set)
    _is_told: bool = False
    _seen_before: int = 0

    @classmethod
    def of(
        cls, claim: str, entries: Sequence[SealsEntry], unsealed: Iterable[RuleChange] = ()
    ) -> Past:
        """A claim's past, in the order of dates."""
        past = cls(names_of(claim, entries, unsealed))
        for entry in in_time(entries):
            if isinstance(entry, RunEntry):
                past._take_run(entry)
            elif isinstance(entry, ResultEntry) and not entry.confirmation:
                past._take_result(entry)
            elif isinstance(entry, SealEntry | ChangeEntry):
                past._take_change(entry)
        return past

    def is_of(self, change: RuleChange) -> bool:
        """True if a change touches the claim, or one that it took the place of."""
        return change.claims is None or not self.names.isdisjoint(change.claims)

    def has_entered(self, shown: Mapping[str, str]) -> bool:
        """True if the numbers stand in a result, or if there is none that they could stand in."""
        entered = [one.numbers for _, _, one in (*self.results, *self.failures.values())]
        return not any(entered) or any(same_draw(shown, one) for one in entered)

    def rule_changed(self) -> None:
        """Begins another epoch, if numbers may have been seen."""
        if self.epochs:
            self.epochs.append(Epoch())

    def _take_change(self, entry: SealEntry | ChangeEntry) -> None:
        if isinstance(entry, ChangeEntry):
            self._is_told = True
        elif entry.since not in (None, entry.rule):  # another rule than the last, not other words
            self._explained.add(entry.rule)
        touching = [one for one in entry.what if self.is_of(one)]
        if not touching:
            return
        if not self.epochs:
            self.early.append(entry)
            return
        last = self.late[-1] if self.late else None
        late = LateChange(entry, touching, self.was_judged)
        self.late.append(late)
        is_same = last is not None and (
            (entry.reconstructed and last.entry.revision == entry.revision)
            or (late.is_past_code and last.is_past_code)
        )
        if not (is_same and self.epochs[-1] == Epoch()):
            self.rule_changed()

    def _take_run(self, entry: RunEntry) -> None:
        self._take_rule(entry)
        if entry.claims is None or not self.names.isdisjoint(entry.claims):
            self.epochs = self.epochs or [Epoch()]
            self.epochs[-1].was_run = True
            if entry.tier == SEEN_BEFORE:
                self._seen_before += 1
                told = [one for one in self.looks if _SEEN_BEFORE not in one]
                code = f", with {self._seen_before} versions of its code"
                more = code if self._seen_before > 1 else ""
                self.looks = [*told, f"By {date_of(entry)} {_SEEN_BEFORE}{more}."]
                self.rule_changed()
            elif entry.claims is not None:
                self.looks.append(
                    f"A {entry.tier} run, begun on {date_of(entry)}, computed cells that the paper "
                    "tier has as well."
                )

    def _take_rule(self, entry: RunEntry | ResultEntry) -> None:
        """Begins another epoch if rule or code is another than before, and no entry tells of it."""
        is_other = None not in (self._rule, entry.rule) and self._rule != entry.rule
        is_told = self._is_told or entry.rule in self._explained
        if is_other and self.epochs and not is_told:
            self.looks.append(
                f"On {date_of(entry)} its rule or code was another than before, and no entry tells "
                "what was changed."
            )
            self.rule_changed()
        self._rule = entry.rule or self._rule
        self._explained, self._is_told = set(), False

    def _take_result(self, entry: ResultEntry) -> None:
        self._take_rule(entry)
        for name in sorted(self.names & entry.claims.keys()):
            result = entry.claims[name]
            if not (result.numbers or result.has_failed):
                continue
            self.was_judged = True
            self.epochs = self.epochs or [Epoch()]
            epoch = self.epochs[-1]
            if result.has_failed:
                run = result.failed_run or entry.records
                self.failures.setdefault(run, (entry, name, result))
                if run not in epoch.failed:
                    epoch.failed.append(run)
                continue
            self.results.append((entry, name, result))
            if not any(same_draw(result.numbers, one) for one in epoch.draws):
                epoch.draws.append(result.numbers)


def numbers_of(parts: Iterable[tuple[str, Sequence[float]]]) -> dict[str, str]:
    """A hash of each part's numbers, by a hash of its name.

    Args:
        parts: name and number of each seed; of a part without numbers nothing is kept.
    """
    return {
        digest(name)[:8]: digest([float(one) for one in numbers])[:8]
        for name, numbers in parts
        if numbers
    }


def same_draw(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """True if no part has other numbers here than there; parts of one alone do not matter."""
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[name] == other[name] for name in shared)


def date_of(entry: SealsEntry) -> str:
    """The day of an entry, as ``2026-11-22``."""
    return entry.date.date().isoformat()


def mark_of(entry: SealsEntry) -> str:
    """That an entry was read from git afterwards, as a clause; empty of any other."""
    return ", reconstructed from git" if entry.reconstructed else ""
