"""Run files: every fault at once, each on one line with its place, its rule and what to do."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from outsiders import EXAMPLE, ROOT, outsider, run, write
from pydantic import BaseModel

from reproaudit.audit.catalog import Catalog
from reproaudit.errors import SpecError
from reproaudit.repositories import run_file
from reproaudit.repositories.run_file import check_run_file, filled, load_run_file, placeholders


def change(at: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Sets a field; ``~`` stands for the experiment."""
    *steps, last = at.replace("~", "experiments.separable").split(".")

    def apply(said: dict[str, Any]) -> None:
        inner = said
        for step in steps:
            inner = inner.setdefault(step, {})
        inner[last] = value

    return apply


COMMAND = ["python", "log.py", "{seed}", "{steps}"]
FAULTS = [
    ("schema_version", 2, "RA054", "schema_version: found 2; expected 1"),
    ("sourc", {}, "RA050", "found the unknown field 'sourc'; expected a field of a run file. Did"),
    ("~.timout", 3, "RA050", "a field of a command experiment. Did you mean 'timeout'?"),
    ("~.timeout", 0, "RA053", "~.timeout: found 0; it should be greater than 0"),
    ("~.timeout", "1h", "RA052", "~.timeout: found '1h'; it should be a valid number"),
    ("~.command", [], "RA053", "~.command: found an empty list; it should have at least 1"),
    ("~.command", "python log.py", "RA052", "it should be a valid array"),
    ("~.command", [*COMMAND, "{a"], "RA059", "found '{a' with an unmatched brace"),
    ("~.command", [*COMMAND, "{seed!r}"], "RA059", "with an unmatched brace"),
    ("~.command", [*COMMAND, "{stps}"], "RA083", "found {stps}; expected {seed} or a set"),
    ("~.command", ["a", "{seed}"], "RA082", "found neither {steps} in it nor 'steps' under"),
    ("~.command", ["a", "{steps}"], "RA082", "found no {seed}; expected one"),
    ("~.fixed.loss", "hinge", "RA084", "~.fixed.loss: found 'hinge'; expected 'logistic', as the"),
    ("~.fixed.lss", 1, "RA083", "found 'lss'; expected a setting of the experiment. Did you mean"),
    ("~.spelled.lss", {"a": "b"}, "RA083", "found 'lss'; expected a setting of the experiment"),
    ("~.files", ["../out"], "RA059", "found '../out'; expected a path within the source"),
    ("~.files", ["/out"], "RA059", "found '/out'; expected a path within the source"),
    ("~.files", ["out/{sed}.csv"], "RA083", "~.files[0]: found {sed}; expected {seed} or a sett"),
    ("~.folder", "a/../..", "RA059", "expected a path within the source"),
    ("~.mapping.nrm", "x", "RA085", "found 'nrm'; expected a measurement of 'separable'. Did you"),
    ("~.mapping.norm", {"tag": "w/{layer}"}, "RA085", "found the axis {layer}; expected an"),
    ("~.mapping.norm", {"expression": "open(x)"}, "RA086", "found the function 'open'"),
    ("~.mapping.norm", {}, "RA059", "state a tag or an expression"),
    ("~.variables", {"lower": "x"}, "RA059", "found 'lower'; expected a name in capitals"),
    ("experiments.other", {"command": COMMAND, "timeout": 1, "files": ["x"]}, "RA081",
     "found 'other'; expected an experiment of the audit. Known: separable."),
    ("source.revision", "main", "RA059", "found 'main'; expected the whole id of a commit"),
    ("source.git", "--upload-pack=x", "RA059", "expected an address or a path"),
    ("source.git", "ext::sh -c x", "RA059", "expected an address or a path"),
    ("source", {"git": "x"}, "RA051", "source: found no 'revision'; expected one"),
    ("environment.image", "python:3.11", "RA059", "expected an image by its digest, NAME@sha256:"),
    ("environment", {"image": f"x@sha256:{'a' * 64}", "python": "3.11"}, "RA059", "state it alone"),
    ("environment.python", 3.10, "RA059", 'found 3.1; expected text in quotes, such as "3.10"'),
    ("environment.python", "2.7", "RA059", 'expected a version of Python, such as "3.11"'),
]  # fmt: skip


@pytest.mark.parametrize(("at", "value", "rule", "says"), FAULTS)
def test_a_fault_is_one_line(tmp_path, at, value, rule, says):
    said = outsider(tmp_path)
    change(at, value)(said)
    file = write(tmp_path, said)
    lines = [str(one) for one in check_run_file(file)]
    hits = [line for line in lines if line.endswith(f"[{rule}]")]
    assert hits, lines
    assert any(says.replace("~", "experiments.separable") in one for one in hits), lines
    assert all(re.match(rf"{re.escape(str(file))}:\d+:\d+: ", line) for line in lines)
    assert all("\n" not in line for line in lines)
    with pytest.raises(SpecError, match=re.escape(hits[0])):
        load_run_file(file)


