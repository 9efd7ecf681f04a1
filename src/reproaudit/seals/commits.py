"""The commits of a repository in an order that no clock changes, and what each did to a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from reproaudit.seals.history import Repository

EARLIEST = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class Commit:
    """A commit.

    Attributes:
        name: its full name.
        parents: the names of the commits before it.
        date: when it was made by its clock, but no earlier than any of its ancestors
            and no later than now.
        subject: the first line of its message.
        number: its place in an order in which each commit stands after its ancestors.
    """

    name: str
    parents: tuple[str, ...]
    date: datetime
    subject: str
    number: int


@dataclass(frozen=True)
class FileVersion:
    """A file as a commit has it.

    Attributes:
        commit: the commit.
        path: the file.
        blob: the name of its content; None if it is not there.
        before: the same for each parent, where it may have another path.
    """

    commit: Commit
    path: str
    blob: str | None
    before: tuple[str | None, ...]


@dataclass(frozen=True)
class Commits:
    """The commits of every branch, by name, each after its ancestors."""

    repository: Repository
    by_name: dict[str, Commit]

    @classmethod
    def of(cls, repository: Repository) -> Commits:
        """Reads the commits of a repository.

        Raises:
            NoHistoryError: if git cannot tell.
        """
        shape = ("--topo-order", "--reverse", "--format=%x00%H%x1f%P%x1f%cI%x1f%s")
        told = repository.git("log", *shape, *repository.ends(), "HEAD")
        now = datetime.now(UTC)  # no commit is younger, whatever a clock said
        found: dict[str, Commit] = {}
        for number, line in enumerate(told.decode(errors="replace").split("\0")[1:]):
            name, listed, date, subject = line.rstrip("\n").split("\x1f", 3)
            parents = tuple(listed.split())
            latest = max((found[one].date for one in parents), default=EARLIEST)
            with suppress(ValueError):  # a date that no calendar has
                latest = max(latest, min(datetime.fromisoformat(date), now))
            found[name] = Commit(name, parents, latest, subject, number)
        return cls(repository, found)

    def listed(self, *asked: str) -> list[Commit]:
        """The commits that git lists where it is asked so, each after its ancestors."""
        names = self.repository.git("rev-list", "--full-history", *asked).decode().split()
        return sorted((self.by_name[one] for one in names), key=lambda one: one.number)

    def versions(self, ends: Sequence[str], place: str) -> list[FileVersion]:
        """The files that commits changed; of a merge, those that it has from none of its parents.

        Files that were renamed or copied are followed to their earlier names.

        Args:
            ends: the words by which git lists the commits.
            place: the path of a file, or a pattern as git has it.
        """
        found: dict[tuple[str, str], FileVersion] = {}
        todo = [(tuple(ends), place)]
        for asked, where in todo:
            for version in self._versions(asked, where):
                key = (version.commit.name, version.path)
                if key in found:
                    continue
                source = None if any(version.before) else self._source(version)
                if source is not None:
                    version = self.version(version.commit, version.path, source)
                    todo.append((version.commit.parents, literal(source)))
                found[key] = version
        return sorted(found.values(), key=lambda one: (one.commit.number, one.path))

    def version(self, commit: Commit, path: str, earlier: str | None = None) -> FileVersion:
        """A file in a commit, and before it, there under an earlier name if one is given."""
        now = self.repository.blobs([commit.name], path)[commit.name]
        then = self.repository.blobs(commit.parents, earlier or path)
        return FileVersion(commit, path, now, tuple(then[one] for one in commit.parents))

    def _versions(self, ends: Iterable[str], place: str) -> Iterator[FileVersion]:
        listed = self.repository.git("rev-list", "--full-history", *ends, "--", place)
        asked = ("diff-tree", "--stdin", "-r", "-c", "--root", "--no-renames", "--no-abbrev", "-z")
        told = self.repository.git(*asked, "--", place, given=listed)
        words = iter(told.decode(errors="surrogateescape").split("\0")[:-1])
        commit = ""
        for word in words:
            if not word.startswith(":"):
                commit = word
                continue
            about = word.lstrip(":").split()[:-1]  # modes, then as many names; of the parents first
            *before, now = (one if one.strip("0") else None for one in about[len(about) // 2 :])
            made = self.by_name[commit]
            yield FileVersion(made, next(words), now, tuple(before) if made.parents else ())

    def _source(self, version: FileVersion) -> str | None:
        """The earlier name of a file that no parent has; None if it is new."""
        if version.blob is None or not version.commit.parents:
            return None
        shape = ("-1", "--follow", "-m", "--name-status", "-z", "--format=")
        told = self.repository.git("log", *shape, version.commit.name, "--", version.path)
        words = told.decode(errors="surrogateescape").split("\0")
        for how, source, path in zip(words, words[1:], words[2:], strict=False):
            if how[:1] in ("R", "C") and how[1:].isdigit() and path == version.path:
                return source
        return None


def literal(path: str) -> str:
    """A path for git, none of whose characters is a pattern."""
    return f":(top,literal){path}"
