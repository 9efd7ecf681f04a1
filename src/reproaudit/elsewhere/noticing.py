"""Choices of whoever imports logs, which a reader of the measurements should know of.

Seeds that logs state otherwise, rows of tables that hold no value, settings that a mapping passes
over, controls whose configurations differ from the experiment's in more than the audit says, and
what lets runs pass that differ or look cut. None of it is refused, since each may have its reason;
all of it is told beside the verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

import numpy as np

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, Role, claim_batches
from reproaudit.audit.rules.values import same, shown
from reproaudit.audit.scope import Scope
from reproaudit.cell import canonical_settings
from reproaudit.elsewhere.configurations import alike, normal, seeds_logged
from reproaudit.elsewhere.logged import on_one_line
from reproaudit.elsewhere.mapping import SAID_WHOLE, MappingFile
from reproaudit.elsewhere.roles import (
    PlacedRun,
    is_of_run_alone,
    may_vary,
    role_words,
)
from reproaudit.elsewhere.rows import number_of

MOST_NOTICED = 8
"""Of runs, or of values of configurations, that a sentence tells of, so many are named."""

_Role = tuple[str, str]


def noticed(
    audit: Audit,
    scope: Scope,
    tier: TierName,
    placed: Sequence[PlacedRun],
    mapping: MappingFile,
) -> tuple[str, ...]:
    """Returns sentences on what was chosen, or let pass, when these runs were placed.

    Args:
        audit: the audit.
        scope: what was asked for.
        tier: the scale of the runs.
        placed: the runs.
        mapping: the mapping file.
    """
    by_role: dict[_Role, list[PlacedRun]] = {}
    for one in placed:
        by_role.setdefault(_role(one.batch), []).append(one)
    return (
        *_seeds_renamed(placed),
        *_rows_without_values(placed),
        *_settings_passed_over(placed, mapping),
        *_settings_renamed(placed, mapping),
        *_varied(by_role.values(), mapping),
        *_controls_that_differ(audit, scope, tier, by_role),
        *_roles_that_logs_deny(placed),
        *_replaced(placed),
        *_steps_of_tables(placed),
        *_lengths(by_role.values(), audit, mapping),
        *_let_pass(mapping),
    )


def not_read(unread: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yields a sentence on what may hold runs, among the logs that were given, and was not read.

    Args:
        unread: names of files, folders and runs, each with the reason.
    """
    if unread:
        named = (f"{name_within(name)} ({why})" for name, why in unread)
        yield f"Among the logs were not read: {_some(list(named), ', ')}."


def name_within(run: str) -> str:
    """Returns a run's file and its folder: where that folder lies is nobody else's affair."""
    return "/".join(PurePath(run).parts[-2:])


def _role(batch: Batch) -> _Role:
    """A batch without its scale, which a log does not state."""
    return batch.experiment, canonical_settings(dict(batch.overrides))


def _seeds_renamed(placed: Iterable[PlacedRun]) -> Iterator[str]:
    """Yields a sentence on runs that were given another seed than their logs state."""
    renamed = []
    for one in placed:
        logged = seeds_logged(one.run)
        if logged and one.seed not in logged:
            said = " and ".join(f"{seed} in {where}" for seed, where in logged.items())
            renamed.append(f"{name_within(one.run.name)} is called seed {one.seed} and has {said}")
    if renamed:
        yield f"Seeds are not those of the logs: {_some(renamed, '; ')}."


def _rows_without_values(placed: Iterable[PlacedRun]) -> Iterator[str]:
    """Yields a sentence on runs whose tables have steps without any value.

    What is not finite may have been written as nothing. A step at which other tags alone have
    values is none of them: not all is logged at each step.
    """
    blank = [
        f"{name_within(one.run.name)} has {len(steps)}, the first {steps[0]}"
        for one in placed
        if (steps := one.run.blank)
    ]
    if blank:
        yield (
            "Steps that stand in the logs without any value were taken as never logged: "
            f"{_some(blank, '; ')}."
        )


