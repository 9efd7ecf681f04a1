"""`reproaudit multiverse`: runs the alternatives of what a paper leaves open, and shows them."""

from __future__ import annotations

import time
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.commands.answers import cells_of_alternatives, cells_of_tier, scorecard_of_store
from reproaudit.commands.output import print_json, say_written, show
from reproaudit.commands.run import How, roles_of, run_now
from reproaudit.errors import TechnicalError
from reproaudit.multiverse import multiverse_of, write_multiverse
from reproaudit.report.files import folder_of, write_report
from reproaudit.report.register import write_register


def show_multiverse(
    entry: Entry,
    audit: Audit,
    tier: TierName,
    how: How,
    budget: float | None,
    out: Path,
    as_json: bool,
) -> int:
    """Run what is missing of the tier and of its alternatives, write the page, print the rows.

    Args:
        entry: the paper.
        audit: its audit.
        tier: the scale.
        how: the place and manner of the runs.
        budget: seconds after which nothing more is started; None for no limit.
        out: the report folder.
        as_json: whether to print JSON.
    """
    cells = cells_of_tier(audit, tier) + cells_of_alternatives(audit, tier)
    papers = [(entry, audit)]
    until = None if budget is None else time.monotonic() + budget
    summary = run_now(
        cells,
        papers,
        how,
        may_start=lambda _cell: until is None or time.monotonic() < until,
        roles=roles_of(papers, tier),
    )
    card = scorecard_of_store(entry, audit, tier, how.store)
    found = multiverse_of(card)
    pages = write_multiverse(found, folder_of(card, out))
    written = [*write_report(card, out), *pages, *write_register([card], out)]
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        show(found.lines)
    say_written([path for path in written if path.suffix == ".html"], as_json=as_json)
    return TechnicalError.exit_code if summary.failed else 0
