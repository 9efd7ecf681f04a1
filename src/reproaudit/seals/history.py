"""Git's history of a file, read without running anything that a repository could name."""

from __future__ import annotations

import os
import re
import string
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60
SAFE = tuple(
    word
    for option in (
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "log.showSignature=0",
        "core.commitGraph=false",  # a cache of parents, which anybody could write
    )
    for word in ("-c", option)
)
AS_WRITTEN = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}
"""History as its commits have it, whatever other parents this clone was told to show."""


class NoHistoryError(Exception):
    """Git cannot tell; the text says why."""


class NoCheckoutError(NoHistoryError):
    """There is no repository around a file."""


@dataclass(frozen=True)
class Repository:
    """The checkout that a file belongs to.

    Attributes:
        root: its top folder.
    """

    root: Path

    @classmethod
    def of(cls, path: Path) -> Repository:
        """The checkout around a path, which need not exist.

        Raises:
            NoCheckoutError: if there is none.
            NoHistoryError: if git cannot be asked.
        """
        folder = path.absolute().parent
        while not folder.is_dir():
            folder = folder.parent
        here = folder.resolve()
        if not any((one / ".git").exists() for one in (here, *here.parents)):
            raise NoCheckoutError("not in a checkout of git")  # said without starting git
        return cls(Path(_git(folder, "rev-parse", "--show-toplevel").decode().rstrip("\n")))

    def git(self, *arguments: str) -> bytes:
        """The output of a git command.

        Raises:
            NoHistoryError: if it fails.
        """
        return _git(self.root, *arguments)

    def name(self, path: Path) -> str:
        """A path as git writes it."""
        whole = path.absolute().parent.resolve() / path.name
        try:
            return whole.relative_to(self.root.resolve()).as_posix()
        except ValueError as error:
            raise NoHistoryError(f"{path} lies outside {self.root}") from error

    def ends(self) -> list[str]:
        """The words by which git lists the commits of branches, tags and every stash."""
        with suppress(NoHistoryError):
            return ["--all", *self.git("log", "-g", "--format=%H", "refs/stash").decode().split()]
        return ["--all"]

    def revision(self) -> str:
        """The commit that is checked out, with "+dirty" if tracked files were changed."""
        changed = self.git("status", "--porcelain", "--untracked-files=no")
        return self.git("rev-parse", "HEAD").decode().strip() + ("+dirty" if changed else "")

    def is_shallow(self) -> bool:
        """True if old commits were left out when it was cloned."""
        return self.git("rev-parse", "--is-shallow-repository").strip() == b"true"

    def at(self, commit: str, name: str) -> bytes | None:
        """A file in a commit; None if it is not there."""
        try:
            return self.git("cat-file", "blob", f"{commit}:{name}")
        except NoHistoryError:
            return None

    def has(self, commit: str, name: str) -> bool:
        """True if a file or a folder is in a commit."""
        try:
            return bool(self.git("rev-parse", "--verify", "--quiet", f"{commit}:{name}"))
        except NoHistoryError:
            return False

    def versions(self, name: str) -> list[tuple[str, tuple[str, ...]]]:
        """Every commit of this branch that changed a file, with the one before it that did.

        Of a merge, the branch that was merged into this one is another branch (see `others`).
        """
        asked = ("rev-list", "--first-parent", "--full-history", "--parents", "HEAD", "--", name)
        listed = self.git(*asked)
        lines = [line.split() for line in listed.decode().splitlines()]
        return [(commit, tuple(parents[:1])) for commit, *parents in lines]

    def blobs(self, commits: Sequence[str], name: str) -> dict[str, str | None]:
        """By commit, the name that git gives to a file's content; None if it is not there.

        Raises:
            NoHistoryError: if a commit has the file and this clone lacks it, as a partial one may.
        """
        asked = "".join(f"{commit}:{name}\n" for commit in commits).encode()
        told = _git(self.root, "cat-file", "--batch-check", given=asked).decode(errors="replace")
        lines = [line.split() for line in told.splitlines()]
        found = {
            commit: line[0] if len(line) == 3 and line[1] == "blob" else None
            for commit, line in zip(commits, lines, strict=True)
        }
        for commit, blob in found.items():
            if blob is None and self.has(commit, name):
                raise NoHistoryError(f"this clone lacks {name} of commit {commit[:12]}")
        return found

    def contents(self, blobs: Sequence[str]) -> dict[str, bytes]:
        """The contents of blobs by the names that git gives them."""
        told = _git(
            self.root, "cat-file", "--batch", given="".join(f"{b}\n" for b in blobs).encode()
        )
        found: dict[str, bytes] = {}
        at = 0
        for blob in blobs:
            end = told.index(b"\n", at)
            size = int(told[at:end].split()[2])
            found[blob] = told[end + 1 : end + 1 + size]
            at = end + size + 2
        return found

    def changed(self, names: Sequence[str]) -> list[str]:
        """The files among some paths that differ from the commit or are not in it.

        Files that git was told not to look at (``assume-unchanged``, ``skip-worktree``) are among
        them, whatever they hold.
        """
        found = self.git("status", "--porcelain", "-z", "--untracked-files=all", "--", *names)
        changed = [one.decode(errors="replace")[3:] for one in found.split(b"\0") if one]
        listed = self.git("ls-files", "-v", "-z", "--", *names).decode(errors="replace")
        told_not_to = string.ascii_lowercase + "S"
        passed_over = (one[2:] for one in listed.split("\0") if one and one[0] in told_not_to)
        return list(dict.fromkeys([*changed, *passed_over]))


