"""Imports a paper's module, or reads its run file, where its cells are computed.

While a user's module is imported, and while it measures, every file that Python takes from its
folder is one that the code digest covers, and a name that the digest takes for a neighbour is that
neighbour: a namesake in the working folder or on ``PYTHONPATH`` does not run in its place.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import traceback
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    SOURCE_SUFFIXES,
    FileFinder,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from pathlib import Path

from reproaudit.audit.catalog import PACKAGE_FOLDER, Module
from reproaudit.errors import OF_THE_EXTRA_RUN, AuditError, SpecError
from reproaudit.lab.experiment import Experiment
from reproaudit.store.code import PaperFiles, files_of

_PACKAGE = "_audits_"  # begins the names of packages that stand for users' folders
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def load_experiments(module: Module) -> Mapping[str, Experiment]:
    """The experiments of a paper: its module is imported here, or its run file read.

    Raises:
        SpecError: if it cannot be imported, has no ``EXPERIMENTS``, or its run file has faults.
        ModuleNotFoundError: if a library of the extra ``run`` is not installed.
    """
    if module.is_run_file:
        from reproaudit.repositories.experiments import experiments_of

        return experiments_of(module.file)
    try:
        with own_neighbours(module):
            name = module.name if module.importable else _in_folder(module)
            imported = importlib.import_module(name)
    except AuditError:
        raise
    except Exception as error:
        missing = str(error.name).partition(".")[0] if isinstance(error, ImportError) else ""
        if missing in OF_THE_EXTRA_RUN:
            raise
        raise SpecError(f"{module.file}: cannot be imported: {one_line(error)}") from error
    experiments = getattr(imported, "EXPERIMENTS", None)
    if not isinstance(experiments, Mapping):
        raise SpecError(f"{module.file}: defines no mapping named EXPERIMENTS")
    for name, experiment in experiments.items():
        if not isinstance(experiment, Experiment):
            raise SpecError(f"{module.file}: EXPERIMENTS['{name}'] is not an Experiment")
    return experiments


@contextmanager
def own_neighbours(module: Module) -> Iterator[None]:
    """Let a user's module import its neighbours, which its digest covers, and no other file there.

    A SpecError names a file that no digest covers, or that was imported in a neighbour's place.
    """
    if module.importable or module.is_run_file:
        yield
        return
    covered = files_of(module)
    finder = _CoveredFinder(module.folder, covered)
    sys.meta_path.insert(0, finder)
    try:
        with _siblings(module.folder):
            yield
    finally:
        sys.meta_path.remove(finder)
    for name in sorted(covered.neighbours & sys.modules.keys()):
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and not finder.covers(file):
            raise SpecError(
                f"{module.file}: 'import {name}' gave {file}, and not the file of this name in "
                f"{module.folder}, which the code digest covers. Give that one another name."
            )


class _CoveredFinder(MetaPathFinder):
    """Finds a paper's neighbours before their namesakes, and refuses what its digest lacks."""

    def __init__(self, folder: Path, covered: PaperFiles) -> None:
        self._folder = folder
        self._neighbours = covered.neighbours
        self._places = {os.path.realpath(file) for file in covered.files}

    def covers(self, file: str) -> bool:
        return os.path.realpath(file) in self._places

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: object = None
    ) -> ModuleSpec | None:
        """The spec of a file in the folder; None leaves the rest to Python."""
        spec = self._spec(fullname, path)
        origin = None if spec is None else spec.origin
        if origin is None or not self._is_inside(origin):
            return spec if fullname in self._neighbours else None
        if not self.covers(origin):
            raise SpecError(
                f"{os.path.abspath(origin)}: no digest covers this file, since it is imported by "
                "a computed name or through a link. Import it by its name, from a plain folder."
            )
        return spec

    def _spec(self, fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
        if path is not None:
            is_ours = any(map(self._is_inside, path))
            return PathFinder.find_spec(fullname, path) if is_ours else None
        is_library = PathFinder.find_spec(fullname, _installed()) is not None
        if fullname not in self._neighbours or is_library:
            return PathFinder.find_spec(fullname)
        spec = PathFinder.find_spec(fullname, [str(self._folder)])
        if spec is not None and spec.submodule_search_locations is not None:
            spec.submodule_search_locations = [*spec.submodule_search_locations]
        return spec

    def _is_inside(self, place: str) -> bool:
        return Path(os.path.abspath(place)).is_relative_to(self._folder)


def _installed() -> list[str]:
    """Where libraries are installed, which no neighbour hides."""
    return [place for place in sys.path if _INSTALLED & {*Path(place).parts}]


def places_of_libraries() -> list[str]:
    """Return the places on ``sys.path`` of Python, reproaudit, libraries and ``PYTHONPATH``."""
    standard = Path(os.__file__).parent
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    stated = {str(PACKAGE_FOLDER.parent), *map(os.path.abspath, given)}
    installed = set(_installed())
    return [
        place
        for place in sys.path
        if place in stated | installed or Path(place).is_relative_to(standard)
    ]


@contextmanager
def _siblings(folder: Path) -> Iterator[None]:
    """Let a module import more of its siblings by name, and none of another folder's."""
    packages = [name for name in sys.modules if name.startswith(_PACKAGE) and "." not in name]
    roots = [root for name in packages for root in sys.modules[name].__path__]
    below = tuple(f"{root}/" for root in roots if root != str(folder))
    for name, imported in list(sys.modules.items()) if below else ():
        file = str(getattr(imported, "__file__", None))
        by_name = not name.startswith(_PACKAGE)  # relatively, each folder has its own names
        if by_name and file.startswith(below) and not file.startswith(f"{folder}/"):
            del sys.modules[name]
    place = str(folder)
    if place in sys.path:
        yield
        return
    sys.path_importer_cache.pop(place, None)
    sys.path.append(place)  # last, so that no sibling hides a library
    try:
        yield
    finally:
        with suppress(ValueError):  # what was imported may have changed the list
            sys.path.remove(place)


def _in_folder(module: Module) -> str:
    folder = str(module.folder)
    package = f"{_PACKAGE}{hashlib.sha256(folder.encode()).hexdigest()[:12]}"
    if package not in sys.modules:
        sys.path_hooks.insert(0, partial(_sources_within, folder))
        sys.path_importer_cache.pop(folder, None)
        parent = types.ModuleType(package)
        parent.__path__ = [folder]
        sys.modules[package] = parent
    return f"{package}.{module.name}"


class _FromSource(SourceFileLoader):
    """Compiles a file's own bytes: compiled code that lies beside it need not be of them."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        code: types.CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _sources_within(root: str, path: str) -> FileFinder:
    """Finds modules of a user's folder, as sources only: neither bytecode nor shared objects."""
    if not Path(os.path.abspath(path)).is_relative_to(root):
        raise ImportError(f"{path} lies outside {root}")
    return FileFinder(path, (_FromSource, SOURCE_SUFFIXES))


def one_line(error: BaseException, within: Path | None = None) -> str:
    """An exception as type, message and place, if possible within a folder, on one line."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if within and Path(frame.filename).is_relative_to(within)]
    at = next(reversed(ours or frames), None)
    place = f" ({Path(at.filename).name}:{at.lineno})" if at else ""
    try:
        text = " ".join(str(error).encode(errors="backslashreplace").decode().split())
    except Exception as fault:  # an exception's own __str__ may fail
        text = f"its text cannot be made ({type(fault).__name__})"
    return f"{type(error).__name__}{': ' if text else ''}{text[:500]}{place}"
