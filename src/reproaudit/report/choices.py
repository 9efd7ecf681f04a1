"""Choices that the paper leaves open or that its sources read differently, and what they change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reproaudit.audit.model import Audit, Setting
from reproaudit.formats.numbers import listed, of
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import AlternativeAnswer, Answer, Outcome, ReadingAnswer
from reproaudit.scorecard.claims import ClaimText, texts_in
from reproaudit.scorecard.words import AT_REDUCED_SCALE, PLACES, SOURCES, Namer, value_words


def says_otherwise(claim: ClaimText, alternative: AlternativeAnswer) -> bool:
    """Tell whether a guess answers, and otherwise than the claim's own runs of its tier."""
    silent = (Answer.UNFINISHED, claim.answer.own.answer)
    same = (alternative.yes, alternative.n) == (alternative.own_yes, alternative.own_n)
    return alternative.counts and alternative.answer not in silent and not same


@dataclass(frozen=True)
class Choice:
    """A setting that somebody must choose.

    Attributes:
        setting: its name; `experiment.setting` for an experiment's own.
        said: which source states which value, or what is guessed.
        values: the values, each of a source with its place; of a guess the value as run first.
        answers: what becomes of the claims; empty if it was not varied.
        reading: whether sources back both values.
    """

    setting: str
    words: str
    said: str
    values: tuple[str, ...]
    answers: tuple[str, ...]
    changes: bool
    reading: bool

    @property
    def name(self) -> str:
        """What a page calls the choice; an experiment's own with the experiment."""
        experiment = self.setting.rpartition(".")[0].replace("_", " ")
        return f"{self.words} in {experiment}" if experiment else self.words


def choices_of(card: Scorecard) -> tuple[Choice, ...]:
    """Return every guess and reading of the judged experiments, those that change answers first."""
    claims = texts_in(card)
    namer = Namer(card.audit)
    found = []
    for experiment, name, setting in _open_settings(card.audit, claims):
        mine = [claim for claim in claims if experiment in (None, claim.claim.experiment)]
        arms = [(one, arm) for one in mine for arm in _varied(one, name)]
        lower = any(one.is_smaller(arm) for one, arm in arms)
        found.append(
            Choice(
                setting=name if experiment is None else f"{experiment}.{name}",
                words=namer.setting(experiment or mine[0].claim.experiment, name),
                said=_said(setting) + (AT_REDUCED_SCALE if lower else ""),
                values=tuple(_values(setting)),
                answers=tuple(_answers(arms, setting)),
                changes=any(_turns(one, arm) for one, arm in arms),
                reading=bool(setting.readings),
            )
        )
    return tuple(sorted(found, key=lambda one: (not one.changes, not one.reading, not one.answers)))


def _turns(claim: ClaimText, arm: ReadingAnswer) -> bool:
    """Whether an answer changes, or that of an open claim is clear."""
    if claim.answer.outcome is not Outcome.UNDECIDED or not isinstance(arm, AlternativeAnswer):
        return claim.answer.changed_by(arm)
    return arm.credible and arm.answer in (Answer.YES, Answer.NO) and says_otherwise(claim, arm)


MARKS: Mapping[Answer, str] = {
    Answer.YES: "✓",
    Answer.NEAR: "≈",
    Answer.OPEN: "?",
    Answer.MIXED: "◐",
    Answer.NO: "✗",
    Answer.BLIND: "○",
    Answer.RULED_OUT: "⊘",
    Answer.UNFINISHED: "–",
}
"""How a reading or an alternative answers, in a character."""


@dataclass(frozen=True)
class Grid:
    """What becomes of every claim under every value that was tried.

    Attributes:
        claims: the claims with what they answer as run, and under each value; '' where a value was
            not tried.
    """

    values: tuple[str, ...]
    claims: tuple[tuple[ClaimText, str, tuple[str, ...]], ...]


