"""A folder to be filled in: a manifest and empty tables with all that an answer needs."""

from __future__ import annotations

import csv
import io
import itertools
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from reproaudit.audit.draft import TODO
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, Role, arms_of, batch_of
from reproaudit.declarations import Axis, MeasurementKind
from reproaudit.elsewhere.scope import Scope, scope_of
from reproaudit.elsewhere.writing import MANIFEST, plain_settings

_HEAD = """\
# To be filled in: every TODO here, and every empty cell of the tables. The seeds may be
# any numbers, but as many as these. docs/measurements.md says what each field means.
schema_version: 1
who: {todo}
source: {todo}
framework: {todo}
date: {todo}
paper: {slug}
tier: {tier}
# Uncomment what the runs were made with, and correct it. What is not stated is
# taken to be as here, and the evidence on it is assumed at best.
# settings:
"""


def template_files(audit: Audit, tier: TierName, claims: Sequence[str]) -> dict[str, str]:
    """Return the files of a submission that is still to be filled in, by name.

    One run for each experiment and arm that the claims (none: all) rest on, with the seeds of the
    tier; one table for each shape of measurement, with a row for each seed and coordinate. Of a
    series the step is open: repeat its rows for each observed step.

    Raises:
        UsageError: if a claim is unknown.
    """
    scope = scope_of(audit, tier, claims)
    manifest = _HEAD.format(todo=TODO, slug=audit.paper.slug, tier=tier)
    for experiment in dict.fromkeys(batch.experiment for batch in scope.batches):
        for name, value in plain_settings(audit.values_of(experiment, tier)).items():
            manifest += f"#   {_yaml({f'{experiment}.{name}': value})}"
    manifest += "runs:\n"
    tables: dict[str, str] = {}
    for number, batch in enumerate(scope.batches, start=1):
        own = dict(_tables(audit, batch, scope.measurements[batch.experiment]))
        stem = f"{number}-{batch.experiment}"
        names = [f"{stem}-{kind}.csv" if len(own) > 1 else f"{stem}.csv" for kind in own]
        tables.update(zip(names, own.values(), strict=True))
        run: dict[str, Any] = {"experiment": batch.experiment, "seeds": list(batch.seeds)}
        if batch.overrides:
            run["settings"] = plain_settings(dict(batch.overrides))
        comments = "".join(f"# {line}\n" for line in _comments(audit, tier, scope, batch))
        manifest += textwrap.indent(comments + _yaml([{**run, "files": names}]), "  ")
    return {MANIFEST: manifest, **tables}


def _yaml(data: Any) -> str:
    text: str = yaml.safe_dump(
        data, sort_keys=False, allow_unicode=True, width=96, default_flow_style=None
    )
    return text.strip("{}\n") + "\n" if isinstance(data, dict) else text


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
    """Yield each table's kind and text; measurements of one shape share a table."""
    settings = batch.settings(audit)
    shapes: dict[tuple[bool, tuple[Axis, ...]], list[str]] = {}
    for name in names:
        one = audit.measurements_of(batch.experiment)[name]
        shapes.setdefault((one.kind is MeasurementKind.SERIES, one.axes), []).append(name)
    kinds: set[str] = set()
    for (is_series, axes), columns in shapes.items():
        coordinates = [axis.coordinates(settings) for axis in axes]
        head = ["seed", *(["step"] if is_series else []), *(axis.name for axis in axes)]
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow([*head, *columns])
        for seed, *at in itertools.product(batch.seeds, *coordinates):
            table.writerow([seed, *([""] if is_series else []), *at, *("" for _ in columns)])
        kind = "series" if is_series else "arrays" if axes else "numbers"
        kind = "-by-".join([kind, *(axis.name for axis in axes)])
        kind = columns[0] if kind in kinds else kind  # axes of one name, of several lengths
        kinds.add(kind)
        yield kind, text.getvalue()
