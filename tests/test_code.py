"""The digest of a paper's code: layout and words leave it, what computes changes it."""

from __future__ import annotations

import ast
import io
import random
import shutil
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import reproaudit
from reproaudit.audit.paper_module import Module
from reproaudit.errors import SpecError
from reproaudit.running import code
from reproaudit.running.code import CodeClosure, closure_of

PACKAGE = Path(reproaudit.__file__).parent
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
    return [*(one for folder in folders for one in folder.rglob("*.py")), package / "records.py"]


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


def commented(text: str) -> str:
    """A comment at the end of every line of code, and a blank line after every other."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = text.splitlines()
    for number, row in enumerate([one.end[0] for one in tokens if one.type == tokenize.NEWLINE]):
        lines[row - 1] += "  # a note" + "\n" * (number % 2)
    return "\n".join(lines)


def reformatted(text: str) -> str:
    return ast.unparse(ast.parse(text))


def redocumented(text: str) -> str:
    """Other docstrings at modules, classes and functions, and new ones where there are none."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body[: ast.get_docstring(node) is not None] = [ast.Expr(ast.Constant("Others."))]
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("edit", [commented, reformatted, redocumented])
def test_words_and_layout_leave_the_digest(
    package: Path, paper: str, edit: Callable[[str], str]
) -> None:
    edits = {file: edit(file.read_text()) for file in counted(package, paper)}
    assert sum(file.read_text() != text for file, text in edits.items()) > 15
    assert changed(package, paper, edits) == shipped(package, paper)


def mutants(text: str, sample: random.Random, count: int) -> Iterator[str]:
    """A module with another constant, or another operator, at a few places."""
    tree = ast.parse(text)
    words = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    nodes = [one for one in ast.walk(tree) if id(one) not in words]
    changes = [(one, *change) for one in nodes if (change := _other(one))]
    for node, name, other in sample.sample(changes, min(count, len(changes))):
        before = getattr(node, name)
        setattr(node, name, other)
        yield ast.unparse(tree)
        setattr(node, name, before)


def _other(node: ast.AST) -> tuple[str, object] | None:
    """The name of a field, and another value for it."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return "value", value * 2 + 1
        case ast.Constant(value=str(value)):
            return "value", f"{value}x"
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            return "op", ast.Sub() if isinstance(op, ast.Add) else ast.Add()
        case ast.Compare(ops=[op, *rest]):
            return "ops", [ast.Lt() if isinstance(op, ast.LtE) else ast.LtE(), *rest]
    return None


@pytest.mark.parametrize("paper", PAPERS)
def test_another_constant_or_operator_in_any_file_changes_the_digest(
    package: Path, paper: str
) -> None:
    before, tried = shipped(package, paper), 0
    for file in counted(package, paper):
        for text in mutants(file.read_text(), random.Random(file.name), 4):
            assert changed(package, paper, {file: text}) != before, (file, text)
            tried += 1
    assert tried > 60
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
