"""Other ways to read what was logged: a look-alike and its fair twin for each of them."""

import numpy as np
import pytest
from numpy.typing import NDArray
from test_alike import (
    BELOW,
    PAPER,
    SOONER,
    Course,
    Runs,
    answered,
    audit_of,
    best,
    changed,
    falls,
    noisy,
    rises,
    runs,
    swings,
    voids,
)

import synthetic
from miniatures import control
from reproaudit.audit.model import Audit
from reproaudit.checks import Void
from reproaudit.formats.verdict import ClaimAnswer, Outcome
from reproaudit.judge.views import still_moves
from reproaudit.records import Series
from reproaudit.scorecard.claims import ClaimText
from reproaudit.scorecard.words import words

NO_CONTROL = {"no_control": "It is a number."}


def averaged(series: Runs, over: int) -> Runs:
    """The average of so many observations until each."""

    def average(values: NDArray[np.float64]) -> NDArray[np.float64]:
        padded = np.concatenate([np.full(over - 1, values[0]), values])
        return np.convolve(padded, np.ones(over) / over, mode="valid")

    return changed(series, average)


def holds(answer: ClaimAnswer, why: Void) -> bool:
    """Whether a claim is supported; if not, runs are void for the reason."""
    if answer.outcome is Outcome.SUPPORTED:
        return True
    assert (answer.level, why in voids(answer)) == (None, True)
    return False


# --- a contrast from the start ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "fair"),
    [
        (lambda x: x / np.log(2), False),  # in bits
        (lambda x: x + 0.1, False),  # with a further term
        (lambda x: x * np.linspace(1, 1.4, len(x)), True),  # a lead that grows
        (lambda x: x * np.linspace(1.8, 1.2, len(x)), True),  # a head start that shrinks
    ],
)
@pytest.mark.parametrize("paired", [True, False])
def test_a_contrast_that_was_there_before_training_was_not_learned(how, fair, paired):
    arms = {"own": runs(falls(0.2)), "other": changed(runs(falls(0.2), every=400), how)}
    audit = audit_of(BELOW if paired else {**BELOW, "paired": False})
    assert holds(answered(audit, arms), Void.FROM_THE_START) is fair


def test_seeds_that_begin_apart_make_no_contrast_from_the_start():
    arms = {"own": runs(falls(0.2)), "other": runs(falls(0.215), every=400)}
    assert Void.FROM_THE_START not in voids(answered(audit_of(BELOW), arms))


# --- another statistic --------------------------------------------------------------------------


@pytest.mark.parametrize("over", [5, 11, 25])
@pytest.mark.parametrize("fair", [False, True])
def test_a_passage_that_an_average_delays_is_no_later(over, fair):
    own = runs(rises(5_000, noise=0.02))
    other = averaged(runs(rises(12_000 if fair else 5_000, noise=0.02), every=201), over)
    assert holds(answered(audit_of(SOONER), {"own": own, "other": other}), Void.STATISTIC) is fair


def test_two_averages_are_one_statistic():
    own = averaged(runs(rises(5_000, noise=0.02)), 11)
    other = averaged(runs(rises(6_500, noise=0.02)), 11)
    assert holds(answered(audit_of(SOONER), {"own": own, "other": other}), Void.STATISTIC)


@pytest.mark.parametrize("fair", [False, True])
def test_an_average_of_a_loss_that_still_falls_ends_too_high(fair):
    own = runs(falls(0.05, pace=9_000, noise=0.01))
    rest = falls(0.6, noise=0.01) if fair else falls(0.05, pace=9_000, noise=0.01)
    answer = answered(audit_of(BELOW), {"own": own, "other": averaged(runs(rest, every=201), 25)})
    assert holds(answer, Void.STATISTIC) is fair


@pytest.mark.parametrize(("to", "fair"), [(0.2, False), (0.5, True)])
def test_a_best_so_far_is_held_against_the_best_of_the_other(to, fair):
    own = best(runs(falls(0.2, noise=0.05)))
    answer = answered(
        audit_of(BELOW), {"own": own, "other": runs(falls(to, noise=0.05), every=201)}
    )
    assert holds(answer, Void.STATISTIC) is fair


@pytest.mark.parametrize(("half", "fair"), [(4_500, False), (9_000, True)])
def test_a_best_so_far_passes_beside_the_best_of_the_other(half, fair):
    own = changed(runs(rises(5_000, noise=0.06)), np.maximum.accumulate)
    arms = {"own": own, "other": runs(rises(half, noise=0.06), every=201)}
    assert holds(answered(audit_of(SOONER), arms), Void.STATISTIC) is fair


