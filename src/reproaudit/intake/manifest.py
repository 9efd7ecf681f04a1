"""The manifest of a folder of measurements: who made them, and the files of each run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field

from reproaudit.audit.loading import read_as
from reproaudit.audit.model import SettingName, Text
from reproaudit.cell import SettingValue
from reproaudit.declarations import Name, StrictModel
from reproaudit.errors import SpecError, UsageError
from reproaudit.logs.mapping import Seed

MANIFEST = "manifest.yaml"


class ManifestRuns(StrictModel):
    """One experiment with one set of settings, over some seeds."""

    experiment: Name
    """The experiment, as the audit calls it."""
    seeds: tuple[Seed, ...] = Field(min_length=1, max_length=10_000)
    """The seeds; any numbers that tell the runs apart."""
    settings: dict[Name, SettingValue] = Field(default_factory=dict)
    """The settings that the audit gives a control; none for the experiment itself."""
    status: Literal["completed", "diverged", "crashed"] = "completed"
    """The end of the runs; diverged ones may hold numbers that are not finite, and of crashed ones
    no file is read."""
    files: tuple[Text, ...] = Field(max_length=1_000)
    """Tables beside the manifest, if there are any; ``{seed}`` in a name stands for each seed."""
    left_out: dict[Name, tuple[Text, ...]] = Field(default_factory=dict)
    """Measurements that are kept out of the files, each with the reasons."""


class Manifest(StrictModel):
    """Measurements made elsewhere."""

    schema_version: Literal[1]
    """The version of this format."""
    who: Text
    """The people who made and submit them."""
    source: Text
    """Their source: a repository with its revision, an archive, a log."""
    framework: Text
    """The software that computed them, with versions."""
    date: date
    """The day on which they were made."""
    paper: Name | None = None
    """The audit's slug, to guard against a mix-up."""
    tier: Literal["quick", "paper"] = "paper"
    """The tier at whose scale they were made, and at which they are judged."""
    proxy: Text | None = None
    """The substitute for the paper's data or method, if there was one."""
    settings: dict[SettingName, SettingValue] = Field(default_factory=dict)
    """The settings of every run, as "setting" or "experiment.setting"; settings that are not
    stated are taken to be the tier's, and evidence on them is assumed at best."""
    one_unit: Text | None = None
    """Why what seems to be a share of 1 in one place, and per cent in another, is in one unit."""
    counted: tuple[Text, ...] = ()
    """How many of the runs that were given are judged, and why not the others, in sentences;
    `import` fills it in."""
    noted: tuple[Text, ...] = ()
    """Further sentences on the measurements, such as their formulas; `import` fills it in."""
    runs: tuple[ManifestRuns, ...] = Field(min_length=1)
    """The runs."""

    def settings_of(self, experiment: str) -> dict[str, SettingValue]:
        """Return the settings of an experiment, among "setting" and "experiment.setting"."""
        return {
            name.rpartition(".")[2]: value
            for name, value in self.settings.items()
            if name.rpartition(".")[0] in ("", experiment)
        }


Placed = Callable[..., str]
"""Gives the place of a field, by names and positions: ``manifest.yaml:9:5: runs[0].seeds``."""


def read_manifest(folder: Path) -> tuple[Manifest, Placed]:
    """Read the manifest of a folder: a UsageError if it is missing, a SpecError if it is wrong."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder. --measurements takes a folder.")
    if not (folder / MANIFEST).exists():
        raise UsageError(f"{folder}: holds no {MANIFEST}; expected one.")
    return parse_manifest(folder / MANIFEST)


def parse_manifest(file: Path, text: str | None = None) -> tuple[Manifest, Placed]:
    """Read a manifest, from its text if that is given; a SpecError lists all that is wrong."""
    manifest, document, faults = read_as(Manifest, file, "a manifest", text=text)
    if manifest is None or document is None:
        raise SpecError("\n".join(str(replace(fault, file=MANIFEST)) for fault in faults))

    def placed(*loc: str | int) -> str:
        line, column = document.place(loc)
        path = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in loc).lstrip(".")
        return f"{MANIFEST}:{line}:{column}: {path}"

    if manifest.date > datetime.now(UTC).date() + timedelta(days=1):  # tomorrow, east of here
        text = f"found {manifest.date}, which is in the future; expected the day of the runs."
        raise SpecError(f"{placed('date')}: {text}")
    return manifest, placed


def submission_folders(folders: Iterable[Path], slugs: Sequence[str]) -> dict[str, Path]:
    """Return the folder of measurements of each paper that has one, by slug.

    Args:
        folders: each has a manifest, or subfolders named after papers that have one.
        slugs: the papers there are. If there is one alone, a manifest that names no paper is its.

    Raises:
        SpecError: if a manifest cannot be read.
        UsageError: if a folder has no manifest, or it is open which paper one belongs to.
    """
    by_slug = {}
    for folder in folders:
        own = (folder / MANIFEST).exists()
        below = {path.name: path for path in sorted(folder.iterdir()) if (path / MANIFEST).exists()}
        paper = read_manifest(folder)[0].paper if own else None
        if not own and not below:
            text = f"{folder}: holds no {MANIFEST}; expected one in it, or in a subfolder named"
            raise UsageError(f"{text} after the paper.")
        if own and paper is None and len(slugs) != 1:
            text = f"{folder}: its manifest names no paper, and there are {len(slugs)} audits."
            raise UsageError(f"{text} Write 'paper: SLUG' into it.")
        by_slug.update({paper or slugs[0]: folder} if own else below)
    return by_slug
