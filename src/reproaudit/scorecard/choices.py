"""Choices that somebody had to make: what every claim answers under each other value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any

from reproaudit.audit.arms import readings_to_run
from reproaudit.audit.model import Audit, Reading, Setting, Source
from reproaudit.cell import SettingValue
from reproaudit.formats.names import Namer, value_words
from reproaudit.formats.numbers import counted, listed, of
from reproaudit.formats.scorecard import ChoiceEffect, ChoiceRow, TriedCell, TriedValue
from reproaudit.formats.verdict import AlternativeAnswer, Answer, ReadingAnswer
from reproaudit.scorecard.claims import PLACES, ClaimText, places_of, with_places
from reproaudit.scorecard.words import (
    answering_runs,
    called_of,
    ends_as,
    figure_of,
    figure_words,
    typical_words,
)
from reproaudit.stats.binomial import Decision

_Values = Mapping[str, SettingValue]
"""Values by setting: of one, or of several that change at once."""

_Turns = Sequence[tuple[ClaimText, ReadingAnswer]]
"""Claims, each with the arm that answers under some values."""


@dataclass(frozen=True)
class _Open:
    """A setting that somebody had to choose, or several at once, and the claims that rest on it.

    Attributes:
        experiment: of an experiment's own setting; None of a shared one.
        full_names: of each setting; `experiment.setting` for an experiment's own.
        settings: by name.
    """

    experiment: str | None
    full_names: tuple[str, ...]
    settings: Mapping[str, Setting]
    claims: Sequence[ClaimText]
    words: str

    @property
    def guess(self) -> bool:
        """Whether no source states another value."""
        return not all(setting.readings for setting in self.settings.values())

    @property
    def named(self) -> dict[str, Any]:
        """The fields of a published row that name what is chosen."""
        first, *also = self.full_names
        return {"setting": first, "words": self.words, **({"also": tuple(also)} if also else {})}

    @property
    def bare(self) -> str:
        """The value as run."""
        return listed([value_words(setting, setting.value) for setting in self.settings.values()])

    @property
    def own(self) -> str:
        """The value as run, with who states it."""
        return self.stated(self.settings)

    def stated(self, stated: Mapping[str, Setting | Reading]) -> str:
        """Return the values of the settings, or other stated ones, with who states them."""
        return with_places(
            [
                (value_words(self.settings[name], one.value), places_of(one, one.value))
                for name, one in stated.items()
            ]
        )

    @property
    def values(self) -> Iterator[tuple[_Values, str]]:
        """Yield every other value, or combination of values, with its words."""
        stated = [
            setting.readings if len(self.settings) == 1 else readings_to_run(setting)
            for setting in self.settings.values()
        ]
        for readings in product(*stated):
            named = dict(zip(self.settings, readings, strict=True))
            yield {name: reading.value for name, reading in named.items()}, self.stated(named)
        for name, setting in self.settings.items() if len(self.settings) == 1 else ():
            for value in setting.alternatives:
                yield {name: value}, value_words(setting, value)

    def is_credible(self, values: _Values) -> bool:
        """Tell whether these values are as credible as those that are run."""
        return all(self.settings[name].is_credible(value) for name, value in values.items())


def _open_settings(audit: Audit, claims: Sequence[ClaimText]) -> list[_Open]:
    """Every open setting; those of one name are told apart by their experiment."""
    found = [*_every_open_setting(audit, claims)]
    names = Counter(choice.words for choice in found)
    return [
        replace(choice, words=f"{choice.words} in {choice.experiment.replace('_', ' ')}")
        if choice.experiment is not None and names[choice.words] > 1
        else choice
        for choice in found
    ]


def _every_open_setting(audit: Audit, claims: Sequence[ClaimText]) -> Iterator[_Open]:
    namer = Namer(audit)
    declared: list[tuple[str | None, Mapping[str, Setting]]] = [(None, audit.settings)]
    declared += [
        (name, audit.experiments[name].settings)
        for name in sorted({claim.claim.experiment for claim in claims})
    ]
    for experiment, settings in declared:
        for name, setting in settings.items():
            using = [claim for claim in claims if _reads(audit, claim, experiment, name)]
            if setting.underspecified and using:
                words = namer.setting(using[0].claim.experiment, name)
                full_name = name if experiment is None else f"{experiment}.{name}"
                yield _Open(experiment, (full_name,), {name: setting}, using, words)
    yield from _open_together(audit, claims)


def _reads(audit: Audit, claim: ClaimText, experiment: str | None, name: str) -> bool:
    """Whether a claim's runs have an experiment's, or a shared, setting as the audit has it."""
    used = claim.claim.experiment
    is_shared = experiment is None and name not in audit.experiments[used].settings
    return name not in claim.claim.settings and (is_shared or used == experiment)


def _open_together(audit: Audit, claims: Sequence[ClaimText]) -> Iterator[_Open]:
    """Settings of which a claim asks for other stated values at once."""
    namer = Namer(audit)
    asked: dict[tuple[str, tuple[str, ...]], list[ClaimText]] = {}
    for claim in claims:
        for names in claim.claim.together:
            asked.setdefault((claim.claim.experiment, names), []).append(claim)
    for (experiment, names), using in asked.items():
        own = audit.experiments[experiment].settings
        settings = audit.settings_of(experiment)
        yield _Open(
            experiment if own.keys() & {*names} else None,
            tuple(f"{experiment}.{name}" if name in own else name for name in names),
            {name: settings[name] for name in names},
            using,
            listed([namer.setting(experiment, name) for name in names]),
        )


# --- what was tried -------------------------------------------------------------------------------


def tried_of(audit: Audit, claims: Sequence[ClaimText]) -> tuple[TriedValue, ...]:
    """Return every other value of every open setting, those that change an answer first."""
    tried = [
        _tried(choice, value, words)
        for choice in _open_settings(audit, claims)
        for value, words in choice.values
    ]
    return tuple(sorted(tried, key=lambda value: not any(cell.changes for cell in value.cells)))


def _tried(choice: _Open, values: _Values, words: str) -> TriedValue:
    pairs = [*_under(choice, values)]
    cells = [_cell(claim, arm) for claim, arm in pairs]
    return TriedValue(
        **choice.named,
        own=choice.own,
        value=words,
        guess=choice.guess,
        credible=choice.is_credible(values),
        small=any(claim.is_smaller(arm) for claim, arm in pairs),
        cells=tuple(cells),
        text=_outcome_words(cells, pairs),
    )


def _under(choice: _Open, values: _Values) -> Iterator[tuple[ClaimText, ReadingAnswer]]:
    """Each claim with what its runs answer under some values, where there are runs."""
    for claim in choice.claims:
        for arm in (*claim.answer.stated, *claim.answer.alternatives):
            varied = () if arm.varied is None else arm.varied.every
            if arm.n and {one.setting: one.value for one in varied} == values:
                yield claim, arm


def _beside(claim: ClaimText, arm: ReadingAnswer) -> ReadingAnswer:
    """The stated reading that an arm is held against: the claim's own; of that, the other."""
    own = claim.answer.own
    return claim.answer.base if arm is own else own


