"""Drawn verdicts: audits in miniature whose runs end anywhere, diverge, crash or are missing."""

import random
from typing import Any

import numpy as np

from factories import STEPS, make_audit, make_record, make_records
from miniatures import audit_data, claim, control, setting
from reproaudit.audit.model import Audit
from reproaudit.cell import Cell
from reproaudit.judge import Records, index_records
from reproaudit.records import Measurements, Record, Series

SIZES = (1, 2, 4)
OWN = 0.02
"""The level of the claims' own runs, by the audit."""
LEVELS = (0.001, 0.0199, 0.02, 0.05, 0.099, 0.1, 0.101, 0.4, 1.2)
PAPER: dict[str, Any] = {"from": "paper"}
OURS: dict[str, Any] = {"from": "ours", "why": "A tenth."}
GRADE = {"axis": "size", "symbol": "n", "easiest_first": [*SIZES], "primary": [1, 2]}
CHECKS: tuple[dict[str, Any], ...] = (
    {"kind": "aligns", "distance": "final", "at_most": 0.1, **OURS},
    {"kind": "aligns", "distance": "distance", "at_most": 0.1, **PAPER},
    {"kind": "equals", "value": "final", "to": 0.02, "within": 0.03, **PAPER},
    {"kind": "equals", "value": "final", "to": 0.02, "within": 0.5, "relative": True, **OURS},
    {"kind": "reaches", "value": "covered", "at_least": 0.9, **OURS},
    {"kind": "reaches", "value": "final", "relative_to": "distance@first", "at_most": 0.05, **OURS},
    {"kind": "beats", "lower": "final", "upper": {"measurement": "final", "arm": "low"}, **PAPER},
    {"kind": "concentrates", "share": "covered", "at_least": 0.5, "of_the_rest": True, **OURS},
    {
        "kind": "converges",
        "loss": "distance",
        "falls": {"at_least": 10, **PAPER},
        "flattens": {"at_most": 0.05, **OURS},
    },
    {
        "kind": "reaches",
        "value": {"measurement": "late", "passes": {"level": 0.5}},
        "at_most": 30,
        **PAPER,
    },
    {
        "kind": "stages",
        "earlier": {"series": "distance", "crosses": 0.5},
        "later": {"series": "late", "crosses": 0.5},
        "order": {"above": 1.0, **PAPER},
    },
)


def drawn(seed: int, claims: int = 5) -> tuple[Audit, Records, Records]:
    """Return an audit with so many claims, its records, and those of the quick tier."""
    draw = random.Random(seed)
    audit = _audit(draw, claims)
    ends = _Ends(draw)
    records = index_records(make_records(audit, of=ends, alternatives=draw.random() < 0.5))
    return audit, records, index_records(make_records(audit, "quick", of=ends))


def _audit(draw: random.Random, claims: int) -> Audit:
    data = audit_data()
    sizes = {"name": "size", "values": [*SIZES]}
    declared = {
        "late": {"kind": "series", "unit": "1", "meaning": "What comes late."},
        "covered": {"kind": "scalar", "unit": "1", "range": [0, 1], "meaning": "What is covered."},
        "far": {"kind": "array", "axes": [sizes], "unit": "1", "meaning": "How far each size is."},
    }
    for experiment in data["experiments"].values():
        experiment["measurements"] = {**experiment["measurements"], **declared}
    reading = {"value": 0.04, "source": "authors_code", "locator": "Line 1"}
    rate = setting(0.1, readings=[{**reading, "value": 0.2}])
    settings = {**data["settings"], "level": setting(0.02, readings=[reading]), "rate": rate}
    arms = {**data["arms"], "part": control(0.06)}
    drawn_claims = [_claim(draw, f"claim-{'abcdefgh'[place]}", place) for place in range(claims)]
    return make_audit(
        claims=drawn_claims, settings=settings, arms=arms, experiments=data["experiments"]
    )


