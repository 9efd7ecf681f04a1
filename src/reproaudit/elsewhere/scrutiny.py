"""Scrutiny of measurements from elsewhere of which each fits its declaration.

Runs of different seeds with the same numbers, series that end elsewhere than the stated length of
training, runs that are called diverged and are finite: told to the reader, and refused where the
runs cannot be what they are said to be.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Role
from reproaudit.audit.training_length import end_beside, stated_length
from reproaudit.cell import SettingValue
from reproaudit.elsewhere.manifest import Manifest
from reproaudit.elsewhere.misfit import Misfits, clipped
from reproaudit.records import CellStatus, Record

DISTINCT = 10
"""Distinct numbers of one series or array that two runs of different seeds do not share."""

_Kind = Literal["numbers", "curves"]
_IN_COMMON: dict[_Kind, str] = {"numbers": " in everything supplied", "curves": ""}
"""The things that runs may have in common, and the end of the sentence that tells it."""

MOST_SEEDS_NAMED = 8
"""Seeds that a sentence names; of more it says how many."""


@dataclass(frozen=True, eq=False)
class SubmittedRun:
    """One run of one seed, as it was submitted.

    Attributes:
        batch: the experiment or control, in words.
        role: the role of its batch.
        place: its seed's place in the manifest.
        record: its record.
        finite: whether all its numbers were finite before those that are not were cut off.
        smaller: the settings of a control at the smaller scale that the audit lets it run at; None
            if it has the tier's.
    """

    batch: str
    role: Role
    place: str
    record: Record
    finite: bool
    smaller: Mapping[str, SettingValue] | None

    @cached_property
    def numbers(self) -> str | None:
        """A digest of all its numbers; None if it has none."""
        measured = self.record.measurements
        steps = {f"steps of {n}": np.array(one.steps) for n, one in measured.series.items()}
        values = {name: one.values for name, one in measured.series.items()}
        scalars = {name: np.array(one) for name, one in measured.scalars.items()}
        every = {**steps, **values, **scalars, **measured.arrays}
        return _digest(every) if every else None

    @cached_property
    def curves(self) -> str | None:
        """A digest of the values of all its series; None if none has more than a few numbers."""
        values = {name: one.values for name, one in self.record.measurements.series.items()}
        return _digest(values) if _has_many(*values.values()) else None


def refuse_copies(runs: Sequence[SubmittedRun], misfits: Misfits) -> None:
    """Adds a fault for runs that equal another seed's where a third seed of theirs differs.

    No two runs of different seeds agree so. Told and not refused (`remarks_on`) are those that may
    be a closed form, since all of them agree or are constructed, and those of a few numbers alone.
    """
    for batch in _batches(runs).values():
        for first, *others in _groups(batch, "numbers"):
            if _is_copied(batch, [first, *others]):
                misfits.add(
                    others[0].place,
                    f"found the same numbers for {_seeds(others)} as for {_seeds([first])} of "
                    f"{first.batch}; expected runs of their own, since the other seeds differ. "
                    "Leave out what is a copy.",
                )


def _is_copied(batch: Sequence[SubmittedRun], equal: Sequence[SubmittedRun]) -> bool:
    measured = equal[0].record.measurements
    parts = [*(one.values for one in measured.series.values()), *measured.arrays.values()]
    return (
        len(equal) < len(_completed(batch))
        and equal[0].role is not Role.POSITIVE_CONTROL
        and _has_many(*parts)
    )


MOST_LEFT_OUT = 10
"""Of runs that were left out, so many are named."""
LONGEST_FORMULA = 4000
LONGEST_NOTE = 4000


def remarks_on(audit: Audit, manifest: Manifest, runs: Sequence[SubmittedRun]) -> tuple[str, ...]:
    """Sentences about what stands out in runs that were not refused, and in their manifest."""
    batches = _batches(runs)
    return (
        *_stated(manifest),
        *_formulas_apart(manifest, runs),
        *_seeds_apart(list(batches.values())),
        *(said for batch in batches.values() for said in _repeats(batch)),
        *_shared(list(batches.values())),
        *(said for batch in batches.values() for said in _ends(audit, batch)),
        *(said for batch in batches.values() for said in _ends_apart(batch)),
        *(said for batch in batches.values() for said in _finite(batch)),
    )


def _stated(manifest: Manifest) -> Iterator[str]:
    """Yields what the manifest says of runs that are not here, and of where numbers are from."""
    if manifest.left_out:
        named, more = manifest.left_out[:MOST_LEFT_OUT], len(manifest.left_out) - MOST_LEFT_OUT
        rest = f" and {more} more" if more > 0 else ""
        how_many = (
            "1 run that was made is"
            if len(manifest.left_out) == 1
            else f"{len(manifest.left_out)} runs that were made are"
        )
        yield (
            f"{how_many} not among these: {', '.join(map(clipped, named))}{rest}. Whoever leaves "
            "runs out chooses among them."
        )
    yield from (clipped(one, LONGEST_NOTE) for one in manifest.noted)
    for name, formula in manifest.taken_from.items():
        yield f"'{name}' was taken from logs as {clipped(formula, LONGEST_FORMULA)}."


_SETTING = re.compile(r"""setting\(\s*["']([^"']+)["']\s*\)""")


def _formulas_apart(manifest: Manifest, runs: Sequence[SubmittedRun]) -> Iterator[str]:
    """Yields a sentence on each formula that reads a setting which not all runs have alike.

    A control that differs in it is then measured by other numbers than the claim.
    """
    for name, formula in manifest.taken_from.items():
        for setting in dict.fromkeys(_SETTING.findall(formula)):
            values = {repr(one.record.settings.get(setting)) for one in runs}
            if len(values) > 1:
                yield (
                    f"'{clipped(name)}' was taken from logs with the setting '{clipped(setting)}', "
                    "which is not the same in all runs: a control may be measured by another "
                    "formula than its claim."
                )


def _seeds_apart(batches: Sequence[Sequence[SubmittedRun]]) -> Iterator[str]:
    """Yields a sentence where the claims' runs and their controls' have different seeds.

    They are judged together, so that each then lacks seeds of the other.
    """
    judged = [batch for batch in batches if batch[0].role is not Role.POSITIVE_CONTROL]
    seeds = {batch[0].batch: sorted(run.record.seed for run in batch) for batch in judged}
    if len({tuple(one) for one in seeds.values()}) > 1:
        named = "; ".join(f"{batch} has {seed_words(own)}" for batch, own in seeds.items())
        yield (
            f"Not all have the same seeds, and a claim needs every seed of each: {clipped(named)}."
        )


# --- the same numbers -----------------------------------------------------------------------------


def _digest(numbers: Mapping[str, NDArray[np.float64]]) -> str:
    whole = hashlib.sha256()
    for name, one in sorted(numbers.items()):
        array = np.asarray(one, dtype=np.float64) + 0.0  # −0 is 0
        whole.update(f"{name} {array.shape} ".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()


def _has_many(*arrays: NDArray[np.float64]) -> bool:
    """True if so many numbers of an array are distinct that no two runs share them by chance."""
    return any(
        np.unique(some).size >= DISTINCT for one in arrays for some in (one.ravel()[:100], one)
    )


def _groups(runs: Sequence[SubmittedRun], kind: _Kind) -> list[list[SubmittedRun]]:
    """The completed runs with the same numbers or the same curves, where two or more have them."""
    found: dict[str, list[SubmittedRun]] = {}
    for run in _completed(runs):
        if (digest := getattr(run, kind)) is not None:
            found.setdefault(digest, []).append(run)
    return [group for group in found.values() if len(group) > 1]


def _repeats(batch: Sequence[SubmittedRun]) -> Iterator[str]:
    """The seeds of one batch that have the same numbers, or at least the same curves."""
    told: list[list[SubmittedRun]] = []
    for kind in _IN_COMMON:
        for group in _groups(batch, kind):
            if group in told:
                continue
            told.append(group)
            if len(group) == len(_completed(batch)):
                yield f"{_who(group, all_of=len(group))} have the same {kind}."
            else:
                first, *others = group
                who, verb = _who(others), _verb(others, "have")
                yield f"{who} {verb} the same {kind} as {_seeds([first])}{_IN_COMMON[kind]}."


def _shared(batches: Sequence[Sequence[SubmittedRun]]) -> Iterator[str]:
    """The runs of one batch that have the numbers or the curves of another batch's."""
    for index, theirs in enumerate(batches):
        for mine in batches[:index]:
            for kind in _IN_COMMON:
                yield from _shared_by(mine, theirs, kind)


