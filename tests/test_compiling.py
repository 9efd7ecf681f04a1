"""Machine code on disk follows every file of a paper, and a folder that cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from reproaudit.audit.catalog import Module
from reproaudit.run import worker
from reproaudit.run.worker import reported_compilation
from reproaudit.store.code import closure_of

PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from smith2020 import main; main.show()"
MAIN = """
from reproaudit.lab import compiled
from smith2020.other import add

@compiled()
def both(x):
    return add(x) + 1

def show():
    print(both(1), both.stats.cache_hits[next(iter(both.stats.cache_hits))] if
          both.stats.cache_hits else 0)
"""
OTHER = "from reproaudit.lab import compiled\n\n@compiled()\ndef add(x):\n    return x + {}\n"


def shown(folder: Path, cache: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)],
        # Python tells a source from its bytecode by size and whole seconds, which are alike here
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def written(folder: Path, added: int) -> Path:
    package = folder / "smith2020"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("")
    (package / "main.py").write_text(MAIN)
    (package / "other.py").write_text(OTHER.format(added))
    return folder


def test_compilation_is_reported_once_for_all_that_a_function_calls():
    inner = numba.njit(lambda x: x + 1)
    outer = numba.njit(lambda x: inner(x) + 1)
    told: list[bool] = []
    with reported_compilation(told.append):
        assert outer(1) == outer(2) - 1 == 3
        assert told == [True, False]
        outer(1.0)
    outer(1j)
    assert told == [True, False, True, False]


def test_a_change_in_another_file_is_compiled_anew(tmp_path):
    cache = tmp_path / "cache"
    assert shown(written(tmp_path, 10), cache) == ["12", "0"]
    assert shown(written(tmp_path, 10), cache) == ["12", "1"]
    assert shown(written(tmp_path, 20), cache) == ["22", "0"]
    assert not list((tmp_path / "smith2020").rglob("*.nbi"))


@pytest.mark.process
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    closed = tmp_path / "a file"
    closed.write_text("")
    assert shown(written(tmp_path, 10), closed) == ["12", "0"]


@pytest.mark.parametrize("importable", [True, False])
def test_machine_code_of_a_users_module_lies_by_the_hash_of_its_code(
    tmp_path, monkeypatch, importable
):
    """What lies compiled in the user's own folder need not be of these sources."""
    name = f"jones_{importable}"
    (tmp_path / f"{name}.py").write_text("EXPERIMENTS = {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "as it was")
    module = Module(name, tmp_path / f"{name}.py", importable=importable)
    code = closure_of(module).digest
    worker._loaded(module, code)
    own = Path.home() / ".cache" / "reproaudit" / "numba" / code
    found = numba.config.CACHE_DIR
    assert found == ("as it was" if importable else str(own))
