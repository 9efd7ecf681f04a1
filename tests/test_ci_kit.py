"""The author's walkthrough, the action, the hook and the snippets: run or validated as they are."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from miniatures import write_paper
from reproaudit.cli import run_command
from reproaudit.service.notebook import DEFAULT_FAIL_ON, known_outcomes
from walkthroughs import bash, blocks, light_environment, run_page

ROOT = Path(__file__).parents[1]
AUTHOR = ROOT / "examples" / "author"
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


@pytest.fixture
def light(tmp_path: Path) -> dict[str, str]:
    return light_environment(tmp_path / "light")


# --- the walkthrough ------------------------------------------------------------------------------


def without_numbers(line: str) -> str:
    return re.sub(r"=+", "=", re.sub(r"\d[\d.,]*", "#", line))


@pytest.mark.slow
def test_the_walkthrough_does_what_it_shows(tmp_path, light):
    folder = tmp_path / "examples" / "author"
    shutil.copytree(AUTHOR, folder)
    shutil.copytree(ROOT / "docs" / "tutorial", tmp_path / "docs" / "tutorial")
    (ini,) = blocks("ci.md", "ini")
    assert ini == (folder / "pytest.ini").read_text(encoding="utf-8")
    ran = run_page("ci.md", folder, light, without_numbers)
    assert [code for _, code, _ in ran] == [0] * (len(ran) - 1) + [1]
    assert ran[-1][0] == "python -m pytest"
    assert len(ran) >= 7


def test_what_the_page_shows_of_files_stands_in_them():
    (shown,) = blocks("ci.md", "python")
    assert shown in (AUTHOR / "measure.py").read_text(encoding="utf-8")
    named = re.findall(r"^`([\w./-]+)` in `examples/author`", PAGE, re.MULTILINE)
    assert [name for name in named if not (AUTHOR / name).is_file()] == []
    assert len(named) == 3


# --- the action -----------------------------------------------------------------------------------


def run_action(folder: Path, environment: Mapping[str, str], **inputs: str) -> tuple[int, str, str]:
    """Runs the steps of the action after the installation; the exit code, output and summary."""
    summary = folder / "summary.md"
    values = {name: str(one["default"]) for name, one in ACTION["inputs"].items()} | inputs
    said = ""
    for step in ACTION["runs"]["steps"][1:]:
        given = {
            name: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda m: values[m[1]], text)
            for name, text in step["env"].items()
        }
        code, printed = bash(
            step["run"], folder, {**environment, **given, "GITHUB_STEP_SUMMARY": str(summary)}
        )
        said += printed
        if code:
            break
    return code, said, summary.read_text(encoding="utf-8") if summary.exists() else ""


def ours() -> dict[str, Any]:
    """What the workflow that an author copies gives to the action."""
    workflow = yaml.safe_load((AUTHOR / ".github/workflows/claims.yml").read_text("utf-8"))
    assert workflow[True] == ["push", "pull_request"]  # to YAML 1.1 `on` is true
    steps = workflow["jobs"]["claims"]["steps"]
    (given,) = (step["with"] for step in steps if "reproaudit@" in step.get("uses", ""))
    return dict(given)


def test_the_action_is_a_composite_that_keeps_inputs_out_of_its_scripts():
    assert ACTION["runs"]["using"] == "composite"
    assert all({"description", "default"} == set(one) for one in ACTION["inputs"].values())
    used: set[str] = set()
    for step in ACTION["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]  # an input is data, never a part of a script
        texts = [*step["env"].values(), step.get("working-directory", "")]
        used.update(name for text in texts for name in re.findall(r"inputs\.([a-z-]+)", text))
        for name in step["env"]:
            assert f"${name}" in step["run"] or f"${{{name}" in step["run"]
    assert used == set(ACTION["inputs"])


def test_a_strangers_checkout_runs_nothing(tmp_path, light):
    """The command of the manual, and of GitLab, which is run as it is but for what is installed."""
    folder, note = tmp_path / "checkout", tmp_path / "ran"
    audits = write_paper(folder / "audits")
    names = ("evil", "conftest", "sitecustomize", "pytest", "pip", "__init__")
    files = [place / f"{name}.py" for place in (folder, audits) for name in names]
    for file in (*files, folder / "test_x.py"):
        file.write_text(f"open({str(note)!r}, 'a').write(__file__)\n")
    for place in (folder, audits):
        (place / "pytest.ini").write_text("[pytest]\naddopts = -p evil\npythonpath = .\n")
    light.pop("REPROAUDIT_TRUST")
    (shown,) = blocks("ci.md", "bash")
    command = shown.replace(' --measurements "$here/measurements"', "")
    assert " ".join(shown.replace("\\\n", " ").split()[:16]) in " ".join(
        yaml.safe_load((AUTHOR / ".gitlab-ci.yml").read_text("utf-8"))["claims"]["script"]
    )
    code, said = bash(command, folder, light)
    assert code == 0, said
    assert "skipped" in said
    code, said, summary = run_action(folder, light)
    assert code == 0, said
    assert "skipped" in summary
    assert not note.exists(), note.read_text()


@pytest.mark.process
def test_the_action_checks_judges_and_writes_the_summary(tmp_path, light):
    shutil.copytree(AUTHOR, tmp_path / "author")
    folder = tmp_path / "author"
    (folder / "audits").mkdir()
    shutil.copy(ROOT / "docs" / "tutorial" / "soudry2018.yaml", folder / "audits")
    shutil.copy(ROOT / "examples" / "command" / "soudry2018.run.yaml", folder / "audits")
    train = (folder / "train.py").read_text(encoding="utf-8")
    (folder / "train.py").write_text(train.replace("20_000", "2_000"))
    measure = (folder / "measure.py").read_text(encoding="utf-8")
    seeds = measure.replace("range(5)", "range(2)")
    (folder / "measure.py").write_text(seeds)
    assert bash("python measure.py", folder, light) == (0, "wrote measurements\n")
    code, said, summary = run_action(folder, light, measurements="measurements", junit="j.xml")
    assert code == 0, said
    assert "1 audit: no errors" in said
    assert "# Claims: 2 skipped" in summary
    assert "soudry2018.direction" in summary
    assert (folder / "j.xml").exists()
    code, said, summary = run_action(folder, light, **ours())  # too few seeds
    assert code == 1, said
    assert "2 failed" in summary


def test_the_action_tells_the_faults_of_an_audit(tmp_path, light):
    write_paper(tmp_path / "audits", confidence=2.0)
    code, said, summary = run_action(tmp_path, light)
    assert code == 2
    assert "confidence" in said
    assert summary.startswith("# Faults of the audits\n\n    audits/mini.yaml:")
    (tmp_path / "none").mkdir()
    code, said, _ = run_action(tmp_path, light, audits="none")
    assert (code, said) == (2, "none: holds no audit\n")
    code, said, _ = run_action(tmp_path, light, audits="nowhere")
    assert code == 2
    assert said.startswith("nowhere: no such folder or file")


# --- the hook and the snippets --------------------------------------------------------------------


def test_the_hook_checks_the_audits_that_a_commit_changes(tmp_path):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {"id", "name", "entry", "language", "files"} <= set(hook)
    assert (hook["language"], hook["types"]) == ("python", ["yaml"])
    wanted = ("audits/s2020.yaml", "audits/s2020.review.yaml", "papers/audits/s2020.yml")
    others = ("audits/smith2020.run.yaml", "audits/schema.json", "my_audits/a.yaml", "train.yaml")
    assert all(re.search(hook["files"], name) for name in wanted)
    assert not any(re.search(hook["files"], name) for name in others)
    program, *words = hook["entry"].split()
    assert program == "reproaudit"
    audit = write_paper(tmp_path / "audits") / "mini.yaml"
    assert run_command([*words, str(audit)]) == 0
    write_paper(tmp_path / "audits", confidence=2.0)
    assert run_command([*words, str(audit)]) == 2


def test_the_snippets_are_yaml_that_names_what_there_is():
    given = ours()
    assert set(given) <= set(ACTION["inputs"])
    config = yaml.safe_load((AUTHOR / ".pre-commit-config.yaml").read_text("utf-8"))
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert config["repos"][0]["hooks"] == [{"id": hook["id"]} for hook in hooks]
    job = yaml.safe_load((AUTHOR / ".gitlab-ci.yml").read_text("utf-8"))["claims"]
    assert all(isinstance(line, str) for line in job["script"])
    for names in (given["fail-on"], job["script"][-1].split("fail-on ")[1].split()[0]):
        assert known_outcomes(names) == DEFAULT_FAIL_ON | {"undecided", "not tested"}
    assert job["artifacts"]["reports"]["junit"] in job["script"][-1]
