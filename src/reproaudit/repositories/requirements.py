"""The file that pins a command's packages: what in it leaves open what is installed."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from platformdirs import user_cache_path

CACHE_VARIABLE = "REPROAUDIT_CACHE"
"""The environment variable that names another folder for sources and environments."""
NO_WHEEL = (
    " Pin a version that has a wheel, or let packages build themselves, by code of theirs: "
    "'builds: true' under 'environment' in the run file."
)
_READING_SECONDS = 10.0
_PINNED = re.compile(
    r"\w[\w.-]*(\[[^]]*\])? ?== ?\w[\w.!+]*( ?;[^#]*|( --hash=sha256:\w+)*)", re.ASCII
)
"""Matches a line whose blanks are single ones."""
_NO_PACKAGE = re.compile(
    r"(--hash=sha256:\w+\s*)*|--require-hashes"
    r"|--(index-url|extra-index-url|find-links|only-binary|no-binary)[ =]\s*[^\s$]+"
)
"""Without '$': uv would put the value of a variable of the environment into an address."""
_OF_CONDA = re.compile(r"([\w.-]+)=([\w.!+]+)(=\w+)?", re.ASCII)
_OF_A_PATH = re.compile(r"([\w.-]+) ?@ ?file:", re.ASCII)


def has_pins(text: str) -> bool:
    """Return True if a file asks for a package."""
    return any(_PINNED.fullmatch(line) for _, line in _lines(text))


def unpinned(name: str, text: str, builds: bool) -> Iterator[str]:
    """Yield a line of words for each line that leaves open what it installs: place, what to do."""
    for line_number, line in _lines(text):
        if line.startswith("--no-binary") and not builds:  # uv heeds it before --only-binary
            expected = f"; expected wheels alone.{NO_WHEEL}"
        elif _NO_PACKAGE.fullmatch(line) or _PINNED.fullmatch(line):
            continue
        elif _OF_A_PATH.match(line):
            expected = (
                "; expected 'name==version', not a file of the machine where conda packed it. "
            )
            expected += "Write the list with 'pip list --format=freeze'."
        elif (conda := _OF_CONDA.fullmatch(line)) is not None:
            expected = f", conda's form; expected '{conda[1]}=={conda[2]}'."
        else:
            expected = (
                "; expected 'name==version'. The file has to pin all that is installed, as pip "
            )
            expected += "freeze writes it."
        yield f"{name}:{line_number}: found '{line[:60]}'{expected}"


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines without comments, with single blanks, by number."""
    for line_number, line in enumerate(text.splitlines(), start=1):
        stated = re.sub(r"(^|\s)#.*", "", line).strip().removesuffix("\\")
        yield line_number, " ".join(stated.split())


def cache_of(section: str, text: str) -> Path:
    """Return the place in the cache of what such a text identifies."""
    usual = user_cache_path("reproaudit", appauthor=False)
    folder = Path(os.environ.get(CACHE_VARIABLE) or usual).absolute() / section
    return folder / hashlib.sha256(text.encode()).hexdigest()[:32]


def text_at_hand(address: str, revision: str, name: str) -> str | None:
    """Return a file of a repository that is on this machine, or was fetched to it; else None."""
    variables = {"PATH": os.environ.get("PATH", os.defpath), "GIT_TERMINAL_PROMPT": "0"}
    for folder in (Path(address), cache_of("git", address)):
        safe = ("-c", "core.fsmonitor=false", "-c", f"safe.directory={folder}")
        shown = ("cat-file", "blob", f"{revision}:{name}")
        with suppress(OSError, subprocess.TimeoutExpired):
            git = subprocess.run(
                ["git", *safe, "-C", str(folder), *shown],
                capture_output=True,
                env=variables,
                timeout=_READING_SECONDS,
                check=False,
            )
            if git.returncode == 0:
                return git.stdout.decode(errors="replace")
    return None
