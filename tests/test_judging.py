"""From decisions to verdicts: the whole table, and the records behind it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import FrozenInstanceError, replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from factories import CLAIMS, LEVELS, aligns, claim, make_audit, make_lookup, make_record
from factories import measurements as measured
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, Role, claim_batches
from reproaudit.cell import CellKey, canonical_settings
from reproaudit.checks import PartResult
from reproaudit.judging.ablations import judge_ablations
from reproaudit.judging.alternatives import AlternativeRun, LedgerRuns
from reproaudit.judging.evidence import StatingOrigin, evidence_level
from reproaudit.judging.model import EvidenceLevel, Verdict
from reproaudit.judging.outcomes import BatchOutcome, Lookup, judge_batch, lookup_by_cell
from reproaudit.judging.verdict import ClaimOutcome, decide_verdict, judge_claim
from reproaudit.records import CellStatus, Measurements, Origin, Record, Series
from reproaudit.scorecard.build import build
from reproaudit.scorecard.model import Scorecard
from reproaudit.stats import Decision, RuleResult

MET, MISSED, UNDECIDED = Decision.MET, Decision.MISSED, Decision.UNDECIDED
BATCH = Batch("sparse", "paper", (), (0, 1, 2, 3, 4))
PROBLEMS = {
    "crashed": (Verdict.TECHNICAL_FAILURE, "it crashed"),
    "unfinished": (Verdict.NOT_TESTED, "it is unfinished"),
}


def part(decision: Decision, name: str = "part", ablation: str | None = None) -> PartResult:
    result = RuleResult(0.5, None, decision, 0.1, (0.5,))
    return PartResult(
        name, decision, name, "at_most", None, result, "for the test", ablation=ablation
    )


def outcome(said: Decision | str | None, role: Role = Role.EXPERIMENT) -> BatchOutcome:
    """What a batch says: a decision, or a problem by name."""
    if isinstance(said, Decision):
        return BatchOutcome(BATCH, role, (), said, (part(said),), None)
    return BatchOutcome(BATCH, role, (), None, (), PROBLEMS[str(said)])


# --- the table ----------------------------------------------------------------------------------

ANSWERS: tuple[Decision | str, ...] = (MET, MISSED, UNDECIDED, "crashed", "unfinished")
LEDGERS = ("none run", "all missed", "all met", "one open")
EVERY = list(
    itertools.product(
        ANSWERS,  # the claim's own
        ANSWERS,  # the controls'
        (*ANSWERS, None),  # the positive control's; None: not constructible
        EvidenceLevel,
        LEDGERS,  # what the one alternative says, beyond seed noise
        ("smoke", "quick", "paper"),
    )
)


def ledger(said: str, own: Decision | str = MET) -> LedgerRuns:
    """One alternative, 128 for a width of 64, and what it came to."""
    decision = {"all missed": MISSED, "all met": MET}.get(said, UNDECIDED)
    flips = {own, decision} == {MET, MISSED}
    run = AlternativeRun("width", 128, "paper", decision, flips, "too few seeds to say")
    here = () if said == "none run" else (run,)
    return LedgerRuns(1, here, (), bool(here), {"width": 64})


def decided(
    own: Decision | str,
    control: Decision | str,
    positive: Decision | str | None,
    evidence: EvidenceLevel | str,
    alternatives: str,
    tier: str,
) -> tuple[Verdict, str]:
    mine, controls = outcome(own), [outcome(control, Role.CONTROL)]
    return decide_verdict(
        tier,  # type: ignore[arg-type]
        mine,
        controls,
        judge_ablations(mine.parts, controls),
        None if positive is None else outcome(positive, Role.POSITIVE_CONTROL),
        EvidenceLevel(evidence),
        ledger(alternatives, own),
    )


def by_the_design(
    own: Decision | str,
    control: Decision | str,
    positive: Decision | str | None,
    evidence: EvidenceLevel,
    alternatives: str,
    tier: str,
) -> Verdict:
    """The verdict in the words of the design, apart from the program's order of questions."""
    if tier == "smoke":
        return Verdict.NOT_TESTED
    if "crashed" in (own, control, positive):
        return Verdict.TECHNICAL_FAILURE
    if "unfinished" in (own, control, positive):
        return Verdict.NOT_TESTED
    if control is MET:
        return Verdict.VACUOUS
    if own is MISSED and positive is MISSED:
        return Verdict.UNATTAINABLE
    if own is MET and control is MISSED and positive in (MET, None):
        return Verdict.CONDITIONAL if alternatives == "all missed" else Verdict.SUPPORTED
    if own is MISSED and alternatives == "all met":
        return Verdict.CONDITIONAL
    may_contradict = evidence is EvidenceLevel.EXACT or (
        evidence is EvidenceLevel.ASSUMED and alternatives == "all missed"
    )
    if own is MISSED and tier == "paper" and may_contradict:
        return Verdict.CONTRADICTED
    return Verdict.INCONCLUSIVE


def test_every_combination_of_answers() -> None:
    assert len(EVERY) == 5 * 5 * 6 * 4 * 4 * 3
    seen = set()
    for combination in EVERY:
        verdict, why = decided(*combination)
        assert verdict is by_the_design(*combination), combination
        assert why
        seen.add(verdict)
    assert seen == set(Verdict)


