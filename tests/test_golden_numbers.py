"""The golden numbers: each derived again from its own rule and the records."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any

import pytest

from golden_numbers import (
    ALTERNATIVES,
    ARCHIVED,
    GOLDEN,
    ROOT,
    TOY,
    TUTORIAL,
    Run,
    archived,
    by_arm,
    conditions,
    declarations_of,
    in_process,
    measured,
    numbers,
)
from reproaudit.audit.loading import load_audit

PAPERS: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))["papers"]
MODULES = {"soudry2018": TUTORIAL, "toy2020": TOY}


@cache
def runs(slug: str) -> list[Run]:
    return in_process(MODULES[slug], PAPERS[slug]) if slug in MODULES else list(archived(slug))


def close(found: Any, golden: Any, rounding: float) -> bool:
    """Whether two nested lists of numbers agree up to the rounding of the file."""
    if isinstance(golden, list):
        same_length = isinstance(found, list) and len(found) == len(golden)
        return same_length and all(map(close, found, golden, [rounding] * len(golden)))
    if golden is None or found is None:
        return found is golden
    return math.isclose(found, golden, rel_tol=rounding, abs_tol=1e-12)


@pytest.mark.parametrize("slug", PAPERS)
def test_each_run_gives_each_check_its_golden_number(slug: str) -> None:
    paper = PAPERS[slug]
    own, declared, wrong, count = by_arm(paper, runs(slug)), declarations_of(paper), [], 0
    for row in paper["checks"]:
        for role, arms in row["numbers"].items():
            condition = conditions(row, row["reads"].get(role, {}))[row["condition"]]
            for arm, golden in arms.items():
                rounding = 1e-5 if paper["arms"][arm]["tier"] == ALTERNATIVES else 1e-8
                declarations = declared[paper["arms"][arm]["experiment"]]
                found = numbers(condition, own[arm], declarations)
                kindest = row.get("kindest", {}).get(role, {}).get(arm)
                if not close(found["numbers"], golden, rounding) or not close(
                    found.get("kindest"), kindest, rounding
                ):
                    wrong.append((row["claim"], row["condition"], role, arm))
                count += len(golden)
    assert wrong == []
    assert count > 0


@pytest.mark.parametrize("slug", PAPERS)
def test_the_runs_measured_what_the_file_says(slug: str) -> None:
    paper = PAPERS[slug]
    own = by_arm(paper, runs(slug))
    assert sum(map(len, own.values())) == len(runs(slug))
    for arm, golden in paper["measured"].items():
        found = measured(own[arm])
        assert found.keys() == golden.keys()
        assert [name for name in golden if not close(found[name], golden[name], 1e-5)] == [], arm


OWN_RUNS = {"ahn2023": 15, "chen2024": 17, "wang2024": 16, "yang2025": 5}


@pytest.mark.parametrize("slug", ARCHIVED)
def test_every_check_of_version_0_1_is_there_with_the_confirmations_runs(slug: str) -> None:
    rows, arms = PAPERS[slug]["checks"], PAPERS[slug]["arms"]
    seen = set()
    for row in rows:
        for arm, golden in row["numbers"]["own"].items():
            assert len(golden) == len(arms[arm]["seeds"])
            if arms[arm]["differs"] == {}:
                assert len(golden) == OWN_RUNS[slug]
                seen.add((row["claim"], row["check"]))
    audit = load_audit(ROOT / "audits" / f"{slug}.yaml")
    assert seen == {(one.id, i) for one in audit.claims for i in range(len(one.checks))}
