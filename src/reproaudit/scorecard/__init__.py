"""The scorecard: documentation beside outcome, as one self-contained model.

`scorecard.json` is a contract (see docs/verdicts.md) and holds everything that the rendered pages
show, figures included, so that a page can be rendered again without records. There is no single
number for a paper: the claims, their weights and the coverage are the answer.
"""

from reproaudit.scorecard.build import build, settings_of
from reproaudit.scorecard.model import (
    SCORECARD_VERSION,
    AgreementModel,
    AnswerModel,
    BesideModel,
    Chance,
    ClaimModel,
    ControlModel,
    Coverage,
    CustomModel,
    DocumentationModel,
    EnvironmentModel,
    LedgerModel,
    OriginModel,
    PartModel,
    RecordModel,
    ResponseModel,
    Scorecard,
    SettingModel,
    VariableAgreementModel,
    VariableModel,
)

__all__ = [
    "SCORECARD_VERSION",
    "AgreementModel",
    "AnswerModel",
    "BesideModel",
    "Chance",
    "ClaimModel",
    "ControlModel",
    "Coverage",
    "CustomModel",
    "DocumentationModel",
    "EnvironmentModel",
    "LedgerModel",
    "OriginModel",
    "PartModel",
    "RecordModel",
    "ResponseModel",
    "Scorecard",
    "SettingModel",
    "VariableAgreementModel",
    "VariableModel",
    "build",
    "settings_of",
]
