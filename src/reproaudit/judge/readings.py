"""What a reading of the paper, a set of settings, answers: its runs, held against its controls.

Example: a claim's own settings have the rate 0.1, another source states 0.01, and the width is a
guess, 32 or 64. `Panel.of` has the own settings as its `base`. If their runs say neither yes nor no
and those with 0.01 yes, `telling` returns the panel whose base is 0.01: these runs are shown first.
`under` an arm with width 64 returns the panel in which controls and references have that width,
too, where they ran with it; `reading` holds the arm against those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from reproaudit.audit.arms import OWN, PlannedArm, Role, alternatives_of, arms_of
from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.checks import Censored, Limit, Provenance, Side
from reproaudit.declarations import Coordinate
from reproaudit.formats.verdict import (
    AlternativeAnswer,
    Answer,
    ArmAnswer,
    ControlAnswer,
    Counted,
    Estimate,
    ReadingAnswer,
    RunAnswer,
    Status,
    Verdict,
)
from reproaudit.judge.arms import ArmAtLevel, arm_answer, ask
from reproaudit.judge.bundles import Bundles, Records
from reproaudit.judge.decisions import missing_runs
from reproaudit.records import CellStatus
from reproaudit.stats.binomial import FEWEST_RUNS, Decision, decide_count, fewer_yes

RARER = 0.05
"""The one-sided P value of Fisher's test at which a control says yes more rarely than the claim."""

FAR_ENOUGH = 0.5
"""The share of the claim's own fall of the training loss, on a log scale, that answers."""


