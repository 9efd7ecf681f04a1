"""Environments of a command: a Python environment of its own, or a container without a network."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reproaudit.elsewhere.logged import on_one_line
from reproaudit.repositories.processes import CommandError, run_guarded
from reproaudit.repositories.run_file import PythonEnvironment
from reproaudit.repositories.sources import StillRunning, cache_of, only_one

INSTALL_SECONDS = 3600.0
ENGINES = ("docker", "podman", "apptainer")
PASSED = ("LANG", "LC_ALL", "TZ", "TMPDIR", "CUDA_VISIBLE_DEVICES", "REPROAUDIT_DATA")
"""Environment variables that a command is given as they are; all others stay out."""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")

_PINNED = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._, -]*\])?\s*==\s*[A-Za-z0-9][A-Za-z0-9.!+_-]*"
    r"\s*(;[^#]*?)?(\s+--hash=sha256:[0-9a-f]{64})*"
)
_OPTIONS = ("--index-url ", "--extra-index-url ", "--find-links ", "--require-hashes",
            "--only-binary", "--no-binary")  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A command as it is started.

    Attributes:
        argv: the program and its arguments.
        variables: its whole environment.
        then: what ends it where ending the process does not.
    """

    argv: tuple[str, ...]
    variables: Mapping[str, str]
    then: tuple[str, ...] = ()


def python_call(
    environment: PythonEnvironment,
    argv: Sequence[str],
    variables: Mapping[str, str],
    source: Path,
    home: Path,
    still_running: StillRunning,
) -> Call:
    """The call of a command in the source's Python environment, which is made if it is missing.

    Raises:
        CommandError: if the environment cannot be made.
    """
    made = _environment(environment, source, still_running)
    passed = {name: os.environ[name] for name in (*PASSED, *THREADS) if name in os.environ}
    path = os.pathsep.join([str(made / "bin"), os.environ.get("PATH", os.defpath)])
    program = shutil.which(argv[0], path=path) if "/" not in argv[0] else argv[0]
    if program is None:
        raise CommandError(f"found no program '{argv[0]}'; expected one in the environment or PATH")
    own = {"PATH": path, "HOME": str(home), "VIRTUAL_ENV": str(made), "PYTHONHASHSEED": "0"}
    return Call((program, *argv[1:]), {**passed, **own, **variables})


def container_call(
    image: str, argv: Sequence[str], variables: Mapping[str, str], source: Path, folder: str
) -> Call:
    """The call of a command in a container that sees the working copy and no network.

    Raises:
        CommandError: if no engine answers.
    """
    engine = container_engine()
    if engine is None:
        raise CommandError(
            f"found none of {', '.join(ENGINES)} that answers; expected one for {image}"
        )
    threads = {name: os.environ[name] for name in THREADS if name in os.environ}
    own = {**threads, "PYTHONHASHSEED": "0", **variables}
    inside = f"/source/{folder}" if folder != "." else "/source"
    if engine == "apptainer":
        call = [engine, "exec", "--containall", "--no-home", "--net", "--network", "none"]
        call += [f"--env={name}={text}" for name, text in own.items()]
        call += ["--bind", f"{source}:/source", "--pwd", inside, f"docker://{image}"]
        return Call((*call, *argv), dict(os.environ))
    name = f"reproaudit-{uuid.uuid4().hex}"
    call = [engine, "run", "--rm", "--init", "--name", name, "--network", "none"]
    call += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    if engine == "docker":  # podman's root is the user already
        call += ["--user", f"{os.getuid()}:{os.getgid()}"]
    call += [f"--env={variable}={text}" for variable, text in own.items()]
    call += ["--volume", f"{source}:/source", "--workdir", inside, "--entrypoint", argv[0], image]
    return Call((*call, *argv[1:]), dict(os.environ), then=(engine, "kill", name))


@cache
def container_engine() -> str | None:
    """The first container engine that answers, or None."""
    for engine in ENGINES:
        asked = [engine, "version"] if engine == "apptainer" else [engine, "info"]
        if shutil.which(engine) is not None:
            try:
                done = subprocess.run(asked, capture_output=True, timeout=20, check=False)
            except (OSError, subprocess.TimeoutExpired):
                continue
            if done.returncode == 0:
                return engine
    return None


# --- Python environments --------------------------------------------------------------------------


