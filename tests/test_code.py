"""The digest of a paper's code: layout and words leave it, what computes changes it."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import reproaudit
from reproaudit.audit.catalog import Module
from reproaudit.errors import SpecError
from reproaudit.running import code
from reproaudit.running.code import CodeClosure, closure_of
from reproaudit.running.syntax import computing_text

PACKAGE = Path(reproaudit.__file__).parent
LOGGER = "import logging\n_log = logging.getLogger(__name__)\n"
PAPERS = sorted(one.parent.name for one in (PACKAGE / "papers").glob("*/__init__.py"))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the sources, which are read in place of the installed ones."""
    copy = tmp_path_factory.mktemp("copy") / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "PACKAGE", copy)
        yield copy


def shipped(package: Path, paper: str) -> str:
    return closure_of(Module(f"reproaudit.papers.{paper}", package / "papers" / paper)).digest


def counted(package: Path, paper: str) -> list[Path]:
    folders = (package / "papers" / paper, package / "lab")
    files = [one for folder in folders for one in folder.rglob("*.py*") if one.suffix != ".pyc"]
    return [*files, package / "records.py"]


def changed(package: Path, paper: str, edits: dict[Path, str]) -> str:
    """The digest with other files, which are put back."""
    before = {file: file.read_text() for file in edits}
    for file, text in edits.items():
        file.write_text(text)
    try:
        return shipped(package, paper)
    finally:
        for file, text in before.items():
            file.write_text(text)


@pytest.mark.parametrize(
    "more",
    [
        "def unused(x):\n    return x",
        "import scipy",
        "_log.info(print('printed'))",
        "_log.info('%s', draw())",
        "class Unused:\n    x: int",
        "@register\ndef unused(x: int):\n    return x",
    ],
)
def test_what_may_compute_changes_the_digest(package: Path, more: str) -> None:
    """And layout, comments and a logger do not."""
    (paper, *_) = PAPERS
    file = package / "lab" / "training.py"
    before = f"{LOGGER}{ast.unparse(ast.parse(file.read_text()))}"
    assert changed(package, paper, {file: before}) == shipped(package, paper)
    assert changed(package, paper, {file: f"{before}\n{more}\n"}) != shipped(package, paper)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = 1", "x = 2", False),
        ("x = 'a'", "x = 'b'", False),
        ("x = a + b", "x = a - b", False),
        ("x = a < b", "x = a <= b", False),
        ("x = 1  # a note\n\n", "x = 1", True),
        ("'A.'\nx = 1", "x = 1", True),
        ("class A:\n    'A.'\n    x: int", "class A:\n    x: int", True),
        ("def f(x):\n    'A.'\n    return x", "def f(x):\n    return x", True),
        (f"{LOGGER}def f(x):\n    _log.info('%s', x)\n", "def f(x): pass", True),
        ("class A:\n    x: int = 1", "class A:\n    x: float = 1", False),
        ("@register\ndef f(x: int): return x", "@register\ndef f(x: float): return x", False),
        ("@cache\ndef f(x: int): return x", "@cache\ndef f(x): return x", True),
        ("def f(x: int) -> int: return x", "def f(x): return x", True),
        ("def f():\n    x: int = 1\n    return x", "def f():\n    x = 1\n    return x", True),
        ("def f():\n    x: int\n    return 1", "def f():\n    return 1", True),
        ("if TYPE_CHECKING:\n    from a import b\n", "", True),
        ("if typing.TYPE_CHECKING:\n    import a\nelse:\n    import b", "import b", True),
        ("a = Field(description='x')", "a = Field(description='y')", True),
        ("a = Field(1, description='x')", "a = Field(2, description='x')", False),
        ("a = other(description='x')", "a = other(description='y')", False),
        ("a = Field(description=b)", "a = Field(description=c)", False),
    ],
)
def test_what_counts_of_a_module(one: str, other: str, same: bool) -> None:
    found = [computing_text(ast.parse(text)) for text in (one, other)]
    assert (found[0] == found[1]) is same


@pytest.mark.parametrize("paper", PAPERS)
def test_every_file_of_a_paper_and_of_what_it_imports_counts(package: Path, paper: str) -> None:
    before = shipped(package, paper)
    for file in counted(package, paper):
        assert changed(package, paper, {file: f"{file.read_text()}\nOTHER = 1\n"}) != before, file
    assert changed(package, paper, {package / "running" / "store.py": "OTHER = 1"}) == before


USERS = {
    "jones2021.py": "import numpy.linalg\nfrom .near import x\ndef f(): import by_name, sklearn",
    "near.py": "from .deep.inner import y",
    "by_name.py": "import os",
    "deep/__init__.py": "",
    "deep/inner.py": "",
    "unrelated.py": "this is not Python",
}


def users(folder: Path, **files: str) -> CodeClosure:
    for name, text in {**USERS, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return closure_of(Module("jones2021", folder / "jones2021.py", importable=False))


def test_a_users_paper_is_its_file_and_what_it_imports_of_its_folder(tmp_path: Path) -> None:
    before = users(tmp_path / "a")
    assert users(tmp_path / "elsewhere") == before
    counts = {
        one for one in USERS if users(tmp_path / "a", **{one: USERS[one] + "\nz = 1"}) != before
    }
    assert counts == USERS.keys() - {"unrelated.py"}
    assert {"numpy", "sklearn"} <= before.packages
    assert before.packages.isdisjoint({"near", "by_name", "deep", "os", "jones2021"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\ndef (:\n", r"near\.py:2: this module is not valid Python"),
        ("\0", r"near\.py:1: this module is not valid Python"),
        ("x = " + " + ".join(["y"] * 5000), "is not valid Python .*recursion"),
    ],
)
def test_a_module_that_cannot_be_read_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        users(tmp_path, **{"near.py": text})
    with pytest.raises(SpecError, match="no such module"):
        closure_of(Module("absent", tmp_path / "absent.py", importable=False))
