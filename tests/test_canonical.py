"""The canonical form of what decides: free of Python's names, and complete."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from reproaudit.audit import model
from reproaudit.audit.catalog import entry_of
from reproaudit.audit.model import Audit, Claim
from reproaudit.audit.seeds import digest, rule
from reproaudit.checks import KINDS as BY_NAME
from reproaudit.checks import Kind, canonical, follows, kind, stages
from reproaudit.checks.canonical import CanonicalForm, Part, form, plain
from reproaudit.checks.kind import Sourced, SourcedNumber
from reproaudit.scorecard.history import bounds_of

ROOT = Path(__file__).parent.parent
FILES = [
    *(ROOT / f"audits/{slug}.yaml" for slug in ("ahn2023", "chen2024", "wang2024", "yang2025")),
    ROOT / "docs/tutorial/soudry2018.yaml",
    ROOT / "tests/audits/toy.yaml",
]
GOLDEN = json.loads((ROOT / "tests/golden/rules.json").read_text(encoding="utf-8"))
"""Of each audit the rules and the digests of our bounds. An audit that changes gets others here;
code never moves any: the seeds of the paper tier and the logs of results follow from them."""

KINDS: tuple[type[Kind], ...] = tuple(BY_NAME.values())
MODELS: tuple[Any, ...] = (
    *(model.Claim, model.ArmSpec, model.NamedArm, model.AblationSpec, model.Grade),
    *(model.StartBound, model.Reading, model.RunCounts, kind.Bound, kind.SourcedNumber),
    *(stages.Onset, stages.Wait, follows.Quantile, *KINDS),
)
FORMS: dict[type[BaseModel], CanonicalForm] = {
    **canonical.OF_READ,
    **{model: model.canonical for model in MODELS},
}
AUDITS = {file.stem: entry_of(file).audit() for file in FILES}
CLAIMS = [claim for audit in AUDITS.values() for claim in audit.claims]


def hashes(audit: Audit) -> dict[str, dict[str, str]]:
    return {
        "rules": {name: rule(audit, name, "paper") for name in audit.experiments},
        "bounds": {claim.id: bounds_of(claim) for claim in audit.claims},
    }


# --- frozen -------------------------------------------------------------------------------------


@pytest.mark.parametrize("slug", AUDITS)
def test_the_rules_and_the_digests_of_our_bounds_stay(slug):
    assert hashes(AUDITS[slug]) == GOLDEN[slug]


# --- complete -----------------------------------------------------------------------------------


@pytest.mark.parametrize("of", FORMS, ids=lambda form: form.__name__)
def test_every_field_decides_or_is_said_to_inform(of):
    form = FORMS[of]
    decides = [part.attribute for part in form.parts.values()]
    assert sorted(decides) == sorted(set(of.model_fields) - set(form.informs))


def attributes(value: Any) -> Iterator[tuple[BaseModel, str, bool]]:
    """Every attribute in a value, with the model that has it and whether it decides."""
    if isinstance(value, BaseModel):
        form = FORMS[type(value)]
        yield from ((value, name, False) for name in form.informs if name in value.__dict__)
        for part in form.parts.values():
            yield value, part.attribute, True
            yield from attributes(getattr(value, part.attribute))
    elif isinstance(value, tuple):
        for entry in value:
            yield from attributes(entry)


@pytest.mark.parametrize("slug", AUDITS)
def test_what_decides_moves_the_rule_and_what_informs_does_not(slug):
    audit = copy.deepcopy(AUDITS[slug])
    for claim in audit.claims:
        name = claim.experiment
        arms = tuple(audit.arms[arm] for _, arm in claim.arms() if isinstance(arm, str))
        readings = tuple(audit.settings_of(name)[reading].readings for reading in claim.readings)
        for node, attribute, decides in attributes((claim, arms, readings, audit.runs_of(name))):
            before = node.__dict__[attribute]
            node.__dict__[attribute] = "another"
            moved = rule(audit, name, "paper") != GOLDEN[slug]["rules"][name]
            node.__dict__[attribute] = before
            assert moved is decides, (claim.id, node, attribute)


def test_a_named_length_of_training_moves_the_rule_and_none_moves_nothing():
    audit = AUDITS["toy"]
    name = next(iter(audit.experiments))
    named = audit.model_copy(update={"length": next(iter(audit.settings_of(name)))})
    assert rule(named, name, "paper") != rule(audit, name, "paper")


# --- free of Python's names and of layout -------------------------------------------------------


def stranger(value: Any, shuffled: random.Random) -> Any:
    """The same value in new classes: what decides swaps names, and a newer field comes first."""
    if isinstance(value, tuple):
        return tuple(stranger(entry, shuffled) for entry in value)
    if not isinstance(value, BaseModel):
        return value
    form = FORMS[type(value)]
    old = [part.attribute for part in form.parts.values()]
    new = dict(zip(old, shuffled.sample(old, len(old)), strict=True))
    bases = tuple(base for base in (Kind, Sourced) if isinstance(value, base))
    fields: dict[str, Any] = dict.fromkeys(["newer", *new.values()], (Any, None))
    other = create_model("Other", __base__=bases or (BaseModel,), **fields)
    parts = {k: Part(new[p.attribute], p.unless) for k, p in form.parts.items()}
    other.canonical = CanonicalForm(parts, alone=form.alone)  # type: ignore[attr-defined]
    values = {new[n]: stranger(getattr(value, n), shuffled) for n in old}
    informs = {name: getattr(value, name) for name in ("origin", "why") if hasattr(value, name)}
    return other.model_construct(**informs, **values)


@settings(max_examples=8)
@given(claim=st.sampled_from(CLAIMS), shuffled=st.randoms(use_true_random=False))
def test_other_classes_and_fields_in_python_move_nothing(claim, shuffled):
    assert plain(stranger(claim, shuffled)) == plain(claim)
    headline = stranger(claim.headline, shuffled)
    assert digest([part for check in headline for part in check.ours()]) == bounds_of(claim)


IN_ORDER = ("stages", "without_part")
"""The mappings of the short form that stand for lists, whose order decides."""


def backwards(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            name: data[name] if name in IN_ORDER else backwards(data[name])
            for name in reversed(data)
        }
    return [backwards(entry) for entry in data] if isinstance(data, list) else data


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_another_layout_and_order_of_the_file_moves_nothing(file, tmp_path):
    data = backwards(yaml.safe_load(file.read_text(encoding="utf-8")))
    text = yaml.dump(data, sort_keys=False, default_flow_style=True)
    (tmp_path / file.name).write_text(text, encoding="utf-8")
    audit = entry_of(tmp_path / file.name).audit()
    assert list(audit.experiments) == list(reversed(AUDITS[file.stem].experiments))
    assert hashes(audit) == GOLDEN[file.stem]


# --- how a field joins --------------------------------------------------------------------------


class Later(Claim):
    """A claim of a later version."""

    joined_later: bool = False
    decides_later: dict[str, float] = Field(default_factory=dict)


LATER = Claim.canonical | form("decides@decides_later={}", "joined_later")


def test_a_field_that_joins_moves_no_claim_without_it():
    for claim in CLAIMS:
        data = {name: getattr(claim, name) for name in Claim.model_fields}
        assert LATER.of(Later.model_construct(**data, joined_later=True)) == plain(claim)
        found = LATER.of(Later.model_construct(**data, decides_later={"level": 0.5}))
        assert found == {**plain(claim), "decides": {"level": 0.5}}


def sourced(number: float) -> SourcedNumber:
    return SourcedNumber.model_validate_json(json.dumps({"is": number, "from": "paper"}))


def test_a_number_with_a_source_of_its_own_enters_as_the_number():
    for check in (check for claim in CLAIMS for check in claim.headline):
        if check.kind == "equals":
            other = check.model_copy(update={"within": sourced(check.within)})
            assert plain(other) == plain(check)
