"""How many small faults in the engine the tests notice: mutants, drawn by a seed.

A mutant changes one operator, comparison, number or branch of `checks`, `stats` or `judge`. It is
killed if the engine's tests fail. Run with ``make mutants``. A mutant that lives is printed with
its place: it is a gap in the tests, or changes nothing that can be observed.

The tests are collected once, and run once to see which functions each calls. For every mutant the
process forks: the function gets the changed code, and the tests that call it run, the quickest
first. What is computed while modules are imported is changed in a copy of the project instead, for
which every test runs.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import gc
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "reproaudit"
ROOMS = ("checks", "stats", "judge")
MUTANTS, SEED = 300, 2026
PATIENCE = 10
"""A mutant that makes the tests so many times slower is killed: it goes on for ever."""
SLOWEST = 400
"""Seconds after which a mutant in a copy of the project is killed."""
ARGUMENTS = ("-q", "-p", "no:cacheprovider", "--capture=no", "tests/engine")

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


def changed(place: Place) -> tuple[ast.Module, str]:
    """Return the module's tree with a place changed, and the change in words."""
    tree = ast.parse(place.file.read_text(encoding="utf-8"))
    old = list(ast.walk(tree))[place.node]
    new = mutated(old) or old

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    before = ast.unparse(old).splitlines()[0]
    whole = Change().visit(tree)
    assert isinstance(whole, ast.Module), "a place is no module"
    return ast.fix_missing_locations(whole), f"{before}  →  {ast.unparse(new).splitlines()[0]}"


Function = tuple[str, int, str]
"""The file, first line and name of a function's code."""


def function_of(code: CodeType) -> Function:
    """Return what names a function of these files."""
    return code.co_filename, code.co_firstlineno, code.co_name


def codes_in(whole: CodeType) -> Iterator[CodeType]:
    """Yield the code of every function of a module or class, but not of functions inside them."""
    for one in whole.co_consts:
        if isinstance(one, CodeType):
            is_class = not one.co_flags & OPTIMIZED
            yield from codes_in(one) if is_class else (one,)


OPTIMIZED = 1
"""The flag of code that belongs to a function; that of a class has none."""


def changed_function(place: Place, tree: ast.Module) -> tuple[Function, CodeType] | None:
    """Return the function that a changed module changes; None if its imports compute otherwise."""
    file = str(place.file)
    before = compile(place.file.read_text(encoding="utf-8"), file, "exec")
    old = {function_of(one): one for one in codes_in(before)}
    differ = [one for one in codes_in(compile(tree, file, "exec")) if one != old[function_of(one)]]
    has_defaults = differ and _outside_bodies(place)
    return None if len(differ) != 1 or has_defaults else (function_of(differ[0]), differ[0])


