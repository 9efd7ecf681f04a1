"""The hash of a paper's code over small sources: what leaves it as it is, and what changes it."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from reproaudit.errors import SpecError
from reproaudit.running.code_hash import code_closure

SHARED = """
import math
import numpy as np
from pydantic import BaseModel

LIMIT = 3

class Kept(BaseModel):
    size: int = LIMIT

def used(x):
    return helper(x) + 1

def helper(x):
    return np.sqrt(x)

def unused(x):
    return math.sin(x)
"""

PAPER = '''"""A paper."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from ours import shared
from ours.shared import used

if TYPE_CHECKING:
    from collections.abc import Sequence

RATE = 0.5


def measure(x: float, n: int = 3) -> float:
    """Measures."""
    total: float = 0.0
    for _ in range(n):
        total += RATE * used(x)
    return np.log(total)


EXPERIMENTS = {"one": measure, "two": shared.LIMIT}
'''


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def hashed(folder: Path, paper: str = PAPER, shared: str = SHARED, **more: str) -> str:
    write(
        folder,
        {
            "ours/__init__.py": "",
            "ours/shared.py": shared,
            "ours/papers/__init__.py": "",
            "ours/papers/smith2020.py": paper,
            **{name.replace("__", "/") + ".py": text for name, text in more.items()},
        },
    )
    return code_closure(folder / "ours/papers/smith2020.py", [folder / "ours"]).digest


def of(folder: Path, paper: str, **more: str) -> str:
    return hashed(folder, dedent(paper), **more)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A paper."""', '# A comment\n"""Another text,\nover two lines."""'),
        ('    """Measures."""\n', ""),
        ("RATE = 0.5\n", 'RATE = 0.5\n"""How fast."""\n'),
        (
            "import numpy as np\nfrom ours import shared\n",
            "from ours import shared\nimport numpy as np\n",
        ),
        ("import numpy as np\n", "import numpy\n"),
        ("from __future__ import annotations\n", ""),
        ("import Sequence", "import Mapping, Sequence"),
        ("    from collections.abc import Sequence\n", "    import torch\n"),
        ("    return np.log(total)\n", "    pass\n    return np.log(total)\n"),
        ("from ours.shared import used", "from ..shared import used"),
        ('"one"', "'one'"),
        ("EXPERIMENTS =", 'if __name__ == "__main__":\n    print(RATE)\nEXPERIMENTS ='),
    ],
)
def test_what_computes_nothing_leaves_the_hash(tmp_path: Path, old: str, new: str) -> None:
    assert old in PAPER
    edited = PAPER.replace(old, new)
    if "import numpy\n" in edited:
        edited = edited.replace("np.", "numpy.")
    assert hashed(tmp_path, edited) == hashed(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.5", "0.25"),
        ("0.5", "5"),
        ("0.0", "0"),
        ("n: int = 3", "n: int = 4"),
        ("n: int = 3", "n: int"),
        ("RATE * used", "RATE + used"),
        ("total +=", "total -="),
        ("np.log", "np.exp"),
        ("used(x)", "used(n)"),
        ("    return np.log(total)\n", ""),
        ("    return np.log(total)", "        return np.log(total)"),
        ("import numpy as np", "import torch as np"),
        ("import numpy as np", "import torch\nimport numpy as np"),
        ("import numpy as np", "import numpy.random\nimport numpy as np"),
        ("import used", "import helper as used"),
        ("shared.LIMIT", "shared.used"),
        ("shared.LIMIT", "shared"),
        ('"one"', '"other"'),
        ('"one"', 'f"one"'),
        ("def measure", "@np.vectorize\ndef measure"),
        ('    """Measures."""\n', '    print("""Measures.""")\n'),
        ("for _ in range(n)", "for _ in range(n, )[1:]"),
        ("EXPERIMENTS =", "RATE = 0.7\nEXPERIMENTS ="),
        ("EXPERIMENTS =", "import ours.other\nEXPERIMENTS ="),
    ],
)
def test_what_computes_changes_the_hash(tmp_path: Path, old: str, new: str) -> None:
    assert old in PAPER
    other = {"ours__other": "print('loaded')"}
    assert hashed(tmp_path, PAPER.replace(old, new), **other) != hashed(tmp_path, **other)


REFERENCES = {
    "bare module": "from ours import shared\nEXPERIMENTS = {'a': vars(shared)}",
    "whole import": "from ours.shared import *\nEXPERIMENTS = {'a': unused}",
    "bare package": "import ours\nimport ours.shared\nEXPERIMENTS = {'a': ours}",
    "in a function": "def f():\n    from ours import shared\n    shared.unused\nEXPERIMENTS = f",
    "attributes": "import ours.shared\nEXPERIMENTS = ours.shared.unused",
    "passed on": "from ours.facade import renamed\nEXPERIMENTS = renamed",
    "forward": "from ours.shared import unused\nEXPERIMENTS = {'a': 'unused'}",
    "comprehension": (
        "from ours.shared import unused\n"
        "def f(n):\n    [unused for unused in n]\n    return unused\nEXPERIMENTS = f"
    ),
    "first iterable": (
        "from ours.shared import unused\n"
        "def f(n):\n    return [unused for unused in unused(n)]\nEXPERIMENTS = f"
    ),
    "default": "from ours.shared import unused\ndef f(unused=unused): ...\nEXPERIMENTS = f",
    "in a class": (
        "from ours.shared import unused\nclass A:\n    unused = unused\nEXPERIMENTS = A"
    ),
    "method": (
        "from ours.shared import unused\n"
        "class A:\n    unused = 1\n    def f(self): return unused\nEXPERIMENTS = A"
    ),
    "global": (
        "from ours.shared import unused\n"
        "def f():\n    def g():\n        global unused\n        return unused\n"
        "    unused = g\nEXPERIMENTS = f"
    ),
    "conditional": (
        "try:\n    from ours.shared import unused\nexcept ImportError:\n    unused = None\n"
        "EXPERIMENTS = unused"
    ),
    "walrus": (
        "from ours.shared import unused\n"
        "def f(n):\n    return [(n := unused) for _ in n]\nEXPERIMENTS = f"
    ),
}


@pytest.mark.parametrize("paper", REFERENCES.values(), ids=REFERENCES)
def test_every_way_to_refer_to_a_definition_is_followed(tmp_path: Path, paper: str) -> None:
    facade = {"ours__facade": "from ours.shared import unused as renamed, used\n"}
    before = hashed(tmp_path, paper, **facade)
    changed = SHARED.replace("math.sin", "math.cos")
    assert hashed(tmp_path, paper, changed, **facade) != before


def test_importing_through_another_module_is_the_same(tmp_path: Path) -> None:
    facade = {"ours__facade": "'Public.'\nfrom ours.shared import Kept, used\n__all__ = ['used']\n"}
    edited = PAPER.replace("from ours.shared import used", "from ours.facade import used")
    assert hashed(tmp_path, edited, **facade) == hashed(tmp_path)


LAZY = """
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ours.shared import used

_PLACES = {"used": "ours.shared", "limit": "ours.limits"}

__all__ = ["limit", "used"]

def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(name)
    value = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value
"""


def test_names_imported_at_first_use_are_followed(tmp_path: Path) -> None:
    limits = {"ours__limits": "print('loaded')\nlimit = 1", "ours__other": "used = 1"}
    edited = PAPER.replace("from ours.shared import used", "from ours.lazy import used")
    before = hashed(tmp_path)
    assert hashed(tmp_path, edited, ours__lazy=LAZY, **limits) == before
    added = LAZY.replace('{"used"', '{"new": "ours.limits", "used"')
    assert hashed(tmp_path, edited, ours__lazy=added, **limits) == before
    moved = LAZY.replace("from ours.shared import used", "from ours.other import used")
    assert hashed(tmp_path, edited, ours__lazy=moved, **limits) != before
    changed = SHARED.replace("helper(x) + 1", "helper(x) + 2")
    assert hashed(tmp_path, edited, changed, ours__lazy=LAZY, **limits) != before


def test_the_experiments_may_be_defined_elsewhere(tmp_path: Path) -> None:
    parts = {"ours__one": "EXPERIMENTS = {'a': 1}", "ours__two": "EXPERIMENTS = {'a': 2}"}
    both = "from ours import one, two\n"
    one = of(tmp_path, both + "from ours.one import EXPERIMENTS", **parts)
    assert of(tmp_path, both + "from ours.two import EXPERIMENTS", **parts) != one


def test_exchanged_code_of_two_modules_is_seen(tmp_path: Path) -> None:
    paper = "from ours import one, two\nEXPERIMENTS = one.f, two.f"
    parts = {"ours__one": "def f(): return 1", "ours__two": "def f(): return 2"}
    other = {"ours__one": parts["ours__two"], "ours__two": parts["ours__one"]}
    assert hashed(tmp_path, paper, **parts) != hashed(tmp_path, paper, **other)


def test_circles_of_references_are_followed(tmp_path: Path) -> None:
    paper = "from ours.one import f\nEXPERIMENTS = f"
    one = "from ours import two\ndef f(n): return two.f(n - 1)"
    two = "from ours import one\ndef f(n): return one.f(n - 1)"
    before = hashed(tmp_path, paper, ours__one=one, ours__two=two)
    assert hashed(tmp_path, paper, ours__one=one, ours__two=two.replace("1", "2")) != before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 'a' 'b'", "x = 'ab'"),
        ("x = u'a'", "x = 'a'"),
        ("x = 0x10, 1_000, 1e3", "x = 16, 1000, 1000.0"),
        ("x = f'{1}' 'a' 'b'", "x = f'{1}ab'"),
        ("def f(x):\n    'text'", "def f(x):\n    pass"),
        ("class A:\n    'text'\n    x: int\n    'what x is'", "class A:\n    x: int"),
        ("if x:\n    ...\nelse:\n    y", "if x:\n    pass\nelse:\n    y"),
    ],
)
def test_the_same_computation_is_written_alike(tmp_path: Path, one: str, other: str) -> None:
    assert of(tmp_path, one) == of(tmp_path, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("x = 'a'", "x = b'a'"),
        ("x = None", "x = ..."),
        ("x = '1'", "x = 1"),
        ("x = 'a', 'b'", "x = 'a)(str 1:b'"),
        ("x = 0.1", "x = 0.1000000000000001"),
        ("x = 1j", "x = 1"),
        ("x = [None]", "x = []"),
        ("x[None]", "x[()]"),
        ("f(a, b)", "f(b, a)"),
        ("f(a=b)", "f(a, b)"),
        ("f(*a)", "f(a)"),
        ("f(**a)", "f(*a)"),
        ("x = {**a}", "x = {a: a}"),
        ("a < b <= c", "a <= b < c"),
        ("not a == b", "a != b"),
        ("a or b and c", "(a or b) and c"),
        ("x = [i for i in a if b]", "x = {i for i in a if b}"),
        ("x = [i for i in a]", "x = [j for i in a]"),
        ("x = f'{a}'", "x = f'{a!r}'"),
        ("x = f'{a:2}'", "x = f'{a:3}'"),
        ("def f(a, /, b): ...", "def f(a, b): ..."),
        ("def f(a, *, b=1): ...", "def f(a, b=1): ..."),
        ("def f(a, *b): ...", "def f(a, **b): ..."),
        ("def f(a):\n    return 1", "def f(a):\n    yield 1"),
        ("def f(a): ...", "async def f(a): ..."),
        ("with a as b: c", "with a: c"),
        ("try: a\nfinally: b", "try: a\nexcept: b"),
        ("while a: b", "if a: b"),
        ("for i in a: break", "for i in a: continue"),
        ("for i in a: b\nelse: c", "for i in a: b\nc"),
        ("match a:\n    case 1: b", "match a:\n    case 2: b"),
        ("match a:\n    case {'k': v, **r}: b", "match a:\n    case {'k': v}: b"),
        ("def f():\n    global x\n    x = 1", "def f():\n    x = 1"),
        ("def f():\n    x: int\n    x", "def f():\n    x"),
        ("class A:\n    from numpy import a", "class A:\n    from numpy import a as b"),
        ("a\nb", "b\na"),
        ("x = a.b", "x = a.c"),
        ("x = a[1:2]", "x = a[1:2:]\ny"),
        ("x = lambda a: a", "x = lambda a, b: a"),
        ("import numpy as np\nx = np.sin", "import scipy as np\nx = np.sin"),
    ],
)
def test_another_computation_is_written_otherwise(tmp_path: Path, one: str, other: str) -> None:
    ast.parse(one), ast.parse(other)
    assert of(tmp_path, one) != of(tmp_path, other)


MAIN = "if __name__ == '__main__': f()\n"
TWO = "from math import pi as a, pi as b\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (MAIN, f"{MAIN}else: f = 1"),
        (f"{MAIN}else: f = 1", f"{MAIN}else: f = 2"),
        (f"__name__ = 'x'\n{MAIN}", "__name__ = 'x'"),
        (f"{TWO}a, b = 1.0, 0.0\nx = a", f"{TWO}a, b = 1.0, 0.0\nx = b"),
        (f"{TWO}def f(a, b): return a", f"{TWO}def f(a, b): return b"),
        (f"{TWO}for a in c: a", f"{TWO}for b in c: a"),
        (f"{TWO}match c:\n    case {{**a}}: a", f"{TWO}match c:\n    case {{**a}}: b"),
        (f"{TWO}try: c\nexcept E as a: a", f"{TWO}try: c\nexcept E as a: b"),
        (
            "from numpy import sin as f\nfrom numpy import cos as f\nx = f(1)",
            "from numpy import cos as f\nfrom numpy import sin as f\nx = f(1)",
        ),
        ("def f(): 1\nfrom numpy import f\nx = f", "from numpy import f\ndef f(): 1\nx = f"),
        ("from numpy import f\nfor f in a: f", "for f in a: f\nfrom numpy import f"),
        ("from numpy import *\nfrom scipy import *", "from scipy import *\nfrom numpy import *"),
        ("from numpy import f\nfrom scipy import *", "from scipy import *\nfrom numpy import f"),
        (
            "TYPE_CHECKING = True\nif TYPE_CHECKING: x = 7",
            "TYPE_CHECKING = True\nif TYPE_CHECKING: x = 8",
        ),
        (
            "typing = A\nif typing.TYPE_CHECKING: x = 7",
            "typing = A\nif typing.TYPE_CHECKING: x = 8",
        ),
        ("'0.1'\nx = float(__doc__)", "'0.2'\nx = float(__doc__)"),
        (
            "import inspect\ndef f(): '0.1'\nx = inspect.getdoc(f)",
            "import inspect\ndef f(): '0.2'\nx = inspect.getdoc(f)",
        ),
    ],
)
def test_code_that_looks_idle_and_is_not_counts(tmp_path: Path, one: str, other: str) -> None:
    """The defect: a module computed something else under the same hash."""
    ast.parse(one), ast.parse(other)
    assert of(tmp_path, one) != of(tmp_path, other)


@pytest.mark.parametrize(
    "acts",
    [
        "x = sub.__dict__.update(K=60)",
        "x: int = setattr(sub, 'K', 60)",
        "sub.K = 60",
        "x = sub.K = 60",
        "@sub.changed\ndef f(): ...",
        "def f(x=sub.change(60)): ...",
        "class A:\n    sub.K = 60",
        "class A(sub.change(60)): ...",
    ],
)
def test_what_loading_a_package_on_the_way_does_counts(tmp_path: Path, acts: str) -> None:
    """The defect: the constants of one module were set while another was loaded."""
    write(tmp_path, {"theirs/sub.py": "K = 1", "theirs/part/deep.py": "from theirs import sub"})
    paper = tmp_path / "smith2020.py"
    paper.write_text("from theirs.part import deep\nEXPERIMENTS = deep")
    digests = set()
    for text in ("", f"from theirs import sub\n{acts}", f"from theirs import sub\n{acts}  # 1"):
        write(tmp_path, {"theirs/__init__.py": "", "theirs/part/__init__.py": text})
        digests.add(code_closure(paper, [tmp_path / "theirs"]).digest)
    assert len(digests) == 2


def test_a_package_on_the_way_may_define_what_it_likes(tmp_path: Path) -> None:
    write(tmp_path, {"theirs/__init__.py": "", "theirs/part/deep.py": "x = 1"})
    paper = tmp_path / "smith2020.py"
    paper.write_text("from theirs.part.deep import x\nEXPERIMENTS = x")
    digests = set()
    for text in ("", "LIMIT = 3\n", "class A:\n    'text'\n    x: int = 1\n    def f(self): g()\n"):
        write(tmp_path, {"theirs/part/__init__.py": text})
        digests.add(code_closure(paper, [tmp_path / "theirs"]).digest)
    assert len(digests) == 1


def test_an_expression_too_deep_to_be_written_counts_by_its_bytes(tmp_path: Path) -> None:
    deep = "x = " + " + ".join(["1"] * 900) + "\nEXPERIMENTS = x"
    assert of(tmp_path, deep) == of(tmp_path, deep)
    assert of(tmp_path, deep) != of(tmp_path, deep.replace("x = 1", "x = 2"))


def test_packages_are_those_that_counted_code_uses(tmp_path: Path) -> None:
    paper = """
        import os
        import numpy as np
        from jaxtyping import Float
        from ours.shared import used

        def measure(x: Float[np.ndarray, "n"]):
            from sklearn.datasets import load_digits
            return used(load_digits), os

        EXPERIMENTS = measure
    """
    hashed(tmp_path, dedent(paper))
    found = code_closure(tmp_path / "ours/papers/smith2020.py", [tmp_path / "ours"])
    assert found.packages == {"jaxtyping", "numpy", "pydantic", "sklearn"}


def test_an_edit_is_seen_at_once_even_of_the_same_length(tmp_path: Path) -> None:
    hashes = {of(tmp_path, f"EXPERIMENTS = {number}") for number in range(10, 40)}
    assert len(hashes) == 30


SAMPLE = '''
"""Every kind of code that Python versions may write otherwise."""
from __future__ import annotations
import math, os.path as p
from dataclasses import dataclass, field
from .shared import used as g

