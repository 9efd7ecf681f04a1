"""`reproaudit multiverse`: runs what the paper leaves open."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch
from reproaudit.cell import Cell, SettingValue, canonical_settings
from reproaudit.commands.output import print_json, say, say_written, show
from reproaudit.commands.run import How, run_now
from reproaudit.errors import SpecError, TechnicalError, UsageError
from reproaudit.judging.outcomes import Lookup
from reproaudit.lab.settings import build_settings
from reproaudit.multiverse.completions import (
    batches_of,
    cells_of_batches,
    choices_of,
    lookup_variations,
    one_at_a_time,
    varied_tier,
)
from reproaudit.multiverse.cost import Costs, Steps
from reproaudit.multiverse.ledger import ablation_batches
from reproaudit.multiverse.model import Multiverse
from reproaudit.multiverse.read import read
from reproaudit.reports.files import write_multiverse
from reproaudit.reports.multiverse import multiverse_document
from reproaudit.reports.numbers import counted, duration
from reproaudit.running.groups import todays_groups

MOST_CELLS = 20_000
"""More cells than this are not started at once."""


# --- running ------------------------------------------------------------------------------------


@dataclass
class Varied:
    """A paper's completions at a tier, and how they are run.

    Attributes:
        entry: the paper.
        audit: its audit.
        tier: the tier.
        how: where and how they are run.
        budget: the seconds after which nothing more is started; None for no end.
    """

    entry: Entry
    audit: Audit
    tier: TierName
    how: How
    budget: float | None = None

    def __post_init__(self) -> None:
        self._deadline = None if self.budget is None else time.monotonic() + self.budget
        (self._today,) = todays_groups(self.entry.module, [self.how.chosen_device])
        self.default_failed = False

    def lookup(self) -> Lookup:
        """Returns the records as they are now."""
        return lookup_variations(self.how.store, self.audit, self._today)

    def run(self) -> Multiverse:
        """Runs the alternatives that lack records, and reads them all.

        The default is run first; after the alternatives come the ablations of those that are met.
        """
        completions = one_at_a_time(choices_of(self.audit, self.tier))
        batches = batches_of(self.audit, completions, self.tier)
        default = [batch for batch in batches if not batch.overrides]
        cells = len(list(cells_of_batches(self.audit, batches, self.tier)))
        if cells > MOST_CELLS:
            raise UsageError(
                f"{len(completions):,} completions need {cells:,} cells; expected at most "
                f"{MOST_CELLS:,}. Remove alternatives from the audit, or take fewer seeds."
            )
        self._say(self._plan(len(completions), batches, cells))
        self.default_failed = self._run(default, lambda _cells: True) > 0
        costs = self._costs()
        if self.budget is not None:
            self._say(f"with the default's times: {self._left(costs, batches)}")
        rest = [batch for batch in costs.ranked(self.audit, batches) if batch.overrides]
        self._run(rest, self._within_budget(costs))
        ablations = ablation_batches(self.audit, self.tier, self.lookup())
        if ablations:
            self._run(costs.ranked(self.audit, ablations), self._within_budget(costs))
        return read(self.audit, self.tier, self.lookup())

    def _run(self, batches: Sequence[Batch], may_start: Callable[[tuple[Cell, ...]], bool]) -> int:
        """Runs batches, in their order; returns how many cells failed."""
        cells = list(cells_of_batches(self.audit, batches, self.tier))
        rules = {claim.id: self.audit.rule_hash(claim, self.tier) for claim in self.audit.claims}
        papers = [(self.entry, self.audit)]
        return run_now(cells, papers, self.how, {self.entry.slug: rules}, may_start).failed

    def _within_budget(self, costs: Costs) -> Callable[[tuple[Cell, ...]], bool]:
        """Returns whether cells may start: while there is time, and if they probably fit in it."""

        def may_start(cells: tuple[Cell, ...]) -> bool:
            if self._deadline is None:
                return True
            left = self._deadline - time.monotonic()
            each = costs.seconds(cells[0].experiment, cells[0].settings) or 0.0
            return left > 0 and each * len(cells) <= left

        return may_start

    # --- what it will take

    def _plan(self, completions: int, batches: Sequence[Batch], cells: int) -> str:
        costs, ablations = self._costs(), ablation_batches(self.audit, self.tier)
        added = [batch for batch in ablations if batch not in batches]
        also = sum(len(batch.seeds) for batch in added)
        said = (
            f"{counted(completions, 'completion')}, {counted(cells, 'cell')}; "
            f"{self._left(costs, batches)}"
        )
        if also:
            said += (
                "; of the alternatives that come out met also their ablations, at most "
                f"{counted(also, 'cell')}: {self._left(costs, added)}"
            )
        return said

    def _left(self, costs: Costs, batches: Sequence[Batch]) -> str:
        lookup = self.lookup()
        todo = {batch: len(batch.seeds) - len(lookup(batch)) for batch in batches}
        estimate = costs.estimate(self.audit, todo)
        cells = sum(todo.values())
        if not cells:
            return "all have records"
        said = f"{cells} without a record"
        if estimate.unknown < cells:
            roughly = "roughly " if estimate.rough else "about "
            at_once = max(1, self.how.at_once)
            said += f", {roughly}{duration(estimate.seconds / at_once)} of computing"
        if estimate.unknown:
            said += f", {estimate.unknown} of unknown cost"
        return said

    def _costs(self) -> Costs:
        slug, store = self.entry.slug, self.how.store
        records = [*store.records(slug, self.tier), *store.records(slug, varied_tier(self.tier))]
        return Costs(records, store.records(slug, "smoke"), self._steps())

    def _steps(self) -> Steps:
        experiments = self.entry.module.load()
        known: dict[tuple[str, str], int] = {}

        def steps(experiment: str, settings: Mapping[str, SettingValue]) -> int:
            key = (experiment, canonical_settings(settings))
            if key not in known:
                known[key] = 0
                if experiment in experiments:  # a record of an older version may not fit today's
                    one = experiments[experiment]
                    try:
                        built = build_settings(one.settings, settings)
                    except SpecError:
                        return 0
                    known[key] = sum(one.phases(built).values())
            return known[key]

        return steps

    def _say(self, text: str) -> None:
        say(text, stderr=True)


# --- showing ------------------------------------------------------------------------------------


def show_multiverse(varied: Varied, out: Path, as_json: bool) -> int:
    """Runs the alternatives, writes their report and prints it; returns the exit code."""
    multiverse = varied.run()
    written = write_multiverse(multiverse, out)
    if as_json:
        print_json(multiverse.model_dump(mode="json", by_alias=True))
    else:
        show(multiverse_document(multiverse))
    say_written(written, as_json=as_json)
    return TechnicalError.exit_code if varied.default_failed else 0
