"""Consent, the code digest and the imports of a user's paper are of the same files."""

import importlib
import os
import py_compile
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cells import InProcess, users_module, users_run
from miniatures import ENVIRONMENT, SOURCES, finish, program, write_paper
from reproaudit.audit.catalog import Module
from reproaudit.audit.sources import sources_in
from reproaudit.cell import Cell
from reproaudit.consent import foreign_code
from reproaudit.errors import SpecError
from reproaudit.records import Record
from reproaudit.run.cells import run_cells
from reproaudit.run.modules import load_experiments
from reproaudit.store.code import closure_of
from reproaudit.store.records import Store

WAYS = pytest.mark.parametrize(
    ("early", "late"),
    [
        ("from helper import FACTOR", "pass"),
        ("from .helper import FACTOR", "pass"),
        ("", "from helper import FACTOR"),
    ],
    ids=["when imported", "relatively", "while it measures"],
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of audits, and a module by name that no test leaves behind."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "audits").mkdir()
    yield (tmp_path / "audits").resolve()
    for name in ("helper", "linked", "json5"):
        sys.modules.pop(name, None)


def paper(folder: Path, early: str = "from helper import FACTOR", late: str = "pass") -> Module:
    return users_module(folder / "mine.py", "scalars={'x': FACTOR}", early, late)


def elsewhere(folder: Path, factor: float = 0.5) -> Path:
    """A folder outside, with a helper that gives another factor."""
    other = folder.parent / "elsewhere"
    other.mkdir(exist_ok=True)
    (other / "helper.py").write_text(f"FACTOR = {factor}\n")
    return other


def measured(module: Module, folder: Path) -> Record:
    return users_run(module, Store(folder.parent / "runs"), executor=InProcess())


# --- links ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "early", ["from linked.helper import FACTOR", "from .linked import helper"]
)
@pytest.mark.parametrize("is_package", [True, False])
def test_a_linked_folder_is_neither_hashed_nor_imported(folder, early, is_package):
    other = elsewhere(folder)
    if is_package:
        (other / "__init__.py").touch()
    py_compile.compile(str(other / "helper.py"), doraise=True)
    (folder / "linked").symlink_to(other)
    module = paper(folder, early)
    assert sources_in(folder) == [folder / "mine.py"]
    with pytest.raises(SpecError, match="linked") as caught:
        load_experiments(module)
    assert len(str(caught.value).splitlines()) == 1
    files = [str(getattr(module, "__file__", None)) for module in [*sys.modules.values()]]
    assert not any(file.endswith("linked/helper.py") for file in files)


def test_a_link_in_place_of_a_file_is_refused_where_it_leads_out(folder):
    other = elsewhere(folder)
    (folder / "helper.py").symlink_to(other / "helper.py")
    module = paper(folder)
    for refused in (closure_of, load_experiments):
        with pytest.raises(SpecError, match=r"helper\.py: is a link, "):
            refused(module)
    (folder / "helper.py").unlink()
    (folder / "plain.py").write_text("FACTOR = 1.0\n")
    (folder / "helper.py").symlink_to(folder / "plain.py")
    before = closure_of(module)
    assert load_experiments(module)
    (folder / "plain.py").write_text("FACTOR = 0.5\n")
    assert closure_of(module) != before


def test_a_module_that_is_a_link_is_refused_before_anybody_is_asked(folder):
    outside = paper(elsewhere(folder))
    (folder / "mine.py").symlink_to(outside.file)
    with pytest.raises(SpecError, match=r"audits/mine\.py: is a link"):
        foreign_code(Module("mine", folder / "mine.py", importable=False))


def test_a_folder_of_audits_may_be_a_link_and_hold_linked_data(folder):
    data = folder.parent / "data"
    data.mkdir()
    (data / "numbers.csv").write_text("1\n")
    (folder / "data").symlink_to(data)
    (folder / "helper.py").write_text("FACTOR = 1.0\n")
    module = paper(folder)
    (folder.parent / "alias").symlink_to(folder)
    alias = Module("mine", folder.parent / "alias" / "mine.py", importable=False)
    assert closure_of(alias) == closure_of(module)
    assert measured(alias, folder).measurements.scalars == {"x": 1.0}


def test_code_in_the_cache_of_bytecode_is_hashed(folder):
    module = paper(folder, "from __pycache__.helper import FACTOR")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "helper.py").write_text("FACTOR = 1.0\n")
    hashes = [closure_of(module).digest, foreign_code(module)]
    (folder / "__pycache__" / "helper.py").write_text("FACTOR = 0.5\n")
    assert closure_of(module).digest != hashes[0]
    assert foreign_code(module) != hashes[1]


# --- namesakes ------------------------------------------------------------------------------------


