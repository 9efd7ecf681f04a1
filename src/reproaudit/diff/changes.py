"""The changes from one side to the other: rules, settings, code, records, documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.diff.model import Change, ComparedScorecard, tier_of
from reproaudit.diff.trees import TreePath, unlike, written
from reproaudit.scorecard.build import settings_of
from reproaudit.scorecard.model import RecordModel, Scorecard, SettingModel

_WORDING = frozenset({"reason", "locator", "why", "meaning", "title", "statement", "as_of"})
"""Fields that say something without deciding anything."""


def changes_of(before: ComparedScorecard, after: ComparedScorecard) -> Iterator[Change]:
    """Yields every change, results apart."""
    yield from _of_claims(_rules(before, after), _rules(after, before))
    yield from _of_settings(_settings(before, after), _settings(after, before))
    if before.scorecard is not None and after.scorecard is not None:
        yield from _of_runs(before.scorecard, after.scorecard)
    yield from _of_documentation(before, after)


def _of_claims(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for place, old, new in unlike(before, after):
        claim = place[0] if place[0] in before or place[0] in after else None
        yield Change(
            kind="rule",
            place=written(place),
            before=old,
            after=new,
            matters=_decides(place),
            claim=claim,
        )


def _rules(side: ComparedScorecard, other: ComparedScorecard) -> dict[str, Any]:
    """Returns the rule of every claim; of an audit beside a scorecard, at the scorecard's tier."""
    if side.audit is not None and (other.audit is not None or side.scorecard is None):
        tier = tier_of(other.scorecard) if other.audit is None and other.scorecard else None
        rules = {c.id: side.audit.rule(c, tier or "paper") for c in side.audit.claims}
        if tier is None:
            seeds = {tier: list(getattr(side.audit.seeds, tier)) for tier in TIERS}
            return {name: {**rule, "seeds": seeds} for name, rule in rules.items()}
        return rules
    assert side.scorecard is not None, "a side has an audit or a scorecard"
    return {
        claim.id: claim.rule or {"rule hash": claim.rule_hash} for claim in side.scorecard.claims
    }


def _of_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for place, old, new in unlike(before, after):
        own = place[0] not in ("all", "tier")
        yield Change(
            kind="settings",
            place=written(place),
            before=old,
            after=new,
            matters=_decides(place),
            experiment=place[0] if own else None,
        )


def _settings(side: ComparedScorecard, other: ComparedScorecard) -> dict[str, Any]:
    """Returns the settings by experiment ("all" for the shared ones) and name."""
    both_audits = side.audit is not None and other.audit is not None
    if both_audits and side.audit is not None:
        tree: dict[str, Any] = {"all": _plain(side.audit.settings)}
        tree |= {name: _plain(one.settings) for name, one in side.audit.experiments.items()}
        return tree
    if side.scorecard is not None:
        tier, laid_out = side.scorecard.tier, side.scorecard.settings
    else:
        assert side.audit is not None, "a side has an audit or a scorecard"
        tier = other.scorecard.tier if other.scorecard is not None else "paper"
        at: TierName = tier_of(other.scorecard) if other.scorecard is not None else "paper"
        laid_out = settings_of(side.audit, at)
    return {"tier": {"tier": tier}, **_by_experiment(laid_out)}


def _by_experiment(settings: Iterable[SettingModel]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for one in settings:
        data = one.model_dump(mode="json", exclude={"experiment", "name", "locator"})
        tree.setdefault(one.experiment or "all", {})[one.name] = data
    return tree


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one.model_dump(mode="json") for name, one in settings.items()}


def _of_runs(before: Scorecard, after: Scorecard) -> Iterator[Change]:
    for kind, first, second in (
        ("code", _code(before), _code(after)),
        ("environment", _environment(before), _environment(after)),
        ("records", _records(before), _records(after)),
    ):
        for place, old, new in unlike(first, second):
            yield Change(
                kind=kind,
                place=written(place),
                before=old,
                after=new,
                matters=place[0] not in ("revision", "custom"),
                experiment=place[1] if place[0] == "cells" else None,
                claim=place[1] if place[0] == "alternatives" else None,
            )


def _code(card: Scorecard) -> dict[str, Any]:
    environment = card.environment
    return {"hash": list(environment.code), "revision": list(environment.revision)}


def _environment(card: Scorecard) -> dict[str, Any]:
    data = card.environment.model_dump(mode="json")
    kept = ("python", "platform", "device", "threads", "packages", "form")
    return {name: data[name] for name in kept}


def _records(card: Scorecard) -> dict[str, Any]:
    """Returns cells by experiment and settings, custom ones, alternatives by claim, and origin."""
    cells: dict[str, dict[str, Any]] = {}
    for one in card.records:
        batch = cells.setdefault(one.experiment, {}).setdefault(batch_words(one), {"seeds": []})
        batch["seeds"].append(one.seed)
        if one.status != "completed":
            batch.setdefault(one.status, []).append(one.seed)
    custom = {f"{c.experiment} with {_overrides(c.settings)}": list(c.seeds) for c in card.custom}
    origin = card.origin.model_dump(mode="json") if card.origin else None
    alternatives = {
        claim.id: {
            f"{one.setting} = {one.value!r}, {one.tier} tier": one.decision
            for one in claim.alternatives
        }
        for claim in card.claims
    }
    return {"cells": cells, "custom": custom, "alternatives": alternatives, "origin": origin}


def batch_words(one: RecordModel) -> str:
    """Returns the batch of a record: ``control with mechanism=none, quick scale``."""
    return f"{one.role} with {_overrides(one.overrides)}, {one.tier} scale"


def _overrides(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for k, v in sorted(settings.items())) or "its own settings"


def _of_documentation(before: ComparedScorecard, after: ComparedScorecard) -> Iterator[Change]:
    if before.audit is not None and after.audit is not None:
        trees = _audit_words(before.audit), _audit_words(after.audit)
    elif before.scorecard is not None and after.scorecard is not None:
        trees = _card_words(before.scorecard), _card_words(after.scorecard)
    else:
        return
    for place, old, new in unlike(*trees):
        yield Change(
            kind="documentation", place=written(place), before=old, after=new, matters=False
        )


_CLAIM_WORDS = {"id", "statement", "locator", "weight"}


def _audit_words(audit: Audit) -> dict[str, Any]:
    kept = {"paper", "variables", "not_audited", "findings", "responses", "disputes", "figures"}
    data = audit.model_dump(mode="json", include=kept)
    data["claims"] = [
        {
            **claim.model_dump(mode="json", include=_CLAIM_WORDS),
            "reasons": {check.name: check.reason for check in claim.checks},
            "controls": [control.why for control in audit.controls_of(claim)],
        }
        for claim in audit.claims
    ]
    data["experiments"] = {
        name: {"title": one.title, "measurements": _plain(audit.measurements_of(name))}
        for name, one in audit.experiments.items()
    }
    return data


def _card_words(card: Scorecard) -> dict[str, Any]:
    said = {"paper", "not_audited", "findings", "responses", "disputes"}
    data = card.model_dump(mode="json", include=said)
    data["claims"] = [
        {
            **claim.model_dump(mode="json", include=_CLAIM_WORDS),
            "reasons": {part.name: part.reason for part in claim.parts},
            "controls": [control.why for control in claim.controls],
        }
        for claim in card.claims
    ]
    data["variables"] = card.documentation.model_dump(mode="json")["variables"]
    return data


def _decides(place: TreePath) -> bool:
    return place[-1] not in _WORDING