REASONS = [
    ((MET, MISSED, MET, "exact", "none run", "smoke"),
     "the smoke tier only proves that the experiments run"),
    ((MET, "crashed", "unfinished", "exact", "none run", "paper"), "it crashed"),
    ((MET, MET, MET, "exact", "none run", "paper"),
     "the part 'part' is met on the control, which lacks the mechanism, so it shows nothing"),
    ((MISSED, MISSED, MISSED, "exact", "none run", "paper"),
     "missed, also on the constructed solution: out of reach of the mechanism itself in this "
     "setting; 0 of 1 alternatives run"),
    ((MET, MISSED, MISSED, "exact", "none run", "paper"),
     "met, but missed on the constructed solution"),
    ((MISSED, MISSED, MET, "exact", "none run", "paper"),
     "missed at the paper's scale and with settings it states"),
    ((MISSED, MISSED, MET, "assumed", "all missed", "paper"),
     "missed at the paper's scale, and under every alternative that it leaves open: 1 of 1 "
     "alternatives run"),
    ((MISSED, MISSED, MET, "assumed", "none run", "paper"),
     "missed, but on assumed evidence, which may not contradict a paper; 0 of 1 alternatives run"),
    ((MISSED, MISSED, MET, "exact", "all missed", "quick"),
     "missed, but at the quick tier, which may not contradict the paper; 1 of 1 alternatives run"),
    ((MISSED, MISSED, MET, "exact", "all met", "paper"),
     "supported if width = 128; missed if width = 64; 1 of 1 alternatives run"),
    ((MET, MISSED, MET, "exact", "all missed", "paper"),
     "supported if width = 64; missed if width = 128; 1 of 1 alternatives run"),
    ((UNDECIDED, MISSED, MET, "exact", "none run", "paper"),
     "interval and runs together do not decide"),
    ((MET, UNDECIDED, MET, "exact", "none run", "paper"),
     "met, but the control does not decide the part 'part'"),
    ((MET, MISSED, UNDECIDED, "exact", "none run", "paper"),
     "met, but the constructed solution does not decide"),
    ((MET, MISSED, None, "exact", "none run", "paper"),
     "met, and every part is missed on its ablation; 0 of 1 alternatives run"),
    ((MET, MISSED, None, "exact", "one open", "paper"),
     "met, and every part is missed on its ablation; 1 of 1 alternatives run; not settled: "
     "width = 128 (undecided: too few seeds to say)"),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "reason"), REASONS)
def test_every_verdict_has_its_reason(answers: tuple[Any, ...], reason: str) -> None:
    own, control, positive, evidence, alternatives, tier = answers
    expected = by_the_design(own, control, positive, EvidenceLevel(evidence), alternatives, tier)
    assert decided(*answers) == (expected, reason)


def test_the_names_of_verdicts_and_evidence_are_those_of_the_contract() -> None:
    assert [*Verdict] == [
        "supported", "conditional", "contradicted", "inconclusive", "unattainable", "vacuous",
        "technical_failure", "not_tested",
    ]  # fmt: skip
    assert [*EvidenceLevel] == ["exact", "assumed", "reduced", "proxy"]


def test_only_the_papers_own_word_contradicts_it() -> None:
    """Over the whole table: never on a guess of ours, on less than its scale, or other data."""
    for own, control, positive, evidence, alternatives, tier in EVERY:
        verdict, _ = decided(own, control, positive, evidence, alternatives, tier)
        if verdict is Verdict.CONTRADICTED:
            assert (own, tier) == (MISSED, "paper")
            assert control is not MET
            assert evidence is EvidenceLevel.EXACT or (
                evidence is EvidenceLevel.ASSUMED and alternatives == "all missed"
            )


def test_the_ledger_binds_praise_and_blame_alike() -> None:
    """Where an alternative decides the opposite, a claim is neither supported nor contradicted."""
    for own, control, positive, evidence, alternatives, tier in EVERY:
        if (own, alternatives) in ((MET, "all missed"), (MISSED, "all met")):
            verdict, _ = decided(own, control, positive, evidence, alternatives, tier)
            assert verdict not in (Verdict.SUPPORTED, Verdict.CONTRADICTED)


def test_an_unattainable_check_is_met_by_no_control() -> None:
    """Where another control meets what the constructed solution misses, nothing is concluded."""
    own, constructed = outcome(MISSED), outcome(MISSED, Role.POSITIVE_CONTROL)
    named = by_name("ablation", {"part": "ablation"}, part=MISSED)
    meets = by_name("other", {"part": "ablation"}, part=MET)
    for controls, expected in (
        ([named], Verdict.UNATTAINABLE),
        ([named, meets], Verdict.INCONCLUSIVE),
        ([named, replace(meets, inert=True)], Verdict.UNATTAINABLE),
    ):
        ablations = judge_ablations(own.parts, controls)
        found = decide_verdict(
            "paper", own, controls, ablations, constructed, EvidenceLevel.EXACT, ledger("none run")
        )
        assert found[0] is expected, found[1]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (MET, Verdict.NOT_TESTED),
        (UNDECIDED, Verdict.NOT_TESTED),
        (MISSED, Verdict.CONTRADICTED),
    ],
)
def test_a_part_that_is_not_tested_hides_no_miss(other: Decision, expected: Verdict) -> None:
    untested = replace(part(UNDECIDED, "settles"), untested="it is not measured")
    decision = MISSED if other is MISSED else UNDECIDED
    own = BatchOutcome(BATCH, Role.EXPERIMENT, (), decision, (part(other, "falls"), untested), None)
    controls = [control(falls=MISSED, settles=MISSED)]
    verdict, why = decide_verdict(
        "paper",
        own,
        controls,
        judge_ablations(own.parts, controls),
        None,
        EvidenceLevel.EXACT,
        ledger("none run"),
    )
    assert verdict is expected, why
    assert ("'settles': it is not measured" in why) is (expected is Verdict.NOT_TESTED)


# --- ablations ----------------------------------------------------------------------------------


