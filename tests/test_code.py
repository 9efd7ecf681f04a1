"""The digest of a paper's code: layout and words leave it, what computes changes it."""

import ast
import io
import random
import shutil
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reproaudit
from reproaudit.audit.catalog import Module
from reproaudit.errors import SpecError
from reproaudit.store import code
from reproaudit.store.code import CodeClosure, closure_of, imports_torch
from reproaudit.store.syntax import computing_tree

PACKAGE = Path(reproaudit.__file__).parent
PAPERS = sorted(file.parent.name for file in (PACKAGE / "papers").glob("*/__init__.py"))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the sources, which are read in place of the installed ones."""
    copy = tmp_path_factory.mktemp("copy") / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "PACKAGE_FOLDER", copy)
        yield copy


def paper_module(paper: str, package: Path = PACKAGE) -> Module:
    return Module(f"reproaudit.papers.{paper}", package / "papers" / paper)


def shipped(package: Path, paper: str) -> str:
    return closure_of(paper_module(paper, package)).digest


IN_CLASSES = {"courses.py", "measuring.py", "settings.py"}
ONE_FUNCTION = {"ablations.py", "courses.py", "movement.py", "settings.py", "training.py"}
LEFT_OUT = {
    "ahn2023": {"ablations.py", "images.py", "movement.py", *IN_CLASSES},
    "chen2024": {"ablations.py", "compiling.py", "images.py", "movement.py", *IN_CLASSES},
    "wang2024": {"ablations.py", "images.py", *IN_CLASSES},
    "yang2025": IN_CLASSES,
    "belkin2019": ONE_FUNCTION,
    "henderson2018": ONE_FUNCTION | {"compiling.py", "images.py"},
    "ioffe2015": ONE_FUNCTION | {"compiling.py"},
    "kaplan2020": ONE_FUNCTION | {"compiling.py", "images.py", "parts.py"},
    "reddi2018": ONE_FUNCTION | {"images.py"},
    "shumailov2024": ONE_FUNCTION | {"compiling.py", "images.py"},
    "wei2022": ONE_FUNCTION,
    "wilson2017": ONE_FUNCTION | {"compiling.py"},
}
"""What a paper does not import of `reproaudit.lab`."""


def counted(package: Path, paper: str) -> list[Path]:
    own = [*(package / "papers" / paper).rglob("*.py")]
    lab = [file for file in (package / "lab").rglob("*.py") if file.name not in LEFT_OUT[paper]]
    return [*own, *lab, package / "records.py"]


def test_a_package_counts_only_where_a_file_that_is_imported_names_it():
    papers = {paper: closure_of(paper_module(paper)).packages for paper in LEFT_OUT}
    reading = {paper for paper, packages in papers.items() if "sklearn" in packages}
    assert reading == {paper for paper, files in LEFT_OUT.items() if "images.py" not in files}


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
    for number, row in enumerate(
        [token.end[0] for token in tokens if token.type == tokenize.NEWLINE]
    ):
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


def redescribed(text: str) -> str:
    """Other descriptions of fields, and one where a field has none."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "Field"
        ):
            others = [keyword for keyword in node.keywords if keyword.arg != "description"]
            node.keywords = [*others, ast.keyword("description", ast.Constant("Another."))]
    return ast.unparse(ast.fix_missing_locations(tree))


def reannotated(text: str) -> str:
    """Other annotations in every signature that no decorator reads, and of local names."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        if not node.decorator_list:
            node.returns = ast.Constant("Another")
            for one in node.args.args:
                one.annotation = None if one.annotation else ast.Constant("Another")
        for place, line in enumerate(node.body):
            match line:
                case ast.Assign(targets=[ast.Name() as target], value=value):
                    node.body[place] = ast.AnnAssign(target, ast.Constant("Another"), value, 1)
    return ast.unparse(ast.fix_missing_locations(tree))


def logging_more(text: str) -> str:
    """A message at the start of every function that has an argument."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.args.args:
            said = f"_log.info('begins: %s', {node.args.args[0].arg})"
            node.body[ast.get_docstring(node) is not None : 0] = ast.parse(said).body
    logger = ast.parse("import logging\n_log = logging.getLogger(__name__)").body
    later = [isinstance(one, ast.ImportFrom) for one in tree.body].index(True) + 1
    tree.body[later:later] = logger
    return ast.unparse(ast.fix_missing_locations(tree))


