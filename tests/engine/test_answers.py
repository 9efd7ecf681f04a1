"""The engine's answers on the shipped records, against a fair referee's; and their pages.

The records are those of the claims' own rules. The referee saw the runs and not the engine
(`tests/golden/answers.yaml`). Where a fair colleague would say otherwise than the rules do, it has
both: `outcome`, and `rule`, which the engine follows.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from reproaudit.audit.catalog import Catalog
from reproaudit.checks import Provenance
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import ClaimAnswer
from reproaudit.report.pages import markdown
from reproaudit.report.terminal import report_lines, run_lines
from reproaudit.scorecard.answers import scorecard_of_archive
from reproaudit.store.shipped import FILE_NAME

ROOT = Path(__file__).parents[2]
ANSWERS: dict[str, Any] = yaml.safe_load(
    (ROOT / "tests/golden/answers.yaml").read_text(encoding="utf-8")
)

MOST_LINES = 75
"""Of `report`: a first screen of 620 words, and every condition that is not met."""
MOST_RUN_LINES = 35

COUNTED = {
    # The mean of the runs decides on c; the referee counts the run that is outside by itself.
    "ahn2023.one-layer-optimum": (15, 15),
    # Five runs more have the same settings: another claim's null drew seeds of its own.
    "ahn2023.identity-covariance": (20, 20),
    # Void runs count among those that were handed in.
    "wang2024.convergence-query-attended": (8, 10),
    # The referee counts at 1.5 T alone, the engine at 1.5 T and 2 T together.
    "wang2024.length-loss-tokens": (0, 10),
}
"""Claims on which they count otherwise: the engine's count."""


PAPERS = ("ahn2023", "chen2024", "wang2024", "yang2025")


@pytest.fixture(scope="module", params=PAPERS)
def card(request: pytest.FixtureRequest) -> Scorecard:
    """Each paper is judged once."""
    entry = Catalog(None)[request.param]
    archive = ROOT / "reports" / "paper" / entry.slug / FILE_NAME
    return scorecard_of_archive(entry, entry.audit(), "paper", archive)


@pytest.fixture
def claims(card: Scorecard) -> dict[str, ClaimAnswer]:
    """A paper's answers by name."""
    return {claim.id: claim for claim in card.claims}


def test_rules_and_a_fair_colleague_differ_on_few_claims():
    assert sum("rule" in answer for answer in ANSWERS.values()) <= 4


def test_the_engine_answers_as_the_referee(claims):
    for name, found in claims.items():
        referee = ANSWERS[name]
        assert found.outcome == referee.get("rule", referee["outcome"]), name
        runs = referee["runs"][True], referee["runs"]["n"]  # YAML reads `yes` as true
        assert (found.own.yes, found.own.n) == COUNTED.get(name, runs), name


def test_every_bound_of_ours_has_the_relaxed_form_that_was_agreed(claims):
    """`tests/golden/relaxed.yaml` was gone through by hand against docs/answers.md."""
    expected = yaml.safe_load((ROOT / "tests/golden/relaxed.yaml").read_text(encoding="utf-8"))
    for name, found in claims.items():
        bounds = {
            f"{estimate.name} {limit.side.value} {limit.at:.6g}": limit.relaxed().at
            for estimate in found.base.estimates
            if (limit := estimate.limit).origin is Provenance.OURS
        }
        assert bounds == pytest.approx(expected.get(name, {}), rel=1e-5), name


def test_pages_of_the_shipped_papers_keep_within_their_bounds(card):
    assert card.reviews.note is not None
    assert not card.note_is_stale, "compare the note with the page, and save it again"
    assert len(list(report_lines(card))) <= MOST_LINES
    assert len(list(run_lines(card))) <= MOST_RUN_LINES
    assert max(len(line) for line in (*report_lines(card), *run_lines(card))) <= 80
    text = markdown(card)
    assert len(text.splitlines()) <= 200
    assert len(text.split()) <= 3000
    assert len(text.split("\n## Answers")[0].split()) <= 620
