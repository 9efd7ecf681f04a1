"""Audits and modules are found in pairs, and a user's own folder runs from end to end."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from miniatures import MODULE, write_paper
from reproaudit.audit import catalog as catalog_module
from reproaudit.audit.catalog import Catalog, shipped_audits
from reproaudit.audit.paper_module import one_line
from reproaudit.cli import run_command
from reproaudit.errors import SpecError, UsageError
from reproaudit.records import Measurements


def test_every_shipped_audit_has_its_module() -> None:
    entries = Catalog().entries
    assert list(entries) == sorted(entries)
    assert set(entries) == {file.stem for file in shipped_audits().glob("*.yaml")}
    for slug, entry in entries.items():
        assert entry.slug == slug
        assert entry.module.name == f"reproaudit.papers.{slug}"
        assert entry.module.file.exists()


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in miniature, with an audit and a module that is a package."""
    package = tmp_path / "package"
    (package / "papers" / "one").mkdir(parents=True)
    (package / "papers" / "__init__.py").touch()
    (package / "papers" / "one" / "__init__.py").touch()
    write_paper(package / "audits", "one")
    (package / "audits" / "one.py").unlink()
    monkeypatch.setattr(catalog_module, "PACKAGE", package)
    return package


def test_a_pair_needs_no_registry(shipped: Path) -> None:
    assert list(Catalog().entries) == ["one"]
    write_paper(shipped / "audits", "two")
    shutil.move(shipped / "audits" / "two.py", shipped / "papers" / "two.py")
    assert list(Catalog().entries) == ["one", "two"]
    (shipped / "papers" / "_private.py").touch()
    assert list(Catalog().entries) == ["one", "two"]


def test_one_without_the_other_fails_loudly(shipped: Path) -> None:
    write_paper(shipped / "audits", "two")
    (shipped / "papers" / "three.py").touch()
    with pytest.raises(SpecError) as error:
        _ = Catalog().entries
    lines = str(error.value).splitlines()
    assert len(lines) == 2, "both at once"
    assert any("two.yaml: has no module" in line for line in lines)
    assert any("three.py: has no audit" in line for line in lines)
    assert all(line.endswith("Add it, or remove the other.") for line in lines)


def test_a_users_folder(tmp_path: Path) -> None:
    folder = write_paper(tmp_path / "mine")
    (folder / "shared_parts.py").touch()  # which any module may import
    catalog = Catalog(folder)
    assert set(catalog.entries) == {*Catalog().entries, "mini"}
    assert catalog.locate("mini").file == folder / "mini.py"
    (folder / "mini.py").unlink()
    with pytest.raises(SpecError, match=r"mini\.yaml: has no module .*mini\.py"):
        _ = Catalog(folder).entries


def test_a_users_paper_stands_before_a_shipped_one(tmp_path: Path) -> None:
    slug = next(iter(Catalog().entries))
    entry = Catalog(write_paper(tmp_path, slug))[slug]
    assert entry.audit_file == tmp_path / f"{slug}.yaml"
    assert entry.audit().paper.title == f"The paper {slug}"


def test_what_a_command_line_names(tmp_path: Path) -> None:
    catalog = Catalog(write_paper(tmp_path))
    assert [e.slug for e in catalog.select(["mini", "mini"], everything=False)] == ["mini"]
    assert len(catalog.select([], everything=True)) == len(catalog.entries)
    with pytest.raises(UsageError, match="name a paper, or --all"):
        catalog.select([], everything=False)
    with pytest.raises(UsageError, match=r"unknown paper 'minj'. Did you mean 'mini'\?"):
        catalog["minj"]
    with pytest.raises(UsageError, match="no such folder"):
        _ = Catalog(tmp_path / "absent").entries


def test_a_users_folder_runs_from_end_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One claim for every verdict that needs no failure, in seconds, from two files."""
    folder = write_paper(tmp_path / "mine")
    arguments = ["run", "mini", "--audits", str(folder), "--store", str(tmp_path / "runs")]
    assert run_command([*arguments, "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    verdicts = {one["id"]: one["verdict"] for one in card["claims"]}
    assert verdicts == {
        f"mini.{word}": word for word in ("supported", "contradicted", "inconclusive", "vacuous")
    }
    assert card["coverage"] == {"claims": 4, "tested": 4, "weight_tested": 1.0}
    assert run_command([*arguments[:2], "--tier", "smoke", *arguments[2:], "--json"]) == 0
    smoke = json.loads(capsys.readouterr().out)
    assert {one["verdict"] for one in smoke["claims"]} == {"not_tested"}


def test_a_module_of_a_users_folder_is_told_apart_from_another_of_its_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = write_paper(tmp_path / name)
        text = MODULE.read_text().replace("out of order", name)
        (folder / "mini.py").write_text(text)
    loaded = [Catalog(tmp_path / name).locate("mini").load() for name in ("one", "two")]
    assert loaded[0]["descent"].measure is not loaded[1]["descent"].measure
    assert "mini" not in sys.modules


# --- imports by an old name -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from reproaudit.training import train", "from reproaudit.lab import train"),
        ("from reproaudit.training import (\n    per_seed,\n    train,\n)",
         "from reproaudit.lab import per_seed, train"),
        ("from reproaudit.experiment import Experiment, Session",
         "from reproaudit.lab import Experiment, Session"),
        ("from reproaudit.components import observation_steps as at",
         "from reproaudit.lab import observation_steps"),
        ("from reproaudit.lab.training import generator", "from reproaudit.lab import generator"),
        ("import reproaudit.training", "It has DATA_VARIABLE"),
        ("from reproaudit.training import nothing", "It has DATA_VARIABLE"),
    ],
)  # fmt: skip
def test_an_import_by_an_old_name_gets_one_line_with_the_new_one(
    old: str, new: str, tmp_path: Path
) -> None:
    folder = write_paper(tmp_path)
    file = folder / "mini.py"
    file.write_text(f"{MODULE.read_text()}\n{old}\n")
    with pytest.raises(SpecError) as caught:
        Catalog(folder).locate("mini").load()
    (line,) = str(caught.value).splitlines()
    number = MODULE.read_text().count("\n") + 2
    assert line.startswith(f"{file}:{number}: found an import from 'reproaudit.")
    assert new in line
    assert caught.value.exit_code == 2


def test_another_import_that_fails_is_told_as_it_is(tmp_path: Path) -> None:
    folder = write_paper(tmp_path)
    (folder / "mini.py").write_text("import no_such_library\n")
    with pytest.raises(SpecError, match=r"cannot be imported: ModuleNotFoundError: No module"):
        Catalog(folder).locate("mini").load()


def test_a_refused_measurement_is_told_in_one_line_without_a_link() -> None:
    with pytest.raises(ValidationError) as caught:
        Measurements(scalars={"loss": np.zeros(3)})  # type: ignore[dict-item]
    said = one_line(caught.value)
    assert said.startswith("ValidationError: scalars.loss: Input should be a valid number (")
    assert "http" not in said