EDITS = [redocumented, redescribed, reannotated, logging_more, commented]


@pytest.mark.parametrize("paper", PAPERS)
def test_what_computes_nothing_leaves_the_digest(package, paper):
    """All edits at once, each of which changes files."""
    texts = {file: file.read_text() for file in counted(package, paper)}
    for edit in EDITS:
        before = {file: reformatted(text) for file, text in texts.items()}
        texts = {file: edit(text) for file, text in before.items()}
        said = [file for file in texts if texts[file] != before[file]]
        assert len(said) > (0 if edit is redescribed else len(texts) // 2)
    assert changed(package, paper, texts) == shipped(package, paper)


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
def test_what_may_compute_changes_the_digest(package, more):
    (paper, *_) = PAPERS
    file = package / "lab" / "training.py"
    before = "import logging\n_log = logging.getLogger(__name__)\n" + file.read_text()
    assert changed(package, paper, {file: before}) == shipped(package, paper)
    assert changed(package, paper, {file: f"{before}\n{more}\n"}) != shipped(package, paper)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
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
def test_which_annotations_and_descriptions_count(one, other, same):
    found = [ast.dump(computing_tree(ast.parse(text))) for text in (one, other)]
    assert (found[0] == found[1]) is same


def mutants(text: str, sample: random.Random, count: int) -> Iterator[str]:
    """A module with another constant, or another operator, at a few places."""
    tree = ast.parse(text)
    idle = {id(part) for one in ast.walk(tree) for part in _idle_parts(one)}
    nodes = [one for one in ast.walk(tree) if id(one) not in idle]
    changes = [(one, *change) for one in nodes if (change := _other(one))]
    for node, name, other in sample.sample(changes, min(count, len(changes))):
        before = getattr(node, name)
        setattr(node, name, other)
        yield ast.unparse(tree)
        setattr(node, name, before)


def _idle_parts(node: ast.AST) -> Iterator[ast.AST]:
    """What of a node may compute nothing: docstrings, descriptions, annotations."""
    match node:
        case ast.Expr(value=part):
            yield part
        case ast.keyword(arg="description", value=part):
            yield part
        case ast.arg(annotation=part) | ast.FunctionDef(returns=part) if part is not None:
            yield from ast.walk(part)
        case ast.AnnAssign(annotation=part):
            yield from ast.walk(part)


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
def test_another_constant_or_operator_in_any_file_changes_the_digest(package, paper):
    before, tried = shipped(package, paper), 0
    for file in counted(package, paper):
        for text in mutants(file.read_text(), random.Random(file.name), 2):
            assert changed(package, paper, {file: text}) != before, (file, text)
            tried += 1
    assert tried > len(counted(package, paper))
    assert changed(package, paper, {package / "store" / "records.py": "OTHER = 1"}) == before


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


MOVES = {
    "ahn2023": {
        "lab/seeds.py": "lab/drawing/generators.py",
        "from .seeds": "from .drawing.generators",
        "lab.seeds": "lab.drawing.generators",
    },
    "chen2024": {
        "papers/chen2024/task.py": "papers/chen2024/sequences.py",
        "chen2024.task": "chen2024.sequences",
    },
    "wang2024": {
        "papers/wang2024/sampling.py": "papers/wang2024/deep/drawing.py",
        "wang2024.sampling": "wang2024.deep.drawing",
    },
    "yang2025": {
        "lab/training.py": "lab/loop.py",
        "from .training": "from .loop",
        "lab.training": "lab.loop",
    },
}
"""Of each paper a file that is moved, and how imports of it are written then."""


@contextmanager
def moved(package: Path, moves: dict[str, str]) -> Iterator[Path]:
    """Moves a file, which is given, and puts all back."""
    kept = package.parent / "kept"
    shutil.copytree(package, kept)
    (old, new), *spelt = moves.items()
    (package / new).parent.mkdir(exist_ok=True)
    (package / new).with_name("__init__.py").touch()
    (package / old).rename(package / new)
    for file in [*package.rglob("*.py"), *package.rglob("*.pyi")]:
        text = file.read_text()
        for before, after in spelt:
            text = text.replace(before, after)
        file.write_text(text)
    try:
        yield package / new
    finally:
        shutil.rmtree(package)
        kept.rename(package)


@pytest.mark.parametrize("paper", MOVES)
def test_a_file_that_is_moved_or_renamed_leaves_the_digest(package, paper):
    module = Module(f"reproaudit.papers.{paper}", package / "papers" / paper)
    before = closure_of(module)
    with moved(package, MOVES[paper]) as file:
        assert closure_of(module) == before
        mutant = next(mutants(file.read_text(), random.Random(paper), 1))
        assert changed(package, paper, {file: mutant}) != before.digest
    assert closure_of(module) == before


def of_files(folder: Path, **files: str) -> str:
    for name, text in files.items():
        file = folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return closure_of(Module("jones2021", folder / "jones2021.py", importable=False)).digest


TWINS = {
    "jones2021": "import left, right\nz = left.draw() + 2 * right.draw()\n",
    "left": "def draw(): return 1\n",
    "right": "def draw(): return 1\n",
}


@pytest.mark.parametrize(
    "text",
    [
        "import left, right\nz = left.draw() + 2 * left.draw()\n",
        "import left, right\nz = right.draw() + 2 * left.draw()\n",
        "import left, right as pow\nz = left.draw() + 2 * pow.draw()\n",
    ],
)
def test_which_of_two_equal_files_is_used_counts(tmp_path, text):
    assert of_files(tmp_path, **TWINS) != of_files(tmp_path, **{**TWINS, "jones2021": text})


@pytest.mark.parametrize(
    "reading",
    [
        "from shared import one\nz = one.X",
        "import shared\nz = shared.one.X",
        "from shared import *\nz = one.X",
    ],
)
def test_a_name_that_another_file_reads_counts(tmp_path, reading):
    paper = {"jones2021": reading, "left": "X = 1\n", "right": "X = 2\n"}
    one = of_files(tmp_path, **paper, shared="import left as one\nimport right as two\n")
    other = of_files(tmp_path, **paper, shared="import left as two\nimport right as one\n")
    assert one != other


def test_a_users_files_may_have_other_names_and_places(tmp_path):
    renamed = {
        "jones2021": "import low\nfrom deep import r\nz = low.draw() + 2 * r.draw()\n",
        "low": TWINS["left"],
        "deep/r": TWINS["right"],
    }
    assert of_files(tmp_path / "a", **TWINS) == of_files(tmp_path / "b", **renamed)
    renamed["deep/r"] = "def draw(): return 2\n"
    assert of_files(tmp_path / "a", **TWINS) != of_files(tmp_path / "b", **renamed)


def test_a_users_paper_is_its_file_and_what_it_imports_of_its_folder(tmp_path):
    before = users(tmp_path / "a")
    assert users(tmp_path / "elsewhere") == before
    counts = {
        user for user in USERS if users(tmp_path / "a", **{user: USERS[user] + "\nz = 1"}) != before
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
def test_a_module_that_cannot_be_read_is_one_line(tmp_path, text, says):
    with pytest.raises(SpecError, match=says):
        users(tmp_path, **{"near.py": text})
    with pytest.raises(SpecError, match="no such module"):
        closure_of(Module("absent", tmp_path / "absent.py", importable=False))


@pytest.mark.parametrize(
    ("source", "helper", "wanted"),
    [
        ("import numpy as np", "", False),
        ("from reproaudit.lab import Experiment, train", "", False),
        ("import torch", "", True),
        ("def measure():\n    from torch import nn", "", True),
        ("from .near import x", "import torchvision", True),
        ("from reproaudit.lab import torch_generator", "", True),
    ],
)
def test_a_card_is_for_a_module_that_imports_torch(tmp_path, source, helper, wanted):
    (tmp_path / "mine.py").write_text(f"{source}\n")
    (tmp_path / "near.py").write_text(f"{helper}\n")
    assert imports_torch(Module("mine", tmp_path / "mine.py", importable=False)) is wanted


NUMPY_ALONE = set(LEFT_OUT) - {"ahn2023", "chen2024", "wang2024", "yang2025"}
"""Papers whose module computes without torch."""


@pytest.mark.parametrize("paper", PAPERS)
def test_each_shipped_paper_with_torch_may_use_a_card(paper):
    wanted = paper not in NUMPY_ALONE
    module = Module(f"reproaudit.papers.{paper}", PACKAGE / "papers" / paper)
    assert imports_torch(module) is wanted