def _settings_passed_over(placed: Sequence[PlacedRun], mapping: MappingFile) -> Iterator[str]:
    """Yields a sentence on each setting whose own name the mapping passes over."""
    for name, called in mapping.configuration.items():
        values = {
            shown(value) if isinstance(value, int | float | str | tuple) else str(value): None
            for one in placed
            for key, value in one.run.config.items()
            if normal(key.rpartition(".")[2]) == name and key != called and value is not None
        }
        if values:
            instead = f"'{called}' is read in its place" if called else "nothing is in its place"
            found = on_one_line(_some(list(values), " or "))
            yield (
                f"The configurations have {name} = {found}, which the mapping passes over: "
                f"{instead}."
            )


def _settings_renamed(placed: Sequence[PlacedRun], mapping: MappingFile) -> Iterator[str]:
    """Yields a sentence on settings that the mapping reads from names of its choice."""
    stated = {pair.name for one in placed for pair in one.stated.values()}
    renamed = [
        f"{name} from '{called}'"
        for name, called in mapping.configuration.items()
        if called is not None and called in stated and normal(called.rpartition(".")[2]) != name
    ]
    if renamed:
        yield f"Settings were read from other names in the configurations: {_some(renamed, ', ')}."


def _varied(roles: Iterable[Sequence[PlacedRun]], mapping: MappingFile) -> Iterator[str]:
    """Yields a sentence on what differs among the runs of one role, as the mapping allows."""
    for runs in roles:
        differing = []
        for key in sorted({key for one in runs for key in one.run.config}):
            if may_vary(key, mapping) and not is_of_run_alone(key) and _varies(key, runs):
                values = dict.fromkeys(_said(one.run.config.get(key)) for one in runs)
                differing.append(f"{key} ({_some(list(values), ', ')})")
        if differing:
            yield (
                f"Runs of {role_words(runs[0].batch)} differ in more than their seed, as the "
                f"mapping allows: {_some(differing, ', ')}."
            )


def _controls_that_differ(
    audit: Audit, scope: Scope, tier: TierName, by_role: Mapping[_Role, Sequence[PlacedRun]]
) -> Iterator[str]:
    """Yields a sentence on each control whose configuration differs otherwise than the audit says.

    It should lack the mechanism alone.
    """
    told: set[tuple[_Role, _Role]] = set()
    for claim in scope.claims:
        batches = list(claim_batches(audit, claim, tier))
        ours = next(_role(batch) for role, batch in batches if role is Role.EXPERIMENT)
        for role, batch in batches:
            pair = ours, _role(batch)
            is_new = role is not Role.EXPERIMENT and pair not in told and pair[0] != pair[1]
            if not is_new or pair[0] not in by_role or pair[1] not in by_role:
                continue
            told.add(pair)
            differing = list(_differences(audit, by_role[pair[0]], by_role[pair[1]]))
            if differing:
                yield (
                    f"Runs of the control {role_words(by_role[pair[1]][0].batch)} differ from "
                    f"those of {role_words(by_role[pair[0]][0].batch)} in what the audit does not "
                    f"name: {_some(differing, ', ')}."
                )


def _roles_that_logs_deny(placed: Iterable[PlacedRun]) -> Iterator[str]:
    """Yields a sentence on each control whose own settings its logs state otherwise, or nowhere.

    Runs of the claim that failed would be its ablation so, and good ones its constructed solution.
    """
    denied: dict[str, dict[str, set[str]]] = {}
    for one in placed:
        for name, value in one.batch.overrides:
            stated = one.stated.get(name)
            said = f"do not state {name}" if stated is None else None
            if stated is not None and not same(stated.value, value):
                said = f"state otherwise: {name} = {shown(stated.value)}"
            if said:
                runs = denied.setdefault(role_words(one.batch), {})
                runs.setdefault(said, set()).add(one.run.name)
    for role, states in denied.items():
        told = [f"{said} in {len(runs)}" for said, runs in states.items()]
        yield f"Runs that the mapping takes for the control {role} {_some(told, '; ')}."


def _replaced(placed: Iterable[PlacedRun]) -> Iterator[str]:
    """Yields a sentence on runs whose logs state a setting twice, and otherwise the second time."""
    changed = [
        f"{name_within(one.run.name)} has {'; '.join(one.run.replaced)}"
        for one in placed
        if one.run.replaced
    ]
    if changed:
        yield f"Configurations change within a log, and the last counts: {_some(changed, ', ')}."


