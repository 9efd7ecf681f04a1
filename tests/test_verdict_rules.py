"""The defects that an earlier form of the rules let pass, each made again on the toy paper."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import pytest

from factories import CLAIMS, LEVELS, aligns, claim, make_audit, make_lookup
from factories import measurements as measured
from reproaudit.audit.model import REASONS_THAT_COUNT, Audit, TierName
from reproaudit.audit.plan import Batch
from reproaudit.audit.rules import broken_rules
from reproaudit.judging.alternatives import AlternativeRun
from reproaudit.judging.model import EvidenceLevel, Verdict
from reproaudit.judging.outcomes import Lookup, differing_runs
from reproaudit.judging.verdict import ClaimOutcome, judge_claim, judge_claims
from reproaudit.lab import measure_movement
from reproaudit.multiverse.ledger import alternatives_run
from reproaudit.records import Measurements, Origin, Record, Series
from reproaudit.scorecard.build import build
from reproaudit.stats import Decision
from test_judging import (
    CONTROL,
    DIVERGES,
    MET,
    MISSED,
    UNDECIDED,
    Said,
    fine,
    level,
    lookup_of,
    toy,
    verdict_of,
    with_setting,
)

GUESS = {"source": "assumption", "why": "Common.", "alternatives": [0.1], "locator": None}


def rate(decision: Decision, tier: TierName = "paper", flips: bool = True) -> AlternativeRun:
    """The alternative rate came out so, beyond seed noise."""
    return AlternativeRun("rate", 0.1, tier, decision, flips, "as it is for the test")


# --- evidence is never raised -------------------------------------------------------------------


def unscaled(audit: Audit) -> Audit:
    """The same audit, whose steps are the same at every tier."""
    return audit.model_copy(update={"settings": {"mechanism": audit.settings["mechanism"]}})


def test_a_value_of_the_quick_tier_is_not_raised_to_the_papers_scale() -> None:
    """The rate is assumed, and the quick tier runs what is also its alternative; all miss."""
    audit = unscaled(with_setting(**GUESS, quick={"value": 0.1, "reason": "Fast."}))
    small = verdict_of(audit, level("full", 0.8), "quick", [rate(MISSED, "quick", False)])
    assert (small.evidence, small.verdict) == (EvidenceLevel.REDUCED, Verdict.INCONCLUSIVE)
    whole = verdict_of(audit, level("full", 0.8), "paper", [rate(MISSED, "paper", False)])
    assert (whole.evidence, whole.verdict) == (EvidenceLevel.ASSUMED, Verdict.CONTRADICTED)


def test_nothing_is_contradicted_below_the_paper_tier() -> None:
    """Not even where the smaller tier runs every setting at the paper's value."""
    found = verdict_of(unscaled(toy()), level("full", 0.8), "quick")
    assert (found.evidence, found.verdict) == (EvidenceLevel.EXACT, Verdict.INCONCLUSIVE)
    assert verdict_of(unscaled(toy()), level("full", 0.8)).verdict is Verdict.CONTRADICTED


def test_a_verdict_at_a_smaller_tier_says_so() -> None:
    audit = toy()
    for tier, words in (("quick", "supported at reduced scale"), ("paper", "supported")):
        (one,) = build(audit, tier, lookup_of(audit, fine, tier)).claims  # type: ignore[arg-type]
        assert (one.verdict, one.headline) == (Verdict.SUPPORTED, words)


# --- the ledger's alternatives ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "runs", "expected"),
    [
        (0.03, [rate(MISSED)], Verdict.CONDITIONAL),
        (0.8, [rate(MET)], Verdict.CONDITIONAL),
        (0.03, [rate(UNDECIDED, flips=False)], Verdict.SUPPORTED),
        (0.03, [rate(MISSED, flips=False)], Verdict.SUPPORTED),
        (0.03, [rate(MISSED, "quick")], Verdict.SUPPORTED),
        (0.8, [rate(MET, "quick")], Verdict.INCONCLUSIVE),
        (0.8, [rate(MISSED, "quick", False)], Verdict.INCONCLUSIVE),
        (0.8, [rate(UNDECIDED, flips=False)], Verdict.INCONCLUSIVE),
        (0.8, [rate(MISSED, flips=False)], Verdict.CONTRADICTED),
    ],
    ids=[
        "met to missed",
        "missed to met",
        "undecided leaves it",
        "within noise leaves it",
        "a lower tier's makes it not conditional",
        "nor from missed to met",
        "nor contradicted",
        "an open one does not contradict",
        "all missed",
    ],
)
def test_conditions_are_symmetric_and_of_this_tier(
    own: float, runs: list[AlternativeRun], expected: Verdict
) -> None:
    audit = with_setting(**GUESS)
    lookup = lookup_of(audit, level("full", own))
    found = judge_claim(audit, audit.claims[0], "paper", lookup, runs)
    assert found.verdict is expected, found.why
    (card,) = build(audit, "paper", lookup, alternatives={"toy.one": runs}).claims
    here = [one for one in runs if one.tier == "paper"]
    assert card.alternatives_run is not None
    assert (card.alternatives_run.run, card.alternatives_run.of) == (len(here), 1)
    assert len(card.alternatives) == len(runs), "those of a lower tier are shown"
    met, missed = ("0.02", "0.1") if own < 0.1 else ("0.1", "0.02")
    sentences = [f"supported if rate = {met}; missed if rate = {missed}"]
    assert [one.sentence for one in card.hangs_on] == (
        sentences if expected is Verdict.CONDITIONAL else []
    )
    settles_nothing = here and not here[0].flips and expected is not Verdict.CONTRADICTED
    assert ("not settled: rate = 0.1" in found.why) is bool(settles_nothing)


