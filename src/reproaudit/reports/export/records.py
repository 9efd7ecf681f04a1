"""The records behind a scorecard in one compact file, which `report` reads in its folder.

The records of smaller tiers go with them, since controls may run there, and so do the records of
alternatives, on which verdicts may hang, and of custom runs, which a page lists.
"""

from __future__ import annotations

from reproaudit.audit.settings import TIERS
from reproaudit.multiverse.completions import varied_tier
from reproaudit.reports.formats import Exported, ExportRequest
from reproaudit.running.shipped import FILE_NAME, pack_records
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import CUSTOM


def records_export(request: ExportRequest) -> Exported:
    """Returns the file with the records of the scorecard's tier, of those below it, and custom."""
    tier = request.scorecard().tier
    at_or_below = TIERS[: TIERS.index(tier) + 1]
    tiers = {CUSTOM, *at_or_below, *map(varied_tier, at_or_below)}
    slug = request.audit_file.stem
    return Exported({FILE_NAME: pack_records(Store(request.store), slug, tiers)}, tier)
