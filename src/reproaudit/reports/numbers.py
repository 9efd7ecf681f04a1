"""Measured numbers as text: digits, intervals, bounds, seeds and settings.

A number never stands alone: `reading` puts it beside its interval, `target` writes its bound, and
the digits of all of them are chosen together, so that what differs reads as different.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from reproaudit.cell import SettingValue
from reproaudit.judging.model import IntervalModel
from reproaudit.scorecard.model import AnswerModel
from reproaudit.scorecard.pictures import RangeModel
from reproaudit.stats import Decision, Scale

SIGNIFICANT = 3
MOST_SIGNIFICANT = 8
_SIGNS = {"at_most": "≤", "at_least": "≥"}


def number(value: float, digits: int = SIGNIFICANT) -> str:
    """Returns a measured number to so many significant digits; whole numbers stay whole."""
    if value == 0:
        return "0"  # a negative zero too
    if value == round(value) and abs(value) < 10 ** max(digits, 5):
        return f"{value:.0f}"
    exponent = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if not -4 <= exponent < max(digits, 5):
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}e{int(power)}"
    return f"{value:.{max(digits - 1 - exponent, 0)}f}"


def stated(value: float) -> str:
    """Returns a number of the audit (a bound, a margin) as it was written, not padded."""
    mantissa, e, power = f"{value + 0.0:.12g}".partition("e")
    return f"{mantissa}e{int(power)}" if e else mantissa


def _within_thousandth(value: float, margin: float) -> str:
    """Returns a target as it was stated, or with digits enough for a thousandth of its margin."""
    rounded = (f"{value:.{digits}g}" for digits in range(SIGNIFICANT, 12))
    near = (one for one in rounded if abs(float(one) - value) <= margin / 1000)
    return stated(float(next(near, f"{value:.12g}")))


def digits_apart(values: Sequence[float], reference: float) -> int:
    """Returns the significant digits at which the values read as different from the reference."""
    needed = SIGNIFICANT
    for value in values:
        gap = abs(value - reference)
        size = max(abs(value), abs(reference))
        if gap > 1e-9 * size:
            needed = max(needed, math.floor(math.log10(size)) - math.floor(math.log10(gap)) + 1)
    return min(needed, MOST_SIGNIFICANT)


def with_interval(value: float, interval: IntervalModel | None, shown: int = SIGNIFICANT) -> str:
    """Returns ``0.0312 [0.0281, 0.0340]``, or the number alone where there is no interval."""
    if interval is None:
        return number(value, shown)
    # A wide interval says of itself that more than three digits of its ends mean nothing.
    return f"{number(value, shown)} [{number(interval.low, shown)}, {number(interval.high, shown)}]"


def reading(answer: AnswerModel) -> str:
    """Returns the estimate and its interval; of a rule over every seed the count and the worst."""
    interval = None if answer.satisfied is not None else answer.interval
    ends = (interval.low, interval.high) if interval else ()
    shown = digits_apart([*ends, answer.bound], answer.estimate)
    shown = max(shown, *(digits_apart([end], answer.bound) for end in ends), SIGNIFICANT)
    text = with_interval(answer.estimate, interval, shown)
    return text if answer.satisfied is None else f"{_count(answer)}, worst {text}"


def target(answer: AnswerModel) -> str:
    """Returns the bound of the estimate: ``≤ 0.1``, ``≥ 0.9``, ``within 0.05 of 1``."""
    if answer.side != "within":
        return f"{_SIGNS[answer.side]} {stated(answer.bound)}"
    margin = answer.margin or 0.0
    relative = answer.interval is not None and answer.interval.scale == Scale.LOG
    bound = _within_thousandth(answer.bound, margin * (abs(answer.bound) if relative else 1.0))
    if relative:
        return f"within a factor {stated(1 + margin)} of {bound}"
    return f"within {stated(margin)} of {bound}"


def sentence(answer: AnswerModel) -> str:
    """Returns reading and target as one true statement: ``1.42 [1.25, 1.61] not ≤ 0.1``."""
    if answer.satisfied is not None:
        return f"{_count(answer)} {target(answer)}, worst {reading(answer).rpartition(' ')[2]}"
    held = {
        Decision.MET: target(answer),
        Decision.MISSED: f"not {target(answer)}",
        Decision.UNDECIDED: f"{target(answer)}?",
    }
    return f"{reading(answer)} {held[answer.decision]}"


def short_sentence(answer: AnswerModel) -> str:
    """Returns the estimate against the bound, without interval or margin: ``1.42 not ≤ 0.1``.

    Where each seed is judged, it is the number of seeds: ``4/5 seeds ≤ 0.1``.
    """
    shown = digits_apart([answer.estimate], answer.bound)
    bound = min(stated(answer.bound), number(answer.bound, shown), key=len)
    held = f"{_SIGNS.get(answer.side, '≈')} {bound}"
    if answer.satisfied is not None:
        return f"{answer.satisfied}/{len(answer.per_seed)} seeds {held}"
    estimate = number(answer.estimate, shown)
    return {
        Decision.MET: f"{estimate} {held}",
        Decision.MISSED: f"{estimate} not {held}",
        Decision.UNDECIDED: f"{estimate} {held}?",
    }[answer.decision]


def _count(answer: AnswerModel) -> str:
    return f"{answer.satisfied} of {len(answer.per_seed)} seeds"


def spread(answer: AnswerModel, seeds: Sequence[int] = ()) -> str:
    """Returns a sentence on the seeds behind an estimate and on its interval."""
    count = len(answer.per_seed)
    which = f" ({ranges(seeds)})" if len(seeds) == count else ""  # an exact value has no seeds
    if answer.satisfied is not None:
        return f"Judged seed by seed{which} and counted."
    if answer.interval is None:
        return f"{counted(count, 'value')}{which}, no interval."
    return f"Mean over {count} seeds{which}; interval: {method(answer.interval)}."


def scale_name(scale: str) -> str:
    """Returns a scale as people write it: ``log(1 − x)``."""
    return {"log_complement": "log(1 − x)"}.get(scale, scale)


def method(interval: IntervalModel) -> str:
    """Returns ``95 % Student t, log scale``."""
    words = f"{percent(interval.confidence)} {interval.method}"
    if interval.scale == Scale.LINEAR:
        return words
    return f"{words}, {scale_name(interval.scale)} scale"


def percent(share: float) -> str:
    """Returns a confidence or a rate as ``95 %``."""
    return f"{100 * share:.4g} %"


def counted(count: int, noun: str) -> str:
    """Returns ``1 setting``, ``2 settings``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def ranges(seeds: Sequence[int]) -> str:
    """Returns seeds as ``0–4, 7``."""
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}–{r[-1]}" for r in runs)


def duration(seconds: float) -> str:
    """Returns ``42 s``, ``3.5 min`` or ``2.1 h``."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 6000 else f"{seconds / 3600:.3g} h"


# --- settings -----------------------------------------------------------------------------------


def settings_words(settings: Mapping[str, SettingValue]) -> str:
    """Returns ``learning_rate = 0, mechanism = none``."""
    return ", ".join(f"{name} = {value_words(settings[name])}" for name in sorted(settings))


def value_words(value: Any) -> str:
    """Returns a setting's value as an audit writes it."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(value_words(v) for v in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return stated(value) if isinstance(value, float) else str(value)


def bound_symbols(one: RangeModel) -> str:
    """Returns a range of one place in figures: ``≤ 0.1``, ``≥ 0.9``, ``0.75 to 0.78``."""
    low, high = one.low[-1], one.high[-1]
    if low is None:
        return f"≤ {_bound(high or 0.0)}"
    return f"≥ {_bound(low)}" if high is None else f"{_bound(low)} to {_bound(high)}"


def _bound(value: float) -> str:
    return stated(float(f"{value:.3g}"))