@dataclass(frozen=True)
class A(object, metaclass=type):
    """Doc."""
    x: "list[int]" = field(default_factory=list)
    """What x is."""
    y: float | None = None

    def m(self, *a: int, k=1, **r) -> "A":
        return [self.x[1:2, ..., None], {**r}, (*a, k)]

async def f(a, /, b=-1.5e-300, *, c: int = 0xFF, d) -> None:
    """Doc."""
    async with a as q, b:
        async for i in a:
            await i
    return [j async for j in q if (w := j) > 1 for k in j]

def h(v):
    match v:
        case {"k": 1, **rest} | [A(x=2), *rest] if rest: return rest
        case None | True | -1 | 1 + 2j: pass
        case _ as other: return f"{v!r:>{v}}" f"a{{{v=}" "b" rf"\\d{v:%H}" + other
    try:
        del v[0]
    except* (ValueError, TypeError) as e:
        raise KeyError("é😀\\ud800") from e
    else:
        assert v, b"\\x00"
    finally:
        lambda s, *t, u=1: (yield s if t else u)
    global G; G @= 10 ** 30 // 7 % ~1 << 2
    while not v is None or v not in G: break
    else: n: int
    return math.pi, p.join, g(v), 1_000.0, 2j, "\\N{BULLET}"

