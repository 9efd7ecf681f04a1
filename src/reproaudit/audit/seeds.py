"""The rule of an experiment's claims, and the seeds of the paper tier, which follow from it.

The rule is the SHA-256 of what decides or computes: the values of settings, the claims' checks and
arms, the numbers of runs. Every model says itself which of its fields count: its `canonical` form
is frozen (`reproaudit.checks.canonical` says how a field joins), so that no name in Python, no new
optional field and no layout of the file moves a seed. Nobody can choose the seeds by which a claim
is judged: whoever changes a bound draws others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from reproaudit.audit.model import Audit, TierName
from reproaudit.checks import plain

SEEDS_BELOW = 10**9  # Drawn seeds are smaller, so that ``--seeds`` can name them


def rule(audit: Audit, experiment: str, tier: TierName) -> str:
    """Return the rule of all claims that are judged on an experiment: 64 hexadecimal digits."""
    claims = {claim.id: plain(claim) for claim in audit.claims if claim.experiment == experiment}
    used = set(_texts(claims))
    arms = {name: plain(arm) for name, arm in audit.arms.items() if name in used}
    used = {experiment, *used, *_texts(arms)}
    data = {
        "experiment": experiment,
        "settings": {name: audit.values_of(name, tier) for name in audit.experiments.keys() & used},
        "claims": claims,
        "arms": arms,
        "readings": _readings(audit, experiment),
        "runs": {name: plain(audit.runs_of(name)) for name in audit.experiments.keys() & used},
    }
    lengths = {name: audit.length_of(name) for name in audit.experiments.keys() & used}
    if any(lengths.values()):
        data["lengths"] = lengths
    return digest(data)


def rules_of(audit: Audit, tier: TierName) -> dict[str, str]:
    """Return the rule of each experiment that claims are judged on."""
    judged = dict.fromkeys(claim.experiment for claim in audit.claims)
    return {name: rule(audit, name, tier) for name in judged}


def whole_rule(audit: Audit, tier: TierName) -> str:
    """Return the rule of an audit: the digest of all its rules, 64 hexadecimal digits."""
    return digest(rules_of(audit, tier))


def _readings(audit: Audit, experiment: str) -> dict[str, Any]:
    """The other sourced values that the experiment's claims run, by setting."""
    claims = [claim for claim in audit.claims if claim.experiment == experiment]
    names = {name for claim in claims for name in claim.readings}
    names |= {name for claim in claims for joint in claim.together for name in joint}
    settings = audit.settings_of(experiment)
    return {n: plain(settings[n].readings) for n in sorted(names) if n in settings}


def digest(data: Any) -> str:
    """Return the SHA-256 of plain data, as 64 hexadecimal digits; equal data have equal ones."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _texts(data: Any) -> Iterator[str]:
    """Every text in plain data, among them the names of the controls and experiments it uses."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping | list):
        for below in data.values() if isinstance(data, Mapping) else data:
            yield from _texts(below)


def drawn(of_rule: str, count: int, salt: str = "") -> tuple[int, ...]:
    """Return so many distinct seeds that follow from a rule, or from a rule and a word.

    Fewer are the first of more.
    """
    source = hashlib.shake_256(" ".join(filter(None, (of_rule, salt))).encode())
    stream = source.digest(8 * (2 * count + 8))  # some may be the same
    numbers = (int.from_bytes(stream[i : i + 8], "big") for i in range(0, len(stream), 8))
    return tuple(dict.fromkeys(number % SEEDS_BELOW for number in numbers))[:count]


def seeds_of(audit: Audit, tier: TierName, experiment: str, count: int) -> tuple[int, ...]:
    """Return the first seeds with which an experiment and its claims' arms run at a tier."""
    if tier != "paper":
        return tuple(range(count))
    return drawn(rule(audit, experiment, tier), count, audit.salt)


def stored_tier(of: Audit, tier: TierName) -> str:
    """Return the name under which a tier's records and pages are kept: apart if salted."""
    return f"{tier}-{of.salt}" if of.salt and tier == "paper" else tier