def test_alternatives_are_given_by_claim_and_all_are_needed_to_contradict() -> None:
    audit = make_audit()
    lookup = make_lookup(audit)
    runs = [
        AlternativeRun("init_scale", value, "paper", MISSED, False, "harmless")
        for value in (0.01, 0.1)
    ]

    def missed(some: list[AlternativeRun]) -> ClaimOutcome:
        judged = judge_claims(audit, "paper", lookup, {"toy.missed": some})
        assert len(judged) == len(CLAIMS)
        return next(one for one in judged if one.claim.id == "toy.missed")

    assert missed(runs).verdict is Verdict.CONTRADICTED
    partly = missed(runs[:1])
    assert partly.verdict is Verdict.INCONCLUSIVE
    assert "1 of 2 alternatives run" in partly.why
    assert missed([]).verdict is Verdict.INCONCLUSIVE


# --- the constructed solution -------------------------------------------------------------------


def test_what_the_constructed_solution_misses_too_is_unattainable() -> None:
    def both(at: str, seed: int) -> dict[str, Any]:
        return {"measurements": measured(0.8 if at != "none" else 0.9, 0.1, seed)}

    found = verdict_of(toy(), both)
    assert found.verdict is Verdict.UNATTAINABLE
    assert "out of reach of the mechanism itself" in found.why


# --- what of a control counts -------------------------------------------------------------------


def of_seeds(values: list[float | None]) -> Said:
    """The control ends at these distances by seed; None diverges."""

    def record(at: str, seed: int) -> dict[str, Any]:
        value = values[seed] if at == "none" else LEVELS[at]
        return DIVERGES if value is None else {"measurements": measured(value, 0.1, seed)}

    return record


@pytest.mark.parametrize(
    ("values", "expected", "why"),
    [
        ([0.03, 0.03, 0.03, 0.03, None], Verdict.INCONCLUSIVE, "the control does not decide"),
        ([0.8, 0.8, 0.8, None, None], Verdict.INCONCLUSIVE, "the control does not decide"),
        ([0.8, 0.8, None, None, None], Verdict.INCONCLUSIVE, "diverged for 3 of 5 seeds"),
        ([None] * 5, Verdict.INCONCLUSIVE, "diverged for 5 of 5 seeds"),
    ],
    ids=["one convicts none", "three decide nothing", "most of them", "all"],
)
def test_a_controls_diverged_seeds_are_left_out(
    values: list[float | None], expected: Verdict, why: str
) -> None:
    """A control that meets the check in four seeds is not shown to miss it by the fifth."""
    audit = toy()
    found = verdict_of(audit, of_seeds(values))
    assert found.verdict is expected, found.why
    assert why in found.why
    (shown,) = build(audit, "paper", lookup_of(audit, of_seeds(values))).claims
    assert shown.controls[0].diverged == tuple(s for s, v in enumerate(values) if v is None)


def test_another_control_does_not_rescue_a_part() -> None:
    """The ablation does not decide; a second control, which learned nothing, misses it clearly."""
    ablation = {**CONTROL, "settings": {"mechanism": "none"}, "name": "ablation"}
    nothing = {**CONTROL, "settings": {"mechanism": "untrained"}, "name": "untrained"}

    def said(at: str, seed: int) -> dict[str, Any]:
        values = {**LEVELS, "none": 0.1, "untrained": 0.9}
        return {"measurements": measured(values[at], 0.1, seed)}

    named = toy(checks=[aligns(ablation="ablation")], controls=[ablation, nothing])
    found = verdict_of(named, said)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.why == "met, but the control 'ablation' does not decide the part 'distance'"
    (shown,) = build(named, "paper", lookup_of(named, said)).claims
    assert [(p.control, p.ablation) for p in shown.parts] == [("undecided", "ablation")]
    assert (shown.control.name, shown.control.decision) == ("ablation", "undecided")
    other = toy(checks=[aligns(ablation="untrained")], controls=[ablation, nothing])
    assert verdict_of(other, said).verdict is Verdict.SUPPORTED


def test_an_alternative_that_is_known_to_flip_is_named_until_it_is_run_again() -> None:
    """Not to run the multiverse again does not hide what it found."""
    found = {
        "claim": "toy.one",
        "setting": "good.rate",
        "value": 0.1,
        "found": "decisive",
        "tier": "paper",
        "difference": 1.0,
        "low": 0.5,
        "high": 1.5,
        "as_of": "2026-11-02",
    }
    finding = {
        "id": "toy.rate",
        "kind": "observation",
        "statement": "The rate decides.",
        "sources": ["reproaudit multiverse toy"],
        "as_of": "2026-11-02",
        "effects": [found],
    }
    audit = with_setting(**GUESS)
    data = {**audit.model_dump(mode="json"), "findings": [finding]}
    known = Audit.model_validate(data, strict=False)
    assert "a finding says that it flips: good.rate = 0.1" in verdict_of(known, fine).why
    assert "flips" not in verdict_of(known, fine, "quick").why, "found at another tier"
    again = verdict_of(known, fine, "paper", [rate(MET, "paper", False)])
    assert "flips" not in again.why
    finding["effects"] = [{**found, "tier": "quick"}]
    known = Audit.model_validate({**data, "findings": [finding]}, strict=False)
    assert (
        "not run here, though a finding says that it flips the claim: good.rate = 0.1 at the "
        "quick tier"
    ) in verdict_of(known, fine).why
    assert "at the quick tier" not in verdict_of(known, fine, "quick").why
    assert "flips" not in verdict_of(known, fine, "paper", [rate(MET, "paper", False)]).why


MOVEMENT = {
    "parameters": "moved",
    "training_loss": "loss_moved",
    "at_least": 0.01,
    "reason": "A hundredth of the start.",
}
STILL, PARAMETERS, LOSS = (1e-4, 1e-4), (250.0, 1e-4), (1e-4, 0.5)