@dataclass(frozen=True)
class Panel(Bundles):
    """A claim before its records: its arms, and the arm whose runs are shown as the claim's own.

    What was asked is kept, and shared with panels that have the same arms. `bounds` makes other
    bounds of those of ours; None keeps them.
    """

    base: PlannedArm
    asked: dict[object, ArmAtLevel] = field(default_factory=dict)
    panels: dict[str, Panel] = field(default_factory=dict)
    bounds: Callable[[Limit], Limit] | None = None

    @classmethod
    def of(cls, audit: Audit, claim: Claim, tier: TierName, records: Records) -> Panel:
        """Return the panel of a claim under its own settings."""
        arms = {arm.name: arm for arm in arms_of(audit, claim)}
        return cls(audit, claim, tier, arms, records, arms[OWN])

    def telling(self) -> Panel:
        """Return the panel with the reading that is shown as the claim's own.

        These are its own settings if they say yes, no or mixed, or if no reading brings the
        outcome; else the first reading that does. A yes does, and a no only where the own settings
        say nothing: what another side's choice refutes is not shown as this side's own.
        """
        own = self.reading(self.base)
        clear = {Answer.YES, Answer.MIXED}
        if not own.n or own.answer in (Answer.NO, Answer.BLIND, Answer.RULED_OUT):
            clear.add(Answer.NO)
        telling = (arm for arm in self.stated if self.reading(arm).answer in clear)
        ran = (arm for arm in self.stated if self.recorded(arm))
        return replace(self, base=next(telling, None) or next(ran, self.base))

    def with_bounds(self, change: Callable[[Limit], Limit]) -> Panel:
        """Return the panel where bounds of ours are others, such as by `Limit.relaxed`."""
        return replace(self, bounds=change)

    def under(self, arm: PlannedArm) -> Panel:
        """Return the panel whose other arms share a reading's or an alternative's settings.

        An arm that has not run under them stays as it is: the claim's own one counts. Measurements
        from elsewhere are not compared with those of an arm under other settings.
        """
        if arm == self.base and arm.role is Role.OWN:
            return self
        if arm.name not in self.panels:
            arms = {name: self._moved(other, arm) for name, other in self.arms.items()}
            asked = self.asked if arms == self.arms else {}
            self.panels[arm.name] = Panel(
                self.audit, self.claim, self.tier, arms, self.records, arm, asked
            )
        return replace(self.panels[arm.name], bounds=self.bounds)

    def _moved(self, other: PlannedArm, arm: PlannedArm) -> PlannedArm:
        """An arm under the settings of a reading or an alternative, where it is to count so."""
        stated = other.role in (Role.OWN, Role.READING)
        if stated or arm.role is Role.OWN or other.experiment != arm.experiment:
            return other
        there = other.under(arm)
        elsewhere = any(record.origin for record in self.recorded(other).values())
        is_compared = other.name in self._compared and elsewhere
        return there if is_compared or self.recorded(there) else other

    def having(self, role: Role) -> list[PlannedArm]:
        """Return the arms of a role."""
        return [arm for arm in self.arms.values() if arm.role is role]

    def other_readings(self) -> list[PlannedArm]:
        """Return the stated readings other than `base`.

        The claim's own settings come first, if they are not `base`. A reading that need not be run
        is among them only if it was.
        """
        readings = [
            reading
            for reading in self.having(Role.READING)
            if reading != self.base and not (reading.excused and not self.recorded(reading))
        ]
        if self.base.varied is None:
            return readings
        values = self.audit.values_of(self.claim.experiment, self.tier)
        first, *also = ((name, values[name]) for name, _ in (self.base.varied, *self.base.also))
        own = [replace(arm, varied=first, also=tuple(also)) for arm in self.having(Role.OWN)]
        return [*own, *readings]

    @property
    def stated(self) -> tuple[PlannedArm, ...]:
        """The readings that a source states, the one shown as the claim's own first."""
        return (self.base, *self.other_readings())

    def at(self, arm: PlannedArm, coordinate: Coordinate | None) -> ArmAtLevel:
        """Put the headline to an arm, at a graded coordinate, once."""
        key = arm.name, arm.varied, coordinate, self.bounds
        if key not in self.asked and self.bounds is None:
            self.asked[key] = ask(self, self.claim.headline, arm, coordinate)
        if key not in self.asked and self.bounds is not None:
            stated = replace(self, bounds=None).at(arm, coordinate)
            self.asked[key] = stated.with_bounds(self.bounds)
        return self.asked[key]

    def levels(self, arm: PlannedArm) -> list[ArmAtLevel]:
        """Put the headline to an arm, at each primary coordinate."""
        return [self.at(arm, level) for level in self.primary]

    def headline(self, arm: PlannedArm) -> ArmAnswer:
        """Put the headline to an arm, at the primary coordinates together."""
        return arm_answer(self.levels(arm), ArmAnswer)

    @property
    def primary(self) -> tuple[Coordinate | None, ...]:
        """The primary coordinates; of a claim without a grade, None alone."""
        grade = self.claim.grade
        return grade.primary if grade else (None,)

    # --- controls -----------------------------------------------------------------------------

    def controls(self) -> tuple[ControlAnswer, ...]:
        """Return every control at the primary coordinates together, the worst verdict of each."""
        own = self.levels(self.base)
        answers = []
        for control in map(self.levels, self.having(Role.CONTROL)):
            verdicts = map(self._verdict, own, control)
            worst = min(verdicts, key=_WORST_FIRST.index)
            answers.append(arm_answer(control, ControlAnswer, verdict=worst))
        return tuple(answers)

    def _verdict(self, own: ArmAtLevel, control: ArmAtLevel) -> Verdict:
        verdict = _verdict(own, control, self.claim)
        headline = self.claim.headline
        may_fail = verdict in (Verdict.FAILS, Verdict.OPEN)
        if may_fail and self.compares_with_itself(control.arm, headline):
            return Verdict.ITSELF
        return verdict

    # --- readings -----------------------------------------------------------------------------

    def reading(self, arm: PlannedArm, crashed: Status | None = None) -> ReadingAnswer:
        """Return what a reading answers at the primary coordinates.

        Args:
            arm: the reading.
            crashed: what its crashed runs are taken to say.
        """
        return self.under(arm)._own_answer(self.primary, crashed)

    def level(self, coordinate: Coordinate | None) -> ReadingAnswer:
        """Return what the panel's own reading answers at one coordinate."""
        return self._own_answer((coordinate,))

    def _own_answer(
        self, coordinates: Sequence[Coordinate | None], crashed: Status | None = None
    ) -> ReadingAnswer:
        """What the panel's own reading answers at some coordinates together."""
        levels = [self.at(self.base, coordinate) for coordinate in coordinates]
        if crashed is not None:
            levels = [level.supposing(crashed, (Status.CRASHED,)) for level in levels]
        answer, by = self._answer_of(levels)
        return arm_answer(levels, ReadingAnswer, answer=answer, by=by)

    def _answer_of(self, levels: Sequence[ArmAtLevel]) -> tuple[Answer, str]:
        """The answer at some coordinates together, and the arm that brings it about."""
        pairs = [self._answer(level) for level in levels]
        answer = _of_levels([answer for answer, _ in pairs])
        bringing = (by for given, by in pairs if given is answer)
        return answer, next(filter(None, bringing), "")

    def _answer(self, own: ArmAtLevel) -> tuple[Answer, str]:
        """The first answer that applies, and the arm that brings it about."""
        if own.unfinished or not own.runs:
            return Answer.UNFINISHED, ""
        if own.n >= FEWEST_RUNS and 2 * own.diverged > own.n and self.other_readings():
            return Answer.RULED_OUT, ""
        controls = [self.at(arm, own.at) for arm in self.having(Role.CONTROL)]
        verdicts = [self._verdict(own, control) for control in controls]
        # a control whose contrast is larger takes a yes away; it says nothing against a no
        larger = Verdict.LARGER if own.decision is Decision.MET else Verdict.PASSES
        for control, verdict in zip(controls, verdicts, strict=True):
            if verdict in (Verdict.PASSES, larger):
                return Answer.BLIND, control.arm.name
        for arm in self.having(Role.POSITIVE_CONTROL):
            if out_of_reach(self.at(arm, own.at), self.claim):
                return Answer.BLIND, arm.name
        if own.decision is Decision.MET:
            waiting = [
                control
                for control, verdict in zip(controls, verdicts, strict=True)
                if verdict is Verdict.OPEN
                and (self.claim.needs_control or (control.n and not control.lacks))
            ]
            if not waiting:
                return Answer.YES, ""
            least = min(waiting, key=lambda control: control.n)
            return (Answer.OPEN if least.n else Answer.UNFINISHED), least.arm.name
        if own.decision is Decision.OPEN or self.diverges(own.runs):
            return Answer.OPEN, ""
        if self.bounds is None and own.relaxed is not Decision.MISSED:
            return Answer.NEAR, ""
        reach = self._unknown_reach(own)
        return (Answer.OPEN if reach else Answer.NO), reach

    def _unknown_reach(self, own: ArmAtLevel) -> str:
        """The positive control of which every run diverged; '' if nothing hangs on one.

        Nobody knows then whether a bound can be met that is neither the paper's nor derived.
        """
        if not any(map(_needs_reach, own.estimates)):
            return ""
        built = [self.at(arm, own.at) for arm in self.having(Role.POSITIVE_CONTROL)]
        return next((arm.arm.name for arm in built if arm.n and arm.diverged == arm.n), "")

    @property
    def guesses(self) -> tuple[str, ...]:
        """The settings of the panel's own reading whose value nobody states."""
        settings = self.audit.settings_of(self.claim.experiment).items()
        varied = self.base.overrides
        return tuple(name for name, setting in settings if setting.guessed and name not in varied)

    @property
    def diverged_too(self) -> str:
        """The first control or compared arm of which every run diverged; '' if there is none."""
        roles = (Role.CONTROL, Role.POSITIVE_CONTROL, Role.COMPARED)
        for arm in self.arms.values():
            ends = {run.status for run in self.recorded(arm).runs.values()}
            if arm.role in roles and ends == {CellStatus.DIVERGED}:
                return arm.name
        return ""

    def diverges(self, runs: Sequence[RunAnswer]) -> bool:
        """Tell whether the panel's own runs say no since they diverged, not against the claim.

        Every run that says no diverged, and so did every run of a control or of an arm that is
        compared; or more than half of these runs did, under a value that is guessed.
        """
        no = [run.diverged for run in runs if run.status is Status.NO]
        mostly = 2 * sum(no) > len(no)
        return mostly and bool(self.guesses or (all(no) and self.diverged_too))

    def can_move(self, reading: PlannedArm) -> bool:
        """Tell whether a reading can move a number that the claim's checks read of its own runs.

        It cannot where each of these has a run with its seed under the reading, and all of its
        numbers are the same, bit for bit. Of what did not run nothing is known.
        """
        pairs = ((self, self.arms[OWN]), (self.under(reading), reading))
        own, other = (panel._every_number(arm) for panel, arm in pairs)
        seeds = {run.seed for run in other.runs}
        known = bool(own.estimates) and all(None not in e.values for e in own.estimates)
        paired = known and all(run.seed in seeds for run in own.runs)
        return not paired or _moves(own, other)

    def _every_number(self, arm: PlannedArm) -> ArmAnswer:
        """What an arm's runs say of the headline and of what is also said."""
        support = self.claim.support
        said = [ask(self, support, arm)] if support else []
        return arm_answer([*self.levels(arm), *said], ArmAnswer)

    def alternatives(
        self, records: Records, tier: TierName, expected: Answer
    ) -> list[AlternativeAnswer]:
        """Put the headline to every alternative that has runs, by the rule of a reading."""
        panel = Panel(
            self.audit, self.claim, tier, self.arms, records, self.arms[OWN], bounds=self.bounds
        )
        settings = self.audit.settings_of(self.claim.experiment)
        arms = [arm for arm in alternatives_of(self.audit, self.claim) if panel.recorded(arm)]
        if not arms:
            return []
        own = panel.reading(panel.base)
        answers = []
        for arm in arms:
            if arm.varied is None:
                continue
            there = panel.under(arm)
            levels = there.levels(arm)
            answer, by = there._answer_of(levels)
            if answer is not Answer.RULED_OUT and _too_early(own.trained, panel.trained(arm)):
                answer = Answer.UNFINISHED
                by = ""
            name, value = arm.varied
            answers.append(
                arm_answer(
                    levels,
                    AlternativeAnswer,
                    answer=answer,
                    by=by,
                    tier=tier,
                    credible=settings[name].is_credible(value),
                    counts=own.answer is expected,
                    own_yes=own.yes,
                    own_n=own.valid,
                    own_typical=tuple(estimate.median for estimate in own.estimates),
                    moves=any(map(_moves, panel.levels(panel.base), levels)),
                )
            )
        return answers