def revision_of(path: Path) -> str | None:
    """The git revision around a path; None outside git."""
    try:
        return Repository.of(path).revision()
    except NoHistoryError:
        return None


def lacking(path: Path, now: bytes) -> str | None:
    """A commit before which a file held something that it no longer holds; None if there is none.

    Args:
        path: the file.
        now: what it holds.

    Raises:
        NoHistoryError: if git cannot tell.
    """
    repository = Repository.of(path)
    name = repository.name(path)
    commits = [commit for commit, _ in repository.versions(name)]  # the newest first
    blobs = repository.blobs(commits, name)
    contents = repository.contents(sorted({one for one in blobs.values() if one is not None}))
    for commit, blob in blobs.items():
        if blob is not None and not now.startswith(contents[blob]):
            return commit
    return None


def others(path: Path, now: bytes) -> list[bytes]:
    """The contents of a file, in commits of any branch, with which its present one does not begin.

    Among them are those of branches that were merged, where a merge kept the file of this one.

    Args:
        path: the file.
        now: what it holds.

    Raises:
        NoHistoryError: if git cannot tell.
    """
    repository = Repository.of(path)
    name = repository.name(path)
    ends = repository.ends()
    listed = repository.git("rev-list", *ends, "--full-history", "--", name).decode().split()
    blobs = {one for one in repository.blobs(listed, name).values() if one is not None}
    contents = repository.contents(sorted(blobs)).values()
    return [content for content in contents if not now.startswith(content)]


def removed(folder: Path) -> dict[str, str]:
    """The files that commits of any branch took from a folder and that are gone, each with one.

    A file that was emptied is gone as well.

    Raises:
        NoHistoryError: if git cannot tell.
    """
    found = _touched(folder, "DM")
    return {file.name: commit for file, commit in found.items() if _is_gone(file)}


def absent(folder: Path) -> dict[str, str]:
    """The files that commits of any branch have in a folder and that are not here, each with one.

    Raises:
        NoHistoryError: if git cannot tell.
    """
    found = _touched(folder, "AM")
    return {file.name: commit for file, commit in found.items() if _is_gone(file)}


def _is_gone(file: Path) -> bool:
    return not file.exists() or not file.stat().st_size