def _environment(wanted: PythonEnvironment, source: Path, still_running: StillRunning) -> Path:
    """The folder of an environment; it is made once for each content of its files."""
    files = [wanted.lock, str(Path(wanted.lock).with_name("pyproject.toml"))] if wanted.lock else []
    files += [wanted.requirements] if wanted.requirements else []
    contents = [_text(source, one) for one in files]
    if wanted.requirements:
        _refuse_unpinned(wanted.requirements, contents[0])
    parts = [platform.python_version(), sys.platform, wanted.python, bool(wanted.lock), contents]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    made = cache_of("environments") / digest
    ready = made / "ready"
    with only_one(made):
        if not ready.is_file():
            shutil.rmtree(made, ignore_errors=True)
            maker = _Maker(made, source, wanted, still_running)
            if wanted.lock:
                maker.sync(wanted.lock)
            elif wanted.requirements and _requirements(contents[0]):
                maker.install(wanted.requirements)
            else:
                maker.make_bare()
            ready.touch()
    return made


def _text(source: Path, name: str) -> str:
    file = source / name
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "no UTF-8 text"
        raise CommandError(f"{name}: found no such file in the source ({why}).") from None


def _requirements(text: str) -> list[tuple[int, str]]:
    """The lines that ask for something, with their numbers; lines that go on are joined."""
    found: list[tuple[int, str]] = []
    begun = ""
    for number, line in enumerate(text.splitlines(), start=1):
        plain = re.sub(r"(^|\s)#.*", "", line).strip()
        begun = f"{begun} {plain.removesuffix(chr(92)).strip()}".strip()
        if not plain.endswith("\\"):
            if begun and not begun.startswith(_OPTIONS):
                found.append((number, begun))
            begun = ""
    return found


def _refuse_unpinned(name: str, text: str) -> None:
    for number, line in _requirements(text):
        if not _PINNED.fullmatch(line):
            raise CommandError(
                f"{name}:{number}: found '{line[:60]}'; expected 'name==version'. The file has to "
                "pin all that is installed, as pip freeze writes it."
            )


@dataclass(frozen=True)
class _Maker:
    """Makes an environment.

    Attributes:
        made: its folder.
        source: the working copy.
        wanted: what the run file says.
        still_running: called while something is installed.
    """

    made: Path
    source: Path
    wanted: PythonEnvironment
    still_running: StillRunning

    def make_bare(self) -> None:
        """Makes it with nothing installed, not even pip."""
        self._run(self._python(), "-m", "venv", "--without-pip", str(self.made))

    def install(self, requirements: str) -> None:
        """Makes it and installs exactly what a file lists; what that lacks is told."""
        python = str(self.made / "bin" / "python")
        file = str(self.source / requirements)
        if uv := shutil.which("uv"):
            version = self.wanted.python or f"{sys.version_info.major}.{sys.version_info.minor}"
            self._run(uv, "venv", "--quiet", "--no-config", "--python", version, str(self.made))
            pip = [uv, "pip"]
            at: tuple[str, ...] = ("--no-config", "--python", python)
        else:
            self._run(self._python(), "-m", "venv", str(self.made))
            pip, at = [python, "-m", "pip", "--disable-pip-version-check"], ()
        quiet = ("--quiet", "--no-deps")
        self._run(*pip, "install", *at, *quiet, "-r", file)
        self._run(*pip, "check", *at)

    def sync(self, lock: str) -> None:
        """Makes it from a lock of uv, without the project itself."""
        uv = shutil.which("uv")
        if uv is None:
            raise CommandError(f"found no uv on PATH; expected it for {lock}. Install uv.")
        chosen = ("--python", self.wanted.python) if self.wanted.python else ()
        project = str((self.source / lock).parent)
        self._run(
            *(uv, "sync", "--quiet", "--frozen", "--no-install-project", "--no-default-groups"),
            *("--project", project, *chosen),
            UV_PROJECT_ENVIRONMENT=str(self.made),
        )

    def _python(self) -> str:
        """The interpreter to make it with."""
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        if self.wanted.python in (None, here):
            return sys.executable
        found = shutil.which(f"python{self.wanted.python}")
        if found is None:
            raise CommandError(
                f"found no python{self.wanted.python} on PATH; expected it. Install it, or uv."
            )
        return found

    def _run(self, *argv: str, **more: str) -> None:
        names = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        variables = {k: v for k, v in os.environ.items() if k not in names}
        ended = run_guarded(
            argv,
            self.source,
            {**variables, **more},
            INSTALL_SECONDS,
            still_running=self.still_running,
        )
        if ended.words:
            said = on_one_line((ended.stderr or ended.stdout).decode(errors="replace"), 300)
            raise CommandError(
                f"the environment cannot be made: {Path(argv[0]).name} {ended.words}: {said}"
            )
