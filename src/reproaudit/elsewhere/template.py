"""A folder to be filled in: a manifest and empty tables with all that a verdict needs."""

from __future__ import annotations

import csv
import io
import itertools
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from reproaudit.audit.draft import TODO
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, Role, arms_of, batch_of
from reproaudit.declarations import Axis, Declaration, MeasurementKind
from reproaudit.elsewhere.scope import Scope, scope_of


def template_files(audit: Audit, tier: TierName, claims: Sequence[str]) -> dict[str, str]:
    """The files of a submission that is still to be filled in, by name.

    One run for each experiment and arm that the claims rest on, with the
    seeds of the tier; one table for each shape of measurement, with a row for each seed and
    coordinate. Of a series the step is open: repeat its rows for each observed step.

    Args:
        claims: the ids of the claims that are to be judged; none for all.

    Raises:
        UsageError: if a claim is unknown.
    """
    scope = scope_of(audit, tier, claims)
    files: dict[str, str] = {}
    runs = []
    for number, batch in enumerate(scope.batches, start=1):
        stem = f"{number}-{batch.experiment}"
        tables = dict(_tables(audit, batch, scope.measurements[batch.experiment]))
        named = {f"{stem}{'' if len(tables) == 1 else '-' + name}.csv": text
                 for name, text in tables.items()}  # fmt: skip
        files |= named
        runs.append((batch, list(named)))
    return {"manifest.yaml": _manifest(audit, tier, scope, runs), **files}


def _manifest(
    audit: Audit, tier: TierName, scope: Scope, runs: Sequence[tuple[Batch, list[str]]]
) -> str:
    head = {
        "schema_version": 1,
        "who": TODO,
        "source": TODO,
        "framework": TODO,
        "date": TODO,
        "paper": audit.paper.slug,
        "tier": tier,
    }
    lines = [
        "# To be filled in: every TODO here, and every empty cell of the tables. The seeds may be",
        "# any numbers, but as many as these. docs/measurements.md says what each field means.",
        *_yaml(head, flow=False).splitlines(),
        *_settings(audit, tier, scope),
        "runs:",
    ]
    for batch, files in runs:
        lines += [f"  # {line}" for line in _comments(audit, tier, scope, batch)]
        run: dict[str, Any] = {"experiment": batch.experiment, "seeds": list(batch.seeds)}
        if batch.overrides:
            run["settings"] = {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in batch.overrides
            }
        entry = _yaml([{**run, "files": files}])
        lines += [f"  {line}" for line in entry.splitlines()]
    return "\n".join(lines) + "\n"


def _settings(audit: Audit, tier: TierName, scope: Scope) -> Iterator[str]:
    """The settings that the audit takes the runs to have had, to be stated by whoever knows."""
    stated = {
        f"{experiment}.{name}": list(value) if isinstance(value, tuple) else value
        for experiment in dict.fromkeys(batch.experiment for batch in scope.batches)
        for name, value in audit.values_of(experiment, tier).items()
    }
    if stated:
        yield "# Uncomment what the runs were made with, and correct it. What is not stated is"
        yield "# taken to be as here, and the evidence on it is assumed at best."
        yield "# settings:"
        for name, value in stated.items():
            yield f"#   {_yaml({name: value}).strip()}"


def _yaml(data: Any, flow: bool | None = None) -> str:
    return yaml.safe_dump(
        data, sort_keys=False, allow_unicode=True, width=96, default_flow_style=flow
    )


def _comments(audit: Audit, tier: TierName, scope: Scope, batch: Batch) -> Iterator[str]:
    """Yield for whom a run is, and what an arm is."""
    title = " ".join(audit.experiments[batch.experiment].title.split())
    said = set()
    for claim in scope.claims:
        for arm in arms_of(audit, claim):
            if batch_of(audit, claim, arm, tier) != batch:
                continue
            if arm.role is Role.OWN:
                said.add(f"{claim.id}: its own runs ({title})")
            else:
                shared = audit.arms.get(arm.name)
                why = f". {' '.join(shared.why.split())}" if shared is not None else ""
                said.add(f"{claim.id}: {arm.role.value} {arm.name}{why}")
    for text in sorted(said) or [title]:
        yield from textwrap.wrap(text, 92, subsequent_indent="  ")


def _tables(audit: Audit, batch: Batch, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each table's name and text; measurements of one shape share a table."""
    settings = batch.settings(audit)
    shapes: dict[tuple[bool, tuple[Axis, ...]], list[str]] = {}
    declared: Mapping[str, Declaration] = audit.measurements_of(batch.experiment)
    for name in names:
        one = declared[name]
        shapes.setdefault((one.kind is MeasurementKind.SERIES, one.axes), []).append(name)
    for (is_series, axes), columns in shapes.items():
        coordinates = [axis.coordinates(settings) for axis in axes]
        head = ["seed", *(["step"] if is_series else []), *(axis.name for axis in axes), *columns]
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(head)
        for seed, *at in itertools.product(batch.seeds, *coordinates):
            table.writerow([seed, *([""] if is_series else []), *at, *("" for _ in columns)])
        kind = "series" if is_series else "numbers" if not axes else "arrays"
        alike = [key for key in shapes if _names(*key) == _names(is_series, axes)]
        kind = kind if len(alike) == 1 else columns[0]  # axes of one name, of several lengths
        yield "-by-".join([kind, *(axis.name for axis in axes)]), text.getvalue()


def _names(is_series: bool, axes: Sequence[Axis]) -> tuple[bool, tuple[str, ...]]:
    return is_series, tuple(axis.name for axis in axes)