def with_movement(**changes: Any) -> Audit:
    number = {"kind": "scalar", "unit": "1", "meaning": "How far it moved."}
    return make_audit(
        claims=[{**claim("one", "good"), **changes}],
        findings=[],
        movement=MOVEMENT,
        measurements={"moved": number, "loss_moved": number},
    )


def moving(audit: Audit, moved: list[tuple[float, float]], **more: Any) -> ClaimOutcome:
    """The verdict where the control's seeds moved so far, in parameters and in training loss."""
    return judge_claim(audit, audit.claims[0], "paper", lookup_moving(audit, moved, **more))


def lookup_moving(
    audit: Audit, moved: list[tuple[float, float]], own: tuple[float, float] = (1.0, 1.0)
) -> Lookup:
    """Records whose control's seeds moved so far, and the claim's own by `own`."""
    plain = lookup_of(audit, fine)

    def lookup(batch: Batch) -> Mapping[int, Record]:
        found = {}
        for seed, one in plain(batch).items():
            by = moved[seed] if ("mechanism", "none") in batch.overrides else own
            scalars = {"moved": by[0], "loss_moved": by[1], **one.measurements.scalars}
            more = one.measurements.model_copy(update={"scalars": scalars})
            found[seed] = one.model_copy(update={"measurements": more})
        return found

    return lookup


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        ([STILL] * 5, Verdict.INCONCLUSIVE),
        ([STILL, STILL, STILL, LOSS, LOSS], Verdict.INCONCLUSIVE),
        ([STILL, STILL, LOSS, LOSS, LOSS], Verdict.SUPPORTED),
        ([PARAMETERS] * 5, Verdict.INCONCLUSIVE),
        ([LOSS] * 5, Verdict.SUPPORTED),
    ],
    ids=["all still", "most still", "most moved", "parameters", "loss"],
)
def test_an_inert_control_counts_for_nothing(
    moved: list[tuple[float, float]], expected: Verdict
) -> None:
    """A control that misses the check only because it never trained.

    Parameters that start near zero move by many times their size even then.
    """
    found = moving(with_movement(), moved)
    assert found.verdict is expected, found.why
    assert ("is inert" in found.why) is (expected is Verdict.INCONCLUSIVE)
    assert found.controls[0].inert is (expected is Verdict.INCONCLUSIVE)


@pytest.mark.parametrize(("moved", "inert"), [(PARAMETERS, False), (STILL, True), (LOSS, False)])
def test_a_control_whose_loss_cannot_fall_says_why(moved: tuple[float, float], inert: bool) -> None:
    reason = "Its labels do not depend on its inputs."
    audit = with_movement(controls=[{**CONTROL, "loss_stays": reason}])
    found = moving(audit, [moved] * 5)
    assert found.verdict is (Verdict.INCONCLUSIVE if inert else Verdict.SUPPORTED), found.why
    assert (found.controls[0].inert, found.controls[0].moved) == (inert, moved)


def test_beside_a_control_stands_how_far_it_moved() -> None:
    from reproaudit.reports.phrasing import control_notes

    reason = "Its labels do not depend on its inputs."
    audit = with_movement(controls=[{**CONTROL, "loss_stays": reason}])
    lookup = lookup_moving(audit, [PARAMETERS] * 5)
    (shown,) = build(audit, "paper", lookup).claims
    notes = list(control_notes(shown, shown.controls[0]))
    assert (
        "in the training that is judged, its parameters moved by 2.5e+02 and its training loss by "
        "0.0001 times their size at the start"
    ) in notes
    assert f"parameters that moved are enough to show that it trained: {reason}" in notes


def test_a_control_of_another_experiment_must_have_trained_whatever_it_changes() -> None:
    """The defect: only controls with settings of their own were asked, neither this one."""
    reads = {**CONTROL, "experiment": "noisy", "settings": {}, "substitutes": {"distance": "other"}}
    plain = with_movement().model_dump(mode="json")
    plain["measurements"]["other"] = {
        "kind": "scalar",
        "unit": "1",
        "meaning": "E.",
        "range": [0, None],
    }
    plain["claims"][0]["controls"] = [reads]
    audit = Audit.model_validate(plain, strict=False)
    moved = lookup_moving(audit, [STILL] * 5)

    def lookup(batch: Batch) -> Mapping[int, Record]:
        found = {}
        for seed, one in moved(batch).items():
            scalars = dict(one.measurements.scalars)
            scalars["other"] = LEVELS["none"]
            if batch.experiment == "noisy":
                scalars |= {"moved": 1e-4, "loss_moved": 1e-4}
            more = one.measurements.model_copy(update={"scalars": scalars})
            found[seed] = one.model_copy(update={"measurements": more})
        return found

    found = judge_claim(audit, audit.claims[0], "paper", lookup)
    assert found.controls[0].inert is True
    assert found.verdict is Verdict.INCONCLUSIVE, found.why


@pytest.mark.parametrize("still", [2, 3])
def test_a_run_whose_movement_is_not_finite_did_not_train(still: int) -> None:
    """The defect: one finite run stood for five. A number that is not finite is in no record."""
    audit = with_movement()
    moved = lookup_moving(audit, [LOSS] * 5)

    def lookup(batch: Batch) -> Mapping[int, Record]:
        found = dict(moved(batch))
        for seed in range(still if batch.overrides else 0):
            whole = found[seed].measurements
            left = {name: v for name, v in whole.scalars.items() if name != "loss_moved"}
            more = {**DIVERGES, "measurements": whole.model_copy(update={"scalars": left})}
            found[seed] = found[seed].model_copy(update=more)
        return found

    found = judge_claim(audit, audit.claims[0], "paper", lookup)
    assert found.controls[0].inert is (still == 3)
    assert found.verdict is (Verdict.INCONCLUSIVE if still == 3 else Verdict.SUPPORTED), found.why