def _shared_by(
    mine: Sequence[SubmittedRun], theirs: Sequence[SubmittedRun], kind: _Kind
) -> Iterator[str]:
    others: dict[str | None, dict[int, SubmittedRun]] = {}
    for run in _completed(theirs):
        others.setdefault(getattr(run, kind), {})[run.record.seed] = run
    pairs = []
    for run in _completed(mine):
        same = others.get(getattr(run, kind), {}) if getattr(run, kind) is not None else {}
        if same:
            other = same.get(run.record.seed, next(iter(same.values())))
            if kind == "numbers" or run.numbers != other.numbers:
                pairs.append((run, other))
    if not pairs:
        return
    alike = len(pairs) > 1 and all(a.record.seed == b.record.seed for a, b in pairs)
    which = "the same seeds" if alike else seed_words(sorted({b.record.seed for _, b in pairs}))
    runs = [run for run, _ in pairs]
    who, verb = _who(runs), _verb(runs, "have")
    yield f"{who} {verb} the same {kind} as {which} of {theirs[0].batch}{_IN_COMMON[kind]}."


# --- length and end -------------------------------------------------------------------------------


def _ends(audit: Audit, batch: Sequence[SubmittedRun]) -> Iterator[str]:
    """The runs whose longest series does not end where the training does."""
    ends: dict[tuple[int, float], list[SubmittedRun]] = {}
    for run in _completed(batch):
        found = _end_beside(audit, run, run.record.settings)
        if found and (run.smaller is None or _end_beside(audit, run, run.smaller)):
            ends.setdefault(found, []).append(run)
    for (end, length), some in ends.items():
        who = _who(some, all_of=len(_completed(batch)))
        goes = f"{_verb(some, 'end')} at" if end < length else f"{_verb(some, 'go')} on to"
        yield f"{who} {goes} step {end} of {length:.0f}."


