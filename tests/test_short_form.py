"""The short form: what it expands to, what the upgrade writes, and every fault at its place."""

import json
import re
import time
from pathlib import Path

import pytest
import yaml

from reproaudit.audit.catalog import audits_in
from reproaudit.audit.loading import load_audit, read_audit
from reproaudit.audit.model import Audit, Source
from reproaudit.audit.review import version_of
from reproaudit.audit.schema import schema_of
from reproaudit.audit.seeds import rule
from reproaudit.audit.short.forms import ShortAudit
from reproaudit.audit.short.reference import EXAMPLE, PARTS, entry, entry_of, lines_of, page
from reproaudit.audit.short.refusals import NEW_NAMES
from reproaudit.audit.short.upgrade import in_order, upgraded
from reproaudit.checks import KINDS, Beats
from reproaudit.cli import run_command
from reproaudit.logs.mapping import MappingFile
from reproaudit.service.parts import MAPPING_PARTS

ROOT = Path(__file__).parents[1]
SHORT = Path(__file__).parent / "short"
SAXE = (SHORT / "saxe2014.yaml").read_text(encoding="utf-8")
MAXRL = (SHORT / "maxrl2026.yaml").read_text(encoding="utf-8")
OLD = [ROOT / "tests" / "long" / "wang2024.yaml", ROOT / "tests" / "audits" / "toy.yaml"]
"""Audits of schema 2."""

BAD = {
    one["id"]: one
    for one in yaml.safe_load((ROOT / "tests" / "golden" / "short_faults.yaml").read_text())
}
SECONDS = 2.0
NAMES_OF_KINDS = {kind.__name__ for kind in KINDS.values()}


def read(text: str, slug: str = "saxe2014") -> Audit:
    audit, faults = read_audit(f"{slug}.yaml", text)
    assert audit is not None, faults
    assert [str(fault) for fault in faults if fault.rule != "RA242"] == []
    return audit


def faults_of(text: str) -> list[str]:
    faults = read_audit("saxe2014.yaml", text)[1]
    return [str(fault).removeprefix("saxe2014.yaml:") for fault in faults]


# --- what it expands to ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(SHORT.glob("*.yaml")), ids=lambda path: path.stem)
def test_an_audit_in_the_short_form_has_no_fault(path):
    audit, faults = read_audit(path)
    assert faults == []
    assert audit == load_audit(path)


def test_settings_of_a_group_have_its_source_and_place():
    tree = read(SAXE).experiments["tree"].settings
    assert tree["u0"].value == 1e-6
    assert tree["u0"].readings[0].value == 0.0025
    assert tree["u0"].source is tree["learning_rate"].source is Source.PAPER
    assert tree["learning_rate"].readings == ()
    assert tree["start_scale"].alternatives == (0.5, 2.0)
    assert tree["iterations"].only_reading is not None


def test_a_block_of_a_tier_holds_where_the_setting_is_taken_from():
    audit = read(SAXE)
    assert audit.values_of("depth", "quick")["u0"] == 0.01
    assert audit.values_of("tree", "quick")["u0"] == 1e-6
    assert audit.values_of("strengths", "smoke")["iterations"] == 100, "as the tree has it"
    assert audit.values_of("strengths", "paper")["strengths"] == (16.0, 24.0, 36.0, 54.0, 81.0)


LEVELS = """schema_version: 3
paper: {slug: saxe2014, title: A title}
settings: [{from: paper, at: Table 1, values: {steps: 100, width: 8}}]
quick: {values: {steps: 10, width: 4}, why: Enough.}
experiments:
  first: {title: First, measurements: {loss: {once: [], says: A loss.}}}
  second:
    title: Second
    settings: [{from: code, at: train.py, values: {steps: 50}}]
    quick: {values: {width: 2}, why: Smaller still.}
    measurements_of: first
claims:
  falls: {says: It falls., at: Table 2, experiment: first, no_control: There is none.,
    holds_if: [{kind: reaches, value: loss, below: 1.0, from: paper}]}
  falls-again: {says: It falls again., at: Table 2, main: true, experiment: second,
    no_control: There is none.,
    holds_if: [{kind: reaches, value: loss, below: 1.0, from: paper}]}
"""


