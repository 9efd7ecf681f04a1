"""What a command needs: the pinned source, and a Python environment or a container.

What is fetched or made is kept in a cache; every cell gets a fresh copy of the source.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from reproaudit.cell import THREAD_VARIABLES
from reproaudit.errors import AuditError
from reproaudit.files import locked
from reproaudit.logs.logged import on_one_line
from reproaudit.repositories.processes import Call, CommandError, Ended, StillRunning, run_guarded
from reproaudit.repositories.requirements import (
    CACHE_VARIABLE,
    NO_WHEEL,
    cache_of,
    has_pins,
    unpinned,
)
from reproaudit.repositories.run_file import PinnedSource, PythonEnvironment

MAKING_SECONDS = 3600.0  # The seconds that each step of fetching or installing may take
ENGINES = ("docker", "podman")
PASSED = ("LANG", "LC_ALL", "TZ", "TMPDIR", "CUDA_VISIBLE_DEVICES", "REPROAUDIT_DATA")
"""Environment variables that a command is given as they are; all others stay out."""
NETWORK = (
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)
"""Environment variables that installing is given, too."""


@contextmanager
def _locked_place(section: str, text: str) -> Iterator[Path]:
    """Keep other cells, of this run or another, from making a place of the cache meanwhile."""
    place = cache_of(section, text)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"{place.parent}: cannot be made ({error.strerror}). Name another in {CACHE_VARIABLE}."
        ) from error
    with ExitStack() as held:
        try:
            held.enter_context(locked(Path(f"{place}.lock")))
        except AuditError as error:
            raise CommandError(
                f"{place}: cannot be locked ({error.__cause__}). Name another in {CACHE_VARIABLE}."
            ) from error
        yield place


def copy_source(
    source: PinnedSource, beside: Path, into: Path, still_running: StillRunning
) -> None:
    """Check the source out into an empty folder, or raise a CommandError.

    Links become small text files; hooks, filters and submodules do nothing. Its path starts from
    the folder ``beside``.
    """
    address = source.address(beside)
    revision = source.revision
    variables = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_TEMPLATE_DIR": ""}

    def git(*words: str) -> Ended:
        argv = ("git", "--git-dir", str(store), "-c", "protocol.ext.allow=never", *words)
        return run_guarded(Call(argv, store, variables, MAKING_SECONDS), still_running)

    def must(*words: str, fault: str) -> bytes:
        ended = git(*words)
        if ended.fault:
            why = f"{ended.fault}: {ended.last_line()}"
            raise CommandError(f"{address}: found {fault} (git {why}). Is the revision right?")
        return ended.stdout

    with _locked_place("git", address) as store:
        store.mkdir(exist_ok=True)
        if git("cat-file", "-e", f"{revision}^{{commit}}").fault:
            must("init", "--quiet", "--bare", fault="no place for a repository")
            fetch = ("-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--depth=1")
            must(*fetch, "--", address, revision, fault=f"no commit {revision}; expected it")
    listed = must("ls-tree", "-r", revision, fault="a commit that cannot be read")
    if submodule := re.search(rb"^160000 [^\t]*\t(.*)$", listed, re.M):
        raise CommandError(
            f"{address}: found the submodule '{submodule[1].decode(errors='replace')[:60]}'; "
            "expected none. Name a fork that holds its files."
        )
    variables = {
        **_few_variables(store),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_INDEX_FILE": f"{into}.index",
    }
    harmless = ("-c", "core.symlinks=false", "-c", "core.hooksPath=/dev/null")
    options = (*harmless, "-c", "core.autocrlf=false", "--work-tree", str(into))
    checkout = ("checkout", "--force", revision, "--", ".")
    must(*options, *checkout, fault="a commit that cannot be checked out")


def in_container(call: Call, image: str, source: Path) -> Call:
    """Return the call in a container without network; a CommandError if there is no engine."""
    engine = next(filter(shutil.which, ENGINES), None)
    if engine is None:
        raise CommandError(f"found none of {', '.join(ENGINES)} on PATH; expected one for {image}")
    threads = {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}
    variables = {**threads, "PYTHONHASHSEED": "0", **call.variables}
    name = f"reproaudit-{uuid.uuid4().hex}"
    inside = "/source" / call.folder.relative_to(source)
    argv = [engine, "run", "--rm", "--init", "--name", name, "--network", "none"]
    argv += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    if engine == "docker":  # podman's root is the user already
        argv += ["--user", f"{os.getuid()}:{os.getgid()}"]
    argv += [f"--env={variable}={text}" for variable, text in variables.items()]
    argv += ["--volume", f"{source}:/source", "--workdir", str(inside)]
    argv += ["--entrypoint", call.argv[0], image, *call.argv[1:]]
    return replace(call, argv=tuple(argv), variables=dict(os.environ), then=(engine, "kill", name))


def in_python(
    call: Call, wanted: PythonEnvironment, source: Path, home: Path, still_running: StillRunning
) -> Call:
    """Return the call in the source's Python environment, or raise a CommandError."""
    made = _environment(wanted, source, home, still_running)
    few = _few_variables(home)
    path = os.pathsep.join([str(made / "bin"), few["PATH"]])
    own = {"PATH": path, "VIRTUAL_ENV": str(made), "PYTHONHASHSEED": "0"}
    return replace(call, variables={**few, **own, **call.variables})


