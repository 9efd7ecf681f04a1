"""The hash of the real papers' code, under edits that compute nothing and under mutations."""

from __future__ import annotations

import ast
import io
import itertools
import os
import random
import re
import shutil
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reproaudit
from reproaudit.running.code_hash import code_closure

PACKAGE = Path(reproaudit.__file__).parent
PAPERS = sorted(one.parent.name for one in (PACKAGE / "papers").glob("*/__init__.py"))
MUTATIONS = 32
"""How many mutations of each paper are tried."""


class Copy:
    """A copy of the sources, in which files are changed and put back."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / PACKAGE.name
        shutil.copytree(PACKAGE, self.root, ignore=lambda _, names: _not_python(names))
        for file in self.root.rglob("*.py"):
            os.utime(file, (1e9, 1e9))  # so that what stays is read once

    def digest(self, paper: str) -> str:
        return code_closure(self.root / "papers" / paper, [self.root]).digest

    def files(self, paper: str) -> list[Path]:
        """The paper's modules, and those of the shared ones that hold what it uses."""
        return [*sorted((self.root / "papers" / paper).rglob("*.py")), *self.shared()]

    def shared(self) -> list[Path]:
        return [self.module(name) for name in SHARED]

    def module(self, name: str) -> Path:
        return self.root.parent.joinpath(*name.split(".")).with_suffix(".py")

    def changed(self, paper: str, edits: dict[Path, str]) -> str:
        """The digest with other files, which are put back."""
        before = {file: file.read_text() for file in edits}
        for file, text in edits.items():
            file.write_text(text)
        try:
            return self.digest(paper)
        finally:
            for file, text in before.items():
                file.write_text(text)
                os.utime(file, (1e9, 1e9))


TIMES = itertools.count(1_000_000_001)


def _not_python(names: list[str]) -> list[str]:
    return [one for one in names if "." in one and not one.endswith(".py")]


def _homes(*names: str) -> tuple[str, ...]:
    """The modules in which names of the package are defined."""
    found = []
    for name in names:
        pattern = re.compile(rf"^(?:class|def) {name}\b", re.MULTILINE)
        files = [one for one in PACKAGE.rglob("*.py") if "papers" not in one.parts]
        homes = [one for one in files if pattern.search(one.read_text())]
        (home,) = homes
        found.append(".".join(home.relative_to(PACKAGE.parent).with_suffix("").parts))
    return tuple(dict.fromkeys(found))


SHARED = _homes("train", "Measurements", "Session")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("copy"))


# ----------------------------------------------------------------- edits that compute nothing


def with_comments(text: str) -> str:
    """A comment at the end of every line of code, and a blank line before every other."""
    ends = [
        one.end
        for one in tokenize.generate_tokens(io.StringIO(text).readline)
        if one.type == tokenize.NEWLINE
    ]
    lines = text.splitlines()
    for number, (row, _) in enumerate(ends):
        lines[row - 1] += "  # a note" + "\n" * (number % 2)
    return "\n".join(lines) + "\n# the end"


def reformatted(text: str) -> str:
    return ast.unparse(ast.parse(text))


