"""Completions of the settings that a paper leaves open, and the batches that they need.

One alternative at a time by default; the whole product; or a space-filling sample of it. A shared
setting's alternative changes every experiment that shares it, an experiment's own only that
experiment, so that two completions often need the same batch, which is run once.

A tier may run a number smaller than the paper's value. Its alternatives, stated at the paper's
scale, are then taken in the same proportion: where 30,000 steps stand for 3,000, an alternative of
10,000 stands for 1,000. An alternative that has no proportion (a word, a list) is not run at a tier
that replaces the setting.

Records of alternatives are stored apart (`varied_tier`), where no tier's verdict reads them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from reproaudit.audit.model import Audit, LedgerEntry, Setting, TierName
from reproaudit.audit.plan import Batch, plan
from reproaudit.audit.seeds import seeds_of
from reproaudit.cell import Cell, CellKey, SettingValue, canonical_settings
from reproaudit.errors import UsageError
from reproaudit.judging.outcomes import Lookup, lookup_by_cell
from reproaudit.lazy import np
from reproaudit.records import Record
from reproaudit.running.groups import Group
from reproaudit.running.store import Store

MOST_COMPLETIONS = 4096
"""A larger product is not run: a sample answers the same question."""

SAMPLE_SEED = 20_230_601
"""The seed of the space-filling sample, so that a repeated command draws the same completions."""

DesignKind = Literal["one_at_a_time", "full", "sample"]


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


@dataclass(frozen=True)
class Design:
    """The completions to judge.

    Attributes:
        kind: the way they were chosen.
        completions: the default first; in a sample, draws may repeat.
    """

    kind: DesignKind
    completions: tuple[Completion, ...]

    @property
    def drawn(self) -> tuple[Completion, ...]:
        """The random draws of a sample, without the default in front of them; else nothing."""
        return self.completions[1:] if self.kind == "sample" else ()


def label(experiment: str | None, name: str) -> str:
    """A setting's name, with its experiment where it belongs to one."""
    return name if experiment is None else f"{experiment}.{name}"


# --- from the ledger to designs -----------------------------------------------------------------


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


def one_at_a_time(choices: Sequence[Choice]) -> Design:
    """The default, and every alternative alone."""
    singles = ((change,) for choice in choices for change in choice.changes)
    return Design("one_at_a_time", ((), *singles))


def full(choices: Sequence[Choice]) -> Design:
    """Every combination, those with few changes first.

    Raises:
        UsageError: if there are more than `MOST_COMPLETIONS`.
    """
    count = size(choices)
    if count > MOST_COMPLETIONS:
        raise UsageError(
            f"the product has {count:,} completions, more than {MOST_COMPLETIONS:,}. "
            "Take a sample of it: --sample 64."
        )
    levels = [(None, *choice.changes) for choice in choices]
    every = (tuple(c for c in combination if c) for combination in product(*levels))
    return Design("full", tuple(sorted(every, key=len)))


def sample(choices: Sequence[Choice], count: int, seed: int = SAMPLE_SEED) -> Design:
    """The default and a space-filling sample: a Latin hypercube over each setting's levels.

    Every level of every setting is drawn about equally often (McKay, Beckman and Conover,
    Technometrics 21, 1979), and the draws are spread by lowering their centred discrepancy. Where
    the product is no larger than the sample, it is taken whole.

    Args:
        choices: the open settings.
        count: the number of draws, at least 2.
        seed: of the random generator.

    Raises:
        UsageError: for fewer than 2 draws.
    """
    from scipy.stats import qmc  # half a second, which only a sample needs

    if count < 2:
        raise UsageError(f"--sample {count}: draw at least 2 completions.")
    if size(choices) <= count:
        return full(choices)
    open_ones = [choice for choice in choices if choice.changes]
    sampler = qmc.LatinHypercube(
        len(open_ones), rng=np.random.default_rng(seed), optimization="random-cd"
    )
    levels = [(None, *choice.changes) for choice in open_ones]
    sizes = np.array([len(one) for one in levels])
    picked = np.minimum((sampler.random(count) * sizes).astype(int), sizes - 1)
    draws = (
        tuple(c for one, index in zip(levels, row, strict=True) if (c := one[index]))
        for row in picked
    )
    return Design("sample", ((), *draws))


def size(choices: Sequence[Choice]) -> int:
    """The number of completions in the whole product."""
    return math.prod(1 + len(choice.changes) for choice in choices)


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


def batches_of(audit: Audit, design: Design, tier: TierName) -> tuple[Batch, ...]:
    """Every batch that the claims need in a design, each once, those with few overrides first."""
    experiments = dict.fromkeys(claim.experiment for claim in audit.claims)
    found = {
        batch_of(audit, completion, experiment, tier): None
        for completion in design.completions
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
