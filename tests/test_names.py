"""One word, one thing: no public name has two meanings, and a docstring says what a thing is."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import reproaudit
from reproaudit import lab

PACKAGE = Path(reproaudit.__file__).parent
PAPERS = PACKAGE / "papers"

TWICE = {"judge_measurements", "Run", "plain"}
"""Of the API and the command line; judged and submitted; a node and a text."""


def public_names(file: Path) -> Iterator[tuple[str, str]]:
    """Each public top-level name that a module defines, with what it is: class, function, value."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            yield node.name, "class"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, "function"
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, "value") for target in targets if isinstance(target, ast.Name))


def defined(files: Iterator[Path]) -> dict[str, dict[str, set[str]]]:
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for file in files:
        for name, kind in public_names(file):
            if not name.startswith("_"):
                found[name][str(file.relative_to(PACKAGE))].add(kind)
    return found


def role_of(place: str) -> str:
    """The module of a paper that a name belongs to.

    The plain and the fast form are one role, and so are experiments and their settings.
    """
    module = place.split("/")[2].removesuffix(".py")
    return {"fast": "model", "plain": "model", "settings": "experiments"}.get(module, module)


SHORT = PACKAGE / "audit" / "short"
"""The short form of an audit, whose models bear the names of what they stand for."""

TOOL = defined(file for file in PACKAGE.rglob("*.py") if not {PAPERS, SHORT} & {*file.parents})
BY_PAPER = {
    folder.name: defined(folder.rglob("*.py")) for folder in PAPERS.iterdir() if folder.is_dir()
}


def test_no_public_name_of_the_tool_is_defined_twice():
    twice = {name: sorted(places) for name, places in TOOL.items() if len(places) > 1}
    assert set(twice) <= TWICE, twice


def is_a_package(slug: str) -> bool:
    """Whether a paper has a module for each role; up to three are a place of their own."""
    return len(list((PAPERS / slug).rglob("*.py"))) > 3


@pytest.mark.parametrize("slug", sorted(filter(is_a_package, BY_PAPER)))
def test_no_paper_defines_a_name_twice_or_one_of_the_tool(slug):
    own = BY_PAPER[slug]
    roles = {name: {role_of(place) for place in places} for name, places in own.items()}
    assert not {name: sorted(own[name]) for name, several in roles.items() if len(several) > 1}
    assert not {name: sorted(TOOL[name]) for name in own.keys() & TOOL.keys()}


def test_a_name_of_several_papers_fills_the_same_role():
    """The same kind of thing, in the module of the same name; a single module has every role."""
    roles = defaultdict(set)
    for slug, own in BY_PAPER.items():
        if not is_a_package(slug):
            continue
        for name, places in own.items():
            for place, kinds in places.items():
                roles[name].add((role_of(place), *sorted(kinds)))
    assert not {name: sorted(role) for name, role in roles.items() if len(role) > 1}


def test_what_a_paper_imports_is_one_documented_place():
    for name in lab.__all__:
        assert getattr(lab, name) is not None
    with pytest.raises(AttributeError, match="attribute generater"):
        getattr(lab, "generater")  # noqa: B009  the misspelt name is the point
