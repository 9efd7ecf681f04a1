"""Environments of commands: exactly what a file pins, made once; or a container, no network."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from outsiders import WRITES, outsider, run

from reproaudit.records import CellStatus
from reproaudit.repositories.environments import ENGINES, in_python
from reproaudit.repositories.processes import Call, CommandError
from reproaudit.repositories.run_file import PythonEnvironment

UV = shutil.which("uv") or shutil.which("uv", path=Path(sys.executable).parent)
IMAGE = f"docker.io/library/python@sha256:{'a' * 64}"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPROAUDIT_CACHE", str(tmp_path / "cache"))


def wheel(folder: Path, name: str, version: str, needs: str = "") -> None:
    """A wheel with one module, whose VERSION is its own."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as packed:
        packed.writestr(f"{name}.py", f"VERSION = {version!r}\n")
        lines = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        packed.writestr(f"{info}/METADATA", lines + (f"Requires-Dist: {needs}\n" if needs else ""))
        packed.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
            "Tag: py3-none-any\n"
        )  # fmt: skip
        packed.writestr(f"{info}/RECORD", "")


def made(folder: Path, requirements: str, program: str, builds: bool = False) -> str:
    """What a program prints in the environment of a requirements file."""
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "requirements.txt").write_text(requirements)
    wanted = PythonEnvironment(requirements="requirements.txt", builds=builds)
    return printed(wanted, program, source)


