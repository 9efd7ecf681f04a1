"""One run in several files: what lies in subfolders or side by side is joined by folder and tag."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from reproaudit.logs.asked import Asked
from reproaudit.logs.columns import PAGE_FILE, stem_of
from reproaudit.logs.configurations import CONFIG_FILES, HUGGING_FACE
from reproaudit.logs.logged import Curve, Curves, LoggedCoordinates, LoggedRun, overlap_remark
from reproaudit.logs.names import SEED_IN_NAME, SUMMED

_PARTS = frozenset({"train", "training", "val", "valid", "validation", "test", "eval"})
"""Folders in which Keras and others keep a part of one run's curves."""
_PLOTS = ("plots", "metrics")
"""Below these DVCLive keeps a table for each metric, in folders of its own."""

_NUMBERED = re.compile(r"(?i)(fold|seed|split|repeat|repetition|replicate)[_\- =]?\d+")
"""Folders of one fold or seed."""
_OF_ALL = SUMMED | {"crossval", "cv", "folds", "seeds"}


def join_parts(runs: Sequence[LoggedRun], root: Path) -> list[LoggedRun]:
    """Return the runs, those joined that are parts of one; none leads out of `root`."""
    homes = {run.folder for run in runs if run.source == "TensorBoard"}
    logs = logs_of(runs)
    groups: dict[tuple[object, ...], list[LoggedRun]] = {}
    for index, run in enumerate(runs):
        home = None if run.folder == root else _home(run, homes, root)
        key: tuple[object, ...] = (index,)
        if home is not None:
            run = _moved(run, home)
            key = (run.source, home)
        elif _is_of_page(run):
            key = (run.source, run.folder, run.name)
        elif run.folder in logs and is_summary(run):
            key = (logs[run.folder].source, run.folder)
        elif run is logs.get(run.folder) or run.source == "TensorBoard" or _is_piece(run):
            key = (run.source, run.folder)
        groups.setdefault(key, []).append(run)
    return [run for group in groups.values() for run in _joined(sorted(group, key=is_summary))]


def logs_of(runs: Sequence[LoggedRun]) -> dict[Path, LoggedRun]:
    """Return the only log with steps of each folder that has a single one."""
    logs: dict[Path, list[LoggedRun]] = {}
    for run in runs:
        if not is_summary(run):
            logs.setdefault(run.folder, []).append(run)
    return {folder: own[0] for folder, own in logs.items() if len(own) == 1}


def is_summary(run: LoggedRun) -> bool:
    """Return True if a file has nothing but single numbers, and no seed: those of a run's end."""
    single = all(curve.steps is None and len(curve.values) == 1 for curve in run.all_curves)
    return single and _is_piece(run)


def apart_from(log: LoggedRun, run: LoggedRun, wants: Callable[[str], bool]) -> Curves:
    """Return what a summary has beyond the log beside it, if wanted numbers are not its last.

    So are those of the best checkpoint: they are called after the file, `eval_results.accuracy`.
    """
    apart = {}
    for tag in run.curves.keys() & log.curves.keys() if is_summary(run) else ():
        called = f"{stem_of(run.files[0])}.{tag}"
        ends = {at: curve.values[-1:] for at, curve in log.curves[tag].items()}
        differs = any(
            len(ends.get(at, ())) and not np.array_equal(ends[at], curve.values, equal_nan=True)
            for at, curve in run.curves[tag].items()
        )
        if differs and (wants(tag) or wants(called)):
            apart[called] = run.curves[tag]
    more = {tag: at for tag, at in run.curves.items() if tag not in log.curves}
    return {**more, **apart} if apart else {}


