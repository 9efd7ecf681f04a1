"""Words for outcomes, numbers and reasons; one that has no word fails loudly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reproaudit.audit.arms import OWN
from reproaudit.checks import Form, Number, Provenance, Side, Void
from reproaudit.formats.numbers import (
    apart,
    at_words,
    counted,
    listed,
    maker_words,
    number,
    of,
    percent,
    several,
    stated,
)
from reproaudit.formats.verdict import (
    Answer,
    ArmAnswer,
    Estimate,
    NotAlike,
    ReadingAnswer,
    Reason,
    ReasonKind,
    Specificity,
    Unlike,
)
from reproaudit.scorecard.claims import ClaimText
from reproaudit.stats.binomial import Decision

# --- numbers against bounds ---------------------------------------------------------------------


def bound_of(estimate: Estimate, what: Number) -> str:
    """Return a condition's bound in words."""
    limit = estimate.limit
    asked = what.bound
    if limit.side is Side.WITHIN:
        if limit.relative and limit.at < 0.001:  # a factor would print as 1
            return f"within {stated(100 * limit.at)} % of {stated(limit.target)}"
        if limit.relative:
            return f"within a factor of {stated(1 + limit.at)} of {stated(limit.target)}"
        if limit.target == 0:
            return f"{stated(limit.at)} either way"
        return f"{number(limit.target, 3)} ± {stated(limit.at)}"
    if asked is not None:
        return asked
    if limit.margin is not None and (limit.target or limit.relative):  # on the side that counts
        larger = ("+", "times") if limit.side is Side.AT_MOST else ("−", "over")
        margin = stated(limit.margin + limit.relative)
        return f"{stated(limit.target)} {larger[limit.relative]} {margin}"
    at = stated(limit.at)
    if _in_percent(estimate, what):
        at = f"{stated(100 * limit.at)} %"
    elif what.form is Form.FOLD:
        at += _AFTER[Form.FOLD]
    return f"{limit.side} {at}" if limit.side in (Side.BELOW, Side.ABOVE) else at


def typical_words(
    estimate: Estimate, what: Number, noun: str, reference: str = "", *, with_worst: bool = True
) -> str:
    """Return a condition's typical run, and the worst if wanted, or its mean, in words.

    Runs that miss a bound which the typical one meets are named in any case.

    Args:
        what: which of its kind's numbers it is on.
        noun: what the number is of; '' to leave it out.
        reference: what it is held against, where that is another quantity.
        with_worst: whether the worst run is named where it meets the bound, too.
    """
    called = called_of(what, noun)
    if estimate.mean is not None:
        mean, low, high = (apart(value, estimate.limit.at, 3) for value in estimate.mean)
        n = len(estimate.values)
        some = f" of {of(n - estimate.apart, n)}" if estimate.apart else ""
        return f"{called} {mean} on average{some} [{low}, {high}]".lstrip()
    if estimate.median is None or estimate.worst is None:
        return what.never.format(noun=noun)
    template = what.says
    typical = estimate.median
    worst = estimate.worst
    far = far_of(estimate)
    if what.inverse is not None and 0 < min(typical, worst) <= max(typical, worst) < 1:
        template = what.inverse
        typical = 1 / typical
        worst = 1 / worst
        far = tuple(1 / number for number in far)
    usual, last = (figure_words(estimate, what, value) for value in (typical, worst))
    aside = f", worst run {last}" if with_worst and usual != last else ""
    if far:
        numbers = several([figure_words(estimate, what, number) for number in far], MOST_FAR)
        aside = f", but {numbers} in {of(len(far), _read(estimate))}"
    aside = f"{_beyond(estimate, what)}{aside}{_without_number(estimate)}"
    return template.format(noun=called, typical=usual, worst=aside, reference=reference).lstrip()


def called_of(what: Number, noun: str) -> str:
    """Return what a number is called: test loss: exponent; without a noun exponent."""
    return ": ".join(filter(None, (noun, what.noun)))


