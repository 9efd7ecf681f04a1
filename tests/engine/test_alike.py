"""What is compared was measured alike: a look-alike and its fair twin for each question."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from factories import answers_of, make_audit, make_record
from miniatures import claim, control, setting
from reproaudit.audit.model import Audit
from reproaudit.cell import Cell
from reproaudit.checks import Void
from reproaudit.formats.verdict import ClaimAnswer, Level, Outcome, ReasonKind, Unlike
from reproaudit.judge import index_records
from reproaudit.judge.alike import from_elsewhere, units_apart
from reproaudit.records import Measurements, Origin, Record, Series
from reproaudit.scorecard.claims import ClaimText
from reproaudit.scorecard.words import words

ELSEWHERE = Origin(who="they", source="a log", framework="theirs", made=date(2026, 1, 2))
PAPER = {"from": "paper"}
LENGTH = 20_000
SEEDS = range(10)

Course = Callable[[NDArray[np.float64], np.random.Generator], NDArray[np.float64]]
Runs = Mapping[int, Series]


def falls(to: float, pace: float = 4_000.0, noise: float = 0.003) -> Course:
    """A loss that falls from about 2.3 to a level, at a pace."""

    def course(at: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
        clean = (to + (2.3 - to) * np.exp(-at / pace)) * (1 + 0.01 * random.normal())
        return np.asarray(clean * (1 + noise * random.normal(size=len(at))))

    return course


def noisy(clean: Callable[[NDArray[np.float64]], Any], noise: float) -> Course:
    """A course by step, with so much noise."""
    return lambda at, random: np.asarray(clean(at) + noise * random.normal(size=len(at)))


def rises(middle: float, noise: float = 0.002) -> Course:
    """An accuracy that goes from 0.1 to 0.98, half of it until a step."""
    return noisy(lambda at: 0.1 + 0.88 / (1 + np.exp(-(at - middle) / 800)), noise)


def runs(
    course: Course, length: int = LENGTH, every: int = 200, seeds: Sequence[int] = SEEDS
) -> dict[int, Series]:
    """A series for each seed."""
    steps = tuple(range(0, length + 1, every))
    at = np.array(steps, dtype=float)
    made = {seed: course(at, np.random.default_rng([seed, length, every])) for seed in seeds}
    return {seed: Series(steps=steps, values=values) for seed, values in made.items()}


def changed(series: Runs, how: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Runs:
    """Runs whose courses are otherwise made."""
    return {
        seed: Series(steps=course.steps, values=how(np.asarray(course.values)))
        for seed, course in series.items()
    }


def audit_of(check: dict[str, Any], arms: Mapping[str, Any] | None = None, **changes: Any) -> Audit:
    """An audit of one claim, whose arms differ in the level."""
    steps = changes.pop("length", None)
    declared = changes.pop("declared", {})
    series = {"kind": "series", "unit": "1", "meaning": "What is watched.", **declared}
    return make_audit(
        claims=[
            claim(
                "mini",
                "one",
                main=True,
                headline=[check],
                **{"nulls": [], "constructed": None, **changes},
            )
        ],
        arms={"other": control(0.8), **(arms or {})},
        settings={"level": setting(0.02), "steps": setting(LENGTH)},
        experiments={"descent": {"title": "It descends", "measurements": {"x": series}}},
        **({} if steps is None else {"length": steps}),
    )


def answered(audit: Audit, arms: Mapping[str, Runs], **changes: Any) -> ClaimAnswer:
    """The answer to the claim, of runs from elsewhere by arm."""
    records: list[Record] = []
    for name, by_seed in arms.items():
        measured = {seed: Measurements(series={"x": x}) for seed, x in by_seed.items()}
        records += records_of(audit, name, measured, **changes)
    return answers_of(audit, records)["one"]


def records_of(
    audit: Audit, arm: str, measured: Mapping[int, Measurements], **changes: Any
) -> list[Record]:
    """The records of an arm from elsewhere, by seed."""
    settings = {} if arm == "own" else audit.arms[arm].settings
    values = audit.values_of("descent", "paper", settings)
    made = {"origin": ELSEWHERE, **changes}
    return [
        make_record(Cell("mini", "paper", "descent", values, seed), each, **made)
        for seed, each in measured.items()
    ]


def voids(answer: ClaimAnswer) -> set[Void | None]:
    return {run.void for run in answer.base.runs}


BELOW = {"kind": "beats", "lower": "x", "upper": {"measurement": "x", "arm": "other"}, **PAPER}
GROUPS = {**BELOW, "paired": False}
LOW = {"kind": "reaches", "value": "x", "at_most": 0.2, **PAPER}
PASSES = {"measurement": "x", "passes": {"level": 0.9}}
SOONER = {"kind": "beats", "lower": PASSES, "upper": {**PASSES, "arm": "other"}, **PAPER}


SHORTER = {"own": runs(falls(0.05)), "other": runs(falls(0.9), LENGTH // 2)}
"""Runs whose reference ends at half of their length."""


# --- as far -------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [BELOW, GROUPS])
def test_a_baseline_whose_log_stops_at_half_is_not_beaten(check):
    audit = audit_of(check)
    slow = falls(0.05, pace=9_000)
    cut = answered(audit, {"own": runs(slow), "other": runs(slow, LENGTH // 2)})
    assert (cut.level, voids(cut)) == (None, {Void.NOT_AS_FAR})
    assert {run.found for run in cut.base.runs} == {0.5}
    fair = answered(audit, {"own": runs(slow), "other": runs(falls(0.3, pace=9_000))})
    assert (fair.outcome, fair.not_alike) == (Outcome.SUPPORTED, ())


@pytest.mark.parametrize(("length", "void"), [(19_000, None), (18_800, Void.NOT_AS_FAR)])
def test_logs_go_equally_far_from_95_per_cent_on(length, void):
    for own, other in ((LENGTH, length), (length, LENGTH)):
        arms = {"own": runs(falls(0.05), own), "other": runs(falls(0.9), other)}
        assert voids(answered(audit_of(BELOW), arms)) == {void}


def test_a_control_whose_log_stops_at_half_has_not_failed():
    audit = audit_of(LOW, nulls=["other"])
    slow = falls(0.05, pace=5_000)
    cut = answered(audit, {"own": runs(slow), "other": runs(slow, LENGTH // 2)})
    assert cut.outcome is Outcome.UNDECIDED
    assert [(reason.kind, reason.arm, reason.void) for reason in cut.reasons] == [
        (ReasonKind.VOID_RUNS, "other", Void.NOT_AS_FAR)
    ]
    fair = answered(audit, {"own": runs(slow), "other": runs(falls(0.9, pace=5_000))})
    assert fair.outcome is Outcome.SUPPORTED


def test_what_is_compared_is_as_long_as_the_run_with_its_seed():
    def every_other_half(to: float) -> Runs:
        course = falls(to, pace=2_000)
        long, short = SEEDS[::2], SEEDS[1::2]
        return {**runs(course, seeds=long), **runs(course, LENGTH // 2, seeds=short)}

    arms = {"own": every_other_half(0.05), "other": every_other_half(0.9)}
    (null,) = answered(audit_of(LOW, nulls=["other"]), arms).controls
    assert [run.void for run in null.runs] == [None] * 10
    assert voids(answered(audit_of(BELOW), arms)) == {None}


def test_lengths_that_the_claim_says_differ_cost_a_step():
    answer = answered(audit_of(BELOW, unlike_lengths="Each stops by its own rule."), SHORTER)
    same = answered(audit_of(BELOW), {**SHORTER, "other": runs(falls(0.9))})
    (unlike,) = answer.not_alike
    assert (unlike.how, unlike.ends, unlike.lowers) == (Unlike.LENGTHS, (LENGTH, LENGTH // 2), True)
    assert (answer.outcome, same.outcome) == (Outcome.SUPPORTED, Outcome.SUPPORTED)
    assert answer.reasons[-1].kind is ReasonKind.NOT_ALIKE
    assert (same.level, answer.level) == (Level.MODERATE, Level.LOW)


def test_lengths_that_a_named_setting_states_are_said_and_cost_nothing():
    shorter = {"other": {"settings": {"steps": LENGTH // 2}, "why": "It stops at half."}}
    answer = answered(audit_of(BELOW, shorter, length="steps"), SHORTER)
    assert (answer.outcome, answer.level) == (Outcome.SUPPORTED, Level.MODERATE)
    assert [(unlike.how, unlike.lowers) for unlike in answer.not_alike] == [(Unlike.LENGTHS, False)]
    assert voids(answered(audit_of(BELOW, shorter), SHORTER)) == {Void.NOT_AS_FAR}


def test_of_our_own_runs_it_is_only_said_how_far_they_go():
    answer = answered(audit_of(BELOW), SHORTER, origin=None)
    assert answer.outcome is Outcome.SUPPORTED
    assert [(unlike.ends, unlike.lowers) for unlike in answer.not_alike] == [
        ((LENGTH, LENGTH // 2), False)
    ]
    assert ReasonKind.NOT_ALIKE not in {reason.kind for reason in answer.reasons}


def test_a_constant_reference_need_not_go_as_far():
    flat = {seed: Series(steps=(0, 100), values=[0.5, 0.5]) for seed in SEEDS}
    answer = answered(audit_of(BELOW), {"own": runs(falls(0.05)), "other": flat})
    assert (answer.outcome, answer.not_alike) == (Outcome.SUPPORTED, ())


def test_what_is_read_at_a_step_needs_no_log_beyond_it():
    at = {"measurement": "x", "step": 10_000}
    audit = audit_of({**BELOW, "lower": at, "upper": {**at, "arm": "other"}})
    assert answered(audit, SHORTER).outcome is Outcome.SUPPORTED


def test_runs_of_a_group_that_end_early_are_no_part_of_it():
    slow = falls(0.05, pace=9_000)
    other = {**runs(slow), **runs(slow, LENGTH // 2, seeds=range(4))}
    answer = answered(audit_of(GROUPS), {"own": runs(slow), "other": other})
    (estimate,) = answer.base.estimates
    assert estimate.groups is not None
    assert [number is None for number in estimate.groups[1]] == [True] * 4 + [False] * 6


@pytest.mark.parametrize(("long", "kept"), [(6, True), (5, True), (4, False)])
def test_a_group_is_held_against_the_run_that_ends_in_the_middle(long, kept):
    """Of ten runs that go to the end or to half the sixth by length is the middle one."""
    slow = falls(0.05, pace=9_000)
    own = {**runs(slow, seeds=range(long)), **runs(slow, LENGTH // 2, seeds=range(long, 10))}
    other = {**runs(slow, seeds=range(5)), **runs(slow, LENGTH // 2, seeds=range(5, 10))}
    answer = answered(audit_of(GROUPS), {"own": own, "other": other})
    (estimate,) = answer.base.estimates
    assert estimate.groups is not None
    known = [number is not None for number in estimate.groups[1]]
    assert known == [kept] * 5 + [not kept] * 5


def test_what_was_not_measured_alike_is_said_in_words():
    audit = audit_of(BELOW)
    context = ClaimText(audit, audit.claims[0], answered(audit, SHORTER), "paper")
    assert words(context.answer.reasons[0], context) == (
        "not measured alike: of two logs of x one ends at 50 % of the other's length in 10 of 10"
    )
    audit = audit_of(BELOW, unlike_lengths="Each stops by its own rule.")
    context = ClaimText(audit, audit.claims[0], answered(audit, SHORTER), "paper")
    assert words(context.answer.reasons[-1], context) == (
        "not measured alike: logs end at step 20,000 (the claim's runs) and at 10,000 (other)"
    )


# --- as finely ----------------------------------------------------------------------------------


def test_a_passage_is_read_no_finer_than_it_was_logged():
    audit = audit_of(SOONER)
    own = runs(rises(5_000))
    alike = answered(audit, {"own": own, "other": runs(rises(5_000), every=2_500)})
    assert alike.level is None
    assert Void.NOT_AS_FINELY in voids(alike)
    fair = answered(audit, {"own": own, "other": runs(rises(9_000), every=2_500)})
    assert fair.outcome is Outcome.SUPPORTED


@pytest.mark.parametrize(("every", "outcome"), [(500, Outcome.SUPPORTED), (4_000, None)])
def test_a_passage_before_a_step_is_known_no_better_than_it_was_logged(every, outcome):
    audit = audit_of({"kind": "reaches", "value": PASSES, "at_most": 7_900, **PAPER})
    answer = answered(audit, {"own": runs(rises(5_000), every=every)})
    assert (answer.outcome if answer.level else None) is outcome
    assert (Void.NOT_AS_FINELY in voids(answer)) is (outcome is None)


def test_a_passage_alone_is_read_as_it_was_logged():
    """It lies between 6,800 and 7,000, and no average is known beside it."""
    audit = audit_of({"kind": "reaches", "value": PASSES, "at_least": 6_750, **PAPER})
    answer = answered(audit, {"own": runs(rises(5_050))})
    assert (answer.outcome, voids(answer)) == (Outcome.SUPPORTED, {None})


def test_a_mean_of_passages_is_known_no_better_than_they_were_logged():
    check = {"kind": "equals", "value": PASSES, "to": 6_900, "within": 300, **PAPER}
    audit = audit_of(check, no_control="It is a number.")
    coarse = answered(audit, {"own": runs(rises(5_000), every=4_000)})
    assert (coarse.level, voids(coarse)) == (None, {Void.NOT_AS_FINELY})
    at_the_end = {**check, "to": 6_100, "within": 1_900}  # to 8,000, at which it had passed
    audit_there = audit_of(at_the_end, no_control="It is a number.")
    assert voids(answered(audit_there, {"own": runs(rises(5_000), every=4_000)})) == {None}
    assert answered(audit, {"own": runs(rises(5_000))}).outcome is Outcome.SUPPORTED


def test_a_log_that_ends_before_a_passage_gives_its_limit():
    audit = audit_of(SOONER)
    own = runs(rises(5_000))
    answer = answered(audit, {"own": own, "other": runs(rises(15_000), length=12_000)})
    assert answer.outcome is Outcome.SUPPORTED


@pytest.mark.parametrize(("own", "other"), [(15_000, None), (None, 15_000)])
def test_a_limit_is_no_larger_contrast_than_a_number_beyond_it(own, other):
    """One passes 10,000 steps after a reference, the other at least 7,000 after it."""

    def passing(step: int | None, seeds: Sequence[int] = SEEDS) -> Runs:
        return runs(rises(step or 90_000), LENGTH if step else 12_000, seeds=seeds)

    check = {"kind": "reaches", "value": PASSES, "grown_from": {**PASSES, "arm": "third"}}
    audit = audit_of({**check, "above": 0, **PAPER}, {"third": control(0.5)}, nulls=["other"])
    null = {**passing(other, SEEDS[:7]), **passing(2_000, SEEDS[7:])}
    answer = answered(audit, {"own": passing(own), "other": null, "third": passing(5_000)})
    assert (answer.base.yes, answer.controls[0].yes) == (10, 7)
    assert answer.controls[0].verdict == "open"


# --- as many ------------------------------------------------------------------------------------


def under_every_seed(series: Runs) -> Runs:
    return dict.fromkeys(series, series[0])


def test_one_baseline_under_every_seed_is_one_run():
    arms = {"own": runs(falls(0.05)), "other": runs(falls(0.06))}
    copied = {**arms, "other": under_every_seed(arms["other"])}
    alike = answered(audit_of(BELOW), copied)
    assert alike.level is None
    assert [run.void for run in alike.base.runs] == [None] + [Void.NOT_AS_MANY] * 9
    assert answered(audit_of(BELOW), arms).outcome is Outcome.SUPPORTED
    stated = {"other": {**control(0.8), "deterministic": "It is a closed form."}}
    answer = answered(audit_of(BELOW, stated), copied)
    assert (answer.outcome, answer.base.yes) == (Outcome.SUPPORTED, 10)
    assert [(unlike.how, unlike.arms) for unlike in answer.not_alike] == [
        (Unlike.ONE_RUN, ("other",))
    ]


@pytest.mark.parametrize("stated", [{}, {"deterministic": "It is a closed form."}])
def test_a_control_of_one_run_decides_if_it_is_deterministic(stated):
    audit = audit_of(LOW, {"other": {**control(0.8), **stated}}, nulls=["other"])
    many = range(40)
    arms = {"own": runs(falls(0.05), seeds=many), "other": runs(falls(0.9), seeds=[0])}
    answer = answered(audit, arms)
    assert answer.outcome is (Outcome.SUPPORTED if stated else Outcome.UNDECIDED)
    assert answer.controls[0].unfinished is not bool(stated)
    why = {
        (reason.arm, reason.void)
        for reason in answer.reasons
        if reason.kind is ReasonKind.VOID_RUNS
    }
    assert why == (set() if stated else {("other", Void.NOT_AS_MANY)})


# --- the same statistic -------------------------------------------------------------------------


def best(series: Runs) -> Runs:
    """The least until each step."""
    return changed(series, np.minimum.accumulate)


def until_best(series: Runs) -> Runs:
    """Each course with its end exchanged for its least value."""
    return changed(series, lambda values: np.append(values[:-1], values.min()))


NOISY = falls(0.2, noise=0.05)
HIGHER = falls(0.5, noise=0.05)


@pytest.mark.parametrize(
    ("own", "how"),
    [
        (best(runs(NOISY)), {Unlike.BEST_SO_FAR}),
        (until_best(runs(NOISY)), {Unlike.ENDS_AT_BEST}),
        (runs(NOISY), set()),
        (runs(falls(0.2, noise=0.0)), set()),  # a loss that falls without a turn
    ],
)
def test_another_statistic_is_said_and_costs_a_step(own, how):
    answer = answered(audit_of(BELOW), {"own": own, "other": runs(HIGHER)})
    assert {unlike.how for unlike in answer.not_alike} == how
    assert answer.level is (Level.LOW if how else Level.MODERATE)


def test_one_run_may_end_at_its_best_by_chance():
    one = {0: until_best(runs(NOISY))[0]}
    answer = answered(audit_of(BELOW), {"own": one, "other": runs(HIGHER)})
    assert answer.not_alike == ()
    both = {seed: until_best(runs(NOISY))[seed] for seed in (0, 1)}
    answer = answered(audit_of(BELOW), {"own": both, "other": runs(HIGHER)})
    assert [unlike.how for unlike in answer.not_alike] == [Unlike.ENDS_AT_BEST]


def test_a_control_of_another_statistic_is_said():
    audit = audit_of(LOW, nulls=["other"])
    answer = answered(audit, {"own": runs(falls(0.05, noise=0.05)), "other": best(runs(HIGHER))})
    assert [(unlike.how, unlike.arms) for unlike in answer.not_alike] == [
        (Unlike.BEST_SO_FAR, ("other",))
    ]


def test_what_is_rounded_is_no_best_so_far():
    smooth = runs(falls(0.2, noise=0.0))
    own = changed(smooth, lambda values: values.round(2))
    assert answered(audit_of(BELOW), {"own": own, "other": runs(HIGHER)}).not_alike == ()


# --- starts -------------------------------------------------------------------------------------


def begin_at(first: float, series: Runs) -> Runs:
    return changed(series, lambda values: np.append(first, values[1:]))


TENFOLD = {"kind": "converges", "loss": "x", "falls": {"at_least": 10, **PAPER}}


@pytest.mark.parametrize(
    ("first", "to", "outcome"),
    [
        (1_000.0, 1.2, Outcome.UNDECIDED),  # which the loss may have been
        (0.0, 0.1, Outcome.SUPPORTED),  # which it was not: it falls afterwards
        (0.0, 1.2, Outcome.NOT_SUPPORTED),
        (-3.0, 0.1, Outcome.SUPPORTED),
        (2.3, 0.1, Outcome.SUPPORTED),
        (2.3, 1.2, Outcome.NOT_SUPPORTED),
    ],
)
def test_a_first_observation_apart_from_all_others_is_not_used(first, to, outcome):
    audit = audit_of(TENFOLD, no_control="It is a fall.")
    answer = answered(audit, {"own": begin_at(first, runs(falls(to)))})
    assert (answer.outcome if answer.level else Outcome.UNDECIDED) is outcome
    said = {0.0: [Unlike.ZERO_START], -3.0: [Unlike.START_LEFT_OUT]}
    assert [unlike.how for unlike in answer.not_alike] == said.get(first, [])


def test_a_zero_start_is_no_finding_where_no_start_is_read():
    arms = {"own": begin_at(0.0, runs(falls(0.05))), "other": runs(falls(0.9))}
    assert answered(audit_of(BELOW), arms).not_alike == ()


def test_a_zero_start_of_ours_is_no_finding():
    audit = audit_of(TENFOLD, no_control="It is a fall.")
    answer = answered(audit, {"own": begin_at(0.0, runs(falls(0.1)))}, origin=None)
    assert answer.not_alike == ()
    high = answered(audit, {"own": begin_at(1_000.0, runs(falls(1.2)))}, origin=None)
    assert (high.outcome, voids(high)) == (Outcome.SUPPORTED, {None})


# --- ends ---------------------------------------------------------------------------------------


def swings(by: float, times: float = 3.0) -> Course:
    """A number that swings about 0.5, and passes it as training ends."""
    return noisy(lambda at: 0.5 + by * np.sin(2 * np.pi * times * at / LENGTH), 0.003)


@pytest.mark.parametrize(("by", "outcome"), [(0.15, None), (0.0, Outcome.SUPPORTED)])
def test_a_mean_of_ends_that_are_not_settled_decides_nothing(by, outcome):
    check = {"kind": "equals", "value": "x", "to": 0.5, "within": 0.02, **PAPER}
    answer = answered(audit_of(check, no_control="It is a number."), {"own": runs(swings(by))})
    assert (answer.outcome if answer.level else None) is outcome
    assert (Void.END_APART in voids(answer)) is (outcome is None)


# --- in one unit --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "other", "share"),
    [
        ((0.5, 0.9), (50.0, 90.0), "own"),
        ((50.0, 90.0), (0.5, 0.9), "other"),
        ((0.5, 1.0), (50.0, 100.0), "own"),
        ((0.5, 1.01), (50.0, 100.0), None),  # no share
        ((0.5, 1.0), (50.0, 101.0), None),  # nor per cent
        ((0.1, 0.5), (5.0, 10.0), "own"),  # twenty times as much
        ((0.1, 0.5), (5.0, 9.9), None),
        ((0.1, 0.1), (50.0, 50.0), "own"),  # five hundred times
        ((0.1, 0.1), (50.0, 51.0), None),
        ((-0.1, 0.9), (50.0, 90.0), None),
        ((0.5, 0.9), (0.5, 0.8), None),
    ],
)
def test_shares_of_one_arm_and_per_cent_of_another_are_asked_about(own, other, share):
    audit = audit_of(BELOW)
    twice = audit.model_copy(update={"claims": audit.claims * 2})
    forms: list[Callable[[Any], Measurements]] = [
        lambda ends: Measurements(series={"x": Series(steps=(0, 1), values=ends)}),
        lambda ends: Measurements(arrays={"x": np.array(ends)}),
    ]
    for form in forms:
        records = [
            *records_of(audit, "own", dict.fromkeys(range(3), form(own))),
            *records_of(audit, "other", dict.fromkeys(range(3), form(other))),
            *records_of(audit, "other", {9: form((0.0, 1e9))}, status="diverged"),
            *records_of(audit, "other", {8: Measurements()}),
        ]
        found = [*units_apart(twice, "paper", index_records(records))]
        assert [(apart.measurement, apart.arms[0].name) for apart in found] == (
            [] if share is None else [("x", share)]
        )
        for apart in found:
            assert apart.most == (min(own[1], other[1]), max(own[1], other[1]))


@pytest.mark.parametrize(
    ("declared", "asked"),
    [
        ({"unit": "%"}, True),
        ({"unit": "Percent"}, True),
        ({"range": [0, 100]}, True),
        ({"range": [None, 100]}, True),
        ({"range": [0, None]}, False),
        ({"unit": "m"}, False),
    ],
)
def test_what_may_be_a_share_is_a_pure_number_with_no_open_end(declared, asked):
    audit = audit_of(BELOW, declared=declared)
    ends = {"own": (0.2, 0.4, 0.9), "other": (20.0, 40.0, 90.0)}
    records = [
        record
        for name, every in ends.items()
        for record in records_of(
            audit, name, {seed: Measurements(scalars={"x": end}) for seed, end in enumerate(every)}
        )
    ]
    found = [*units_apart(audit, "paper", index_records(records))]
    assert [apart.most for apart in found] == [(0.4, 40.0)] * asked  # of typical runs
    lone = [record for record in records if record.settings["level"] == 0.02]
    assert not [*units_apart(audit, "paper", index_records(lone))]


def test_runs_from_elsewhere_are_all_from_there():
    audit = audit_of(BELOW)
    theirs = records_of(audit, "own", {0: Measurements()})
    ours = records_of(audit, "own", {0: Measurements()}, origin=None)
    assert from_elsewhere(theirs)
    assert not from_elsewhere([])
    assert not from_elsewhere([*theirs, *ours])