def test_an_experiments_own_setting_has_nothing_of_the_shared_block():
    """The precedence: a value of the experiment, its block, the shared block, the shared value."""
    audit = read(LEVELS)
    assert audit.values_of("first", "quick") == {"steps": 10, "width": 4}
    assert audit.values_of("second", "quick") == {"steps": 50, "width": 2}
    assert audit.values_of("second", "paper") == {"steps": 50, "width": 8}
    assert audit.measurements_of("second").keys() == {"loss"}


def test_a_claim_has_the_controls_of_its_experiment_unless_it_names_its_own():
    claims = {claim.id: claim for claim in read(SAXE).claims}
    assert claims["saxe2014.random-start"].nulls == ("one_matrix",)
    assert claims["saxe2014.closed-form"].nulls == ("one_matrix", "next_mode")
    assert claims["saxe2014.closed-form"].constructed == "equation_12"
    assert claims["saxe2014.inverse-strength"].ablations[0].lacks == "the small start"


def test_readings_are_all_of_the_experiment_unless_a_claim_lists_them():
    claims = {claim.id: claim for claim in read(SAXE).claims}
    assert claims["saxe2014.closed-form"].readings == ("u0",)
    assert claims["saxe2014.orthogonal"].readings == ()
    none = SAXE.replace("    main: true\n", "    main: true\n    readings: []\n")
    assert read(none).claims[0].readings == ()


def test_a_number_has_its_own_source_or_that_of_its_check():
    claims = {claim.id: claim for claim in read(SAXE).claims}
    equals = claims["saxe2014.random-start"].headline[0].model_dump(by_alias=True, mode="json")
    assert (equals["within"], equals["relative"], equals["from"]) == (0.2, True, "ours")
    scales = claims["saxe2014.inverse-strength"].headline[0].model_dump(by_alias=True, mode="json")
    assert (scales["exponent"], scales["from"]) == (-1.0, "paper")
    assert scales["within"]["is"] == 0.15
    assert scales["within"]["from"] == "ours"


def test_a_fraction_is_a_number():
    text = SAXE.replace("exponent: {is: -0.93, from: derived}", "exponent: -13/14, from: derived")
    (check,) = read(text).claims[2].notes
    assert check.model_dump()["exponent"] == -13 / 14


def test_a_named_bound_is_the_bound():
    bound = "bounds: {tenth: {at_most: 1/10, from: ours, why: A tenth.}}\n\naxes:"
    text = SAXE.replace("axes:", bound, 1)
    text = text.replace("at_most: {is: 0.1, from: derived}", "bound: tenth", 1)
    check = read(text).claims[0].headline[0].model_dump(by_alias=True, mode="json")
    assert (check["at_most"], check["from"], check["why"]) == (0.1, "ours", "A tenth.")


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ("strength of one_matrix", {"measurement": "strength", "arm": "one_matrix"}),
        (
            '"strength[tanh, 1]@first of one_matrix"',
            {
                "measurement": "strength",
                "coordinates": ["tanh", 1],
                "step": "first",
                "arm": "one_matrix",
            },
        ),
        ("strength", {"measurement": "strength", "coordinates": [], "step": "last"}),
    ],
)
def test_a_text_names_the_arm_of_a_quantity(text, quantity):
    old = "value: half_time, to: predicted_half_time"
    new = f"value: {text}, to: predicted"
    assert old in SAXE
    audit, faults = read_audit("saxe2014.yaml", SAXE.replace(old, new, 1))
    assert audit is not None, faults
    (check,) = audit.claims[1].headline
    assert check.model_dump(mode="json", exclude_unset=True)["value"] == quantity


def test_an_unknown_arm_in_a_text_is_told_at_its_place():
    (fault,) = faults_of(SAXE.replace("to: predicted_half_time", "to: half_time of gausian", 1))
    assert "found 'gausian', which is no arm of this audit" in fault
    assert "Did you mean 'gaussian'?" in fault
    assert "claims.random-start.holds_if[0].to" in fault


def test_a_list_of_coordinates_stands_for_a_check_at_each():
    one = read(SAXE).claims[0].headline[0]
    text = SAXE.replace("where: {net: decoupled}", "where: {net: [decoupled, random]}", 1)
    made = read(text).claims[0].headline
    assert [check.at for check in made] == [{"net": "decoupled"}, {"net": "random"}]
    assert made[0] == one
    assert faults_of(SAXE.replace("{net: decoupled}", "{net: []}", 1))
    many = f"{{net: {list(range(20))}, mode: {list(range(20))}}}"
    (fault,) = (
        fault for fault in faults_of(SAXE.replace("{net: decoupled}", many, 1)) if "RA059" in fault
    )
    assert "found a check at 400 places; expected at most 100" in fault