def control(**answers: Decision) -> BatchOutcome:
    parts = tuple(part(decision, name) for name, decision in answers.items())
    worst = MISSED if MISSED in answers.values() else MET
    return BatchOutcome(BATCH, Role.CONTROL, (), worst, parts, None)


def by_name(name: str, ablations: Mapping[str, str], **answers: Decision) -> BatchOutcome:
    """A control with a name, whose parts name their ablations."""
    parts = tuple(part(decision, one, ablations[one]) for one, decision in answers.items())
    return replace(control(**answers), name=name, parts=parts)


DIVERGED = BatchOutcome(BATCH, Role.CONTROL, (), UNDECIDED, (), None, diverged=(0, 1, 2))
INERT = replace(control(a=MISSED, b=MISSED), inert=True)


@pytest.mark.parametrize(
    ("controls", "decision", "met"),
    [
        ([control(a=MISSED, b=MISSED)], MISSED, ()),
        ([control(a=MISSED, b=MET)], MET, ("b",)),
        ([control(a=MET, b=MET)], MET, ("a", "b")),
        ([control(a=MISSED, b=UNDECIDED)], UNDECIDED, ()),
        ([control(a=MET, b=UNDECIDED)], MET, ("a",)),
        ([control(a=MISSED, b=MET), control(a=MET, b=MISSED)], MISSED, ()),
        ([control(a=MISSED, b=MET), control(a=MISSED, b=MET)], MET, ("b",)),
        ([control(a=MISSED, b=MET), control(a=MISSED, b=UNDECIDED)], UNDECIDED, ()),
        ([DIVERGED], UNDECIDED, ()),
        ([INERT], UNDECIDED, ()),
        ([control(a=MET, b=MET), DIVERGED], MET, ("a", "b")),
        ([control(a=MISSED, b=MISSED), outcome("crashed", Role.CONTROL)], None, ()),
        # the second runs at a smaller scale, whose axis is shorter
        ([control(a=MISSED, b=MISSED), control(a=MET)], MISSED, ()),
        ([control(a=MISSED), control(a=MISSED, b=MET)], MET, ("b",)),
    ],
    ids=[
        "all missed",
        "one part met",
        "all met",
        "one part open",
        "met outweighs open",
        "between them they miss all",
        "both meet the same part",
        "the better answer counts",
        "one that diverged answers nothing",
        "one that is inert answers nothing",
        "one that diverged rescues nothing",
        "one that crashed says nothing",
        "a shorter one",
        "a longer one",
    ],
)
def test_where_no_ablation_is_named_the_controls_answer_together(
    controls: list[BatchOutcome], decision: Decision | None, met: tuple[str, ...]
) -> None:
    own = (part(MET, "a"), part(MET, "b"))
    found = judge_ablations(own, controls)
    assert (found.decision, found.parts(MET)) == (decision, met)


AB = {"a": "first", "b": "second"}


@pytest.mark.parametrize(
    ("first", "second", "expected", "why"),
    [
        ({"a": MISSED, "b": MET}, {"a": MET, "b": MISSED}, Verdict.SUPPORTED, "is missed on its"),
        ({"a": MET, "b": MISSED}, {"a": MISSED, "b": MISSED}, Verdict.VACUOUS,
         "the part 'a' is met on the control 'first'"),
        ({"a": UNDECIDED, "b": MISSED}, {"a": MISSED, "b": MISSED}, Verdict.INCONCLUSIVE,
         "the control 'first' does not decide the part 'a'"),
    ],
    ids=["each by its own", "another cannot rescue what is met", "nor what is undecided"],
)  # fmt: skip
def test_the_named_ablation_alone_answers_for_its_part(
    first: dict[str, Decision], second: dict[str, Decision], expected: Verdict, why: str
) -> None:
    """Best-of-all-controls: a model that learned nothing must not rescue a part."""
    own = replace(control(a=MET, b=MET), parts=(part(MET, "a", "first"), part(MET, "b", "second")))
    controls = [by_name("first", AB, **first), by_name("second", AB, **second)]
    found = verdict_on(own, controls)
    assert found[0] is expected, found[1]
    assert why in found[1]


def test_a_part_that_another_control_meets_is_named() -> None:
    """A target exchanged for another is missed by symmetry; what selects nothing may meet it."""
    own = replace(control(a=MET, b=MET), parts=(part(MET, "a", "first"), part(MET, "b", "second")))
    answers = [by_name("first", AB, a=MISSED, b=MET), by_name("second", AB, a=MISSED, b=MISSED)]
    verdict, why = verdict_on(own, answers)
    assert verdict is Verdict.SUPPORTED
    assert "the control 'first', which is not their ablation, meets 'b'" in why
    inert = replace(answers[0], inert=True, parts=(part(MET, "b", "second"),))
    assert "not their ablation" not in verdict_on(own, [inert, answers[1]])[1]


def verdict_on(own: BatchOutcome, controls: list[BatchOutcome]) -> tuple[Verdict, str]:
    ablations = judge_ablations(own.parts, controls)
    nothing = ledger("none run")
    return decide_verdict("paper", own, controls, ablations, None, EvidenceLevel.ASSUMED, nothing)


