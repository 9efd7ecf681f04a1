"""`reproaudit check --run`: an audit held against the module that it describes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from miniatures import write_paper
from reproaudit.audit.catalog import Catalog
from reproaudit.cli import run_command
from reproaudit.service.check import module_misfits

Check = Callable[..., list[dict[str, Any]]]
AS_IT_IS = ("", "")


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Writes the paper, changes its audit and its module, and gives the faults of `check --run`."""

    def faults(
        audit: tuple[str, str] = AS_IT_IS, module: tuple[str, str] = AS_IT_IS
    ) -> list[dict[str, Any]]:
        folder = write_paper(tmp_path / "audits")
        for name, (before, after) in (("mini.yaml", audit), ("mini.py", module)):
            text = (folder / name).read_text(encoding="utf-8")
            assert before in text
            (folder / name).write_text(text.replace(before, after, 1), encoding="utf-8")
        run_command(["check", "--run", "--trust", "--json", str(folder / "mini.yaml")])
        found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
        return [one for one in found if one["rule"] == "RA020"]

    return faults


@pytest.mark.parametrize("slug", list(Catalog().entries))
def test_every_paper_fits_its_module(slug):
    entry = Catalog()[slug]
    assert list(module_misfits(entry, entry.audit())) == []


def test_an_audit_that_fits_has_no_fault(check):
    assert check() == []


def test_settings_of_other_names_are_told_with_their_experiment(check):
    faults = check(module=("    pause: float\n", "    paused: float\n"))
    said = "found unknown setting 'pause'. Did you mean 'paused'?; setting 'paused' is missing"
    assert {fault["message"] for fault in faults} == {said}
    assert {fault["path"] for fault in faults} >= {"experiments.descent", "experiments.guessed"}
    assert all(fault["line"] > 1 for fault in faults)


def test_a_value_of_another_type_is_told_with_its_run(check):
    module = ('Literal["completes", "diverges", "fails"]', 'Literal["ends", "diverges", "fails"]')
    faults = check(module=module)
    assert "setting 'outcome' = 'completes'" in faults[0]["message"]
    assert faults[0]["path"] == "experiments.descent"


def test_an_alternative_that_the_experiment_does_not_take_is_told():
    entry = Catalog()["wang2024"]
    audit = entry.audit()
    name, stated = next(
        (name, one) for name, one in audit.settings_of("selection").items() if one.alternatives
    )
    changed = stated.model_copy(update={"alternatives": (*stated.alternatives, "no such value")})
    own = audit.experiments["selection"]
    audit.experiments["selection"] = own.model_copy(
        update={"settings": {**own.settings, name: changed}}
    )
    (fault,) = module_misfits(entry, audit)
    at = fault.loc[fault.loc.index("settings") :]
    assert at == ("settings", name, "alternatives", len(stated.alternatives))


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (("import os\n", "import os\nraise OSError('no disk')\n"), "cannot be imported"),
        (("\nEXPERIMENTS", "\nOTHERS"), "defines no mapping named EXPERIMENTS"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_fault(check, module, said):
    (fault,) = check(module=module)
    assert said in fault["message"]


def test_without_consent_nothing_is_imported(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("REPROAUDIT_TRUST")
    monkeypatch.setenv("REPROAUDIT_TRUST_FILE", str(tmp_path / "trust"))
    folder = write_paper(tmp_path / "audits")
    module = folder / "mini.py"
    text = module.read_text(encoding="utf-8")
    mark = f"import os\nos.mkdir({str(tmp_path / 'ran')!r})\n"
    changed = text.replace("import os\n", mark, 1)
    module.write_text(changed, encoding="utf-8")
    assert run_command(["check", "--run", str(folder / "mini.yaml")]) == 2
    assert "--trust" in capsys.readouterr().err
    assert run_command(["check", str(folder / "mini.yaml")]) == 0
    assert not (tmp_path / "ran").exists()