def test_a_block_of_a_tier_has_a_reason_for_each_value():
    reasons = "why: {steps: Enough., width: Narrow.}}\nexperiments"
    text = LEVELS.replace("why: Enough.}\nexperiments", reasons)
    quick = [read(text).settings[name].quick for name in ("steps", "width")]
    assert [one.reason for one in quick if one is not None] == ["Enough.", "Narrow."]
    (fault,) = faults_of(text.replace(", width: Narrow.", ""))
    assert "Add 'width' to 'why'." in fault
    (fault,) = faults_of(text.replace("width: Narrow.", "width: Narrow., depth: Flat."))
    assert "found 'depth', which is no setting of this block" in fault


def test_sources_that_agree_stand_by_source():
    also = "rates: 20}, also_stated: {code: [train.py, run.sh], card: row 3}"
    setting = read(SAXE.replace("rates: 20}", also, 1)).experiments["depth"].settings["rates"]
    assert [(one.source.value, one.locator) for one in setting.also_at] == [
        ("authors_code", "train.py"),
        ("authors_code", "run.sh"),
        ("card", "row 3"),
    ]
    assert faults_of(SAXE.replace("rates: 20}", "rates: 20}, also_stated: {cod: x}", 1))


def test_a_reading_is_of_the_first_value_that_its_group_has():
    text = SAXE.replace("values: {u0: 0.0025}}", "values: {features: 500, u0: 0.0025}}", 1)
    (reading,) = read(text).experiments["tree"].settings["u0"].readings
    assert (reading.value, reading.together) == (0.0025, {"features": 500})


def test_the_words_of_what_follows_by_algebra_are_derived():
    claim = read(SAXE.replace("    main: true\n", "    main: true\n    whose: derived\n")).claims[0]
    assert (claim.whose, claim.wording) == ("derived", "derived")


def test_a_cards_missing_day_is_told_once():
    head, _, rest = SAXE.partition("variables:\n")
    card = 'Pseudocode: {card: "No", says: None.}\n  Open Datasets: {card: "No", says: None.}'
    text = f"{head}variables:\n  {card}\n\naxes:{rest.partition('axes:')[2]}"
    (fault,) = faults_of(text)
    assert "found a card's result without a day" in fault


def test_what_is_ours_is_no_question_to_the_authors():
    setting = read(SAXE).experiments["depth"].settings["components"]
    assert setting.ours
    assert setting.guessed
    text = SAXE.replace("values: {components: 32}, could_be: [48]", "values: {components: 32}")
    setting = read(text).experiments["depth"].settings["components"]
    assert setting.ours
    assert (setting.source, setting.locator) == (Source.DERIVED, "A size of seconds.")
    assert not read(SAXE).experiments["tree"].settings["u0"].readings[0].ours
    text = SAXE.replace("also_stated: [{from: paper, at: 'F", "also_stated: [{from: ours, at: 'F")
    assert read(text).experiments["tree"].settings["u0"].readings[0].ours


def test_a_source_that_agrees_stands_beside_the_other():
    also = "values: {u0: 0.001, rates: 20}, also_stated: [{from: code, at: train.py}]"
    setting = read(SAXE.replace("values: {u0: 0.001, rates: 20}", also))
    also_at = setting.experiments["depth"].settings["rates"].also_at
    assert [(one.source, one.locator) for one in also_at] == [(Source.AUTHORS_CODE, "train.py")]


def test_each_side_of_the_literature_has_its_name():
    """Of a value, of another one and of what agrees with it; the upgrade keeps all three."""
    other = "{from: literature, who: Ma 2023, at: §2, values: {u0: 0.1}, also_stated: [AGREEING]}"
    agreeing = "{from: code, who: torchlib, at: adam.py}"
    text = SAXE.replace(
        "{from: paper, at: Figure 4, values: {u0: 0.001, rates: 20}}",
        "{from: literature, who: Li 2022, at: Table 1, values: {u0: 0.001, rates: 20}, "
        f"also_stated: [{other.replace('AGREEING', agreeing)}]}}",
    )
    audit = read(text)
    setting = audit.experiments["depth"].settings["u0"]
    (reading,) = setting.readings
    (also,) = reading.also_at
    sides = [(one.source, one.who, one.locator) for one in (setting, reading, also)]
    assert sides == [
        (Source.REPRODUCTION, "Li 2022", "Table 1"),
        (Source.REPRODUCTION, "Ma 2023", "§2"),
        (Source.AUTHORS_CODE, "torchlib", "adam.py"),
    ]
    assert read(upgraded(audit)).experiments["depth"].settings["u0"] == setting