@pytest.mark.parametrize(("to", "fair"), [(0.22, False), (0.12, True)])
def test_of_a_best_so_far_alone_the_level_is_what_its_records_leave_open(to, fair):
    check = {"kind": "reaches", "value": "x", "at_most": 0.2, **PAPER}
    own = best(runs(falls(to, pace=1_500, noise=0.06)))
    answer = answered(audit_of(check, **NO_CONTROL), {"own": own})
    assert holds(answer, Void.STATISTIC) is fair


# --- begins late --------------------------------------------------------------------------------


def since(step: int, series: Runs) -> Runs:
    """Runs of which the log begins at a step."""
    first = {seed: sum(at < step for at in course.steps) for seed, course in series.items()}
    return {
        seed: Series(steps=course.steps[first[seed] :], values=course.values[first[seed] :])
        for seed, course in series.items()
    }


@pytest.mark.parametrize(("step", "fair"), [(9_000, False), (2_000, True), (0, True)])
def test_a_passage_of_a_log_that_begins_late_elsewhere_is_not_compared(step, fair):
    arms = {"own": runs(rises(5_000)), "other": since(step, runs(rises(9_000)))}
    assert holds(answered(audit_of(SOONER), arms), Void.STARTS_ELSEWHERE) is fair


@pytest.mark.parametrize(("ahead", "fair"), [(3_000, False), (0, True)])
def test_a_passage_after_a_head_start_is_not_compared(ahead, fair):
    def learns(pace: float, ahead: float = 0) -> Course:
        return noisy(lambda at: 0.95 - 0.85 * np.exp(-(at + ahead) / pace), 0.01)

    own = learns(4_000 if fair else 8_000, ahead)
    arms = {"own": runs(own), "other": runs(learns(8_000), every=201)}
    assert holds(answered(audit_of(SOONER), arms), Void.STARTS_ELSEWHERE) is fair


# --- an end that still moves --------------------------------------------------------------------


def drifts(by: float) -> Course:
    """A number that goes one way all the time, and passes 0.5 as training ends."""
    return noisy(lambda at: 0.5 + by * (1 - at / at[-1]), 0.002)


def plateaus(*levels: float) -> Course:
    """A number that rests until 0.7 of training, and in each tenth after it."""
    return noisy(lambda at: np.array(levels)[np.searchsorted([0.7, 0.8, 0.9], at / at[-1])], 0.0005)


@pytest.mark.parametrize(
    ("course", "fair"),
    [
        (drifts(0.2), False),
        (drifts(-0.2), False),
        (swings(0.0), True),
        (plateaus(0.46, 0.47, 0.472, 0.5), False),
        (plateaus(0.46, 0.48, 0.498, 0.5), True),  # its last move is no half of the margin
        (plateaus(0.49, 0.505, 0.515, 0.5), True),  # nor one way with those before
        (plateaus(0.51, 0.495, 0.485, 0.5), True),
    ],
)
def test_a_number_that_goes_through_its_margin_has_no_end(course, fair):
    check = {"kind": "equals", "value": "x", "to": 0.5, "within": 0.02, **PAPER}
    answer = answered(audit_of(check, **NO_CONTROL), {"own": runs(course)})
    assert holds(answer, Void.NOT_ENDED) is fair


STEPS = tuple(range(1_000, 2_001, 25))


@pytest.mark.parametrize(
    ("steps", "relative", "ends", "moves"),
    [
        # over half of a margin of a tenth, or not, and one way with those before, or not
        (STEPS, False, (0.8, 0.9, 1.0, 1.051), True),
        (STEPS, False, (0.8, 0.9, 1.0, 1.049), False),
        (STEPS, False, (1.2, 1.1, 1.0, 0.949), True),
        (STEPS, False, (0.8, 0.9, 0.89, 1.2), False),
        (STEPS, False, (-0.3, -0.2, -0.1, 0.1), True),
        # of a factor: half of its logarithm, 1.0488
        (STEPS, True, (0.8, 0.9, 1.0, 1.050), True),
        (STEPS, True, (0.8, 0.9, 1.0, 1.048), False),
        (STEPS, True, (0.2, 0.3, 0.4, 0.425), True),
        (STEPS, True, (0.0, 0.1, 0.2, 0.4), False),
        (STEPS, True, (-0.1, 0.1, 0.2, 0.4), False),
        (tuple(range(41)), False, (0.8, 0.9, 1.0, 1.051), True),
    ],
)
def test_an_end_moves_through_half_of_its_margin(steps, relative, ends, moves):
    """Each tenth has four observations: until 0.7 of training it rests, and in each after it."""
    course = np.array(ends)[np.searchsorted([28, 32, 36], np.arange(41))]
    check = synthetic.check("equals", value="a", to=1, within=0.1, relative=relative, **PAPER)
    run = synthetic.run(steps, a=[*course])
    assert still_moves(check, run, check.conditions(run)) == [moves]


