"""The environment: what is pinned, what is installed, and what travels in the wheel."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from reproaudit.audit.catalog import audits_in

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


def test_the_hashed_lock_has_the_pinned_versions():
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = dict(re.findall(r"^([\w.-]+)==([^\s\\;]+)", text, re.MULTILINE))
    pinned = pins()
    assert {canonical(name) for name in locked} >= {canonical(one.name) for one in stated()} - OWN
    for name, version_ in locked.items():
        assert pinned[canonical(name)] == Version(version_), name
    assert text.count("--hash=sha256:") >= len(locked)


def test_every_dependency_is_pinned_within_its_range_and_installed_so():
    pinned = pins()
    for one in stated():
        pin = pinned[canonical(one.name)]
        assert one.specifier.contains(pin), one
        assert Version(version(one.name)).public == pin.public, one.name


@pytest.mark.slow
def test_a_wheel_of_the_source_distribution_shows_papers_and_answers_anywhere(tmp_path):
    def call(*command: str | Path, cwd: Path = tmp_path) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        done = subprocess.run(
            [*map(str, command)],
            cwd=cwd,
            env={**environment, "COLUMNS": "80", "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    build = [sys.executable, "-m", "hatchling", "build", "-d", tmp_path]
    call(*build, "-t", "sdist", cwd=ROOT)
    (packed,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "sources", filter="data")
    (source,) = (tmp_path / "sources").iterdir()
    call(*build, "-t", "wheel", cwd=source)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = ROOT / "src"
    wanted = [
        f for f in (sources / "reproaudit").rglob("*") if f.suffix in (".py", ".pyi", ".html")
    ]
    assert {f.relative_to(sources).as_posix() for f in wanted} <= names
    shipped = {name for name in names if name.startswith("reproaudit/reports/")}
    slugs = [one.stem for one in audits_in(ROOT / "audits")]
    assert shipped == {f"reproaudit/reports/paper/{slug}/scorecard.json" for slug in slugs}

    call(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    installed = Path(
        call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    )
    install = [sys.executable, "-m", "pip", "--python", python, "install"]
    call(*install, "--no-deps", "--no-index", "--quiet", wheel)
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (installed / "borrowed.pth").write_text("\n".join(borrowed))
    folder = tmp_path / "empty"
    folder.mkdir()
    program = tmp_path / "venv" / "bin" / "reproaudit"
    where = call(python, "-c", "import reproaudit; print(reproaudit.__file__)", cwd=folder)
    assert Path(where.strip()).is_relative_to(installed)
    lines = call(program, "list", cwd=folder).splitlines()
    assert [line.split()[0] for line in lines] == slugs
    assert all(" paper: ✓ " in line and "(shipped" in line for line in lines)
    assert not list(folder.iterdir())
    page = (ROOT / "skills" / "reproaudit" / "SKILL.md").read_text(encoding="utf-8")
    assert call(program, "skill", cwd=folder) == page
    told = " ".join(call(program, "report", "yang2025", cwd=folder).split())
    assert "this is the scorecard that came with the installation, as it was written" in told
    assert (folder / "reports" / "paper" / "yang2025" / "scorecard.html").is_file()
