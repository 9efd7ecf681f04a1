"""Changes of code in git's history: of what computes a paper's measurements, and of what judges.

The code of a commit is written to a temporary folder and hashed there exactly as a rule hashes
today's. Two commits with equal hashes have the same code; between two others, the changed files
that the hash covers are named. Nothing of what is written there is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from reproaudit.audit.catalog import PACKAGE, Entry
from reproaudit.audit.command_module import CommandModule
from reproaudit.errors import SpecError
from reproaudit.running.code_hash import code_closure
from reproaudit.seals.changes import WHOLE
from reproaudit.seals.entries import CodeChange
from reproaudit.seals.history import NoHistoryError, Repository
from reproaudit.seals.rule import CODE, JUDGING, STREAM, code_of_package, digest, hash_of_code

CODE_KINDS = (CODE, STREAM, JUDGING)

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
    _states: dict[str, CodeState] = field(default_factory=dict)
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

    def commits(self, after: str) -> list[str]:
        """The commits that are not before a commit and touched Python files here, oldest first."""
        if not self.places:
            return []
        order = ("--reverse", "--topo-order", "--no-merges", "--full-history")
        listed = self.repository.git("rev-list", *order, "HEAD", f"^{after}", "--", *self.places)
        return listed.decode().split()

    def changes(self, commit: str) -> tuple[CodeChange, ...]:
        """The code that a commit changed, against the commit before it."""
        parent = f"{commit}^"
        told = self.repository.git(
            "diff-tree",
            "-r",
            "--no-renames",
            "--name-status",
            "-z",
            parent,
            commit,
            "--",
            *self.places,
        )
        words = [one.decode(errors="replace") for one in told.split(b"\0") if one]
        states, names = words[::2], words[1::2]
        key = self.repository.git("rev-parse", parent).decode().strip()
        before = self._state(key)
        may_begin = "A" in states and len(before.hashes) < len(CODE_KINDS)
        if not may_begin and not _covered(names, before):
            self._states[commit] = before
            return ()
        return _differences(before, self._state(commit), names)

    def uncommitted(self) -> tuple[CodeChange, ...]:
        """The code that the working tree changes, against the last commit."""
        names = self.repository.changed(self.places) if self.places else []
        if not names:
            return ()
        head = self.repository.git("rev-parse", "HEAD").decode().strip()
        return _differences(self._state(head), self._hashed(self.repository.root), names)

    def _state(self, commit: str) -> CodeState:
        if commit not in self._states:
            with TemporaryDirectory() as folder:
                self._write(commit, Path(folder))
                self._states[commit] = self._hashed(Path(folder))
        return self._states[commit]

    def _write(self, commit: str, folder: Path) -> None:
        """Writes the Python files of a commit below a folder."""
        listed = self.repository.git("ls-tree", "-r", "-z", commit, "--", *self.places)
        blobs: dict[str, str] = {}
        for line in listed.split(b"\0")[:-1]:
            about, _, name = line.decode(errors="replace").partition("\t")
            mode, kind, blob = about.split()
            if kind == "blob" and mode != "120000" and name.endswith((".py", ".run.yaml")):
                blobs[name] = blob
        missing = sorted({blob for blob in blobs.values() if blob not in self._blobs})
        self._blobs |= self.repository.contents(missing)
        for name, blob in blobs.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(self._blobs[blob])

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


def _differences(
    before: CodeState, after: CodeState, names: Iterable[str]
) -> tuple[CodeChange, ...]:
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