def _cell(claim: ClaimText, arm: ReadingAnswer) -> TriedCell:
    own = _beside(claim, arm)
    own_yes, own_n = answering_runs(own)
    yes, n = answering_runs(arm)
    settled = Answer.UNFINISHED not in (arm.answer, own.answer)
    moved = True
    counts = True
    if isinstance(arm, AlternativeAnswer):
        own_yes = arm.own_yes
        own_n = arm.own_n
        counts = arm.counts
        moved = arm.moves
    settled &= counts
    same = arm.answer is own.answer or (yes, n) == (own_yes, own_n)
    return TriedCell(
        claim=claim.answer.id,
        answer=arm.answer,
        yes=yes,
        n=n,
        own_answer=own.answer,
        own_yes=own_yes,
        own_n=own_n,
        changes=settled and not same,
        settled=settled,
        counts=counts,
        moved=moved,
    )


def _outcome_words(cells: Sequence[TriedCell], pairs: _Turns) -> str:
    """What becomes of the claims; that no answer changes only of those that were judged."""
    if not cells:
        return "not run"
    parts = [
        f"{claim.claim.short}: {of(cell.own_yes, cell.own_n)} → "
        f"{of(cell.yes, cell.n)}, {ends_as(arm) if arm.answer is Answer.NEAR else arm.answer}"
        for cell, (claim, arm) in zip(cells, pairs, strict=True)
        if cell.changes
    ]
    judged = [pair for pair in zip(cells, pairs, strict=True) if pair[0].settled]
    same = [(cell, claim) for cell, (claim, _) in judged if not cell.changes]
    moved = [cell for cell, _ in same if cell.moved]
    kept = sum(cell.answer is cell.own_answer for cell in moved)
    rest = "other " if parts else ""
    if kept:
        keep = "keeps its answer" if kept == 1 else "keep their answers"
        parts.append(f"{counted(kept, f'{rest}claim')} {keep}")
    parts += [
        f"{claim.name} keeps {of(cell.yes, cell.n)}: {cell.own_answer} → {cell.answer}"
        for cell, claim in same
        if cell.moved and cell.answer is not cell.own_answer
    ]
    if still := len(same) - len(moved):
        parts.append(f"{counted(still, 'claim')} {'keeps' if still == 1 else 'keep'} every number")
    other = [
        f"{claim.name} ({of(cell.own_yes, cell.own_n)} → {of(cell.yes, cell.n)})"
        for cell, (claim, _) in zip(cells, pairs, strict=True)
        if not cell.settled and not cell.counts
    ]
    if other:
        parts.append(f"not compared, since answers differ at this scale: {listed(other)}")
    if unsettled := len(cells) - len(judged) - len(other):
        parts.append(f"{counted(unsettled, 'claim')} not settled")
    return "; ".join(parts)


