"""From placed runs to what goes into the folder, and to what is kept out of it and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch
from reproaudit.audit.scope import Scope
from reproaudit.cell import SettingValue
from reproaudit.elsewhere.completeness import unequal
from reproaudit.elsewhere.logged import LogError
from reproaudit.elsewhere.mapping import LoggedQuantity, MappingFile
from reproaudit.elsewhere.measuring import Measured, RunMeasurer
from reproaudit.elsewhere.roles import PlacedRun, role_words
from reproaudit.errors import did_you_mean


@dataclass(frozen=True)
class ImportedRole:
    """An experiment or a control with its runs.

    Attributes:
        runs: seed -> run.
        measured: measurement -> seed -> numbers; whole ones only.
        withheld: measurement -> why it is kept out, for every seed.
        absent: the wanted measurements that no run logged.
        ignored: the tags that nothing was made of.
    """

    batch: Batch
    runs: Mapping[int, PlacedRun]
    measured: Mapping[str, Mapping[int, Measured]]
    withheld: Mapping[str, tuple[str, ...]]
    absent: tuple[str, ...]
    ignored: tuple[str, ...]


def assemble(
    audit: Audit,
    scope: Scope,
    placed: Sequence[PlacedRun],
    overrides: Mapping[str, SettingValue],
    mapping: MappingFile,
) -> tuple[ImportedRole, ...]:
    """Every role with its measurements.

    A measurement whose curve is not whole in one run is kept out for all runs of the role: to drop
    that run alone would choose among the seeds.

    Args:
        audit: the audit.
        scope: what is asked for.
        placed: the runs.
        overrides: the manifest's settings, "experiment.setting".
        mapping: the mapping file.

    Raises:
        LogError: if numbers do not fit, or the mapping names what nobody logged.
    """
    _refuse_unknown(audit, mapping)
    roles = []
    there = {one.batch for one in placed}
    for batch in (one for one in scope.batches if one in there):
        runs = {one.seed: one for one in placed if one.batch == batch}
        own = {
            name.partition(".")[2]: value
            for name, value in overrides.items()
            if name.partition(".")[0] == batch.experiment
        }
        settings = {**batch.settings(audit), **own, **dict(batch.overrides)}
        measurers = {
            seed: RunMeasurer(run, settings, attested=mapping.complete is not None)
            for seed, run in sorted(runs.items())
        }
        roles.append(_role(audit, batch, scope, measurers, mapping))
    _refuse_unlogged(roles, mapping)
    return tuple(roles)


def _role(
    audit: Audit,
    batch: Batch,
    scope: Scope,
    measurers: Mapping[int, RunMeasurer],
    mapping: MappingFile,
) -> ImportedRole:
    declared = audit.measurements_of(batch.experiment)
    wanted = scope.measurements[batch.experiment]
    measured: dict[str, dict[int, Measured]] = {}
    withheld: dict[str, tuple[str, ...]] = {}
    for name in wanted:
        quantity = mapping.mapping.get(name) or LoggedQuantity(tag=name)
        found = {
            seed: one
            for seed, measurer in measurers.items()
            if (one := measurer.measure(name, declared[name], quantity)) is not None
        }
        reasons = _reasons(name, found, measurers, mapping.complete is not None)
        if reasons:
            withheld[name] = reasons
        elif found:
            measured[name] = found
    every = {tag for one in measurers.values() for tag in one.placed.run.curves}
    used = {tag for one in measurers.values() for tag in one.used}
    return ImportedRole(
        batch=batch,
        runs={seed: one.placed for seed, one in measurers.items()},
        measured=measured,
        withheld=withheld,
        absent=tuple(name for name in wanted if name not in measured and name not in withheld),
        ignored=tuple(sorted(every - used)),
    )


def _reasons(
    name: str,
    found: Mapping[int, Measured],
    measurers: Mapping[int, RunMeasurer],
    attested: bool,
) -> tuple[str, ...]:
    """Why a measurement of a role is kept out; () if it is whole or absent."""
    if not found:
        return ()
    reasons = [
        f"seed {seed}: {reason}"
        for seed, measurer in measurers.items()
        for reason in measurer.not_whole.get(name, ())
    ]
    without = [str(seed) for seed in measurers if seed not in found]
    if without:
        reasons.append(f"seed {', '.join(without)} did not log it, and others did")
    steps = {
        seed: one.steps
        for seed, one in found.items()
        if one.steps is not None and not measurers[seed].placed.diverged
    }
    differs = unequal(steps) if not attested and not reasons else None
    return (*reasons, differs) if differs else tuple(reasons)


def _refuse_unknown(audit: Audit, mapping: MappingFile) -> None:
    known = {name for one in audit.experiments for name in audit.measurements_of(one)}
    for name in mapping.mapping:
        if name not in known:
            raise LogError(
                f"mapping: {name}",
                f"found an unknown measurement; expected one of the audit's. "
                f"{did_you_mean(name, known)}",
            )


def _refuse_unlogged(roles: Sequence[ImportedRole], mapping: MappingFile) -> None:
    """Refuses a mapping to tags that no run has, and logs of which nothing was wanted."""
    there = {name for role in roles for name in (*role.measured, *role.withheld)}
    ignored = {tag for role in roles for tag in role.ignored}
    for name in mapping.mapping:
        if name not in there and any(name in role.absent for role in roles):
            said = mapping.mapping[name]
            raise LogError(
                f"mapping: {name}",
                f"found no logged '{said.tag or said.expression}' in any run; expected it. "
                f"{did_you_mean(said.tag or '', ignored)}",
            )
    if roles and not there:
        absent = sorted({name for role in roles for name in role.absent})
        some = ", ".join(sorted(ignored)[:12]) or "nothing"
        raise LogError(
            f"runs of {role_words(roles[0].batch)}",
            f"found the tags {some}; expected {', '.join(absent[:12])}. Say under 'mapping' in a "
            "mapping file which tag is which measurement.",
        )