def test_a_page_names_the_measurements_of_movement_and_the_claims_own() -> None:
    """Any number may be named, and a reader must see which."""
    from reproaudit.reports.phrasing import movement_words

    audit = with_movement()
    (shown,) = build(audit, "paper", lookup_moving(audit, [LOSS] * 5, own=(3.0, 0.25))).claims
    said = movement_words(shown) or ""
    assert "a run has trained if its 'loss_moved' is at least 0.01" in said
    assert "in the claim's own runs they are 0.25 and 3 ('moved')" in said
    (unmeasured,) = build(audit, "paper", lookup_of(audit, fine)).claims
    assert unmeasured.movement is not None
    assert unmeasured.verdict is Verdict.NOT_TESTED, "no run showed that it trained"
    (existing,) = build(with_movement(trains=False), "paper", lookup_of(audit, fine)).claims
    assert existing.movement is None


@pytest.mark.parametrize("audit", [toy(), with_movement()], ids=["no movement", "not measured"])
def test_a_verdict_says_that_nothing_shows_that_its_ablation_trained(audit: Audit) -> None:
    plain = audit.model_dump(mode="json")
    for one in plain["experiments"].values():
        one["measures"] = [name for name in plain["measurements"] if "moved" not in name]
    plain["movement"] = plain["movement"] and MOVEMENT
    audit = Audit.model_validate(plain, strict=False)
    found = verdict_of(audit, fine)
    assert found.verdict is Verdict.SUPPORTED, found.why
    assert "; nothing shows that the claim's own runs and the control trained: " in found.why


@pytest.mark.parametrize("field", REASONS_THAT_COUNT)
def test_a_reason_of_spaces_is_none(field: str) -> None:
    with pytest.raises(ValueError, match="found empty text"):
        toy(controls=[{**CONTROL, field: "  "}])


@pytest.mark.parametrize("reason", REASONS_THAT_COUNT)
def test_that_a_reason_is_given_belongs_to_the_rule_and_its_wording_does_not(reason: str) -> None:
    """Both decide by being there whether a control counts at all."""
    plain = {name: value for name, value in CONTROL.items() if name not in REASONS_THAT_COUNT}

    def hash_of(**more: Any) -> str:
        audit = toy(controls=[{**plain, **more}])
        return audit.rule_hash(audit.claims[0], "paper")

    assert hash_of() != hash_of(**{reason: "One."}) == hash_of(**{reason: "Another."})


# A claim on one stage of a training in stages.

NUMBER = {"kind": "scalar", "unit": "1", "meaning": "How far it moved."}
STAGE_NAMES = [f"{stage}_{name}" for stage in ("stage_1", "stage_2") for name in ("moved", "loss")]


def of_stage(stage: str, **changes: Any) -> dict[str, Any]:
    """The movement that a claim on one stage names."""
    named = {"parameters": f"{stage}_moved", "training_loss": f"{stage}_loss"}
    return {**MOVEMENT, **named, **changes}


def two_stages(*rates: float) -> dict[str, float]:
    """Trains one weight, then another, and measures how far both moved, together and each."""

    def loss(weight: float) -> float:
        return (weight - 3.0) ** 2

    begin, end = (1.0, 1.0), []
    for weight, rate_of_stage in zip(begin, rates, strict=True):
        for _ in range(20):
            weight -= rate_of_stage * 2 * (weight - 3.0)
        end.append(weight)
    both = measure_movement(begin, end, [*map(loss, begin)], [*map(loss, end)])
    found = {"moved": both["parameters_moved"], "loss_moved": both["training_loss_moved"]}
    for stage, before, after in zip(("stage_1", "stage_2"), begin, end, strict=True):
        one = measure_movement([before], [after], [loss(before)], [loss(after)])
        found[f"{stage}_moved"] = one["parameters_moved"]
        found[f"{stage}_loss"] = one["training_loss_moved"]
    return found


def staged(**changes: Any) -> Audit:
    declared = dict.fromkeys(["moved", "loss_moved", *STAGE_NAMES], NUMBER)
    one = {**claim("one", "good"), **changes}
    return make_audit(claims=[one], findings=[], movement=MOVEMENT, measurements=declared)


def judged_in_stages(
    audit: Audit, control: dict[str, float], own: dict[str, float], origin: Origin | None = None
) -> ClaimOutcome:
    """The verdict where the control's runs and the claim's own moved so far."""
    plain = lookup_of(audit, fine)

    def lookup(batch: Batch) -> Mapping[int, Record]:
        moved = control if ("mechanism", "none") in batch.overrides else own
        found = {}
        for seed, one in plain(batch).items():
            scalars = {**one.measurements.scalars, **moved}
            more = one.measurements.model_copy(update={"scalars": scalars})
            found[seed] = one.model_copy(update={"measurements": more, "origin": origin})
        return found

    return judge_claim(audit, audit.claims[0], "paper", lookup)


def test_a_control_that_trained_in_another_stage_than_the_claims_is_inert() -> None:
    """Its first weight stood still, and what the second did counted for the claim on the first."""
    control, own = two_stages(0.0, 0.1), two_stages(0.1, 0.1)
    pooled = judged_in_stages(staged(), control, own)
    assert pooled.verdict is Verdict.SUPPORTED, "by both stages together the control has trained"
    first = judged_in_stages(staged(movement=of_stage("stage_1")), control, own)
    assert first.verdict is Verdict.INCONCLUSIVE
    assert "the control is inert: its training loss did not move" in first.why
    assert (first.controls[0].inert, first.controls[0].moved) == (True, (0.0, 0.0))
    second = judged_in_stages(staged(movement=of_stage("stage_2")), control, own)
    assert second.verdict is Verdict.SUPPORTED, second.why


