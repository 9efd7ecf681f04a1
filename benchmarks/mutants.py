"""How many small faults in the engine the tests notice: mutants, drawn by a seed.

A mutant changes one operator, comparison, number or branch of `checks`, `stats` or `judge`. It is
killed if the engine's tests fail. Run with ``make mutants``. A mutant that lives is printed with
its place: it is a gap in the tests, or changes nothing that can be observed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("checks", "stats", "judge")
QUICK = ("test_quantities.py", "test_replications.py", "test_checks.py", "test_margins.py")
TESTS = {
    "checks": (*QUICK, "test_kinds.py"),
    "stats": ("test_stats.py", *QUICK),
    "judge": (*QUICK, "test_decisions.py", "test_outcomes.py"),
}
"""The tests that are run before the engine's others, by room: most mutants end there."""
MUTANTS, SEED = 300, 2026
PATIENCE = 10
"""A mutant that makes the tests so many times slower is killed: it goes on for ever."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Place:
    """A node of a module that can be changed: its number in a walk of the module's tree."""

    file: Path
    node: int
    line: int


def mutated(node: ast.AST) -> ast.AST | None:
    """Return a changed copy of a node; None if it has nothing to change."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in COMPARISONS:
        new.ops[0] = COMPARISONS[type(new.ops[0])]()
    elif isinstance(new, ast.BinOp) and type(new.op) in OPERATORS:
        new.op = OPERATORS[type(new.op)]()
    elif isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not | ast.USub):
        return new.operand
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool):
        new.value = not new.value
    elif isinstance(new, ast.Constant) and isinstance(new.value, int | float):
        new.value = new.value + 1
    elif isinstance(new, ast.IfExp):
        new.body, new.orelse = new.orelse, new.body
    elif isinstance(new, ast.If):
        new.test = ast.UnaryOp(ast.Not(), new.test)
    else:
        return None
    return new


def places(file: Path) -> Iterator[Place]:
    """Yield what can be changed in a module: its logic, and no declaration (`declared`)."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kept = {id(inside) for one in ast.walk(tree) for part in declared(one) for inside in part}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in kept and mutated(node) is not None:
            yield Place(file, number, getattr(node, "lineno", 0))


def declared(node: ast.AST) -> Iterator[Iterator[ast.AST]]:
    """Yield what a node declares and does not compute.

    Annotations, `Field(…)`, which belongs to a schema, and what is imported for a type checker.
    """
    for name in ("annotation", "returns"):
        if (part := getattr(node, name, None)) is not None:
            yield ast.walk(part)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Field":
        yield ast.walk(node)
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        yield ast.walk(node)


def with_mutant(place: Place) -> tuple[str, str]:
    """Return the module with a place changed, and the change in words."""
    tree = ast.parse(place.file.read_text(encoding="utf-8"))
    old = list(ast.walk(tree))[place.node]
    new = mutated(old) or old

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    before = ast.unparse(old).splitlines()[0]
    whole = ast.fix_missing_locations(Change().visit(tree))
    return ast.unparse(whole), f"{before}  →  {ast.unparse(new).splitlines()[0]}"


def survives(folder: Path, place: Place, text: str, timeout: float | None = None) -> bool:
    """Tell whether the engine's tests pass with a changed module, within a time in seconds."""
    target = folder / place.file.relative_to(ROOT)
    target.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    first = (f"tests/engine/{name}" for name in TESTS[place.file.parent.name])
    path = {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *first, "tests/engine"],
            cwd=folder,
            env={**os.environ, **path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        shutil.copy(place.file, target)
    return done.returncode == 0


def main() -> None:
    """Draw mutants, test each, and print those that live and the share that was killed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--mutants", type=int, default=MUTANTS)
    asked.add_argument("--seed", type=int, default=SEED)
    options = asked.parse_args()
    source = ROOT / "src" / "reproaudit"
    files = sorted(one for room in ROOMS for one in (source / room).glob("*.py"))
    every = [place for file in files for place in places(file)]
    drawn = random.Random(options.seed).sample(every, min(options.mutants, len(every)))
    killed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("src", "tests", "benchmarks", "audits", "reports", "docs", "pyproject.toml"):
            whole = ROOT / part
            copied = shutil.copytree if whole.is_dir() else shutil.copy
            copied(whole, folder / part)
        began = time.monotonic()
        if not survives(folder, every[0], every[0].file.read_text(encoding="utf-8")):
            raise SystemExit("the engine's tests fail without any mutant")
        timeout = PATIENCE * (time.monotonic() - began)
        for number, place in enumerate(drawn, 1):
            text, change = with_mutant(place)
            if survives(folder, place, text, timeout):
                print(f"{place.file.relative_to(source)}:{place.line}: {change}", flush=True)
            else:
                killed += 1
            if number % 25 == 0:
                print(f"{killed} of {number} killed", file=sys.stderr, flush=True)
    print(f"{killed} of {len(drawn)} killed ({killed / len(drawn):.0%}), of {len(every)} places")


if __name__ == "__main__":
    main()