# --- what matters ---------------------------------------------------------------------------------


def choices_of(audit: Audit, claims: Sequence[ClaimText]) -> tuple[ChoiceRow, ...]:
    """Return the choices that change an answer; values that change the same ones stand together.

    Those that turn one stand first, then those that open one, that of the furthest fall first.
    What else such a value changes, if from and to no yes and no no, stands beside it.
    """
    rows: list[ChoiceRow] = []
    for choice in _open_settings(audit, claims):
        joined: dict[tuple[bool, object], list[tuple[str, _Turns]]] = {}
        for chosen, words in choice.values:
            under = [*_under(choice, chosen)]
            decisive = [pair for pair in under if turns_answer(*pair)]
            turns = [pair for pair in under if pair in decisive or _changes(*pair)]
            likely = choice.is_credible(chosen)
            alike = tuple((claim, arm.answer, arm.yes, arm.valid) for claim, arm in turns)
            if decisive:
                said = words if likely else f"{words} (less likely)"
                joined.setdefault((likely, alike), []).append((said, turns))
        rows += [_choice(choice, values, likely=key[0]) for key, values in joined.items()]
    return tuple(sorted(rows, key=_place))


def _place(row: ChoiceRow) -> tuple[bool, float, bool, bool]:
    """Where a row stands: what turns an answer first, then that of the furthest fall."""
    return not row.turns, 0.0 if row.turns else -row.fall, row.guess, row.small


def turns_answer(claim: ClaimText, arm: ReadingAnswer) -> bool:
    """Tell whether an answer changes under a value, from yes or no or to it."""
    own = _beside(claim, arm)
    answers = {arm.answer, own.answer}
    if answers == {Answer.NO, Answer.NEAR} and own.yes == arm.yes:
        return False
    is_clear = not answers.isdisjoint((Answer.YES, Answer.NO))
    if isinstance(arm, AlternativeAnswer):
        return is_clear and _changes(claim, arm)
    return is_clear and len(answers) > 1 and Answer.UNFINISHED not in answers


def _changes(claim: ClaimText, arm: ReadingAnswer) -> bool:
    """Tell whether a guess changes an answer, be it from a yes to what is open."""
    return isinstance(arm, AlternativeAnswer) and _cell(claim, arm).changes


def _figures(claim: ClaimText, arm: ReadingAnswer) -> tuple[tuple[str, str], str]:
    """The typical number under both values, of what one of them misses: alone, and in words.

    So 0.035 and 0.38, and distance 0.035 → 0.38; empty where there is none.
    """
    own = _beside(claim, arm).estimates
    if not arm.estimates:
        return ("", ""), ""
    met = [mine.met and other.met for mine, other in zip(own, arm.estimates, strict=False)]
    place = next((place for place, is_met in enumerate(met) if not is_met), 0)
    shown = arm.estimates[place]
    what = claim.number_of(shown)
    noun, held = claim.named(shown, claim.claim.headline[shown.check])
    here = figure_of(own[place], what) if place < len(own) else ""
    if isinstance(arm, AlternativeAnswer):
        typical = arm.own_typical[place] if place < len(arm.own_typical) else None
        here = "" if typical is None else figure_words(shown, what, typical)
    elif what.bound is not None:
        sides = [typical_words(side, what, noun, held) for side in (own[place], shown)]
        return ("", ""), " → ".join(sides)
    there = figure_of(shown, what)
    if not (here and there):
        return ("", ""), ""
    pair = f"{here} → {there}"
    said = what.says.format(noun=called_of(what, noun), typical=pair, worst="", reference=held)
    return (here, there), said


def _choice(choice: _Open, values: Sequence[tuple[str, _Turns]], *, likely: bool) -> ChoiceRow:
    """A row of the table: the value as run, of a guess without saying so, then another."""
    turns = values[0][1]
    small = any(claim.is_smaller(arm) for claim, arm in turns)
    stand_in = "stand-in" if all(claim.answer.proxy for claim, _ in turns) else "own"
    return ChoiceRow(
        **choice.named,
        value=choice.bare if choice.guess else choice.own,
        others=tuple(words for words, _ in values),
        guess=choice.guess,
        likely=likely,
        effects=tuple(_effect(claim, arm) for claim, arm in turns),
        scale="reduced" if small else stand_in,
        small=small,
    )


