"""The pinned source of a command: fetched once, and unpacked anew for every cell."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import urllib.request
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from reproaudit.elsewhere.archives import MAX_UNPACKED_BYTES, SUFFIXES, unpack
from reproaudit.elsewhere.logged import LogError
from reproaudit.elsewhere.writing import digest_of
from reproaudit.repositories.processes import CommandError, last_line, run_guarded
from reproaudit.repositories.run_file import PinnedSource

CACHE_VARIABLE = "REPROAUDIT_CACHE"
"""The environment variable that names another folder for sources and environments."""

FETCH_SECONDS = 3600.0

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


def only_one(place: Path) -> FileLock:
    """While this is held, no other process of this machine makes what belongs in this place."""
    return FileLock(place.with_name(f"{place.name}.lock"))


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
    written = source.git or source.archive or ""
    is_remote = re.match(r"[a-z][a-z0-9+.-]*://|[^/]+:", written)
    address = written if is_remote else str((beside / Path(written).expanduser()).resolve())
    if source.revision is not None:
        _check_out(address, source.revision, into, still_running)
        return
    try:
        unpack(_archive(address, source.sha256 or ""), written, into)
    except LogError as error:
        raise CommandError(str(error)) from None


def _check_out(address: str, revision: str, into: Path, still_running: StillRunning) -> None:
    store = cache_of("git") / hashlib.sha256(address.encode()).hexdigest()[:32]
    variables = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_TEMPLATE_DIR": ""}

    def git(*arguments: str) -> tuple[str, bytes]:
        """Why it failed, empty if it did not; and what it printed."""
        argv = ["git", "--git-dir", str(store), "-c", "protocol.ext.allow=never", *arguments]
        ended = run_guarded(argv, store, variables, FETCH_SECONDS, still_running=still_running)
        why = f"{ended.words}: {last_line(ended.stderr)}" if ended.words else ""
        return why, ended.stdout

    with only_one(store):
        store.mkdir(exist_ok=True)
        if not (store / "HEAD").is_file() and (why := git("init", "--quiet", "--bare")[0]):
            raise CommandError(f"{address}: git init {why}")
        if git("cat-file", "-e", f"{revision}^{{commit}}")[0]:
            safe = ("-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--depth=1")
            if why := git(*safe, "--", address, revision)[0]:
                raise CommandError(
                    f"{address}: found no commit {revision}; expected it (git fetch {why}). Is the "
                    "revision right?"
                )
    submodules = re.findall(rb"^160000 [^\t]*\t(.*)$", git("ls-tree", "-r", revision)[1], re.M)
    if submodules:
        raise CommandError(
            f"{address}: found the submodule '{submodules[0].decode(errors='replace')[:60]}'; "
            "expected none. Use an archive that holds it."
        )
    variables |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_INDEX_FILE": str(into.with_name(f"{into.name}.index")),
    }
    options = ("core.symlinks=false", "core.hooksPath=/dev/null", "core.autocrlf=false")
    chosen = [word for one in options for word in ("-c", one)]
    place = ("--work-tree", str(into))
    if why := git(*place, *chosen, "checkout", "--force", revision, "--", ".")[0]:
        raise CommandError(f"{address}: git checkout {why}")


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
    if not address.startswith("https://"):
        shutil.copyfile(address, to)
        return
    with urllib.request.urlopen(address, timeout=60) as stream, to.open("wb") as out:
        left = MAX_UNPACKED_BYTES
        while piece := stream.read(2**20):
            left -= len(piece)
            if left < 0:
                raise ValueError(f"more than {MAX_UNPACKED_BYTES:,} bytes")
            out.write(piece)