class _OtherDocstrings(ast.NodeTransformer):
    def _documented(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        assert isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        first = 1 if ast.get_docstring(node) is not None else 0
        other = ast.Expr(ast.Constant("Other words.\n\nRaises:\n    Nothing."))
        future = [one for one in node.body[first:] if _is_future(one)]
        rest = [one for one in node.body[first:] if not _is_future(one)]
        node.body = [other, *future, *rest]
        return node

    visit_Module = visit_ClassDef = visit_FunctionDef = _documented

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        return [node, ast.Expr(ast.Constant("What it is."))]


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def redocumented(text: str) -> str:
    tree = _OtherDocstrings().visit(ast.parse(text))
    return ast.unparse(ast.fix_missing_locations(tree))


def without_docstrings(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() if ast.get_docstring(node):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def imports_reversed(text: str) -> str:
    tree = ast.parse(text)
    places = [
        i
        for i, one in enumerate(tree.body)
        if isinstance(one, ast.Import | ast.ImportFrom) and not _is_future(one)
    ]
    for place, statement in zip(places, [tree.body[i] for i in reversed(places)], strict=True):
        tree.body[place] = statement
    return ast.unparse(tree)


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize(
    "edit", [with_comments, reformatted, redocumented, without_docstrings, imports_reversed]
)
def test_edits_that_compute_nothing_leave_the_hash(
    copy: Copy, paper: str, edit: Callable[[str], str]
) -> None:
    edits = {file: edit(file.read_text()) for file in copy.files(paper)}
    assert sum(file.read_text() != text for file, text in edits.items()) > 5
    assert copy.changed(paper, edits) == copy.digest(paper)


# ------------------------------------------------------------------------------- renamed modules


class _Renamed(ast.NodeTransformer):
    """Rewrites the imports of a module that has another name, and what uses them."""

    def __init__(self, old: str, new: str, otherwise_bound: bool) -> None:
        self._keep_name = otherwise_bound
        self._package, _, self._old = old.rpartition(".")
        self._new_package, _, self._new = new.rpartition(".")
        self._old_name, self._new_name = old, new
        self._local = False

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.AST]:
        if node.module == self._old_name:
            node.module = self._new_name
        taken = [one for one in node.names if one.name == self._old]
        if node.module != self._package or not taken:
            return node
        kept = taken[0].asname or (self._old if self._keep_name else None)
        self._local |= kept is None
        moved = ast.alias(self._new, kept)
        rest = [one for one in node.names if one.name != self._old]
        new = ast.ImportFrom(self._new_package, [moved], 0)
        return [new, ast.ImportFrom(node.module, rest, 0)] if rest else new

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(self._new_name) if node.value == self._old_name else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._new, node.ctx) if self._local and node.id == self._old else node


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.arg):
        return node.arg == name
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def rename(root: Path, paper: str, old: str, new: str) -> None:
    """Renames a module and rewrites its imports in the paper and in what the paper uses."""

    def place(name: str) -> Path:
        return root.parent.joinpath(*name.split(".")).with_suffix(".py")

    place(new).parent.mkdir(exist_ok=True)
    place(old).rename(place(new))
    package, _, stem = old.rpartition(".")
    for file in root.rglob("*.py"):
        text = file.read_text()
        if old in text or (f"{package} import" in text and stem in text):
            tree = ast.parse(text)
            bound = any(_binds(node, stem) for node in ast.walk(tree))
            tree = _Renamed(old, new, bound).visit(tree)
            file.write_text(ast.unparse(ast.fix_missing_locations(tree)))
            os.utime(file, (1e9, next(TIMES)))


@pytest.mark.parametrize(
    "paper", [PAPERS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in PAPERS[1:])]
)
def test_renamed_modules_leave_the_hash(tmp_path: Path, paper: str) -> None:
    copy = Copy(tmp_path)
    before = copy.digest(paper)
    package = f"{PACKAGE.name}.papers.{paper}"
    for file in sorted((copy.root / "papers" / paper).glob("[!_]*.py")):
        rename(copy.root, paper, f"{package}.{file.stem}", f"{package}.other_{file.stem}")
        assert copy.digest(paper) == before, file.stem
    for number, name in enumerate(SHARED):
        rename(copy.root, paper, name, f"{PACKAGE.name}.moved.part_{number}")
        assert copy.digest(paper) == before, name
    (copy.root / "moved" / "__init__.py").write_text('"""A new package."""\n')
    assert copy.digest(paper) == before
    assert len(list((copy.root / "papers" / paper).glob("other_*.py"))) >= 3


# ----------------------------------------------------------------------------------- mutations


Mutation = tuple[str, ast.AST, str, Any]
"""The kind, and the node's field with its other value."""

OTHERS: dict[type[ast.AST], tuple[str, ast.AST, ast.AST]] = {
    ast.BinOp: ("operator", ast.Add(), ast.Sub()),
    ast.UnaryOp: ("sign", ast.UAdd(), ast.USub()),
    ast.AugAssign: ("update", ast.Add(), ast.Mult()),
    ast.BoolOp: ("logic", ast.And(), ast.Or()),
}


