"""The files beside a user's module, which it imports by name: of one folder at a time.

Helpers in two folders may have the same name, and Python keeps the first that it finds.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reproaudit.audit.paper_module import Module

if TYPE_CHECKING:
    from reproaudit.lab.experiment import Experiment

_MARK = "/."
"""Ends such a folder on ``sys.path``, so that workers, which inherit that, can tell it."""


def load_alone(module: Module) -> Mapping[str, Experiment]:
    """A module's experiments, with the siblings of its own folder.

    Raises:
        SpecError: as `Module.load`.
        ModuleNotFoundError: as `Module.load`.
    """
    if module.importable:
        return module.load()
    _forget_others(folder := str(module.file.resolve().parent))
    there = folder in sys.path
    try:
        return module.load()
    finally:
        if not there and folder in sys.path:  # the load has put it there
            sys.path.remove(folder)
        find_siblings_of(module)


def find_siblings_of(module: Module) -> None:
    """Lets a module that is loaded import more of its siblings, and none of another folder's."""
    if not module.importable:
        folder = str(module.file.resolve().parent)
        _forget_others(folder)
        if folder + _MARK not in sys.path:
            sys.path_importer_cache.pop(folder + _MARK, None)
            sys.path.append(folder + _MARK)  # last, so that no sibling hides a library


def _forget_others(folder: str) -> None:
    others = [one for one in sys.path if one.endswith(_MARK) and one != folder + _MARK]
    sys.path[:] = [one for one in sys.path if one not in others]
    below = tuple(one.removesuffix(".") for one in others)
    for name, module in list(sys.modules.items()):
        by_name = not name.startswith("_audits_")  # as they are where they are imported relatively
        if by_name and str(getattr(module, "__file__", None)).startswith(below):
            del sys.modules[name]