def test_the_claims_own_runs_must_have_trained_in_its_own_stage() -> None:
    moved, own = two_stages(0.1, 0.1), two_stages(0.0, 0.1)
    assert judged_in_stages(staged(), moved, own).verdict is Verdict.SUPPORTED
    found = judged_in_stages(staged(movement=of_stage("stage_1")), moved, own)
    assert found.verdict is Verdict.NOT_TESTED
    assert "own runs did not train: their training loss moved by 0 times" in found.why


def test_in_a_stage_whose_loss_cannot_fall_parameters_must_have_moved() -> None:
    audit = staged(movement=of_stage("stage_1", loss_stays="What it trains is scaled by 1e-9."))
    still = {**two_stages(0.1, 0.1), "stage_1_moved": 1e-3, "stage_1_loss": 1e-4}
    moved = {**still, "stage_1_moved": 0.5}
    assert judged_in_stages(audit, moved, moved).verdict is Verdict.SUPPORTED
    control = judged_in_stages(audit, still, moved)
    assert "neither its parameters nor its training loss moved" in control.why
    assert control.controls[0].loss_stays == "What it trains is scaled by 1e-9."
    own = judged_in_stages(audit, moved, still)
    assert own.verdict is Verdict.NOT_TESTED
    assert "moved by 0.0001 times its size at the start, and their parameters by 0.001" in own.why
    loss_alone = staged(movement=of_stage("stage_1"))
    assert judged_in_stages(loss_alone, moved, moved).verdict is Verdict.NOT_TESTED


def test_a_claims_own_movement_belongs_to_its_rule() -> None:
    def hash_of(**movement: Any) -> str:
        audit = staged(**({"movement": of_stage("stage_1", **movement)} if movement else {}))
        return audit.rule_hash(audit.claims[0], "paper")

    hashes = {hash_of(), hash_of(reason="Why."), hash_of(at_least=0.1), hash_of(loss_stays="So.")}
    assert len(hashes) == 4
    assert hash_of(reason="Why.") == hash_of(reason="Because.")
    assert hash_of(loss_stays="So.") == hash_of(loss_stays="Thus.")


def test_a_stages_movement_that_a_control_from_elsewhere_lacks_is_told() -> None:
    origin = Origin(who="A", source="B", framework="C", made=date(2026, 11, 2))
    own = two_stages(0.1, 0.1)
    silent = {name: by for name, by in own.items() if name != "stage_1_loss"}
    found = judged_in_stages(staged(movement=of_stage("stage_1")), silent, own, origin)
    assert "nothing shows that the control trained: 'stage_1_loss' was not supplied" in found.why
    assert "nothing shows" not in judged_in_stages(staged(), silent, own, origin).why


def messages(audit: Audit, rule: str) -> list[str]:
    return [v.message for one, v in broken_rules(audit, date(2026, 11, 20)) if one.id == rule]


def test_check_asks_the_claims_experiment_for_its_movement() -> None:
    audit = staged(movement=of_stage("stage_1"))
    assert (messages(audit, "RA183"), messages(audit, "RA184")) == ([], [])
    (unknown,) = messages(staged(movement=of_stage("stage_1", parameters="loss")), "RA183")
    assert "found 'loss', which is no number" in unknown
    elsewhere = audit.model_dump(mode="json")
    elsewhere["experiments"]["good"]["measures"] = ["stage_1_moved"]
    (lacking,) = messages(Audit.model_validate(elsewhere, strict=False), "RA183")
    assert "'stage_1_loss'; expected one that experiment 'good' makes" in lacking
    elsewhere = staged(
        movement=of_stage("stage_1"), controls=[{**CONTROL, "experiment": "noisy"}]
    ).model_dump(mode="json")
    elsewhere["experiments"]["noisy"]["measures"] = ["moved", "loss_moved"]
    (warned,) = messages(Audit.model_validate(elsewhere, strict=False), "RA184")
    assert "found no 'stage_1_moved' in experiment 'noisy'" in warned


def test_what_does_not_train_is_not_asked_to_move() -> None:
    existence = moving(with_movement(trains=False), [STILL] * 5)
    assert existence.controls[0].inert is None
    reads = {**CONTROL, "settings": {}, "substitutes": {"distance": "accuracy"}}
    assert moving(with_movement(controls=[reads]), [STILL] * 5).controls[0].inert is None
    unmeasured = toy().model_copy(update={"movement": with_movement().movement})
    assert verdict_of(unmeasured, fine).controls[0].inert is None


def test_an_ablation_from_elsewhere_that_does_not_say_whether_it_trained_is_told() -> None:
    """Who leaves out by how much an ablation moved may hide that it never trained."""
    audit = with_movement()
    origin = Origin(who="A", source="B", framework="C", made=date(2026, 11, 2))
    moved = lookup_moving(audit, [LOSS] * 5)

    def supplied(own: bool = True, control: bool = True) -> ClaimOutcome:
        def lookup(batch: Batch) -> Mapping[int, Record]:
            keeps = control if ("mechanism", "none") in batch.overrides else own
            found = {}
            for seed, one in moved(batch).items():
                numbers = one.measurements.scalars
                left = {n: v for n, v in numbers.items() if keeps or n != "loss_moved"}
                more = one.measurements.model_copy(update={"scalars": left})
                found[seed] = one.model_copy(update={"measurements": more, "origin": origin})
            return found

        return judge_claim(audit, audit.claims[0], "paper", lookup)

    assert supplied().verdict is Verdict.SUPPORTED
    own = "nothing shows that the claim's own runs trained: 'loss_moved' was not supplied"
    assert own in supplied(own=False).why
    silent = supplied(control=False)
    assert silent.verdict is Verdict.SUPPORTED
    assert "; nothing shows that the control trained: 'loss_moved' was not supplied" in silent.why


