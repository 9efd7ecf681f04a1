"""No two files import each other, and no room but its own knows a kind of check."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import grimp
import pytest

import reproaudit
from reproaudit import checks
from reproaudit.checks import NUMBERS


def circles(graph: grimp.ImportGraph) -> Iterator[tuple[str, str]]:
    """Modules that import each other, directly or through others."""
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            if graph.chain_exists(importer=other, imported=module):
                yield module, other


def test_no_file_imports_itself_through_others():
    assert list(circles(grimp.build_graph("reproaudit"))) == []


def test_the_house_has_few_rooms():
    rooms = [
        path
        for path in Path(reproaudit.__file__).parent.iterdir()
        if path.is_dir() and path.name != "__pycache__"
    ]
    assert len(rooms) <= 20


KINDS = tuple(checks.KINDS.values())
NAMES = {*NUMBERS, *(get_args(kind.model_fields["kind"].annotation)[0] for kind in KINDS)}
"""What a kind or one of its numbers is called in data."""


def known_of_kinds(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Where code knows a kind of check: imports its module, says its class, or asks for a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            modules = [one.name for one in node.names]
            if isinstance(node, ast.ImportFrom):
                modules = [f"{node.module}.{module}" for module in modules] + [node.module or ""]
            below = [module for module in modules if module.startswith("reproaudit.checks.")]
            yield from ((node.lineno, one) for one in below if one.rsplit(".", 1)[1] not in ASKED)
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in {kind.__name__ for kind in KINDS}:
                yield node.lineno, name
        elif isinstance(node, ast.Dict):
            said = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            names = [one for one in said if one in NAMES]
            yield from ((node.lineno, one) for one in names if len(names) > 1)
        elif isinstance(node, ast.Compare | ast.Match):
            parts = [*ast.walk(node)]
            if any(
                isinstance(part, ast.Attribute) and part.attr in ("kind", "name") for part in parts
            ):
                said = [part.value for part in parts if isinstance(part, ast.Constant)]
                yield from ((node.lineno, one) for one in said if one in NAMES)


ASKED = frozenset(checks.__all__)
"""What the package gives: any room may import it."""


def test_no_room_but_checks_knows_a_kind():
    root = Path(reproaudit.__file__).parent
    found = {
        f"{file.relative_to(root)}:{line}": name
        for file in sorted(root.rglob("*.py"))
        if file.relative_to(root).parts[0] not in ("checks", "stats", "papers")
        for line, name in known_of_kinds(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert not found


@pytest.mark.parametrize(
    "code",
    [
        "from reproaudit.checks.beats import Beats",
        "from reproaudit.checks import beats",
        "import reproaudit.checks.beats",
        "isinstance(check, checks.Beats)",
        "found = check.kind in ('stages', 'grows_like')",
        "found = 'law' == one.condition.name",
        "after = {'ratio': ' times', 'beats': ''}.get(one.name)",
        "match check.kind:\n    case 'beats': pass",
    ],
)
def test_a_line_that_knows_a_kind_is_found(code):
    assert [*known_of_kinds(ast.parse(code))]
    assert not [*known_of_kinds(ast.parse("from reproaudit.checks import Kind\nkind == 'beats'"))]


def test_no_answer_is_built_without_its_validation():
    """What a model holds was validated as a whole: the judge changes none that is published."""
    root = Path(reproaudit.__file__).parent
    unvalidated = [
        f"{file.relative_to(root)}:{node.lineno}"
        for file in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and (
            node.attr == "model_construct"
            or (node.attr == "model_copy" and file.is_relative_to(root / "judge"))
        )
    ]
    assert not unvalidated


MOST_LINES = 60


def functions() -> Iterator[tuple[str, int]]:
    """Every function of the tool, not of papers: its place, and its lines with the docstring."""
    root = Path(reproaudit.__file__).parent
    for file in root.rglob("*.py"):
        if not file.is_relative_to(root / "papers"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    lines = (node.end_lineno or 0) - node.lineno + 1
                    yield f"{file.relative_to(root)}:{node.lineno} {node.name}", lines


def test_a_function_fits_on_a_screen():
    long = {place: lines for place, lines in functions() if lines > MOST_LINES}
    assert not long
