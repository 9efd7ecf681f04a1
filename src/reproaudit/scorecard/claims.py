"""A claim of the audit with its answer, and the words that pages have of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from reproaudit.audit.arms import OWN, Role, arms_of
from reproaudit.audit.model import Audit, TierName
from reproaudit.checks import Kind, Number
from reproaudit.declarations import Coordinate, Quantity, placement
from reproaudit.formats.numbers import at_words, listed, number
from reproaudit.formats.scorecard import Figure, Lines, Scorecard
from reproaudit.formats.verdict import (
    AblationAnswer,
    AlternativeAnswer,
    Answer,
    ArmAnswer,
    ClaimAnswer,
    Estimate,
    ReadingAnswer,
    Reason,
    Specificity,
    Varied,
    first_contrast,
)
from reproaudit.scorecard.words import (
    WITHOUT,
    Context,
    against,
    figure_of,
    places_of,
    run_number,
    typical_words,
    words,
)
from reproaudit.stats.binomial import share_interval


@dataclass(frozen=True, eq=False)
class ClaimText(Context):
    """A claim with its figure, if it has one, and the words that pages have of all that it says."""

    figure: Figure | None = None

    @property
    def name(self) -> str:
        """The claim's name within its paper."""
        return self.answer.name

    @property
    def base(self) -> ReadingAnswer:
        """The arm that decides."""
        return self.answer.base

    @property
    def symbol(self) -> str:
        """What a coordinate is called; '' of a claim without."""
        return self.claim.grade.symbol if self.claim.grade is not None else ""

    @property
    def share(self) -> tuple[float, float]:
        """The 90 % interval of the share of all runs that would say yes."""
        return share_interval(self.base.yes, self.base.n)

    # --- reasons and phrases ----------------------------------------------------------------------

    def why(self, reason: Reason) -> str:
        """Return a reason as a page says it."""
        return words(reason, self)

    @property
    def phrase(self) -> str:
        """The weightiest remark in at most eight words, of what no other column has; '' if none."""
        return next(self._phrases(), "")

    def _phrases(self) -> Iterator[str]:
        found = self.answer
        for other in found.otherwise:
            if other.varied is not None and other.credible:
                yield f"depends on {self.setting(other.varied.setting)}"
        for reading in found.readings:
            if found.changed_by(reading):
                holds = {Answer.YES: "holds", Answer.NO: "does not hold"}
                yield f"{holds.get(reading.answer, reading.answer)} with {self.arm(reading)}"
        for ablation in found.ablations:
            said = f"{WITHOUT[ablation.specificity]} {self.lacks(ablation)}"
            if ablation.specificity is Specificity.NOT_SPECIFIC:
                yield said
            elif ablation.specificity is Specificity.SMALLER:
                pair = self.effects(ablation)
                yield f"{said} ({pair})" if pair else said
        if self.elsewhere:
            yield self.elsewhere
        if self.base.role is Role.READING:
            yield f"run with {self.arm(self.base)}"

    @property
    def elsewhere(self) -> str:
        """Where the runs end that say no; '' if there are none, or the audit does not say."""
        other = self.base.n - self.base.yes
        if self.claim.elsewhere is None or not 0 < other < self.base.n:
            return ""
        return f"the other {other} {self.claim.elsewhere.says}"

    # --- the row's numbers ------------------------------------------------------------------------

    @cached_property
    def shown(self) -> Estimate | None:
        """The condition that the row shows."""
        return self.answer.leading

    @property
    def place(self) -> int | None:
        """Its place among those of the headline."""
        return None if self.shown is None else self.base.estimates.index(self.shown)

    @property
    def effect(self) -> str:
        """The typical and the worst run against the bound."""
        if self.shown is None:
            return "no numbers"
        return against(self._measured(self.shown, with_worst=True), self.shown, self.number)

    @property
    def typical(self) -> str:
        """The typical run alone."""
        return "no numbers" if self.shown is None else self._measured(self.shown, with_worst=False)

    @property
    def number(self) -> Number:
        """Which of its kind's numbers the row shows; there must be a condition."""
        if self.shown is None:
            raise ValueError(f"{self.answer.id} has no condition")
        return self.number_of(self.shown)

    def _measured(self, shown: Estimate, *, with_worst: bool) -> str:
        """The row's numbers; of a graded claim at the first and the last primary coordinate."""
        check = self.claim.headline[shown.check]
        noun, held = self.namer.compared(self.claim.experiment, check, shown.measurement)
        what = self.number_of(shown)
        levels = list(self._at_levels(shown))
        if not levels:
            return typical_words(shown, what, noun, held, with_worst=with_worst)
        ends = [
            f"{figure_of(one, what)} at {where}{at_words(at)}"
            f"{f', worst run {run_number(one, one.worst)}' if with_worst else ''}"
            for where, (at, one) in zip((f"{self.symbol} = ", ""), levels, strict=False)
        ]
        return f"{noun} {'; '.join(ends) if with_worst else listed(ends)}"

    def _at_levels(self, shown: Estimate) -> Iterator[tuple[Coordinate, Estimate]]:
        """Yield a condition at the first and the last primary coordinate where it has a number."""
        place = self.base.estimates.index(shown)
        found = [
            (grade.at, grade.estimates[place % len(grade.estimates)])
            for grade in self.answer.grades
            if grade.at is not None and self.is_primary(grade) and grade.estimates
        ]
        numbers = [(at, one) for at, one in found if one.median is not None]
        yield from numbers[:1]
        yield from numbers[1:][-1:]

    def noun_of(self, estimate: Estimate) -> str:
        """Return what a condition of the headline is of."""
        return self.named(estimate, self.claim.headline[estimate.check])[0]

    def said(self, estimate: Estimate) -> str:
        """Return a condition of the headline, its number against its bound."""
        named = self.named(estimate, self.claim.headline[estimate.check])
        what = self.number_of(estimate)
        return against(typical_words(estimate, what, *named), estimate, what)

    @property
    def checks(self) -> tuple[Kind, ...]:
        """Every check of the claim."""
        return (*self.claim.headline, *self.claim.support, *self.claim.notes)

    def named(self, estimate: Estimate, check: Kind) -> tuple[str, str]:
        """Return what a condition's number is of, and what it is held against.

        With its coordinates where others are of the same; where it is read in another arm, the arm
        is named.
        """
        noun, held = self.namer.compared(self.claim.experiment, check, estimate.measurement)
        if check.names_places:
            return noun, held
        read = _read_by(check, estimate.measurement)
        others = [_read_by(other, estimate.measurement) for other in self.checks]
        placed = check.sides is not None and len({one.measurement for one in check.sides}) == 1
        if read is not None and len([*filter(None, others)]) > 1 and not placed:
            places = self._places(check, read)
            noun += f" ({', '.join(places)})" if places else ""
        arms = {read.arm for read in check.quantities()}
        arm = next(iter(arms)) if len(arms) == 1 else None
        return f"{noun} with {self.namer.arm(arm)}" if arm is not None else noun, held

    def _places(self, check: Kind, read: Quantity) -> list[str]:
        """The coordinates at which a check reads a quantity, numbers with their axis: length 10."""
        arms = {arm.name: arm for arm in arms_of(self.audit, self.claim)}
        arm = arms.get(read.arm or OWN, arms[OWN])
        name = arm.reads.get(read.measurement, read.measurement)
        declared = self.audit.declaration(arm.experiment, name)
        values = arm.settings(self.audit, self.tier)
        axes = declared.axes if declared is not None else ()
        along = {axis.name: axis.coordinates(values) for axis in axes}
        fixed = placement(read, along, check.at).fixed
        return [
            at if isinstance(at, str) else f"{axis.replace('_', ' ')} {at_words(at)}"
            for axis, at in fixed.items()
        ]

    # --- arms -------------------------------------------------------------------------------------

    @property
    def own(self) -> str:
        """The setting with which the claim's own runs were made, if others read it otherwise."""
        if self.base.varied is not None:
            return self.arm(self.base)
        names = {
            reading.varied.setting for reading in self.answer.readings if reading.varied is not None
        }
        if len(names) != 1:
            return ""
        (name,) = names
        experiment = self.claim.experiment
        setting = self.audit.settings_of(experiment)[name]
        if setting.at(self.tier) != setting.value:
            return ""
        return self.namer.varied(experiment, Varied(setting=name, value=setting.value))

    @property
    def sets(self) -> list[str]:
        """The settings that the claim itself sets, each with its value."""
        experiment = self.claim.experiment
        varied = (Varied(setting=n, value=value) for n, value in self.claim.settings.items())
        return [self.namer.varied(experiment, one) for one in varied]

    @property
    def positive_control(self) -> ArmAnswer | None:
        """The positive control that ran; None of a claim that holds its runs against that one."""
        built = self.answer.positive_control
        compared = {read.arm for check in self.claim.headline for read in check.quantities()}
        return None if built is None or not built.n or built.name in compared else built

    @property
    def support(self) -> Iterator[tuple[str, ArmAnswer]]:
        """Yield what else the paper says, in words, and the answer."""
        return self._beside(self.claim.support, self.answer.support)

    @property
    def notes(self) -> Iterator[tuple[str, ArmAnswer]]:
        """Yield the stricter checks of ours, in words, and the answer."""
        return self._beside(self.claim.notes, self.answer.notes)

    def _beside(
        self, checks: Sequence[Kind], found: Sequence[ArmAnswer]
    ) -> Iterator[tuple[str, ArmAnswer]]:
        for check, one in zip(checks, found, strict=True):
            each = [
                typical_words(e, e.number_of(check), *self.named(e, check)) for e in one.estimates
            ]
            yield ", ".join(each) or check.name, one

    def lacks(self, ablation: AblationAnswer) -> str:
        """Return what an ablation lacks."""
        written = [(each.arm, each.lacks) for each in self.claim.ablations]
        named = {arm if isinstance(arm, str) else arm.name: lacks for arm, lacks in written}
        return named[ablation.name]

    def effects(self, arm: ArmAnswer) -> str:
        """Return an ablation's effect against the claim's; '' without a contrast."""
        contrast = first_contrast(self.base.estimates, arm.estimates)
        if contrast is None:
            return ""
        own, other = (number(median(estimate.numbers)) for estimate in contrast)
        return f"{other} against {own}"

    def where(self, arm: ArmAnswer) -> str:
        """Return where an arm ran that does not share the settings of the claim's runs."""
        written = [one for _, one in self.claim.arms() if not isinstance(one, str)]
        specs = {**self.audit.arms, **{one.name: one for one in written}}
        spec = specs.get(arm.name)
        experiment = None if spec is None else spec.experiment
        if experiment is None or experiment == self.claim.experiment:
            return "under other settings"
        return f"in: {self.audit.experiments[experiment].title}"

    def is_primary(self, arm: ArmAnswer) -> bool:
        """Tell whether an arm's coordinate decides."""
        grade = self.claim.grade
        return grade is None or arm.at is None or arm.at in grade.primary

    def is_smaller(self, arm: ArmAnswer) -> bool:
        """Tell whether an alternative ran at a lower tier than the page's."""
        return isinstance(arm, AlternativeAnswer) and arm.tier != self.tier

    def stated_value(self, reading: ArmAnswer) -> str:
        """Return a stated value with the places that state it: 20 pairs (code, card)."""
        varied = self._varied(reading)
        if varied is None:
            return "the settings as run"
        setting = self.audit.settings_of(self.claim.experiment)[varied.setting]
        stated = {other.value: other.source for other in setting.readings}
        source = setting.source
        if reading.varied is not None:
            source = stated.get(varied.value, source)
        return f"{self.varied_words(reading)} ({places_of(setting, varied.value, source)})"

    def varied_words(self, reading: ArmAnswer) -> str:
        """Return the value that a reading has of what readings vary, as a page calls it."""
        varied = self._varied(reading)
        if varied is None:
            return "the settings as run"
        setting = self.audit.settings_of(self.claim.experiment)[varied.setting]
        joint = (other.words for other in setting.readings if other.value == varied.value)
        words = next(joint, None) if reading.varied is not None else None
        return words or self.namer.varied(self.claim.experiment, varied)

    def _varied(self, reading: ArmAnswer) -> Varied | None:
        """The setting that a reading varies; of the own runs, the first that another one does."""
        if reading.varied is not None:
            return reading.varied
        others = [other.varied for other in self.answer.readings if other.varied is not None]
        if not others:
            return None
        setting = self.audit.settings_of(self.claim.experiment)[others[0].setting]
        return Varied(setting=others[0].setting, value=setting.at(self.tier))

    # --- the figure -------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """The quantity that the figure shows; '' without one."""
        if self.figure is None:
            return ""
        if any(line.role in ("earlier", "later") for line in self.figure.lines):
            return "share of its change that each has made"
        return self.namer.noun(self.claim.experiment, self.figure.measurement)

    @property
    def x_title(self) -> str:
        """What the figure's horizontal axis is."""
        return self.symbol if self.figure is not None and self.figure.graded else "training step"

    @property
    def stages(self) -> list[tuple[float, str]]:
        """Where each stage of training ends in the figure, and its name."""
        names = [stage.name for stage in self.audit.experiments[self.claim.experiment].stages]
        return [*zip(self.figure.stages if self.figure else (), names, strict=False)]

    def line(self, lines: Lines) -> str:
        """Return what a page calls the arm, or of two stages the quantity, that lines show."""
        check = None if self.shown is None else self.claim.headline[self.shown.check]
        changes = {} if check is None else check.drawing.changes
        change = next((one for role, one in changes.items() if role == lines.role), None)
        if change is None:
            return self.namer.arm(lines.arm)
        return self.namer.noun(self.claim.experiment, change.measurement)