def _steps_of_tables(placed: Iterable[PlacedRun]) -> Iterator[str]:
    """Yields a sentence on columns of other names that count the steps."""
    columns = dict.fromkeys(one.run.step for one in placed if one.run.step)
    other = [f"'{column}'" for column in columns if str(column).lower() not in ("step", "_step")]
    if other:
        yield f"Steps were counted by the column {_some(other, ' or ')}."


def _lengths(
    by_role: Iterable[Sequence[PlacedRun]], audit: Audit, mapping: MappingFile
) -> Iterator[str]:
    """Yields a sentence on each role whose logs end elsewhere than planned, or than each other.

    All that was logged counts, also what no measurement is read from. Logs may end before training
    does by as much as they skip elsewhere.
    """
    is_compared = mapping.configuration.get("steps", "steps") is not None
    if not is_compared:
        yield "The length of training was not compared with the logs, as the mapping asks."
    for runs in by_role:
        ends = [end for one in runs if not one.diverged if (end := _end(one)) is not None]
        if not ends:
            continue
        role, least, (most, skipped) = role_words(runs[0].batch), min(ends)[0], max(ends)
        planned = runs[0].batch.settings(audit).get("steps")
        if min(last + some for last, some in ends) < (1 - FAR_OFF) * most:
            yield f"Logs of {role} end at steps {least} to {most}."
        elif is_compared and isinstance(planned, int | float):
            is_short = most + skipped < (1 - FAR_OFF) * planned
            if is_short or most > (1 + FAR_OFF) * planned:
                yield f"Logs of {role} end at step {most}, where {shown(planned)} are planned."


FAR_OFF = 0.1
"""Logs that end so far from a length, as a share of it, are of another training."""


def _end(placed: PlacedRun) -> tuple[int, int] | None:
    """The last step that a run logged, and the most that its log skips; None without steps."""
    steps = [
        (int(curve.steps.max()), int(np.abs(np.diff(curve.steps)).max(initial=0)))
        for by_place in placed.run.curves.values()
        for curve in by_place.values()
        if curve.steps is not None and len(curve.steps)
    ]
    return max(steps, default=None)


def _differences(
    audit: Audit, own: Sequence[PlacedRun], control: Sequence[PlacedRun]
) -> Iterator[str]:
    """Yields each value of two roles' configurations that differs, and not as the audit says.

    What differs from run to run of one role is told elsewhere, or is each run's own affair.
    """
    as_planned = _as_planned(audit, own[0]) & _as_planned(audit, control[0])
    for key in sorted({key for one in (*own, *control) for key in one.run.config}):
        left, right = _values(key, own), _values(key, control)
        varies = len(left) > 1 and len(right) > 1  # told elsewhere, or of each run alone
        if key not in as_planned and not is_of_run_alone(key) and left != right and not varies:
            yield f"{key} ({_some(right, ' or ')}, not {_some(left, ' or ')})"


def _values(key: str, runs: Sequence[PlacedRun]) -> list[str]:
    """The values of a name in the configurations of a role's runs; a seed in a text counts as #."""
    found: dict[str, None] = {}
    for one in runs:
        value = one.run.config.get(key)
        if isinstance(value, str) and number_of(value) is None:
            value = value.replace(str(one.seed), "#")
        found[_said(value)] = None
    return list(found)


def _varies(key: str, runs: Sequence[PlacedRun]) -> bool:
    first = runs[0].run.config.get(key)
    return any(not alike(first, one.run.config.get(key)) for one in runs[1:])


def _as_planned(audit: Audit, one: PlacedRun) -> set[str]:
    """The names in a run's configuration that state what the audit plans for it."""
    planned = one.batch.settings(audit)
    return {
        stated.name
        for name, stated in one.stated.items()
        if name in planned and same(stated.value, planned[name])
    }


def _let_pass(mapping: MappingFile) -> Iterator[str]:
    if mapping.complete is not None:
        reason = mapping.complete.rstrip(".")
        yield f"{SAID_WHOLE}: {reason}."
    if mapping.step is not None:
        yield f"What counts as a step was taken from '{mapping.step}'."


def _said(value: object) -> str:
    return "nothing" if value is None else on_one_line(str(value), 60)


def _some(items: Sequence[str], between: str) -> str:
    rest = len(items) - MOST_NOTICED
    more = f"{between}and {rest} more" if rest > 0 else ""
    return f"{between.join(items[:MOST_NOTICED])}{more}"
