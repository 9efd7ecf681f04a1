"""The manifest of measurements made elsewhere: their origin, and the files of each run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from reproaudit.audit.field_docs import description
from reproaudit.audit.findings import SettingName
from reproaudit.audit.loading.tree import Node, TreeBuilder, place_of, plain
from reproaudit.audit.variables import Text
from reproaudit.cell import SettingValue
from reproaudit.checks.measurements import Name, StrictModel
from reproaudit.elsewhere.files import read_bounded, unique
from reproaudit.elsewhere.misfit import Misfits, clipped
from reproaudit.errors import UsageError, did_you_mean

NAMES = ("manifest.yaml", "manifest.yml", "manifest.json")
MOST_MANIFEST_BYTES = 2**20
MOST_SEEDS_OF_A_RUN = 10_000
MOST_FILES_OF_A_RUN = 1_000

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
    seeds: tuple[Seed, ...] = Field(min_length=1, max_length=MOST_SEEDS_OF_A_RUN)
    """The seeds; any numbers that tell the runs apart."""
    settings: dict[Name, SettingValue] = Field(default_factory=dict)
    """Of a control: the settings that the audit gives it. For the experiment itself: none."""
    status: Literal["completed", "diverged"] = "completed"
    """The end of the runs; diverged ones may hold numbers that are not finite."""
    files: tuple[Text, ...] = Field(min_length=1, max_length=MOST_FILES_OF_A_RUN)
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
    left_out: tuple[Text, ...] = ()
    """Runs that were made and are not among these, by name."""
    taken_from: dict[Name, Text] = Field(default_factory=dict)
    """Measurements that logs have under another name, or that were computed from them: that name,
    or the formula."""
    noted: tuple[Text, ...] = ()
    """Sentences on the logs and their mapping, from `import`."""
    runs: tuple[Run, ...] = Field(min_length=1)
    """The runs."""


class Placed:
    """Gives the place of a field in the manifest, for messages.

    Args:
        file: the manifest's name.
        root: its tree with lines and columns; None for JSON, which has none here.
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
    found = [folder / name for name in NAMES if (folder / name).exists()]
    if len(found) != 1:
        what = "no manifest" if not found else f"{len(found)} manifests"
        raise UsageError(f"{folder}: holds {what}; expected one of {', '.join(NAMES)}.")
    file = found[0]
    data, root = _parse(file, misfits)
    misfits.raise_if_any()
    placed = Placed(file.name, root)
    try:
        manifest = Manifest.model_validate_json(json.dumps(data))
        if manifest.date > datetime.now(UTC).date() + timedelta(days=1):  # tomorrow, east of here
            text = f"found {manifest.date}, which is in the future; expected the day of the runs."
            misfits.add(placed("date"), text)
        return manifest, placed
    except ValidationError as error:
        _complain(error, data, placed, misfits)
        misfits.raise_if_any()
        raise AssertionError("a refused manifest has a misfit") from error


def _parse(file: Path, misfits: Misfits) -> tuple[Any, Node | None]:
    try:
        text = read_bounded(file, MOST_MANIFEST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        misfits.add(file.name, f"cannot be read as UTF-8 text ({error}).")
        return None, None
    except ValueError as error:
        misfits.add(file.name, str(error))
        return None, None
    if file.suffix == ".json":
        try:
            return json.loads(text, object_pairs_hook=unique), None
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
    """Add the faults that the models found, each field once."""
    seen: set[tuple[str | int, ...]] = set()
    above: set[tuple[str | int, ...]] = set()
    for one in error.errors(include_url=False):
        known = _steps(one["loc"], data)
        if known in seen or (known in above and one["type"] == "too_short"):
            continue  # what lies below was refused, and then counted as absent
        above.update(known[:i] for i in range(len(known)))
        field = str(one["loc"][-1]) if one["loc"] else ""
        if one["type"] == "missing":
            misfits.add(placed(*known), f"found no '{field}'; expected it. {_meaning(field)}")
        elif one["type"] == "extra_forbidden":
            hint = did_you_mean(clipped(field, 80), _fields(known))
            misfits.add(placed(*known), f"found the unknown field '{clipped(field, 80)}'. {hint}")
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
    return clipped(json.dumps(data, ensure_ascii=True), 60)


def settings_for(settings: Mapping[str, SettingValue], experiment: str) -> dict[str, SettingValue]:
    """The settings of an experiment, among those named "setting" and "experiment.setting"."""
    return {
        name.rpartition(".")[2]: value
        for name, value in settings.items()
        if name.rpartition(".")[0] in ("", experiment)
    }