def _moves(own: Counted, other: Counted) -> bool:
    """Whether any number of an arm is another one than in the own run with the same seed."""
    places = {run.seed: place for place, run in enumerate(own.runs)}
    pairs = [
        (places[run.seed], place) for place, run in enumerate(other.runs) if run.seed in places
    ]
    return not pairs or any(
        [mine.values[here] for here, _ in pairs] != [theirs.values[there] for _, there in pairs]
        for mine, theirs in zip(own.estimates, other.estimates, strict=False)
    )


_WORST_FIRST = (Verdict.PASSES, Verdict.LARGER, Verdict.OPEN, Verdict.ITSELF, Verdict.FAILS)


def _verdict(own: ArmAtLevel, control: ArmAtLevel, claim: Claim) -> Verdict:
    if control.decision is Decision.MET:
        return Verdict.PASSES
    if _larger(own, control):
        return Verdict.LARGER
    fails = control.decision is Decision.MISSED or rarer(control, own) or _exceeds(own, control)
    return Verdict.FAILS if fails or _cannot_pass(control, claim) else Verdict.OPEN


def _cannot_pass(control: ArmAtLevel, claim: Claim) -> bool:
    """Whether no run of a control says yes, some are void, and the control would not pass by them.

    A run that crashed has shown nothing.
    """
    if not control.void or control.yes or control.crashed or missing_runs(control, claim):
        return False
    return control.supposing(Status.YES).decision is not Decision.MET


