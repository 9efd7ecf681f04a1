"""The environment: what is pinned, what is installed, and what travels in the wheel."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert all(len(one.specifier) == 1 for one in found)
    return {canonical(one.name): Version(str(one.specifier).removeprefix("==")) for one in found}


OWN = {"reproaudit"}
"""The extra `dev` names the package's own extras."""


def stated() -> list[Requirement]:
    project = PROJECT["project"]
    extras = [one for group in project["optional-dependencies"].values() for one in group]
    every = [Requirement(text) for text in (*project["dependencies"], *extras)]
    return [one for one in every if one.name not in OWN]


def test_the_hashed_lock_has_the_pinned_versions() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = dict(re.findall(r"^([\w.-]+)==([^\s\\;]+)", text, re.MULTILINE))
    pinned = pins()
    assert {canonical(name) for name in locked} >= {canonical(one.name) for one in stated()} - OWN
    for name, version_ in locked.items():
        assert pinned[canonical(name)] == Version(version_), name
    assert text.count("--hash=sha256:") >= len(locked)


def test_every_dependency_is_pinned_within_its_range_and_installed_so() -> None:
    pinned = pins()
    for one in stated():
        pin = pinned[canonical(one.name)]
        assert one.specifier.contains(pin), one
        assert Version(version(one.name)).public == pin.public, one.name


@pytest.mark.slow
def test_the_wheel_holds_audits_papers_and_templates(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    packed = zipfile.ZipFile(wheel)
    names = set(packed.namelist())
    (entries,) = (one for one in names if one.endswith("entry_points.txt"))
    assert b"reproaudit = reproaudit.__main__:start" in packed.read(entries)
    audits = [f"reproaudit/audits/{one.name}" for one in (ROOT / "audits").glob("*.yaml")]
    sources = ROOT / "src"
    wanted = [f for f in (sources / "reproaudit").rglob("*") if f.suffix in (".py", ".pyi", ".j2")]
    assert {*audits, *(f.relative_to(sources).as_posix() for f in wanted)} <= names
