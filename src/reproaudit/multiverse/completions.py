"""Completions of the settings that a paper leaves open, and the batches that they need.

One alternative at a time. A shared setting's alternative changes every experiment that shares it,
an experiment's own only that experiment, so that two completions often need the same batch, which
is run once.

A tier may run a number smaller than the paper's value. Its alternatives, stated at the paper's
scale, are then taken in the same proportion: where 30,000 steps stand for 3,000, an alternative of
10,000 stands for 1,000. An alternative that has no proportion (a word, a list) is not run at a tier
that replaces the setting.

Records of alternatives are stored apart (`varied_tier`), where no tier's verdict reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reproaudit.audit.model import Audit, LedgerEntry, Setting, TierName
from reproaudit.audit.plan import Batch, plan
from reproaudit.audit.seeds import seeds_of
from reproaudit.cell import Cell, CellKey, SettingValue, canonical_settings
from reproaudit.judging.outcomes import Lookup, lookup_by_cell
from reproaudit.records import Record
from reproaudit.running.groups import Group
from reproaudit.running.store import Store


def varied_tier(tier: str) -> str:
    """The name under which the store keeps the records of alternatives at a tier."""
    return f"multiverse-{tier}"


@dataclass(frozen=True)
class Override:
    """One open setting with another value than the default.

    Attributes:
        experiment: the experiment that has the setting; None if it is shared.
        name: of the setting.
        stated: the value as the audit states it, at the paper's scale.
        value: the value that is run at the tier.
    """

    experiment: str | None
    name: str
    stated: SettingValue
    value: SettingValue

    @property
    def label(self) -> str:
        """``setting`` or ``experiment.setting``."""
        return label(self.experiment, self.name)


Completion = tuple[Override, ...]
"""The overrides of the defaults, at most one for each setting; empty for the default itself."""


@dataclass(frozen=True)
class Choice:
    """An open setting at a tier, with its alternatives.

    Attributes:
        experiment: the experiment that has the setting; None if it is shared.
        name: of the setting.
        default: the value that the tier runs.
        changes: the alternatives that can be run at the tier.
        left_out: the other alternatives, each with the reason why it is not run.
    """

    experiment: str | None
    name: str
    default: SettingValue
    changes: tuple[Override, ...]
    left_out: tuple[tuple[SettingValue, str], ...] = ()

    @property
    def label(self) -> str:
        """``setting`` or ``experiment.setting``."""
        return label(self.experiment, self.name)


def label(experiment: str | None, name: str) -> str:
    """A setting's name, with its experiment where it belongs to one."""
    return name if experiment is None else f"{experiment}.{name}"


# --- from the ledger to completions ---------------------------------------------------------------


def choices_of(audit: Audit, tier: TierName) -> tuple[Choice, ...]:
    """The open settings of an audit at a tier, in the ledger's order."""
    return tuple(_choice(entry, tier) for entry in audit.ledger() if entry.setting.others)


def _choice(entry: LedgerEntry, tier: TierName) -> Choice:
    setting, default = entry.setting, entry.setting.at(tier)
    seen = {canonical_settings({entry.name: default})}
    changes: list[Override] = []
    left_out: list[tuple[SettingValue, str]] = []
    for stated in setting.others:
        value = at_tier(setting, tier, stated)
        if value is None:
            left_out.append(
                (stated, f"the {tier} tier replaces this setting, and it has no proportion")
            )
        elif (key := canonical_settings({entry.name: value})) in seen:
            left_out.append((stated, f"at the {tier} tier it is the same as another value"))
        else:
            seen.add(key)
            changes.append(Override(entry.experiment, entry.name, stated, value))
    return Choice(entry.experiment, entry.name, default, tuple(changes), tuple(left_out))


def at_tier(setting: Setting, tier: TierName, stated: SettingValue) -> SettingValue | None:
    """An alternative at a tier, in the tier's proportion; None if it has none."""
    whole, here = setting.value, setting.at(tier)
    if here == whole:
        return stated
    if not (_is_number(whole) and _is_number(here) and _is_number(stated)) or not whole:
        return None
    scaled = float(stated) * float(here) / float(whole)  # type: ignore[arg-type]
    if isinstance(whole, int) and isinstance(stated, int):
        return max(1, round(scaled)) if stated > 0 else round(scaled)
    return scaled


def _is_number(value: SettingValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def one_at_a_time(choices: Sequence[Choice]) -> tuple[Completion, ...]:
    """The default, and every alternative alone."""
    return ((), *((change,) for choice in choices for change in choice.changes))


# --- from completions to batches and cells ------------------------------------------------------


def concerns(audit: Audit, change: Override | Choice, experiment: str) -> bool:
    """True if a change of this setting changes the settings of an experiment."""
    if change.experiment is not None:
        return change.experiment == experiment
    return change.name in audit.settings and (
        change.name not in audit.experiments[experiment].settings
    )


def projected(audit: Audit, completion: Completion, experiment: str) -> Completion:
    """The part of a completion that changes the settings of an experiment."""
    return tuple(change for change in completion if concerns(audit, change, experiment))


def batch_of(audit: Audit, completion: Completion, experiment: str, tier: TierName) -> Batch:
    """The batch of an experiment in a completion; completions with the same settings share it."""
    seen = projected(audit, completion, experiment)
    overrides = tuple(sorted((change.name, change.value) for change in seen))
    return Batch(experiment, tier, overrides, seeds_of(audit, tier, experiment))


def batches_of(
    audit: Audit, completions: Iterable[Completion], tier: TierName
) -> tuple[Batch, ...]:
    """Every batch that the claims need in completions, each once; those without overrides first."""
    experiments = dict.fromkeys(claim.experiment for claim in audit.claims)
    found = {
        batch_of(audit, completion, experiment, tier): None
        for completion in completions
        for experiment in experiments
    }
    return tuple(sorted(found, key=lambda batch: len(batch.overrides)))


def cells_of_batches(audit: Audit, batches: Iterable[Batch], tier: TierName) -> Iterator[Cell]:
    """The cells of batches; cells that the tier runs anyway are stored with the tier."""
    own = {
        (batch.tier, batch.experiment, canonical_settings(batch.settings(audit)))
        for _, batch in plan(audit, tier)
    }
    for batch in batches:
        settings = batch.settings(audit)
        is_own = (batch.tier, batch.experiment, canonical_settings(settings)) in own
        place = batch.tier if is_own else varied_tier(batch.tier)
        for seed in batch.seeds:
            yield Cell(audit.paper.slug, place, batch.experiment, settings, seed)


def lookup_variations(store: Store, audit: Audit, group: Group | None) -> Lookup:
    """A lookup in the records of completions: a tier's own, and its alternatives'.

    Args:
        store: where the records are.
        audit: whose records.
        group: only what this made; None finds nothing.
    """

    def of_group(tier: str) -> dict[CellKey, Record]:
        places = () if group is None else (varied_tier(tier), tier)
        return {
            record.key: record
            for place in places
            for record in store.records(audit.paper.slug, place)
            if group is not None and group.made(record)
        }

    return lookup_by_cell(audit, of_group)