MOST_FAR = 4
"""The most runs far off whose numbers are written; more are counted."""


def far_of(estimate: Estimate) -> tuple[float, ...]:
    """Return the numbers that miss a bound which the typical run meets, the farthest first."""
    if estimate.median is None or not estimate.limit.met_by(estimate.median):
        return ()
    pairs = zip(estimate.values, estimate.holds, strict=True)
    far = [value for value, holds in pairs if value is not None and holds is False]
    far = [value for value in far if not estimate.limit.met_by(value)]
    return tuple(sorted(far, key=estimate.limit.distance, reverse=True))


NOTED_BEYOND = 0.01
"""How far a number must lie beyond what it should not exceed for a page to say so."""


def _beyond(estimate: Estimate, what: Number) -> str:
    """In how many runs a number lies beyond what it should not exceed; '' if in none."""
    beyond = sum(value > 1 + NOTED_BEYOND for value in estimate.numbers)
    if what.beyond is None or not beyond:
        return ""
    return f", beyond {what.beyond} in {of(beyond, len(estimate.numbers))}"


def _without_number(estimate: Estimate) -> str:
    """How many runs that say yes or no have no number, and so no part in what is typical."""
    pairs = zip(estimate.values, estimate.holds, strict=True)
    without = sum(value is None and holds is not None for value, holds in pairs)
    return f", none in {of(without, _read(estimate))}" if without else ""


def _read(estimate: Estimate) -> int:
    return sum(holds is not None for holds in estimate.holds)


def asked(estimate: Estimate, what: Number) -> str:
    """Return a condition's bound with whose it is: we allow 0.1; above 1 asked."""
    verb = "allow" if estimate.limit.side in (Side.AT_MOST, Side.WITHIN) else "ask"
    if estimate.limit.origin is Provenance.OURS:
        return f"we {verb} {bound_of(estimate, what)}"
    return f"{bound_of(estimate, what)} {'allowed' if verb == 'allow' else 'asked'}"


def figure_of(estimate: Estimate, what: Number) -> str:
    """Return the typical run's number alone, in words; '' where there is none that says it."""
    if estimate.median is None or what.bound is not None:
        return ""
    return figure_words(estimate, what, estimate.median)


_AFTER: Mapping[Form, str] = {Form.FACTOR: "", Form.FOLD: "-fold", Form.TIMES: " times"}
"""What follows a factor."""


def figure_words(estimate: Estimate, what: Number, value: float) -> str:
    """Return a run's number in its form, with digits enough to differ from its bound.

    Where a limit alone is known: at least 3.
    """
    known = estimate.known(value)
    in_form = _in_form(estimate, what, value)
    return in_form if known is None else f"{known} {in_form}"


def _in_form(estimate: Estimate, what: Number, value: float) -> str:
    form = what.form
    level = estimate.limit.level
    if _in_percent(estimate, what):
        return f"{apart(100 * value, 100 * level)} %"
    if form is Form.ROUNDED:
        return number(value)
    if form in _AFTER:
        return f"{apart(value, level, 3 if abs(value - 1) < 0.1 else 2)}{_AFTER[form]}"
    return apart(value, level)


def _in_percent(estimate: Estimate, what: Number) -> bool:
    form = what.form
    return form is Form.PERCENT or (form is Form.SHARE and abs(estimate.limit.level) < 0.1)


# --- counts ---------------------------------------------------------------------------------------


def answering_runs(arm: ArmAnswer) -> tuple[int, int]:
    """Return how many runs of an arm meet every condition, and how many can be read at all.

    Where a mean decides, a run that lies outside counts as one that does not meet it.
    """
    if all(estimate.mean is None for estimate in arm.estimates):
        return arm.yes, arm.valid
    inside = zip(*(estimate.holds for estimate in arm.estimates), strict=True)
    return sum(all(run) for run in inside), arm.valid


