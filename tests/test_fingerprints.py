from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from cells import TOY, cell
from reproaudit.cell import canonical_settings
from reproaudit.errors import SpecError
from reproaudit.running.fingerprint import code_closure, fingerprint, package_versions, versions

FILES = {
    "ours/__init__.py": "",
    "ours/base.py": "ONE = 1\n",
    "ours/deep/__init__.py": "from ..base import ONE\n",
    "ours/deep/attention.py": "from . import onset\n",
    "ours/deep/onset.py": "import numpy\n",
    "ours/deep/unused.py": "",
    "ours/unused.py": "",
    "ours/papers/__init__.py": "",
    "ours/papers/smith2020.py": "from ours.deep import attention\n",
    "ours/papers/wide2021/__init__.py": "",
    "ours/papers/wide2021/model.py": "from ...deep.onset import x\n",
    "audits/jones2021.py": "def f():\n    import helper\nfrom .other import y\nimport ours.base\n",
    "audits/helper.py": "",
    "audits/other.py": "",
    "audits/unrelated.py": "this is not Python\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def hashed(tree: Path, module: str) -> str:
    return code_closure(tree / module, [tree / "ours", tree / "audits"]).digest


@pytest.mark.parametrize(
    ("module", "depends_on"),
    [
        (
            "ours/papers/smith2020.py",
            {
                "ours/papers/smith2020.py",
                "ours/papers/__init__.py",
                "ours/__init__.py",
                "ours/base.py",
                "ours/deep/__init__.py",
                "ours/deep/attention.py",
                "ours/deep/onset.py",
            },
        ),
        (
            "ours/papers/wide2021",
            {
                "ours/papers/wide2021/__init__.py",
                "ours/papers/wide2021/model.py",
                "ours/papers/__init__.py",
                "ours/__init__.py",
                "ours/base.py",
                "ours/deep/__init__.py",
                "ours/deep/onset.py",
            },
        ),
        (
            "audits/jones2021.py",
            {
                "audits/jones2021.py",
                "audits/helper.py",
                "audits/other.py",
                "ours/__init__.py",
                "ours/base.py",
            },
        ),
    ],
)
def test_code_is_what_is_imported_of_ours_and_nothing_else(
    tree: Path, module: str, depends_on: set[str]
) -> None:
    before = hashed(tree, module)
    changed = set()
    for name in FILES:
        path = tree / name
        path.write_text(FILES[name] + "print(1)\n")
        if hashed(tree, module) != before:
            changed.add(name)
        path.write_text(FILES[name])
    assert changed == depends_on
    assert hashed(tree, module) == before


def test_code_is_the_same_in_another_place(tree: Path, tmp_path: Path) -> None:
    before = hashed(tree, "ours/papers/smith2020.py")
    (tmp_path / "ours").rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "moved").rename(tmp_path / "elsewhere" / "ours")
    moved = tmp_path / "elsewhere" / "ours"
    assert code_closure(moved / "papers" / "smith2020.py", [moved]).digest == before


def test_a_module_outside_the_roots_has_its_own_folder_as_one(tree: Path) -> None:
    before = code_closure(tree / "audits" / "jones2021.py", [tree / "ours"]).digest
    (tree / "audits" / "helper.py").write_text("x = 2\n")
    assert code_closure(tree / "audits" / "jones2021.py", [tree / "ours"]).digest != before


def test_bad_python_is_named_with_its_line(tree: Path) -> None:
    (tree / "ours/deep/onset.py").write_text("x = 1\ndef (:\n")
    with pytest.raises(SpecError, match=r"onset\.py:2: this module is not valid Python"):
        hashed(tree, "ours/papers/smith2020.py")
    (tree / "ours/deep/onset.py").write_bytes(b"\0")
    with pytest.raises(SpecError, match=r"onset\.py:1: this module is not valid Python"):
        hashed(tree, "ours/papers/smith2020.py")
    with pytest.raises(SpecError, match="no such module"):
        hashed(tree, "ours/papers/absent.py")


def test_the_toy_paper_depends_on_the_training_loop() -> None:
    import reproaudit

    package = Path(reproaudit.__file__).parent
    assert code_closure(TOY, [package]).digest != code_closure(TOY, []).digest


BASE: dict[str, Any] = {"code": "abc", "versions": {"numpy": "2.0"}, "data": {"digits": "1"}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((cell(seed=1), BASE), (cell(seed=2), BASE)),
        ((cell(rate=0.1), BASE), (cell(rate=0.2), BASE)),
        ((cell(sizes=[1, 2]), BASE), (cell(sizes=[2, 1]), BASE)),
        ((cell(flag=True), BASE), (cell(flag=1), BASE)),
        ((cell("descent"), BASE), (cell("together"), BASE)),
        ((cell(), BASE), (cell(), {**BASE, "code": "abd"})),
        ((cell(), BASE), (cell(), {**BASE, "versions": {"numpy": "2.1"}})),
        ((cell(), BASE), (cell(), {**BASE, "data": {"digits": "2"}})),
    ],
)
def test_what_can_change_a_number_makes_another_cell(one: Any, other: Any) -> None:
    assert fingerprint(one[0], **one[1]) != fingerprint(other[0], **other[1])
    assert fingerprint(one[0], **one[1]) == fingerprint(one[0], **one[1])


def test_the_same_value_written_otherwise_is_the_same_cell() -> None:
    assert fingerprint(cell(steps=40, sizes=[3]), **BASE) == fingerprint(
        cell(steps=40.0, sizes=(3,)), **BASE
    )


def test_device_is_part_of_the_versions() -> None:
    assert versions("cpu") != versions("cuda")
    names = {"python", "device", "torch", "numpy", "scipy", "numba", "llvmlite"}
    assert names == versions("cpu").keys()


def test_versions_hold_what_the_paper_imports_beside() -> None:
    more = versions("cpu", {"sklearn", "numpy", "pydantic", "no_such_package"})
    assert more.keys() - versions("cpu").keys() == {"scikit-learn", "no_such_package"}
    assert more["scikit-learn"] == metadata.version("scikit-learn")
    assert more["no_such_package"] == "absent"


@pytest.mark.parametrize(
    ("imported", "installed"),
    [("sklearn", "scikit-learn"), ("PIL", "pillow"), ("cv2", "opencv-python")],
)
def test_a_package_is_named_as_it_is_installed(imported: str, installed: str) -> None:
    assert package_versions([imported]).keys() - package_versions().keys() == {installed}


def test_packages_that_compute_nothing_have_no_version() -> None:
    nothing = ["reproaudit", "jaxtyping", "pydantic", "typing_extensions", "beartype"]
    assert package_versions(nothing) == package_versions()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_settings_that_cannot_be_compared_are_refused(value: Any) -> None:
    with pytest.raises(SpecError, match="cannot be compared"):
        canonical_settings({"rate": value})
