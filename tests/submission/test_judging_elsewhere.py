"""Measurements from elsewhere: held against the audit, judged by its rule, marked as not ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import factories
from bundles import AGAINST_LOW, one_claim
from measured import everything
from miniatures import write_paper
from reproaudit.cli import run_command
from reproaudit.errors import AuditError
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import Level
from reproaudit.intake.reading import read_submission
from reproaudit.report.pages import html, markdown
from reproaudit.report.terminal import judged_lines, report_lines
from reproaudit.scorecard.answers import scorecard_of_submission

SEEDS = (7, 21, 22, 23, 40)
AUDIT = factories.make_audit()
LEVELS = {"own": 0.02, "stays": 0.8, "built": 0.001, "low": 0.03}


def run(arm: str = "own", experiment: str = "descent", **changes: Any) -> dict[str, Any]:
    own = {} if arm == "own" else {"level": LEVELS[arm]}
    files = [f"{arm}-{{seed}}-{name}.csv" for name in ("distance", "final")]
    stated = {"experiment": experiment, "seeds": list(SEEDS), "settings": own, "files": files}
    return {**stated, **changes}


def write(folder: Path, *runs: dict[str, Any], **changes: Any) -> Path:
    """A submission of runs, with a file for each arm and seed."""
    folder.mkdir(exist_ok=True)
    stated = {
        "schema_version": 1,
        "who": "Ben Sample",
        "source": "logs of the cluster",
        "framework": "JAX 0.4.30",
        "date": "2025-11-02",
        "settings": everything(AUDIT),
        "runs": list(runs),
    }
    text = yaml.safe_dump({**stated, **changes}, sort_keys=False)
    (folder / "manifest.yaml").write_text(text.replace("'2025-11-02'", "2025-11-02"))
    for arm, level in LEVELS.items():
        for seed in SEEDS:
            found = factories.falls_to(level, seed)
            course = found.series["distance"]
            points = zip(course.steps, course.values.tolist(), strict=True)
            rows = "".join(f"{step},{value!r}\n" for step, value in points)
            (folder / f"{arm}-{seed}-distance.csv").write_text(f"step,distance\n{rows}")
            (folder / f"{arm}-{seed}-final.csv").write_text(f"final\n{found.scalars['final']!r}\n")
    return folder


def judged(folder: Path) -> Scorecard:
    return scorecard_of_submission(read_submission(AUDIT, folder))


def outcomes(card: Scorecard) -> dict[str, str]:
    return {claim.id.partition(".")[2]: claim.outcome for claim in card.claims}


EVERY = tuple(run(arm) for arm in LEVELS)


def test_the_origin_is_on_every_page(tmp_path: Path) -> None:
    card = judged(write(tmp_path, *EVERY))
    for page in (markdown(card), html(card), "\n".join(report_lines(card))):
        assert "Ben Sample" in page.replace("\n", " ")


def test_the_terminal_begins_with_the_answers_and_ends_with_what_was_not_used(
    tmp_path: Path,
) -> None:
    noted = [f"Passed over among the logs: a{n}.txt." for n in range(9)]
    card = judged(write(tmp_path, *EVERY, noted=noted))
    lines = list(judged_lines(card))
    assert lines[3].startswith("The main claim holds")
    assert any(line.startswith("  ✓ Main: the distance vanishes: ") for line in lines)
    assert noted[0] in lines
    assert lines[-1].startswith("… and ")
    assert len(lines) <= 25


def test_what_was_not_stated_and_not_submitted_is_named(tmp_path: Path) -> None:
    card = judged(write(tmp_path, *EVERY[:2], settings={}))
    page = " ".join(markdown(card).split())
    assert "descent.steps" in page
    assert "guessed" in page
    assert outcomes(card)["vacuous"] == "undecided"


def test_a_setting_that_contradicts_the_audit_is_told_everywhere_and_costs_certainty(
    tmp_path: Path,
) -> None:
    as_audited = judged(write(tmp_path / "same", *EVERY))
    own = AUDIT.values_of("descent", "paper")
    other = {**everything(AUDIT), "descent.steps": 2 * own["steps"]}  # type: ignore[operator]
    card = judged(write(tmp_path / "other", *EVERY, settings=other))
    said = f"steps {2 * own['steps']} in place of {own['steps']}"  # type: ignore[operator]
    terminal = "\n".join(judged_lines(card))
    for page in (terminal, markdown(card), html(card), card.model_dump_json()):
        assert said in " ".join(page.split())
    before, after = as_audited.claims[0], card.claims[0]
    assert [reason.kind for reason in after.reasons if reason not in before.reasons] == ["proxy"]
    assert list(Level).index(after.level) == list(Level).index(before.level) + 1
    assert card.claims[0].proxy == said  # and no word of the level, which arms have on purpose


def test_compared_arms_whose_settings_nobody_states_cost_certainty(tmp_path: Path) -> None:
    audit = one_claim(headline=[AGAINST_LOW], nulls=[], no_control="A toy.", constructed=None)
    runs = (run(), run("low"))
    for name, changes, unstated in (
        ("stated", {"settings": everything(audit)}, False),
        ("not", {"settings": {}}, True),
    ):
        folder = write(tmp_path / name, *runs, **changes)
        (answer,) = scorecard_of_submission(read_submission(audit, folder)).claims
        assert ("unstated" in [reason.kind for reason in answer.reasons]) is unstated


def test_a_claim_without_its_null_is_undecided(tmp_path: Path) -> None:
    assert outcomes(judged(write(tmp_path, run(), run("built"))))["supported"] == "undecided"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"who": ""}, "who"),
        ({"schema_version": 3}, "schema_version"),
        ({"runs": []}, "runs"),
        ({"settings": {"descent.velocity": 1}}, "velocity"),
        ({"date": "soon"}, "date"),
    ],
)
def test_a_wrong_manifest_is_refused_in_one_line(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    folder = write(tmp_path, *EVERY, **changes)
    with pytest.raises(AuditError, match=said) as raised:
        read_submission(AUDIT, folder)
    assert raised.value.exit_code == 2


def test_papers_of_which_only_these_were_judged_are_reported_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audits = write_paper(tmp_path / "audits")
    (audits / "broken.yaml").write_text("schema_version: 2\n", encoding="utf-8")
    folder = write(tmp_path / "measured", *EVERY)
    known = ["--audits", str(audits), "--out", str(tmp_path / "chair")]
    stored = [*known, "--store", str(tmp_path / "runs")]
    one = AUDIT.claims[0].id
    command = ["judge", "mini", "--measurements", str(folder), "--claim", one]
    assert run_command([*command, *known]) == 0
    capsys.readouterr()

    assert run_command(["report", "mini", *stored, "--json"]) == 0
    printed = capsys.readouterr()
    card = json.loads(printed.out)
    assert (card["origin"]["who"], [claim["id"] for claim in card["claims"]]) == (
        "Ben Sample",
        [one],
    )
    assert "The audit is the same." in printed.err, "the other claims were not asked for"
    pages = tmp_path / "chair" / "paper"
    register = json.loads((pages / "register.json").read_text(encoding="utf-8"))
    (paper,) = register["papers"]
    assert (paper["slug"], paper["origin"]) == ("mini", "Ben Sample")
    assert (paper["documented"], paper["card"]) == (None, 2), "nobody has reviewed"
    assert "2 of 7 by the card alone" in (pages / "index.html").read_text(encoding="utf-8")

    assert run_command(["list", *stored]) == 2
    printed = capsys.readouterr()
    assert "broken: " in printed.err
    (line,) = [line for line in printed.out.splitlines() if line.startswith("mini ")]
    assert "2 of 7 by the card alone" in line
    whole = " ".join(printed.out.split())
    assert "paper: ✓ 1 (measured by Ben Sample)" in whole