def test_one_run_under_five_seeds_is_not_five_runs() -> None:
    """A module that does not use its seed: every record is the same, met or missed."""

    def same(value: float) -> Said:
        def said(at: str, seed: int) -> dict[str, Any]:
            one = (value, 0.1, 0) if at == "full" else (LEVELS[at], 0.1, seed)
            return {"measurements": measured(*one)}

        return said

    for value in (0.03, 0.8):
        found = verdict_of(toy(), same(value))
        assert found.verdict is Verdict.NOT_TESTED
        assert found.why == "one run, repeated: what is judged is the same for all 5 seeds"
    assert verdict_of(toy(), fine).verdict is Verdict.SUPPORTED


def test_runs_that_fail_equally_often_are_not_one_run() -> None:
    """A count of failures is 0 for every seed, while the runs that it counts differ."""
    rate_of = {
        "kind": "failure_rate",
        "name": "few fail",
        "quantity": {"measurement": "distance"},
        "at_most": 0.1,
        "rate_at_most": 0.2,
        "reason": "For the test.",
    }
    seeds = {"smoke": [0], "quick": list(range(20)), "paper": list(range(20))}
    audit = make_audit(
        claims=[{**claim("one", "good"), "checks": [rate_of]}], findings=[], seeds=seeds
    )
    found = verdict_of(audit, fine)
    assert len({one.values for one in found.own.conditions}) == 1
    assert set(found.own.conditions[0].values) == {0.0}
    assert found.verdict is Verdict.SUPPORTED, found.why


def test_a_claim_whose_own_runs_did_not_train_is_not_tested() -> None:
    """Its ablation reads another measurement of the same runs, and so runs nothing at all."""
    reads = {**CONTROL, "settings": {}, "substitutes": {"distance": "accuracy"}}
    audit = with_movement(controls=[reads])

    def judged(own: tuple[float, float]) -> ClaimOutcome:
        return judge_claim(audit, audit.claims[0], "paper", lookup_moving(audit, [], own))

    for still in (STILL, PARAMETERS):
        found = judged(still)
        assert found.verdict is Verdict.NOT_TESTED, found.why
        assert "own runs did not train" in found.why
        assert "moved by 0.0001 times its size at the start, less than the 0.01" in found.why
    trained = judged(LOSS)
    assert trained.verdict is Verdict.SUPPORTED, trained.why
    assert "for 1 of 1 parts the ablation runs nothing" in trained.why
    runs = with_movement()
    assert "runs nothing" not in moving(runs, [LOSS] * 5).why


@pytest.mark.parametrize(("moved", "decision"), [(LOSS, MISSED), (STILL, UNDECIDED)])
def test_an_alternative_whose_runs_did_not_train_is_undecided(
    moved: tuple[float, float], decision: Decision
) -> None:
    """The defect: where it started decided, and a claim was conditional or contradicted by it."""
    audit = with_movement()
    data = audit.model_dump(mode="json")
    data["experiments"]["good"]["settings"]["rate"] = {"value": 0.02, **GUESS}
    audit = Audit.model_validate(data, strict=False)
    trained = lookup_moving(audit, [LOSS] * 5)

    def lookup(batch: Batch) -> Mapping[int, Record]:
        found = dict(trained(batch))
        if ("rate", 0.1) not in batch.overrides:
            return found
        for seed, one in found.items():
            now = {"distance": 0.8 + 0.01 * seed, "moved": moved[0], "loss_moved": moved[1]}
            scalars = {**one.measurements.scalars, **now}
            more = one.measurements.model_copy(update={"scalars": scalars})
            found[seed] = one.model_copy(update={"measurements": more})
        return found

    (run,) = alternatives_run(audit, "paper", lookup)["toy.one"]
    assert (run.decision, run.flips) == (decision, decision is MISSED)
    found = judge_claim(audit, audit.claims[0], "paper", lookup, [run])
    if decision is MISSED:
        assert found.verdict is Verdict.CONDITIONAL
    else:
        assert found.verdict is Verdict.SUPPORTED
        assert "not settled: rate = 0.1 (undecided: the claim's own runs did not t" in found.why


@pytest.mark.parametrize(
    ("settings", "scale", "tier", "smaller"),
    [
        ({}, "same", "paper", ""),
        ({}, "quick", "paper", "steps 100 not 1000"),
        ({}, "quick", "quick", ""),
        ({"steps": 50}, "same", "quick", "steps 50 not 100"),
        ({"steps": 100}, "same", "paper", "steps 100 not 1000"),
        ({"steps": 100}, "same", "quick", ""),
    ],
)
def test_a_control_below_the_claims_scale_is_named(
    settings: dict[str, Any], scale: str, tier: TierName, smaller: str
) -> None:
    changes = {"settings": {"mechanism": "none", **settings}, "scale": scale}
    found = verdict_of(toy(controls=[{**CONTROL, **changes}]), fine, tier)
    assert found.verdict is Verdict.SUPPORTED
    assert found.controls[0].smaller == smaller
    assert found.controls[0].larger == ""
    assert (f"runs at a smaller scale ({smaller})" in found.why) is bool(smaller)


def test_a_control_above_the_claims_scale_is_named_and_needs_a_reason() -> None:
    """One that trains five times as long may meet or miss a check for that alone."""
    from reproaudit.reports.phrasing import control_notes

    longer = {**CONTROL, "settings": {"mechanism": "none", "steps": 5000}, "scale": "same"}
    audit = toy(controls=[longer])
    assert messages(audit, "RA186") == [
        "found steps 5000 at the paper tier, where the claim runs 1000; expected a 'scale_reason'"
    ]
    one_size = audit.model_dump(mode="json")
    one_size["settings"]["steps"]["quick"] = None
    assert messages(Audit.model_validate(one_size, strict=False), "RA186"), "steps have a scale"
    audit = toy(controls=[{**longer, "scale_reason": "It settles late."}])
    assert messages(audit, "RA186") == []
    found = verdict_of(audit, fine)
    assert (found.controls[0].smaller, found.controls[0].larger) == ("", "steps 5000 not 1000")
    assert "the control runs at a larger scale (steps 5000 not 1000)" in found.why
    (shown,) = build(audit, "paper", lookup_of(audit, fine)).claims
    assert next(iter(control_notes(shown, shown.controls[0]))) == (
        "at another scale than the claim's, steps 5000 not 1000: It settles late"
    )