@pytest.mark.parametrize(
    ("controls", "verdict", "why"),
    [
        ([control(a=MISSED, b=MISSED)], Verdict.SUPPORTED, "every part is missed on its ablation"),
        (
            [replace(control(a=MISSED), scale_reason="It is slow.")],
            Verdict.SUPPORTED,
            "every part that its ablation has is missed there; the control is said to run at "
            "another scale, which no setting shows; 1 of 2 parts exist at the claim's scale alone",
        ),
        (
            [control(a=MISSED)],
            Verdict.INCONCLUSIVE,
            "the part 'b' has no ablation: the control lacks it, and gives no reason for a smaller",
        ),
        ([control(a=MISSED), control(b=MISSED)], Verdict.SUPPORTED, "every part is missed"),
        (
            [replace(control(a=MISSED, b=MISSED), smaller="steps 10 not 20")],
            Verdict.SUPPORTED,
            "the control runs at a smaller scale (steps 10 not 20)",
        ),
        (
            [DIVERGED],
            Verdict.INCONCLUSIVE,
            "the part 'a' has no ablation: the control diverged for 3 of 5 seeds",
        ),
        ([INERT], Verdict.INCONCLUSIVE, "the part 'a' has no ablation: the control is inert"),
    ],
    ids=[
        "all",
        "a shorter one",
        "without a reason",
        "between them all",
        "a smaller one",
        "diverged",
        "inert",
    ],
)
def test_the_reason_names_what_limits_an_ablation(
    controls: list[BatchOutcome], verdict: Verdict, why: str
) -> None:
    found = verdict_on(control(a=MET, b=MET), controls)
    assert found[0] is verdict
    assert why in found[1]


def test_of_equal_controls_the_first_answers() -> None:
    first, second = control(a=MISSED, b=MET), control(a=MISSED, b=UNDECIDED)
    best = judge_ablations((), [first, second]).answers
    assert best["a"][0] is first
    assert best["b"][0] is second


# --- records to verdicts ------------------------------------------------------------------------

Said = Callable[[str, int], dict[str, Any] | None]
"""From the mechanism and the seed to what the record says; None: not run."""


def lookup_of(audit: Audit, said: Said, tier: TierName = "paper") -> Lookup:
    rules = {c.id: audit.rule_hash(c, tier) for c in audit.claims}

    def lookup(batch: Batch) -> Mapping[int, Record]:
        values = batch.settings(audit)
        found = {seed: said(str(values["mechanism"]), seed) for seed in batch.seeds}
        return {
            seed: make_record("toy", batch, values, seed, rules, one)
            for seed, one in found.items()
            if one is not None
        }

    return lookup


def toy(**changes: Any) -> Audit:
    """An audit of one claim on an experiment whose settings are all the paper's."""
    return make_audit(claims=[{**claim("one", "good"), **changes}], findings=[])


def verdict_of(
    audit: Audit, said: Said, tier: TierName = "paper", runs: Sequence[AlternativeRun] = ()
) -> ClaimOutcome:
    return judge_claim(audit, audit.claims[0], tier, lookup_of(audit, said, tier), runs)


def fine(mechanism: str, seed: int) -> dict[str, Any]:
    return {"measurements": measured(LEVELS[mechanism], 0.1, seed)}


def but(mechanism: str, seed: int | None = None, **said: Any) -> Said:
    """As it should be, but for one mechanism, at one seed or at all."""

    def record(at: str, number: int) -> dict[str, Any] | None:
        if at != mechanism or seed not in (None, number):
            return fine(at, number)
        return {**fine(at, number), **said} if said else None

    return record


FAILED = {"status": CellStatus.FAILED, "error": "out of memory", "measurements": Measurements()}
DIVERGES = {"status": CellStatus.DIVERGED, "error": "diverged", "measurements": Measurements()}
EMPTY = {"measurements": Measurements()}
ORIGIN = Origin(who="A", source="B", framework="C", made=date(2025, 5, 1))
STATING = StatingOrigin(**vars(ORIGIN), stated=("rate", *toy().settings_of("good")))
FAR = {"measurements": measured(0.8, 0.1, 0)}


def level(mechanism: str, value: float) -> Said:
    def record(at: str, seed: int) -> dict[str, Any]:
        return {"measurements": measured(value if at == mechanism else LEVELS[at], 0.1, seed)}

    return record


@pytest.mark.parametrize(
    ("said", "changes", "expected", "text"),
    [
        (fine, {}, Verdict.SUPPORTED, "every part is missed on its ablation"),
        (level("full", 0.8), {}, Verdict.CONTRADICTED, "at the paper's scale"),
        (level("full", 0.1), {}, Verdict.INCONCLUSIVE, "do not decide"),
        (level("none", 0.01), {}, Verdict.VACUOUS, "is met on the control"),
        (level("none", 0.1), {}, Verdict.INCONCLUSIVE, "the control does not decide"),
        (level("constructed", 0.8), {}, Verdict.INCONCLUSIVE, "met, but missed on the constructed"),
        (level("constructed", 0.1), {}, Verdict.INCONCLUSIVE, "constructed solution does not"),
        (but("full", 3), {}, Verdict.NOT_TESTED, "4 of 5 seeds have been run"),
        (but("none", 3), {}, Verdict.NOT_TESTED, "the control 'good' is unfinished"),
        (but("constructed", 3), {}, Verdict.NOT_TESTED, "the positive control 'good' is unfinishe"),
        (but("full", 3, **FAILED), {}, Verdict.TECHNICAL_FAILURE, "seed 3: out of memory"),
        (but("none", 3, **FAILED), {}, Verdict.TECHNICAL_FAILURE, "the control 'good' failed"),
        (but("constructed", 3, **FAILED), {}, Verdict.TECHNICAL_FAILURE, "positive control"),
        (but("full", 3, **EMPTY), {}, Verdict.TECHNICAL_FAILURE, "seed 3 has no 'distance'"),
        (
            but("none", 3, **EMPTY),
            {},
            Verdict.TECHNICAL_FAILURE,
            "the control 'good' cannot be judged: the record of seed 3 has no 'distance'",
        ),
        (
            but("full", 3, **DIVERGES),
            {},
            Verdict.TECHNICAL_FAILURE,
            "the experiment 'good' diverged, seed 3",
        ),
        (
            but("full", None, **DIVERGES),
            {},
            Verdict.TECHNICAL_FAILURE,
            "the experiment 'good' diverged, seed 0, 1, 2, 3, 4",
        ),
        (
            but("full", 3, **EMPTY, origin=ORIGIN),
            {},
            Verdict.NOT_TESTED,
            "not supplied from elsewhere: the record of seed 3 has no 'distance'",
        ),
        (
            but("full", 3, **DIVERGES),
            {"if_diverged": "missed"},
            Verdict.CONTRADICTED,
            "missed at the paper's scale",
        ),
        (but("none", 3, **DIVERGES), {}, Verdict.INCONCLUSIVE, "the control does not decide"),
        (but("none", None, **DIVERGES), {}, Verdict.INCONCLUSIVE, "diverged for 5 of 5 seeds"),
        (but("constructed", 3, **DIVERGES), {}, Verdict.INCONCLUSIVE, "constructed solution"),
    ],
)
def test_what_records_come_to(
    said: Said, changes: dict[str, Any], expected: Verdict, text: str
) -> None:
    found = verdict_of(toy(**changes), said)
    assert found.verdict is expected, found.why
    assert text in found.why