def count_words(arm: ArmAnswer, share: str = "") -> str:
    """Return how many runs say yes of those that can be read, with their share; others apart."""
    unread = arm.void + arm.crashed
    if not arm.n:
        return "not run"
    if not arm.valid:
        return f"none of {arm.n} can be read"
    more = f"; in {unread} more it cannot be read" if unread else ""
    return f"{of(*answering_runs(arm))}{share}{more}"


# --- reasons ------------------------------------------------------------------------------------


MISSES = "misses our bound"
"""What is said of an answer that a relaxed bound of ours would turn or open."""

_TWICE: Mapping[Decision, str] = {
    Decision.MET: "within twice it",
    Decision.OPEN: "open at twice it",
}
"""What becomes of it where that bound is twice as wide."""

_ENDS: Mapping[Answer, str] = {
    Answer.YES: "holds",
    Answer.NO: "not",
    Answer.OPEN: "open",
    Answer.BLIND: "no evidence",
    Answer.RULED_OUT: "diverges",
    Answer.MIXED: "in part",
    Answer.UNFINISHED: "unfinished",
}


def ends_as(arm: ReadingAnswer, *, briefly: bool = False) -> str:
    """Return how a claim ends under a value or at a coordinate; briefly in a word."""
    if arm.answer is not Answer.NEAR:
        return _ENDS[arm.answer]
    return MISSES if briefly else f"{MISSES} ({_TWICE[arm.relaxed]})"


WITHOUT: Mapping[Specificity, str] = {
    Specificity.DIVERGES: "diverges without",
    Specificity.SPECIFIC: "fails without",
    Specificity.SMALLER: "smaller without",
    Specificity.NOT_SPECIFIC: "holds also without",
    Specificity.OPEN: "open without",
}
"""What is left of a claim without a part of the mechanism."""


def words(reason: Reason, context: ClaimText) -> str:
    """Return a reason as a page says it; a KeyError for a kind that has no words."""
    said = _WORDS[reason.kind]
    if not isinstance(said, str):
        return said(reason, context)
    arm = context.arm_of(reason)
    return said.format(
        arm=context.arm(arm),
        count=count_words(arm),
        runs=counted(reason.runs, "run"),
        what=reason.what,
        noun=context.noun(reason.what),
        settings=listed([context.setting(name) for name in reason.settings]),
        tier=context.tier,
    )


def _no_control(_reason: Reason, context: ClaimText) -> str:
    lacking = "none was run" if context.claim.nulls else "none is named"
    return f"no control: {context.claim.no_control or lacking}"


def _few_runs(_reason: Reason, context: ClaimText) -> str:
    base = context.answer.base
    return f"{of(base.diverged, base.n)} diverged" if base.diverged else "too few runs to tell"


def _apart_words(base: ArmAnswer) -> str:
    """The runs that have no number against a bound, as what follows a comma; '' without any."""
    counts = ((base.diverged, "diverged"), (base.void, "void"), (base.crashed, "crashed"))
    return "".join(f", {count} {how}" for count, how in counts if count)


def _bound_words(estimate: Estimate) -> str:
    what = "margin" if estimate.limit.side is Side.WITHIN else "bound"
    return f"{'our' if estimate.limit.origin is Provenance.OURS else 'the'} {what}"


def _sides_words(estimate: Estimate, joins: str) -> str:
    """Both sides of a bound, joined by and or or."""
    if estimate.limit.side is Side.WITHIN:
        return f"within {_bound_words(estimate)} {joins} beyond it"
    return f"on {'both sides' if joins == 'and' else 'either side'} of {_bound_words(estimate)}"


def _open(reason: Reason, context: ClaimText) -> str:
    return open_words(context.estimate_of(reason), _apart_words(context.answer.base))


