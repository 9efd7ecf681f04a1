"""The manifest of measurements made elsewhere: whose they are, and which run is in which file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from reproaudit.audit.field_docs import description
from reproaudit.audit.loading.tree import Node, TreeBuilder, place_of, plain
from reproaudit.audit.model import Text
from reproaudit.cell import SettingValue
from reproaudit.checks.measurements import Name, StrictModel
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.judging.submissions.misfit import Misfits

NAMES = ("manifest.yaml", "manifest.yml", "manifest.json")
MAX_MANIFEST_BYTES = 2**20

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
SettingName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$")]


class Machine(StrictModel):
    """Where the measurements were made, as far as it is known."""

    device: Text = "not stated"
    """The accelerator or processor."""
    python: Text = "not stated"
    """The version of Python, if it was Python."""
    platform: Text = "not stated"
    """The operating system."""
    packages: dict[str, str] = Field(default_factory=dict)
    """Versions of what computed."""


class Run(StrictModel):
    """One experiment with one set of settings, over some seeds."""

    experiment: Name
    """The experiment, as the audit calls it."""
    seeds: tuple[Seed, ...] = Field(min_length=1)
    """The seeds; any numbers that tell the runs apart."""
    settings: dict[Name, SettingValue] = Field(default_factory=dict)
    """Of a control: the settings that the audit gives it. Of the experiment itself: none."""
    status: Literal["completed", "diverged"] = "completed"
    """Whether the runs came to their end; a diverged one may hold numbers that are not finite."""
    files: tuple[Text, ...] = Field(min_length=1)
    """CSV, JSON or NPZ files beside the manifest; ``{seed}`` in a name stands for each seed."""


class Manifest(StrictModel):
    """Measurements made elsewhere."""

    schema_version: Literal[1]
    """The version of this format."""
    who: Text
    """Who made and submits them."""
    source: Text
    """From where: a repository with its revision, an archive, a log."""
    framework: Text
    """What they were computed with, with versions."""
    date: date
    """When they were made."""
    paper: Name | None = None
    """The audit's slug, to guard against a mix-up."""
    tier: Literal["quick", "paper"] = "paper"
    """The scale that they were made at, and are judged at."""
    proxy: Text | None = None
    """What stood in for the paper's data or method, if anything did."""
    settings: dict[SettingName, SettingValue] = Field(default_factory=dict)
    """What differs from the tier in every run: "setting" or "experiment.setting"."""
    units: dict[Name, str] = Field(default_factory=dict)
    """Units of measurements; those left out are taken to be the declared ones."""
    environment: Machine = Machine()
    """Where they were made."""
    runs: tuple[Run, ...] = Field(min_length=1)
    """The runs."""


class Placed:
    """Says where something stands in the manifest.

    Args:
        file: the manifest's name.
        root: its tree with lines and columns; None of JSON, which has none here.
    """

    def __init__(self, file: str, root: Node | None) -> None:
        self._file, self._root = file, root

    def __call__(self, *loc: str | int) -> str:
        """``manifest.yaml:9:5: runs[0].seeds``, without the line in a JSON file."""
        path = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in loc).lstrip(".")
        where = self._file
        if self._root is not None:
            place = place_of(self._root, loc)
            where = f"{where}:{place.line}:{place.column}"
        return f"{where}: {path}" if path else where


def read_manifest(folder: Path, misfits: Misfits) -> tuple[Manifest, Placed]:
    """The manifest of a folder.

    Raises:
        UsageError: if the folder or the manifest is missing.
        SpecError: listing all that is wrong with the manifest.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder. --measurements takes a folder.")
    found = [folder / name for name in NAMES if (folder / name).is_file()]
    if len(found) != 1:
        what = "no manifest" if not found else f"{len(found)} manifests"
        raise UsageError(f"{folder}: holds {what}; expected one of {', '.join(NAMES)}.")
    file = found[0]
    data, root = _parse(file, misfits)
    misfits.raise_if_any()
    placed = Placed(file.name, root)
    try:
        return Manifest.model_validate_json(json.dumps(data)), placed
    except ValidationError as error:
        _complain(error, data, placed, misfits)
        misfits.raise_if_any()
        raise AssertionError("a refused manifest has a misfit") from error


def _parse(file: Path, misfits: Misfits) -> tuple[Any, Node | None]:
    try:
        text = file.read_bytes()[: MAX_MANIFEST_BYTES + 1].decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        misfits.add(file.name, f"cannot be read as UTF-8 text ({error}).")
        return None, None
    if len(text) > MAX_MANIFEST_BYTES:
        misfits.add(
            file.name, f"found more than {MAX_MANIFEST_BYTES} bytes; expected a small manifest."
        )
        return None, None
    if file.suffix == ".json":
        try:
            return json.loads(text), None
        except (ValueError, RecursionError) as error:
            misfits.add(file.name, f"is not JSON: {error}.")
            return None, None
    builder = TreeBuilder(file.name)
    root = builder.build(text)
    for fault in builder.faults:
        where = f"{fault.file}:{fault.place.line}:{fault.place.column}"
        misfits.add(where, f"{fault.message}. {fault.remedy}")
    return (None if root is None else plain(root)), root


def _complain(error: ValidationError, data: Any, placed: Placed, misfits: Misfits) -> None:
    """What the models refuse, each node once."""
    seen: set[tuple[str | int, ...]] = set()
    for one in error.errors(include_url=False):
        known = _steps(one["loc"], data)
        if known in seen:
            continue
        field = str(one["loc"][-1]) if one["loc"] else ""
        if one["type"] == "missing":
            misfits.add(placed(*known), f"found no '{field}'; expected it. {_meaning(field)}")
        elif one["type"] == "extra_forbidden":
            hint = did_you_mean(field, _fields(known))
            misfits.add(placed(*known), f"found the unknown field '{field}'. {hint}")
        else:
            seen.add(known)
            misfits.add(placed(*known), f"found {_shown(known, data)}; {one['msg'].lower()}.")


def _steps(loc: tuple[int | str, ...], data: Any) -> tuple[str | int, ...]:
    """A place without the names of union members that pydantic puts into it."""
    known: list[str | int] = []
    for step in loc:
        if isinstance(data, dict) and step in data:
            data = data[str(step)]
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            continue
        known.append(step)
    return tuple(known)


def _fields(known: tuple[str | int, ...]) -> list[str]:
    model: type[StrictModel] = Manifest
    if known and known[0] in ("runs", "environment"):
        model = Run if known[0] == "runs" else Machine
    return list(model.model_fields) if len(known) > 1 else list(Manifest.model_fields)


def _meaning(field: str) -> str:
    for model in (Manifest, Run):
        if field in model.model_fields:
            return f"It says: {description(model, field)}"
    return ""


def _shown(known: tuple[str | int, ...], data: Any) -> str:
    for step in known:
        data = data[step]
    text = json.dumps(data, ensure_ascii=True)
    return text if len(text) <= 60 else f"{text[:59]}…"


def settings_for(settings: Mapping[str, SettingValue], experiment: str) -> dict[str, SettingValue]:
    """The settings that hold for an experiment, of "setting" and "experiment.setting"."""
    return {
        name.rpartition(".")[2]: value
        for name, value in settings.items()
        if name.rpartition(".")[0] in ("", experiment)
    }