def grid_of(card: Scorecard) -> Grid:
    """Return the claims by the values that were tried, with the runs that say yes."""
    columns: dict[str, None] = {}
    found = []
    for claim in texts_in(card):
        arms = [one for one in (*claim.answer.readings, *claim.answer.alternatives) if one.n]
        said = {claim.arm(arm): f"{MARKS[arm.answer]} {arm.yes}/{arm.n}" for arm in arms}
        columns |= dict.fromkeys(said)
        if said:
            found.append((claim, said, _as_run(claim)))
    rows = (
        (claim, own, tuple(said.get(value, "") for value in columns)) for claim, said, own in found
    )
    return Grid(tuple(columns), tuple(rows))


def _as_run(claim: ClaimText) -> str:
    """The claim's own answer, and its count at the scale of alternatives, if that is smaller."""
    own = f"{MARKS[claim.base.answer]} {claim.base.yes}/{claim.base.n}"
    small = [
        alternative for alternative in claim.answer.alternatives if claim.is_smaller(alternative)
    ]
    return f"{own}, small {small[0].own_yes}/{small[0].own_n}" if small else own


def _open_settings(
    audit: Audit, claims: Sequence[ClaimText]
) -> Iterator[tuple[str | None, str, Setting]]:
    for name, setting in audit.settings.items():
        used = any(
            name
            not in {**audit.experiments[claim.claim.experiment].settings, **claim.claim.settings}
            for claim in claims
        )
        if setting.underspecified and used:
            yield None, name, setting
    for experiment in sorted({one.claim.experiment for one in claims}):
        mine = [one.claim for one in claims if one.claim.experiment == experiment]
        for name, setting in audit.experiments[experiment].settings.items():
            if setting.underspecified and any(name not in one.settings for one in mine):
                yield experiment, name, setting


def _said(setting: Setting) -> str:
    """Which source states which value: 1 in the code, 100 on the card; or what is guessed."""
    if not setting.readings:
        others = ", ".join(value_words(setting, one) for one in setting.others)
        also = f"; also {others}" if others else ""
        return f"{value_words(setting, setting.value)} (guessed){also}"
    stated = [(setting.value, setting.source), *((o.value, o.source) for o in setting.readings)]
    return ", ".join(f"{value_words(setting, value)} {SOURCES[source]}" for value, source in stated)


def _values(setting: Setting) -> Iterator[str]:
    if not setting.readings:
        yield from (value_words(setting, one) for one in (setting.value, *setting.others))
        return
    stated = [(setting.value, setting.source), *((o.value, o.source) for o in setting.readings)]
    yield from (f"{value_words(setting, value)} ({PLACES[source]})" for value, source in stated)


def _varied(claim: ClaimText, name: str) -> list[ReadingAnswer]:
    every = (*claim.answer.readings, *claim.answer.alternatives)
    return [one for one in every if one.varied is not None and one.varied.setting == name]


def _answers(arms: Sequence[tuple[ClaimText, ReadingAnswer]], setting: Setting) -> Iterator[str]:
    """For each value the claims whose answer changes with it, or that none does."""
    same: list[str] = []
    by_value: dict[str, list[tuple[ClaimText, ReadingAnswer]]] = {}
    for claim, arm in arms:
        if arm.varied is not None and arm.n:
            by_value.setdefault(value_words(setting, arm.varied.value), []).append((claim, arm))
    for value, pairs in by_value.items():
        turned = [
            f"{claim.name} {of(arm.yes, arm.n)} (as run {of(claim.base.yes, claim.base.n)})"
            for claim, arm in pairs
            if claim.answer.changed_by(arm)
        ]
        guesses = [(claim, arm) for claim, arm in pairs if isinstance(arm, AlternativeAnswer)]
        turned += [
            f"{claim.name} {arm.answer}, {of(arm.yes, arm.n)}"
            for claim, arm in guesses
            if not claim.answer.changed_by(arm) and says_otherwise(claim, arm)
        ]
        if turned:
            yield f"{value}: {', '.join(turned)}"
        elif open_ones := [arm for _, arm in guesses if arm.answer is Answer.UNFINISHED]:
            few = next((one for one in open_ones if one.unfinished), None)
            why = "training had not come half as far"
            if few is not None:
                why = f"too few runs tell, {of(few.yes, few.n)}"
            yield f"{value}: {why}"
        else:
            same.append(value)
    if same:
        yield f"{listed(same)}: no answer changes"