def open_words(estimate: Estimate, apart_runs: str = "") -> str:
    """Return why a condition is open: groups alike, a mean about its bound, runs on both sides."""
    if estimate.groups is not None:
        own, others = estimate.groups
        return f"the order of {len(own)} and {len(others)} runs does not tell the groups apart"
    if estimate.decision is Decision.OPEN:
        return _open_mean(estimate)
    pairs = zip(estimate.values, estimate.holds, strict=True)
    decide = [value for value, holds in pairs if holds is not None]
    numbers = [value for value in decide if value is not None]
    none = len(decide) - len(numbers)
    aside = f"{f', {none} without a number' if none else ''}{apart_runs}"
    if not numbers:
        return f"{estimate.holds.count(True)} runs meet {_bound_words(estimate)}{aside}"
    ends = (min(numbers), max(numbers))
    return f"runs lie {_sides_words(estimate, 'and')} ({_range_words(estimate, ends)}{aside})"


def _range_words(estimate: Estimate, ends: tuple[float, float]) -> str:
    """A range against a bound: 0.86 to 1.1 against 1; of a margin against its two ends."""
    limit = estimate.limit
    low, high = (apart(end, limit.level) for end in ends)
    bounds = limit.accepted if limit.side is Side.WITHIN else (limit.at,)
    return f"{low} to {high} against {' to '.join(stated(bound) for bound in bounds)}"


def _open_mean(estimate: Estimate) -> str:
    """The interval of a mean, and the bound that lies in it."""
    if len(estimate.values) < 2:
        return "one run has no mean with an interval"
    if estimate.mean is None:
        return "there is no geometric mean of numbers that are not all positive"
    said = _range_words(estimate, estimate.mean[1:])
    return f"the mean may lie {_sides_words(estimate, 'or')} ({said})"


def _out_of_reach(reason: Reason, context: ClaimText) -> str:
    estimate = context.arm_of(reason).estimates[reason.place]
    bound = stated(estimate.limit.at)
    noun = context.noun(estimate.measurement)
    return f"bound out of reach: what has to succeed misses {bound}, too ({noun})"


def _near(reason: Reason, context: ClaimText) -> str:
    estimate = context.estimate_of(reason)
    bound = bound_of(estimate, context.number_of(estimate))
    arm = context.arm_of(reason)
    leads = "would pass" if arm.relaxed is Decision.MET else "would leave it open"
    return f"{missing(reason, context)}: {stated(reason.bound)} {leads}, and {bound} is asked"


def missing(reason: Reason, context: ClaimText, *, briefly: bool = False) -> str:
    """Return that an answer misses our bound but not twice it, and where."""
    arm = context.arm_of(reason)
    how = ends_as(arm, briefly=briefly) if isinstance(arm, ReadingAnswer) else MISSES
    return f"{how}{_there(arm, context)}"


def _there(arm: ArmAnswer, context: ClaimText) -> str:
    """Under which value a number was measured, where it is not that of the claim's own runs."""
    return "" if arm is context.answer.base else f" with {context.arm(arm)}"


def _tightened(reason: Reason, context: ClaimText) -> str:
    """The condition that runs miss with our bounds half as wide: weight: 0.9 instead of our 0.8."""
    arm = context.arm_of(reason)
    estimate = arm.estimates[reason.place]
    what = context.number_of(estimate)
    tight = estimate.model_copy(update={"limit": estimate.limit.tightened()})
    bounds = f"{bound_of(tight, what)} instead of our {bound_of(estimate, what)}"
    noun = called_of(what, context.noun_of(estimate)).removesuffix(":")
    missed = of(reason.runs, arm.n)
    return f"{noun}: {bounds} is missed in {missed}{_there(arm, context)}"