def test_a_guess_is_nobodys():
    guess = "{from: guess, why: The threshold"
    (fault,) = faults_of(SAXE.replace(guess, guess.replace("guess,", "guess, who: Li 2022,")))
    assert "found 'who' of a guess; expected it of what somebody states" in fault


def test_questions_of_ours_stand_apart():
    ours = "our_questions:\n  best-rate:\n    says: The best rate"
    text = SAXE.replace("  best-rate:\n    says: The best rate", ours)
    assert [claim.ours for claim in read(text).claims] == [False] * 4 + [True]


# --- runs from elsewhere --------------------------------------------------------------------------


def test_claims_alone_are_an_audit():
    """Measurements and arms are those that checks name."""
    audit = read(MAXRL, "maxrl2026")
    assert audit.method == "maxrl"
    assert audit.variables == ()
    (experiment,) = audit.experiments
    assert audit.measurements_of(experiment).keys() == {"pass_8"}
    assert audit.arms.keys() == {"reinforce", "checkpoint"}
    first, second = audit.claims
    assert (first.short, first.main, second.main) == (first.says[:-1], True, False)
    check = first.headline[0]
    assert isinstance(check, Beats)
    assert (check.lower.arm, check.upper.arm) == ("reinforce", None), "a higher value is better"


def test_a_lower_value_is_better_where_the_check_says_so():
    audit = read(MAXRL.replace("higher: true, ", "higher: false, "), "maxrl2026")
    check = audit.claims[0].headline[0]
    assert isinstance(check, Beats)
    assert (check.lower.arm, check.upper.arm) == (None, "reinforce")


def test_what_checks_read_over_training_is_a_series():
    check = '{kind: converges, loss: "loss[test]", flattens: {at_most: 0.05, from: paper}}'
    text = MAXRL.replace(
        "{kind: beats, value: pass_8, arm: reinforce, higher: true, from: paper}", check
    )
    text = text.replace("main: true", "main: true\n    no_control: There is none.")
    declared = read(text, "maxrl2026").measurements_of("runs")["loss"]
    assert declared.kind == "series"
    assert [(axis.name, axis.values) for axis in declared.axes] == [("coordinate", ("test",))]


def test_only_claim_is_the_main_one():
    head, _, tail = MAXRL.partition("  learns:\n")
    assert tail
    assert [
        claim.main for claim in read(head.replace("    main: true\n", ""), "maxrl2026").claims
    ] == [True]


# --- the upgrade ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_an_upgraded_audit_is_the_same_audit(path):
    """Its rules and seeds, too; questions of ours come last."""
    audit = load_audit(path)
    text = upgraded(audit)
    again = read(text, audit.paper.slug)
    assert again == in_order(audit)
    assert version_of(again) == version_of(in_order(audit))
    for experiment in audit.experiments:
        assert rule(again, experiment, "paper") == rule(audit, experiment, "paper")
    assert max(map(len, text.splitlines())) <= 120
    assert text.count("\n") < path.read_text(encoding="utf-8").count("\n")
    assert read(upgraded(again), audit.paper.slug) == again


def test_the_command_writes_beside_the_audit(tmp_path, capsys):
    old = tmp_path / "toy.yaml"
    old.write_text((ROOT / "tests" / "audits" / "toy.yaml").read_text(encoding="utf-8"))
    before = old.read_bytes()
    assert run_command(["check", "--upgrade", str(old)]) == 0
    new = tmp_path / "toy.short.yaml"
    assert f"mv {new} {old}" in capsys.readouterr().out.replace("\n", " ")
    assert old.read_bytes() == before
    assert load_audit(new) == load_audit(old)
    assert audits_in(tmp_path) == [old]
    assert run_command(["check", "--upgrade", str(new), "--json"]) == 2
    assert "found schema 3; expected an audit of schema 2" in capsys.readouterr().err