def _touched(folder: Path, how: str) -> dict[Path, str]:
    """The files of a folder that commits of any branch touched so, each with the last such commit.

    Args:
        folder: the folder.
        how: letters as git has them, A for added, M for modified, D for deleted.
    """
    repository = Repository.of(folder / "file")
    name = repository.name(folder)
    asked = ("log", *repository.ends(), "--full-history", f"--diff-filter={how}", "--no-renames")
    shape = ("--name-only", "--format=commit %H", "-z")
    told = repository.git(*asked, *shape, "--", name).decode(errors="replace")
    found: dict[Path, str] = {}
    commit = ""
    for word in filter(None, re.split(r"[\0\n]", told)):
        if word.startswith("commit "):
            commit = word.removeprefix("commit ")
        else:
            found.setdefault(repository.root / word, commit)
    return found


def reference_files(path: Path) -> list[Path]:
    """The files and folders in which git keeps where the branches around a path end.

    They are found without git, since they are looked at whenever something is shown.
    """
    absolute = path.absolute()
    top = next((one for one in absolute.parents if (one / ".git").exists()), None)
    if top is None:
        return []
    own = top / ".git"
    with suppress(OSError):
        if own.is_file():  # of a further worktree, or of a submodule
            own = top / own.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        shared = own / "commondir"
        shared = own / shared.read_text(encoding="utf-8").strip() if shared.is_file() else own
        heads = shared.glob("worktrees/*/HEAD")
        names = ("HEAD", "refs", "packed-refs", "reftable", "shallow")
        return [own / "HEAD", *(shared / name for name in names), *heads]
    return [own]


def is_anywhere(path: Path, text: str) -> bool:
    """True if a commit of any branch added a text to a file.

    Raises:
        NoHistoryError: if git cannot tell.
    """
    repository = Repository.of(path)
    name = repository.name(path)
    asked = (
        "log",
        *repository.ends(),
        "-m",
        "-1",
        "--format=%H",
    )  # -m: what is stashed is in a merge
    return bool(repository.git(*asked, f"-S{text}", "--", name))


def faults_in_history(path: Path, now: bytes) -> list[str]:
    """The faults in a file's history: each version on this branch must begin with the one before.

    Args:
        path: the file.
        now: what it holds.

    Raises:
        NoHistoryError: if git cannot tell: there is none, or the clone is shallow.
    """
    repository = Repository.of(path)
    if repository.is_shallow():
        raise NoHistoryError("this clone is shallow: fetch the rest with git fetch --unshallow")
    name = repository.name(path)
    versions = repository.versions(name)
    every = dict.fromkeys(one for commit, parents in versions for one in (commit, *parents))
    blobs = repository.blobs(list(every), name)
    pairs = {
        (blobs[parent], blobs[commit]): (parent, commit)
        for commit, parents in versions
        for parent in parents
        if blobs[parent] is not None and blobs[parent] != blobs[commit]
    }
    contents: dict[str | None, bytes] = {None: b""}
    for blob in {blob for pair in pairs for blob in pair if blob is not None}:
        contents[blob] = repository.git("cat-file", "blob", blob)
    faults = [
        f"commit {commit[:12]} took away or changed what {parent[:12]} had"
        for (before, after), (parent, commit) in pairs.items()
        if not contents[after].startswith(contents[before])
    ]
    if not now.startswith(repository.at("HEAD", name) or b""):
        faults.append("it lacks or changes something that is committed")
    return faults


def _git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    kept = (name for name in os.environ if not re.match("GIT_(?!CONFIG)", name))
    plain = {name: os.environ[name] for name in kept}
    try:
        done = subprocess.run(
            ["git", *SAFE, "-C", str(folder), *arguments],
            capture_output=True,
            timeout=SECONDS,
            env={**plain, **AS_WRITTEN, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
            input=given,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoHistoryError("git cannot be run here") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise NoHistoryError(said[-1] if said else "git gave no answer")
    return done.stdout
