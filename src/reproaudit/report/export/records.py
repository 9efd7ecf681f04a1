"""The records behind a scorecard in one compact file, which `report` reads in its folder."""

from __future__ import annotations

from reproaudit.report.export.registry import Exported, ExportRequest


def records_export(request: ExportRequest) -> Exported:
    """Return the file with the records of the scorecard's tier, of those below it, and custom."""
    tier = request.scorecard().tier
    return Exported(request.records(tier), tier)