_VOIDS: Mapping[Void, str] = {
    Void.REFERENCE_DIVERGED: "{what} diverged in {runs}",
    Void.REFERENCE_CRASHED: "{what} crashed or did not finish in {runs}",
    Void.NO_REFERENCE: "{what} has no run with the same seed in {runs}",
    Void.NOT_MEASURED: "{what} was not measured in {runs}",
    Void.NO_NUMBER: "{what} has no number in {runs}",
    Void.CENSORED: "the log ends before {what} passed its level in {runs}",
    Void.START: "training did not start as it should in {runs}",
    Void.BEGINS_LATE: "the log of {what} begins at {step} {found} in {runs}, after training began",
    Void.THERE_AT_START: "{what} met the bound before training in {runs}",
    Void.OUT_OF_RANGE: "{what} lies out of its range in {runs}: {found}{per_cent}",
    Void.EXCHANGED: "null and ceiling of {what} are equal or exchanged in {runs}",
    Void.NOT_ENDED: "training ended while {what} still changed in {runs}",
    Void.END_APART: "the last observation of {what} and the median at the end disagree in {runs}",
    Void.REFERENCE_END: "{what} meets the bound in {runs} only by where in training its reference "
    "is read",
    Void.UNPROMPTED: "{what} changed in {runs} without what it is said to wait for",
    Void.CUT: "{what} drops all at once late in {runs}: the rate may have been cut",
    Void.HIDDEN: "noise hides what {what} does in {runs}",
    Void.FEW_OBSERVED: "too few observations of {what} in {runs}",
    Void.START_APART: "the answer hangs on the first {what}, apart from all that follow, in {runs}",
    Void.NOT_AS_FAR: "not measured alike: of two logs of {what} one ends at {share} of the other's "
    "length in {runs}",
    Void.NOT_AS_FINELY: "too few observations of {what} to tell when it passed its level in {runs}",
    Void.NOT_AS_MANY: "not measured alike: {what} has one run for several seeds",
    Void.NOT_AS_OFTEN: "not measured alike: the answer in {runs} hangs on how often {what} was "
    "observed",
    Void.STATISTIC: "not measured alike: the answer in {runs} hangs on {what} being an average or "
    "the best so far",
    Void.FROM_THE_START: "not measured alike: {what} differs by one factor or amount from before "
    "training to the end in {runs}",
    Void.STARTS_ELSEWHERE: "not measured alike: the log of {what} begins at {step} {found}, far "
    "from where the other begins, in {runs}",
}


def void_words(void: Void, about: str, runs: str, number: float | None, context: ClaimText) -> str:
    """Return why runs are void, as a page says it."""
    arms = (Void.REFERENCE_DIVERGED, Void.REFERENCE_CRASHED, Void.NO_REFERENCE, Void.NOT_AS_MANY)
    name = context.namer.arm if void in arms else context.noun
    return _VOIDS[void].format(
        what=name(about),
        runs=runs,
        step=context.namer.step(context.claim.experiment, about),
        found="" if number is None else stated(number),
        per_cent=", which looks like per cent" if 1 < (number or 0) <= 100 else "",
        share="less than 95 %" if number is None else percent(number),
    )


def _voids(reason: Reason, context: ClaimText) -> str:
    if reason.void is None:
        return "runs say neither yes nor no"
    runs = of(reason.runs, context.arm_of(reason).n)
    said = void_words(reason.void, reason.what, runs, reason.found, context)
    if reason.arm in {arm.name for arm in context.answer.controls}:
        return f"the control ({context.namer.arm(reason.arm)}): {said}"
    if reason.arm in {arm.name for arm in context.answer.readings}:
        return f"with {context.arm(context.arm_of(reason))}: {said}"
    return said


_NOT_ALIKE: Mapping[Unlike, str] = {
    Unlike.LENGTHS: "logs end at {step} {ends[0]:,} ({arms[0]}) and at {ends[1]:,} ({arms[1]})",
    Unlike.ONE_RUN: "{arms[0]} has one run, which the audit calls deterministic",
    Unlike.BEST_SO_FAR: "{noun} of {arms[0]} is the best so far",
    Unlike.ENDS_AT_BEST: "the log of {noun} of {arms[0]} ends at its best",
    Unlike.ZERO_START: "{noun} of {arms[0]} begins at exactly 0 in every run",
    Unlike.START_LEFT_OUT: "the first {noun} of {arms[0]} is apart from all others and left out",
}


