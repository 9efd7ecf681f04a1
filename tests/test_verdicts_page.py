"""docs/verdicts.md is the contract: every key, every word and every kind, and none that is not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from factories import make_scorecard, variable, variables
from reproaudit.audit.findings import Effect, Finding, NotAudited
from reproaudit.audit.loading.models import CHECKS
from reproaudit.audit.model import Paper
from reproaudit.audit.variables import VariableName
from reproaudit.judging.model import EvidenceLevel, IntervalModel, Verdict
from reproaudit.scorecard import documentation, elsewhere, figures, model, pictures

PAGE = (Path(__file__).parents[1] / "docs" / "verdicts.md").read_text(encoding="utf-8")

SECTIONS: dict[str, type[BaseModel]] = {
    "The file": model.Scorecard,
    "paper": Paper,
    "documentation": documentation.DocumentationModel,
    "documentation.variables": documentation.VariableModel,
    "claims": model.ClaimModel,
    "claims.movement": model.MovementModel,
    "claims.hangs_on": model.HangsOnModel,
    "claims.hangs_on.values": model.ValueDecisionModel,
    "claims.alternatives_run": model.AlternativesRunModel,
    "claims.alternatives": model.AlternativeRunModel,
    "runs_met": model.RunsMetModel,
    "claims.pictures": pictures.PictureModel,
    "claims.pictures.lines": pictures.LineModel,
    "claims.pictures.ranges": pictures.RangeModel,
    "claims.pictures.onsets": pictures.OnsetModel,
    "claims.pictures.stages": pictures.StageModel,
    "claims.pictures.plateaus": pictures.PlateauModel,
    "An interval": IntervalModel,
    "A part": model.PartModel,
    "A control's answer to a part": model.AnswerModel,
    "A control": model.ControlModel,
    "not_audited": NotAudited,
    "coverage": model.Coverage,
    "chance": model.Chance,
    "ledger": model.LedgerModel,
    "findings": Finding,
    "figures": figures.FigureModel,
    "figures.curves": figures.CurveModel,
    "figures.matrices": figures.MatrixModel,
    "environment": model.EnvironmentModel,
    "records": model.RecordModel,
    "documentation.agreement": documentation.AgreementModel,
    "documentation.agreement.variables": documentation.VariableAgreementModel,
    "findings.effects": Effect,
    "custom": model.CustomModel,
    "settings": model.SettingModel,
    "measurements": model.MeasurementModel,
    "responses": model.ResponseModel,
    "disputes": model.DisputeModel,
    "origin": elsewhere.OriginModel,
    "beside": elsewhere.BesideModel,
    "group": model.GroupModel,
}


def section(title: str) -> str:
    _, marker, rest = PAGE.partition(f"\n### {title}\n")
    assert marker, f"docs/verdicts.md has no section '{title}'"
    return re.split(r"^#", rest, maxsplit=1, flags=re.MULTILINE)[0]


def keys(text: str) -> list[str]:
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


def models_below(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        below = [models_below(field.annotation) for field in annotation.model_fields.values()]
        return {annotation}.union(*below)
    return set().union(*(models_below(one) for one in get_args(annotation)))


@pytest.mark.parametrize("title", SECTIONS)
def test_every_key_is_documented_and_no_other(title: str) -> None:
    assert sorted(keys(section(title))) == sorted(SECTIONS[title].model_fields)


def test_every_model_of_the_contract_has_its_section() -> None:
    in_the_file = {Paper, NotAudited, Finding, Effect}  # written out as plain mappings
    assert models_below(model.Scorecard) | in_the_file == set(SECTIONS.values())
    titles = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
    assert sorted(titles) == sorted([*SECTIONS, "documentation.published_rate"])


def test_a_scorecard_has_these_keys() -> None:
    card = make_scorecard().model_dump(mode="json")
    assert list(card) == keys(section("The file"))
    for title in ("paper", "coverage", "chance", "environment", "documentation"):
        assert sorted(card[title]) == sorted(keys(section(title)))
    for title in ("claims", "findings", "not_audited", "ledger", "records", "figures"):
        assert card[title]
        for one in card[title]:
            assert sorted(one) == sorted(keys(section(title)))


def test_the_published_rate_has_these_keys() -> None:
    shared = (VariableName.OPEN_SOURCE_CODE, VariableName.OPEN_DATASETS)
    others = [one for one in variables() if one["name"] not in shared]
    nine = [*others, *(variable(name, "Yes") for name in shared)]
    rate = make_scorecard(variables=nine).documentation.published_rate
    assert rate is not None
    assert sorted(rate) == sorted(keys(section("documentation.published_rate")))


def test_every_verdict_level_and_kind_is_named() -> None:
    table = PAGE.partition("## From decisions to a verdict")[2].partition("**Chance.**")[0]
    assert set(re.findall(r"\| `(\w+)` \|$", table, re.MULTILINE)) == {v.value for v in Verdict}
    levels = PAGE.partition("## Evidence")[2].partition("\n## ")[0]
    assert sorted(keys(levels)) == sorted(level.value for level in EvidenceLevel)
    kinds = {get_args(model.model_fields["kind"].annotation)[0] for model in CHECKS}
    assert set(keys(PAGE.partition("| kind of check |")[2].partition("\n\n")[0])) == kinds