def mutations(tree: ast.Module) -> Iterator[Mutation]:
    """Every mutation of a module that computes something else."""
    for node, block in _computing(tree):
        if isinstance(node, ast.Constant) and (other := _other_constant(node)) is not node.value:
            yield "constant", node, "value", other
        elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.AugAssign | ast.BoolOp):
            kind, one, two = OTHERS[type(node)]
            yield kind, node, "op", two if isinstance(node.op, type(one)) else one
        elif isinstance(node, ast.Compare):
            sign = ast.Gt() if isinstance(node.ops[0], ast.GtE) else ast.GtE()
            yield "comparison", node, "ops", [sign, *node.ops[1:]]
        elif isinstance(node, ast.Attribute):
            yield "attribute", node, "attr", f"{node.attr}_2"
        elif isinstance(node, ast.Call) and node.args:
            yield "argument", node, "args", node.args[:-1]
        elif isinstance(node, ast.Call) and node.keywords:
            yield "keyword", node, "keywords", node.keywords[:-1]
        elif isinstance(node, ast.arguments) and node.defaults:
            yield "default", node, "defaults", node.defaults[1:]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node.decorator_list:
            yield "decorator", node, "decorator_list", node.decorator_list[1:]
        elif isinstance(node, ast.If | ast.IfExp):
            yield "condition", node, "test", ast.UnaryOp(ast.Not(), node.test)
        statements = getattr(*block)
        if node in statements and len(statements) > 1:
            yield "removed", *block, [one for one in statements if one is not node]


def _computing(tree: ast.Module) -> Iterator[tuple[ast.AST, tuple[ast.AST, str]]]:
    """The nodes that compute, each with the node and field of the block that it stands in."""
    waiting: list[tuple[ast.AST, tuple[ast.AST, str]]] = [(tree, (tree, "body"))]
    while waiting:
        node, block = waiting.pop()
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if text or isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
            continue
        yield node, block
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            inner = (node, name) if isinstance(value, list) and name in BLOCKS else block
            children = value if isinstance(value, list) else [value]
            waiting += [(one, inner) for one in children if isinstance(one, ast.AST)]


BLOCKS = ("body", "orelse", "finalbody")


def _other_constant(node: ast.Constant) -> object:
    if isinstance(node.value, bool):
        return not node.value
    if isinstance(node.value, int | float):
        return node.value * 2 + 1
    return node.value + "x" if isinstance(node.value, str) else node.value


def mutants(file: Path, sample: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """Seeded mutants of a file: the kind and the text of each."""
    tree = ast.parse(file.read_text())
    every = list(mutations(tree))
    for kind, node, field, other in sample.sample(every, min(count, len(every))):
        before = getattr(node, field)
        setattr(node, field, other)
        yield kind, ast.unparse(ast.fix_missing_locations(tree))
        setattr(node, field, before)


@pytest.mark.parametrize("paper", PAPERS)
def test_mutations_of_a_papers_code_change_the_hash(copy: Copy, paper: str) -> None:
    before = copy.digest(paper)
    files = sorted((copy.root / "papers" / paper).glob("[!_]*.py"))
    tried = set()
    for file in files:
        for kind, text in mutants(file, random.Random(file.name), max(6, MUTATIONS // len(files))):
            assert copy.changed(paper, {file: text}) != before, (file.name, kind, text)
            tried.add(kind)
    assert {"constant", "operator", "attribute", "removed"} <= tried


@pytest.mark.parametrize("paper", PAPERS)
def test_the_training_loop_counts_and_what_runs_the_tool_does_not(copy: Copy, paper: str) -> None:
    before = copy.digest(paper)
    loop, store = (copy.module(name) for name in _homes("train", "Store"))
    other_loop = loop.read_text().replace("while at.step < steps", "while at.step <= steps")
    assert other_loop != loop.read_text()
    assert copy.changed(paper, {loop: other_loop}) != before
    assert copy.changed(paper, {store: store.read_text() + "OTHER = 1\n"}) == before
