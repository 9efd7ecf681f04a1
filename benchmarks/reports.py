"""Makes the shipped reports anew (``make reports``), and logs where the engine answers otherwise.

The answers come from the records that came with the reports.
"""

from __future__ import annotations

from pathlib import Path

from reproaudit.audit.catalog import Catalog
from reproaudit.audit.seeds import stored_tier
from reproaudit.cli import run_command
from reproaudit.files import scratch_folder
from reproaudit.scorecard import history as results
from reproaudit.scorecard.files import read_scorecard
from reproaudit.store.shipped import FILE_NAME, unpack_records

ROOT = Path(__file__).parents[1]
SHIPPED = ROOT / "reports" / "paper"


def main() -> int:
    """Write the pages of all papers, and a line `judged again` where it is due."""
    catalog = Catalog()
    code = run_command(["report", "--all", "--tier", "paper", "--out", str(ROOT / "reports")])
    for folder in sorted(SHIPPED.glob("*/")):
        entry = catalog[folder.name]
        audit = entry.audit()
        card = read_scorecard(folder / "scorecard.json")
        with scratch_folder() as scratch:
            store = unpack_records(folder / FILE_NAME, scratch)
            records = list(store.records(entry.slug, stored_tier(audit, "paper")))
            if results.append(entry, audit, store.root, records, card.claims):
                print(f"{entry.slug}: judged again")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