def _outside_bodies(place: Place) -> bool:
    """Tell whether a place is in no function's body, as in the default of an argument."""
    tree = ast.parse(place.file.read_text(encoding="utf-8"))
    node = list(ast.walk(tree))[place.node]
    bodies = (one.body for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
    return all(inside is not node for body in bodies for each in body for inside in ast.walk(each))


class Loop:
    """A test run that, in place of running the tests, tries mutants on them."""

    def __init__(self, drawn: Sequence[Place], tell: Callable[[str], None]) -> None:
        self.drawn = drawn
        self.tell = tell
        self.killed = 0
        self.has_failed = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant: pytest's hook."""
        gc.unfreeze()  # so that functions and caches are found
        items = session.items
        known = {str(one.file) for one in self.drawn}
        calls, seconds = self.in_child(lambda: self.traced(items, known))
        if not self.in_child(lambda: self.all_pass(items)):
            raise pytest.UsageError("the engine's tests fail without any mutant")
        for number, place in enumerate(self.drawn, 1):
            tree, change = changed(place)
            found = changed_function(place, tree)
            calling = [one for one in items if found and found[0] in calls[one.nodeid]]
            calling.sort(key=lambda one: seconds[one.nodeid])
            if found and calling:
                patience = 5 + PATIENCE * sum(seconds[one.nodeid] for one in calling)
                passes = functools.partial(self.passes_changed, *found, calling)
                lives = self.in_child(passes, patience)
            else:
                lives = survives_copied(place, tree)
            self.killed += not lives
            if lives:
                self.tell(f"{place.file.relative_to(SOURCE)}:{place.line}: {change}")
            if number % 25 == 0:
                self.tell(f"{self.killed} of {number} killed")
        return True

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure: pytest's hook."""
        self.has_failed |= report.failed

    def in_child(self, compute: Callable[[], object], seconds: float | None = None) -> Any:
        """Return what a forked process computes; None if it takes longer, or a signal ends it."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            signal.alarm(int(seconds or 0))
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            try:
                with os.fdopen(write, "wb") as file:
                    pickle.dump(compute(), file)
                os._exit(0)
            finally:
                os._exit(1)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            sent = file.read()
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise RuntimeError("a mutant could not be tried")
        return pickle.loads(sent) if sent else None

    def traced(
        self, items: Sequence[pytest.Item], known: Iterable[str]
    ) -> tuple[dict[str, set[Function]], dict[str, float]]:
        """Return, by test, which functions it calls, and the seconds that it takes."""
        calls: dict[str, set[Function]] = {}
        seconds = {}
        for place, item in enumerate(items):
            mine = calls.setdefault(item.nodeid, set())

            def note(frame: FrameType, event: str, _: object, mine: set[Function] = mine) -> None:
                if event == "call" and frame.f_code.co_filename in known:
                    mine.add(function_of(frame.f_code))

            clear_caches()
            began = time.monotonic()
            sys.setprofile(note)
            self.run(item, items[place + 1 : place + 2])
            sys.setprofile(None)
            seconds[item.nodeid] = time.monotonic() - began
        return calls, seconds

    def passes_changed(
        self, function: Function, code: CodeType, items: Sequence[pytest.Item]
    ) -> bool:
        """Tell whether tests pass with a function's code changed."""
        clear_caches()
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and function_of(one.__code__) == function:
                one.__code__ = code
        return self.all_pass(items)

    def all_pass(self, items: Sequence[pytest.Item]) -> bool:
        """Tell whether tests pass, up to the first that fails."""
        for item in items:
            self.run(item, ())
            if self.has_failed:
                return False
        return True

    def run(self, item: pytest.Item, following: Sequence[pytest.Item]) -> None:
        """Run a test, as pytest does."""
        after = following[0] if following else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)


def clear_caches() -> None:
    """Forget what functions keep of earlier calls."""
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):
            one.cache_clear()


def survives_copied(place: Place, tree: ast.Module) -> bool:
    """Tell whether the engine's tests pass in a copy of the project with a changed module."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("src", "tests", "benchmarks", "audits", "reports", "docs", "pyproject.toml"):
            whole = ROOT / part
            copied = shutil.copytree if whole.is_dir() else shutil.copy
            copied(whole, folder / part)
        target = folder / place.file.relative_to(ROOT)
        target.write_text(ast.unparse(tree), encoding="utf-8")
        path = {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [sys.executable, "-c", "from benchmarks import mutants; mutants.test_once()"],
                cwd=folder,
                env={**os.environ, **path},
                capture_output=True,
                timeout=SLOWEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def test_once() -> None:
    """Run the engine's tests, up to the first that fails, and exit as pytest does."""
    prepare()
    raise SystemExit(pytest.main([*ARGUMENTS, "-x"]))


def prepare() -> None:
    """Load no plugins, and have hypothesis look for a failure, not for its simplest form."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile("mutants", phases=phases, database=None)
    hypothesis.settings.load_profile("mutants")


def main() -> None:
    """Draw mutants, test each, and print those that live and the share that was killed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--mutants", type=int, default=MUTANTS)
    asked.add_argument("--seed", type=int, default=SEED)
    options = asked.parse_args()
    files = sorted(one for room in ROOMS for one in (SOURCE / room).glob("*.py"))
    every = [place for file in files for place in places(file)]
    drawn = random.Random(options.seed).sample(every, min(options.mutants, len(every)))
    prepare()
    loop = Loop(drawn, lambda said: print(said, file=sys.__stdout__, flush=True))
    pytest.main([*ARGUMENTS], plugins=[loop])
    print(f"{loop.killed} of {len(drawn)} killed ({loop.killed / len(drawn):.0%}), of {len(every)}")


if __name__ == "__main__":
    main()