@pytest.mark.parametrize(
    ("steps", "size"),
    [(1, "smaller"), (2_699, "smaller"), (2_700, ""), (3_300, ""), (3_334, "larger")],
)
def test_an_ablation_that_trained_for_less_or_longer_needs_a_reason(steps: int, size: str) -> None:
    """One step of three thousand: whatever starts at zero has moved by all of its size. And one
    that trains for longer may miss a check for that alone."""

    def said(mechanism: str, seed: int) -> dict[str, Any]:
        return {**fine(mechanism, seed), "steps": steps if mechanism == "none" else 3_000}

    found = verdict_of(toy(controls=[CONTROL]), said)
    assert found.verdict is (Verdict.INCONCLUSIVE if size else Verdict.SUPPORTED), found.why
    trained = f"{steps:,} in place of the claim's 3,000 steps"
    assert (
        f"the control trained for {trained}, and gives no reason for another scale, so it counts "
        "for nothing" in found.why
    ) is bool(size)
    reason = {"scale": "same", "scale_reason": "It is slow."}
    found = verdict_of(toy(controls=[{**CONTROL, **reason}]), said)
    assert found.verdict is Verdict.SUPPORTED
    assert "every part is missed on its ablation" in found.why
    named = f"runs at a {size} scale ({trained})"
    unseen = "is said to run at another scale, which no setting shows"
    assert f"the control {named if size else unseen}" in found.why


def test_without_reported_steps_series_tell_how_long_a_control_trained() -> None:
    """The defect: runs that report no steps, as logs do, were asked nothing."""

    def said(mechanism: str, seed: int) -> dict[str, Any]:
        run = fine(mechanism, seed)
        series = run["measurements"].series["loss"]
        early = Series(steps=series.steps[:2], values=series.values[:2])
        if mechanism == "none":
            run["measurements"] = run["measurements"].model_copy(update={"series": {"loss": early}})
        return run

    found = verdict_of(toy(controls=[CONTROL]), said)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "the control trained for 5 in place of the claim's 100 steps" in found.why

    def silent(mechanism: str, seed: int) -> dict[str, Any]:
        numbers = fine(mechanism, seed)["measurements"]
        return {"measurements": numbers.model_copy(update={"series": {}})}

    found = verdict_of(toy(controls=[CONTROL]), silent)
    assert found.verdict is Verdict.SUPPORTED
    assert "nothing shows that the control trained for as long as the claim" in found.why


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"arrays": {}}, Verdict.SUPPORTED),
        ({"scalars": {}}, Verdict.TECHNICAL_FAILURE),
        ({"arrays": {}, "series": {"loss": Series(steps=(0, 5), values=np.array([1.0, 0.9]))}},
         Verdict.TECHNICAL_FAILURE),
    ],
    ids=["a number that no check reads", "the number that is read", "a series that ends early"],
)  # fmt: skip
def test_a_claim_is_judged_where_only_other_numbers_are_not_finite(
    changes: dict[str, Any], expected: Verdict
) -> None:
    kept = measured(LEVELS["full"], 0.1, 3).model_copy(update=changes)
    said = but("full", 3, **{**DIVERGES, "measurements": kept})
    assert verdict_of(toy(), said).verdict is expected


@pytest.mark.parametrize(("diverged", "answers"), [(4, True), (5, False), (6, False)])
def test_a_control_answers_if_more_than_half_of_its_seeds_are_left(
    diverged: int, answers: bool
) -> None:
    """Of ten seeds, five that diverged are one too many; the other five would decide."""

    def said(mechanism: str, seed: int) -> dict[str, Any] | None:
        lost = mechanism == "none" and seed < diverged
        return {**fine(mechanism, seed), **(DIVERGES if lost else {})}

    audit = make_audit(
        claims=[claim("one", "good")],
        findings=[],
        seeds={"quick": list(range(10)), "paper": list(range(10))},
    )
    (shown,) = verdict_of(audit, said).controls
    assert shown.decision is (MISSED if answers else UNDECIDED)


def test_a_seed_that_diverged_is_never_dropped() -> None:
    found = verdict_of(toy(if_diverged="missed"), but("full", 3, **DIVERGES))
    assert (found.decision, found.own.diverged, found.own.parts) == (MISSED, (3,), ())


def test_without_a_positive_control_the_control_alone_convicts() -> None:
    audit = toy(positive_control={"not_constructible": "No closed form."})
    assert verdict_of(audit, fine).verdict is Verdict.SUPPORTED
    assert verdict_of(audit, level("none", 0.01)).verdict is Verdict.VACUOUS


