"""The alternatives of the settings that a claim's experiment reads, with the result of each.

The multiverse runs and judges alternatives (`reproaudit.multiverse.ledger`), and hands each to the
judge as an `AlternativeRun`; nothing here looks at records. Only alternatives that were run at the
claim's own tier bear on its verdict. Those of a lower tier are shown beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reproaudit.audit.model import TIERS, Audit, Claim, TierName
from reproaudit.audit.rules.values import same, shown
from reproaudit.cell import SettingValue
from reproaudit.judging.evidence import is_guessed
from reproaudit.stats import Decision

WORDS = {Decision.MET: "supported", Decision.MISSED: "missed"}
"""The word for a claim under one value of a setting.

An alternative counts as met only if the claim's ablations miss under it.
"""


@dataclass(frozen=True)
class AlternativeRun:
    """A claim under one alternative, all else as audited.

    Attributes:
        setting: the name of the setting.
        value: the alternative, as the audit states it.
        tier: at which it was run.
        decision: missed; met, if the claim's ablations miss under the alternative too; undecided
            otherwise.
        flips: whether the decision is the opposite of the default's, and their difference is beyond
            seed noise (class *decisive* in `reproaudit.multiverse.effects`).
        note: the reason for the decision, or for its difference from the default's.
    """

    setting: str
    value: SettingValue
    tier: TierName
    decision: Decision
    flips: bool
    note: str


@dataclass(frozen=True)
class HangsOn:
    """A setting on which a verdict depends.

    Attributes:
        setting: its name.
        values: each value with the decision of the claim under it, the audit's own first.
        sentence: the same in words.
    """

    setting: str
    values: tuple[tuple[SettingValue, Decision], ...]
    sentence: str


@dataclass(frozen=True)
class LedgerRuns:
    """The alternatives of the settings that a claim reads, as far as they were run.

    Attributes:
        of: how many alternatives there are.
        here: those that were run at the claim's tier.
        lower: those that were run at a lower tier only.
        every_guess_varied: whether each guessed setting has alternatives, all of them run here.
        defaults: the audit's own value of each setting.
        told: alternatives of which a finding says that they flipped the claim at this tier, and
            that were not run here, in words.
        told_lower: the same of a lower tier, with its name.
    """

    of: int
    here: tuple[AlternativeRun, ...]
    lower: tuple[AlternativeRun, ...]
    every_guess_varied: bool
    defaults: dict[str, SettingValue]
    told: tuple[str, ...] = ()
    told_lower: tuple[str, ...] = ()

    @classmethod
    def of_claim(
        cls, audit: Audit, claim: Claim, tier: TierName, runs: Iterable[AlternativeRun] = ()
    ) -> LedgerRuns:
        """The runs of alternatives, for the settings that a claim's experiment reads."""
        settings = audit.settings_of(claim.experiment)
        open_ones = {name: s.others for name, s in settings.items() if s.underspecified}
        known = list(runs)
        here = tuple(one for one in known if one.tier == tier)

        def is_run(name: str, value: SettingValue) -> bool:
            return any(one.setting == name and same(one.value, value) for one in here)

        decisive = [
            effect
            for finding in audit.findings
            for effect in finding.effects
            if (effect.claim, effect.found) == (claim.id, "decisive")
            and not is_run(effect.setting.rpartition(".")[2], effect.value)
        ]
        guesses = [name for name, setting in settings.items() if is_guessed(setting)]
        return cls(
            of=sum(len(others) for others in open_ones.values()),
            here=here,
            lower=tuple(
                one for one in known if one.tier != tier and not is_run(one.setting, one.value)
            ),
            every_guess_varied=bool(guesses)
            and all(
                bool(open_ones.get(name)) and all(is_run(name, v) for v in open_ones[name])
                for name in guesses
            ),
            defaults={name: setting.value for name, setting in settings.items()},
            told=tuple(
                f"{effect.setting} = {shown(effect.value)}"
                for effect in decisive
                if effect.tier == tier
            ),
            told_lower=tuple(
                f"{effect.setting} = {shown(effect.value)} at the {effect.tier} tier"
                for effect in decisive
                if effect.tier in TIERS[: TIERS.index(tier)]
            ),
        )

    @property
    def all_missed(self) -> bool:
        """True if every alternative of every guessed setting was run here, and missed."""
        return self.every_guess_varied and all(r.decision is Decision.MISSED for r in self.here)

    def hangs_on(self, own: Decision | None) -> tuple[HangsOn, ...]:
        """The settings of which some value flips the claim's decision; none of an undecided one.

        A value that decides otherwise, but within seed noise, is not listed.
        """
        names = dict.fromkeys(r.setting for r in self.here if r.flips and r.decision != own)
        return tuple(self._hangs_on(name, own) for name in names if own in WORDS)

    def _hangs_on(self, name: str, own: Decision | None) -> HangsOn:
        assert own is not None, "an undecided claim hangs on nothing"
        values = [(self.defaults[name], own)]
        values += [
            (r.value, r.decision)
            for r in self.here
            if r.setting == name and (r.decision is own or r.flips)
        ]
        said = [
            f"{word} if {name} = {' or '.join(shown(v) for v, its in values if its is decision)}"
            for decision, word in WORDS.items()
        ]
        return HangsOn(name, tuple(values), "; ".join(said))

    def open_words(self, own: Decision | None) -> str:
        """The alternatives that were run here and settle nothing, by name; empty if none."""
        rest = [r for r in self.here if r.decision is not own and not r.flips]
        return named(rest)

    def counted(self) -> str:
        """``4 of 6 alternatives run``, and which others are known to flip the claim."""
        if not self.of:
            return "it reads no setting that is left open"
        said = f"{len(self.here)} of {self.of} alternatives run"
        if self.told:
            said += f"; not run again, though a finding says that it flips: {', '.join(self.told)}"
        if self.told_lower:
            flipping = ", ".join(self.told_lower)
            said += f"; not run here, though a finding says that it flips the claim: {flipping}"
        return said


def named(runs: Sequence[AlternativeRun]) -> str:
    """Alternatives with their decisions and notes, joined."""
    return "; ".join(f"{r.setting} = {shown(r.value)} ({r.decision.value}: {r.note})" for r in runs)