EXPERIMENTS = {"a": f, "b": h, "c": {i: -i for i in range(3)}, **{}}
'''


def test_every_python_version_makes_the_same_hash(tmp_path: Path) -> None:
    shared = "def used(x):\n    return x\n"
    write(tmp_path, {"ours/__init__.py": "", "ours/shared.py": shared, "ours/paper.py": SAMPLE})
    found = code_closure(tmp_path / "ours/paper.py", [tmp_path / "ours"])
    assert found.digest == "2e7d2b0e0113735d5b5035b247022760"


# --- expressions of many terms -------------------------------------------------------------------


def sum_of(terms: int) -> str:
    return "+".join(["1"] * terms)


@pytest.mark.parametrize("where", ["RATE = {}\n", "if {}:\n    RATE = 1\n"])
def test_an_expression_of_two_thousand_terms_counts_term_by_term(
    tmp_path: Path, where: str
) -> None:
    found = {hashed(tmp_path, where.format(sum_of(terms))) for terms in (2000, 2000, 2001)}
    assert len(found) == 2


def test_an_expression_beyond_python_is_told_in_one_line(tmp_path: Path) -> None:
    """Python itself cannot compile it, so nobody could run the module."""
    with pytest.raises(SpecError) as caught:
        hashed(tmp_path, f"RATE = {sum_of(30_000)}\n")
    assert caught.value.exit_code == 2
    place = tmp_path / "ours/papers/smith2020.py"
    assert str(caught.value) == (
        f"{place}: found code nested too deeply, such as an expression of 3,000 terms; expected "
        "code that Python can read. Write it in several statements."
    )
