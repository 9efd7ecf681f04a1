"""Changes of code in git's history: of what computes a paper's measurements, and of what judges.

The code of a commit is written to a temporary folder and hashed there exactly as a rule hashes
today's. Two commits with equal hashes have the same code; between two others, the changed files
that the hash covers are named. Nothing of what is written there is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from reproaudit.audit.catalog import PACKAGE, Entry
from reproaudit.audit.command_module import CommandModule
from reproaudit.errors import SpecError
from reproaudit.running.code_hash import code_closure
from reproaudit.seals.changes import WHOLE
from reproaudit.seals.commits import Commit, Commits
from reproaudit.seals.entries import CodeChange
from reproaudit.seals.history import NoHistoryError, Repository
from reproaudit.seals.rule import CODE, JUDGING, STREAM, code_of_package, digest, hash_of_code

CodeChanges = tuple[CodeChange, ...]

MOST_NAMED_FILES = 8
"""Files that one change names at most."""


@dataclass(frozen=True)
class CodeState:
    """The code of a commit or of the working tree.

    Attributes:
        hashes: by the path in a rule; what is missing or is no valid Python is left out.
        files: by the same path, the files that the hash covers, without ``.py``.
    """

    hashes: Mapping[str, str]
    files: Mapping[str, frozenset[str]]


@dataclass
class PastCode:
    """The code of a paper, and ours if it is in the same checkout, at any commit.

    Attributes:
        repository: the checkout.
        paper: the paper.
    """

    repository: Repository
    paper: Entry
    _states: dict[bytes, CodeState] = field(default_factory=dict)
    _keys: dict[str, bytes] = field(default_factory=dict)
    _blobs: dict[str, bytes] = field(default_factory=dict)

    @property
    def _package(self) -> str | None:
        try:
            return self.repository.name(PACKAGE)
        except NoHistoryError:
            return None

    @property
    def _module(self) -> str | None:
        code = self.paper.code
        return None if code is None else self.repository.name(code.file)

    @property
    def places(self) -> list[str]:
        """The folders whose files can count, as git writes them."""
        module, package = self._module, self._package
        found = [package] if package is not None else []
        if module is not None and not (package and module.startswith(f"{package}/")):
            found.append(module.rpartition("/")[0] or ".")
        return found

    def commits(self, commits: Commits, after: str) -> list[Commit]:
        """The commits that are not before a commit and touched files here, and all merges."""
        if not self.places:
            return []
        asked = ("HEAD", f"^{after}")
        touched = {one.name: one for one in commits.listed(*asked, "--", *self.places)}
        touched |= {one.name: one for one in commits.listed("--merges", *asked)}
        return sorted(touched.values(), key=lambda one: one.number)

    def changes(self, commit: Commit, against: Sequence[str] = ()) -> Iterator[CodeChanges]:
        """Yields the code that a commit changed, against the commit before it.

        Of a merge that is what it has from none of its parents, against the first of them.

        Args:
            commit: the commit.
            against: parents of a merge against which it is held in full.
        """
        if commit.parents and commit.parents[0] not in against:
            changed = self._changed("-c", commit.name)
            if changed:
                own = list(changed) if len(commit.parents) > 1 else None
                yield self._since(commit.parents[0], commit.name, changed, own)
        for parent in against:
            yield self._since(parent, commit.name, self._changed(parent, commit.name))

    def _changed(self, *asked: str) -> list[str]:
        """The files here that git tells of."""
        shape = ("-r", "--no-renames", "--no-commit-id", "--name-only", "-z")
        told = self.repository.git("diff-tree", *shape, *asked, "--", *self.places)
        return [one.decode(errors="replace") for one in told.split(b"\0") if one]

    def _since(
        self, parent: str, commit: str, names: Sequence[str], own: Sequence[str] | None = None
    ) -> CodeChanges:
        """The changes of a commit in some files; only in `own`, if the rest is of other parents."""
        before = self._state(parent)
        key = self._key(commit)
        is_whole = own is None and self._kinds <= before.hashes.keys()
        if is_whole and not _covered(names, before):
            self._states.setdefault(key, before)
            return ()
        after = self._state(commit)
        lost = before.hashes.keys() - after.hashes.keys()
        if lost:  # so that code which was taken away and put back is held against what it was
            kept = {name: before.hashes[name] for name in lost}
            files = {name: before.files[name] for name in lost}
            after = CodeState({**after.hashes, **kept}, {**after.files, **files})
            self._states[key] = after
        if own is not None:
            there, then = self._blobs_of(commit), self._blobs_of(parent)
            others = {name: blob for name, blob in there.items() if name not in own}
            before = self._hashed_as(others | {one: then[one] for one in own if one in then})
        return _differences(before, after, names)

    def uncommitted(self) -> CodeChanges:
        """The code that the working tree changes, against the last commit."""
        names = self.repository.changed(self.places) if self.places else []
        if not names:
            return ()
        head = self.repository.git("rev-parse", "HEAD").decode().strip()
        return _differences(self._state(head), self._hashed(self.repository.root), names)

    @property
    def _kinds(self) -> set[str]:
        """The paths in a rule that code can have here."""
        ours = set() if self._package is None else {STREAM, JUDGING}
        return ours | (set() if self._module is None else {CODE})

    def _state(self, commit: str) -> CodeState:
        key = self._key(commit)
        if key not in self._states:
            self._states[key] = self._hashed_as(self._blobs_of(commit))
        return self._states[key]

    def _key(self, commit: str) -> bytes:
        """The trees of the folders here: equal where two commits have the same files."""
        if commit not in self._keys:
            told = self.repository.git("ls-tree", "-z", commit, "--", *self.places)
            self._keys[commit] = told
        return self._keys[commit]

    def _blobs_of(self, commit: str) -> dict[str, str]:
        """The Python files and run files of a commit, each with the name of its content."""
        listed = self.repository.git("ls-tree", "-r", "-z", commit, "--", *self.places)
        blobs: dict[str, str] = {}
        for line in listed.split(b"\0")[:-1]:
            about, _, name = line.decode(errors="replace").partition("\t")
            mode, kind, blob = about.split()
            if kind == "blob" and mode != "120000" and name.endswith((".py", ".run.yaml")):
                blobs[name] = blob
        return blobs

    def _hashed_as(self, blobs: Mapping[str, str]) -> CodeState:
        missing = sorted({blob for blob in blobs.values() if blob not in self._blobs})
        self._blobs |= self.repository.contents(missing)
        with TemporaryDirectory() as folder:
            for name, blob in blobs.items():
                file = Path(folder) / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(self._blobs[blob])
            return self._hashed(Path(folder))

    def _hashed(self, root: Path) -> CodeState:
        hashes: dict[str, str] = {}
        files: dict[str, frozenset[str]] = {}
        package = None if self._package is None else root / self._package
        module = None if self._module is None else root / self._module
        if module is not None and module.exists():
            if isinstance(self.paper.code, CommandModule):
                hashes[CODE] = digest(module.read_bytes().decode(errors="replace"))
                files[CODE] = frozenset({self._module or ""})
            else:
                try:
                    code = code_closure(module, [one for one in (package, module.parent) if one])
                    hashes[CODE] = code.digest
                    folder = (self._module or "").rpartition("/")[0]
                    files[CODE] = frozenset(self._files(code.modules, folder))
                except SpecError:
                    pass
        if package is not None and package.is_dir():
            try:
                for name, closures in code_of_package(package).items():
                    hashes[name] = hash_of_code(name, closures)
                    modules = (one for closure in closures.values() for one in closure.modules)
                    files[name] = frozenset(self._files(modules, self._package or ""))
            except SpecError:
                pass
        return CodeState(hashes, files)

    def _files(self, modules: Iterable[str], folder: str) -> Iterator[str]:
        """The files of dotted modules, as git writes them, without ``.py`` or ``/__init__.py``.

        Args:
            modules: the modules.
            folder: where those are that are not named from our package on.
        """
        package = self._package
        above = package.rpartition("/")[0] if package else ""
        for dotted in modules:
            is_ours = package is not None and dotted.split(".")[0] == PACKAGE.name
            place = above if is_ours else folder
            name = dotted.replace(".", "/")
            yield f"{place}/{name}" if place else name


def _covered(names: Iterable[str], *states: CodeState, path: str | None = None) -> list[str]:
    """The files among some names that the hashes of states cover."""
    known = {
        file
        for state in states
        for name, files in state.files.items()
        if path in (None, name)
        for file in files
    }
    return [one for one in names if one.removesuffix(".py").removesuffix("/__init__") in known]


def _differences(before: CodeState, after: CodeState, names: Iterable[str]) -> CodeChanges:
    found = []
    for path in sorted(before.hashes.keys() & after.hashes.keys()):
        if before.hashes[path] == after.hashes[path]:
            continue
        files = tuple(sorted(_covered(names, before, after, path=path)))
        shown = ", ".join(files[:MOST_NAMED_FILES])
        more = f" and {len(files) - MOST_NAMED_FILES} more" if len(files) > MOST_NAMED_FILES else ""
        what = f"{WHOLE[path]} ({shown}{more})" if files else WHOLE[path]
        found.append(CodeChange(what=what, files=files))
    return tuple(found)