def sums_of_folders(runs: Sequence[LoggedRun]) -> set[Path]:
    """Return the files that sum up those in folders of folds or seeds beside them.

    Such a file has no seed, and lies above the folders, called as their files are, or below a
    folder that is called after all of them.
    """
    folders: dict[Path, dict[Path, str]] = {}
    for file in {run.files[0] for run in runs}:
        for above in file.parents:
            if _NUMBERED.fullmatch(above.name):
                folders.setdefault(above.parent, {})[above] = file.name
    seeded = {run.files[0] for run in runs if run.seed is not None}
    sums: set[Path] = set()
    for file in {run.files[0] for run in runs} - seeded:
        for above in file.parents:
            first, *below = file.relative_to(above).parts
            called = not below and first in folders.get(above, {}).values()
            of_all = not _OF_ALL.isdisjoint(re.findall("[a-z]+", first.lower()))
            is_sum = (called or of_all) and not SEED_IN_NAME.search(first)
            if is_sum and len(folders.get(above, ())) > 1:
                sums.add(file)
    return sums


def _home(run: LoggedRun, homes: set[Path], root: Path) -> Path | None:
    """Return the folder of the run that a folder is a part of; None if it is a run's own."""
    below = run.folder.relative_to(root).parts if run.folder.is_relative_to(root) else ()
    if below[-3:-1] == _PLOTS or below[-2:] == _PLOTS:
        return run.folder.parents[2 if below[-3:-1] == _PLOTS else 1]
    if run.source != "TensorBoard" or not run.curves:
        return None
    # add_scalars writes each curve to a folder that is called after its tag
    tags = [tag.replace("/", "_") for tag in run.curves]
    for depth in range(1, min(len(below), 2) + 1):
        home = run.folder.parents[depth - 1]
        name = "_".join(below[-depth:])
        if home in homes and all(name.startswith(f"{tag}_") for tag in tags):
            return home
    return run.folder.parent if below and below[-1].lower() in _PARTS else None


def _moved(run: LoggedRun, home: Path) -> LoggedRun:
    """Return a part as if it lay in its run's folder; its tags begin with its own."""
    below = run.folder.relative_to(home)
    end = -len(below.parts) - (run.source != "TensorBoard")
    within = below.as_posix().removeprefix("/".join(_PLOTS)).lstrip("/")
    return replace(
        run,
        name="/".join(run.name.split("/")[:end]) or run.name,
        folder=home,
        parts=run.parts[:end] or run.parts,
        curves={f"{within}/{tag}" if within else tag: at for tag, at in run.curves.items()},
    )


def _is_of_page(run: LoggedRun) -> bool:
    return any(PAGE_FILE.fullmatch(stem_of(file)) for file in run.files)


def _is_piece(run: LoggedRun) -> bool:
    """Return True if a file may hold a part of a run: one metric, or numbers of its end."""
    few = len(run.curves) == 1 or all(curve.steps is None for curve in run.all_curves)
    numbered = any(part.isdecimal() for part in run.parts[-1])
    return few and not (run.source != "table" or run.seed is not None or run.config or numbered)


def _joined(group: Sequence[LoggedRun]) -> Iterator[LoggedRun]:
    """Yield one run of the parts of a group; parts with the same tag stay apart."""
    whole = group[0]
    for run in group[1:]:
        is_named = run.source == "TensorBoard" or _is_of_page(run)
        curves = {tag: dict(at) for tag, at in whole.curves.items()}
        if is_summary(run) and not is_summary(whole):
            is_named = True
            run = replace(run, curves={t: at for t, at in run.curves.items() if t not in curves})
        again = [(at, curves[tag]) for tag, at in run.curves.items() if tag in curves]
        if any(_differ(*both) for both in again) or (again and not _is_run(run.folder)):
            yield run
            continue
        for tag, at in run.curves.items():
            curves.setdefault(tag, {}).update(at)
        whole = replace(
            whole,
            name=whole.name if is_named else whole.name.rpartition("/")[0],
            curves=curves,
            files=(*whole.files, *run.files),
            not_whole=tuple(dict.fromkeys((*whole.not_whole, *run.not_whole))),
            remarks=tuple(dict.fromkeys((*whole.remarks, *run.remarks))),
        )
    yield whole


def _is_run(folder: Path) -> bool:
    return bool(SEED_IN_NAME.search(folder.name)) or any(
        (folder / name).is_file() for name in CONFIG_FILES
    )