def test_several_faults_are_told_at_once_with_their_lines(tmp_path):
    said = outsider(tmp_path)
    for at, value in (("~.timeout", -1), ("source.revision", "v1"), ("~.files", ["/x"])):
        change(at, value)(said)
    file = write(tmp_path, said)
    found = [(one.rule, one.place.line) for one in check_run_file(file)]
    lines = file.read_text().splitlines()
    wanted = {next(i for i, line in enumerate(lines, 1) if text in line)
              for text in ("timeout:", "revision:", "- /x")}  # fmt: skip
    assert {line for _, line in found} == wanted


@pytest.mark.parametrize("is_remote", [False, True])
def test_what_leaves_open_what_is_installed_is_named_before_anything_is_run(
    tmp_path, is_remote, monkeypatch
):
    """A source that is not on this machine is read once it was fetched; until then that is told."""
    monkeypatch.setenv("REPROAUDIT_CACHE", str(tmp_path / "cache"))
    lines = [
        "numpy==2.0.1  # pinned",
        "numpy>=1.24",
        "six=1.16.0=py39_0",
        "comm @ file:///tmp/work",
    ]
    text = "\n".join(lines)
    said = outsider(
        tmp_path,
        {"requirements.txt": text, "log.py": ""},
        environment={"requirements": "requirements.txt"},
    )
    file = tmp_path / "audits" / "soudry2018.run.yaml"
    if is_remote:
        said["source"]["git"] = (tmp_path / "repository").as_uri()
        write(tmp_path, said)
        (warning,) = check_run_file(file)
        assert warning.severity == "warning"
        assert "requirements.txt of a source that is not on this machine" in warning.message
        (record,) = run(tmp_path).values()
        assert "requirements.txt:2: found 'numpy>=1.24'" in str(record.error)
    (fault,) = check_run_file(file)
    assert (fault.rule, fault.path) == ("RA089", "environment.requirements")
    for said in (
        "requirements.txt:2: found 'numpy>=1.24'; expected 'name==version'",
        "requirements.txt:3: found 'six=1.16.0=py39_0', conda's form; expected 'six==1.16.0'",
        "requirements.txt:4: found 'comm @ file:///tmp/work'; expected 'name==version', not",
    ):
        assert said in fault.message


def test_beside_a_module_or_without_its_audit(tmp_path):
    outsider(tmp_path)
    file = tmp_path / "audits" / "soudry2018.run.yaml"
    module = file.with_name("soudry2018.py")
    module.write_text("")
    assert [one.rule for one in check_run_file(file)] == ["RA087"]
    module.unlink()
    file.with_name("soudry2018.yaml").unlink()
    assert [one.rule for one in check_run_file(file)] == ["RA088"]
    assert [one.rule for one in check_run_file(file.with_name("absent.run.yaml"))] == ["RA001"]


def test_check_takes_the_slug_the_audit_the_folder_and_the_run_file(tmp_path, cli):
    said = outsider(tmp_path)
    audits = tmp_path / "audits"
    names = (["soudry2018", "--audits", str(audits)], [str(audits)],
             [str(audits / "soudry2018.yaml")], [str(audits / "soudry2018.run.yaml")])  # fmt: skip
    for good in names:
        assert "1 audit: no errors, no warnings" in cli("check", *good).out
    change("~.timeout", -1)(said)
    write(tmp_path, said)
    for bad in names[:2] + names[3:]:
        (fault,) = cli("check", *bad, "--json", code=2).data
        assert fault["file"].endswith("soudry2018.run.yaml")
        assert fault["path"] == "experiments.separable.timeout"
        assert fault["message"].startswith("found -1; it should be greater than 0")


def test_the_example_is_valid_and_no_audit(tmp_path):
    outsider(tmp_path)
    assert {"soudry2018"} == Catalog(tmp_path / "audits").entries.keys() - Catalog().entries.keys()
    file = tmp_path / "audits" / "soudry2018.run.yaml"
    file.write_bytes((EXAMPLE / "soudry2018.run.yaml").read_bytes())
    assert check_run_file(file) == []
    file.write_text("- a\n")
    assert "RA005" in {one.rule for one in check_run_file(file)}


def test_arguments_are_filled_in_and_nothing_else_is_read_in_them():
    values = {"seed": 3, "rate": 1e-05, "flag": True, "box": (1, 2.5), "text": "{seed} $x"}
    assert filled("--rate={rate}", values, {}) == "--rate=1e-05"
    assert filled("{{{flag}}} {box}", values, {}) == "{true} 1,2.5"
    assert filled("{text}", values, {}) == "{seed} $x"
    assert filled("--flag={flag}", values, {"flag": {"true": None}}) is None
    assert filled("{flag}", values, {"flag": {"true": "--on"}}) == "--on"
    assert placeholders("{seed}-{rate}/{{no}}") == ("seed", "rate")


MODELS = [one for one in vars(run_file).values()
          if isinstance(one, type) and issubclass(one, BaseModel)
          and one.__module__ == run_file.__name__]  # fmt: skip


@pytest.mark.parametrize("field", sorted({f for model in MODELS for f in model.model_fields}))
def test_the_manual_names_every_field(field):
    page = (ROOT / "docs" / "command.md").read_text()
    assert re.search(rf"`{field}`", page)
