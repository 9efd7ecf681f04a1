"""Answers that are remembered for as long as the files behind them are untouched.

To judge fifty papers takes a minute, and most of the time nothing has changed since the last look.
A `Memo` keeps the answer to a question together with the *state* of every file that it was made
from: size, inode, and the times of the last change of content and of inode. The system sets the
last one itself, and no program can set it back. If the state is the same, the answer is given again
and no file is read. If anything differs, be it a time alone, the files are read and judged anew.
So the state only ever spares a reading. It decides nothing: not which record counts, nor which of
two is newer. `reproaudit verify` reads every byte and forgets all answers.

Three rules make this safe:

* The state is taken before anything is read, so that a change in between shows the next time.
* An answer is not kept if one of its files changed less than `SETTLED` before that: file systems
  count time in steps, and two changes within one step could look like one.
* An answer that is damaged, or was given to another question, is none. It is written anew.

Answers are in the folder that ``REPROAUDIT_MEMO`` names, else in ``reproaudit/answers`` in the
user's cache folder, never in the store: records that come from elsewhere bring no verdicts with
them. To delete the folder changes no answer, and where it cannot be written none is remembered.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from reproaudit.errors import AuditError
from reproaudit.running.files import DamagedError, seal, sha256, unseal, write_whole

FOLDER_VARIABLE = "REPROAUDIT_MEMO"
"""The environment variable that names the folder of answers."""

SETTLED = 2_000_000_000
"""Nanoseconds after its last change from which a file's state is sure to show the next one: the
coarsest clock of a file system that is still in use counts in steps of two seconds."""

MOST_FILES = 100_000
"""A question about more files is not remembered: to look at them takes longer than it spares."""

MOST_ANSWERS = 2_000
"""With more answers than that in the folder, the half that was given longest ago is forgotten."""

_PACKAGE = Path(__file__).parent.parent

FileState = tuple[int, ...]
"""Device, inode, kind and rights, size, and the times of the last change of content and inode."""


@dataclass(frozen=True)
class Snapshot:
    """The state of files at one moment, without their contents.

    Attributes:
        digest: equal if no file was touched, added or removed in between.
        is_settled: whether every later change is sure to give another digest.
    """

    digest: str
    is_settled: bool

    @classmethod
    def of(cls, files: Mapping[str, FileState], *, without: Collection[str] = ()) -> Snapshot:
        """The state of files that `look_at` saw just now, some of them left out."""
        kept = sorted((path, seen) for path, seen in files.items() if path not in without)
        newest = max((seen[-1] for _, seen in kept if seen), default=0)
        looked = time.time_ns() if _moment is None else _moment.began
        return cls(sha256(repr(kept).encode()), newest < looked - SETTLED)


def look_at(paths: Iterable[Path], *, suffix: str = "") -> dict[str, FileState] | None:
    """The state of files and of everything below folders, by absolute path.

    What does not exist has the empty state. Compiled Python code is left out, since it comes and
    goes with the source.

    Args:
        paths: files and folders.
        suffix: of a folder of code, how the names of files must end to be looked at. All of them
            have one state then, of the folder.

    Returns:
        None if there are more than `MOST_FILES`, or one that cannot be looked at.
    """
    try:
        if not suffix:
            return _found_below(map(os.path.abspath, paths))
        return {path: _as_one(path, suffix) for path in map(os.path.abspath, paths)}
    except OSError:
        return None


def _found_below(paths: Iterable[str], suffix: str = "") -> dict[str, FileState]:
    found: dict[str, FileState] = {}
    waiting: list[tuple[str, tuple[tuple[int, int], ...]]] = [(path, ()) for path in paths]
    while waiting:
        path, above = waiting.pop()
        try:
            seen = os.stat(path)
        except FileNotFoundError:
            found[path] = ()
            continue
        here = (seen.st_dev, seen.st_ino)
        if not stat.S_ISDIR(seen.st_mode):
            found[path] = _state(seen)
        elif here not in above:  # a link to a folder above it leads nowhere new
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir():
                        if entry.name != "__pycache__":
                            waiting.append((entry.path, (*above, here)))
                    elif entry.name.endswith(suffix):
                        found[entry.path] = () if _is_gone(entry) else _state(entry.stat())
        if len(found) > MOST_FILES:
            raise OSError(errno.EFBIG, "more files than are looked at", path)
    return found


def _as_one(path: str, suffix: str = "") -> FileState:
    """One state for all files below a folder; while `one_moment` lasts, that of the first look."""
    states = {} if _moment is None else _moment.states
    if (path, suffix) not in states:
        states[path, suffix] = one_state(_found_below([path], suffix))
    return states[path, suffix]


def one_state(files: Mapping[str, FileState]) -> FileState:
    """The states of several files as one, which is as new as the newest of them."""
    digest = sha256(repr(sorted(files.items())).encode())
    return (int(digest, 16), max((seen[-1] for seen in files.values() if seen), default=0))


@dataclass(frozen=True)
class _Moment:
    began: int = field(default_factory=time.time_ns)
    states: dict[tuple[str, str], FileState] = field(default_factory=dict)


_moment: _Moment | None = None


@contextmanager
def one_moment() -> Iterator[None]:
    """Looks at every folder of code once in the meantime, for questions about many papers.

    What is touched in between shows the next time, since its state is older than what is read.
    """
    global _moment
    before, _moment = _moment, _moment or _Moment()
    try:
        yield
    finally:
        _moment = before


def _state(seen: os.stat_result) -> FileState:
    times = seen.st_mtime_ns, seen.st_ctime_ns
    return (seen.st_dev, seen.st_ino, seen.st_mode, seen.st_size, *times)


def _is_gone(entry: os.DirEntry[str]) -> bool:
    """True if it is a link that leads to nothing."""
    return entry.is_symlink() and not os.path.exists(entry.path)


@cache
def tool_files() -> Mapping[str, FileState] | None:
    """The state of reproaudit's own files, with every installed package and its version.

    It is looked at once in a process, whose code is that of its start: what is answered by code
    that was touched since is remembered under a state that never comes back.
    """
    found = look_at([_PACKAGE])
    if found is None:
        return None
    found |= {f"{name} {sys.version}": () for name in _distributions()}
    return {"reproaudit": one_state(found)}


def _distributions() -> Iterator[str]:
    """Yields the places of installed packages; their names tell the version."""
    for place in sys.path:
        with suppress(OSError):
            for name in os.listdir(place or "."):
                if name.endswith((".dist-info", ".egg-info")):
                    yield os.path.join(place, name)


class Memo:
    """The answer to a question, if it was given before and nothing has changed since.

    Args:
        question: what is asked, with all that the answer depends on beside files; JSON.
        files: what the answer is made from, as `look_at` saw it before anything was read; None for
            a question that cannot be remembered.
    """

    def __init__(self, question: object, files: Mapping[str, FileState] | None) -> None:
        self._question = json.dumps(question)
        self._state = None if files is None else Snapshot.of(files)
        self._file = memo_folder() / f"{sha256(self._question.encode())}.json"

    def answer(self) -> Any | None:
        """The answer that was kept; None if there is none, or a file has changed."""
        if self._state is None:
            return None
        try:
            kept = json.loads(unseal(self._file.read_bytes(), self._question))
        except (OSError, DamagedError, ValueError):
            return None
        return kept["answer"] if kept["state"] == self._state.digest else None

    def keep(self, answer: object) -> None:
        """Keeps an answer, if its files have settled and the folder can be written."""
        if self._state is None or not self._state.is_settled:
            return
        kept = {"state": self._state.digest, "answer": answer}
        body = json.dumps(kept, ensure_ascii=False).encode(errors="surrogatepass")
        with suppress(OSError, AuditError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self._file, seal(body, self._question), durable=False)
            _forget_the_oldest(self._file.parent)


def memo_folder() -> Path:
    """The folder of answers, whether it exists or not."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "reproaudit" / "answers"


def forget_all() -> None:
    """Removes every answer, so that the next look reads every file."""
    for path in memo_folder().glob("*.json"):
        with suppress(OSError):
            path.unlink()


def _forget_the_oldest(folder: Path) -> None:
    names = os.listdir(folder)
    if len(names) <= MOST_ANSWERS:
        return
    by_age = sorted((os.stat(folder / name).st_mtime_ns, name) for name in names)
    for _, name in by_age[: MOST_ANSWERS // 2]:
        with suppress(OSError):
            os.unlink(folder / name)