def texts_of(
    audit: Audit,
    claims: Sequence[ClaimAnswer],
    tier: TierName,
    figures: Mapping[str, Figure] | None = None,
) -> tuple[ClaimText, ...]:
    """Return claims with what the audit says of them, our questions included."""
    by_id = {claim.id: claim for claim in audit.claims}
    drawn = figures or {}
    return tuple(
        ClaimText(audit, by_id[answer.id], answer, tier, drawn.get(answer.id)) for answer in claims
    )


def texts_in(card: Scorecard) -> tuple[ClaimText, ...]:
    """Return the claims of a scorecard with what the audit says of them."""
    return texts_of(card.audit, card.claims, card.scale, card.figures)


def claims_of(card: Scorecard) -> tuple[ClaimText, ...]:
    """Return the claims of a scorecard that the paper makes."""
    return tuple(text for text in texts_in(card) if not text.claim.ours)


def questions_of(card: Scorecard) -> tuple[ClaimText, ...]:
    """Return the questions of ours, which the paper does not raise."""
    return tuple(text for text in texts_in(card) if text.claim.ours)


def _read_by(check: Kind, measured: str) -> Quantity | None:
    """The quantity in which a check reads a measurement first; None if it does not."""
    return next(
        (quantity for quantity in check.quantities() if quantity.measurement == measured), None
    )
