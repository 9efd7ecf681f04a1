"""The words of an answer: typed, so that one renderer alone makes sentences of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any

from reproaudit.audit.plan import PlannedArm
from reproaudit.checks import Condition, Limit
from reproaudit.declarations import Coordinate
from reproaudit.stats.binomial import Decision


class Outcome(StrEnum):
    """The conclusion on a claim."""

    SUPPORTED = "supported"
    PARTLY_SUPPORTED = "partly supported"
    NOT_SUPPORTED = "not supported"
    UNDECIDED = "undecided"
    NOT_TESTED = "not tested"
    FAILED = "failed"


DECIDED = (Outcome.SUPPORTED, Outcome.PARTLY_SUPPORTED, Outcome.NOT_SUPPORTED)


class Level(StrEnum):
    """How sure the evidence makes us, as GRADE words it."""

    HIGH = "high"
    MODERATE = "moderate"
    LOW = "low"
    VERY_LOW = "very low"


class Specificity(StrEnum):
    """What an ablation tells."""

    SPECIFIC = "specific"
    SMALLER = "smaller"
    NOT_SPECIFIC = "not specific"
    OPEN = "open"


class Status(StrEnum):
    """What one run says."""

    YES = "yes"
    NO = "no"
    VOID = "void"
    FAILED = "failed"
    UNPAIRED = "unpaired"


@dataclass(frozen=True)
class Note:
    """A reason, a clause or a phrase as data: its kind, and the values that its words need."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class History:
    """What happened before, as far as it bears on certainty.

    Whether the audit was committed when the first run began, the ids of claims of which a bound of
    ours was changed after results, and how many earlier results there are.
    """

    committed: bool = True
    changed: frozenset[str] = frozenset()
    earlier: int = 0


@dataclass(frozen=True)
class RunAnswer:
    """What one run says of some checks: yes, no, or why neither, and each condition in order."""

    seed: int
    status: Status
    conditions: tuple[Condition, ...] = ()
    diverged: bool = False


@dataclass(frozen=True)
class Estimate:
    """One condition over the runs of an arm.

    Attributes:
        condition: its name, noun, unit and bound, of a typical run.
        values: one for each run that has a number.
        decision: of a condition decided on the mean, its own; else None.
        mean: of such a condition, mean and interval.
    """

    condition: Condition
    values: tuple[float, ...]
    decision: Decision | None = None
    mean: tuple[float, float, float] | None = None

    @property
    def median(self) -> float | None:
        """The number of the typical run."""
        return median(self.values) if self.values else None

    @property
    def worst(self) -> float | None:
        """The number of the run farthest from meeting the bound."""
        return self.limit.worst(self.values) if self.values else None

    @property
    def limit(self) -> Limit:
        """The bound."""
        return self.condition.limit


@dataclass(frozen=True)
class ArmAnswer:
    """What the runs of one arm say of some checks, at one coordinate.

    Attributes:
        arm: which.
        runs: every distinct run, by seed.
        decision: met, missed or open, of all runs together.
        estimates: by condition.
        broken: whether crashed runs would change the decision.
        same: how many further runs were identical in every number.
        at: the graded coordinate, if there is one.
        trained: the median training loss at the start and at the end.
        weak: of a null, whether it neither misses the headline nor is beaten by the claim's
            contrasts, seed by seed: a contrast with nothing in it is a coin.
    """

    arm: PlannedArm
    runs: tuple[RunAnswer, ...]
    decision: Decision
    estimates: tuple[Estimate, ...] = ()
    broken: bool = False
    same: int = 0
    at: Coordinate | None = None
    trained: tuple[float, float] | None = None
    weak: bool = False

    @property
    def yes(self) -> int:
        """The number of runs that say yes."""
        return sum(one.status is Status.YES for one in self.runs)

    @property
    def n(self) -> int:
        """The number of runs that count."""
        return sum(one.status in (Status.YES, Status.NO, Status.FAILED) for one in self.runs)

    @property
    def valid(self) -> int:
        """The number of runs that say yes or no."""
        return sum(one.status in (Status.YES, Status.NO) for one in self.runs)

    @property
    def void(self) -> int:
        """The number of void runs."""
        return sum(one.status is Status.VOID for one in self.runs)


@dataclass(frozen=True)
class AblationAnswer:
    """What an ablation tells: whether the effect is specific to what it lacks.

    `effects` are the contrast's typical factor without and with it, where there is a contrast.
    """

    answer: ArmAnswer
    specificity: Specificity
    effects: tuple[float, float] | None = None


@dataclass(frozen=True)
class Alternative:
    """What the runs answer under another value of a guess.

    It flips if they answer otherwise (Fisher, one-sided, 5 %), and opens the answer if they cannot
    tell where the claim's own runs of that tier can; it is unfinished, and answers nothing, if
    training had not come half as far.
    """

    answer: ArmAnswer
    tier: str
    flips: bool
    unfinished: bool
    opens: bool = False


@dataclass(frozen=True)
class ClaimAnswer:
    """The conclusion on one claim, and all that it rests on.

    Attributes:
        id: the claim's.
        base: the headline's runs, at the primary coordinates together.
        outcome: the conclusion.
        level: how sure; None for what is not decided.
        reasons: why not surer, each a step down; why there is no outcome, where there is none.
        clauses: what else a reader must know, outcome unchanged.
        phrases: the weightiest first.
        grades: the headline at each coordinate, easiest first.
        support: the answer to each check beside the headline.
        notes: the answer to each stricter check of ours.
        readings: the headline under other sourced values.
        nulls: the headline of each null.
        ablations: what each tells.
        constructed: the headline of the constructed solution.
        alternatives: the headline under other guesses.
        cannot_fail: the headline conditions, by place, that no null misses.
    """

    id: str
    base: ArmAnswer
    outcome: Outcome = Outcome.UNDECIDED
    level: Level | None = None
    reasons: tuple[Note, ...] = ()
    clauses: tuple[Note, ...] = ()
    phrases: tuple[Note, ...] = ()
    grades: tuple[ArmAnswer, ...] = ()
    support: tuple[ArmAnswer, ...] = ()
    notes: tuple[ArmAnswer, ...] = ()
    readings: tuple[ArmAnswer, ...] = ()
    nulls: tuple[ArmAnswer, ...] = ()
    ablations: tuple[AblationAnswer, ...] = ()
    constructed: ArmAnswer | None = None
    alternatives: tuple[Alternative, ...] = ()
    cannot_fail: tuple[int, ...] = ()
