"""The manifest of measurements made elsewhere: their origin, and the files of each run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError

from reproaudit.audit.field_docs import description
from reproaudit.audit.findings import SettingName
from reproaudit.audit.variables import Text
from reproaudit.bounded import read_regular
from reproaudit.cell import SettingValue
from reproaudit.declarations import Name, StrictModel
from reproaudit.elsewhere.logged import LogError
from reproaudit.elsewhere.misfit import Misfits, clipped
from reproaudit.elsewhere.reading import parse_json, parse_yaml
from reproaudit.errors import SpecError, UsageError, did_you_mean

NAMES = ("manifest.yaml", "manifest.yml", "manifest.json")
MOST_MANIFEST_BYTES = 2**20

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]


class Machine(StrictModel):
    """The machine that made the measurements, as far as it is known."""

    device: Text = "not stated"
    """The accelerator or processor."""
    python: Text = "not stated"
    """The version of Python, if it was Python."""
    platform: Text = "not stated"
    """The operating system."""
    packages: dict[str, str] = Field(default_factory=dict)
    """Versions of the packages that computed."""


class Run(StrictModel):
    """One experiment with one set of settings, over some seeds."""

    experiment: Name
    """The experiment, as the audit calls it."""
    seeds: tuple[Seed, ...] = Field(min_length=1, max_length=10_000)
    """The seeds; any numbers that tell the runs apart."""
    settings: dict[Name, SettingValue] = Field(default_factory=dict)
    """Of a control: the settings that the audit gives it. For the experiment itself: none."""
    status: Literal["completed", "diverged"] = "completed"
    """The end of the runs; diverged ones may hold numbers that are not finite."""
    files: tuple[Text, ...] = Field(min_length=1, max_length=1_000)
    """CSV, JSON or NPZ files beside the manifest; ``{seed}`` in a name stands for each seed."""


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
    units: dict[Name, str] = Field(default_factory=dict)
    """Units of measurements; by default the declared ones."""
    environment: Machine = Machine()
    """The machine that made them."""
    noted: tuple[Text, ...] = ()
    """Sentences on the measurements, such as runs that were left out; `import` fills it in."""
    runs: tuple[Run, ...] = Field(min_length=1)
    """The runs."""


class Placed:
    """Gives the place of a field in the manifest, for messages.

    Args:
        file: the manifest's name.
        text: its text, where it is YAML; None for JSON, of which no lines are known.
    """

    def __init__(self, file: str, text: str | None) -> None:
        self._file = file
        self._root = None if text is None else yaml.compose(text, yaml.SafeLoader)

    def __call__(self, *loc: str | int) -> str:
        """``manifest.yaml:9:5: runs[0].seeds``, without the line in a JSON file."""
        path = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in loc).lstrip(".")
        where = self._file
        if self._root is not None:
            mark = _mark(self._root, loc)
            where = f"{where}:{mark.line + 1}:{mark.column + 1}"
        return f"{where}: {path}" if path else where


def _mark(node: Any, loc: Sequence[str | int]) -> Any:
    """Return the place of a value, or of the nearest one above it that is written."""
    for step in loc:
        below = None
        if isinstance(node, yaml.MappingNode):
            below = next((value for key, value in node.value if key.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            below = node.value[step]
        if below is None:
            break
        node = below
    return node.start_mark


def read_manifest(folder: Path, misfits: Misfits) -> tuple[Manifest, Placed]:
    """Read the manifest of a folder.

    Raises:
        UsageError: if the folder or the manifest is missing.
        SpecError: listing all that is wrong with the manifest.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder. --measurements takes a folder.")
    found = [folder / name for name in NAMES if (folder / name).exists()]
    if len(found) != 1:
        what = "no manifest" if not found else f"{len(found)} manifests"
        raise UsageError(f"{folder}: holds {what}; expected one of {', '.join(NAMES)}.")
    file = found[0]
    try:
        text = read_regular(file, MOST_MANIFEST_BYTES).decode("utf-8-sig")
        data = (parse_json if file.suffix == ".json" else parse_yaml)(text, file.name)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise SpecError(f"{file.name}: cannot be read as UTF-8 text ({why}).") from None
    except LogError as error:
        raise SpecError(str(error)) from None
    placed = Placed(file.name, None if file.suffix == ".json" else text)
    try:
        manifest = Manifest.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        _complain(error, data, placed, misfits)
        misfits.raise_if_any()
        raise AssertionError("a refused manifest has a misfit") from error
    if manifest.date > datetime.now(UTC).date() + timedelta(days=1):  # tomorrow, east of here
        text = f"found {manifest.date}, which is in the future; expected the day of the runs."
        misfits.add(placed("date"), text)
    return manifest, placed