def test_an_outcome_holds_what_the_scorecard_shows_of_it() -> None:
    """Every condition, the reason and the substitutes of a control, and what no control misses."""
    substitutes = {"layer_distance": "weights", "distance": "error"}
    audit = toy(controls=[{**CONTROL, "substitutes": substitutes}])
    lookup = lookup_of(audit, fine)
    found = judge_claim(audit, audit.claims[0], "paper", lookup)
    assert [one.result for one in found.own.conditions] == [found.own.parts[0].result]
    (one,) = found.controls
    assert one.why == "trains without the mechanism"
    assert one.substitutes == (("distance", "error"), ("layer_distance", "weights"))
    assert found.ablations.parts(MET) == ()
    assert verdict_of(toy(), level("none", 0.01)).ablations.parts(MET) == ("distance",)
    for outcome in (found, found.own):
        with pytest.raises(FrozenInstanceError):
            outcome.why = "for another reason"  # type: ignore[misc]


def test_a_batch_is_not_judged_by_other_than_its_seeds() -> None:
    audit = toy()
    (role, batch), *_ = claim_batches(audit, audit.claims[0], "paper")
    records = lookup_of(audit, fine)(replace(batch, seeds=(*batch.seeds, 9)))
    found = judge_batch(audit, audit.claims[0], audit.claims[0].checks, role, batch, records)
    assert tuple(record.seed for record in found.records) == batch.seeds


def test_records_are_found_by_settings_and_seed() -> None:
    audit = toy()
    (_, own), (_, other), *_ = claim_batches(audit, audit.claims[0], "paper")
    records = {seed: record for seed, record in lookup_of(audit, fine)(own).items() if seed != 1}
    asked = []

    def records_of(tier: TierName) -> Mapping[CellKey, Record]:
        asked.append(tier)
        settings = canonical_settings(own.settings(audit))
        return {
            (own.experiment, settings, seed): record for seed, record in [*records.items()][::-1]
        }

    lookup = lookup_by_cell(audit, records_of)
    assert dict(lookup(own)) == records
    assert list(lookup(replace(own, seeds=(4, 0, 7)))) == [4, 0]
    assert not lookup(replace(other, tier="paper"))
    assert asked == ["paper"]


def test_smoke_judges_nothing_however_good_the_numbers() -> None:
    found = verdict_of(toy(checks=[aligns(over="every_seed")]), fine, "smoke")
    assert (found.decision, found.verdict) == (MET, Verdict.NOT_TESTED)


def test_the_confidence_of_the_audit_decides() -> None:
    narrow, wide = (
        make_audit(claims=[claim("one", "good")], findings=[], confidence=c) for c in (0.9, 0.999)
    )
    near = level("full", 0.088)
    assert verdict_of(narrow, near).decision is MET
    assert verdict_of(wide, near).decision is UNDECIDED


# --- evidence -----------------------------------------------------------------------------------


def with_setting(**setting: Any) -> Audit:
    audit = toy()
    plain = audit.experiments["good"].settings
    one = {"value": 0.02, "source": "paper", "locator": "Section 4", **setting}
    data = audit.model_dump(mode="json")
    data["experiments"]["good"]["settings"] = {**plain, "rate": one}
    return Audit.model_validate(data, strict=False)


@pytest.mark.parametrize(
    ("setting", "tier", "expected"),
    [
        ({}, "paper", EvidenceLevel.EXACT),
        ({"source": "card"}, "paper", EvidenceLevel.EXACT),
        ({"source": "authors_code"}, "paper", EvidenceLevel.EXACT),
        ({"source": "derived"}, "paper", EvidenceLevel.EXACT),
        ({"source": "recalled"}, "paper", EvidenceLevel.ASSUMED),
        (
            {"source": "assumption", "why": "Common.", "alternatives": [0.1]},
            "paper",
            EvidenceLevel.ASSUMED,
        ),
        (
            {"contradicted_by": [{"value": 0.1, "source": "card", "locator": "x"}]},
            "paper",
            EvidenceLevel.ASSUMED,
        ),
        ({}, "quick", EvidenceLevel.REDUCED),
        ({"source": "recalled"}, "quick", EvidenceLevel.REDUCED),
    ],
)
def test_evidence_is_the_weakest_link(
    setting: dict[str, Any], tier: TierName, expected: EvidenceLevel
) -> None:
    audit = with_setting(**setting)
    found = verdict_of(audit, level("full", 0.8), tier)
    assert found.evidence is expected
    contradicts = found.verdict is Verdict.CONTRADICTED
    assert contradicts is (expected is EvidenceLevel.EXACT)
    missed = AlternativeRun("rate", 0.1, tier, MISSED, False, "harmless")
    agreed = verdict_of(audit, level("full", 0.8), tier, [missed])
    varied = bool(setting.get("alternatives") or setting.get("contradicted_by"))
    assert (agreed.verdict is Verdict.CONTRADICTED) is (contradicts or varied)


