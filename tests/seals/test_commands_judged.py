"""Papers that a command measures: what its run file decides stands beside the verdict."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from chains import commit, git
from places import CONFIRM, PAPER, Place

from miniatures import audit_data, setting
from reproaudit.audit.catalog import Entry
from reproaudit.audit.command_module import CommandModule
from reproaudit.commands import confirm, run
from reproaudit.running.store import Store

TRAIN = """
import csv, json, math, os, random, sys
seed, level, steps = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
end = level * math.exp(0.1 * random.Random(1000 * seed + int(level * 1e4)).gauss(0, 1))
factor = open(os.environ["REPROAUDIT_DATA"] + "/factor").read() if "DATA" in sys.argv else 1
CUT
distance = 1.0
with open("log.csv", "w") as file:
    rows = csv.writer(file)
    rows.writerow(["step", "distance"])
    for step in range(steps + 1):
        rows.writerow([step, distance * float(factor)])
        distance = end + (distance - end) * 0.7
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for sources and environments, which are made once for all tests here."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def commanded(at: Place, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The supported claim of the paper in miniature, whose distance a command logs."""
    monkeypatch.setenv("REPROAUDIT_CACHE", str(cache))
    data: dict[str, Any] = json.loads(json.dumps(audit_data()))
    end = {"kind": "scalar", "unit": "1", "meaning": "How far it is in the end."}
    data["experiments"] = {"descent": {"title": "It descends", "measurements": {"distance": end}}}
    data["settings"] = {"level": setting(0.02), "steps": setting(40)}
    data["claims"], data["figures"] = data["claims"][:1], []
    data["claims"][0]["controls"][0]["scale"] = "same"
    (at.audits / "mini.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    (at.audits / "mini.py").unlink()
    (at.folder / ".gitignore").write_text("runs\nrepository\ndata\n")
    measured_by(at)
    return at


def measured_by(place: Place, cut: str = "", **changes: Any) -> None:
    """Publishes the command, with a line of its own, and pins it in the run file."""
    repository = place.folder / "repository"
    shutil.rmtree(repository, ignore_errors=True)
    repository.mkdir()
    (repository / "train.py").write_text(TRAIN.replace("CUT", cut))
    git(repository, "init", "-q")
    experiment = {
        "command": ["python", "train.py", "{seed}", "{level}", "{steps}"],
        "timeout": 60,
        "files": ["log.csv"],
        "mapping": {"distance": {"expression": "last(d)", "let": {"d": "distance"}}},
        **changes,
    }
    said = {"schema_version": 1, "source": {}, "experiments": {"descent": experiment}}
    (place.audits / "mini.run.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    pin(place)


def pin(place: Place) -> None:
    """Commits the command as it is, and names the commit in the run file."""
    repository, file = place.folder / "repository", place.audits / "mini.run.yaml"
    commit(repository, "published")
    revision = git(repository, "rev-parse", "HEAD").strip()
    said = yaml.safe_load(file.read_text())
    said["source"] = {"git": "../repository", "revision": revision}
    file.write_text(yaml.safe_dump(said, sort_keys=False))
    commit(place.folder, "a command")


@pytest.mark.slow
def test_a_run_file_stands_beside_the_verdict(commanded: Place) -> None:
    """The defect: a page named neither the command, nor its source, nor a formula."""
    shown = commanded.card(*PAPER)
    assert shown["verdict"] == "supported"
    told = " ".join(shown["history"])
    assert "measured by the command python train.py {seed} {level} {steps}, of the source" in told
    assert "in Python with nothing installed, by what it writes to log.csv." in told
    assert "fetched from ../repository; no seal is of this address." in told
    assert "Of 'descent', 'distance' is taken from its logs as last(d), where d is 'dis" in told
    records = Store(commanded.folder / "runs").records("mini", "paper")
    assert {record.steps for record in records} == {40}


def test_an_ablation_whose_command_stops_early_counts_for_nothing(commanded: Place) -> None:
    """The defect: every command had made one step, so that none trained for less."""
    measured_by(commanded, "steps = 4 if level == 0.8 else steps")
    shown = commanded.card(*PAPER)
    assert shown["verdict"] == "inconclusive"
    assert "trained for 4 in place of the claim's 40 steps" in shown["why"]
    assert "measured by the command python train.py" in " ".join(shown["history"])


@pytest.mark.slow
def test_a_command_that_trains_on_is_told(commanded: Place) -> None:
    """The defect: ten times the stated steps were "exact: the paper's scale"."""
    measured_by(commanded, spelled={"steps": {"40": "400"}})
    told = commanded.card(*PAPER)["history"]
    assert "Of 'descent', steps = 40 is passed as 400." in told
    assert any(one.endswith("400 in 6 of 6 runs, in place of 40.") for one in told)


@pytest.mark.slow
def test_logs_that_are_said_to_be_whole_are_warned_of(commanded: Place) -> None:
    """The defect: only `judge` told that somebody attested what looks cut."""
    measured_by(commanded, complete="nothing was lost")
    said = "Curves that may look cut are said to be all that was logged of 'descent': nothing was"
    assert any(one.startswith(said) for one in commanded.card(*PAPER)["history"])
    report = commanded("report", "mini", "--tier", "paper", "--verbose")[1]
    assert f"Warning: {said}" in " ".join(report.split())


@pytest.mark.slow
def test_a_confirmation_of_a_command_goes_on_with_the_same_data(
    commanded: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defect: the folder of data was changed in mid-confirmation, and nobody noticed."""
    call = ["python", "train.py", "{seed}", "{level}", "{steps}", "DATA"]
    measured_by(commanded, command=call)
    data = commanded.folder / "data"
    data.mkdir()
    (data / "factor").write_text("1.0")
    monkeypatch.setenv("REPROAUDIT_DATA", str(data))
    assert commanded("seal", "mini")[0] == 0
    commit(commanded.folder, "sealed")
    with monkeypatch.context() as patched:
        run_now = run.run_now

        def cut_off(cells, *others, **more):  # type: ignore[no-untyped-def]
            run_now(cells[:2], *others, **more)
            raise KeyboardInterrupt

        patched.setattr(run, "run_now", cut_off)
        assert commanded(*CONFIRM)[0] == 130
    (data / "factor").write_text("0.5")
    assert "has begun with other data" in commanded.refused(*CONFIRM)
    (data / "factor").write_text("1.0")
    assert commanded.card(*CONFIRM)["status"] == "confirmed"


def test_data_behind_links_is_data_of_a_confirmation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defect: what lay in a linked folder was exchanged in mid-confirmation, unnoticed."""
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (data / "own", elsewhere / "deep"):
        folder.mkdir(parents=True)
        (folder / "factor").write_text("1.0")
    (data / "sub").symlink_to(elsewhere)
    (data / "twin").symlink_to(elsewhere)
    (elsewhere / "deep" / "around").symlink_to(elsewhere)
    (data / "nowhere").symlink_to(tmp_path / "absent")
    (data / "itself").symlink_to("itself")
    command = CommandModule("mini", tmp_path / "mini.run.yaml")
    entry = Entry("mini", tmp_path / "mini.yaml", command)
    monkeypatch.setenv("REPROAUDIT_DATA", str(data))

    def found() -> dict[str, str]:
        lines = (one.partition(" ") for one in confirm._data_of_commands(entry))
        return {name: told for name, _, told in lines}

    before = found()
    assert {name for name, told in before.items() if len(told) == 64} == {
        "own/factor", "sub/deep/factor", "twin/deep/factor"}  # fmt: skip
    assert {name: told for name, told in before.items() if len(told) < 64} == {
        "sub/deep/around": "leads back to sub",
        "twin/deep/around": "leads back to twin",
        "nowhere": "missing",
        "itself": "missing",
    }
    (elsewhere / "deep" / "factor").write_text("0.5")
    changed = {name for name, told in found().items() if before[name] != told}
    assert changed == {"sub/deep/factor", "twin/deep/factor"}
    (data / "sub").unlink()
    shutil.copytree(elsewhere, data / "sub", ignore=shutil.ignore_patterns("around"))
    assert "sub/deep/factor" in found(), "by its name, however it lies there"


@pytest.mark.slow
def test_what_a_run_file_sets_is_told_and_whose_records_these_are(commanded: Place) -> None:
    """The defects: a variable turned a verdict, and a page named a commit that made no number."""
    measured_by(commanded, "steps += int(os.environ['MORE'])", variables={"MORE": "0"})
    told = commanded.card(*PAPER)["history"]
    assert "The command of 'descent' has the variables MORE=0." in told
    assert not any("another run file" in one for one in told)
    measured_by(commanded, "steps += int(os.environ['MORE']) + 0", variables={"MORE": "0"})
    assert commanded("seal", "mini", "--why", "another commit")[0] == 0
    report = " ".join(commanded("report", "mini", "--tier", "paper", "--verbose")[1].split())
    assert "Warning: The records are of another run file, or other versions, than today's" in report


def test_logs_that_came_with_the_source_are_no_measurement(commanded: Place) -> None:
    """The defect: a log of better days was judged, and what the command wrote thrown away."""
    (commanded.folder / "repository" / "old.csv").write_text("step,distance\n0,1\n40,0.01\n")
    file = commanded.audits / "mini.run.yaml"
    file.write_text(file.read_text().replace("- log.csv", "- old.csv"))
    pin(commanded)
    code, _, errors = commanded(*PAPER, "--seeds", "0", "--experiment", "descent")
    assert code == 3
    assert "the command wrote no 'old.csv'; expected it." in " ".join(errors.split())
