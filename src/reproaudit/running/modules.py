"""Imports a paper's module, or reads its run file, where its cells are computed."""

from __future__ import annotations

import hashlib
import importlib
import sys
import traceback
import types
from collections.abc import Mapping
from functools import partial
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path

from reproaudit.audit.catalog import Module
from reproaudit.errors import OF_THE_EXTRA_RUN, SpecError
from reproaudit.lab.experiment import Experiment

_PACKAGE = "_audits_"
"""Begins the names of packages that stand for users' folders."""

_SIBLINGS = "/."
"""Ends such a folder on ``sys.path``, so that workers, which inherit that, can tell it."""


def load_experiments(module: Module) -> Mapping[str, Experiment]:
    """The experiments of a paper: its module is imported here, or its run file read.

    Raises:
        SpecError: if it cannot be imported or defines no ``EXPERIMENTS``, on one line; or listing
            every fault of the run file.
        ModuleNotFoundError: if a library of the extra ``run`` is not installed.
    """
    if module.is_run_file:
        from reproaudit.repositories.experiments import experiments_of

        return experiments_of(module.file)
    find_siblings(module)
    try:
        imported = importlib.import_module(module.name if module.importable else _in_folder(module))
    except Exception as error:
        missing = str(error.name).partition(".")[0] if isinstance(error, ImportError) else ""
        if missing in OF_THE_EXTRA_RUN:
            raise
        raise SpecError(f"{module.file}: cannot be imported: {one_line(error)}") from error
    experiments = getattr(imported, "EXPERIMENTS", None)
    if not isinstance(experiments, Mapping):
        raise SpecError(f"{module.file}: defines no mapping named EXPERIMENTS")
    for name, one in experiments.items():
        if not isinstance(one, Experiment):
            raise SpecError(f"{module.file}: EXPERIMENTS['{name}'] is not an Experiment")
    return experiments


def find_siblings(module: Module) -> None:
    """Lets a module import more of its siblings by name, and none of another folder's.

    Helpers in two folders may have the same name, and Python keeps the first that it finds.
    """
    if module.importable:
        return
    folder = f"{module.file.resolve().parent}{_SIBLINGS}"
    others = [one for one in sys.path if one.endswith(_SIBLINGS) and one != folder]
    sys.path[:] = [one for one in sys.path if one not in others]
    below = tuple(one.removesuffix(".") for one in others)
    for name, imported in list(sys.modules.items()) if others else ():
        by_name = not name.startswith(_PACKAGE)  # relatively, each folder has its own names
        if by_name and str(getattr(imported, "__file__", None)).startswith(below):
            del sys.modules[name]
    if folder not in sys.path:
        sys.path_importer_cache.pop(folder, None)
        sys.path.append(folder)  # last, so that no sibling hides a library


def _in_folder(module: Module) -> str:
    folder = str(module.file.resolve().parent)
    package = f"{_PACKAGE}{hashlib.sha256(folder.encode()).hexdigest()[:12]}"
    if package not in sys.modules:
        sys.path_hooks.insert(0, partial(_sources_within, folder))
        for place in (folder, f"{folder}{_SIBLINGS}"):  # a worker starts with the latter
            sys.path_importer_cache.pop(place, None)
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
    if not Path(path).resolve().is_relative_to(root):
        raise ImportError(f"{path} lies outside {root}")
    return FileFinder(path, (_FromSource, SOURCE_SUFFIXES))


def one_line(error: BaseException, within: Path | None = None) -> str:
    """An exception as type, message and place, if possible within a folder, on one line."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [one for one in frames if within and Path(one.filename).is_relative_to(within)]
    at = next(reversed(ours or frames), None)
    place = f" ({Path(at.filename).name}:{at.lineno})" if at else ""
    try:
        text = " ".join(str(error).encode(errors="backslashreplace").decode().split())
    except Exception as fault:  # an exception's own __str__ may fail
        text = f"its text cannot be made ({type(fault).__name__})"
    return f"{type(error).__name__}{': ' if text else ''}{text[:500]}{place}"