def _claim(draw: random.Random, name: str, place: int) -> dict[str, Any]:
    if draw.random() < 0.1:
        beside = [{"kind": "aligns", "distance": "final", "at_most": 0.002, **PAPER}]
        return claim("mini", name, short=f"the distance of {name} vanishes", support=beside)
    graded = draw.random() < 0.25
    far = {"kind": "aligns", "distance": "far", "at_most": 0.1, **OURS}
    own = draw.random() < 0.7
    changes: dict[str, Any] = {
        "short": f"the distance of {name} vanishes",
        "main": place == 0 or draw.random() < 0.1,
        "headline": [far] if graded else draw.sample(CHECKS, draw.choice((1, 1, 2))),
        "support": draw.sample(CHECKS, draw.choice((0, 0, 1, 1))),
        "notes": draw.sample(CHECKS, draw.choice((0, 0, 1, 2))),
        "nulls": draw.choice((["stays"], ["stays"], ["stays"], ["low"], ["stays", "low"])),
        "whose": "paper" if own else draw.choice(("code", "derived")),
    }
    changes |= {"grade": GRADE} if graded else {}
    if draw.random() < 0.3:
        return claim("mini", name, experiment="guessed", **changes)
    changes["readings"] = draw.sample(["level", "rate"], draw.choice((0, 1, 2)))
    changes["ablations"] = [{"arm": "part", "lacks": "the part"}] if draw.random() < 0.3 else []
    return claim("mini", name, **changes)


class _Ends:
    """Where the runs of each setting end; a run with the same settings and seed ends alike."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.wild = draw.choice((0.0, 0.0, 0.15, 0.5))
        self.own = draw.choice((OWN, OWN, OWN, 0.4))
        self.kept: dict[object, Record | None] = {}
        self.around: dict[object, tuple[float, ...]] = {}

    def __call__(self, cell: Cell) -> Record | None:
        settings = tuple(sorted((name, str(at)) for name, at in cell.settings.items()))
        around = self.around.setdefault((cell.experiment, settings), self._around(cell))
        key = (cell.tier, cell.experiment, settings, cell.seed)
        if key not in self.kept:
            self.kept[key] = self._record(cell, around)
        return self.kept[key]

    def _around(self, cell: Cell) -> tuple[float, ...]:
        """The level of an arm, its spread, and how often runs diverge, crash or are missing."""
        level = float(cell.settings["level"])  # type: ignore[arg-type]
        if level == OWN:
            level = self.own
        if self.draw.random() < self.wild:
            level = self.draw.choice(LEVELS)
        spread = self.draw.choice((0.0, 0.05, 0.3, 1.0) if self.wild else (0.02, 0.1))
        rare = (0.0, 0.0, 0.1, 0.6) if self.wild else (0.0,)
        return (level, spread, *(self.draw.choice(rare) for _ in range(3)))

    def _record(self, cell: Cell, around: tuple[float, ...]) -> Record | None:
        level, spread, diverged, failed, missing = around
        end = level * float(np.exp(spread * self.draw.gauss(0, 1)))
        for status, often in (("diverged", diverged), ("failed", failed / 3)):
            if self.draw.random() < often:
                return make_record(cell, status=status)
        if self.draw.random() < missing / 3:
            return None
        steps = np.array(STEPS, dtype=float)
        fall = end + (1.0 - end) * 0.7**steps
        late = 1 / (1 + np.exp(np.clip((12 + 200 * end - steps) / 2, -50, 50)))
        sizes = np.array([end * (1 + self.draw.random() * size) for size in SIZES])
        measured = Measurements(
            scalars={"final": float(fall[-1]), "covered": max(0.0, min(1.0, 1 - end))},
            series={
                "distance": Series(steps=STEPS, values=fall),
                "late": Series(steps=STEPS, values=late),
            },
            arrays={"far": sizes},
        )
        return make_record(cell, measured)
