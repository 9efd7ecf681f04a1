"""From the verdict to a scorecard: records, figures and history are added, nothing is decided."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from reproaudit.audit.model import Audit, Reviews, TierName
from reproaudit.audit.seeds import stored_tier
from reproaudit.judge import Records
from reproaudit.judge.readings import Panel
from reproaudit.records import CellStatus, Record
from reproaudit.report.courses import chart_of
from reproaudit.report.words import leading
from reproaudit.verdict import (
    SCHEMA_VERSION,
    ClaimAnswer,
    Figure,
    JudgedRecords,
    Made,
    Scorecard,
)


def scorecard_of(
    audit: Audit,
    reviews: Reviews,
    tier: TierName,
    claims: Sequence[ClaimAnswer],
    records: Records,
    *,
    made: Made,
    earlier: int = 0,
) -> Scorecard:
    """Return a paper's scorecard.

    Args:
        audit: the paper, with the claims that were judged.
        reviews: what reviewers say of it.
        tier: of the records.
        claims: the verdict.
        records: those that were judged.
        made: what made them.
        earlier: how many results came before.
    """
    judged = [one for seeds in records.values() for one in seeds.values()]
    return Scorecard(
        schema_version=SCHEMA_VERSION,
        tier=stored_tier(audit, tier),
        claims=tuple(claims),
        figures=_figures(audit, tier, claims, records),
        records=_summary(judged),
        made=made,
        earlier_results=earlier,
        origin=next((one.origin for one in judged if one.origin is not None), None),
        audit=audit,
        reviews=reviews,
    )


def _figures(
    audit: Audit, tier: TierName, claims: Sequence[ClaimAnswer], records: Records
) -> dict[str, Figure]:
    found = {}
    for claim, one in zip(audit.claims, claims, strict=True):
        shown = leading(one)
        if shown is not None:
            panel = Panel.of(audit, claim, tier, records)
            bundles = panel.under(panel.bundles.arms[one.base.name]).bundles
            if (figure := chart_of(bundles, one, shown)) is not None:
                found[one.id] = figure
    return found


def _summary(records: Sequence[Record]) -> JudgedRecords:
    ended = {status: sum(one.status is status for one in records) for status in CellStatus}
    versions: dict[str, set[str]] = {}
    for one in records:
        packages = {"python": one.environment.python, **one.environment.packages}
        for name, version in packages.items():
            versions.setdefault(name, set()).add(version)
    return JudgedRecords(
        completed=ended[CellStatus.COMPLETED],
        diverged=ended[CellStatus.DIVERGED],
        failed=ended[CellStatus.FAILED],
        seconds=round(sum(one.seconds for one in records), 3),
        started=min((_utc(one.started) for one in records), default=None),
        last=max((_utc(one.started) for one in records), default=None),
        ended=max((_utc(one.started, one.seconds) for one in records), default=None),
        software={name: tuple(sorted(found)) for name, found in sorted(versions.items())},
    )


def _utc(moment: datetime, seconds: float = 0.0) -> datetime:
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return (aware + timedelta(seconds=seconds)).replace(microsecond=0)