SIZES = (8, 16, 32, 64)


def by_size(**control: Any) -> Audit:
    """A check at each of four sizes, on a control that has the first alone."""
    each = aligns(distance={"measurement": "by_size"}, each="size")
    shorter = {**CONTROL, "settings": {"mechanism": "none", "sizes": [8]}, "scale": "same"}
    shorter.pop("scale_reason", None)
    axis = {"name": "size", "setting": "sizes"}
    declared = {"kind": "array", "axes": [axis], "unit": "1", "meaning": "E.", "range": [0, None]}
    plain = make_audit(
        claims=[{**claim("one", "good"), "checks": [each], "controls": [{**shorter, **control}]}],
        findings=[],
    ).model_dump(mode="json")
    plain["settings"]["sizes"] = {"value": list(SIZES), "source": "paper", "locator": "Table 1"}
    plain["measurements"]["by_size"] = declared
    return Audit.model_validate(plain, strict=False)


@pytest.mark.parametrize(
    ("reason", "expected", "why"),
    [
        (None, Verdict.INCONCLUSIVE, "'distance, size 16' has no ablation: the control lacks it"),
        ("One is enough.", Verdict.SUPPORTED, "every part that its ablation has is missed there"),
    ],
)
def test_a_part_that_its_ablation_lacks_stands_alone_only_for_a_reason(
    reason: str | None, expected: Verdict, why: str
) -> None:
    """Three parts of four were told from nothing, and every part was said to be missed."""
    audit = by_size(**({"scale_reason": reason} if reason else {}))

    def said(at: str, seed: int) -> dict[str, Any]:
        sizes = SIZES[:1] if at == "none" else SIZES
        values = LEVELS[at] * np.exp(0.1 * np.sin(seed + np.array(sizes)))
        return {"measurements": Measurements(arrays={"by_size": values})}

    found = verdict_of(audit, said)
    assert found.verdict is expected, found.why
    assert why in found.why
    assert ("every part is missed" in found.why) is False


# --- runs, not only means -----------------------------------------------------------------------


def test_beside_a_mean_stands_how_many_runs_meet_the_bound() -> None:
    """The interval of the mean meets the bound, and one run of five does not."""

    def said(at: str, seed: int) -> dict[str, Any]:
        value = 0.11 if (at, seed) == ("full", 3) else LEVELS[at]
        return {"measurements": measured(value, 0.0, seed)}

    audit = toy()
    (one,) = build(audit, "paper", lookup_of(audit, said)).claims
    assert one.decision == UNDECIDED
    assert one.interval is not None
    assert one.bound is not None
    assert one.interval.high < one.bound, "the mean alone would meet it"
    assert one.runs_met is not None
    assert (one.runs_met.met, one.runs_met.of) == (4, 5)
    assert one.runs_met.interval.low == pytest.approx(0.376, abs=0.001)  # Wilson's, of 4 in 5
    assert one.parts[0].runs_met == one.runs_met
    assert [c.runs_met.met for c in one.controls[0].parts if c.runs_met] == [0]


# --- claims that something exists ---------------------------------------------------------------


def test_a_claim_that_says_it_trains_nothing_and_differs_by_seed_is_not_tested() -> None:
    """`trains: false` on a training claim, whose numbers are drawn anew with every seed."""
    found = moving(with_movement(trains=False), [STILL] * 5)
    assert found.verdict is Verdict.NOT_TESTED
    assert "nothing is trained, but its runs differ from seed to seed" in found.why

    def same(at: str, _seed: int) -> dict[str, Any]:
        return {"measurements": measured(LEVELS[at], 0.0, 0)}

    built = verdict_of(toy(trains=False, checks=[aligns(over="every_seed")]), same)
    assert built.verdict is Verdict.SUPPORTED, built.why
    assert "do not exclude" not in built.why, "all runs are one and the same"


def test_a_claim_that_says_it_trains_nothing_and_reports_steps_is_not_tested() -> None:
    """It trains from one fixed seed and measures the end alone, so that no number tells."""
    audit = toy(trains=False, checks=[aligns(over="every_seed")])

    def of_steps(steps: int | None) -> ClaimOutcome:
        def said(at: str, _seed: int) -> dict[str, Any]:
            return {"measurements": measured(LEVELS[at], 0.0, 0), "steps": steps}

        return verdict_of(audit, said)

    hidden = of_steps(3000)
    assert hidden.verdict is Verdict.NOT_TESTED
    assert hidden.why == "the claim says that nothing is trained, but its runs report 3,000 steps"
    assert [of_steps(n).verdict for n in (None, 0, 1)] == [Verdict.SUPPORTED] * 3


# --- what so few runs cannot exclude ------------------------------------------------------------


def test_a_supported_claim_names_the_failures_that_its_runs_do_not_exclude() -> None:
    found = verdict_of(toy(), fine)
    assert found.verdict is Verdict.SUPPORTED
    assert "5 runs cannot rule out that up to 45 % of all runs would fail" in found.why


