"""The rule as plain data: what decides changes its hash, what is worded does not."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from reproaudit.audit.catalog import PACKAGE, Catalog
from reproaudit.errors import SpecError
from reproaudit.seals.changes import changes_between
from reproaudit.seals.entries import SucceededClaim
from reproaudit.seals.rule import (
    CODE,
    JUDGING,
    STREAM,
    code_of_package,
    digest,
    hash_of_code,
    rule_and_text,
    rule_of,
)
from reproaudit.seals.telling import named_changes

TOY: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent.parent / "audits" / "toy.yaml").read_text(encoding="utf-8")
)
Mutation = Callable[[dict[str, Any]], Any]


def mutated(mutation: Mutation) -> dict[str, Any]:
    audit = copy.deepcopy(TOY)
    mutation(audit)
    assert audit != TOY
    return audit


def claim(audit: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = audit["claims"][0]
    return found


def short_control(audit: dict[str, Any]) -> dict[str, Any]:
    """The control of toy.beats-ridge, which trains for fewer steps and says why it may."""
    (found,) = (one for one in audit["claims"] if one["id"] == "toy.beats-ridge")
    control: dict[str, Any] = found["controls"][0]
    assert "scale_reason" in control
    return control


WORDS: dict[str, Mutation] = {
    "reason": lambda a: claim(a)["checks"][0].update(reason="Other words."),
    "why of a control": lambda a: claim(a)["controls"][0].update(why="Other words."),
    "locator": lambda a: a["settings"]["steps"].update(locator="elsewhere"),
    "reason of a scale": lambda a: a["settings"]["steps"]["quick"].update(reason="Other words."),
    "title": lambda a: a["paper"].update(title="Another title"),
    "weight": lambda a: claim(a).update(weight=0.25),
    "words of a reason that counts": lambda a: short_control(a).update(scale_reason="Other words."),
}
OTHERS: dict[str, Mutation] = {
    "review": lambda a: a["variables"][0]["reviews"][0].update(reason="Other words."),
    "sign-off": lambda a: a.update(sign_offs=[{"reviewer": "R1"}]),
}
RULES: dict[str, tuple[Mutation, str]] = {
    "quick value": (
        lambda a: a["settings"]["steps"]["quick"].update(value=600),
        "setting 'steps' at the quick tier: 500 → 600",
    ),
    "value": (
        lambda a: a["settings"]["learning_rate"].update(value=0.2),
        "setting 'learning_rate': 0.1 → 0.2",
    ),
    "source": (
        lambda a: a["settings"]["learning_rate"].update(source="card"),
        "setting 'learning_rate', source: paper → card",
    ),
    "seeds": (
        lambda a: a["seeds"].update(paper=[0, 1, 2, 3, 7]),
        " → 0, 1, 2, 3, 7",
    ),
    "confidence": (lambda a: a.update(confidence=0.9), "confidence of the intervals"),
    "a claim less": (lambda a: a["claims"].pop(), "taken away"),
    "statement": (lambda a: claim(a).update(statement="Other words."), "statement of toy."),
    "if diverged": (lambda a: claim(a).update(if_diverged="missed"), "if diverged of toy."),
    "a part less": (lambda a: claim(a)["checks"].pop(), "taken away"),
    "the primary part": (lambda a: claim(a)["checks"].reverse(), "primary part of toy."),
    "a control's scale": (lambda a: claim(a)["controls"][0].update(scale="quick"), "scale: same"),
    "movement": (
        lambda a: a.update(movement={"parameters": "x", "at_least": 0.1, "reason": "y"}),
        "movement of training, parameters: ",
    ),
}


@pytest.mark.parametrize("mutation", WORDS.values(), ids=WORDS)
def test_words_change_the_text_and_not_the_rule(mutation: Mutation) -> None:
    (rule, text), (then, worded) = rule_and_text(TOY), rule_and_text(mutated(mutation))
    assert digest(rule) == digest(then)
    assert digest(text) != digest(worded)


@pytest.mark.parametrize("mutation", OTHERS.values(), ids=OTHERS)
def test_what_reviewers_write_changes_neither(mutation: Mutation) -> None:
    assert rule_and_text(TOY) == rule_and_text(mutated(mutation))


@pytest.mark.parametrize(("mutation", "says"), RULES.values(), ids=RULES)
def test_what_decides_changes_the_rule_and_is_told_in_words(mutation: Mutation, says: str) -> None:
    rule, then = rule_and_text(TOY)[0], rule_and_text(mutated(mutation))[0]
    assert digest(rule) != digest(then)
    what = [one.what for one in changes_between(rule, then)]
    assert any(says in one for one in what), what


def test_a_tolerance_names_its_part_claim_and_values() -> None:
    check, field = claim(TOY)["checks"][0], "falls_by"
    bound = check[field]
    after = mutated(lambda a: claim(a)["checks"][0].update({field: 99}))
    (change,) = changes_between(rule_and_text(TOY)[0], rule_and_text(after)[0])
    name = claim(TOY)["id"]
    assert change.what == f"tolerance of part '{check['name']}' of {name}, {field}: {bound} → 99"
    assert change.claims == (name,)


def told(mutation: Mutation, before: dict[str, Any] = TOY) -> str:
    """What a history says of a changed audit."""
    then = copy.deepcopy(before)
    mutation(then)
    return named_changes(changes_between(rule_and_text(before)[0], rule_and_text(then)[0]))


def first_experiment(audit: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = audit["experiments"][claim(audit)["experiment"]]
    return found


RATE = {"value": 0.7, "source": "paper", "locator": "p. 1"}


def test_an_experiment_under_another_name_hides_no_value() -> None:
    """The defect: "experiment taken away, another one added", and none of its new values."""

    def rename(audit: dict[str, Any]) -> None:
        old = claim(audit)["experiment"]
        audit["experiments"]["again"] = audit["experiments"].pop(old)
        audit["experiments"]["again"].setdefault("settings", {})["learning_rate"] = RATE
        for one in audit["claims"]:
            if one["experiment"] == old:
                one["experiment"] = "again"

    assert "setting 'learning_rate', as experiment 'again' has it: 0.1 → 0.7" in told(rename)


def test_a_setting_above_another_one_is_told_with_both_values_beside_many_additions() -> None:
    """The defect: seven more controls, and it was one of "2 more added"."""

    def add(audit: dict[str, Any]) -> None:
        first_experiment(audit).setdefault("settings", {})["learning_rate"] = RATE
        more = claim(audit)["controls"][0]
        claim(audit)["controls"] += [{**more, "name": f"c{one}"} for one in range(8)]

    said = told(add)
    assert "more added" in said
    name = claim(TOY)["experiment"]
    assert f"setting 'learning_rate', as experiment '{name}' has it: 0.1 → 0.7" in said
    assert f"setting 'learning_rate' of experiment '{name}' added: 0.7" in said


def test_a_statement_that_ends_in_added_is_told_beside_many_additions() -> None:
    def change(audit: dict[str, Any]) -> None:
        claim(audit)["statement"] = "The loss falls when a bias is added"
        more = claim(audit)["controls"][0]
        claim(audit)["controls"] += [{**more, "name": f"c{one}"} for one in range(8)]

    assert "when a bias is added" in told(change)


def test_a_part_under_another_name_hides_no_bound() -> None:
    """The defect: "part taken away, part added", and nothing of its wider bound."""
    (part, *_) = claim(TOY)["checks"]

    def rename(audit: dict[str, Any]) -> None:
        claim(audit)["checks"][0].update(name="Other", falls_by=1.01)

    said = told(rename)
    assert f"part '{part['name']}' of {claim(TOY)['id']} renamed 'Other'" in said
    assert f"part 'Other' of {claim(TOY)['id']}, falls_by: {part['falls_by']} → 1.01" in said
    assert "taken away" not in said


@pytest.mark.parametrize("statement", [None, "In other words."])
def test_a_claim_under_another_id_hides_no_bound(statement: str | None) -> None:
    def rename(audit: dict[str, Any]) -> None:
        claim(audit)["checks"][0].update(falls_by=1.01)
        claim(audit).update({"id": "toy.other", "statement": statement or claim(TOY)["statement"]})

    said = told(rename)
    bound = claim(TOY)["checks"][0]["falls_by"]
    assert f"of toy.other, falls_by: {bound} → 1.01" in said
    assert ("In other words." in said) == bool(statement)


def test_a_lost_claim_is_recognised_by_any_of_its_forms() -> None:
    """The defect: it was first given another meaning, and another claim then took its question."""
    meant = copy.deepcopy(TOY)
    claim(meant).update(statement="Other.", checks=meant["claims"][1]["checks"])
    claim(meant)["experiment"] = meant["claims"][1]["experiment"]
    last = copy.deepcopy(TOY)
    claim(last)["id"] = "toy.other"
    first, between, after = (rule_and_text(one)[0] for one in (TOY, meant, last))
    found = changes_between(between, after, [first])
    assert (claim(TOY)["id"], ("toy.other",)) in [
        (one.was, one.claims) for one in found if isinstance(one, SucceededClaim)
    ]


@pytest.mark.parametrize("values", [[0.001 * one for one in range(40)], ["text " * 30, "b", "c"]])
def test_of_long_lists_what_came_and_went_is_told(values: list[Any]) -> None:
    """The defect: both sides were cut after eighty letters, before the one that mattered."""
    path = "settings/gain/alternatives"
    changed = [*values[:-1], 7.5]
    (change,) = changes_between({path: values}, {path: changed})
    out, put = change.what.split("; ")
    assert out.endswith(f"{values[-1]} taken out")
    assert put == "7.5 put in"
    (change,) = changes_between({path: values}, {path: values[:-1]})
    assert change.what.endswith(f": {values[-1]} taken out")


def test_between_two_differences_of_a_long_text_nothing_is_left_out() -> None:
    path, middle = "claims/toy.depth/statement", "and this in every run, " * 8
    one, other = (f"It is {a}, {middle}within {b} of it." for a, b in (("true", 2), ("false", 9)))
    (change,) = changes_between({path: one}, {path: other})
    assert "within 2 of it" in change.what
    assert "within 9 of it" in change.what


def test_settings_whose_names_are_words_decide() -> None:
    def add(audit: dict[str, Any]) -> None:
        audit["settings"]["weight"] = {"value": 1, "source": "paper", "locator": "p. 1"}

    assert rule_and_text(mutated(add))[0]["settings/weight/value"] == 1


REASONS = ("loss_stays", "scale_reason")


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("shared", [False, True], ids=["in its claims", "shared"])
def test_that_a_reason_which_counts_is_there_is_part_of_the_rule(reason: str, shared: bool) -> None:
    """The defect: a short control counts only with a reason, and one could be added unseen."""
    two = [claim(TOY)["id"], "toy.beats-ridge"]

    def given(words: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
        audit = copy.deepcopy(TOY)
        control = {k: v for k, v in short_control(audit).items() if k != "scale_reason"}
        control |= {"name": "shuffled", **({reason: words} if words else {})}
        named: Any = control
        if shared:
            audit["controls"], named = {"shuffled": {**control, "name": None}}, "shuffled"
        for one in audit["claims"]:
            if one["id"] in two:
                one["controls"] = [named]
        return rule_and_text(audit)

    (without, no_words), (there, words), (reworded, others) = map(given, (None, "One.", "Two."))
    assert there == reworded
    assert len({digest(one) for one in (no_words, words, others)}) == 3
    named = reason.replace("_", " ")
    for before, after, how in (
        (without, there, "nothing → given"),
        (there, without, "given → nothing"),
    ):
        told = {one.what: (one.claims, one.is_addition) for one in changes_between(before, after)}
        assert told == {
            f"control 'shuffled' of {name}, {named}: {how}": ((name,), False) for name in two
        }


def test_an_older_rule_that_held_the_words_of_a_reason_is_no_other_one() -> None:
    rule = rule_and_text(mutated(lambda a: short_control(a).update(loss_stays="It may.")))[0]
    (path,) = [one for one in rule if one.endswith("/loss_stays")]
    assert rule[path] is True
    assert changes_between({**rule, path: "It may."}, rule) == ()


def test_a_setting_that_is_called_like_a_reason_is_told_with_its_value() -> None:
    def replace(audit: dict[str, Any]) -> None:
        short_control(audit)["substitutes"] = {"loss_stays": "other"}

    (change,) = changes_between(*(rule_and_text(one)[0] for one in (TOY, mutated(replace))))
    assert change.what.endswith("substitutes loss stays: nothing → other")


def test_axes_whose_names_are_words_decide() -> None:
    def look(audit: dict[str, Any]) -> None:
        claim(audit)["checks"][0]["error"] = {"measurement": "x", "at": {"unit": 2}}

    rule, text = rule_and_text(mutated(look))
    assert [path for path in rule if path.endswith("/at/unit")]
    assert not [path for path in text if path.endswith("/at/unit")]


def test_how_an_audit_is_laid_out_is_no_part_of_its_rule() -> None:
    def share(audit: dict[str, Any]) -> None:
        for one in audit["claims"]:
            for index, control in enumerate(one["controls"]):
                if isinstance(control, dict):
                    name = f"shared_{audit['claims'].index(one)}_{index}"
                    audit.setdefault("controls", {})[name] = control
                    one["controls"][index] = name

    before, after = rule_and_text(TOY)[0], rule_and_text(mutated(share))[0]
    what = changes_between(before, after)
    assert what
    assert all("renamed" in one.what and one.claims == () for one in what)


@pytest.mark.parametrize(
    "module",
    [
        "commands/confirmed",
        "scorecard/build",
        "scorecard/from_store",
        "seals/confirming",
        "seals/standing",
        "stats/decisions",
    ],
)
def test_code_that_grants_a_verdict_is_under_the_rule(tmp_path: Path, module: str) -> None:
    """The defect: what derives seeds, shares the error and says "confirmed" was under no hash."""
    package = tmp_path / "package"
    for place in ("lab/seeds.py", "stats", "checks", "judging", "multiverse"):
        source = PACKAGE / place
        copy = shutil.copytree if source.is_dir() else shutil.copy
        (package / place).parent.mkdir(parents=True, exist_ok=True)
        copy(source, package / place)
    for folder in ("commands", "scorecard", "seals"):
        shutil.copytree(PACKAGE / folder, package / folder)
    before = hash_of_code(JUDGING, code_of_package(package)[JUDGING])
    file = package / f"{module}.py"
    file.write_text(file.read_text() + "\nMORE = 1\n")
    assert hash_of_code(JUDGING, code_of_package(package)[JUDGING]) != before


def test_code_stream_and_judging_are_part_of_the_rule(tmp_path: Path) -> None:
    from miniatures import write_paper

    folder = write_paper(tmp_path)
    entry = Catalog(folder)["mini"]
    before, text = rule_of(entry, entry.audit())
    assert {CODE, STREAM, JUDGING} < before.keys()
    module = folder / "mini.py"
    source = module.read_text(encoding="utf-8")
    module.write_text(f"# a comment\n{source}", encoding="utf-8")
    assert rule_of(entry, entry.audit()) == (before, text)
    module.write_text(f"{source}\nMORE = 1\n", encoding="utf-8")
    after, _ = rule_of(entry, entry.audit())
    (change,) = changes_between(before, after)
    assert change.what == "code that computes the measurements"
    assert change.claims is None


@pytest.mark.parametrize("slug", list(Catalog().entries))
def test_shipped_rules_are_the_same_from_yaml_as_from_the_model(slug: str) -> None:
    """So that what is reconstructed from old files says the same as what is sealed."""
    entry = Catalog()[slug]
    from_model, _ = rule_of(entry, entry.audit())
    from_yaml, _ = rule_and_text(yaml.safe_load(entry.audit_file.read_text(encoding="utf-8")))
    for path, leaf in from_yaml.items():
        assert from_model[path] == leaf


def test_an_audit_of_a_million_values_is_refused() -> None:
    big: Any = {"values": list(range(3))}
    for _ in range(14):
        big = {"a": big, "b": big, "c": big}
    with pytest.raises(SpecError, match="more than"):
        rule_and_text({"settings": big})


@pytest.mark.parametrize("wrong", [None, 3, "text", [1], {"a": 1}])
@pytest.mark.parametrize("field", ["claims", "experiments", "controls", "measurements", "settings"])
def test_any_shape_of_an_old_file_is_read(field: str, wrong: Any) -> None:
    rule_and_text({**TOY, field: wrong})


def test_a_change_at_the_end_of_a_long_text_is_shown() -> None:
    """Both sides were cut before they differed, and read the same."""
    shared = "In the setting of the paper and of its released code, " * 3
    path = "claims/toy.depth/statement"
    (change,) = changes_between(
        {path: f"{shared}in every layer."}, {path: f"{shared}in some layer."}
    )
    before, _, after = change.what.partition(" → ")
    assert before.endswith("in every layer.")
    assert after.endswith("in some layer.")
    assert after.startswith("…")
    assert len(change.what) < 200


def test_no_part_takes_the_place_of_another() -> None:
    """The defect: parts named 'x 3', 'x' and 'x' had two labels, and the first bound was in no
    rule."""

    def named_alike(bound: float) -> dict[str, Any]:
        audit = copy.deepcopy(TOY)
        part = claim(audit)["checks"][0]
        names = ("x 3", "x", "x")
        claim(audit)["checks"] = [{**part, "name": name, "at_least": 0.9} for name in names]
        claim(audit)["checks"][0]["at_least"] = bound
        return audit

    first, second = (rule_and_text(named_alike(bound))[0] for bound in (0.5, 0.25))
    assert first != second
    assert 0.5 in first.values()
