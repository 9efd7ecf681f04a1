"""Finds the folder with a paper's measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from reproaudit.elsewhere.manifest import NAMES, read_manifest
from reproaudit.elsewhere.misfit import Misfits
from reproaudit.errors import UsageError


def submission_folders(folders: Iterable[Path], slugs: Sequence[str]) -> dict[str, Path]:
    """Returns the folder of measurements of each paper that has one, by slug.

    Args:
        folders: each has a manifest, or subfolders named after papers that have one.
        slugs: the papers there are. If there is one alone, a manifest that names no paper is its.

    Raises:
        SpecError: if a manifest cannot be read.
        UsageError: if a folder has no manifest, or it is open which paper one belongs to.
    """
    found = {}
    for folder in folders:
        if _has_manifest(folder):
            found[_paper_of(folder, slugs)] = folder
            continue
        below = [one for one in sorted(folder.iterdir()) if one.is_dir() and _has_manifest(one)]
        if not below:
            raise UsageError(
                f"{folder}: holds no manifest; expected one of {', '.join(NAMES)} in it, or in a "
                "subfolder named after the paper."
            )
        found.update({one.name: one for one in below})
    return found


def _has_manifest(folder: Path) -> bool:
    return any((folder / name).exists() for name in NAMES)


def _paper_of(folder: Path, slugs: Sequence[str]) -> str:
    paper = read_manifest(folder, Misfits())[0].paper
    if paper is not None:
        return paper
    if len(slugs) != 1:
        raise UsageError(
            f"{folder}: its manifest names no paper, and there are {len(slugs)} audits. "
            "Write 'paper: SLUG' into it."
        )
    return slugs[0]
