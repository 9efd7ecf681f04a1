"""A claim of the audit with its answer, and the words that pages have of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from reproaudit.audit.arms import OWN, Role, arms_of
from reproaudit.audit.model import Audit, Claim, Reading, Setting, Source, TierName
from reproaudit.audit.plan import batch_of
from reproaudit.cell import SettingValue
from reproaudit.checks import Kind, Number
from reproaudit.declarations import Quantity, placement
from reproaudit.formats.names import Namer
from reproaudit.formats.numbers import at_words, listed, number
from reproaudit.formats.scorecard import Whose
from reproaudit.formats.verdict import (
    AlternativeAnswer,
    ArmAnswer,
    ClaimAnswer,
    Estimate,
    ReadingAnswer,
    Reason,
    Varied,
    first_contrast,
)

PLACES: Mapping[Source, str] = {
    Source.PAPER: "paper",
    Source.CARD: "card",
    Source.AUTHORS_CODE: "code",
    Source.REVIEWS: "reviews",
    Source.REPRODUCTION: "the literature",
    Source.DERIVED: "derived",
    Source.RECALLED: "from memory",
    Source.ASSUMPTION: "our guess",
}
"""Where a value is stated, in a bracket behind it, unless it is said who states it."""


def places_of(stated: Setting | Reading, value: SettingValue) -> str:
    """Return who states a value, and what agrees: paper, card; Zhang et al. 2022.

    What agrees with another value than the setting's own is listed where it has a name.

    Args:
        stated: a setting, or another stated value of one.
        value: the value as run; sources that agree are named where it is the one that they state.
    """
    agreeing = stated.also_at if value == stated.value else ()
    also = [one for one in agreeing if one.who or isinstance(stated, Setting)]
    own = "ours" if stated.ours and stated.source is Source.DERIVED else PLACES[stated.source]
    others = [one.who or PLACES[one.source] for one in also]
    return ", ".join(dict.fromkeys([stated.who or own, *others]))


def with_places(values: Sequence[tuple[str, str]]) -> str:
    """Return values in words, each with who states it; of several that one states, once."""
    places = dict.fromkeys(place for _, place in values)
    if len(places) == 1:
        return f"{listed([words for words, _ in values])} ({''.join(places)})"
    return listed([f"{words} ({place})" for words, place in values])


@dataclass(frozen=True, eq=False)
class ClaimText:
    """A claim of an audit with its answer, and what a page calls the things in it."""

    audit: Audit
    claim: Claim
    answer: ClaimAnswer
    tier: TierName

    @cached_property
    def namer(self) -> Namer:
        """The audit's names."""
        return Namer(self.audit)

    def setting(self, name: str) -> str:
        """Return what a page calls a setting."""
        return self.namer.setting(self.claim.experiment, name)

    def arm(self, answer: ArmAnswer) -> str:
        """Return what a page calls an arm."""
        if answer.varied is None:
            return self.namer.arm(answer.name)
        return self.namer.varied(self.claim.experiment, answer.varied)

    def noun(self, measurement: str) -> str:
        """Return what a page calls a measurement."""
        return self.namer.noun(self.claim.experiment, measurement)

    def number_of(self, estimate: Estimate) -> Number:
        """Return which of its kind's numbers a condition of the headline is on."""
        return estimate.number_of(self.claim.headline[estimate.check])

    def arm_of(self, reason: Reason) -> ArmAnswer:
        """Return the arm that a reason is about; the claim's own runs if it names none."""
        if not reason.arm:
            return self.answer.base
        return next(arm for arm in self.answer.arms() if arm.name == reason.arm)

    def estimate_of(self, reason: Reason) -> Estimate:
        """Return the condition that a reason is about."""
        return self.answer.base.estimates[reason.place]

    @property
    def name(self) -> str:
        """The claim's name within its paper."""
        return self.answer.name

    @property
    def whose(self) -> Whose:
        """Whose the claim is; ours is a question that the paper does not raise."""
        return "ours" if self.claim.ours else self.claim.whose

    @property
    def base(self) -> ReadingAnswer:
        """The arm that decides."""
        return self.answer.base

    @property
    def symbol(self) -> str:
        """What a coordinate is called; '' of a claim without."""
        return self.claim.grade.symbol if self.claim.grade is not None else ""

    @property
    def elsewhere(self) -> str:
        """Where the runs end that say no; '' if there are none, or the audit does not say."""
        other = self.base.n - self.base.yes
        if self.claim.elsewhere is None or not 0 < other < self.base.n:
            return ""
        return f"the other {other} {self.claim.elsewhere.says}"

    @cached_property
    def shown(self) -> Estimate | None:
        """The condition that the row shows."""
        return self.answer.leading

    def noun_of(self, estimate: Estimate) -> str:
        """Return what a condition of the headline is of."""
        return self.named(estimate, self.claim.headline[estimate.check])[0]

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
        placed = check.sides is not None and len({side.measurement for side in check.sides}) == 1
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

    @property
    def own(self) -> str:
        """The setting with which the claim's own runs were made, if others read it otherwise."""
        if self.base.varied is not None:
            return self.arm(self.base)
        others = [reading.varied for reading in self.answer.readings]
        names = {one.setting for other in filter(None, others) for one in other.every}
        if len(names) != 1:
            return ""
        (name,) = names
        setting = self.audit.settings_of(self.claim.experiment)[name]
        own = Varied(setting=name, value=setting.value)
        is_full = setting.at(self.tier) == setting.value
        return self.namer.varied(self.claim.experiment, own) if is_full else ""

    @property
    def sets(self) -> list[str]:
        """The settings that the claim itself sets, each with its value."""
        experiment = self.claim.experiment
        varied = (Varied(setting=n, value=value) for n, value in self.claim.settings.items())
        return [self.namer.varied(experiment, setting) for setting in varied]

    @cached_property
    def planned_seeds(self) -> Mapping[str, frozenset[int]]:
        """The seeds with which each arm is planned, by its name."""
        return {
            arm.name: frozenset(batch_of(self.audit, self.claim, arm, self.tier).seeds)
            for arm in arms_of(self.audit, self.claim)
        }

    def lacks(self, ablation: ArmAnswer) -> str:
        """Return what an arm without a part lacks."""
        written = [(each.arm, each.lacks) for each in self.claim.ablations]
        named = {arm if isinstance(arm, str) else arm.name: lacks for arm, lacks in written}
        return named[ablation.name]

    def without(self, check: Kind) -> str:
        """Return what a comparison with an ablation says: loss larger without stage II; or ''."""
        lower, upper = check.sides or (None, None)
        arms = self.namer.ablations
        if lower is None or upper is None:
            return ""
        if lower.arm in arms and not upper.arm:
            return f"{self.noun(upper.measurement)} smaller {arms[lower.arm]}"
        if upper.arm in arms and not lower.arm:
            return f"{self.noun(lower.measurement)} larger {arms[upper.arm]}"
        return ""

    def effects(self, arm: ArmAnswer) -> str:
        """Return an ablation's effect against the claim's; '' without a contrast."""
        contrast = first_contrast(self.base.estimates, arm.estimates)
        if contrast is None:
            return ""
        own, other = (number(median(estimate.numbers)) for estimate in contrast)
        return f"{other} against {own}"

    def where(self, arm: ArmAnswer) -> str:
        """Return where an arm ran that does not share the settings of the claim's runs."""
        written = [arm for _, arm in self.claim.arms() if not isinstance(arm, str)]
        specs = {**self.audit.arms, **{arm.name: arm for arm in written}}
        spec = specs.get(arm.name)
        experiment = None if spec is None else spec.experiment
        if experiment is None or experiment == self.claim.experiment:
            return "under other settings"
        return f"in: {self.audit.experiments[experiment].title}"

    def is_primary(self, arm: ArmAnswer) -> bool:
        """Tell whether an arm's coordinate decides."""
        grade = self.claim.grade
        return grade is None or arm.at is None or arm.at in grade.primary

    @property
    def is_reduced(self) -> bool:
        """Whether the claim itself sets a number lower than the paper states it."""
        shared = self.audit.settings
        own = self.claim.settings
        pairs = [
            (own[name], shared[name].value)
            for name in own
            if name in shared and shared[name].source in (Source.PAPER, Source.CARD)
        ]
        numbers = (int, float)
        return any(
            isinstance(value, numbers) and isinstance(stated, numbers) and value < stated
            for value, stated in pairs
        )

    def is_smaller(self, arm: ArmAnswer) -> bool:
        """Tell whether an alternative ran at a lower tier than the page's."""
        return isinstance(arm, AlternativeAnswer) and arm.tier != self.tier

    def stated_value(self, reading: ArmAnswer) -> str:
        """Return a stated value with the places that state it: 20 pairs (code, card)."""
        pairs = [
            (self._value_words(reading, one), places_of(self._stated(reading, one), one.value))
            for one in self._varied(reading)
        ]
        return with_places(pairs) if pairs else "the settings as run"

    def _stated(self, reading: ArmAnswer, one: Varied) -> Setting | Reading:
        """What states a reading's value of one setting."""
        setting = self.audit.settings_of(self.claim.experiment)[one.setting]
        others = {other.value: other for other in setting.readings}
        return setting if reading.varied is None else others.get(one.value, setting)

    def whose_values(self, reading: ArmAnswer) -> str:
        """Return whose values a reading has: Zhang et al. 2022's; '' of several or without a name.

        The paper has no name of its own: the paper's.
        """
        stated = [self._stated(reading, one) for one in self._varied(reading)]
        sides = {one.who or ("the paper" if one.source is Source.PAPER else "") for one in stated}
        return f"{sides.pop()}'s" if len(sides) == 1 and "" not in sides else ""

    def named_settings(self, reading: ArmAnswer) -> str:
        """Return what a page calls the settings that a reading varies."""
        return listed([self.setting(one.setting) for one in self._varied(reading)])

    def varied_words(self, reading: ArmAnswer) -> str:
        """Return the value that a reading has of what readings vary, as a page calls it."""
        words = [self._value_words(reading, one) for one in self._varied(reading)]
        return listed(words) or "the settings as run"

    def _value_words(self, reading: ArmAnswer, one: Varied) -> str:
        setting = self.audit.settings_of(self.claim.experiment)[one.setting]
        joint = (other.words for other in setting.readings if other.value == one.value)
        words = next(joint, None) if reading.varied is not None else None
        alone = Varied(setting=one.setting, value=one.value)
        return words or self.namer.varied(self.claim.experiment, alone)

    def _varied(self, reading: ArmAnswer) -> Sequence[Varied]:
        """What a reading varies; of the own runs, what the other side of the claim does.

        Without such a side, what the first other reading does.
        """
        if reading.varied is not None:
            return reading.varied.every
        sides = [side for side in self.answer.sides or () if side.role is Role.READING]
        others = [other.varied for other in (*sides, *self.answer.readings)]
        other = next(filter(None, others), None)
        if other is None:
            return ()
        settings = self.audit.settings_of(self.claim.experiment)
        return [
            Varied(setting=one.setting, value=settings[one.setting].at(self.tier))
            for one in other.every
        ]


def texts_of(audit: Audit, claims: Sequence[ClaimAnswer], tier: TierName) -> tuple[ClaimText, ...]:
    """Return claims with what the audit says of them, our questions included."""
    by_id = {claim.id: claim for claim in audit.claims}
    return tuple(ClaimText(audit, by_id[answer.id], answer, tier) for answer in claims)


def _read_by(check: Kind, measured: str) -> Quantity | None:
    """The quantity in which a check reads a measurement first; None if it does not."""
    return next(
        (quantity for quantity in check.quantities() if quantity.measurement == measured), None
    )