def printed(wanted: PythonEnvironment, program: str, source: Path) -> str:
    """What a program prints in an environment of a source."""
    call = Call(("python", "-c", program), source, {}, 60)
    call = in_python(call, wanted, source, source.parent, lambda: None)
    done = subprocess.run(
        call.argv, env=dict(call.variables), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels in place of an index."""
    if UV is None:
        pytest.skip("uv is not installed")
    folder = tmp_path / "wheels"
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    wheel(folder, "outsider", "1.0")
    wheel(folder, "outsider", "2.0")
    wheel(folder, "needy", "1.0", "outsider>=1")
    return folder


def test_what_the_file_pins_is_installed_once_for_each_content(tmp_path, wheels):
    program = "import outsider; print(outsider.VERSION)"
    assert made(tmp_path, "outsider==1.0  # pinned\n", program) == "1.0"
    assert made(tmp_path, "outsider==2.0\n", program) == "2.0"
    shutil.rmtree(wheels)  # the cache needs no index
    assert made(tmp_path, "outsider==1.0  # pinned\n", program) == "1.0"
    ready = list((tmp_path / "cache" / "environments").glob("*/ready"))
    assert len(ready) == 2
    ready[0].unlink()  # as if it had been cut off
    ready[1].unlink()
    with pytest.raises(CommandError, match=r"the environment cannot be made: .*(outsider|wheels)"):
        made(tmp_path, "outsider==1.0  # pinned\n", program)


@pytest.mark.slow
def test_what_the_file_forgets_is_told(tmp_path, wheels):
    with pytest.raises(CommandError, match=r"needy.* requires .*outsider"):
        made(tmp_path, "needy==1.0\n", "pass")
    assert made(tmp_path, "needy==1.0\noutsider==2.0\n", "import needy; print('in')") == "in"


def test_nothing_to_install_needs_neither_uv_nor_a_network(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "venv.py").write_text("raise SystemExit('code of the source runs')")
    program = "import importlib.util as i; print(i.find_spec('numpy'), i.find_spec('pip'))"
    assert made(tmp_path, "# nothing\n\n", program) == "None None"


@pytest.mark.parametrize(
    "line",
    ["numpy", "numpy>=2", "numpy==2.*", "-e .", ".", "git+https://example.org/x", "-r more.txt",
     "x @ file:///tmp/x", "numpy==2.0 --global-option=x", "--index-url https://example.org -e .",
     "--find-links https://example.org/${GITHUB_TOKEN}"],
)  # fmt: skip
def test_a_line_that_pins_nothing_is_refused(tmp_path, line):
    with pytest.raises(CommandError, match=r"\.txt:2: found .*; expected 'name==version'"):
        made(tmp_path, f"# first\n{line}\n", "pass")


SETUP = """\
import os, zipfile
from pathlib import Path
Path({ran!r}).touch()
def build_wheel(folder, *_):
    name, info = "hostile-1.0-py3-none-any.whl", "hostile-1.0.dist-info"
    about = "Metadata-Version: 2.1\\nName: hostile\\nVersion: 1.0\\n"
    with zipfile.ZipFile(Path(folder) / name, "w") as packed:
        packed.writestr("hostile.py", f"SEEN = {{dict(os.environ)!r}}")
        packed.writestr(f"{{info}}/METADATA", about)
        packed.writestr(f"{{info}}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\n")
        packed.writestr(f"{{info}}/RECORD", "")
    return name
"""
"""Builds a wheel that holds the environment in which it was built."""
TOKENS = {"GITHUB_TOKEN": "token", "UV_INDEX_OWN_PASSWORD": "password", "PIP_INDEX_URL": "token@"}


def hostile_index(folder: Path, ran: Path) -> str:
    """An index with a package that has no wheel; returns its address."""
    source = folder / "hostile-1.0"
    source.mkdir()
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    (source / "setup.py").write_text(SETUP.format(ran=str(ran)))
    (source / "pyproject.toml").write_text(
        "[build-system]\nrequires = []\nbuild-backend = 'setup'\nbackend-path = ['.']\n"
    )
    page = folder / "simple" / "hostile"
    page.mkdir(parents=True)
    with tarfile.open(page / "hostile-1.0.tar.gz", "w:gz") as packed:
        packed.add(source, source.name)
    (page / "index.html").write_text('<a href="hostile-1.0.tar.gz">hostile-1.0.tar.gz</a>')
    return page.parent.as_uri()


@pytest.mark.process
@pytest.mark.skipif(UV is None, reason="uv is not installed")
def test_a_package_runs_no_code_to_be_installed_unless_asked_and_then_sees_no_token(
    tmp_path, monkeypatch
):
    for name, text in TOKENS.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "uv"))
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    ran = tmp_path / "ran"
    requirements = f"hostile==1.0\n--index-url {hostile_index(tmp_path, ran)}\n"
    with pytest.raises(CommandError, match=r"hostile.* no usable wheels.* 'builds: true' under"):
        made(tmp_path, requirements, "pass")
    with pytest.raises(CommandError, match=r":3: found '--no-binary hostile'; .*'builds: true'"):
        made(tmp_path, f"{requirements}--no-binary hostile\n", "pass")
    assert not ran.exists()
    program = "import hostile, json; print(json.dumps(hostile.SEEN))"
    seen = json.loads(made(tmp_path, requirements, program, builds=True))
    assert ran.exists()
    assert seen["https_proxy"] == "http://proxy.example:3128"
    assert seen["HOME"] == str(tmp_path)
    assert not seen.keys() & TOKENS.keys()


@pytest.mark.process
def test_lines_that_go_on_and_hashes_are_read(tmp_path, wheels):
    file = wheels / "outsider-1.0-py3-none-any.whl"
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    text = "--only-binary :all:\noutsider == 1.0 ; python_version > '3' \\\n    --hash=sha256:"
    program = "import outsider; print(outsider.VERSION)"
    assert made(tmp_path, f"{text}{sha256}\n", program) == "1.0"
    with pytest.raises(CommandError, match="Hash mismatch"):
        made(tmp_path, f"{text}{'0' * 64}\n", program)


def test_a_missing_file_or_python_is_one_line(tmp_path, monkeypatch):
    source = tmp_path / "source"
    source.mkdir()

    with pytest.raises(CommandError, match=r"absent\.txt: found no such file in the source"):
        printed(PythonEnvironment(requirements="absent.txt"), "pass", source)
    if UV is not None:
        with pytest.raises(CommandError, match=r"cannot be made: uv .*Python.* 3\.2 "):
            printed(PythonEnvironment(python="3.2"), "pass", source)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(CommandError, match=r"found no uv on PATH; expected it for Python 3\.2"):
        printed(PythonEnvironment(python="3.2"), "pass", source)


# --- containers -----------------------------------------------------------------------------------

ENGINE = """\
#!{python}
import json, os, subprocess, sys
if sys.argv[1] == "info":
    sys.exit()
with open({log!r}, "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "kill":
    sys.exit()
words = sys.argv[1:]
bound = words[words.index("--volume") + 1]
os.chdir(bound.partition(":")[0])
at = max(index for index, word in enumerate(words) if "@sha256:" in word)
sys.exit(subprocess.call([sys.executable, *words[at + 1:]]))
"""
"""Stands for a container engine: notes its calls, and runs the command in the bound folder."""


def engine(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    log = folder / "calls"
    programs = folder / "programs"
    programs.mkdir()
    (programs / name).write_text(ENGINE.format(python=sys.executable, log=str(log)))
    (programs / name).chmod(0o755)
    (programs / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", str(programs))
    return log


@pytest.mark.parametrize("name", ["docker", pytest.param("podman", marks=pytest.mark.process)])
def test_a_container_has_no_network_and_sees_the_working_copy_alone(tmp_path, name, monkeypatch):
    outsider(tmp_path, environment={"image": IMAGE}, variables={"OWN": "1"})
    log = engine(tmp_path, name, monkeypatch)
    (record,) = run(tmp_path).values()
    assert record.status is CellStatus.COMPLETED, record.error
    assert record.data["image"] == f"sha256:{'a' * 64}"
    (call,) = [json.loads(line) for line in log.read_text().splitlines()]
    assert call[call.index("--network") + 1] == "none"
    assert "--env=OWN=1" in call
    bound = [word for word in call if word.endswith(":/source")]
    assert len(bound) == 1
    assert {"--rm", "--cap-drop", "no-new-privileges", IMAGE} <= set(call)


@pytest.mark.process
def test_a_container_that_takes_too_long_is_killed_by_its_engine(tmp_path, monkeypatch):
    script = {"log.py": "import time; time.sleep(60)"}
    outsider(tmp_path, script, environment={"image": IMAGE}, timeout=2)
    log = engine(tmp_path, "docker", monkeypatch)
    (record,) = run(tmp_path).values()
    assert "took longer than 2 s" in str(record.error)
    started, ended, *_again = [json.loads(line) for line in log.read_text().splitlines()]
    assert ended == ["kill", started[started.index("--name") + 1]]


def test_without_an_engine_a_container_is_a_failed_cell(tmp_path, monkeypatch):
    outsider(tmp_path, environment={"image": IMAGE})
    engine(tmp_path, "something_else", monkeypatch)
    (record,) = run(tmp_path).values()
    assert str(record.error).startswith("found none of docker, podman on PATH")


def test_a_real_container(tmp_path):
    """With REPROAUDIT_TEST_IMAGE=NAME@sha256:…, an image that is here already and has python3."""
    if not any(map(shutil.which, ENGINES)):
        pytest.skip("no container engine (Docker, Podman) is on this machine")
    if not (image := os.environ.get("REPROAUDIT_TEST_IMAGE")):
        pytest.skip("REPROAUDIT_TEST_IMAGE names no image")
    alone = "import socket\ntry:\n    socket.create_connection(('192.0.2.1', 80), 2)\n"
    alone += "except OSError as error:\n    assert 'unreachable' in str(error), error\n"
    command = ["python3", "log.py", "{seed}", "{steps}"]
    outsider(tmp_path, {"log.py": alone + WRITES}, environment={"image": image}, command=command)
    (record,) = run(tmp_path).values()
    assert record.status is CellStatus.COMPLETED, record.error