def test_a_drift_is_read_until_each_tenth_of_the_log():
    """Its last tenth has five observations, that of its first nine tenths four of them before."""
    run = synthetic.run(STEPS, a=[*(0.01 * np.arange(41.0))])
    for within, moves in ((0.069, True), (0.071, False)):
        check = synthetic.check("equals", value="a", to=0, within=within, **PAPER)
        assert still_moves(check, run, check.conditions(run)) == [moves]


def test_a_bound_that_is_no_margin_has_no_way_through():
    """The exponent rests, and the bend grows."""
    sizes = (8, 16, 32, 64)
    bent = np.linspace(0, 0.4, 41)[:, None] * np.array([1, -1, -1, 1])
    run = synthetic.run(STEPS, sizes, x=[*map(tuple, np.exp(bent) / np.sqrt(sizes))])
    check = synthetic.check(
        "scales_like", value="x", axis="size", exponent=-0.5, within=0.1,
        bend={"at_most": 0.05, **PAPER}, **PAPER,
    )  # fmt: skip
    assert still_moves(check, run, check.conditions(run)) == [False, False]


def test_an_extreme_has_no_other_end():
    least = {"measurement": "x", "step": "least"}
    check = {"kind": "equals", "value": least, "to": 0.5, "within": 0.02, **PAPER}
    answer = answered(audit_of(check, **NO_CONTROL), {"own": runs(drifts(0.2))})
    assert voids(answer) == {None}


# --- as often -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("to", "every", "fair"), [(0.2, 50, False), (0.2, 400, True), (0.1, 50, True)]
)
def test_the_best_of_more_observations_is_no_better(to, every, fair):
    least = {"measurement": "x", "step": "least"}
    audit = audit_of({**BELOW, "lower": least, "upper": {**least, "arm": "other"}})
    own = runs(falls(to, pace=1_000, noise=0.1), every=every)
    other = runs(falls(0.2 if not fair or to < 0.2 else 0.5, pace=1_000, noise=0.1), every=500)
    assert holds(answered(audit, {"own": own, "other": other}), Void.NOT_AS_OFTEN) is fair


# --- the end of a reference ---------------------------------------------------------------------


def between(level: float, late: float) -> tuple[Audit, dict[str, Runs]]:
    """A claim on a place between two arms, of which the null is 2.4 times as high late."""
    arms = {"ceiling": control(0.5)}
    ends = [{"measurement": "x", "arm": name} for name in ("other", "ceiling")]
    check = {"kind": "reaches", "value": "x", "between": ends, "at_least": 0.8, **PAPER}

    def blown(values: NDArray[np.float64]) -> NDArray[np.float64]:
        at = np.linspace(0, 1, len(values))
        return np.where(at > late, 2.4 * values, values)

    null = changed(runs(falls(1.0)), blown)
    measured = {"own": runs(falls(level)), "other": null, "ceiling": runs(falls(0.1, pace=3_000))}
    return audit_of(check, arms, **NO_CONTROL), measured


@pytest.mark.parametrize(
    ("late", "void"),
    [(0.75, Void.REFERENCE_END), (0.93, Void.REFERENCE_END), (0.97, Void.END_APART)],
)
def test_a_null_that_blew_up_late_is_no_scale(late, void):
    assert not holds(answered(*between(0.5, late)), void)
    assert holds(answered(*between(0.15, late)), void)


def test_a_rival_is_read_before_its_last_tenth_and_no_earlier():
    """Until 0.55 of training it lies below where the claim's runs end."""

    def early(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(np.linspace(0, 1, len(values)) < 0.55, 0.01 * values, values)

    arms = {"own": runs(falls(0.05)), "other": changed(runs(falls(0.9)), early)}
    assert holds(answered(audit_of(BELOW), arms), Void.REFERENCE_END)


def test_the_rule_that_fired_is_the_reason():
    audit, arms = between(0.5, 0.75)
    context = ClaimText(audit, audit.claims[0], answered(audit, arms), "paper")
    assert words(context.answer.reasons[0], context) == (
        "x meets the bound in 10 of 10 only by where in training its reference is read"
    )
