"""Conditions of a verdict that went missing: their records, their weight, or the word for them.

Each is a way by which a conditional claim became a supported one, or an absurd one was supported
without a warning; it is tried on the paper in miniature, and shown.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from chains import commit
from places import CONFIRM, PAPER, Place

from reproaudit.reports.warning import (
    BELOW_THE_FLOOR,
    ONCE_CONDITIONAL,
    READ_ONCE,
    UNDER_ANOTHER_NAME,
)

REPORT = ("report", "mini", "--tier", "paper")
MULTIVERSE = ("multiverse", "mini", "--tier", "paper")
GUESS = "value: 0.5\n        source: assumption"


def the_guessed(place: Place, *arguments: str) -> dict[str, Any]:
    """The claim of the scorecard that a command prints whose experiment reads an open setting."""
    code, out, errors = place(*arguments, "--json")
    assert code == 0, errors
    found: dict[str, Any] = json.loads(out)["claims"][2]
    assert found["id"] == "mini.inconclusive"
    return found


def warned(place: Place) -> str:
    """What a report says of every claim, as one line."""
    return " ".join(place(*REPORT, "--verbose")[1].split())


@pytest.fixture
def met(at: Place) -> Place:
    """The guess is one with which the claim is met; its alternatives, 0.4 and 0.6, miss it."""
    at.edit("mini.yaml", GUESS, GUESS.replace("0.5", "0.02"))
    commit(at.folder, "another guess")
    return at


@pytest.fixture
def conditional(met: Place) -> Place:
    assert met(*PAPER)[0] == 0
    commit(met.folder, "results")
    assert met(*MULTIVERSE)[0] == 0
    commit(met.folder, "alternatives")
    told = the_guessed(met, *REPORT)
    assert (told["verdict"], told["status"]) == ("conditional", "exploratory")
    return met


def test_a_condition_whose_records_are_gone_is_warned_of(conditional: Place) -> None:
    """The defect: supported and confirmed, with 0 looks, after the store was deleted."""
    shutil.rmtree(conditional.folder / "runs")
    assert conditional(*PAPER)[0] == 0
    commit(conditional.folder, "run again")
    assert conditional(*CONFIRM)[0] == 0
    told = the_guessed(conditional, *REPORT)
    assert (told["verdict"], told["status"]) == ("supported", "exploratory")
    assert any(one.startswith(ONCE_CONDITIONAL) for one in told["history"])
    assert f"Warning: {ONCE_CONDITIONAL} (recorded on" in warned(conditional)
    assert "inconclusive supported !" in " ".join(conditional(*REPORT)[1].split())


def test_a_condition_seen_by_other_code_is_warned_of(conditional: Place) -> None:
    """The defect: an idle line of code, and the alternatives that had been run counted no more."""
    module = conditional.audits / "mini.py"
    module.write_text(module.read_text(encoding="utf-8") + "\nUNUSED = 0\n", encoding="utf-8")
    assert conditional(*PAPER)[0] == 0
    told = the_guessed(conditional, *REPORT)
    assert told["verdict"] == "supported"
    assert any(one.startswith(ONCE_CONDITIONAL) for one in told["history"])


def test_a_list_of_alternatives_that_nobody_runs_is_warned_of(met: Place) -> None:
    """The defect: the error is divided by all that are listed, so that a long list acquits."""
    met.edit("mini.py", "0.1 * generator", "0.5 * generator")
    met.edit("mini.py", 'seed, "end"', 'seed, f"end{settings.level}"')  # draws of their own
    assert met(*PAPER)[0] == 0
    assert met(*MULTIVERSE)[0] == 0
    assert the_guessed(met, *REPORT)["verdict"] == "conditional"
    many = "".join(f"        - 0.{n}\n" for n in range(40001, 41000))
    met.edit("mini.yaml", "        - 0.6\n", f"        - 0.6\n{many}")
    told = the_guessed(met, *REPORT)
    assert (told["verdict"], told["alternatives_run"]) == ("supported", {"run": 2, "of": 1001})
    said = warned(met)
    assert "Warning: missed with level = 0.4" in said
    assert f"Warning: {ONCE_CONDITIONAL}" in said


def test_a_condition_stays_when_its_claim_has_another_name(conditional: Place) -> None:
    """The defect: the claim was renamed, and the condition stayed with the old name."""
    shutil.rmtree(conditional.folder / "runs" / "mini" / "multiverse-paper")
    conditional.edit("mini.yaml", "id: mini.inconclusive", "id: mini.renamed")
    assert conditional(*PAPER)[0] == 0
    told = json.loads(conditional(*REPORT, "--json")[1])["claims"][2]
    assert (told["id"], told["verdict"]) == ("mini.renamed", "supported")
    assert any(one.startswith(ONCE_CONDITIONAL) for one in told["history"])


def test_a_condition_that_a_new_run_of_all_alternatives_removes_is_not_warned_of(
    conditional: Place,
) -> None:
    """The defect: a mended module, all alternatives met, and the warning stayed for ever."""
    conditional.edit(
        "mini.py", "settings.level *", "(settings.level if settings.level > 0.7 else 0.02) *"
    )
    assert conditional(*PAPER)[0] == 0
    told = the_guessed(conditional, *REPORT)
    assert any(one.startswith(ONCE_CONDITIONAL) for one in told["history"]), "none was run yet"
    assert conditional(*MULTIVERSE)[0] == 0
    told = the_guessed(conditional, *REPORT)
    assert told["verdict"] == "supported"
    assert told["alternatives_run"] == {"run": 2, "of": 2}
    assert not any(one.startswith(ONCE_CONDITIONAL) for one in told["history"])


def test_a_condition_that_was_taken_off_the_ledger_is_warned_of(conditional: Place) -> None:
    """The decisive alternatives are listed no more; the one that is left was run, and is met."""
    conditional.edit("mini.yaml", "        - 0.4\n        - 0.6\n", "        - 0.03\n")
    assert conditional(*PAPER)[0] == 0
    assert conditional(*MULTIVERSE)[0] == 0
    told = the_guessed(conditional, *REPORT)
    assert told["verdict"] == "supported"
    assert told["alternatives_run"] == {"run": 1, "of": 1}
    assert any(one.startswith(ONCE_CONDITIONAL) for one in told["history"])


STATED = "source: paper\n{0}locator: Section 4\n"
OPEN = "source: assumption\n{0}why: About half.\n{0}alternatives:\n"


def test_a_condition_whose_setting_is_shadowed_is_warned_of(at: Place) -> None:
    """The defect: the experiment states the setting itself, and reads the guess no more."""
    of_shared, of_own = " " * 4, " " * 8
    listed = f"{of_own}- 0.4\n{of_own}- 0.6\n"
    was = f"value: 0.5\n{of_own}{OPEN.format(of_own)}{listed}"
    at.edit("mini.yaml", was, f"value: 0.02\n{of_own}{STATED.format(of_own)}")
    was = f"  level:\n    value: 0.02\n    {STATED.format(of_shared)}"
    guess = f"{OPEN.format(of_shared)}    - 0.4\n"
    at.edit("mini.yaml", was, f"  level:\n    value: 0.02\n    {guess}")
    commit(at.folder, "another guess")
    assert at(*PAPER)[0] == 0
    assert at(*MULTIVERSE)[0] == 0
    (first, *_) = json.loads(at(*REPORT, "--json")[1])["claims"]
    assert (first["id"], first["verdict"]) == ("mini.supported", "conditional")
    title = "title: It descends\n"
    own = f"    settings:\n      level:\n{of_own}value: 0.02\n{of_own}{STATED.format(of_own)}"
    at.edit("mini.yaml", title, f"{title}{own}")
    assert at(*PAPER)[0] == 0
    (first, *_) = json.loads(at(*REPORT, "--json")[1])["claims"]
    assert (first["id"], first["verdict"]) == ("mini.supported", "supported")
    assert any(one.startswith(ONCE_CONDITIONAL) for one in first["history"])


def test_controls_of_other_claims_that_meet_all_of_one_are_told(at: Place) -> None:
    """The defect: a model without the mechanism met a claim, as a control of another one."""
    assert at("run", "mini", "--tier", "quick")[0] == 0
    claims = json.loads(at("report", "mini", "--tier", "quick", "--json")[1])["claims"]
    said = "Models that are controls of other claims meet every part of this one: level = 0.03."
    told = {one["id"]: said in one["history"] for one in claims}
    assert told.pop("mini.supported")
    assert not any(told.values()), "one has it as a control, the others are not supported"


def test_a_control_that_reads_other_numbers_hides_no_model(at: Place) -> None:
    """The defect: the model was listed as a control, by a number that it could only miss."""
    observed = 'return {"distance": distance.copy()'
    at.edit("mini.py", observed, f'{observed}, "huge": 100 * distance')
    audit = at.audits / "mini.yaml"
    huge = "      huge:\n        kind: series\n        unit: '1'\n        meaning: Far.\n"
    text = audit.read_text(encoding="utf-8")
    audit.write_text(text.replace("      final:\n", f"{huge}      final:\n"), encoding="utf-8")
    was = "  controls:\n  - experiment: descent\n    settings:\n      level: 0.8\n"
    near = (
        "  - experiment: descent\n    name: near\n    settings:\n      level: 0.03\n"
        "    substitutes:\n      distance: huge\n    why: ends near\n"
    )
    far = was.removeprefix("  controls:\n").replace("descent\n", "descent\n    name: far\n")
    at.edit("mini.yaml", was, f"  controls:\n{near}{far}")
    at.edit("mini.yaml", "    name: distance\n", "    name: distance\n    ablation: far\n")
    assert at("run", "mini", "--tier", "quick")[0] == 0
    claim = json.loads(at("report", "mini", "--tier", "quick", "--json")[1])["claims"][0]
    assert (claim["verdict"], claim["controls"][0]["decision"]) == ("supported", "missed")
    said = "Models that are controls of other claims meet every part of this one: level = 0.03."
    assert said in claim["history"]


def test_controls_of_other_claims_that_meet_the_primary_part_are_told(at: Place) -> None:
    """The defect: a model of other claims met all parts but one, of which the page said nothing."""
    part = "  - kind: aligns\n    name: distance\n    distance:\n      measurement: distance\n"
    reason = "    at_most: 0.1\n    reason: A tenth of the distance at the start.\n"
    less = part.replace("name: distance", "name: closer") + reason.replace("0.1", "0.025")
    at.edit("mini.yaml", f"{part}{reason}", f"{part}{reason}{less}")
    assert at("run", "mini", "--tier", "quick")[0] == 0
    claim = json.loads(at("report", "mini", "--tier", "quick", "--json")[1])["claims"][0]
    assert claim["verdict"] == "supported"
    said = "Models that are controls of other claims meet its primary part: level = 0.03"
    assert f"{said} (1 of 2 parts)." in claim["history"]


def test_a_claim_asked_twice_is_warned_of(at: Place) -> None:
    """The defect: the old claim was kept, and a second one said the same with a wider bound."""
    assert at(*PAPER)[0] == 0
    claims = json.loads(at(*REPORT, "--json")[1])["claims"]
    assert [one["verdict"] for one in claims[:2]] == ["supported", "contradicted"]
    at.edit("mini.yaml", "vanishes (supported).", "vanishes (contradicted).")
    assert at(*PAPER)[0] == 0
    said = warned(at)
    twin = "Warning: Another claim makes the same statement, or made it, mini.contradicted, whose"
    assert f"{twin} results were: contradicted." in said


def test_a_question_that_a_claim_gave_away_is_warned_of(at: Place) -> None:
    """The defect: the old id was given another meaning, and another claim took the question."""
    assert at(*PAPER)[0] == 0
    tight = "measurement: distance\n    at_most: 0.002"
    at.edit("mini.yaml", tight, tight.replace("distance", "final").replace("0.002", "0.1"))
    assert at(*PAPER)[0] == 0
    said = warned(at)
    assert said.count(f"Warning: {READ_ONCE}, mini.contradicted, whose results were: contr") == 1


def test_a_claim_that_hangs_on_nothing_is_not_warned_of(met: Place) -> None:
    assert met(*PAPER)[0] == 0
    assert f"Warning: {ONCE_CONDITIONAL}" not in warned(met)


@pytest.mark.parametrize("tier", ["quick", "paper"])
def test_an_alternative_that_ran_under_another_name_is_warned_of(met: Place, tier: str) -> None:
    """The defect: "0 of 2 alternatives run", while a control (at quick scale) had the settings."""
    met.edit("mini.yaml", "        - 0.6\n", "        - 0.8\n")
    at_tier = ("mini", "--tier", tier)
    assert met("run", *at_tier)[0] == 0
    told = the_guessed(met, "report", *at_tier)
    assert told["verdict"] == "supported"
    sentence = (
        f"{UNDER_ANOTHER_NAME}, as a control (descent with level = 0.8), the alternative level = "
        "0.8 comes out missed, and no multiverse has judged it: reproaudit multiverse mini --tier "
        f"{tier}"
    )
    assert sentence in told["history"]
    said = " ".join(met("report", *at_tier, "--verbose")[1].split())
    assert f"Warning: {sentence}." in said
    assert met("multiverse", *at_tier)[0] == 0
    told = the_guessed(met, "report", *at_tier)
    assert told["verdict"] == "conditional"
    assert sentence not in told["history"]


def test_what_qualifies_a_verdict_qualifies_a_condition(conditional: Place) -> None:
    """The defect: a conditional claim lost all that its verdict said as a supported one."""
    history = the_guessed(conditional, *REPORT)["history"]
    (said,) = [one for one in history if one.startswith("As audited: ")]
    assert "every part is missed on its ablation" in said
    assert "nothing shows that the claim's own runs and the control trained" in said
    assert "runs cannot rule out" in said
    assert "alternatives run" not in said


def test_a_condition_out_of_reach_says_so(met: Place) -> None:
    """The defect: "missed if ..." of a value with which nothing that could be built meets it."""
    steps = "  steps:\n    value: 40\n    source: paper\n    locator: Section 4\n"
    guess = "    source: assumption\n    why: About so many.\n    alternatives: [1]\n"
    met.edit("mini.yaml", steps, steps[: steps.index("    source")] + guess)
    assert met(*PAPER)[0] == 0
    assert met(*MULTIVERSE)[0] == 0
    hangs = {one["setting"]: one["sentence"] for one in the_guessed(met, *REPORT)["hangs_on"]}
    assert hangs["steps"] == (
        "supported if steps = 40; missed if steps = 1; with 1 its constructed solution misses it, "
        "too"
    )
    assert hangs["level"] == "supported if level = 0.02; missed if level = 0.4 or 0.6"
    assert hangs["steps"] in the_guessed(met, *REPORT)["why"]


def test_a_conditional_claim_that_is_gone_is_warned_of(met: Place) -> None:
    """The defect: claim and experiment were renamed, and nothing was known of the new one."""
    again = "Experiment(Settings, measure, phases=lambda s: {'descent': s.steps})"
    met.edit("mini.py", "EXPERIMENTS = {", f'EXPERIMENTS = {{\n    "thought": {again},')
    assert met(*PAPER)[0] == 0
    assert met(*MULTIVERSE)[0] == 0
    assert the_guessed(met, *REPORT)["verdict"] == "conditional"
    for before, after in (
        ("guessed:", "thought:"),
        ("experiment: guessed", "experiment: thought"),
        ("mini.inconclusive", "mini.other"),
        ("vanishes (inconclusive)", "goes"),
        ("        - 0.4\n        - 0.6\n", "        - 0.03\n"),
    ):
        met.edit("mini.yaml", before, after)
    assert met(*PAPER)[0] == 0
    said = warned(met)
    assert "SUPPORTED mini.other" in said
    gone = (
        "Warning: Claims of this audit that are gone did not hold once: mini.inconclusive "
        "(conditional)."
    )
    assert said.count(gone) == 2, "beside each of the two supported claims"


def test_a_course_that_begins_below_a_floor_is_warned_of(at: Place) -> None:
    """The defect: twenty times its start was within twice of it, with a floor above the start."""
    at.edit("mini.py", "np.ones(len(seeds))", "np.full(len(seeds), 1e-3)")
    at.edit(
        "mini.yaml",
        "- kind: aligns\n    name: distance\n    distance:\n      measurement: distance\n"
        "    at_most: 0.1\n",
        "- kind: reaches\n    name: distance\n    quantity:\n      measurement: distance\n"
        "    relative_to:\n      measurement: distance\n      step: first\n    at_most: 2.0\n"
        "    floor: 0.015\n    scale: log\n",
    )
    assert at(*PAPER)[0] == 0
    said = warned(at)
    assert "SUPPORTED mini.supported" in said
    assert f"Warning: {BELOW_THE_FLOOR} of 'distance' lies 'distance' in 6 of 6 runs" in said


def test_numbers_below_a_floor_are_warned_of(at: Place) -> None:
    """The defect: ten times the number matched within 1 %, confirmed, with a floor above both."""
    at.edit(
        "mini.yaml",
        "- kind: aligns\n    name: distance\n    distance:\n      measurement: distance\n"
        "    at_most: 0.1\n",
        "- kind: reaches\n    name: distance\n    quantity:\n      measurement: final\n"
        "    relative_to:\n      measurement: distance\n    at_most: 1.01\n    floor: 0.45\n"
        "    scale: log\n",
    )
    assert at(*PAPER)[0] == 0
    said = warned(at)
    assert (
        f"Warning: {BELOW_THE_FLOOR} of 'distance' lies 'final' in 6 of 6 runs: less than 0.45 "
        "counts as 0.45"
    ) in said


def test_an_ablation_below_a_floor_is_warned_of(at: Place) -> None:
    """The defect: a floor above what the ablation measured made it miss the part."""
    start = "np.full(len(seeds), 0.25 if settings.level == 0.03 else 1.0)"
    at.edit("mini.py", "np.ones(len(seeds))", start)
    at.edit(
        "mini.yaml",
        "- kind: aligns\n    name: distance\n    distance:\n      measurement: distance\n"
        "    at_most: 0.1\n",
        "- kind: separates\n    name: distance\n    lower:\n      measurement: final\n    upper:\n"
        "      measurement: distance\n      step: first\n    by: 3.0\n    floor: 0.3\n",
    )
    at.edit("mini.yaml", "level: 0.8\n", "level: 0.03\n")
    assert at(*PAPER)[0] == 0
    said = warned(at)
    assert "SUPPORTED mini.supported" in said
    told = "5 of 5 runs of control 1: less than 0.3 counts as 0.3"
    assert f"lies 'distance' in {told}" in said
    assert f"lies 'final' in 6 of 6 runs, {told}" in said


@pytest.mark.parametrize(
    ("setting", "value", "other"), [("pause", "0.0", "1.0e-9"), ("steps", "80", "90")]
)
def test_alternatives_that_change_no_number_are_warned_of(
    met: Place, setting: str, value: str, other: str
) -> None:
    """The defect: "2 of 2 alternatives run", of a setting that the module does not use.

    Nor do more steps change a number's first digits where it has long come to rest.
    """
    met.edit("mini.yaml", "  steps:\n    value: 40\n", "  steps:\n    value: 80\n")
    stated = f"  {setting}:\n    value: {value}\n    source: paper\n    locator: Section 4\n"
    guess = f"    source: assumption\n    why: Any.\n    alternatives: [{other}]\n"
    met.edit("mini.yaml", stated, stated[: stated.index("    source")] + guess)
    assert met(*PAPER)[0] == 0
    assert met(*MULTIVERSE)[0] == 0
    said = warned(met)
    sentence = (
        "Warning: Alternatives that were run change no judged number of it, as where a setting is "
        f"not used or a number saturates: {setting} = {other.replace('1.0e-9', '1e-09')}."
    )
    assert said.count(sentence) >= 1