def test_an_audit_with_errors_is_not_upgraded(tmp_path, capsys):
    old = tmp_path / "toy.yaml"
    text = (ROOT / "tests" / "audits" / "toy.yaml").read_text(encoding="utf-8")
    old.write_text(text.replace("headline:", "headlin:", 1))
    assert run_command(["check", "--upgrade", str(old), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["written"] == []
    assert sorted(tmp_path.iterdir()) == [old]
    assert run_command(["check", "--upgrade"]) == 2


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BAD)
def test_every_fault_has_its_place_and_remedy(name):
    old = BAD[name]["old"]
    assert old in SAXE
    assert faults_of(SAXE.replace(old, BAD[name]["new"], 1)) == BAD[name]["faults"]


def test_a_key_that_stands_twice_is_told():
    (fault,) = faults_of(SAXE.replace("    main: true\n", "    main: true\n    main: false\n"))
    assert "found 'main' again (first on line 102)" in fault


def test_an_arm_of_another_claim_is_told_to_move():
    text = SAXE.replace("[one_matrix, next_mode]", "[one_matrix, twice]")
    arms = "    arms: {twice: {settings: {layers: 1}}}\n    without_part:"
    (fault,) = faults_of(text.replace("    without_part:", arms))
    assert "It stands under the claim 'inverse-strength': move it under 'arms:'." in fault


def test_all_faults_are_told_at_once_and_none_that_follows():
    """What the models, the expansion and the rules find, each in another part of the file."""
    text = SAXE.replace("short: each mode", "shrot: each mode")
    text = text.replace("value: half_time, to: pred", "value: half_tim, to: pred")
    text = text.replace("arm: gaussian", "arm: gausian")
    found = faults_of(text)
    assert [line.rpartition("[")[2] for line in found] == ["RA050]", "RA224]", "RA224]"]
    assert "Did you mean 'half_time'?" in found[1]
    assert "Did you mean 'gaussian'?" in found[2]


def test_messages_speak_of_the_short_forms_fields():
    text = SAXE.replace("    must_fail: [one_matrix]\n    must_pass: equation_12\n", "")
    *_, fault = faults_of(text)
    assert "found a claim without a control" in fault
    assert "'must_fail'" in fault
    assert "nulls" not in fault


@pytest.mark.parametrize("bound", ["{bound: a}", "a", "{bound: b}", "[a]", "{at_most: a}"])
def test_a_bound_has_nothing_of_another(bound):
    text = SAXE.replace("axes:", f"bounds: {{a: {bound}, b: {{bound: a}}}}\naxes:", 1)
    assert faults_of(text.replace("at_most: {is: 0.1, from: derived}", "bound: a", 1))


# --- the table of names ---------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "short-form.md").read_text(encoding="utf-8")


def test_the_table_has_every_field_of_schema_2_that_has_another_name():
    """Those of checks have a table of their own, since a kind has the same fields in both forms."""
    schema = schema_of(Audit)
    of_checks = {*NAMES_OF_KINDS, "Bound", "Onset", "Quantile", "Quantity", "SourcedNumber", "Wait"}
    fields = {
        f"{name}.{field}"
        for name, model in {"Audit": schema, **schema["$defs"]}.items()
        for field in model.get("properties", ())
        if name not in of_checks and not (name == "NamedArm" and field != "name")
        if not (name == "StartBound" and field != "value")
    }
    rows = re.findall(r"^\| `([A-Z]\w+\.\w+)` \| (?:`([a-z_]+)[`:])?", PAGE, re.MULTILINE)
    listed = {field for field, _ in rows}
    assert len(listed) > 50
    assert listed <= fields
    short = schema_of(ShortAudit)
    models = [short, *short["$defs"].values()]
    known = {field for model in models for field in model.get("properties", ())}
    same = {field.partition(".")[2] for field in fields - listed}
    new = {name for _, name in rows if name}
    assert sorted((same | new) - known - {"not_others"}) == []


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_check_accepts_the_audits_on_the_page(block):
    slug = yaml.safe_load(block)["paper"]["slug"]
    audit, faults = read_audit(f"{slug}.yaml", block)
    assert [str(fault) for fault in faults] == []
    assert audit is not None


def test_renamed_fields_have_names_that_the_short_form_has():
    schema = schema_of(ShortAudit)
    models = [schema, *schema["$defs"].values()]
    known = {field for model in models for field in model.get("properties", ())}
    assert {name for names in NEW_NAMES.values() for name in names} <= known


def test_nothing_else_knows_the_short_form():
    """Who reads an audit, its schema, and the command that writes one."""
    source = ROOT / "src" / "reproaudit"
    using = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "audit.short" in path.read_text(encoding="utf-8") and "short" not in path.parts
    }
    reading = {"audit/loading.py", "audit/schema.py"}
    assert using == reading | {"service/check.py", "service/parts.py"}


