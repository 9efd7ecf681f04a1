"""A small audit in memory and synthetic records, from which every kind of scorecard can be built.

Each experiment of the toy paper behaves in one way (`BEHAVIOURS`), so that each claim shows one
verdict. The numbers are deterministic functions of the seed: goldens must not move.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch
from reproaudit.audit.variables import VariableName
from reproaudit.judging.alternatives import AlternativeRun
from reproaudit.judging.outcomes import Lookup
from reproaudit.records import CellStatus, Environment, Measurements, Record, Series
from reproaudit.scorecard.build import build
from reproaudit.scorecard.model import Scorecard
from reproaudit.stats import Decision

LAYERS = (1, 2, 3)
LENGTHS = (5, 10, 20, 40)
SEEDS = (0, 1, 2, 3, 4)


# --- the audit ----------------------------------------------------------------------------------


def variable(name: str, card: str, decision: str = "agree") -> dict[str, Any]:
    return {
        "name": name,
        "card": {"result": card, "as_of": "2025-03-01"},
        "reviews": [
            {
                "reviewer": "R1",
                "decision": decision,
                "reason": f"The text settles {name.lower()}.",
                "as_of": "2025-04-01",
            }
        ],
        "evidence": [{"statement": f"What is said of {name.lower()}.", "locator": "Section 4"}],
    }


def variables() -> list[dict[str, Any]]:
    answers: dict[str, tuple[str, str]] = {
        VariableName.RESEARCH_TYPE: ("Theoretical", "agree"),
        VariableName.RESEARCHER_AFFILIATION: ("Academia", "agree"),
        VariableName.OPEN_DATASETS: ("No", "not_applicable"),
        VariableName.OPEN_SOURCE_CODE: ("Yes", "disagree"),
        VariableName.EXPERIMENT_SETUP: ("Yes", "agree"),
    }
    return [variable(name, *answers.get(name, ("No", "agree"))) for name in VariableName]


def claim(name: str, experiment: str, **changes: Any) -> dict[str, Any]:
    """One claim: the distance ends at or below 0.1; its control lacks the mechanism."""
    stated: dict[str, Any] = {
        "id": f"toy.{name}",
        "statement": f"The distance to the claimed direction vanishes ({name}).",
        "locator": "Section 3, Figure 2",
        "weight": 0.5,
        "experiment": experiment,
        "checks": [aligns()],
        "controls": [
            {
                "experiment": experiment,
                "settings": {"mechanism": "none"},
                "why": "trains without the mechanism",
                "scale_reason": "Its distance is as large after a tenth of the steps.",
            }
        ],
        "positive_control": {
            "experiment": experiment,
            "settings": {"mechanism": "constructed"},
            "why": "the weights of Theorem 1, set by hand",
        },
    }
    return {**stated, **changes}


def aligns(**changes: Any) -> dict[str, Any]:
    return {
        "kind": "aligns",
        "name": "distance",
        "reason": "A tenth of the distance at initialisation.",
        "distance": {"measurement": "distance"},
        "at_most": 0.1,
        **changes,
    }


def by_layer() -> dict[str, Any]:
    return aligns(each="layer", distance={"measurement": "layer_distance"}, name="aligned")


def matches() -> dict[str, Any]:
    return {
        "kind": "matches",
        "name": "accuracy",
        "reason": "Two points of accuracy matter to nobody.",
        "quantity": {"measurement": "accuracy"},
        "target": 0.9,
        "margin": 0.0222,
        "scale": "log",
    }


def converges() -> dict[str, Any]:
    return {
        "kind": "converges",
        "name": "the loss",
        "reason": "Less is not what the paper plots.",
        "loss": {"measurement": "loss"},
        "continued": {"measurement": "continued_loss"},
        "falls_by": 10.0,
        "settles_within": 1.2,
        "ablation_misses": ["falls"],
    }


NO_SOLUTION = {"not_constructible": "No closed form is known."}

CLAIMS = (
    claim("layers", "good", checks=[by_layer()], weight=1.0),
    claim("contradicted", "opposite"),
    claim("missed", "assumed_opposite"),
    claim("conditional", "guessed"),
    claim("unattainable", "unreachable"),
    claim("undecided", "noisy", checks=[matches()]),
    claim("vacuous", "same", positive_control=NO_SOLUTION),
    claim("every-seed", "good", checks=[aligns(over="every_seed")], positive_control=NO_SOLUTION),
    claim("converges", "good", checks=[converges()]),
    claim("diverged", "wild", if_diverged="missed"),
    claim("crashed", "broken"),
    claim("absent", "absent"),
    claim("proxy", "proxied", checks=[aligns(), matches()]),
)


def setting(value: Any, **changes: Any) -> dict[str, Any]:
    return {"value": value, "source": "paper", "locator": "Section 4", **changes}


GUESS = {
    "value": 0.02,
    "source": "assumption",
    "why": "Common for this architecture.",
    "alternatives": [0.01, 0.1],
}


def experiment(title: str, **own: Any) -> dict[str, Any]:
    layer = {"name": "layer", "values": list(LAYERS)}
    row, column = ({"name": name, "size": 3} for name in ("row", "column"))
    length = {"name": "length", "values": list(LENGTHS)}

    def measured(kind: str, *axes: dict[str, Any]) -> dict[str, Any]:
        return {"kind": kind, "axes": list(axes), "unit": "1", "meaning": "As the paper has it."}

    return {
        "title": title,
        "settings": own,
        "measurements": {
            "distance": measured("scalar"),
            "accuracy": measured("scalar"),
            "layer_distance": measured("array", layer),
            "loss": measured("series"),
            "continued_loss": measured("scalar"),
            "weights": measured("array", layer, row, column),
            "error": measured("array", length),
        },
    }


def audit_data(slug: str = "toy", **changes: Any) -> dict[str, Any]:
    data: dict[str, Any] = {
        "schema_version": 1,
        "paper": {
            "slug": slug,
            "title": "Toy Networks Learn Toy Directions",
            "authors": ["Ada Example", "Ben Sample"],
            "venue": "NeurIPS",
            "year": 2023,
            "arxiv": "2301.00001",
            "openreview": "AbCdEf",
        },
        "seeds": {"quick": list(SEEDS), "paper": list(SEEDS)},
        "variables": variables(),
        "settings": {
            "mechanism": setting("full"),
            "steps": setting(1000, quick={"value": 100, "reason": "The plateau shows by 100."}),
        },
        "experiments": {
            name: experiment(
                f"What {name} does",
                **({"init_scale": GUESS} if name in ("assumed_opposite", "guessed") else {}),
            )
            for name in BEHAVIOURS
        },
        "claims": list(CLAIMS),
        "not_audited": [
            {
                "statement": "It scales to a million layers.",
                "locator": "Section 6",
                "reason": "Beyond any machine we have.",
            }
        ],
        "findings": [
            {
                "id": "toy.staleness",
                "kind": "staleness",
                "statement": "The link to the code is dead.",
                "sources": ["Section 7"],
                "as_of": "2025-04-01",
                "claims": ["toy.layers"],
                "effect": "None measured.",
            },
            {
                "id": "toy.initialisation",
                "kind": "omission",
                "statement": "Nobody says how the weights start.",
                "sources": ["Section 4", "the code"],
                "as_of": "2025-04-02",
                "settings": ["init_scale"],
                "claims": ["toy.missed"],
                "effects": [
                    {
                        "claim": "toy.missed",
                        "setting": "init_scale",
                        "value": 0.1,
                        "found": "decisive",
                        "tier": "quick",
                        "difference": -1.25,
                        "low": -1.5,
                        "high": -1.0,
                        "as_of": "2025-05-02",
                    }
                ],
            },
        ],
        "responses": [
            {
                "to": "toy.staleness",
                "by": "A. Example (author)",
                "statement": "The code has moved; we mended the link.",
                "locator": "an issue of the repository",
                "as_of": "2025-06-01",
            },
            {
                "to": "toy.undecided",
                "by": "B. Sample (author)",
                "statement": "Our runs have ten seeds.",
                "as_of": "2025-06-02",
            },
        ],
        "figures": [
            figure("losses", "curves", "loss", "The loss falls in two stages", log=True),
            figure("weights", "matrices", "weights", "The weights are close to diagonal"),
            figure("errors", "comparison", "error", "Longer contexts help", axis="length"),
        ],
    }
    return {**data, **changes}


def figure(name: str, kind: str, measurement: str, title: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "kind": kind,
        "experiment": "good",
        "measurements": [measurement],
        "title": title,
        **more,
    }


def make_audit(slug: str = "toy", **changes: Any) -> Audit:
    """The toy audit; at each tier with the seeds that are written in it."""
    audit = Audit.model_validate_json(json.dumps(audit_data(slug, **changes)))
    return audit.with_seeds(dict(audit.seeds))


# --- the records --------------------------------------------------------------------------------


def measurements(level: float, spread: float, seed: int) -> Measurements:
    """Numbers around a level, a tenth of it or so apart over seeds."""
    noise = math.sin(1.0 + 2.0 * seed)
    steps = tuple(range(0, 101, 5))
    share = np.array(steps) / 100
    fall = 1.0 + (level - 1.0) * (1 - np.exp(-12 * share))
    layers = np.array(LAYERS, dtype=float)
    weights = np.multiply.outer(np.cos(layers), np.eye(3)) + 0.02 * noise
    return Measurements(
        scalars={
            "distance": level * math.exp(spread * noise),
            "accuracy": 0.9 - 0.1 * level + 0.1 * spread * noise,
            "continued_loss": float(fall[-1]) * math.exp(spread * noise) / 1.01,
        },
        series={"loss": Series(steps=steps, values=fall * math.exp(spread * noise))},
        arrays={
            "layer_distance": level * layers**0.5 * math.exp(spread * noise),
            "weights": weights,
            "error": level / np.array(LENGTHS) * math.exp(spread * noise),
        },
    )


LEVELS = {"full": 0.03, "none": 0.8, "constructed": 1.0e-4}
Behaviour = Callable[[str, int], dict[str, Any] | None]
"""From the mechanism and the seed to what the record says beside the usual; None: not run."""


def _good(mechanism: str, seed: int) -> dict[str, Any]:
    return {"measurements": measurements(LEVELS[mechanism], 0.1, seed)}


def _opposite(mechanism: str, seed: int) -> dict[str, Any]:
    return {"measurements": measurements({**LEVELS, "full": 0.4}[mechanism], 0.1, seed)}


def _unreachable(mechanism: str, seed: int) -> dict[str, Any]:
    levels = {"full": 0.4, "none": 0.8, "constructed": 0.2}
    return {"measurements": measurements(levels[mechanism], 0.1, seed)}


def _noisy(mechanism: str, seed: int) -> dict[str, Any]:
    return {"measurements": measurements(LEVELS[mechanism], 0.2, seed)}


def _same(_mechanism: str, seed: int) -> dict[str, Any]:
    return {"measurements": measurements(0.03, 0.1, seed)}


def _wild(mechanism: str, seed: int) -> dict[str, Any]:
    if mechanism == "full" and seed == 3:
        return {"status": CellStatus.DIVERGED, "measurements": Measurements()}
    return _good(mechanism, seed)


def _broken(mechanism: str, seed: int) -> dict[str, Any]:
    if mechanism == "none" and seed == 1:
        return {
            "status": CellStatus.FAILED,
            "error": "out of memory",
            "measurements": Measurements(),
        }
    return _good(mechanism, seed)


def _absent(_mechanism: str, _seed: int) -> None:
    return None


def _proxied(mechanism: str, seed: int) -> dict[str, Any]:
    return {**_good(mechanism, seed), "proxy": "digits in place of the paper's images"}


BEHAVIOURS: dict[str, Behaviour] = {
    "good": _good,
    "opposite": _opposite,
    "assumed_opposite": _opposite,
    "guessed": _good,
    "unreachable": _unreachable,
    "noisy": _noisy,
    "same": _same,
    "wild": _wild,
    "broken": _broken,
    "absent": _absent,
    "proxied": _proxied,
}


def make_lookup(audit: Audit, tier: TierName = "paper") -> Lookup:
    """Records made on the fly."""
    rules = {c.id: audit.rule_hash(c, tier) for c in audit.claims}

    def lookup(batch: Batch) -> Mapping[int, Record]:
        settings = batch.settings(audit)
        found = {}
        for seed in batch.seeds:
            said = BEHAVIOURS[batch.experiment](str(settings["mechanism"]), seed)
            if said is not None:
                found[seed] = make_record(audit.paper.slug, batch, settings, seed, rules, said)
        return found

    return lookup


def make_record(
    paper: str,
    batch: Batch,
    settings: Mapping[str, Any],
    seed: int,
    rules: dict[str, str],
    said: dict[str, Any],
) -> Record:
    mechanism = settings["mechanism"]
    record: dict[str, Any] = {
        "paper": paper,
        "tier": batch.tier,
        "experiment": batch.experiment,
        "settings": dict(settings),
        "seed": seed,
        "status": CellStatus.COMPLETED,
        "fingerprint": f"{batch.experiment}-{mechanism}-{seed}",
        "code": "c0de" * 4,
        "rules": rules,
        "environment": Environment(
            python="3.12.3",
            platform="Linux-x86_64",
            device="cpu",
            threads=1,
            packages={"numpy": "2.4.0", "torch": "2.15.0"},
            revision="0123abc",
        ),
        "started": datetime(2025, 5, 1, 12, seed % 60, tzinfo=UTC),
        "seconds": 1.5 + seed % 60,
    }
    return Record(**{**record, **said})


def make_scorecard(slug: str = "toy", tier: TierName = "paper", **changes: Any) -> Scorecard:
    """The toy paper's scorecard; `changes` replace parts of the audit."""
    audit = make_audit(slug, **changes)
    lookup = make_lookup(audit, tier)
    return build(audit, tier, lookup, custom_records=2, alternatives=alternatives(tier))


def alternatives(tier: TierName) -> dict[str, list[AlternativeRun]]:
    """The toy paper's multiverse: one value flips `toy.conditional`, the other settles nothing."""
    missed = AlternativeRun(
        "init_scale", 0.1, tier, Decision.MISSED, True, "met by default, missed with it"
    )
    open_one = AlternativeRun(
        "init_scale", 0.01, tier, Decision.UNDECIDED, False, "too few seeds to say more"
    )
    lower = AlternativeRun(
        "init_scale", 0.1, "quick", Decision.MET, True, "missed by default, met with it"
    )
    return {"toy.conditional": [missed, open_one], "toy.missed": [lower]}
