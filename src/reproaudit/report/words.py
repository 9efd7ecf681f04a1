"""The one place where outcomes, reasons and phrases become words; an unknown one fails loudly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from reproaudit.audit.model import Audit, Setting, Source
from reproaudit.cell import SettingValue
from reproaudit.checks import Form, Kind, Names, Side
from reproaudit.judge import ClaimAnswer, Level, Note, Outcome, Specificity
from reproaudit.judge.model import Estimate
from reproaudit.report.numbers import (
    apart,
    at_words,
    counted,
    number,
    of,
    percent,
    setting_value,
    stated,
)
from reproaudit.stats.binomial import Decision


@dataclass(frozen=True)
class Shown:
    """How an outcome looks.

    Attributes:
        mark: one character.
        colour: the style of a terminal, and the name of a badge's colour.
        badge: the class of a page's badge.
        order: the place in a list, worst first.
        junit: passed, failure, error or skipped.
        means: the line of the legend.
    """

    mark: str
    colour: str
    badge: str
    order: int
    junit: str
    means: str


OUTCOMES: Mapping[Outcome, Shown] = {
    Outcome.SUPPORTED: Shown(
        "✓",
        "green",
        "good",
        5,
        "passed",
        "more than half of all runs would say yes, at 95 % confidence",
    ),
    Outcome.PARTLY_SUPPORTED: Shown(
        "◐",
        "yellow",
        "part",
        3,
        "passed",
        "a named part is not met, or it holds under one reading only",
    ),
    Outcome.NOT_SUPPORTED: Shown(
        "✗",
        "red",
        "bad",
        2,
        "failure",
        "more than half of all runs would say no, at 95 % confidence",
    ),
    Outcome.UNDECIDED: Shown(
        "?", "yellow", "none", 1, "skipped", "these runs cannot tell; more would"
    ),
    Outcome.NOT_TESTED: Shown(
        "–", "dim", "none absent", 4, "skipped", "a null passes too, or fewer than five runs ended"
    ),
    Outcome.FAILED: Shown(
        "!", "magenta", "fault", 0, "error", "a technical fault; the paper is not judged"
    ),
}


def look(outcome: str) -> Shown:
    """Return how an outcome looks, by its name."""
    return OUTCOMES[Outcome(outcome)]


SOURCES: Mapping[Source, str] = {
    Source.PAPER: "in the paper",
    Source.CARD: "on its card",
    Source.AUTHORS_CODE: "in the code",
    Source.REVIEWS: "in reviews",
    Source.REPRODUCTION: "in a reproduction",
    Source.DERIVED: "derived",
    Source.RECALLED: "from memory",
    Source.ASSUMPTION: "assumed",
}
"""Where a value is stated."""

DOTS: Mapping[Level, str] = {
    Level.HIGH: "●●●●",
    Level.MODERATE: "●●●○",
    Level.LOW: "●●○○",
    Level.VERY_LOW: "●○○○",
}


def value_words(setting: Setting, value: SettingValue) -> str:
    """Return what a page calls a value of a setting: its phrase, or the value."""
    text = setting_value(value)
    return setting.phrases.get(text.replace(" ", "_"), text)


class Namer:
    """Gives the names of an audit's settings, measurements and arms as pages say them."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def setting(self, experiment: str, name: str) -> str:
        """Return what a page calls a setting."""
        found = self._audit.settings_of(experiment).get(name)
        return found.words if found is not None and found.words else name.replace("_", " ")

    def varied(self, experiment: str, name: str, value: SettingValue) -> str:
        """Return what a page calls a setting at a value: pairs n = 10."""
        found = self._audit.settings_of(experiment).get(name)
        text = setting_value(value)
        called = text if found is None else value_words(found, value)
        return called if called != text else f"{self.setting(experiment, name)} {text}"

    def noun(self, experiment: str, name: str) -> str:
        """Return what a page calls a measurement."""
        found = self._audit.declaration(experiment, name)
        return found.noun if found is not None and found.noun else name.replace("_", " ")

    def compared(self, experiment: str, check: Kind, name: str) -> tuple[str, str]:
        """Return what a page calls a check's measurement, and what that is held against or ''."""
        return check.compared(name, Names(partial(self.noun, experiment), self.arm, at_words))

    def arm(self, name: str) -> str:
        """Return what a page calls an arm."""
        found = self._audit.arms.get(name)
        return found.words if found is not None and found.words else name.replace("_", " ")


# --- numbers against bounds ---------------------------------------------------------------------


def against(typical: str, one: Estimate) -> str:
    """Return a condition's runs, in words already, against its bound."""
    verb = "allowed" if one.limit.side in (Side.AT_MOST, Side.WITHIN) else "asked"
    return f"{typical}; {bound_of(one)} {verb}"


