"""A series that counts something else than training steps: on figures, in words and on pages."""

from __future__ import annotations

from typing import Any

import pytest

from factories import make_audit
from miniatures import audit_data, claim
from reproaudit.audit.loading import read_audit
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import broken_rules
from reproaudit.audit.short.upgrade import upgraded
from reproaudit.report.pages import html, markdown
from reproaudit.report.terminal import report_lines
from scorecard.test_rows import scorecard

AT_20 = {"measurement": "distance", "step": 20}
PASSED = {"measurement": "distance", "passes": {"level": 0.5}}


def of_generations(value: dict[str, Any], step: str | None = "generation", **more: Any) -> Audit:
    """A claim on a distance over generations."""
    experiments = audit_data()["experiments"]
    own = experiments["descent"]["measurements"]
    measured = {**own, "distance": {**own["distance"], **({"step": step} if step else {})}, **more}
    reaches = {"kind": "reaches", "value": value, "at_most": 30, "zero": 100, "from": "paper"}
    return make_audit(
        claims=[claim("mini", "shown", main=True, headline=[reaches])],
        experiments={"descent": {**experiments["descent"], "measurements": measured}},
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [(AT_20, "distance (at {} 20)"), (PASSED, "{} at which 0.5 is passed by distance")],
)
@pytest.mark.parametrize(("step", "called"), [("generation", "generation"), (None, "step")])
def test_what_a_check_reads_is_named_by_its_step(
    value: dict[str, Any], words: str, step: str | None, called: str
) -> None:
    card = scorecard(of_generations(value, step))
    (noun,) = {row.noun for row in card.rows}
    assert noun == words.format(called)
    for page in (markdown(card), html(card), "\n".join(report_lines(card, 400))):
        assert step is None or "step 20" not in page
    assert words.format(called) in markdown(card)


@pytest.mark.parametrize(("step", "title"), [("generation", "generation"), (None, "training step")])
def test_a_figure_is_drawn_over_it(step: str | None, title: str) -> None:
    (figure,) = scorecard(of_generations(AT_20, step)).figures.values()
    assert figure.x_title == title


def test_a_number_counts_no_steps() -> None:
    final = {"kind": "scalar", "unit": "1", "meaning": "The end.", "step": "generation"}
    (fault,) = broken_rules(of_generations(AT_20, final=final), "mini")
    assert fault.message == "found 'step', and this is no series; expected it of a series"


def test_the_short_form_says_it_too() -> None:
    text = upgraded(of_generations(AT_20))
    assert "step: generation" in text
    audit, faults = read_audit("mini.yaml", text)
    assert audit is not None, faults
    declared = audit.declaration("descent", "distance")
    assert declared is not None
    assert declared.step == "generation"
