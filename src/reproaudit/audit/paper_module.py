"""A paper's module or run file: its place, and its import where its cells are computed."""

from __future__ import annotations

import hashlib
import importlib
import sys
import traceback
import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproaudit.errors import SpecError

if TYPE_CHECKING:  # what only finds papers starts without the libraries that compute
    from reproaudit.lab.experiment import Experiment

OF_THE_EXTRA_RUN = frozenset(
    {"torch", "torchvision", "numba", "scipy", "sklearn", "threadpoolctl", "jaxtyping"}
)
"""The libraries that only the extra `run` installs, by the names under which they are imported."""

_PACKAGE = "_audits_"
"""Begins the names of packages that stand for users' folders."""

_SIBLINGS = "/."
"""Ends such a folder on ``sys.path``, so that workers, which inherit that, can tell it."""


@dataclass(frozen=True)
class Module:
    """A paper's module, to be imported where its cells are computed.

    Attributes:
        name: the dotted name of an importable module, or the stem of a file in a user's folder.
        file: the module's ``.py`` file or its package's folder.
        importable: True if ``name`` is found on ``sys.path``; otherwise ``file`` is loaded from
            its folder, where it may import its siblings, relatively or by name.
    """

    name: str
    file: Path
    importable: bool = True

    def load(self) -> Mapping[str, Experiment]:
        """Return the experiments of the module, which is imported here.

        Raises:
            SpecError: if it cannot be imported or defines no ``EXPERIMENTS``; one line.
            ModuleNotFoundError: if a library of the extra ``run`` is not installed.
        """
        from reproaudit.lab.experiment import Experiment

        self.find_siblings()
        try:
            module = importlib.import_module(self.name if self.importable else self._in_folder())
        except Exception as error:
            missing = str(error.name).partition(".")[0] if isinstance(error, ImportError) else ""
            if missing in OF_THE_EXTRA_RUN:
                raise
            raise SpecError(f"{self.file}: cannot be imported: {one_line(error)}") from error
        experiments = getattr(module, "EXPERIMENTS", None)
        if not isinstance(experiments, Mapping):
            raise SpecError(f"{self.file}: defines no mapping named EXPERIMENTS")
        for name, one in experiments.items():
            if not isinstance(one, Experiment):
                raise SpecError(f"{self.file}: EXPERIMENTS['{name}'] is not an Experiment")
        return experiments

    def find_siblings(self) -> None:
        """Let the module import more of its siblings by name, and none of another folder's.

        Helpers in two folders may have the same name, and Python keeps the first that it finds.
        """
        if self.importable:
            return
        folder = f"{self.file.resolve().parent}{_SIBLINGS}"
        others = [one for one in sys.path if one.endswith(_SIBLINGS) and one != folder]
        sys.path[:] = [one for one in sys.path if one not in others]
        below = tuple(one.removesuffix(".") for one in others)
        for name, module in list(sys.modules.items()):
            by_name = not name.startswith(_PACKAGE)  # relatively, each folder has its own names
            if by_name and str(getattr(module, "__file__", None)).startswith(below):
                del sys.modules[name]
        if folder not in sys.path:
            sys.path_importer_cache.pop(folder, None)
            sys.path.append(folder)  # last, so that no sibling hides a library

    def _in_folder(self) -> str:
        """The name for importing a file of a user's folder, different for every folder."""
        folder = str(self.file.resolve().parent)
        package = f"{_PACKAGE}{hashlib.sha256(folder.encode()).hexdigest()[:12]}"
        if package not in sys.modules:
            sys.path_hooks.insert(0, partial(_sources_within, folder))
            for place in (folder, f"{folder}{_SIBLINGS}"):  # a worker starts with the latter
                sys.path_importer_cache.pop(place, None)
            parent = types.ModuleType(package)
            parent.__path__ = [folder]
            sys.modules[package] = parent
        return f"{package}.{self.name}"


@dataclass(frozen=True)
class CommandModule(Module):
    """A run file, ``<slug>.run.yaml`` in place of a module: the experiments are commands.

    What reads it lies above the audits, and is imported by name when it is asked for, as every
    paper's module is. Nothing is executed but by the experiments themselves. Every method raises a
    `SpecError` that lists every fault of the file.
    """

    def load(self) -> Mapping[str, Experiment]:
        """Return the experiments of the run file."""
        experiments: Mapping[str, Experiment] = _reader().experiments_of(self.file)
        return experiments

    def digest(self) -> str:
        """Return the digest of everything the run file computes, as 32 hexadecimal digits."""
        return str(_reader().run_file_digest(self.file))

    def described(self) -> str:
        """Return the commands that the run file will execute, on one line."""
        return str(_reader().described(self.file))


def _reader() -> Any:
    return importlib.import_module("reproaudit.repositories.experiments")


class _FromSource(SourceFileLoader):
    """Compiles a file's own bytes: compiled code that lies beside it need not be of them."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        code: types.CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _sources_within(root: str, path: str) -> FileFinder:
    """Finds modules of a user's folder, as sources only: neither bytecode nor shared objects."""
    if not Path(path).resolve().is_relative_to(root):
        raise ImportError(f"{path} lies outside {root}")
    return FileFinder(path, (_FromSource, SOURCE_SUFFIXES))


def one_line(error: BaseException, within: Path | None = None) -> str:
    """Return an exception as type, message and place, if possible within a folder, on one line."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [one for one in frames if within and Path(one.filename).is_relative_to(within)]
    at = next(reversed(ours or frames), None)
    place = f" ({Path(at.filename).name}:{at.lineno})" if at else ""
    try:
        text = " ".join(str(error).encode(errors="backslashreplace").decode().split())
    except Exception as fault:  # an exception's own __str__ may fail
        text = f"its text cannot be made ({type(fault).__name__})"
    return f"{type(error).__name__}{': ' if text else ''}{text[:500]}{place}"