def bound_of(one: Estimate) -> str:
    """Return a condition's bound in words."""
    limit, asked = one.limit, one.condition.number.bound
    if limit.side is Side.WITHIN:
        if limit.relative:
            return f"within {percent(limit.at)} of {stated(limit.target)}"
        if limit.target == 0:
            return f"{stated(limit.at)} either way"
        return f"{number(limit.target, 3)} ± {stated(limit.at)}"
    if asked is not None:
        return asked
    at = percent(limit.at) if _in_percent(one) else stated(limit.at)
    return f"{limit.side} {at}" if limit.side in (Side.BELOW, Side.ABOVE) else at


def typical_words(one: Estimate, noun: str, reference: str = "", *, with_worst: bool = True) -> str:
    """Return a condition's typical run, and the worst if wanted, or its mean, in words.

    A reference is what the number is held against, where that is another quantity.
    """
    what = one.condition.number
    called = what.noun or noun
    if one.mean is not None:
        mean, low, high = (apart(value, one.limit.at, 3) for value in one.mean)
        interval = f" [{low}, {high}]" if with_worst else ""
        return f"{called} {mean} on average{interval}"
    if one.median is None or one.worst is None:
        return what.never.format(noun=noun)
    template, numbers = what.says, (one.median, one.worst)
    if what.inverse is not None and 0 < min(numbers) <= max(numbers) < 1:
        template, numbers = what.inverse, (1 / one.median, 1 / one.worst)
    typical, worst = (_written(one, value) for value in numbers)
    aside = f", worst run {worst}" if with_worst and typical != worst else ""
    return template.format(noun=called, typical=typical, worst=aside, reference=reference)


def figure_of(one: Estimate) -> str:
    """Return the typical run's number alone, in words; '' where there is none that says it."""
    if one.median is None or one.condition.number.bound is not None:
        return ""
    return _written(one, one.median)


_AFTER: Mapping[Form, str] = {Form.FACTOR: "", Form.FOLD: "-fold", Form.TIMES: " times"}
"""What follows a factor."""


def _written(one: Estimate, value: float) -> str:
    """A number in its form, with digits enough to differ from its bound."""
    form, level = one.condition.number.form, one.limit.level
    if _in_percent(one):
        return percent(value)
    if form is Form.ROUNDED:
        return number(value)
    if form in _AFTER:
        return f"{apart(value, level, 3 if abs(value - 1) < 0.1 else 2)}{_AFTER[form]}"
    return apart(value, level)


def _in_percent(one: Estimate) -> bool:
    form = one.condition.number.form
    return form is Form.PERCENT or (form is Form.SHARE and abs(one.limit.level) < 0.1)


def leading(found: ClaimAnswer) -> Estimate | None:
    """Return the condition that a row shows: what own runs miss, or a reading's, or a null's."""
    estimates = found.base.estimates
    missed = [one for one in estimates if not one.limit.met_by(one.median)]
    turned = [one.estimates for one in found.readings if one.decision is Decision.MISSED]
    read = [
        one
        for i, one in enumerate(estimates)
        if any(not other.limit.met_by(other.median) for them in turned for other in them[i : i + 1])
    ]
    telling = [one for i, one in enumerate(estimates) if i not in found.cannot_fail]
    return next(iter(missed or read or telling or estimates), None)


# --- reasons, clauses, phrases ------------------------------------------------------------------

Phrase = Callable[[Mapping[str, Any], "Context"], str]


@dataclass(frozen=True)
class Context:
    """What a note's words are made with.

    Attributes:
        namer: the audit's names.
        experiment: the claim's.
        symbol: of a graded claim, what a coordinate is called.
        tier: of the records.
    """

    namer: Namer
    experiment: str
    symbol: str = ""
    tier: str = "paper"

    def varied(self, pair: tuple[str, Any] | None) -> str:
        """Return a setting at its value."""
        if pair is None:
            return "the primary reading"
        return self.namer.varied(self.experiment, *pair)

    def noun(self, name: str) -> str:
        """Return what a page calls a measurement."""
        return self.namer.noun(self.experiment, name)


AT_REDUCED_SCALE = ", reduced scale"
"""What is said of an alternative of a lower tier than the page's."""

COMMON: Mapping[str, str] = {
    "guess not varied": "guesses that were not varied, listed under Unstated choices",
    "scale": "reduced scale",
    "runs": "the small number of runs",
}
"""A reason in words that fit every claim, for a page that says it once."""


def words(note: Note, context: Context) -> str:
    """Return a reason, a clause or a phrase as a page says it.

    Raises:
        KeyError: for a kind that has no words.
    """
    return _WORDS[note.kind](note.values, context)


def brief(note: Note) -> str:
    """Return the other bound of ours that changes an answer; '' for any other note."""
    if note.kind != "our bound":
        return ""
    return f"{stated(note.values['bound'])}, not {stated(note.values['stated'])}"


