"""Claims as tests: `pytest --reproaudit audits/`."""

import os
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from measured import control, descent, every_run, everything
from miniatures import SOURCES, audit_data, claim, write_paper
from reproaudit import open_audit, write_measurements
from reproaudit.consent import TRUST_FILE_VARIABLE

pytest_plugins = ["pytester"]

INSTALLED = any(point.name == "reproaudit" for point in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "reproaudit.pytest_plugin")


BLOCKED = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchvision", "numba", "scipy", "sklearn"):
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, NoTorch())
"""


@pytest.fixture
def author(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An author's repository: an audit, measurements that support a claim, and a test."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SOURCES), str(pytester.path)]))
    monkeypatch.setenv(TRUST_FILE_VARIABLE, str(pytester.path / "trusted"))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("REPROAUDIT_TRUST")
    write_paper(pytester.path / "audits")
    (pytester.path / "audits" / "mini.py").unlink()  # judging needs no module
    measure(pytester)
    pytester.makeini("[pytest]\n")  # so that no other configuration is found further up
    pytester.makepyfile(test_own="def test_own():\n    pass\n")
    return pytester


def measure(author: pytest.Pytester, level: float = 0.02) -> None:
    audit = open_audit(author.path / "audits" / "mini.yaml")
    folder, stated = author.path / "measured", everything(audit)
    write_measurements(folder, audit, every_run(level), settings=stated, replace=True)


def judge(author: pytest.Pytester, *arguments: Any, apart: bool = False) -> pytest.RunResult:
    options = (*PLUGIN, "--reproaudit", "audits", *map(str, arguments))
    return author.runpytest_subprocess(*options) if apart else author.runpytest_inprocess(*options)


def one_claim(slug: str) -> dict[str, Any]:
    arms = {name: arm for name, arm in audit_data(slug)["arms"].items() if name != "low"}
    return {"claims": [claim(slug, "supported", main=True)], "arms": arms}


# --- outcomes -------------------------------------------------------------------------------------


def test_a_change_that_flips_a_claim_fails_the_authors_test(author):
    chosen = ("--measurements", "measured", "-k", "supported")
    judge(author, *chosen).assert_outcomes(passed=1, deselected=4)
    measure(author, level=0.4)  # the author's next commit trains to another end
    found = judge(author, *chosen)
    found.assert_outcomes(failed=1, deselected=4)
    found.stdout.fnmatch_lines(
        [
            "mini.supported: not supported, 0 of 6 *: 0 of 6: distance 0.*, 0.1 allowed*",
            "  The distance vanishes (supported). (Figure 1)",
            "  outcome: not supported; *",
            "  runs: 0 of 6 *",
            "*control: stays, 0 of 6 *",
        ]
    )
    assert "Traceback" not in found.stdout.str()
    assert "pytest_plugin.py" not in found.stdout.str()


def test_what_fails_can_be_chosen(author):
    chosen = ("--measurements", "measured", "--reproaudit-fail-on")
    judge(author, *chosen, "").assert_outcomes(passed=2, skipped=2, failed=1)  # those by default
    judge(author, *chosen, "supported").assert_outcomes(passed=1, skipped=3, failed=1)
    judge(author, *chosen, "not-tested").assert_outcomes(passed=2, skipped=2, failed=1)
    found = judge(author, *chosen, "suported")
    found.stderr.fnmatch_lines(["ERROR: *--reproaudit-fail-on: *'suported'*'supported'*"])
    assert found.ret == pytest.ExitCode.USAGE_ERROR


# --- where audits and measurements come from ------------------------------------------------------


def test_arguments_and_the_configuration_choose_among_claims(author):
    (author.path / "audits" / "mini.run.yaml").write_text("command: [python, train.py]\n")
    (author.path / "audits" / "schema.json").write_text("{}\n")  # of other names: no audits
    author.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)
    chosen = judge(author, "--measurements", "measured", "audits/mini.yaml::mini.supported")
    chosen.assert_outcomes(passed=1)
    judge(author, "--measurements", "measured", "test_own.py").assert_outcomes(
        passed=2, failed=1, skipped=2
    )
    marked = judge(author, "--measurements", "measured", "-m", "not reproaudit")
    marked.assert_outcomes(passed=1, deselected=4)
    author.makeini(
        "[pytest]\nreproaudit = audits\nreproaudit_measurements = measured\n"
        "reproaudit_fail_on = not-supported\n"
    )
    author.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=2, failed=1, skipped=2)
    author.runpytest_inprocess(*PLUGIN, "test_own.py").assert_outcomes(passed=1)


def test_what_does_not_fit_is_an_error_and_never_green(author):
    manifest = author.path / "measured" / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("experiment: descent", "experiment: descend"))
    (author.path / "empty").mkdir()
    for folder, says in (
        ("measured", "manifest.yaml:*'descend'. Did you mean 'descent'*"),
        ("empty", "*empty: holds no manifest.yaml; *"),
    ):
        found = judge(author, "--measurements", folder)
        found.assert_outcomes(passed=1, errors=4)
        found.stdout.fnmatch_lines([says])
    found = judge(author, "--measurements", "nowhere")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["ERROR: reproaudit: *nowhere: no such file or folder"])
    write_paper(author.path / "audits", "broken", confidence=2.0)
    found = judge(author, "--measurements", "measured")
    found.assert_outcomes(errors=1)
    found.stdout.fnmatch_lines(["*broken.yaml:*confidence*"])
    assert "Traceback" not in found.stdout.str()


def test_several_papers_have_folders_of_their_own(author):
    write_paper(author.path / "audits", "other", **one_claim("other"))
    write_paper(author.path / "audits", "third", **one_claim("third"))
    (author.path / "both").mkdir()
    (author.path / "measured").rename(author.path / "both" / "mini")
    audit = author.path / "audits" / "other.yaml"
    runs = [descent(), control(0.8), control(0.001)]
    write_measurements(author.path / "both" / "other", audit, runs)
    found = judge(author, "--measurements", "both", "-v", "-rs")
    found.assert_outcomes(passed=3, failed=1, skipped=3)
    found.stdout.fnmatch_lines(["*other.yaml::other.supported PASSED*"])
    found.stdout.fnmatch_lines(["SKIPPED*third.yaml:*: not tested: no measurements of third in*"])


# --- other plugins and files ----------------------------------------------------------------------


@pytest.mark.process
def test_each_claim_is_a_test_for_workers_and_without_torch(author):
    (author.path / "sitecustomize.py").write_text(BLOCKED)
    (author.path / "summary.md").write_text("before\n")
    found = judge(
        author,
        *("--measurements", "measured", "-n", "2", "--junitxml", "junit.xml"),
        *("--reproaudit-summary", "summary.md"),
        apart=True,
    )
    found.assert_outcomes(passed=2, failed=1, skipped=2)
    assert found.ret == 1
    cases = {c.get("name"): c for c in ET.parse(author.path / "junit.xml").iter("testcase")}
    assert {name for name in cases if name != "test_own"} == {
        one["id"] for one in audit_data()["claims"]
    }
    said = cases["mini.contradicted"]
    assert said.get("classname") == "audits.mini.yaml"
    properties = {one.get("name"): one.get("value") for one in said.iter("property")}
    assert properties["reproaudit_outcome"] == "✗ not supported"
    failure = said.find("failure")
    assert failure is not None
    assert "0.002 allowed" in (failure.text or "")
    summary = (author.path / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("before\n# Claims: 1 failed, 1 passed, 2 skipped\n")
    assert summary.count("audits/mini.yaml::mini.") == 4
    (row,) = (line for line in summary.splitlines() if "mini.contradicted" in line)
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[2:4] == ["failed", "✗ not supported"]


# --- records, runs and consent --------------------------------------------------------------------


@pytest.fixture
def replicator(author: pytest.Pytester) -> pytest.Pytester:
    """A repository with a module beside its audit, and one claim to run."""
    write_paper(author.path / "audits", **one_claim("mini"))
    return author


def test_without_records_claims_are_skipped_with_what_to_do(replicator):
    found = judge(replicator, "-rs")
    found.assert_outcomes(passed=1, skipped=1)
    found.stdout.fnmatch_lines(["SKIPPED*mini.yaml:*: not tested: no records of mini in *runs; *"])
    judge(replicator, "--reproaudit-fail-on", "not-tested").assert_outcomes(passed=1, failed=1)


def test_foreign_code_runs_with_consent_alone(replicator):
    (replicator.path / "audits" / "sibling.py").write_text("VALUE = 1\n")
    found = judge(replicator, "--reproaudit-run")
    found.assert_outcomes(passed=1, errors=1)
    found.stdout.fnmatch_lines(["*mini.py with 1 other Python file beside it (sha256 *"])
    assert "--reproaudit-trust" in found.stdout.str()
    assert not (replicator.path / "runs").exists()
    found = judge(replicator, "--reproaudit-run", "--reproaudit-trust")
    found.assert_outcomes(passed=2)
    judge(replicator).assert_outcomes(passed=2)  # the records are judged without running
    assert not Path(os.environ[TRUST_FILE_VARIABLE]).exists()


# --- what lies beside audits ----------------------------------------------------------------------

RUNS = "import pathlib\npathlib.Path({mark!r}).touch()\n"
"""Code that leaves a mark where it runs."""


@pytest.fixture
def stranger(author: pytest.Pytester) -> Path:
    """A stranger's folder of audits outside of the author's, whose Python files leave a mark."""
    folder = author.path.parent / f"{author.path.name}-stranger" / "audits"
    write_paper(folder, **one_claim("mini"))
    return folder


def marking(file: Path, author: pytest.Pytester, more: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(RUNS.format(mark=str(author.path / "ran")) + more)
    return author.path / "ran"


@pytest.mark.parametrize(
    "spelt",
    [
        "{}",
        "={}",
        "={}/mini.yaml",
        "={} {}",
        "={} {}/mini.yaml",
        "=../{short}",
        "={} -c x.ini",
        "=.",
    ],
)
def test_no_conftest_beside_audits_runs_without_consent(author, stranger, spelt, monkeypatch):
    ran = marking(stranger / "conftest.py", author)
    if spelt == "=.":
        monkeypatch.chdir(stranger)
    (author.path / "x.ini").write_text("[pytest]\n")
    short = stranger.relative_to(author.path.parent)
    words = spelt.format(stranger, stranger, short=short).split()
    joined = [f"--reproaudit{words[0]}", *words[1:]] if "=" in spelt else ["--reproaudit", *words]
    found = author.runpytest_inprocess(*PLUGIN, *joined)
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(
        ["ERROR: reproaudit: */audits/conftest.py with 1 other *--reproaudit-trust*"]
    )
    assert len([line for line in found.stderr.lines if line]) == 1
    assert not ran.exists()
    author.runpytest_inprocess(*PLUGIN, *joined, "--reproaudit-trust")
    assert ran.exists()


@pytest.mark.parametrize("name", ["pytest.ini", "pyproject.toml"])
def test_no_configuration_beside_audits_is_obeyed_without_consent(author, stranger, name):
    text = "[pytest]\naddopts = -p evil --reproaudit-trust\npythonpath = .\n"
    if name == "pyproject.toml":
        text = '[tool.pytest.ini_options]\naddopts = "-p evil"\npythonpath = ["."]\n'
    (stranger / name).write_text(text)
    ran = marking(stranger / "evil.py", author)
    found = author.runpytest_inprocess(*PLUGIN, f"--reproaudit={stranger}")
    found.assert_outcomes(passed=1, skipped=1)
    assert not ran.exists()
    found = author.runpytest_inprocess(*PLUGIN, "--reproaudit", stranger)
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines([f"ERROR: reproaudit: *audits/{name}: nobody has allowed *"])


@pytest.mark.parametrize(
    "added", ["--reproaudit-trust", "-o addopts= --reproaudit-trust", "@words.txt"]
)
def test_no_configuration_allows_code(author, stranger, monkeypatch, added):
    ran = marking(stranger / "conftest.py", author)
    (stranger / "words.txt").write_text("--reproaudit-trust\n")
    (stranger / "pytest.ini").write_text(f"[pytest]\naddopts = {added}\n")
    monkeypatch.chdir(stranger)
    found = author.runpytest_inprocess(*PLUGIN, "--reproaudit=.")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["ERROR: reproaudit: *audits/pytest.ini: nobody has allowed *"])
    assert not ran.exists()
    monkeypatch.setenv("PYTEST_ADDOPTS", "--reproaudit-trust")
    author.runpytest_inprocess(*PLUGIN, "--reproaudit=.")
    assert ran.exists()


def test_the_authors_own_configuration_does_not_allow_what_is_beside_audits(author, stranger):
    ran = marking(stranger / "test_x.py", author)
    author.makeini("[pytest]\naddopts = --reproaudit-trust\n")
    found = author.runpytest_inprocess(*PLUGIN, f"--reproaudit={stranger}")
    assert found.ret == pytest.ExitCode.INTERRUPTED
    assert not ran.exists()


def test_a_configuration_above_audits_is_not_found_through_them(author, stranger):
    (stranger.parent / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    found = author.runpytest_inprocess(*PLUGIN, "--reproaudit", stranger)
    found.stderr.fnmatch_lines(["ERROR: reproaudit: *-stranger/pytest.ini: nobody has allowed *"])
    ran = marking(stranger.parent / "conftest.py", author)
    found = author.runpytest_inprocess(*PLUGIN, f"--reproaudit={stranger}")
    found.assert_outcomes(errors=1)
    found.stdout.fnmatch_lines(["*-stranger/conftest.py: nobody has allowed *"])
    assert not ran.exists()


@pytest.mark.parametrize(
    "where", ["test_x.py", "tests/test_x.py", "tests/conftest.py", "sub/conftest.py"]
)
def test_tests_beside_audits_are_refused_by_name(author, stranger, where):
    ran = marking(stranger / where, author, "def test_x():\n    pass\n")
    found = author.runpytest_inprocess(*PLUGIN, f"--reproaudit={stranger}")
    assert found.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    assert f"audits/{where} with 1 other Python file" in found.stdout.str() + found.stderr.str()
    assert "Traceback" not in found.stdout.str()
    assert not ran.exists()


def test_what_pytest_need_not_run_is_passed_over(author, stranger):
    ran = marking(stranger / "__init__.py", author)
    marking(stranger / "mini.py", author)
    found = author.runpytest_inprocess(*PLUGIN, f"--reproaudit={stranger}")
    found.assert_outcomes(passed=1, skipped=1)
    assert not ran.exists()
    found = author.runpytest_inprocess(*PLUGIN, f"--reproaudit={stranger}", "--doctest-modules")
    assert found.ret == pytest.ExitCode.INTERRUPTED
    assert not ran.exists()


def test_the_trust_file_allows_what_was_read(author, stranger):
    ran = marking(stranger / "conftest.py", author)
    found = author.runpytest_inprocess(*PLUGIN, f"--reproaudit={stranger}")
    digest = found.stderr.str().split()[-1]
    Path(os.environ[TRUST_FILE_VARIABLE]).write_text(f"{digest}\n")
    author.runpytest_inprocess(*PLUGIN, f"--reproaudit={stranger}").assert_outcomes(
        passed=1, skipped=1
    )
    assert ran.exists()
    ran.unlink()
    (stranger / "other.py").touch()
    found = author.runpytest_inprocess(*PLUGIN, f"--reproaudit={stranger}")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    assert not ran.exists()


def test_the_audits_alone_can_be_collected(author):
    chosen = ("--measurements", "measured", "--reproaudit-only")
    judge(author, *chosen).assert_outcomes(passed=1, failed=1, skipped=2)
    found = judge(author, *chosen, "test_own.py")
    found.stderr.fnmatch_lines(["ERROR: --reproaudit-only * alone, not test_own.py"])
