"""The records behind a scorecard in one compact file, which `report` reads in its folder.

The records of smaller tiers go with them, and so do those of alternatives and custom runs, and
those that were measured to compare code, which bear out the audit's adoptions.
"""

from __future__ import annotations

from reproaudit.audit.model import TIERS
from reproaudit.audit.plan import varied_tier
from reproaudit.cell import CUSTOM
from reproaudit.report.export.registry import Exported, ExportRequest
from reproaudit.store.adoptions import adoption_tier
from reproaudit.store.records import Store
from reproaudit.store.shipped import FILE_NAME, pack_records


def records_export(request: ExportRequest) -> Exported:
    """Return the file with the records of the scorecard's tier, of those below it, and custom."""
    tier = request.scorecard().tier
    below = TIERS[: TIERS.index(tier) + 1] if tier in TIERS else (tier,)
    tiers = {CUSTOM, *below, *map(varied_tier, below)}
    tiers |= {*map(adoption_tier, tiers)}
    slug = request.audit_file.stem
    return Exported({FILE_NAME: pack_records(Store(request.store), slug, tiers)}, tier)
