"""Chains of seals for the tests: a small rule that changes, results, and a confirmation."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from reproaudit.seals.chain import (
    alpha_of,
    append,
    last_seal,
    read_chain,
    rule_after,
    sealed_rules,
    tree_of,
)
from reproaudit.seals.changes import changes_between
from reproaudit.seals.confirming import derived_seeds, error_of_look, looks_sealed, seeds_of_look
from reproaudit.seals.entries import (
    BegunEntry,
    ChangeEntry,
    Changes,
    ClaimResult,
    Draft,
    ResultEntry,
    RuleChange,
    RunEntry,
    SealEntry,
    SealsEntry,
)
from reproaudit.seals.past import numbers_of
from reproaudit.seals.rule import RuleData, digest, judged_by

CLAIM = "toy.depth"
BOUND = f"claims/{CLAIM}/checks/loss/at_most"


def rule_with(bound: float = 0.1, **more: Any) -> RuleData:
    return {
        "confidence": 0.95,
        "seeds/paper": [0, 1, 2, 3, 4],
        "seeds/quick": [0, 1, 2, 3, 4],
        f"claims/{CLAIM}/experiment": "main",
        f"claims/{CLAIM}/order of parts": ["loss"],
        BOUND: bound,
        "code": "a" * 32,
        **more,
    }


def seal(
    file: Path, rule: RuleData, why: str = "a reason", text: str = "0" * 64, by: str = "seal"
) -> None:
    def made(there: tuple[SealsEntry, ...]) -> list[Draft]:
        last, before = last_seal(there), rule_after(there)
        paths = before.keys() | rule.keys()
        differing = {p: rule.get(p) for p in sorted(paths) if before.get(p) != rule.get(p)}
        what = changes_between(before, rule, sealed_rules(there).values()) if last else ()
        change = {"change": tree_of(differing), "since": last.rule if last else None}
        fields = {"rule": digest(rule), "text": text, "what": what, "why": why, "by": by}
        return [Draft(SealEntry, {"revision": None, **fields, **change})]

    append(file, "toy", made)


def result(file: Path, numbers: list[float], verdict: str = "supported", **more: Any) -> None:
    """A result of the last sealed rule; a rule is sealed if none is, and nothing is reconstructed.

    Args:
        file: the chain.
        numbers: the part's numbers.
        verdict: the verdict.
        more: other fields; `claim` names another claim, `failed_run` the try that failed.
    """
    if not more.get("reconstructed") and "rule" not in more:
        if last_seal(read_chain(file, "toy")) is None:
            seal(file, rule_with())
        rule = rule_after(read_chain(file, "toy"))
        more = {"rule": digest(rule), "judged_by": judged_by(rule), **more}
    claim = more.pop("claim", CLAIM)
    outcome = ClaimResult(
        decision="met",
        verdict=verdict,
        estimate=0.05,
        numbers=numbers_of([("loss", numbers)]),
        failed_run=more.pop("failed_run", None),
    )
    fields = {
        "revision": None,
        "rule": None,
        "judged_by": None,
        "records": digest(numbers),
        "claims": {claim: outcome},
        **more,
    }
    append(file, "toy", lambda _: [Draft(ResultEntry, fields)])


def run(file: Path, rule: RuleData, tier: str = "paper", claims: Any = None, **more: Any) -> None:
    hashes = {"rule": digest(rule), "judged_by": judged_by(rule)}
    fields = {"revision": None, "tier": tier, "claims": claims, **hashes, **more}
    append(file, "toy", lambda _: [Draft(RunEntry, fields)])


def begin(file: Path) -> None:
    def made(there: tuple[SealsEntry, ...]) -> list[Draft]:
        last = last_seal(there)
        assert last is not None
        look = looks_sealed(there).index(last.rule) + 1
        error = error_of_look(look, alpha_of(rule_after(there)))
        fields = {
            "revision": None,
            "rule": last.rule,
            "look": look,
            "error": error,
            "seeds": {"paper": derived_seeds(last.rule, "paper", seeds_of_look(error, 5))},
        }
        return [Draft(BegunEntry, fields)]

    append(file, "toy", made)


def change(file: Path, what: str | Changes, claim: str = CLAIM, **more: Any) -> None:
    told = (RuleChange(what=what, claims=(claim,)),) if isinstance(what, str) else what
    fields = {
        "revision": "0" * 40,
        "reconstructed": True,
        "what": told,
        "why": "a commit",
        **more,
    }
    append(file, "toy", lambda _: [Draft(ChangeEntry, fields)])


def whole(file: Path) -> Path:
    """A chain with every kind of entry."""
    change(file, "seeds")
    seal(file, rule_with())
    run(file, rule_with())
    result(file, [0.1, 0.2, 0.3, 0.4, 0.5])
    begin(file)
    result(file, [0.5, 0.4], rule=digest(rule_with()), confirmation=True)
    seal(file, rule_with(0.12), why="loosened")
    seal(file, rule_with(0.12), why="worded", text="1" * 64)
    begin(file)
    return file


def git(folder: Path, *arguments: str) -> str:
    names = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    done = subprocess.run(
        ["git", *names, "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def commit(folder: Path, message: str = "a step") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()