# --- what a part is made of -----------------------------------------------------------------------


def test_check_accepts_the_example_of_every_part_and_kind():
    audit, faults = read_audit("example.yaml", EXAMPLE.read_text(encoding="utf-8"))
    assert [str(fault) for fault in faults] == []
    assert audit is not None
    claims = audit.claims
    used = {check.name for one in claims for check in (*one.headline, *one.support, *one.notes)}
    assert used == set(KINDS)


@pytest.mark.parametrize("name", [*PARTS, *KINDS])
def test_a_part_has_its_fields_and_an_example(name):
    one = entry(name)
    assert all(meaning for field, _, meaning in one.fields if field != "kind")
    assert yaml.safe_load(one.example)
    if name in KINDS:
        assert yaml.safe_load(one.example)["kind"] == name
        assert len(list(lines_of(one))) <= 20


def test_the_page_of_all_fields_is_up_to_date():
    assert (ROOT / "docs" / "short-fields.md").read_text(encoding="utf-8") == page(), (
        "docs/short-fields.md is older than the models; write it anew with `make schema`"
    )


@pytest.mark.parametrize("name", MAPPING_PARTS)
def test_a_part_of_a_mapping_has_its_fields_and_an_example(name):
    model, example = MAPPING_PARTS[name]
    assert all(meaning for _, _, meaning in entry_of(name, model, example).fields)
    written = yaml.safe_load(example)[name]
    fields = written if name == "files" else {name: written}
    assert MappingFile.model_validate_json(json.dumps(fields))


def test_the_command_prints_what_a_field_means(capsys):
    assert run_command(["schema", "share_of_runs"]) == 0
    assert "share_of_runs of claim: The share of all runs" in capsys.readouterr().out
    assert run_command(["schema", "match", "beats"]) == 0
    printed = capsys.readouterr().out
    assert "match of runs: A run's name" in printed
    assert "\nbeats: " in printed


def test_the_command_prints_a_part(capsys):
    assert run_command(["schema", "reaches"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("reaches: ")
    assert "relative_to: A positive quantity" in printed
    assert run_command(["schema", "reach"]) == 2
    assert "Did you mean 'reaches'?" in capsys.readouterr().err


# --- crafted files --------------------------------------------------------------------------------

NAMES = [f"n{number}" for number in range(3000)]
MANY_VALUES = ", ".join(f"{name}: 1" for name in NAMES)
BIG = f"{{title: x, settings: [{{from: paper, at: x, values: {{{MANY_VALUES}}}}}]}}"
CRAFTED = {
    "arms": ("[one_matrix, next_mode]", f"[{', '.join(NAMES)}]", "RA224"),
    "chain": (
        "  strengths:\n",
        "".join(
            f"  {name}: {{title: x, settings_of: {other}, measurements_of: {other}}}\n"
            for name, other in zip(NAMES, [*NAMES[1:], "tree"], strict=True)
        )
        + "  strengths:\n",
        "RA016",
    ),
    "copies": (
        "experiments:\n",
        f"experiments:\n  big: {BIG}\n"
        + "".join(f"  {name}: {{title: x, settings_of: big}}\n" for name in NAMES),
        "RA016",
    ),
    "agreeing": (
        "values: {u0: 0.001, rates: 20}}",
        f"values: {{u0: 0.001, rates: 20}}, also_stated: [{'{from: code, at: x}, ' * 3000}]}}",
        "",
    ),
}
"""What is replaced in the audit by what, and a rule that it breaks."""


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_files_are_read_or_refused_soon(name):
    old, new, broken = CRAFTED[name]
    assert old in SAXE
    began = time.process_time()
    found = read_audit("saxe2014.yaml", SAXE.replace(old, new, 1))[1]
    assert time.process_time() - began < 6.0
    assert broken in {fault.rule for fault in found} | {""}