def not_alike(alike: NotAlike, context: ClaimText) -> str:
    """Return what was not measured alike, as a page says it."""
    own = "the claim's runs"
    arms = [own if name == OWN else context.namer.arm(name) for name in alike.arms]
    noun = context.noun(alike.measurement)
    step = context.namer.step(context.claim.experiment, alike.measurement)
    return _NOT_ALIKE[alike.how].format(noun=noun, arms=arms, ends=alike.ends, step=step)


def _all_diverged(reason: Reason, context: ClaimText) -> str:
    arm = context.arm_of(reason)
    too = f", and so did {context.namer.arm(reason.what)}" if reason.what else ""
    names = several([context.setting(name) for name in reason.settings], 3)
    guessed = f"; guessed: {names}" if names else ""
    return f"{of(reason.runs, arm.n)} diverged{_there(arm, context)}{too}{guessed}"


def _unfinished(reason: Reason, context: ClaimText) -> str:
    arm = context.arm_of(reason)
    if not arm.n:
        return f"not yet run: {context.arm(arm)}"
    return f"{context.arm(arm)} lacks {counted(reason.runs, 'run')}"


def _mean_alone(reason: Reason, context: ClaimText) -> str:
    estimate = context.estimate_of(reason)
    n = len(estimate.holds)
    pairs = zip(estimate.values, estimate.holds, strict=True)
    no = [value for value, holds in pairs if value is not None and holds is False]
    if refuted := sum(map(estimate.limit.met_by, no)):
        why = context.number_of(estimate).refuted
        return f"the mean meets {_bound_words(estimate)}, but in {of(refuted, n)} {why}"
    return f"the mean lies inside the margin, but only {of(estimate.holds.count(True), n)} runs do"


LEVELS_END = "{end} at {places}"
LEVELS_COUNTED = "{end} at {places} ({count})"
LEVEL_COUNTS = "{count} at {places}"
"""Forms of coordinates that end alike, the last with their end where k of n does not tell it."""


def level_words(context: ClaimText, grades: Sequence[ReadingAnswer], form: str = LEVELS_END) -> str:
    """Return coordinates by how they end: holds at L = 2 and 3 (15 of 15), not at 4 (0 of 10)."""
    at: dict[str, list[str]] = {}
    for grade in grades:
        count = count_words(grade)
        if form is LEVEL_COUNTS and grade.answer not in (Answer.YES, Answer.NO, Answer.OPEN):
            count = f"{ends_as(grade)}, {count},"
        said = form.format(end=ends_as(grade), count=count, places="{}")
        at.setdefault(said, []).append("" if grade.at is None else at_words(grade.at))
    symbol = f"{context.symbol} = " if context.symbol else ""
    parts = [
        said.format(f"{'' if place else symbol}{listed(there)}")
        for place, (said, there) in enumerate(at.items())
    ]
    return ("; " if form is LEVEL_COUNTS else ", ").join(parts)


def _indirect(_reason: Reason, context: ClaimText) -> str:
    if context.claim.wording == "recalled":
        return "wording from memory"
    return f"a stand-in for {next(filter(None, (c.stands_for for c in context.claim.headline)))}"


def _not_settled(reason: Reason, context: ClaimText) -> str:
    if len(reason.settings) > 1:
        return f"{len(reason.settings)} guesses not settled"
    return f"not settled: {context.setting(reason.settings[0])}"


def _agree(reason: Reason, context: ClaimText) -> str:
    arm = context.arm_of(reason)
    said = f"{of(arm.n - reason.runs, arm.n)} agree" if reason.runs else f"{arm.n} runs are few"
    return f"{said}{_there(arm, context)}"


