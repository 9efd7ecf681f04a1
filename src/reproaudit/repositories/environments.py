"""What a command needs: the pinned source, and a Python environment or a container.

What is fetched or made is kept in a cache; every cell gets a fresh copy of the source.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

from filelock import FileLock

from reproaudit.elsewhere.archives import SUFFIXES, unpack
from reproaudit.elsewhere.logged import LogError, on_one_line
from reproaudit.elsewhere.writing import digest_of
from reproaudit.repositories.processes import Call, CommandError, Ended, StillRunning, run_guarded
from reproaudit.repositories.run_file import PinnedSource, PythonEnvironment

CACHE_VARIABLE = "REPROAUDIT_CACHE"
"""The environment variable that names another folder for sources and environments."""
MAKING_SECONDS = 3600.0
"""The seconds that each step of fetching or installing may take."""
ENGINES = ("docker", "podman")
PASSED = ("LANG", "LC_ALL", "TZ", "TMPDIR", "CUDA_VISIBLE_DEVICES", "REPROAUDIT_DATA")
"""Environment variables that a command is given as they are; all others stay out."""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")

_PINNED = re.compile(
    r"\w[\w.-]*(\[[^]]*\])?\s*==\s*\w[\w.!+]*\s*(;[^#]*?)?(\s+--hash=sha256:\w+)*", re.ASCII
)
_NO_PACKAGE = re.compile(
    r"(--hash=sha256:\w+\s*)*|--require-hashes"
    "|--(index-url|extra-index-url|find-links|only-binary|no-binary)[ =].*"
)


def _cache_of(kind: str, of: str) -> Path:
    """The place in the cache of what such a text identifies."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reproaudit"
    folder = Path(os.environ.get(CACHE_VARIABLE) or base).absolute() / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"{folder}: cannot be made ({error.strerror}). Name another in {CACHE_VARIABLE}."
        ) from error
    return folder / hashlib.sha256(of.encode()).hexdigest()[:32]


# --- sources --------------------------------------------------------------------------------------


def copy_source(
    source: PinnedSource, beside: Path, into: Path, still_running: StillRunning
) -> None:
    """Unpack the source into an empty folder, exactly as it is pinned.

    Links are not made: an archive's are left out, a repository's become small text files.

    Args:
        source: what is wanted.
        beside: the folder that relative addresses start from.
        into: an empty folder.
        still_running: called while git works.

    Raises:
        CommandError: if it cannot be had, or is not what the pin says.
    """
    written = source.git or source.archive or ""
    is_remote = re.match(r"[a-z][a-z0-9+.-]*://|[^/]+:", written)
    address = written if is_remote else str((beside / Path(written).expanduser()).resolve())
    if source.revision is not None:
        _check_out(address, source.revision, into, still_running)
        return
    try:
        unpack(_archive(address, str(source.sha256)), written, into)
    except LogError as error:
        raise CommandError(str(error)) from None


def _check_out(address: str, revision: str, into: Path, still_running: StillRunning) -> None:
    store = _cache_of("git", address)
    variables = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_TEMPLATE_DIR": ""}

    def git(*words: str) -> Ended:
        argv = ("git", "--git-dir", str(store), "-c", "protocol.ext.allow=never", *words)
        return run_guarded(Call(argv, store, variables, MAKING_SECONDS), still_running)

    def must(*words: str, found: str) -> bytes:
        ended = git(*words)
        if ended.fault:
            why = f"{ended.fault}: {ended.last_line()}"
            raise CommandError(f"{address}: found {found} (git {why}). Is the revision right?")
        return ended.stdout

    with FileLock(f"{store}.lock"):
        store.mkdir(exist_ok=True)
        if git("cat-file", "-e", f"{revision}^{{commit}}").fault:
            must("init", "--quiet", "--bare", found="no place for a repository")
            fetch = ("-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--depth=1")
            must(*fetch, "--", address, revision, found=f"no commit {revision}; expected it")
    listed = must("ls-tree", "-r", revision, found="a commit that cannot be read")
    if submodule := re.search(rb"^160000 [^\t]*\t(.*)$", listed, re.M):
        raise CommandError(
            f"{address}: found the submodule '{submodule[1].decode(errors='replace')[:60]}'; "
            "expected none. Use an archive that holds it."
        )
    variables |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_INDEX_FILE": f"{into}.index",
    }
    options = ("core.symlinks=false", "core.hooksPath=/dev/null", "core.autocrlf=false")
    chosen = [word for option in options for word in ("-c", option)]
    checkout = ("--work-tree", str(into), *chosen, "checkout", "--force", revision, "--", ".")
    must(*checkout, found="a commit that cannot be checked out")