def test_evidence_of_runs_from_elsewhere_is_that_of_the_weakest() -> None:
    """Whatever the tier's settings: the value run counts, and one that nobody states is a proxy."""
    tiers = {
        "quick": {"value": 0.05, "reason": "Fast."},
        "smoke": {"value": 0.5, "reason": "Fast."},
    }
    guess = {"source": "assumption", "why": "Common.", "alternatives": [0.1], "locator": None}
    audit, guessed = with_setting(**tiers), with_setting(**guess)

    def evidence(audit: Audit, *rates: float, origin: Origin | None = STATING) -> EvidenceLevel:
        claim = audit.claims[0]
        planned = audit.values_of("good", "paper")
        batch = Batch("good", "paper", (), tuple(range(len(rates))))
        rules = {claim.id: ""}
        records = [
            make_record("toy", batch, {**planned, "rate": rate}, seed, rules,
                        {**fine("full", seed), "origin": origin})
            for seed, rate in enumerate(rates)
        ]  # fmt: skip
        return evidence_level(audit, claim, "paper", records)

    assert evidence(audit, 0.02, 0.02) is EvidenceLevel.EXACT
    assert evidence(audit, 0.02, 0.05) is EvidenceLevel.REDUCED
    assert evidence(audit, 0.5) is EvidenceLevel.REDUCED
    assert evidence(audit, 0.1) is EvidenceLevel.PROXY
    assert evidence(audit, 0.02, 0.05, 0.3) is EvidenceLevel.PROXY
    assert evidence(audit, 0.3, origin=None) is EvidenceLevel.EXACT  # ours ran what was planned
    assert evidence(guessed, 0.02) is EvidenceLevel.ASSUMED
    assert evidence(guessed, 0.1) is EvidenceLevel.ASSUMED
    assert evidence(guessed, 0.3) is EvidenceLevel.PROXY
    assert evidence(audit, 0.02, origin=ORIGIN) is EvidenceLevel.ASSUMED, "nobody states it"
    assert evidence(audit, 0.05, origin=ORIGIN) is EvidenceLevel.REDUCED
    but_the_rate = STATING.model_copy(
        update={"stated": tuple(one for one in STATING.stated if one != "rate")}
    )
    assert evidence(audit, 0.02, origin=but_the_rate) is EvidenceLevel.ASSUMED
    both = with_setting(**guess, quick={"value": 0.1, "reason": "Fast."})
    assert evidence(both, 0.1) is EvidenceLevel.REDUCED, "never raised: it is a smaller tier's"


def test_without_agreement_over_the_ledger_a_guess_does_not_contradict() -> None:
    audit = with_setting(source="recalled")
    lookup = lookup_of(audit, level("full", 0.8))
    found = judge_claim(audit, audit.claims[0], "paper", lookup)
    assert (found.evidence, found.verdict) == (EvidenceLevel.ASSUMED, Verdict.INCONCLUSIVE)


def test_one_record_of_other_data_makes_it_a_proxy() -> None:
    proxied = but("full", 4, proxy="digits", **FAR)
    assert verdict_of(toy(), proxied).evidence is EvidenceLevel.PROXY
    assert verdict_of(toy(), but("none", 4, proxy="digits", **FAR)).evidence is EvidenceLevel.EXACT


# --- the rule and its hash ----------------------------------------------------------------------


def hash_of(audit: Audit, tier: TierName = "paper") -> str:
    return audit.rule_hash(audit.claims[0], tier)


CONTROL = {
    "experiment": "good",
    "settings": {"mechanism": "none"},
    "why": "trains without the mechanism",
}
SEEDS = {"quick": [0, 1, 2, 3, 4], "paper": [0, 1, 2, 3, 4]}


@pytest.mark.parametrize(
    "changes",
    [
        {"checks": [aligns(at_most=0.2)]},
        {"checks": [aligns(over="every_seed")]},
        {"checks": [aligns(floor=1e-9)]},
        {"checks": [aligns(), aligns(name="again")]},
        {"controls": [{**CONTROL, "settings": {"mechanism": "constructed"}}]},
        {"controls": [{**CONTROL, "scale": "same"}]},
        {"controls": [{**CONTROL, "why": "A reason for its scale alone is missing."}]},
        {"controls": [CONTROL, {**CONTROL, "settings": {"mechanism": "noise"}}]},
        {"positive_control": {"not_constructible": "No closed form."}},
        {"controls": [{**CONTROL, "substitutes": {"distance": "accuracy"}}]},
        {"if_diverged": "missed"},
        {"experiment": "opposite"},
    ],
)
def test_the_hash_changes_with_the_rule(changes: dict[str, Any]) -> None:
    assert hash_of(toy(**changes)) != hash_of(toy())


@pytest.mark.parametrize(
    "changes",
    [
        {"statement": "Other words."},
        {"locator": "Section 9"},
        {"weight": 0.9},
        {"checks": [aligns(reason="Other words.")]},
        {"controls": [{**CONTROL, "why": "Other words.", "scale_reason": "Other words."}]},
    ],
)
def test_the_hash_does_not_change_with_the_wording(changes: dict[str, Any]) -> None:
    assert hash_of(toy(**changes)) == hash_of(toy())


def test_the_hash_covers_confidence_and_the_seeds_that_decide() -> None:
    claims = [claim("one", "good")]

    def hashes(**changes: Any) -> tuple[str, str]:
        audit = make_audit(claims=claims, findings=[], **changes)
        return hash_of(audit, "quick"), hash_of(audit, "paper")

    quick, paper = hashes()
    assert all(a != b for a, b in zip(hashes(confidence=0.9), (quick, paper), strict=True))
    other_paper = hashes(seeds={**SEEDS, "paper": [0, 1, 2, 3, 5]})
    assert (other_paper[0] == quick, other_paper[1] == paper) == (True, False)
    # controls run at quick scale, so that the quick seeds decide at the paper tier as well
    other_quick = hashes(seeds={**SEEDS, "quick": [0, 1, 2, 3, 5]})
    assert (other_quick[0] == quick, other_quick[1] == paper) == (False, False)
    same_scale = [
        claim(
            "one",
            "good",
            controls=[{**CONTROL, "scale": "same"}],
            positive_control={"not_constructible": "None."},
        )
    ]
    at_scale = [
        hash_of(make_audit(claims=same_scale, findings=[], seeds=seeds))
        for seeds in (SEEDS, {**SEEDS, "quick": [0, 1, 2, 3, 5]})
    ]
    assert at_scale[0] == at_scale[1]