def _effect(claim: ClaimText, arm: ReadingAnswer) -> ChoiceEffect:
    cell = _cell(claim, arm)
    answers = (cell.own_answer, cell.answer)
    yes = (cell.own_yes, cell.yes)
    n = (cell.own_n, cell.n)
    numbers, both = _figures(claim, arm)
    own = of(yes[0], n[0])
    there = of(yes[1], n[1])
    counts = f"{yes[0] if n[0] == n[1] else own} → {there}"
    if arm.answer in (Answer.NEAR, Answer.OPEN):
        counts += f", {ends_as(arm)}"
    # A typical run tells nothing of those on the other side of the bound.
    on_both_sides = any(0 < k < of_all for k, of_all in zip(yes, n, strict=True))
    if on_both_sides or Answer.BLIND in answers:
        numbers = ("", "")
        both = ""
    if Answer.BLIND in answers:
        blind = [" (no evidence)" * (answer is Answer.BLIND) for answer in answers]
        counts = f"{own}{blind[0]} → {there}{blind[1]}"
    siblings = "".join(f"; the same with {words}" for words in siblings_of(claim, arm))
    text = ", ".join(filter(None, (f"{claim.claim.short}: {counts}", both)))
    return ChoiceEffect(
        claim=claim.answer.id,
        title=claim.claim.short,
        answers=answers,
        yes=yes,
        n=n,
        numbers=numbers,
        counts=counts,
        also=siblings,
        text=f"{text}{siblings}",
    )


def siblings_of(claim: ClaimText, arm: ReadingAnswer) -> list[str]:
    """Return other guesses under which as few runs say yes, so that this one decides nothing alone.

    Those that answer as the claim's own runs do are none. If half of the training fails as well,
    the reason is how long training lasts.
    """
    if not isinstance(arm, AlternativeAnswer) or arm.decision is not Decision.MISSED:
        return []
    undecided = (Answer.NEAR, Answer.UNFINISHED)
    return [
        claim.arm(other) + (f" ({ends_as(other)})" if other.answer in undecided else "")
        for other in claim.answer.alternatives
        if other.varied is not None
        and arm.varied is not None
        and other.varied.setting != arm.varied.setting
        and other.counts
        and not turns_answer(claim, other)
        and other.answer is not _cell(claim, other).own_answer
        and (other.decision, other.yes, other.valid) == (arm.decision, arm.yes, arm.valid)
    ]


def joined(
    rows: Sequence[ChoiceRow], short: int = 0, clauses: Mapping[str, str] = MappingProxyType({})
) -> tuple[ChoiceRow, ...]:
    """Return a table's rows, guesses that turn the same answers alike in one.

    Args:
        rows: a row for each choice.
        short: what is left out: 1 for the nouns of numbers, 2 for all but k of n.
        clauses: what claims are called, by id, where not by their whole clause.
    """
    alike: dict[object, list[ChoiceRow]] = {}
    for row in sorted(rows, key=_place):
        turned = tuple((each.claim, each.yes, each.n, each.answers) for each in row.effects)
        key = (row.likely, turned) if row.guess else row.setting + row.value
        alike.setdefault(key, []).append(row)
    return tuple(_joined(same, short, clauses) for same in alike.values())


def _joined(same: Sequence[ChoiceRow], short: int, clauses: Mapping[str, str]) -> ChoiceRow:
    first = same[0]
    alone = len(same) == 1
    effects = tuple(_shortened(effect, short, clauses, alone=alone) for effect in first.effects)
    names = dict.fromkeys(row.words for row in same)
    own = ", ".join(dict.fromkeys(row.value for row in same))
    update = {
        "words": " or ".join(names),
        "value": f"{own} ({PLACES[Source.ASSUMPTION]})" if first.guess else own,
        "others": tuple(
            f"{row.words} {value}" if not alone and value[:1].isdigit() else value
            for row in same
            for value in row.others
        ),
        "effects": effects,
    }
    return first.model_copy(update=update)


def _shortened(
    effect: ChoiceEffect, short: int, clauses: Mapping[str, str], *, alone: bool
) -> ChoiceEffect:
    """An effect with its number without a noun, or k of n alone, its claim by part of its clause.

    The claim's line has all of it, the table of all choices other guesses that fail as well.
    """
    if short == 0 and alone:
        return effect
    here, there = effect.numbers
    figures = f" ({here} → {there})" if here and alone else ""
    aside = f"{figures}{effect.also}" if short < 2 else ""
    text = f"{clauses.get(effect.claim, effect.title)}: {effect.counts}{aside}"
    return effect.model_copy(update={"text": text})
