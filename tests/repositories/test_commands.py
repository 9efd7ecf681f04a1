"""Cells whose experiment is a command: what becomes of what it writes, prints and does."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from outsiders import ALL_FIXED, WRITES, outsider, run, write

from reproaudit.audit.catalog import Catalog
from reproaudit.cli import run_command
from reproaudit.errors import SpecError
from reproaudit.records import CellStatus, Record
from reproaudit.repositories.processes import MOST_KEPT
from reproaudit.store.code import closure_of


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for all tests here, so that the bare environment is made once."""
    monkeypatch.setenv("REPROAUDIT_CACHE", str(tmp_path_factory.getbasetemp() / "commands"))


def only(found: dict[int, Record]) -> Record:
    (record,) = found.values()
    return record


def failure(folder: Path, **settings: Any) -> str:
    record = only(run(folder, **settings))
    assert record.status is CellStatus.FAILED
    assert record.error is not None
    assert "\n" not in record.error
    return record.error


def test_what_it_logs_becomes_the_record(tmp_path):
    outsider(tmp_path, {"top/log.py": WRITES}, folder="top")
    found = run(tmp_path, (0, 3), jobs=2)
    assert {one.status for one in found.values()} == {CellStatus.COMPLETED}
    series = found[3].measurements.series
    assert series["norm"].steps == tuple(range(0, 201, 20))
    assert np.array_equal(series["norm"].values, 3.0 + np.arange(0, 201, 20))
    assert found[3].data["source"].startswith("git ")
    kept = list((tmp_path / "runs").rglob("*.stdout.txt"))
    assert len(kept) == 2
    assert not list(Path(tmp_path / "repository").glob("out"))  # it ran in a copy


def test_a_non_zero_exit_is_a_failed_cell_that_names_its_stderr(tmp_path):
    script = "import sys\nprint('first' + 'x' * 5_000_000)\nsys.exit('the loss is gone')\n"
    outsider(tmp_path, {"log.py": script})
    said = failure(tmp_path)
    assert said.startswith("the command ended with exit code 1: 'the loss is gone'. Its stderr is")
    kept = Path(said.rpartition(" in ")[2])
    assert kept.read_text() == "the loss is gone\n"
    text = kept.with_name(kept.name.replace("stderr", "stdout")).read_text()
    assert text.startswith("firstxxx")
    assert "bytes left out" in text
    assert len(text) <= MOST_KEPT + 100


UNUSABLE = [
    ("pass", "the command wrote no 'out/metrics.csv'; expected it"),
    (WRITES.replace("norm", "nrm"), "found no logged 'norm'; expected it. Did you mean 'nrm'?"),
]
UNUSABLE_TOO = [
    ("import os; os.mkdir('out'); os.symlink('/etc/passwd', 'out/metrics.csv')", "a link"),
    ("import os; os.symlink('/tmp', 'out')", "made 'out/metrics.csv' a link"),
    (WRITES.replace("{step},{seed", "7,{seed"), "found step 7 a second time"),
    (WRITES + "open('out/args.json', 'w').write('{\"seed\": 8}')", "found the seed 8"),
    (WRITES.replace('f"{step},', 'f"" if step == 60 else f"{step},'), "1 of its steps are mis"),
]


@pytest.mark.parametrize(
    ("script", "says"),
    [*UNUSABLE, *(pytest.param(*row, marks=pytest.mark.process) for row in UNUSABLE_TOO)],
)
def test_logs_that_cannot_be_used_are_a_failed_cell(tmp_path, script, says):
    outsider(tmp_path, {"log.py": script})
    said = failure(tmp_path)
    assert says in said
    assert "reproaudit-" not in said  # the working copy is gone, and its path says nothing


def test_a_gap_that_is_attested_passes(tmp_path):
    script = WRITES.replace('f"{step},', 'f"" if step == 60 else f"{step},')
    outsider(tmp_path, {"log.py": script}, complete="Step 60 is not logged by design.")
    assert only(run(tmp_path)).status is CellStatus.COMPLETED


def test_numbers_that_are_not_finite_are_a_diverged_cell(tmp_path):
    outsider(tmp_path, {"log.py": WRITES.replace("{seed + step}", "{'nan' if step else 0}")})
    record = only(run(tmp_path))
    assert record.status is CellStatus.DIVERGED
    assert record.error == "series 'norm' is NaN or above 1e+150 at step 20"


def test_its_environment_holds_what_the_run_file_says_and_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    script = "import json, os, sys\nprint(json.dumps([dict(os.environ), sys.argv, os.getcwd()]))\n"
    outsider(tmp_path, {"log.py": script + WRITES}, variables={"OWN": "a {b} $HOME"})
    run(tmp_path)
    (kept,) = (tmp_path / "runs").rglob("*.stdout.txt")
    variables, arguments, place = json.loads(kept.read_text())
    assert variables["OWN"] == "a {b} $HOME"
    assert "SECRET_TOKEN" not in variables
    assert variables["HOME"] != str(Path.home())
    assert arguments == ["log.py", "0", "200"]
    assert not Path(place).exists()