def test_runs_that_all_reach_the_end_of_the_scale_exclude_no_more() -> None:
    """Every run trained, and all end below what the scale resolves, as shares do that reach 1."""

    def said(at: str, seed: int) -> dict[str, Any]:
        level = 1e-14 if at != "none" else LEVELS[at]
        return {"measurements": measured(level, 0.5, seed), "steps": 3000}

    found = verdict_of(toy(), said)
    assert found.verdict is Verdict.SUPPORTED, found.why
    assert found.own.conditions[0].result.interval is not None
    assert differing_runs(found.own) is None
    assert "5 runs cannot rule out that up to 45 % of all runs would fail" in found.why


# --- an ablation answers condition by condition --------------------------------------------------


def falling(**more: Any) -> dict[str, Any]:
    return {
        "kind": "converges",
        "name": "the loss",
        "reason": "For the test.",
        "loss": {"measurement": "loss"},
        "continued": {"measurement": "loss_after"},
        "falls_by": 10.0,
        "settles_within": 1.05,
        **more,
    }


@pytest.mark.parametrize(
    ("misses", "fall", "still", "expected", "why"),
    [
        (None, 1.5, 1.001, Verdict.INCONCLUSIVE, "too, meets 'the loss: factor by which"),
        (["falls"], 1.5, 1.001, Verdict.SUPPORTED, "which it need not miss"),
        (["falls"], 50.0, 1.5, Verdict.VACUOUS, "is met on the control"),
        (["settles"], 50.0, 1.5, Verdict.SUPPORTED, "which it need not miss"),
        (None, 50.0, 1.5, Verdict.INCONCLUSIVE, "too, meets 'the loss: falls by a factor'"),
        (None, 1.5, 1.5, Verdict.SUPPORTED, "every part is missed on its ablation"),
        (None, 50.0, 1.001, Verdict.VACUOUS, "is met on the control"),
    ],
    ids=[
        "settled as well",
        "settling is not asked for",
        "falls as far",
        "only settling is asked for",
        "only settling is missed",
        "both are missed",
        "both are met",
    ],
)
def test_an_ablation_must_miss_every_condition_that_is_not_excepted(
    misses: list[str] | None, fall: float, still: float, expected: Verdict, why: str
) -> None:
    """A part that its ablation misses by one condition, and meets by another."""

    def said(at: str, seed: int) -> dict[str, Any]:
        its_fall, its_still = (fall, still) if at == "none" else (100.0, 1.001)
        start = 1.0 + 0.01 * seed
        end = start / its_fall
        series = Series(steps=(0, 10), values=np.array([start, end]))
        return {
            "measurements": Measurements(
                scalars={"loss_after": end / its_still}, series={"loss": series}
            )
        }

    stated = {} if misses is None else {"ablation_misses": misses}
    audit = make_audit(
        claims=[{**claim("one", "good"), "checks": [falling(**stated)]}],
        findings=[],
        measurements={
            "loss": {"kind": "series", "unit": "1", "meaning": "A loss."},
            "loss_after": {"kind": "scalar", "unit": "1", "meaning": "The loss trained on."},
        },
    )
    found = verdict_of(audit, said)
    assert found.verdict is expected, found.why
    assert why in found.why


def test_what_an_ablation_must_miss_belongs_to_the_rule() -> None:
    def hash_of(**more: Any) -> str:
        audit = toy(checks=[falling(**more)])
        return audit.rule_hash(audit.claims[0], "paper")

    assert hash_of() != hash_of(ablation_misses=["falls"])
    assert hash_of(ablation_misses=["settles"]) != hash_of(ablation_misses=["falls"])


@pytest.mark.parametrize(
    ("met", "expected"),
    [(0, Verdict.SUPPORTED), (1, Verdict.INCONCLUSIVE), (4, Verdict.INCONCLUSIVE),
     (5, Verdict.VACUOUS)],
)  # fmt: skip
def test_one_seed_of_an_ablation_does_not_miss_a_count_for_all(met: int, expected: Verdict) -> None:
    """A check over every seed, which some seeds of the ablation meet as the claim's do."""
    audit = toy(checks=[aligns(over="every_seed")])
    ends: list[float | None] = [0.03 if seed < met else 0.8 for seed in range(5)]
    found = verdict_of(audit, of_seeds(ends))
    assert found.verdict is expected, found.why
    assert found.controls[0].decision is (MET if met == 5 else MISSED), "the count itself stays"


def test_a_claim_is_seldom_told_from_an_ablation_of_the_same_law() -> None:
    """Both judged over every seed; a run passes with probability 0.86, so there is no effect."""
    audit = toy(checks=[aligns(over="every_seed")])
    rng = np.random.default_rng(9)
    verdicts, told_apart_by_one = [], 0
    for _ in range(300):
        ends = {at: 0.1 * np.exp(0.1 * rng.normal(-1.08, size=5)) for at in ("full", "none")}

        def said(at: str, seed: int, ends: Mapping[str, Any] = ends) -> dict[str, Any]:
            value = ends[at][seed] if at in ends else LEVELS[at]
            return {"measurements": measured(value, 0.0, seed)}

        found = verdict_of(audit, said)
        verdicts.append(found.verdict)
        told_apart_by_one += found.decision is MET and found.controls[0].decision is MISSED
    assert told_apart_by_one > 50, "the defect: one audit in four"
    assert verdicts.count(Verdict.SUPPORTED) <= 1  # (1/4)^5 at most, whatever the law


# --- a proxy shows in the verdict's words -------------------------------------------------------


def test_a_verdict_on_proxies_says_so_in_its_headline() -> None:
    audit = toy()

    def said(at: str, seed: int) -> dict[str, Any]:
        return {**fine(at, seed), "proxy": "another data set"}

    (one,) = build(audit, "paper", lookup_of(audit, said)).claims
    assert (one.verdict, one.evidence) == (Verdict.SUPPORTED, EvidenceLevel.PROXY)
    assert one.headline == "supported by proxy"
    (small,) = build(audit, "quick", lookup_of(audit, said, "quick")).claims
    assert small.headline == "supported by proxy at reduced scale"