def _end_beside(
    audit: Audit, run: SubmittedRun, settings: Mapping[str, SettingValue]
) -> tuple[int, float] | None:
    """The last step of a run and the length of training, if the two do not agree."""
    length = stated_length(audit, run.record.experiment, settings)
    series = [one.steps for one in run.record.measurements.series.values()]
    points = run.role is not Role.POSITIVE_CONTROL
    end = None if length is None else end_beside(series, length, points=points)
    return None if end is None or length is None else (end, length)


def _ends_apart(batch: Sequence[SubmittedRun]) -> Iterator[str]:
    """Yields a sentence on each series that ends before another one of the same runs.

    The last number of such a series is judged as if training ended there.
    """
    if batch[0].role is Role.POSITIVE_CONTROL:
        return
    found: dict[tuple[str, int, int], list[SubmittedRun]] = {}
    for run in _completed(batch):
        series = run.record.measurements.series
        longest = max((one.steps[-1] for one in series.values()), default=0)
        for name, one in series.items():
            if end_beside([one.steps], longest, points=True) is not None:
                found.setdefault((name, int(one.steps[-1]), int(longest)), []).append(run)
    for (name, end, longest), some in found.items():
        who = _who(some, all_of=len(_completed(batch)))
        yield f"{who} {_verb(some, 'end')} '{name}' at step {end}, and other series at {longest}."


def _finite(batch: Sequence[SubmittedRun]) -> Iterator[str]:
    """The runs that are called diverged, and of which every number is finite."""
    some = [run for run in batch if run.record.status is CellStatus.DIVERGED and run.finite]
    if some:
        who, verb = _who(some, all_of=len(batch)), _verb(some, "are")
        yield f"{who} {verb} called diverged, and none of the numbers is infinite or NaN."


# --- words ----------------------------------------------------------------------------------------


def _batches(runs: Iterable[SubmittedRun]) -> dict[str, list[SubmittedRun]]:
    found: dict[str, list[SubmittedRun]] = {}
    for run in runs:
        found.setdefault(run.batch, []).append(run)
    return found


def _completed(runs: Sequence[SubmittedRun]) -> list[SubmittedRun]:
    return [run for run in runs if run.record.status is CellStatus.COMPLETED]


def _who(runs: Sequence[SubmittedRun], all_of: int = 0) -> str:
    """``Seeds 3 and 4 of experiment 'good'``, or ``All 5 seeds of …`` if these are all."""
    if len(runs) == all_of > 1:
        return f"All {all_of} seeds of {runs[0].batch}"
    said = _seeds(runs)
    return f"{said[:1].upper()}{said[1:]} of {runs[0].batch}"


def _seeds(runs: Sequence[SubmittedRun]) -> str:
    return seed_words([run.record.seed for run in runs])


def seed_words(seeds: Sequence[int]) -> str:
    """Returns ``seed 3`` or ``seeds 3 and 4``; of many their number."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if len(seeds) > MOST_SEEDS_NAMED:
        return f"{len(seeds)} seeds"
    return f"seeds {', '.join(map(str, seeds[:-1]))} and {seeds[-1]}"


def _verb(runs: Sequence[SubmittedRun], plural: str) -> str:
    """The verb in the number of its runs."""
    if len(runs) > 1:
        return plural
    return {"have": "has", "end": "ends", "go": "goes", "are": "is"}[plural]
