"""Git's history of a file, read without running anything that a repository could name."""

from __future__ import annotations

import hashlib
import os
import re
import string
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SECONDS = 60
SAFE = tuple(
    word
    for option in (
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "log.showSignature=0",
        "core.commitGraph=false",  # a cache of parents, which anybody could write
        "log.showRoot=true",  # else what the first commit added is not listed; so the others
        "log.follow=false",
        "log.diffMerges=separate",
        "diff.relative=false",
        f"diff.orderFile={os.devnull}",
    )
    for word in ("-c", option)
)
AS_WRITTEN = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}
"""History as its commits have it, whatever other parents this clone was told to show."""


class NoHistoryError(Exception):
    """Git cannot tell; the text says why."""


class NoCheckoutError(NoHistoryError):
    """There is no repository around a file."""


class Blob(NamedTuple):
    """The content of a file in a commit.

    Attributes:
        name: by which git knows it: its hash.
        size: in bytes.
    """

    name: str
    size: int

    def is_beginning_of(self, content: bytes) -> bool:
        """True if a content begins with this one; git need not be asked for it."""
        kind = "sha1" if len(self.name) == 40 else "sha256"
        first = content[: self.size]
        return hashlib.new(kind, b"blob %d\0" % self.size + first).hexdigest() == self.name


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
        """
        folder = path.absolute().parent
        while not folder.is_dir():
            folder = folder.parent
        here = folder.resolve()
        top = next((one for one in (here, *here.parents) if (one / ".git").exists()), None)
        if top is None:
            raise NoCheckoutError("not in a checkout of git")  # said without starting git
        return cls(top)

    def git(self, *arguments: str, given: bytes = b"") -> bytes:
        """The output of a git command, to which its input may be given.

        Raises:
            NoHistoryError: if it fails.
        """
        return _git(self.root, *arguments, given=given)

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
        asked = ("status", "--porcelain", "--untracked-files=no")
        changed = _git(self.root, *asked, more=_without_filters(self.root))
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
        return {commit: blob and blob.name for commit, blob in self.sized(commits, name).items()}

    def sized(self, commits: Sequence[str], name: str) -> dict[str, Blob | None]:
        """As `blobs`, with the sizes of the contents."""
        if not commits:
            return {}
        asked = "".join(f"{commit}:{name}\n" for commit in commits).encode()
        told = _git(self.root, "cat-file", "--batch-check", given=asked).decode(errors="replace")
        lines = [line.split() for line in told.splitlines()]
        found = {
            commit: Blob(line[0], int(line[2])) if len(line) == 3 and line[1] == "blob" else None
            for commit, line in zip(commits, lines, strict=True)
        }
        for commit, blob in found.items():
            if blob is None and self.has(commit, name):
                raise NoHistoryError(f"this clone lacks {name} of commit {commit[:12]}")
        return found

    def contents(self, blobs: Sequence[str]) -> dict[str, bytes]:
        """The contents of blobs by the names that git gives them."""
        if not blobs:
            return {}
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

    def every_content(self, name: str) -> list[bytes]:
        """Each content that a file has in a commit of any branch."""
        asked = ("rev-list", *self.ends(), "--full-history", "--", name)
        listed = self.git(*asked).decode().split()
        blobs = {one for one in self.blobs(listed, name).values() if one is not None}
        return list(self.contents(sorted(blobs)).values())

    def changed(self, names: Sequence[str]) -> list[str]:
        """The files among some paths that hold anything else than in the commit, or are not in it.

        What they hold is read here: a filter in git's configuration may take a file for another
        one. Files that git was told not to look at (``assume-unchanged``, ``skip-worktree``) are
        among them, whatever they hold.
        """
        listed = self.git("ls-tree", "-r", "-z", "HEAD", "--", *names).split(b"\0")
        committed = {
            name.decode(errors="surrogateescape"): described.decode().split()
            for described, _, name in (one.partition(b"\t") for one in listed if one)
        }
        blobs = {name: blob for name, (_, kind, blob) in committed.items() if kind == "blob"}
        contents = self.contents(sorted(set(blobs.values())))
        differing = [
            name for name, blob in blobs.items() if not _holds(self.root / name, contents[blob])
        ]
        present = self.git("ls-files", "-v", "-z", "-c", "-o", "--exclude-standard", "--", *names)
        told_not_to = string.ascii_lowercase + "S"
        for one in present.decode(errors="surrogateescape").split("\0"):
            if one and (one[2:] not in committed or one[0] in told_not_to):
                differing.append(one[2:])
        return list(dict.fromkeys(differing))


def _holds(file: Path, content: bytes) -> bool:
    """True if a file has a content; line ends may be those of Windows.

    A symbolic link has none: what it leads to is in no commit under this name.
    """
    if file.is_symlink():
        return False
    try:
        return file.read_bytes().replace(b"\r\n", b"\n") == content.replace(b"\r\n", b"\n")
    except OSError:
        return False


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
    for commit, blob in repository.sized(commits, name).items():
        if blob is not None and not blob.is_beginning_of(now):
            return commit
    return None


def others(path: Path, now: bytes) -> list[bytes]:
    """The contents of a file, in commits of any branch, with which its present one does not begin.

    Among them are those of branches that were merged, where a merge kept the file of this one, and
    those of a file of its name in another folder of the name of its own.

    Args:
        path: the file.
        now: what it holds.

    Raises:
        NoHistoryError: if git cannot tell.
    """
    repository = Repository.of(path)
    name = repository.name(path)
    alike = {name, *(one for one in in_any_folder(path.parent) if Path(one).name == path.name)}
    found = [one for name in sorted(alike) for one in repository.every_content(name)]
    return [one for one in dict.fromkeys(found) if not now.startswith(one)]


def removed(folder: Path) -> dict[str, str]:
    """The files that commits of any branch took from a folder and that are gone, each with one.

    A file that was emptied is gone as well.

    Raises:
        NoHistoryError: if git cannot tell.
    """
    found = _touched(folder, "DM")
    return {file.name: commit for file, commit in found.items() if _is_gone(file)}


def in_any_folder(folder: Path) -> list[str]:
    """The files that commits have in any folder of this name, as git writes them.

    A folder that was copied or moved, and a file that was renamed, leaves such files behind.

    Raises:
        NoHistoryError: if git cannot tell.
    """
    named = f":(top,glob)**/{_literal(folder.name)}/*"
    return list(_commits_of(Repository.of(folder / "file"), named, "AM"))


def _literal(name: str) -> str:
    return re.sub(r"([\\*?\[\]])", r"\\\1", name)


def _is_gone(file: Path) -> bool:
    return not file.exists() or not file.stat().st_size


def _touched(folder: Path, how: str) -> dict[Path, str]:
    """The files of a folder that commits of any branch touched so, each with the last such commit.

    Args:
        folder: the folder.
        how: letters as git has them, A for added, M for modified, D for deleted.
    """
    repository = Repository.of(folder / "file")
    found = _commits_of(repository, repository.name(folder), how)
    return {repository.root / name: commit for name, commit in found.items()}


def _commits_of(repository: Repository, path: str, how: str) -> dict[str, str]:
    """The files that a path leads git to, each with the last commit that touched it so."""
    # -m, since a merge may bring files, or take them away, that none of its parents did
    asked = ("log", "-m", *repository.ends(), "--full-history", f"--diff-filter={how}")
    shape = ("--no-renames", "--name-only", "--format=commit %H", "-z")
    told = repository.git(*asked, *shape, "--", path).decode(errors="replace")
    found: dict[str, str] = {}
    commit = ""
    for word in filter(None, re.split(r"[\0\n]", told)):
        if word.startswith("commit "):
            commit = word.removeprefix("commit ")
        else:
            found.setdefault(word, commit)
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
        "--no-textconv",
        "--no-ext-diff",
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


def _without_filters(folder: Path) -> dict[str, str]:
    """The variables that make git run none of the filters which its configuration names."""
    with suppress(NoHistoryError):
        told = _git(folder, "config", "--null", "--name-only", "--get-regexp", r"^filter\.")
        drivers = {one.rpartition(".")[0] for one in told.decode().split("\0") if one}
        named = [f"{one}.{what}" for one in sorted(drivers) for what in ("clean", "process")]
        named += [f"{one}.required" for one in sorted(drivers)]
        first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
        given = {f"GIT_CONFIG_KEY_{n}": name for n, name in enumerate(named, first)}
        given |= {f"GIT_CONFIG_VALUE_{n}": "" for n in range(first, first + len(named))}
        return {**given, "GIT_CONFIG_COUNT": str(first + len(named))}
    return {}


def _git(
    top: Path, *arguments: str, given: bytes = b"", more: Mapping[str, str] | None = None
) -> bytes:
    """The output of git in a checkout.

    Its top is given, since a setting of git, core.worktree, can name any other folder.
    """
    kept = (name for name in os.environ if not re.match("GIT_(?!CONFIG)", name))
    plain = {name: os.environ[name] for name in kept}
    try:
        done = subprocess.run(
            ["git", *SAFE, "-C", str(top), f"--work-tree={top}", *arguments],
            capture_output=True,
            timeout=SECONDS,
            env={**plain, **AS_WRITTEN, **(more or {}), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
            input=given,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoHistoryError("git cannot be run here") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise NoHistoryError(said[-1] if said else "git gave no answer")
    return done.stdout
