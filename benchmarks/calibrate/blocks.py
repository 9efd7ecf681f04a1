"""The check with which the shapes of a kind are judged, as an audit would write it."""

from __future__ import annotations

from typing import Any

X = {"measurement": "x"}
BLOCKS: dict[str, dict[str, Any]] = {
    "aligns": {},
    "concentrates": {"share": {"measurement": "s"}},
    "converges": {
        "loss": {"measurement": "loss"},
        "continued": {"measurement": "continued_loss"},
        "falls_by": 19.0,
        "settles_within": 1.05,
    },
    "failure_rate": {"quantity": X, "at_most": 0.5, "rate_at_most": 0.2},
    "follows": {
        "quantity": X,
        "reference": {"measurement": "reference"},
        "at_most": 0.1,
        "distance": "difference",
    },
    "grows_like": {
        "quantity": {"measurement": "a"},
        "law": "logarithm",
        "rival_exponent": 0.1,
        "least_growth": 1.0,
    },
    "matches": {"quantity": X},
    "ordered_onsets": {
        "earlier": {"measurement": "early"},
        "later": {"measurement": "late"},
        "earlier_change": 0.25,
        "later_change": 0.25,
        "by": 2.0,
        "plateau": 0.1,
    },
    "reaches": {},
    "scales_like": {
        "quantity": {"measurement": "y"},
        "axis": "size",
        "exponent": -1.0,
        "margin": 0.1,
        "bend": 0.15,
    },
    "separates": {},
}
