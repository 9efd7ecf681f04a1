"""The folder that `judge --template` writes: filled in, it is judged without a gap."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from reproaudit import open_audit, paper_slugs
from reproaudit.audit.draft import TODO
from reproaudit.audit.plan import plan
from reproaudit.cell import canonical_settings
from reproaudit.cli import run_command
from reproaudit.intake.reading import read_submission
from reproaudit.intake.writing import template_files

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial" / "soudry2018.yaml"
PAPERS = [*paper_slugs(), str(TUTORIAL)]


def filled(name: str, text: str) -> str:
    """A template's file with every gap filled: 0.5 at steps 0, 100 and 200."""
    if name == "manifest.yaml":
        return text.replace("date: TODO", "date: 2026-01-02").replace(TODO, "somebody")
    head, *rows = csv.reader(io.StringIO(text))
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(head)
    for row in rows:
        for step in ("0", "100", "200") if "step" in head else ("",):
            at = dict(zip(head, row, strict=True))
            values = {k: v or (step if k == "step" else "0.5") for k, v in at.items()}
            table.writerow(values.values())
    return out.getvalue()


@pytest.mark.parametrize("paper", PAPERS, ids=lambda one: Path(one).stem)
def test_a_filled_template_has_everything_that_the_audit_wants(paper: str, tmp_path: Path) -> None:
    audit = open_audit(paper)
    for name, text in template_files(audit, "quick", ()).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(filled(name, text), encoding="utf-8")
    submission = read_submission(audit, tmp_path)
    for _, batch in plan(audit, "quick"):
        records = submission.found[batch.experiment, canonical_settings(batch.settings(audit))]
        assert len(records) == len(batch.seeds), batch
        for record in records.values():
            assert record.measurements.names == audit.measurements_of(batch.experiment).keys()


def command(*more: str) -> int:
    arguments = ["judge", "soudry2018", "--audits", str(TUTORIAL.parent)]
    return run_command([*arguments, *more])


def test_from_template_to_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mine"
    claim = "soudry2018.direction"
    wanted = ("--claim", claim, "--tier", "quick")
    assert command("--template", str(folder), *wanted) == 0
    assert "to be filled in" in capsys.readouterr().out
    assert command("--template", str(folder)) == 2, "nothing is written over"
    capsys.readouterr()
    for file in [one for one in folder.rglob("*") if one.is_file()]:
        file.write_text(filled(file.name, file.read_text(encoding="utf-8")), encoding="utf-8")
    judged = ("--measurements", str(folder), "--claim", claim, "--json")
    assert command(*judged, "--fail-on", "uninformative") == 1
    card = json.loads(capsys.readouterr().out)
    outcomes = [(one["id"], one["outcome"]) for one in card["claims"]]
    assert outcomes == [(claim, "uninformative")]
    assert command(*judged, "--fail-on", "supported") == 0
    assert command(*judged, "--fail-on", "mist") == 2
    assert "'mist'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "FILE…, --measurements DIR or --template DIR"),
        (("--measurements", "a", "--template", "b"), "FILE…, --measurements DIR or --template"),
        (("--measurements", "a", "--tier", "quick"), "--tier goes with --template"),
        (("--template", "new", "--claim", "soudry2018.norn"), "no claim 'soudry2018.norn'"),
    ],
)
def test_what_judge_refuses(
    tmp_path: Path,
    options: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(*options) == 2
    assert said in capsys.readouterr().err
