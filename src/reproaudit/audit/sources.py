"""The Python files of a user's folder of audits, and of its folders below.

Consent is given to these files, the code digest is made of some of them, and no other file of the
folder is imported. A link to a folder is not followed, and a file that is a link counts only if it
leads to a file of the folder itself: what lies elsewhere can change without anybody's consent.
"""

from __future__ import annotations

import os
from pathlib import Path

from reproaudit.audit.catalog import Module
from reproaudit.errors import SpecError

SUFFIXES = (".py", ".pyc", ".pyd", ".so")  # The ends of the names of code, as source or compiled

CACHE = "__pycache__"
"""Python's own folder of compiled code, which is written anew all the time and never imported."""


def sources_of(module: Module) -> list[Path]:
    """Return the files of `sources_in` for a module's folder; a SpecError if it is none of them."""
    folder = module.folder
    start = folder / module.file.name
    own_file(start / "__init__.py" if start.is_dir() else start, folder)
    return sources_in(folder)


def own_file(file: Path, folder: Path) -> Path:
    """Return a file that is there and is a source of a folder; a SpecError says why it is none."""
    if file.exists() and not is_source(file, folder):
        raise SpecError(
            f"{file}: is a link, or lies in a linked or hidden folder; it was to be a file of "
            f"{folder} itself, which consent and the code digest cover. Put a copy in its place."
        )
    return file


def sources_in(folder: Path) -> list[Path]:
    """Return the Python files at and below a folder, sorted."""
    sources = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] != "."]
        suffixes = ".py" if os.path.basename(root) == CACHE else SUFFIXES
        files = (Path(root, name) for name in names if name.endswith(suffixes))
        sources += [file for file in files if is_source(file, folder)]
    return sorted(sources)


def is_source(file: Path, folder: Path) -> bool:
    """Tell whether a file is a folder's own, whose path has no links: not elsewhere, nor hidden."""
    place = Path(os.path.abspath(file))
    if not place.is_relative_to(folder):
        return False
    is_hidden = any(part[0] == "." for part in place.relative_to(folder).parts[:-1])
    is_linked = os.path.realpath(place.parent) != str(place.parent)
    leads_out = not Path(os.path.realpath(place)).is_relative_to(folder)
    return not (is_hidden or is_linked or leads_out)