def _straddles(values: Mapping[str, Any], _context: Context) -> str:
    bound = "our bound" if values["ours"] else "the bound"
    ends = f"{apart(values['low'], values['bound'])} to {apart(values['high'], values['bound'])}"
    return f"runs lie on both sides of {bound} ({ends} against {stated(values['bound'])})"


def _ratio(values: Mapping[str, Any]) -> str:
    if values["effects"] is None:
        return ""
    without, with_ = values["effects"]
    return f" ({number(without)} against {number(with_)})"


WITHOUT: Mapping[Specificity, str] = {
    Specificity.SPECIFIC: "fails without",
    Specificity.SMALLER: "smaller without",
    Specificity.NOT_SPECIFIC: "holds also without",
    Specificity.OPEN: "open without",
}
"""What is left of a claim without a part of the mechanism."""

_HOLDS = {"met": "holds", "missed": "does not hold", "open": "open"}

_WORDS: Mapping[str, Phrase] = {
    # why there is no outcome
    "crashed": lambda v, _: f"{counted(v['runs'], 'run')} crashed, and the answer hangs on them",
    "smoke": lambda _v, _: "the smoke tier judges nothing",
    "null meets": lambda v, c: (
        f"the null ({c.namer.arm(v['null'])}) passes, too, in {of(v['yes'], v['n'])}"
    ),
    "out of reach": lambda v, c: (
        f"bound out of reach: the constructed solution misses {stated(v['bound'])}, too"
        f" ({c.noun(v['noun'])})"
    ),
    "null unfinished": lambda v, c: (
        f"the null lacks {counted(v['missing'], 'run')}: {c.namer.arm(v['null'])}"
    ),
    "too few": lambda v, _: f"{counted(v['missing'], 'run')} missing of the five that can decide",
    "few runs": lambda v, _: f"{of(v['yes'], v['n'])} decide neither way",
    "straddles": _straddles,
    # why not surer
    "scale": lambda v, _: f"reduced scale ({v['tier']})",
    "proxy": lambda v, _: f"other data or method: {v['proxy']}",
    "origin": lambda v, _: f"measured by {v['who']}, not by us",
    "indirect": lambda v, _: (
        "wording from memory" if v.get("recalled") else f"a stand-in for {v['stands_for']}"
    ),
    "reading not run": lambda v, c: f"not yet run: {c.varied(v['varied'])}",
    "reading open": lambda v, c: f"open with {c.varied(v['varied'])}, {of(v['yes'], v['n'])}",
    "guess flips": lambda v, c: f"{c.varied((v['setting'], v['value']))} changes the answer",
    "guess not varied": lambda v, c: (
        f"not varied: {c.namer.setting(c.experiment, v['settings'][0])}"
        if len(v["settings"]) == 1
        else f"{len(v['settings'])} guesses not varied"
    ),
    "runs": lambda v, _: (
        f"{of(v['n'] - v['disagree'], v['n'])} agree" if v["disagree"] else f"{v['n']} runs are few"
    ),
    "weak null": lambda v, c: f"weak null: {c.namer.arm(v['null'])}",
    "our bound": lambda v, _: (
        f"our bound at {stated(v['bound'])} instead of {stated(v['stated'])} changes the answer"
    ),
    "rule": lambda v, _: (
        "a bound was changed after results" if v["changed"] else "audit not committed before runs"
    ),
    # clauses
    "support missed": lambda v, _: f"supporting check {v['place'] + 1} is missed",
    "support open": lambda v, _: (
        f"supporting check {v['place'] + 1} is open, {of(v['yes'], v['n'])}"
    ),
    "reading met": lambda v, c: f"also with {c.varied(v['varied'])}, {of(v['yes'], v['n'])}",
    "reading missed": lambda v, c: f"not with {c.varied(v['varied'])}, {of(v['yes'], v['n'])}",
    "grade missed": lambda v, c: f"not at {c.symbol} = {at_words(v['at'])}, {of(v['yes'], v['n'])}",
    "grade open": lambda v, c: f"open at {c.symbol} = {at_words(v['at'])}, {of(v['yes'], v['n'])}",
    "same runs": lambda v, _: f"{counted(v['runs'], 'further run')} gave the same numbers",
    # phrases
    "depends on": lambda v, c: f"depends on {c.namer.setting(c.experiment, v['setting'])}",
    "under reading": lambda v, c: f"{_HOLDS[v['decision']]} with {c.varied(v['varied'])}",
    "given": lambda v, c: f"run with {c.varied(v['varied'])}",
    "elsewhere": lambda v, _: f"the other {v['runs']} {v['says']}",
    Specificity.NOT_SPECIFIC: lambda v, _: f"{WITHOUT[Specificity.NOT_SPECIFIC]} {v['lacks']}",
    Specificity.SMALLER: lambda v, _: f"{WITHOUT[Specificity.SMALLER]} {v['lacks']}{_ratio(v)}",
}