def _archive(address: str, sha256: str) -> Path:
    """The file of an archive, which is downloaded once, when its SHA-256 is sure."""
    suffix = next((one for one in SUFFIXES if address.lower().endswith(one)), None)
    if suffix is None:
        raise CommandError(f"{address}: expected an archive, {', '.join(SUFFIXES)}.")
    file = Path(address)
    try:
        if address.startswith("https://"):
            file = _cache_of("archives", sha256).with_suffix(suffix)
            with FileLock(f"{file}.lock"):
                if not file.is_file() or digest_of(file) != sha256:
                    with urlopen(address, timeout=60) as stream, file.open("wb") as out:
                        shutil.copyfileobj(stream, out)
        found = digest_of(file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise CommandError(f"{address}: cannot be read ({why}).") from None
    if found != sha256:
        raise CommandError(
            f"{address}: found SHA-256 {found}; expected {sha256}. It is another archive."
        )
    return file


# --- containers -----------------------------------------------------------------------------------


def in_container(call: Call, image: str, source: Path) -> Call:
    """Return the call in a container that sees the working copy and no network.

    Raises:
        CommandError: if there is no engine.
    """
    engine = next(filter(shutil.which, ENGINES), None)
    if engine is None:
        raise CommandError(f"found none of {', '.join(ENGINES)} on PATH; expected one for {image}")
    threads = {name: os.environ[name] for name in THREADS if name in os.environ}
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


# --- Python environments --------------------------------------------------------------------------


def in_python(
    call: Call,
    wanted: PythonEnvironment,
    source: Path,
    home: Path,
    still_running: StillRunning,
) -> Call:
    """Return the call in the source's Python environment, which is made if it is missing.

    Raises:
        CommandError: if the environment cannot be made.
    """
    made = _environment(wanted, source, still_running)
    path = os.pathsep.join([str(made / "bin"), os.environ.get("PATH", os.defpath)])
    passed = {name: os.environ[name] for name in (*PASSED, *THREADS) if name in os.environ}
    own = {"PATH": path, "HOME": str(home), "VIRTUAL_ENV": str(made), "PYTHONHASHSEED": "0"}
    return replace(call, variables={**passed, **own, **call.variables})


def _environment(wanted: PythonEnvironment, source: Path, still_running: StillRunning) -> Path:
    """The folder of an environment; it is made once for each content of its files."""
    files = [wanted.requirements] if wanted.requirements else []
    files += (
        [wanted.lock, str(Path(wanted.lock).with_name("pyproject.toml"))] if wanted.lock else []
    )
    try:
        contents = [(source / name).read_text("utf-8", errors="replace") for name in files]
    except OSError as error:
        name = Path(error.filename).relative_to(source)
        raise CommandError(
            f"{name}: found no such file in the source ({error.strerror})."
        ) from None
    pins = wanted.requirements is not None and _has_pins(wanted.requirements, contents[0])
    parts = [platform.python_version(), sys.platform, wanted.python, bool(wanted.lock), contents]
    made = _cache_of("environments", json.dumps(parts))
    dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    variables = {name: text for name, text in os.environ.items() if name not in dropped}
    variables["UV_PROJECT_ENVIRONMENT"] = str(made)
    with FileLock(f"{made}.lock"):
        if not (made / "ready").is_file():
            shutil.rmtree(made, ignore_errors=True)
            for argv in _making(wanted, source, made, pins):
                ended = run_guarded(Call(argv, source, variables, MAKING_SECONDS), still_running)
                if ended.fault:
                    said = on_one_line((ended.stderr or ended.stdout).decode(errors="replace"), 300)
                    what = f"{Path(argv[0]).name} {ended.fault}: {said}"
                    raise CommandError(f"the environment cannot be made: {what}")
            (made / "ready").touch()
    return made


def _making(
    wanted: PythonEnvironment, source: Path, made: Path, pins: bool
) -> Iterator[tuple[str, ...]]:
    """The calls that make an environment: a bare one needs no more than Python, the others uv."""
    if not (pins or wanted.lock or wanted.python):
        yield sys.executable, "-m", "venv", "--without-pip", str(made)
        return
    uv = shutil.which("uv") or shutil.which("uv", path=Path(sys.executable).parent)
    if uv is None:
        what = wanted.lock or wanted.requirements or f"Python {wanted.python}"
        raise CommandError(f"found no uv on PATH; expected it for {what}. Install uv.")
    python = wanted.python or sys.executable
    yield uv, "venv", "--quiet", "--no-config", "--python", python, str(made)
    if pins:
        at = ("--no-config", "--python", str(made / "bin" / "python"))
        file = str(source / str(wanted.requirements))
        yield uv, "pip", "install", *at, "--quiet", "--no-deps", "-r", file
        yield uv, "pip", "check", *at
    if wanted.lock:
        sync = ("sync", "--quiet", "--frozen", "--no-install-project", "--no-default-groups")
        project = str((source / wanted.lock).parent)
        yield uv, *sync, "--python", python, "--project", project


def _has_pins(name: str, text: str) -> bool:
    """Whether a file asks for anything; a line that leaves open what it installs is refused."""
    pins = False
    for number, line in enumerate(text.splitlines(), start=1):
        plain = re.sub(r"(^|\s)#.*", "", line).strip().removesuffix("\\").strip()
        if _NO_PACKAGE.fullmatch(plain):
            continue
        if not _PINNED.fullmatch(plain):
            raise CommandError(
                f"{name}:{number}: found '{plain[:60]}'; expected 'name==version'. The file has to "
                "pin all that is installed, as pip freeze writes it."
            )
        pins = True
    return pins
