"""The records behind a scorecard in one compact file, which `report` reads in its folder.

The records of smaller tiers go with them, since controls may run there, and so do the records of
alternatives, on which verdicts may hang.
"""

from __future__ import annotations

from reproaudit.audit.settings import TIERS
from reproaudit.multiverse.completions import varied_tier
from reproaudit.reports.formats import Exported, ExportRequest
from reproaudit.running.shipped import FILE_NAME, pack_records
from reproaudit.running.store import Store
from reproaudit.seals.kept import name_in_store


def records_export(request: ExportRequest) -> Exported:
    """Returns the file with the records of the scorecard's tier and of those below it."""
    tier = request.scorecard().tier
    at_or_below = TIERS[: TIERS.index(tier) + 1]
    tiers = {place for one in at_or_below for place in (one, varied_tier(one))}
    slug = request.audit_file.stem
    return Exported(
        {FILE_NAME: pack_records(Store(request.store), slug, tiers, [name_in_store(slug)])}, tier
    )