# --- what the scorecard shows of it -------------------------------------------------------------

SHORT = {"value": [1, 2, 3], "source": "paper", "locator": "Figure 2"}


def lengths() -> Audit:
    """A claim over an axis that the quick tier, and so the control, shortens."""
    data = toy(
        checks=[aligns(each="length", distance={"measurement": "by_length"})],
        positive_control={"not_constructible": "None."},
    ).model_dump(mode="json")
    data["settings"]["lengths"] = {**SHORT, "quick": {"value": [1, 3], "reason": "The ends."}}
    data["experiments"]["good"]["measurements"]["by_length"] = {
        "kind": "array",
        "axes": [{"name": "length", "setting": "lengths"}],
        "unit": "1",
        "meaning": "As the paper has it.",
    }
    return Audit.model_validate(data, strict=False)


def by_length(audit: Audit) -> Lookup:
    plain = lookup_of(audit, fine)

    def lookup(batch: Batch) -> Mapping[int, Record]:
        values = batch.settings(audit)
        lengths = values["lengths"]
        assert isinstance(lengths, tuple)
        return {
            seed: record.model_copy(
                update={
                    "measurements": Measurements(
                        arrays={
                            "by_length": LEVELS[str(values["mechanism"])]
                            * np.ones(len(lengths))
                            * (1 + 0.01 * (seed % 5))
                        }
                    )
                }
            )
            for seed, record in plain(batch).items()
        }

    return lookup


def test_a_control_at_a_smaller_scale_may_have_fewer_parts() -> None:
    audit = lengths()
    card = build(audit, "paper", by_length(audit))
    (one,) = card.claims
    assert one.verdict == Verdict.SUPPORTED
    assert [p.name for p in one.parts] == [f"distance, length {n}" for n in (1, 2, 3)]
    assert [p.control for p in one.parts] == ["missed", None, "missed"]
    assert len(one.control.parts) == 2


def test_the_control_shown_is_what_the_controls_say_together() -> None:
    """One control meets everything, the other misses it: the claim is supported, and says so."""
    meets = {**CONTROL, "settings": {"mechanism": "constructed"}}
    audit = toy(controls=[meets, CONTROL])
    (one,) = build(audit, "paper", lookup_of(audit, fine)).claims
    assert one.verdict == Verdict.SUPPORTED
    assert [c.decision for c in one.controls] == ["met", "missed"]
    assert (one.control.decision, one.control.settings) == ("missed", {"mechanism": "none"})
    assert one.control.estimate == pytest.approx(0.8, rel=0.2)


def test_a_control_that_diverged_is_shown_to_answer_nothing() -> None:
    audit = toy()
    (one,) = build(audit, "paper", lookup_of(audit, but("none", None, **DIVERGES))).claims
    assert one.verdict == Verdict.INCONCLUSIVE
    assert (one.control.decision, one.control.parts) == ("undecided", ())
    assert [p.control for p in one.parts] == [None]


def test_a_control_that_could_not_run_is_shown() -> None:
    audit = toy()
    (one,) = build(audit, "paper", lookup_of(audit, but("none", 2, **FAILED))).claims
    assert one.control.decision is None
    assert "out of memory" in str(one.control.problem)


def test_records_of_older_code_are_judged_and_drawn_without_a_traceback() -> None:
    """They measured other things, or in other shapes, or looked at other steps."""
    # With the claim on the loss, its picture would make the figure of the losses superfluous.
    audit = make_audit(claims=[one for one in CLAIMS if one["id"] != "toy.converges"])
    current = make_lookup(audit)

    def without(name: str, record: Record) -> Record:
        found = record.measurements
        kept = {
            kind: {n: v for n, v in getattr(found, kind).items() if n != name}
            for kind in ("scalars", "series", "arrays")
        }
        return record.model_copy(update={"measurements": Measurements(**kept)})

    def scorecard(change: Callable[[Record], Record]) -> Scorecard:
        return build(
            audit, "paper", lambda batch: {s: change(r) for s, r in current(batch).items()}
        )

    drawn = {f.id for f in scorecard(lambda r: r).figures}
    assert drawn == {"losses", "weights", "errors"}
    assert {f.id for f in scorecard(lambda r: without("loss", r)).figures} == drawn - {"losses"}
    reshaped = scorecard(
        lambda r: r.model_copy(
            update={
                "measurements": Measurements(
                    scalars=r.measurements.scalars,
                    arrays={**r.measurements.arrays, "layer_distance": np.ones(2)},
                    series=r.measurements.series,
                )
            }
        )
    )
    layers = next(c for c in reshaped.claims if c.id == "toy.layers")
    assert layers.verdict == Verdict.TECHNICAL_FAILURE
    assert "shape (2,); the audit declares (3,)" in layers.why

    def older(record: Record) -> Record:
        if record.seed > 1 or not record.measurements.series:
            return record
        loss = record.measurements.series["loss"]
        early = loss.model_copy(update={"steps": loss.steps[:4], "values": loss.values[:4]})
        changed = record.measurements.model_copy(update={"series": {"loss": early}})
        return record.model_copy(update={"measurements": changed})

    losses = next(f for f in scorecard(older).figures if f.id == "losses")
    assert losses.seeds == (2, 3, 4)


def test_an_outcome_without_parts_has_no_deciding_part() -> None:
    assert outcome("crashed").deciding_part is None
    two = replace(outcome(MET), parts=(part(MET, "a"), part(MISSED, "b")))
    assert two.deciding_part is not None
    assert two.deciding_part.name == "b"