def rarer(few: Counted, many: Counted) -> bool:
    """Tell whether an arm says yes significantly more rarely than another, void runs as yes.

    One run alone does not tell.
    """
    most = few.yes + few.n - few.valid
    return bool(few.n > 1 and many.n) and fewer_yes(most, few.n, many.yes, many.n) <= RARER


def _larger(own: ArmAtLevel, control: ArmAtLevel) -> bool:
    """Whether the control says yes with a larger contrast in more than half of the paired runs."""
    yes = [run.status is Status.YES for run in control.runs]
    return any(
        2 * sum(yes[b] and _sizes(other, b)[0] > _sizes(mine, a)[1] for a, b in pairs) > len(pairs)
        for mine, other, pairs in _contrasts(own, control)
    )


def _exceeds(own: ArmAtLevel, control: ArmAtLevel) -> bool:
    """Whether more than half of all pairs would have the larger contrast in the claim's own run.

    At 95 % confidence, where every pair with a void run counts against it.
    """
    seeds = {run.seed for run in own.runs} & {run.seed for run in control.runs}
    for mine, other, pairs in _contrasts(own, control):
        larger = sum(_sizes(mine, a)[0] > _sizes(other, b)[1] for a, b in pairs)
        if len(seeds) >= FEWEST_RUNS and decide_count(larger, len(seeds)) is Decision.MET:
            return True
    return False


