"""From what runs say to decisions, reasons and phrases, on answers that are written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from factories import make_audit
from miniatures import aligns, claim
from reproaudit.audit.model import Claim
from reproaudit.audit.plan import PlannedArm, Role
from reproaudit.checks import Condition, Limit, Number, Provenance, Side
from reproaudit.judge.certainty import certainty, phrases
from reproaudit.judge.decisions import all_of, beats_null, decide, effect, joined, scaled
from reproaudit.judge.model import (
    AblationAnswer,
    Alternative,
    ArmAnswer,
    ClaimAnswer,
    Estimate,
    History,
    Level,
    RunAnswer,
    Specificity,
    Status,
)
from reproaudit.judge.runs import Bundles
from reproaudit.stats.binomial import Decision

MET, MISSED, OPEN = Decision.MET, Decision.MISSED, Decision.OPEN
YES, NO, VOID, FAILED, UNPAIRED = Status.YES, Status.NO, Status.VOID, Status.FAILED, Status.UNPAIRED


def limit(at: float = 1, side: Side = Side.AT_MOST, origin: str = "paper", **more: Any) -> Limit:
    return Limit(side, at, Provenance(origin), **more)


def the_arm(role: Role = Role.OWN, name: str = "own", **more: Any) -> PlannedArm:
    return PlannedArm(name, role, "descent", **more)


ONE = limit()


def answer(*rows: Any, of: Any = ONE, decision: Decision = OPEN, **more: Any) -> ArmAnswer:
    """An arm's answer; a row has a run's number for each of the bounds, or its status alone."""
    limits, contrast = of if isinstance(of, list) else [of], more.pop("contrast", False)
    runs = []
    for seed, row in enumerate(rows):
        if isinstance(row, Status):
            runs.append(RunAnswer(seed, row))
            continue
        values = row if isinstance(row, tuple) else (row,)
        said = tuple(
            Condition(Number("x", contrast=contrast), "x", value, one)
            for value, one in zip(values, limits, strict=True)
        )
        runs.append(RunAnswer(seed, YES if all(one.met for one in said) else NO, said))
    full = [run.conditions for run in runs if run.conditions]
    estimates = [
        Estimate(c[0], tuple(one.value for one in c if one.value is not None))
        for c in zip(*full, strict=True)
    ]
    arm = more.pop("arm", the_arm())
    return ArmAnswer(arm, tuple(runs), decision, more.pop("estimates", tuple(estimates)), **more)


def the_claim(**changes: Any) -> Claim:
    return make_audit(claims=[claim("mini", "one", main=True, **changes)]).claims[0]


@pytest.mark.parametrize(
    ("decisions", "joint"),
    [
        ((), OPEN), ((MET,), MET), ((MET, MET), MET), ((MET, OPEN), OPEN), ((OPEN,), OPEN),
        ((MET, MISSED), MISSED), ((OPEN, MISSED), MISSED),
    ],
)  # fmt: skip
def test_all_must_be_met(decisions: tuple[Decision, ...], joint: Decision) -> None:
    assert all_of(decisions) is joint


@pytest.mark.parametrize(
    ("statuses", "means", "exact", "decision"),
    [
        ([YES] * 5, [None], False, MET),
        ([YES] * 4, [None], False, OPEN),
        ([YES] * 4, [MET], False, OPEN),
        ([NO] * 5, [None], False, MISSED),
        ([FAILED] * 5, [None], False, MISSED),
        ([YES] * 5 + [VOID, UNPAIRED], [None], False, MET),
        ([YES] * 4 + [VOID, UNPAIRED], [None], False, OPEN),
        ([NO] * 5, [MET], False, MET),
        ([NO] * 5, [MET, OPEN], False, OPEN),
        ([YES] * 5, [MET, None], False, MET),
        ([YES] * 5, [MISSED, None], False, MISSED),
        ([YES] * 5, [OPEN, None], False, OPEN),
        ([YES] * 4 + [NO], [MET, None], False, OPEN),
        ([YES] * 5, [], False, MET),
        ([YES], [None], True, MET),
        ([YES, NO], [None], True, MISSED),
        ([VOID], [None], True, OPEN),
    ],
)
def test_counts_and_means_decide_together(
    statuses: list[Status], means: list[Decision | None], exact: bool, decision: Decision
) -> None:
    runs = [RunAnswer(i, one) for i, one in enumerate(statuses)]
    estimates = [Estimate(Condition(Number("x"), "x", 1, limit()), (1,), one) for one in means]
    assert decide(runs, estimates, 0.5, exact) is decision


def test_more_than_a_share_of_runs_must_say_yes() -> None:
    runs = [RunAnswer(i, YES) for i in range(5)]
    assert decide(runs, [], 0.54, False) is MET
    assert decide(runs, [], 0.56, False) is OPEN


@pytest.mark.parametrize(
    ("own", "null", "side", "decision"),
    [
        ([2] * 5, [1] * 5, Side.ABOVE, MET),
        ([1] * 5, [2] * 5, Side.ABOVE, MISSED),
        ([2] * 5, [1] * 5, Side.AT_MOST, MISSED),
        ([2] * 5, [1] * 5, Side.BELOW, MISSED),
        ([2] * 4, [1] * 4, Side.ABOVE, OPEN),
        ([2] * 5 + [1], [1] * 6, Side.ABOVE, MET),  # a tie counts for neither
        ([2] * 4 + [1], [1] * 5, Side.ABOVE, OPEN),
        ([2] * 5, [VOID] + [1] * 4, Side.ABOVE, OPEN),
        ([-9] * 5, [None] * 5, Side.ABOVE, MET),
        ([None] * 5, [None] * 5, Side.ABOVE, OPEN),
        ([VOID], [VOID], Side.ABOVE, None),
    ],
)
def test_a_contrast_must_beat_the_nulls_seed_by_seed(
    own: list[Any], null: list[Any], side: Side, decision: Decision | None
) -> None:
    mine, theirs = (answer(*one, of=limit(side=side), contrast=True) for one in (own, null))
    assert beats_null(mine, theirs) is decision


def test_without_a_contrast_no_null_is_beaten() -> None:
    assert beats_null(answer(*[2] * 5), answer(*[1] * 5)) is None


def test_a_run_says_yes_if_it_does_at_every_coordinate() -> None:
    order = [YES, NO, VOID, UNPAIRED, FAILED]
    one = answer(*order, 1, at=1, decision=MET, broken=True)
    for place, status in enumerate(order):
        both = joined([one, answer(*[status] * 5, 2, at=2, decision=OPEN)])
        worst = [order[max(place, other)] for other in range(5)]
        assert [run.status for run in both.runs] == [*worst, NO]
        assert (both.decision, both.broken, both.at, both.n) == (OPEN, True, None, both.n)
        assert [c.value for c in both.runs[-1].conditions] == [1, 2]
        assert [e.values for e in both.estimates] == [(1,), (2,)]
    assert joined([one]) is one


def test_a_scaled_bound_decides_again() -> None:
    own, two = answer(*[1] * 5), answer(*[(1, 3)] * 5, of=[limit(), limit(2)])
    decisions = [scaled(own, 0, by, the_claim()) for by in (0.5, 1.0, 2.0)]
    assert decisions == [MISSED, MET, MET]
    assert [scaled(two, place, 2, the_claim()) for place in (0, 1)] == [MISSED, MET]
    assert scaled(answer(*[1] * 3, *[VOID] * 2), 0, 1.0, the_claim()) is OPEN
    (estimate,) = own.estimates
    mean = replace(own, estimates=(replace(estimate, decision=MISSED, mean=(1, 0.8, 1.5)),))
    assert [scaled(mean, 0, by, the_claim()) for by in (0.5, 1, 1.5)] == [MISSED, OPEN, MET]
    without = replace(own, estimates=(replace(estimate, decision=OPEN),))
    assert scaled(without, 0, 9.0, the_claim()) is OPEN
    mixed = replace(two, estimates=(replace(two.estimates[0], decision=MET), two.estimates[1]))
    assert scaled(mixed, 1, 2, the_claim()) is MET
    assert scaled(answer(1), 0, 0.5, the_claim(exact=True)) is MISSED


def test_the_effect_is_the_first_contrast_that_has_a_size() -> None:
    both = [limit(side=Side.ABOVE)] * 2
    assert effect(answer((2, 5), (4, 5), of=both, contrast=True)) == 3
    assert effect(answer((0, 5), of=both, contrast=True)) == 5
    assert effect(answer((None, 1), of=both, contrast=True)) == 1
    assert effect(answer(2)) is None


# --- how sure, and why not surer ------------------------------------------------------------------

BASE = answer(*[0.02] * 15, of=limit(0.1), decision=MET)
UNTOUCHED = History()
GUESS = {"value": 0.02, "source": "assumption", "why": "Small.", "alternatives": [0.03, 0.04]}


def reasons(
    tier: Any = "paper", level: Any = None, history: Any = UNTOUCHED, **given: Any
) -> list[tuple[str, Any]]:
    """The reasons why we are not surer of a claim that 15 runs meet."""
    found = {k: v for k, v in given.items() if k in ClaimAnswer.__dataclass_fields__}
    changes = {k: v for k, v in given.items() if k not in found}
    settings = {"level": level} if level else {}
    audit = make_audit(claims=[claim("mini", "one", main=True, **changes)])
    audit = audit.model_copy(update={"settings": make_audit(settings=settings).settings})
    bundles = Bundles(audit, audit.claims[0], tier, {}, {})
    how_sure, notes = certainty(
        bundles, ClaimAnswer("mini.one", **{"base": BASE, **found}), history
    )
    assert how_sure is list(Level)[min(len(notes), 3)]
    return [(one.kind, dict(one.values)) for one in notes]


def own(yes: int, n: int, **more: Any) -> ArmAnswer:
    return answer(*[0.02] * yes, *[0.5] * (n - yes), of=limit(0.1), decision=MET, **more)


def reading(yes: int, n: int, decision: Decision, **more: Any) -> ArmAnswer:
    arm = the_arm(Role.READING, varied=("level", 0.3), **more)
    return replace(own(yes, n, arm=arm), decision=decision)


def other(value: float, flips: bool = False, unfinished: bool = False, n: int = 5) -> Alternative:
    arm = the_arm(Role.ALTERNATIVE, varied=("level", value))
    return Alternative(own(n, n, arm=arm), "paper", flips, unfinished)


def ours(*values: float, at: float = 0.1, **more: Any) -> ArmAnswer:
    return answer(*values, of=limit(at, origin="ours"), **more)


GRADE = {"axis": "size", "symbol": "n", "easiest_first": [1, 2], "primary": [2]}


ANGLE = {"headline": [{**aligns(0.1), "stands_for": "An angle."}]}
OF, FLAT = {"varied": ("level", 0.3)}, the_arm(Role.NULL, "flat")
BY_MEAN = own(7, 7, estimates=(replace(BASE.estimates[0], decision=MET),))
TWO = answer(*[(1, 0.06)] * 15, of=[limit(2), limit(0.1, origin="ours")])
FAR = replace(ours(*[0.11] * 15, arm=the_arm(Role.READING)), decision=Decision.MISSED)
AT_1, AT_2 = (replace(ours(*[0.06] * 15), at=at) for at in (1, 2))
NOT_VARIED = ("guess not varied", {"settings": ("level",)})


def bound(at: float) -> tuple[str, Any]:
    return "our bound", {"noun": "x", "bound": at, "stated": 0.1}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"tier": "quick"}, ("scale", {"tier": "quick"})),
        ({"wording": "derived"}, None),
        ({"wording": "recalled"}, ("indirect", {"recalled": True})),
        (ANGLE, ("indirect", {"stands_for": "An angle."})),
        ({"readings": (reading(5, 5, MET), reading(2, 4, OPEN, excused=True))}, None),
        ({"readings": (reading(5, 5, MET), reading(4, 4, OPEN))},
         ("reading not run", {**OF, "role": Role.READING})),
        ({"readings": (reading(5, 5, MET), reading(3, 5, OPEN))},
         ("reading open", {**OF, "yes": 3, "n": 5})),
        ({"level": GUESS}, NOT_VARIED),
        ({"level": GUESS, "alternatives": (other(0.03), other(0.04))}, None),
        ({"level": GUESS, "alternatives": (other(0.03), other(0.04, n=4))}, NOT_VARIED),
        ({"level": GUESS, "alternatives": (other(0.03), other(0.04, unfinished=True))}, NOT_VARIED),
        ({"alternatives": (other(0.03), other(0.04, flips=True), other(0.5, flips=True))},
         ("guess flips", {"setting": "level", "value": 0.04, "count": 2})),
        ({"base": own(8, 8)}, None),
        ({"base": own(14, 15)}, None),
        ({"base": own(1, 15)}, None),
        ({"base": own(7, 7)}, ("runs", {"disagree": 0, "n": 7})),
        ({"base": own(13, 15)}, ("runs", {"disagree": 2, "n": 15})),
        ({"base": own(2, 15)}, ("runs", {"disagree": 2, "n": 15})),
        ({"base": own(6, 15)}, ("runs", {"disagree": 6, "n": 15})),
        ({"base": own(7, 7), "exact": True}, None),
        ({"base": BY_MEAN}, None),
        ({"nulls": (own(0, 5), own(0, 5))}, None),
        ({"nulls": (own(0, 5), own(2, 5, weak=True, arm=FLAT))}, ("weak null", {"null": "flat"})),
        ({"base": ours(*[0.05] * 15)}, None),
        ({"base": ours(*[0.06] * 15)}, bound(0.05)),
        ({"base": ours(*[0.21] * 15)}, None),
        ({"base": ours(*[0.2] * 15)}, bound(0.2)),
        ({"base": answer(*[0.06] * 15, of=limit(0.1, origin="null"))}, None),
        ({"base": TWO}, bound(0.05)),
        ({"readings": (FAR,)}, bound(0.2)),
        ({"grade": GRADE, "grades": (AT_1, AT_2)}, bound(0.05)),
        ({"grade": GRADE, "grades": (AT_1,)}, None),
        ({"history": History(earlier=9, changed=frozenset({"mini.two"}))}, None),
        ({"history": History(committed=False)}, ("rule", {"changed": False})),
        ({"history": History(changed=frozenset({"mini.one"}))}, ("rule", {"changed": True})),
    ],
)  # fmt: skip
def test_each_reason_fires_where_it_must(given: dict[str, Any], expected: Any) -> None:
    assert reasons(**given) == ([] if expected is None else [expected])


def test_reasons_add_up() -> None:
    every = {"wording": "recalled", "base": own(7, 7), "history": History(committed=False)}
    assert len(reasons(tier="quick", **every)) == 4
    assert len(reasons(**every)) == 3


def ablation(found: Specificity, effects: Any = None) -> dict[str, Any]:
    arm = the_arm(Role.ABLATION, "low", lacks="B")
    return {"ablations": (AblationAnswer(answer(arm=arm), found, effects),)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"alternatives": (other(0.03), other(0.04, flips=True))},
         ("depends on", {"setting": "level", "value": 0.04})),
        ({"readings": (reading(5, 5, MET), reading(0, 4, MISSED))}, None),
        ({"readings": (reading(0, 5, MISSED),)}, ("under reading", {**OF, "decision": MISSED})),
        (ablation(Specificity.SPECIFIC), None),
        (ablation(Specificity.OPEN), None),
        (ablation(Specificity.SMALLER, (2, 9)), ("smaller", {"lacks": "B", "effects": (2, 9)})),
        (ablation(Specificity.NOT_SPECIFIC), ("not specific", {"lacks": "B", "effects": None})),
        ({"base": own(14, 15)}, ("elsewhere", {"runs": 1, "says": "end elsewhere"})),
        ({"base": own(0, 15)}, None),
        ({"base": reading(5, 5, MET)}, ("given", OF)),
    ],
)  # fmt: skip
def test_phrases_say_what_weighs(given: dict[str, Any], expected: Any) -> None:
    found = ClaimAnswer("mini.one", **{"base": BASE, **given})
    elsewhere = {"says": "end elsewhere", "measure": "final"}
    notes = phrases(the_claim(elsewhere=elsewhere), found)
    assert [(one.kind, dict(one.values)) for one in notes] == ([expected] if expected else [])
    if "base" not in given:
        assert phrases(the_claim(), found) == notes
    assert not [one for one in phrases(the_claim(), found) if one.kind == "elsewhere"]


def test_an_answer_counts_its_runs() -> None:
    one = answer(YES, YES, YES, NO, NO, FAILED, VOID, UNPAIRED)
    assert (one.yes, one.n, one.valid, one.void) == (3, 6, 5, 1)
    estimate = Estimate(Condition(Number("x"), "x", 2, limit(1)), (1, 2, 4))
    assert (estimate.median, estimate.worst, estimate.limit.at) == (2, 4, 1)
    empty = replace(estimate, values=())
    assert (empty.median, empty.worst) == (None, None)
