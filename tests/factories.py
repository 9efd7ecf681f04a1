"""The audit in miniature in memory, with records that nobody had to train."""

import json
import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from miniatures import audit_data
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import cells_of_alternatives, cells_of_tier
from reproaudit.audit.review import Reviews
from reproaudit.cell import Cell
from reproaudit.formats.scorecard import Made, Scorecard
from reproaudit.formats.verdict import ClaimAnswer, Reason
from reproaudit.judge import History, index_records, judge
from reproaudit.records import CellStatus, Environment, Measurements, Record, Series
from reproaudit.scorecard.answers import scorecard_of
from reproaudit.store.code import fingerprint_of

STARTED = datetime(2026, 1, 2, tzinfo=UTC)
STEPS = tuple(range(0, 41, 2))


def make_audit(slug: str = "mini", **changes: Any) -> Audit:
    return Audit.model_validate_json(json.dumps(audit_data(slug, **changes)))


def falls_to(level: float, seed: int) -> Measurements:
    """A distance that falls from 1 to about a level."""
    end = level * math.exp(0.1 * math.sin(1.0 + 2.0 * seed))
    values = end + (1.0 - end) * 0.7 ** np.array(STEPS, dtype=float)
    return Measurements(
        scalars={"final": float(values[-1])},
        series={"distance": Series(steps=STEPS, values=values)},
    )


def make_record(
    cell: Cell, measurements: Measurements | None = None, status: str = "completed", **changes: Any
) -> Record:
    """A record of a cell; without measurements, of what its setting `level` says."""
    if measurements is None:
        measurements = falls_to(float(cell.settings["level"]), cell.seed)  # type: ignore[arg-type]
    made: dict[str, Any] = {
        "paper": cell.paper,
        "tier": cell.tier,
        "experiment": cell.experiment,
        "settings": dict(cell.settings),
        "seed": cell.seed,
        "status": CellStatus(status),
        "fingerprint": "f" * 32,
        "code": "c" * 32,
        "environment": Environment(
            python="3.11", platform="Linux", device="cpu", threads=1, packages={"numpy": "2.0"}
        ),
        "started": STARTED,
        "seconds": 2.0,
        "measurements": measurements if status == "completed" else Measurements(),
    }
    if status != "completed":
        made["error"] = "RuntimeError: out of order"
    record = Record(**{**made, **changes})
    return record.model_copy(update={"fingerprint": fingerprint_of(record)})


def make_records(
    audit: Audit,
    tier: TierName = "paper",
    of: Callable[[Cell], Record | None] = make_record,
    *,
    alternatives: bool = True,
) -> list[Record]:
    """A record of every cell of a tier."""
    cells = [*cells_of_tier(audit, tier)]
    if alternatives:
        cells += cells_of_alternatives(audit, tier)
    return [record for cell in cells if (record := of(cell)) is not None]


def answers_of(
    audit: Audit,
    records: Iterable[Record],
    tier: TierName = "paper",
    history: History | None = None,
    lower: Iterable[Record] | None = None,
) -> dict[str, ClaimAnswer]:
    """What the engine answers, by the last part of each claim's id."""
    below = None if lower is None else index_records(lower)
    found = judge(audit, tier, index_records(records), history, below)
    return {one.id.partition(".")[2]: one for one in found}


def stated(reasons: Iterable[Reason]) -> list[tuple[str, dict[str, Any]]]:
    """The kind of each reason, and the values that it states."""
    said = [reason.model_dump(exclude_unset=True) for reason in reasons]
    return [(one.pop("kind").value, one) for one in said]


def make_scorecard(slug: str = "mini", tier: TierName = "paper", **changes: Any) -> Scorecard:
    audit = make_audit(slug, **changes)
    return card_of(audit, make_records(audit, tier), tier)


def card_of(audit: Audit, records: list[Record], tier: TierName = "paper") -> Scorecard:
    indexed = index_records(records)
    found = judge(audit, tier, indexed)
    return scorecard_of(audit, Reviews(), tier, found, indexed, made=Made())