def _complain(error: ValidationError, data: Any, placed: Placed, misfits: Misfits) -> None:
    """Add the faults that the models found, each field once."""
    seen: set[tuple[str | int, ...]] = set()
    for one in error.errors(include_url=False):
        known, value = _known(one["loc"], data)
        below = any(other[: len(known)] == known for other in seen)
        if below and one["type"] == "too_short":
            continue  # what lies below was refused, and then counted as absent
        field = clipped(str(one["loc"][-1]) if one["loc"] else "", 80)
        models: dict[str, type[StrictModel]] = {"runs": Run, "environment": Machine}
        model = models.get(str(next(iter(known), "")), Manifest)
        if one["type"] == "missing":
            meaning = description(model, field) if field in model.model_fields else ""
            misfits.add(placed(*known), f"found no '{field}'; expected it. It says: {meaning}")
        elif one["type"] == "extra_forbidden":
            fields = (model if len(known) > 1 else Manifest).model_fields
            hint = did_you_mean(field, fields)
            misfits.add(placed(*known), f"found the unknown field '{field}'. {hint}")
        elif known not in seen:  # of a union of types, each type is refused
            seen.add(known)
            shown = clipped(json.dumps(value, default=str), 60)
            misfits.add(placed(*known), f"found {shown}; {one['msg'].lower()}.")


def _known(loc: tuple[int | str, ...], data: Any) -> tuple[tuple[str | int, ...], Any]:
    """Return a place without the names of types that pydantic puts into it, and what is there."""
    known: list[str | int] = []
    for step in loc:
        inside = isinstance(data, dict) and step in data
        if inside or (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            data = data[step]
            known.append(step)
    return tuple(known), data


def settings_for(settings: Mapping[str, SettingValue], experiment: str) -> dict[str, SettingValue]:
    """Return the settings of an experiment, among "setting" and "experiment.setting"."""
    return {
        name.rpartition(".")[2]: value
        for name, value in settings.items()
        if name.rpartition(".")[0] in ("", experiment)
    }


def submission_folders(folders: Iterable[Path], slugs: Sequence[str]) -> dict[str, Path]:
    """Return the folder of measurements of each paper that has one, by slug.

    Args:
        folders: each has a manifest, or subfolders named after papers that have one.
        slugs: the papers there are. If there is one alone, a manifest that names no paper is its.

    Raises:
        SpecError: if a manifest cannot be read.
        UsageError: if a folder has no manifest, or it is open which paper one belongs to.
    """
    found = {}
    for folder in folders:
        if not _has_manifest(folder):
            below = [one for one in sorted(folder.iterdir()) if one.is_dir() and _has_manifest(one)]
            if not below:
                raise UsageError(
                    f"{folder}: holds no manifest; expected one of {', '.join(NAMES)} in it, or in "
                    "a subfolder named after the paper."
                )
            found.update({one.name: one for one in below})
            continue
        paper = read_manifest(folder, Misfits())[0].paper
        if paper is None and len(slugs) != 1:
            raise UsageError(
                f"{folder}: its manifest names no paper, and there are {len(slugs)} audits. "
                "Write 'paper: SLUG' into it."
            )
        found[paper or slugs[0]] = folder
    return found


def _has_manifest(folder: Path) -> bool:
    return any((folder / name).exists() for name in NAMES)