def _few_variables(home: Path) -> dict[str, str]:
    """Return the variables of what may run an author's code: no token, no key of the user's."""
    names = (*PASSED, *THREAD_VARIABLES)
    passed = {name: os.environ[name] for name in names if name in os.environ}
    return {**passed, "PATH": os.environ.get("PATH", os.defpath), "HOME": str(home)}


def _environment(
    wanted: PythonEnvironment, source: Path, home: Path, still_running: StillRunning
) -> Path:
    """Return the folder of an environment, which is made once for each content of its file."""
    name = wanted.requirements
    try:
        text = "" if name is None else (source / name).read_text("utf-8", errors="replace")
    except OSError as error:
        why = f"found no such file in the source ({error.strerror})."
        raise CommandError(f"{name}: {why}") from None
    if faults := list(unpinned(str(name), text, wanted.builds)):
        more = f" And {len(faults) - 1} more lines." if len(faults) > 1 else ""
        raise CommandError(faults[0] + more)
    pins = source / str(name) if has_pins(text) else None
    parts = [platform.python_version(), sys.platform, wanted.python, wanted.builds, text]
    with _locked_place("environments", json.dumps(parts)) as made:
        if not (made / "ready").is_file():
            shutil.rmtree(made, ignore_errors=True)
            for argv, variables in _making(wanted, pins, made, home):
                # from an empty folder, since Python and uv look for code where they are started
                ended = run_guarded(Call(argv, home, variables, MAKING_SECONDS), still_running)
                if ended.fault:
                    last = on_one_line((ended.stderr or ended.stdout).decode(errors="replace"), 300)
                    what = f"{Path(argv[0]).name} {ended.fault}: {last}"
                    if not wanted.builds and re.search("no (usable )?wheels", last):
                        what += NO_WHEEL
                    raise CommandError(f"the environment cannot be made: {what}")
            (made / "ready").touch()
    return made


def _making(
    wanted: PythonEnvironment, pins: Path | None, made: Path, home: Path
) -> Iterator[tuple[tuple[str, ...], Mapping[str, str]]]:
    """Yield the calls that make an environment, with their variables.

    A bare one needs no more than Python, the others uv. uv's own settings, which may hold the
    password of an index, are for the calls that run no code of a package. Checking runs some: a
    wheel may name code that Python runs when it starts.
    """
    python = wanted.python
    few = _few_variables(home)
    if not (pins or python):
        yield (sys.executable, "-m", "venv", "--without-pip", str(made)), few
        return
    uv = shutil.which("uv") or shutil.which("uv", path=Path(sys.executable).parent)
    if uv is None:
        what = wanted.requirements if pins else f"Python {python}"
        raise CommandError(f"found no uv on PATH; expected it for {what}. Install uv.")
    for name, usual in (("XDG_CACHE_HOME", ".cache"), ("XDG_DATA_HOME", ".local/share")):
        few[name] = os.environ.get(name) or str(Path.home() / usual)  # what uv has already
    online = few | {name: os.environ[name] for name in NETWORK if name in os.environ}
    trusted = online | {name: text for name, text in os.environ.items() if name.startswith("UV_")}
    venv = (uv, "venv", "--quiet", "--no-config", "--python", python or sys.executable, str(made))
    yield venv, trusted
    if pins:
        at = ("--no-config", "--python", str(made / "bin" / "python"))
        install = (uv, "pip", "install", *at, "--quiet", "--no-deps", "-r", str(pins))
        if wanted.builds:
            yield install, online
        else:
            yield (*install, "--only-binary", ":all:"), trusted
        yield (uv, "pip", "check", *at), few