def _contrasts(
    own: ArmAtLevel, control: ArmAtLevel
) -> Iterator[tuple[Estimate, Estimate, list[tuple[int, int]]]]:
    """Yield each contrast of both, with the places of the runs of one seed that answered."""
    theirs = {run.seed: place for place, run in enumerate(control.runs) if run.answered}
    pairs = [
        (place, theirs[run.seed])
        for place, run in enumerate(own.runs)
        if run.answered and run.seed in theirs
    ]
    for mine, other in zip(own.estimates, control.estimates, strict=False):
        if mine.contrast:
            yield mine, other, pairs


def _sizes(estimate: Estimate, run: int) -> tuple[float, float]:
    """The least and the largest that a run's contrast may be, larger where it is met by more.

    The two differ where its number is only a limit; without a number it is without end. Nothing is
    known of a void one.
    """
    value = estimate.values[run]
    if estimate.holds[run] is None and estimate.side(run) is None:
        return -math.inf, math.inf
    if value is None:
        end = math.inf if estimate.holds[run] else -math.inf
        return end, end
    least = -math.inf if estimate.side(run) is Censored.AT_MOST else value
    most = math.inf if estimate.side(run) is Censored.AT_LEAST else value
    return (-most, -least) if estimate.limit.side in (Side.BELOW, Side.AT_MOST) else (least, most)


def out_of_reach(built: Counted, claim: Claim) -> tuple[int, ...]:
    """Return the places of bounds that a positive control misses, not the paper's nor derived."""
    return tuple(
        place
        for place, estimate in enumerate(built.estimates)
        if _needs_reach(estimate) and _misses(built, estimate, claim)
    )


def _needs_reach(estimate: Estimate) -> bool:
    """Whether what has to succeed must meet a bound: one that is not the paper's, nor derived."""
    return estimate.limit.origin not in (Provenance.PAPER, Provenance.DERIVED)


def _misses(built: Counted, estimate: Estimate, claim: Claim) -> bool:
    """Whether a positive control misses a bound, if every void run met it."""
    if estimate.decision is not None:
        return estimate.decision is Decision.MISSED
    no = estimate.holds.count(False) + built.diverged
    if claim.exact:
        return no > 0
    counted = decide_count(built.n - no, built.n, claim.share)
    return built.n >= FEWEST_RUNS and counted is Decision.MISSED


def _of_levels(answers: Sequence[Answer]) -> Answer:
    """The answer of a reading from those at its primary coordinates."""
    kinds = set(answers)
    if len(kinds) == 1:
        return answers[0]
    return Answer.MIXED if {Answer.YES, Answer.NO} <= kinds else Answer.OPEN


def _too_early(own: tuple[float, float] | None, arm: tuple[float, float] | None) -> bool:
    """Whether training has not come half as far as the claim's own, by the loss at both ends."""
    if own is None or arm is None or min(*own, *arm) <= 0:
        return False
    fall, theirs = (math.log(start / end) for start, end in (own, arm))
    return fall > 0 and theirs < FAR_ENOUGH * fall