def _open_with(reason: Reason, context: ClaimText) -> str:
    arm = context.arm_of(reason)
    if not arm.n:
        return f"not yet run: {context.arm(arm)}"
    how = ends_as(arm) if isinstance(arm, ReadingAnswer) else "open"
    return f"{how}{_there(arm, context) or ' as run'}, {count_words(arm)}"


def _in_the_way(reason: Reason, context: ClaimText) -> str:
    arm = context.arm_of(reason)
    control = f"the control ({context.arm(arm)})"
    if not arm.n:
        return f"{control} has not run"
    return f"{control} does not clearly fail: {count_words(arm)}"


def _left_out(reason: Reason, context: ClaimText) -> str:
    of_arm = f" of {context.namer.arm(reason.arm)}" if reason.arm else ""
    return f"left out{of_arm}: {reason.what}"


_WORDS: Mapping[ReasonKind, str | Callable[[Reason, ClaimText], str]] = {
    # why there is no outcome
    ReasonKind.CRASHED: "{runs} crashed, and the answer hangs on them",
    ReasonKind.SMOKE: "the smoke tier judges nothing",
    ReasonKind.NOT_MEASURED: "{noun} was not measured",
    ReasonKind.LEFT_OUT: _left_out,
    ReasonKind.TOO_FEW: "{runs} missing before there is an answer",
    ReasonKind.CONTROL_PASSES: "the control ({arm}) passes, too, in {count}",
    ReasonKind.CONTROL_ITSELF: "the control ({arm}) is held against its own runs: it tells nothing",
    ReasonKind.CONTROL_LARGER: "the control ({arm}) has the larger difference in most runs",
    ReasonKind.OUT_OF_REACH: _out_of_reach,
    ReasonKind.VOID_RUNS: _voids,
    ReasonKind.ALL_DIVERGED: _all_diverged,
    ReasonKind.READING_UNFINISHED: _unfinished,
    ReasonKind.READING_LEFT_OUT: "another {settings} not run",
    ReasonKind.NEAR: _near,
    ReasonKind.NOT_ENDED: "training had not ended: what is judged still moves",
    ReasonKind.CONTROL_OPEN: _in_the_way,
    ReasonKind.MEAN_ALONE: _mean_alone,
    ReasonKind.MEAN_OPEN: _open,
    ReasonKind.GROUPS_OPEN: _open,
    ReasonKind.LEVELS: lambda _, context: level_words(context, context.answer.grades),
    ReasonKind.STRADDLES: _open,
    ReasonKind.FEW_RUNS: _few_runs,
    ReasonKind.ALTERNATIVE_OPEN: _open_with,
    # why not surer
    ReasonKind.SCALE: "reduced scale ({tier})",
    ReasonKind.PROXY: "other data or method: {what}",
    ReasonKind.ORIGIN: lambda reason, _: f"{maker_words(reason.what)}, not by us",
    ReasonKind.INDIRECT: _indirect,
    ReasonKind.READING_OPEN: _open_with,
    ReasonKind.SMALL_SIDE: "{arm} ran at reduced scale only",
    ReasonKind.GUESS_OTHERWISE: "{arm}, less likely, answers otherwise: {count}",
    ReasonKind.GUESS_NOT_SETTLED: _not_settled,
    ReasonKind.RUNS: _agree,
    ReasonKind.NO_CONTROL: _no_control,
    ReasonKind.NOT_ALIKE: lambda reason, context: (
        f"not measured alike: {not_alike(reason.alike, context) if reason.alike else ''}"
    ),
    ReasonKind.UNSTATED: "arms are compared whose other settings nobody states",
    ReasonKind.OUR_BOUND: _tightened,
    ReasonKind.RULE: lambda r, _: (
        "a bound was changed after results" if r.changed else "audit not committed before runs"
    ),
}
