"""`trains: false` cannot be put on a claim whose experiments train."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from factories import aligns, claim, make_audit
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import broken_rules

NUMBER = {"kind": "scalar", "unit": "1", "meaning": "A distance.", "range": [0.0, None]}
SERIES = {"kind": "series", "unit": "1", "meaning": "A distance over training."}
MOVED = {
    "parameters": "moved",
    "training_loss": "loss_moved",
    "at_least": 0.01,
    "reason": "A hundredth of the start.",
}


def built(**more: Any) -> dict[str, Any]:
    return {
        **claim("one", "built", checks=[aligns(over="every_seed")]),
        "trains": False,
        **more,
    }


def audit_of(
    *claims: dict[str, Any], measurements: dict[str, Any] | None = None, **more: Any
) -> Audit:
    own = {"distance": NUMBER, **(measurements or {})}
    experiment = {"title": "Built", "settings": {}, "measures": [], "measurements": own}
    other = {**experiment, "title": "Trained", "measurements": {"distance": NUMBER, "loss": SERIES}}
    experiments = {"built": experiment, "trained": other}
    return make_audit(claims=list(claims), findings=[], experiments=experiments, **more)


def found_in(audit: Audit) -> list[str]:
    broken = broken_rules(audit, date(2026, 11, 20))
    return [violation.message for rule, violation in broken if rule.id == "RA188"]


def test_what_is_only_built_may_say_so() -> None:
    assert found_in(audit_of(built())) == []


@pytest.mark.parametrize(
    ("audit", "why"),
    [
        (
            audit_of(built(), measurements={"loss": SERIES}),
            "'loss' is a series over training steps",
        ),
        (
            audit_of(built(), measurements={"moved": NUMBER, "loss_moved": NUMBER}, movement=MOVED),
            "it measures 'moved', how far training moved",
        ),
        (
            audit_of(built(), {**claim("two", "built"), "checks": [aligns()]}),
            "the claim 'toy.two', which trains, reads it too",
        ),
        (
            audit_of(
                built(
                    controls=[
                        {
                            "experiment": "trained",
                            "settings": {"mechanism": "none"},
                            "why": "For the test.",
                        }
                    ]
                )
            ),
            "experiment 'trained' trains: 'loss' is a series",
        ),
        (audit_of(built(checks=[aligns()])), "a check over the mean"),
    ],
    ids=["a series", "movement", "another claim", "its ablation", "a mean"],
)
def test_a_training_claim_cannot_say_that_it_trains_nothing(audit: Audit, why: str) -> None:
    assert any(why in message for message in found_in(audit)), found_in(audit)
