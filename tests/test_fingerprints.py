from importlib import metadata
from typing import Any

import pytest

from cells import cell
from reproaudit.cell import canonical_settings
from reproaudit.errors import SpecError
from reproaudit.store.code import COMPUTING_NOTHING, fingerprint, versions

BASE: dict[str, Any] = {"code": "abc", "versions": {"numpy": "2.0"}, "data": {"digits": "1"}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((cell(seed=1), BASE), (cell(seed=2), BASE)),
        ((cell(rate=0.1), BASE), (cell(rate=0.2), BASE)),
        ((cell(sizes=[1, 2]), BASE), (cell(sizes=[2, 1]), BASE)),
        ((cell(flag=True), BASE), (cell(flag=1), BASE)),
        ((cell("descent"), BASE), (cell("broken"), BASE)),
        ((cell(), BASE), (cell(), {**BASE, "code": "abd"})),
        ((cell(), BASE), (cell(), {**BASE, "versions": {"numpy": "2.1"}})),
        ((cell(), BASE), (cell(), {**BASE, "data": {"digits": "2"}})),
    ],
)
def test_what_can_change_a_number_makes_another_cell(one, other):
    assert fingerprint(one[0], **one[1]) != fingerprint(other[0], **other[1])
    assert fingerprint(one[0], **one[1]) == fingerprint(one[0], **one[1])


def test_the_same_value_written_otherwise_is_the_same_cell():
    assert fingerprint(cell(steps=40, sizes=[3]), **BASE) == fingerprint(
        cell(steps=40.0, sizes=(3,)), **BASE
    )


def test_device_is_part_of_the_versions():
    assert versions("cpu") != versions("cuda")
    names = {"python", "device", "torch", "numpy", "scipy", "numba", "llvmlite"}
    assert names == versions("cpu").keys()


def test_versions_hold_what_the_paper_imports_beside():
    more = versions("cpu", {"sklearn", "numpy", "pydantic", "no_such_package"})
    assert more.keys() - versions("cpu").keys() == {"scikit-learn", "no_such_package"}
    assert more["scikit-learn"] == metadata.version("scikit-learn")
    assert more["no_such_package"] == "absent"


def test_a_package_is_named_as_it_is_installed():
    imported = ["sklearn", "PIL", "cv2"]
    more = versions("cpu", imported).keys() - versions("cpu").keys()
    assert more == {"scikit-learn", "pillow", "opencv-python"}


def test_packages_that_compute_nothing_have_no_version():
    assert versions("cpu", COMPUTING_NOTHING) == versions("cpu")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_settings_that_cannot_be_compared_are_refused(value):
    with pytest.raises(SpecError, match="cannot be compared"):
        canonical_settings({"rate": value})
