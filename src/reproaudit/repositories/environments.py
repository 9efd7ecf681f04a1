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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reproaudit.elsewhere.logged import on_one_line
from reproaudit.repositories.processes import CommandError, run_guarded
from reproaudit.repositories.run_file import PythonEnvironment
from reproaudit.repositories.sources import StillRunning, cache_of, only_one

INSTALL_SECONDS = 3600.0
ENGINES = ("docker", "podman")
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
    for engine in filter(shutil.which, ENGINES):
        try:
            subprocess.run([engine, "info"], capture_output=True, timeout=20, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        return engine
    return None


# --- Python environments --------------------------------------------------------------------------


def _environment(wanted: PythonEnvironment, source: Path, still_running: StillRunning) -> Path:
    """The folder of an environment; it is made once for each content of its files."""
    files = [wanted.lock, str(Path(wanted.lock).with_name("pyproject.toml"))] if wanted.lock else []
    files += [wanted.requirements] if wanted.requirements else []
    contents = [_text(source, one) for one in files]
    installs = list(_pinned(wanted.requirements, contents[0])) if wanted.requirements else []
    parts = [platform.python_version(), sys.platform, wanted.python, bool(wanted.lock), contents]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    made = cache_of("environments") / digest
    with only_one(made):
        if not (made / "ready").is_file():
            shutil.rmtree(made, ignore_errors=True)
            for argv in _making(wanted, source, made, installs):
                _run(argv, source, made, still_running)
            (made / "ready").touch()
    return made


def _making(
    wanted: PythonEnvironment, source: Path, made: Path, installs: Sequence[str]
) -> Iterator[list[str]]:
    """The calls that make an environment: bare ones need no more than Python, the others uv."""
    if not (installs or wanted.lock or wanted.python):
        yield [sys.executable, "-m", "venv", "--without-pip", str(made)]
        return
    uv = shutil.which("uv")
    if uv is None:
        what = wanted.lock or wanted.requirements or f"Python {wanted.python}"
        raise CommandError(f"found no uv on PATH; expected it for {what}. Install uv.")
    python = wanted.python or sys.executable
    yield [uv, "venv", "--quiet", "--no-config", "--python", python, str(made)]
    if installs:
        at = ["--no-config", "--python", str(made / "bin" / "python")]
        file = str(source / str(wanted.requirements))
        yield [uv, "pip", "install", *at, "--quiet", "--no-deps", "-r", file]
        yield [uv, "pip", "check", *at]
    if wanted.lock:
        project = str((source / wanted.lock).parent)
        sync = [uv, "sync", "--quiet", "--frozen", "--no-install-project", "--no-default-groups"]
        yield [*sync, "--python", python, "--project", project]


def _run(argv: Sequence[str], source: Path, made: Path, still_running: StillRunning) -> None:
    dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    variables = {k: v for k, v in os.environ.items() if k not in dropped}
    variables["UV_PROJECT_ENVIRONMENT"] = str(made)
    ended = run_guarded(argv, source, variables, INSTALL_SECONDS, still_running=still_running)
    if ended.words:
        said = on_one_line((ended.stderr or ended.stdout).decode(errors="replace"), 300)
        raise CommandError(
            f"the environment cannot be made: {Path(argv[0]).name} {ended.words}: {said}"
        )


def _text(source: Path, name: str) -> str:
    try:
        return (source / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "no UTF-8 text"
        raise CommandError(f"{name}: found no such file in the source ({why}).") from None


def _pinned(name: str, text: str) -> Iterator[str]:
    """The lines that ask for something, each whole and with its version.

    Raises:
        CommandError: for the first line that leaves open what it installs.
    """
    begun = ""
    for number, line in enumerate(text.splitlines(), start=1):
        plain = re.sub(r"(^|\s)#.*", "", line).strip()
        begun = f"{begun} {plain.removesuffix(chr(92)).strip()}".strip()
        if plain.endswith("\\"):
            continue
        if begun and not begun.startswith(_OPTIONS):
            if not _PINNED.fullmatch(begun):
                raise CommandError(
                    f"{name}:{number}: found '{begun[:60]}'; expected 'name==version'. The file "
                    "has to pin all that is installed, as pip freeze writes it."
                )
            yield begun
        begun = ""