def is_copy(run: LoggedRun, other: LoggedRun, asked: Asked, fewest: int = 2) -> bool:
    """Return True if two files of one folder hold the same courses of what is wanted, or of all.

    Each has so many points at least.
    """
    tags = [tag for tag in run.curves if asked.wants(tag)] or [*run.curves]
    if run.files == other.files or run.folder != other.folder or not tags:
        return False
    return all(
        tag in other.curves
        and run.curves[tag].keys() == other.curves[tag].keys()
        and not _differ(run.curves[tag], other.curves[tag])
        and all(len(curve.values) >= fewest for curve in run.curves[tag].values())
        for tag in tags
    )


def copies_of_states(runs: Sequence[LoggedRun], asked: Asked) -> dict[Path, str]:
    """Return the files with the series of a Trainer's state beside them, each with the reason.

    Where the file has the column of steps that the mapping names, the state is the copy.
    """
    read = {run.folder: run for run in runs if run.source == HUGGING_FACE}
    named = [run for run in runs if run.step and run.step == asked.columns.step]
    read |= {run.folder: run for run in named if run.folder in read}
    beside = ((run, read[run.folder]) for run in runs if run.folder in read and not is_summary(run))
    return {
        run.files[0]: f"the same series as {other.files[0].name} beside it"
        for run, other in beside
        if is_copy(run, other, asked, fewest=1)
    }


def continued(
    run: LoggedRun, other: LoggedRun, wants: Callable[[str], bool], holds: str
) -> LoggedRun | None:
    """Return a run with the points of another whose wanted series begin later and go on further.

    None if they do not. Where both have points, the ``later`` or the ``earlier`` hold.
    """
    curves = {tag: dict(at) for tag, at in {**run.curves, **other.curves}.items()}
    wanted = set(filter(wants, run.tags)) & {*other.tags}
    for tag in wanted:
        for at, curve in other.curves[tag].items():
            joined = _continued(run.curves[tag].get(at), curve, holds)
            if joined is None:
                return None
            curves[tag][at] = joined
    dropped = sum(
        len(run.curves[tag][at].values) + len(curve.values) - len(curves[tag][at].values)
        for tag in wanted
        for at, curve in other.curves[tag].items()
    )
    remark = f"resumed in another folder: {overlap_remark(holds, dropped)}"
    remarks = tuple(dict.fromkeys((*run.remarks, *other.remarks, remark)))
    files = (*run.files, *other.files)
    return replace(run, curves=curves, files=files, remarks=remarks) if wanted else None


def at_others(run: LoggedRun, other: LoggedRun, wants: Callable[[str], bool]) -> LoggedRun | None:
    """Return a run with what another has at other coordinates; None if one has it in both."""
    tags = [*filter(wants, run.tags)]
    apart = bool(tags) and all(
        tag in other.curves and not run.curves[tag].keys() & other.curves[tag].keys()
        for tag in tags
    )
    if not apart:
        return None
    curves = {tag: {**run.curves[tag], **other.curves[tag]} for tag in tags}
    return replace(run, curves={**run.curves, **curves}, files=(*run.files, *other.files))


def _continued(curve: Curve | None, other: Curve, holds: str) -> Curve | None:
    if curve is None or curve.steps is None or other.steps is None:
        return None
    if len(curve.steps) + len(other.steps) == 2:
        return None  # single numbers, which no run went on from
    if curve.steps.min() >= other.steps.min() or curve.steps.max() >= other.steps.max():
        return None
    before = curve.steps < (other.steps.min() if holds == "later" else np.inf)
    after = other.steps > curve.steps[before].max()
    steps = np.concatenate([curve.steps[before], other.steps[after]])
    values = np.concatenate([curve.values[before], other.values[after]])
    return replace(other, steps=steps, values=values)


def _differ(
    curves: Mapping[LoggedCoordinates, Curve], other: Mapping[LoggedCoordinates, Curve]
) -> bool:
    return any(
        not np.array_equal(curves[at].values, other[at].values, equal_nan=True)
        for at in curves.keys() & other.keys()
    )
