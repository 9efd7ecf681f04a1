"""Compiled Python that holds other code than its source is found before a confirmation."""

from __future__ import annotations

import importlib.util
import os
import py_compile
from pathlib import Path

import pytest

from reproaudit.running.bytecode import foreign_bytecode

MODES = py_compile.PycInvalidationMode


def compiled_of(source: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(source)))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "package" / "seeds.py"
    path.parent.mkdir()
    path.write_text('"""Words."""\nDRAWS = 1.0\n\ndef double(x):\n    return 2 * x\n')
    return path


@pytest.mark.parametrize("mode", MODES)
def test_code_as_its_source_says_is_not_foreign(source: Path, mode: MODES) -> None:
    py_compile.compile(str(source), invalidation_mode=mode)
    assert list(foreign_bytecode(source.parent)) == []


@pytest.mark.parametrize("other", ["DRAWS = 2.0", "DRAWS = 1"])
@pytest.mark.parametrize("mode", [MODES.TIMESTAMP, MODES.UNCHECKED_HASH])
def test_other_code_under_the_time_and_size_of_its_source_is(
    source: Path, mode: MODES, other: str
) -> None:
    honest, seen = source.read_text(), source.stat()
    source.write_text(honest.replace("DRAWS = 1.0", other.ljust(len("DRAWS = 1.0"))))
    os.utime(source, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    py_compile.compile(str(source), invalidation_mode=mode)
    source.write_text(honest)
    os.utime(source, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert list(foreign_bytecode(source.parent)) == [(compiled_of(source), source)]


def test_what_python_would_compile_again_or_cannot_load_is_not(source: Path) -> None:
    py_compile.compile(str(source))
    source.write_text("DRAWS = 2.0\n")
    assert list(foreign_bytecode(source.parent)) == []
    py_compile.compile(str(source))
    compiled = compiled_of(source)
    compiled.write_bytes(compiled.read_bytes()[:-5])
    assert list(foreign_bytecode(source.parent)) == []