@WAYS
@pytest.mark.parametrize("is_package", [True, False])
def test_the_helper_that_was_hashed_is_the_one_that_runs(folder, early, late, is_package):
    own = folder / "helper"
    if is_package:
        own.mkdir()
        (own / "inner.py").write_text("FACTOR = 1.0\n")
        early, late = (one.replace("helper", "helper.inner") for one in (early, late))
    else:
        own.with_suffix(".py").write_text("FACTOR = 1.0\n")
    sys.path.insert(0, str(elsewhere(folder)))
    record = measured(paper(folder, early, late), folder)
    assert record.measurements.scalars == {"x": 1.0}


@WAYS
def test_folders_of_audits_have_helpers_of_one_name(folder, early, late):
    """All in one run, and each module measures with its own."""
    modules = {}
    for factor in (1.0, 2.0, 3.0):
        place = folder / str(factor)
        place.mkdir()
        (place / "helper.py").write_text(f"FACTOR = {factor}\n")
        modules[f"of-{factor}"] = paper(place, early, late)
    store = Store(folder.parent / "runs")
    cells = [Cell(name, "smoke", "e", {"size": 1}, 0) for name in modules]
    run_cells(cells, modules.__getitem__, store, executor=InProcess())
    found = [record.measurements.scalars for n in modules for record in store.records(n, "smoke")]
    assert found == [{"x": 1.0}, {"x": 2.0}, {"x": 3.0}]


def test_a_namesake_that_is_imported_already_is_refused(folder):
    (folder / "helper.py").write_text("FACTOR = 1.0\n")
    sys.path.insert(0, str(elsewhere(folder)))
    importlib.import_module("helper")
    with pytest.raises(SpecError, match=r"'import helper' gave .*elsewhere/helper\.py") as caught:
        load_experiments(paper(folder))
    assert len(str(caught.value).splitlines()) == 1


def test_a_library_is_hidden_by_no_namesake_and_replaces_none_in_silence(folder):
    (folder / "random.py").write_text("raise RuntimeError\n")  # the standard library's is meant
    module = paper(folder, "import random\nFACTOR = 1.0")
    assert measured(module, folder).measurements.scalars == {"x": 1.0}
    (folder / "pydantic.py").write_text("FACTOR = 1.0\n")
    with pytest.raises(SpecError, match=r"'import pydantic' gave .*Give that one another name"):
        load_experiments(paper(folder, "from pydantic import VERSION as FACTOR", "del sys"))


def test_what_no_digest_covers_is_not_imported(folder):
    (folder / "helper.py").write_text("FACTOR = 1.0\n")
    computed = "FACTOR = importlib.import_module('hel' + 'per').FACTOR"
    with pytest.raises(SpecError, match=r"audits/helper\.py: no digest covers this file"):
        load_experiments(paper(folder, computed))
    assert "helper" not in sys.modules
    (folder / "mine.py").unlink()
    late = paper(folder, "", computed)
    record = measured(Module("late", late.file.rename(folder / "late.py"), False), folder)
    assert record.error is not None
    assert "no digest covers" in record.error


def test_workers_of_a_program_run_what_was_hashed(tmp_path):
    audits = write_paper(tmp_path / "audits")
    module = audits / "mini.py"
    module.write_text(
        module.read_text().replace("import numpy as np", "import numpy as np\nimport helper")
    )
    (audits / "helper.py").write_text("")
    for place in ("here", "path"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "helper.py").write_text("raise SystemExit('a namesake ran')\n")
    command = ["run", "mini", "--tier", "smoke", "--audits", str(audits), "--jobs", "2"]
    paths = os.pathsep.join([str(SOURCES), str(tmp_path / "path")])
    code, said, errors = finish(program(*command, cwd=tmp_path / "here", env={"PYTHONPATH": paths}))
    assert code == 0, said + errors
    assert "namesake" not in said + errors


def test_what_lies_beside_an_audit_runs_in_no_process_around_the_workers(tmp_path):
    """Python imports such names by itself, or a library does where they happen to be."""
    audits = write_paper(tmp_path / "audits")
    note = tmp_path / "ran"
    for folder in (audits, tmp_path / "here"):
        folder.mkdir(exist_ok=True)
        for name in ("sitecustomize", "usercustomize", "cython", "multiprocessing"):
            text = f"with open({str(note)!r}, 'a') as f: print(__file__, file=f)\n"
            (folder / f"{name}.py").write_text(text)
    (tmp_path / "program").write_text("from reproaudit.__main__ import start\nstart()\n")
    words = ["run", "mini", "--tier", "smoke", "--audits", str(audits), "--jobs", "2"]
    started = subprocess.Popen(
        [sys.executable, str(tmp_path / "program"), *words],
        cwd=tmp_path / "here",
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    code, said, errors = finish(started)
    assert code == 0, said + errors
    assert not note.exists(), note.read_text()


def test_a_folder_of_audits_is_searched_only_while_its_module_may_import(folder):
    (folder / "helper.py").write_text("FACTOR = 1.0\n")
    before = [*sys.path]
    assert measured(paper(folder), folder).measurements.scalars == {"x": 1.0}
    assert sys.path == before
