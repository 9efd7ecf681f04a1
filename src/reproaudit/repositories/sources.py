"""The pinned source of a command: fetched once, and unpacked anew for every cell."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from reproaudit.elsewhere.archives import MAX_UNPACKED_BYTES, SUFFIXES, unpack
from reproaudit.elsewhere.logged import LogError
from reproaudit.elsewhere.protocol import digest_of
from reproaudit.repositories.processes import CommandError, last_line, run_guarded
from reproaudit.repositories.run_file import PinnedSource

CACHE_VARIABLE = "REPROAUDIT_CACHE"
"""The environment variable that names another folder for sources and environments."""

FETCH_SECONDS = 3600.0
_PIECE = 2**20

StillRunning = Callable[[], None]
"""Called while something runs; what it raises ends it."""


def cache_of(kind: str) -> Path:
    """A folder of the cache, which is made if it is missing."""
    named = os.environ.get(CACHE_VARIABLE)
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(named) if named else (Path(base) if base else Path.home() / ".cache") / "reproaudit"
    folder = root.absolute() / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"{folder}: cannot be made ({error.strerror}). Name another in {CACHE_VARIABLE}."
        ) from error
    return folder


@contextmanager
def only_one(place: Path) -> Iterator[None]:
    """While this lasts, no other process of this machine makes what belongs in this place."""
    with FileLock(place.with_name(f"{place.name}.lock")):
        yield


def copy_source(
    source: PinnedSource, beside: Path, into: Path, still_running: StillRunning
) -> None:
    """Unpacks the source into an empty folder, exactly as it is pinned.

    Links are not made: an archive's are left out, a repository's become small text files.

    Args:
        source: what is wanted.
        beside: the folder that relative addresses start from.
        into: an empty folder.
        still_running: called while git works.

    Raises:
        CommandError: if it cannot be had, or is not what the pin says.
    """
    if source.git is not None:
        assert source.revision is not None, "a repository is pinned"
        _check_out(_address(source.git, beside), source.revision, into, still_running)
    else:
        assert source.archive is not None, "a source is a repository or an archive"
        assert source.sha256 is not None, "an archive is pinned"
        file = _archive(_address(source.archive, beside), source.sha256)
        try:
            unpack(file, source.archive, into)
        except LogError as error:
            raise CommandError(str(error)) from None


def _address(written: str, beside: Path) -> str:
    """An address as it is, a path from the run file's folder on."""
    is_remote = re.match(r"[a-z][a-z0-9+.-]*://", written) or re.match(r"[^/]+@?[^/]*:", written)
    return written if is_remote else str((beside / Path(written).expanduser()).resolve())


# --- git ------------------------------------------------------------------------------------------


def _check_out(address: str, revision: str, into: Path, still_running: StillRunning) -> None:
    store = cache_of("git") / hashlib.sha256(address.encode()).hexdigest()[:32]
    git = ["git", "--git-dir", str(store), "-c", "protocol.ext.allow=never"]
    asking = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_TEMPLATE_DIR": ""}
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        asking.pop(name, None)

    def run(*arguments: str, **more: str) -> tuple[str, bytes]:
        """Why it failed, empty if it did not; and what it printed."""
        ended = run_guarded(
            [*git, *arguments],
            store,
            {**asking, **more},
            FETCH_SECONDS,
            still_running=still_running,
        )
        why = ended.words and f"git {arguments[0]} {ended.words}: {last_line(ended.stderr)}"
        return why, ended.stdout

    with only_one(store):
        store.mkdir(exist_ok=True)
        if not (store / "HEAD").is_file():
            _refuse(address, run("init", "--quiet", "--bare")[0])
        if run("cat-file", "-e", f"{revision}^{{commit}}")[0]:
            safe = ("-c", "fetch.fsckObjects=true")
            why = run(*safe, "fetch", "--quiet", "--no-tags", "--depth=1", "--", address, revision)
            if why[0]:  # an old server gives no single commit
                everything = "+refs/*:refs/fetched/*"
                _refuse(address, run("fetch", "--quiet", "--", address, everything)[0])
            missing = run("cat-file", "-e", f"{revision}^{{commit}}")[0]
            if missing:
                raise CommandError(
                    f"{address}: found no commit {revision}; expected it. Is the revision right?"
                )
    why_not, listed = run("ls-tree", "-r", "-z", revision)
    _refuse(address, why_not)
    for entry in listed.split(b"\0"):
        if entry.startswith(b"160000 "):
            path = entry.partition(b"\t")[2].decode(errors="replace")
            raise CommandError(
                f"{address}: found the submodule '{path[:60]}'; expected none. Use an archive that "
                "holds it."
            )
    plain = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_INDEX_FILE": str(into.with_name(f"{into.name}.index")),
    }
    options = ("core.symlinks=false", "core.hooksPath=/dev/null", "core.autocrlf=false")
    chosen = [word for one in options for word in ("-c", one)]
    place = ("--work-tree", str(into))
    _refuse(address, run(*place, *chosen, "checkout", "--force", revision, "--", ".", **plain)[0])


def _refuse(address: str, why: str) -> None:
    if why:
        raise CommandError(f"{address}: {why}")


# --- archives -------------------------------------------------------------------------------------


def _archive(address: str, sha256: str) -> Path:
    """The file of an archive, in the cache, once its SHA-256 is sure."""
    suffix = next((one for one in SUFFIXES if address.lower().endswith(one)), None)
    if suffix is None:
        raise CommandError(f"{address}: expected an archive, {', '.join(SUFFIXES)}.")
    file = cache_of("archives") / f"{sha256}{suffix}"
    with only_one(file):
        if not file.is_file() or digest_of(file) != sha256:
            whole = file.with_name(f"{file.name}.new")
            try:
                _copy(address, whole)
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                raise CommandError(f"{address}: cannot be read ({why}).") from None
            found = digest_of(whole)
            if found != sha256:
                whole.unlink()
                raise CommandError(
                    f"{address}: found SHA-256 {found}; expected {sha256}. It is another archive."
                )
            whole.replace(file)
    return file


def _copy(address: str, to: Path) -> None:
    if address.startswith("https://"):
        with urllib.request.urlopen(address, timeout=60) as stream, to.open("wb") as out:
            left = MAX_UNPACKED_BYTES
            while piece := stream.read(_PIECE):
                left -= len(piece)
                if left < 0:
                    raise ValueError(f"more than {MAX_UNPACKED_BYTES:,} bytes")
                out.write(piece)
    else:
        shutil.copyfile(address, to)