def test_a_setting_that_is_built_in_refuses_another_value(tmp_path):
    outsider(tmp_path)
    with pytest.raises(SpecError, match="the run file says that 'logistic' is built into the code"):
        run(tmp_path, loss="squared")


def test_spelled_values_and_arguments_that_are_left_out(tmp_path):
    fixed = {name: value for name, value in ALL_FIXED.items() if name in ("other_points",)}
    script = "import sys\nprint(sys.argv[3:])\n" + WRITES
    command = ["python", "log.py", "{seed}", "{steps}", "--{loss}", "{weights}",
               "{step_size_factor}", "{{{other_points_box}}}"]  # fmt: skip
    spelled = {"loss": {"logistic": "log"}, "weights": {"trained": None, "constructed": "--exact"}}
    outsider(tmp_path, {"log.py": script}, command=command, fixed=fixed, spelled=spelled)
    run(tmp_path)
    run(tmp_path, weights="constructed", loss="squared")
    printed = {file.read_text() for file in (tmp_path / "runs").rglob("*.stdout.txt")}
    assert printed == {
        "['--log', '1.0', '{1.5,5.0,0.75,2.0}']\n",
        "['--squared', '--exact', '1.0', '{1.5,5.0,0.75,2.0}']\n",
    }


# --- what identifies a cell -----------------------------------------------------------------------


def digest(folder: Path) -> str:
    module = Catalog(folder / "audits")["soudry2018"].module
    return closure_of(module).digest


@pytest.mark.parametrize(
    ("place", "value", "matters"),
    [
        (("source", "revision"), "0" * 40, True),
        (("source", "git"), "../elsewhere", False),
        (("environment",), {"python": "3.9"}, True),
        (("experiments", "separable", "timeout"), 7, False),
        (("experiments", "separable", "command"), ["python", "b.py", "{seed}", "{steps}"], True),
        (("experiments", "separable", "mapping"), {"norm": "other"}, True),
        (("experiments", "separable", "variables"), {"A": "b"}, True),
    ],
)
def test_what_changes_a_number_changes_the_fingerprint(tmp_path, place, value, matters):
    said = outsider(tmp_path)
    before = digest(tmp_path)
    file = tmp_path / "audits" / "soudry2018.run.yaml"
    file.write_text(file.read_text() + "# a comment\n")
    assert digest(tmp_path) == before
    inner: Any = said
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    write(tmp_path, said)
    assert (digest(tmp_path) != before) is matters


def test_the_audits_declarations_count_and_its_words_do_not(tmp_path):
    outsider(tmp_path)
    before = digest(tmp_path)
    audit = tmp_path / "audits" / "soudry2018.yaml"
    text = audit.read_text()
    audit.write_text(text.replace("Euclidean norm of the weights.", "The length of the weights."))
    assert digest(tmp_path) == before
    audit.write_text(re.sub(r"(norm: \{)every_step:", r"\1once:", text))
    with pytest.raises(SpecError):  # the claim reads a series
        digest(tmp_path)


# --- consent --------------------------------------------------------------------------------------


def test_it_runs_with_consent_only_and_a_change_asks_again(tmp_path, monkeypatch, cli):
    monkeypatch.delenv("REPROAUDIT_TRUST", raising=False)
    monkeypatch.setenv("REPROAUDIT_TRUST_FILE", str(tmp_path / "trust"))
    marker = tmp_path / "ran"
    said = outsider(tmp_path, {"log.py": f"open({str(marker)!r}, 'w')\n" + WRITES})
    audits = ["--audits", str(tmp_path / "audits")]
    store = ["--store", str(tmp_path / "runs")]
    smoke = ["run", "soudry2018", *audits, *store, "--tier", "smoke", "--seeds", "0"]
    refused = cli(*smoke, code=2).err
    assert "python log.py {seed} {steps}" in refused
    assert "../repository (git " in refused
    (line,) = [word for word in refused.split() if len(word) == 64]
    (tmp_path / "trust").write_text(f"{line}\n")
    assert not marker.exists()
    assert run_command(smoke) == 0
    assert marker.exists()
    said["experiments"]["separable"]["timeout"] = 59
    write(tmp_path, said)
    assert run_command(smoke) == 2


def test_nothing_but_run_executes_it(tmp_path, monkeypatch, capsys):
    marker = tmp_path / "ran"
    outsider(tmp_path, {"log.py": f"open({str(marker)!r}, 'w')\n" + WRITES})
    audits = ["--audits", str(tmp_path / "audits")]
    store = ["--store", str(tmp_path / "runs")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REPROAUDIT_CACHE", str(tmp_path / "cache"))
    assert run_command(["check", "soudry2018", *audits]) == 0
    assert run_command(["check", "audits"]) == 0
    assert run_command(["list", *audits, *store]) == 0
    run_command(["report", "soudry2018", *audits, *store])
    run_command(["report", "--all", *audits, *store])
    run_command(["judge", "soudry2018", *audits, "--template", str(tmp_path / "template")])
    run_command(["diff", "audits/soudry2018.yaml", "audits/soudry2018.yaml"])
    run_command(["new", "other", "--out", "audits"])
    assert not marker.exists()
    cached = {file.name for file in (tmp_path / "cache").glob("*")}
    assert cached <= {"reports"}, "nothing was fetched or installed either"
