"""What changed between two scorecards, two audits, or one of each; and whether it is noise.

Changes are sorted by what they are of: the *rule* (checks, tolerances, seeds of the rule), the
*settings* (values, sources, alternatives, the tier), the *code* (its hash and revision), the
*environment* (versions, device, threads), the *records* (which cells were measured, custom ones,
whose they are) and the *documentation* (variables, findings, responses, wording). A change
*matters* if it can move a number, a decision or the evidence; a reworded reason cannot.

A claim's result is compared part by part, on the scale on which the part is judged: paired by seed
where rule and seeds agree, by Welch's interval otherwise, with the error divided by the number of
parts. A result that changed is laid to a class of changes only when that class alone differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reproaudit.differences import difference
from reproaudit.errors import UsageError
from reproaudit.figures import ReportModel
from reproaudit.planning import seeds_of
from reproaudit.scorecard import (
    ClaimModel,
    IntervalModel,
    PartModel,
    RecordModel,
    Scorecard,
    SettingModel,
    settings_of,
)
from reproaudit.spec import TIERS, Audit, TierName
from reproaudit.stats import Scale

Kind = Literal["rule", "settings", "code", "environment", "records", "documentation"]
KINDS: tuple[Kind, ...] = (
    "rule",
    "settings",
    "code",
    "environment",
    "records",
    "documentation",
)
State = Literal["identical", "within_noise", "beyond_noise", "not_compared"]

_WORDING = frozenset({"reason", "locator", "why", "meaning", "title", "statement", "as_of"})
"""Fields that say something without deciding anything."""

CONFIDENCE = 0.95
"""Of the intervals that tell a difference from noise, over all parts of a claim."""


# --- what is compared -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One of the two things that are compared.

    Attributes:
        name: what it is called.
        audit: the audit, if it is known.
        scorecard: the scorecard, if there is one.
    """

    name: str
    audit: Audit | None
    scorecard: Scorecard | None

    @property
    def slug(self) -> str:
        """Of which paper it is."""
        if self.audit is not None:
            return self.audit.paper.slug
        return str(self.scorecard.paper.get("slug")) if self.scorecard is not None else ""


class SideModel(ReportModel):
    """What stood on one side."""

    name: str
    paper: str
    tier: str | None
    """Of its scorecard; None if there is none."""
    audit: bool
    """Whether the audit itself was compared."""
    origin: str | None
    """Whose measurements, if they are not ours."""


class Change(ReportModel):
    """One thing that differs."""

    kind: Kind
    place: str
    """Where: a claim and a field, an experiment and a setting, a package."""
    before: Any
    """None if it is new."""
    after: Any
    """None if it is gone."""
    matters: bool
    """Whether it can move a number, a decision or the evidence."""
    claim: str | None = None
    """The only claim that it can concern."""
    experiment: str | None = None
    """The only experiment that it can concern."""


class PartChange(ReportModel):
    """How one part's numbers moved."""

    name: str
    state: State
    why: str | None
    """Why it was not compared."""
    before: float | None
    after: float | None
    form: str | None
    """What the difference is: a difference, or a ratio."""
    difference: float | None
    interval: IntervalModel | None
    paired: bool
    detectable: float | None
    """The smallest difference upwards that these seeds would have shown with power 80 %."""


class ResultModel(ReportModel):
    """One side's answer to a claim."""

    decision: str | None
    verdict: str
    evidence: str
    estimate: float | None
    interval: IntervalModel | None
    part: str | None
    """The binding part."""


class ClaimChange(ReportModel):
    """One claim on both sides."""

    id: str
    before: ResultModel | None
    """None if the claim is new."""
    after: ResultModel | None
    """None if the claim is gone."""
    changed: bool
    """Whether decision, verdict or evidence differ, or an estimate beyond noise."""
    state: State
    """Of the part that moved most."""
    parts: tuple[PartChange, ...]
    causes: tuple[Kind, ...]
    """The classes of changes that may have moved it; the cause is likely if there is one."""


class Comparison(ReportModel):
    """Everything that differs between two sides."""

    before: SideModel
    after: SideModel
    changes: tuple[Change, ...]
    claims: tuple[ClaimChange, ...]
    compared: tuple[str, ...]
    """The classes that could be compared at all."""
    measured_again: int
    """Records of the same cells that were made anew."""
    records: int
    """Records of cells that both sides have."""
    notes: tuple[str, ...]


def compare(before: Side, after: Side) -> Comparison:
    """Lay out what differs.

    Raises:
        UsageError: if the two are of different papers.
    """
    if before.slug != after.slug:
        raise UsageError(
            f"{before.name} is of paper '{before.slug}' and {after.name} of '{after.slug}': only "
            "two of one paper can be compared."
        )
    changes = tuple(_changes(before, after))
    cards = before.scorecard, after.scorecard
    compared = ["rule", "settings"]
    common, again = 0, 0
    claims: tuple[ClaimChange, ...] = ()
    if cards[0] is not None and cards[1] is not None:
        compared += ["code", "environment", "records", "results"]
        common, again = _measured_again(cards[0], cards[1])
        claims = tuple(_claims(cards[0], cards[1], changes, again))
    both = (before.audit and after.audit) or (cards[0] and cards[1])
    compared += ["documentation"] if both else []
    return Comparison(
        before=_side_model(before),
        after=_side_model(after),
        changes=changes,
        claims=claims,
        compared=tuple(compared),
        measured_again=again,
        records=common,
        notes=tuple(note for side in (before, after) for note in _notes(side)),
    )


def _side_model(side: Side) -> SideModel:
    card = side.scorecard
    return SideModel(
        name=side.name,
        paper=side.slug,
        tier=card.tier if card else None,
        audit=side.audit is not None,
        origin=card.origin.who if card and card.origin else None,
    )


def _notes(side: Side) -> Iterator[str]:
    """What makes a side other than it seems."""
    if side.audit is None or side.scorecard is None:
        return
    judged = {claim.id: claim.rule_hash for claim in side.scorecard.claims}
    tier = _tier(side.scorecard)
    rules = {claim.id: side.audit.rule_hash(claim, tier) for claim in side.audit.claims}
    other = sorted(name for name in judged.keys() | rules if judged.get(name) != rules.get(name))
    if other:
        yield (
            f"{side.name}: its scorecard was judged by another rule than its audit states, for "
            f"{', '.join(other)}; the results are the scorecard's"
        )


def _tier(card: Scorecard) -> TierName:
    return next((tier for tier in TIERS if tier == card.tier), "paper")


# --- changes --------------------------------------------------------------------------------------


def _changes(before: Side, after: Side) -> Iterator[Change]:
    yield from _of_claims(_rules(before, after), _rules(after, before))
    yield from _of_settings(_settings(before, after), _settings(after, before))
    if before.scorecard is not None and after.scorecard is not None:
        yield from _of_runs(before.scorecard, after.scorecard)
    yield from _of_documentation(before, after)


def _of_claims(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for place, old, new in _unlike(before, after):
        claim = place[0] if place[0] in before or place[0] in after else None
        yield Change(
            kind="rule",
            place=_written(place),
            before=old,
            after=new,
            matters=_decides(place),
            claim=claim,
        )


def _rules(side: Side, other: Side) -> dict[str, Any]:
    """The rule of every claim; of an audit beside a scorecard, at the scorecard's tier."""
    if side.audit is not None and (other.audit is not None or side.scorecard is None):
        tier = _tier(other.scorecard) if other.audit is None and other.scorecard else None
        rules = {c.id: side.audit.rule(c, tier or "paper") for c in side.audit.claims}
        if tier is None:
            seeds = {tier: list(seeds_of(side.audit, tier)) for tier in TIERS}
            return {name: {**rule, "seeds": seeds} for name, rule in rules.items()}
        return rules
    assert side.scorecard is not None, "a side has an audit or a scorecard"
    return {
        claim.id: claim.rule or {"rule hash": claim.rule_hash} for claim in side.scorecard.claims
    }


def _of_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for place, old, new in _unlike(before, after):
        own = place[0] not in ("all", "tier")
        yield Change(
            kind="settings",
            place=_written(place),
            before=old,
            after=new,
            matters=_decides(place) and place[-1] not in ("others", "alternatives"),
            experiment=place[0] if own else None,
        )


def _settings(side: Side, other: Side) -> dict[str, Any]:
    """The settings by experiment ("all" for the shared ones) and name."""
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
        at: TierName = _tier(other.scorecard) if other.scorecard is not None else "paper"
        laid_out = settings_of(side.audit, at)
    return {"tier": {"tier": tier}, **_by_experiment(laid_out)}


def _by_experiment(settings: Iterable[SettingModel]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for one in settings:
        data = one.model_dump(mode="json", exclude={"experiment", "name"})
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
        for place, old, new in _unlike(first, second):
            yield Change(
                kind=kind,
                place=_written(place),
                before=old,
                after=new,
                matters=place[0] not in ("revision", "custom"),
                experiment=place[1] if place[0] == "cells" else None,
            )


def _code(card: Scorecard) -> dict[str, Any]:
    environment = card.environment
    return {"hash": list(environment.code), "revision": list(environment.revision)}


def _environment(card: Scorecard) -> dict[str, Any]:
    data = card.environment.model_dump(mode="json")
    kept = ("python", "platform", "device", "threads", "packages")
    return {name: data[name] for name in kept}


def _records(card: Scorecard) -> dict[str, Any]:
    """The cells by experiment and what was overridden, the custom ones, and whose they are."""
    cells: dict[str, dict[str, Any]] = {}
    for one in card.records:
        batch = cells.setdefault(one.experiment, {}).setdefault(_batch(one), {"seeds": []})
        batch["seeds"].append(one.seed)
        if one.status != "completed":
            batch.setdefault(one.status, []).append(one.seed)
    custom = {f"{c.experiment} with {_overrides(c.settings)}": list(c.seeds) for c in card.custom}
    origin = card.origin.model_dump(mode="json") if card.origin else None
    return {"cells": cells, "custom": custom, "origin": origin}


def _batch(one: RecordModel) -> str:
    return f"{one.role} with {_overrides(one.overrides)}, {one.tier} scale"


def _overrides(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for k, v in sorted(settings.items())) or "its own settings"


def _of_documentation(before: Side, after: Side) -> Iterator[Change]:
    if before.audit is not None and after.audit is not None:
        trees = _audit_words(before.audit), _audit_words(after.audit)
    elif before.scorecard is not None and after.scorecard is not None:
        trees = _card_words(before.scorecard), _card_words(after.scorecard)
    else:
        return
    for place, old, new in _unlike(*trees):
        yield Change(
            kind="documentation", place=_written(place), before=old, after=new, matters=False
        )


_CLAIM_WORDS = {"id", "statement", "locator", "weight"}


def _audit_words(audit: Audit) -> dict[str, Any]:
    kept = {"paper", "variables", "not_audited", "findings", "responses", "figures"}
    data = audit.model_dump(mode="json", include=kept)
    data["claims"] = [
        {
            **claim.model_dump(mode="json", include=_CLAIM_WORDS),
            "reasons": {check.name: check.reason for check in claim.checks},
            "controls": [control.why for control in claim.controls],
        }
        for claim in audit.claims
    ]
    data["experiments"] = {
        name: one.model_dump(mode="json", exclude={"settings"})
        for name, one in audit.experiments.items()
    }
    return data


def _card_words(card: Scorecard) -> dict[str, Any]:
    data = card.model_dump(mode="json", include={"paper", "not_audited", "findings", "responses"})
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


# --- trees ----------------------------------------------------------------------------------------

Place = tuple[str, ...]


def _unlike(before: Any, after: Any, place: Place = ()) -> Iterator[tuple[Place, Any, Any]]:
    """Every smallest node that differs; a node that only one side has is told once, as a whole."""
    old, new = _as_mapping(before), _as_mapping(after)
    if old is None or new is None:
        if before != after:
            yield place, before, after
        return
    for key in dict.fromkeys([*old, *new]):
        yield from _unlike(old.get(key), new.get(key), (*place, key))


def _as_mapping(node: Any) -> Mapping[str, Any] | None:
    """A mapping, or a list of mappings that have ids, names or places; None of anything else."""
    if isinstance(node, Mapping):
        return node
    if isinstance(node, list) and node and all(isinstance(one, Mapping) for one in node):
        for field in ("id", "name", "to", "reviewer"):
            keys = [one.get(field) for one in node]
            if None not in keys and len(set(keys)) == len(keys):
                return dict(zip(map(str, keys), node, strict=True))
        return {str(index): one for index, one in enumerate(node)}
    return None


def _written(place: Place) -> str:
    """``toy.layers: controls[0] settings steps``."""
    text = place[0]
    for depth, step in enumerate(place[1:]):
        text += f"[{step}]" if step.isdigit() else f"{'' if depth else ':'} {step}"
    return text


def _decides(place: Place) -> bool:
    return place[-1] not in _WORDING


# --- results --------------------------------------------------------------------------------------


def _measured_again(before: Scorecard, after: Scorecard) -> tuple[int, int]:
    """How many cells both have, and how many of these have another record."""
    found = [
        {
            (one.experiment, _batch(one), one.seed): (one.fingerprint, one.started)
            for one in card.records
        }
        for card in (before, after)
    ]
    common = found[0].keys() & found[1]
    return len(common), sum(found[0][cell] != found[1][cell] for cell in common)


def _claims(
    before: Scorecard, after: Scorecard, changes: Sequence[Change], again: int
) -> Iterator[ClaimChange]:
    old = {claim.id: claim for claim in before.claims}
    new = {claim.id: claim for claim in after.claims}
    for name in dict.fromkeys([*old, *new]):
        yield _claim(name, old.get(name), new.get(name), changes, again)


def _claim(
    name: str,
    before: ClaimModel | None,
    after: ClaimModel | None,
    changes: Sequence[Change],
    again: int,
) -> ClaimChange:
    results = _result(before), _result(after)
    kept = not any(c.kind == "rule" and c.matters and c.claim == name for c in changes)
    parts = tuple(_parts(before, after, kept)) if before and after else ()
    state = _worst([part.state for part in parts])
    decided = [(r.decision, r.verdict, r.evidence) if r else None for r in results]
    changed = decided[0] != decided[1] or state == "beyond_noise"
    causes = tuple(_causes(after or before, changes)) if changed else ()
    if state == "identical" and "rule" in causes and _decision(before) != _decision(after):
        causes = ("rule",)  # the same numbers, decided otherwise
    if changed and not causes and again:
        causes = ("records",)
    return ClaimChange(
        id=name,
        before=results[0],
        after=results[1],
        changed=changed,
        state=state,
        parts=parts,
        causes=causes,
    )


def _decision(claim: ClaimModel | None) -> str | None:
    return claim.decision if claim is not None else None


def _result(claim: ClaimModel | None) -> ResultModel | None:
    if claim is None:
        return None
    return ResultModel(
        decision=claim.decision,
        verdict=claim.verdict,
        evidence=claim.evidence,
        estimate=claim.estimate,
        interval=claim.interval,
        part=claim.binding_part,
    )


def _worst(states: Sequence[State]) -> State:
    order: tuple[State, ...] = ("beyond_noise", "within_noise", "not_compared", "identical")
    return next((state for state in order if state in states), "not_compared")


def _causes(claim: ClaimModel | None, changes: Sequence[Change]) -> list[Kind]:
    """The classes with a change that matters and may concern the claim."""
    if claim is None:
        return []
    experiments = {claim.experiment, *(control.experiment for control in claim.controls)}
    if claim.positive_control is not None:
        experiments.add(claim.positive_control.experiment)
    found = {
        change.kind
        for change in changes
        if change.matters
        and change.claim in (None, claim.id)
        and (change.experiment is None or change.experiment in experiments)
    }
    return [kind for kind in KINDS if kind in found]


def _parts(before: ClaimModel, after: ClaimModel, same_rule: bool) -> Iterator[PartChange]:
    old = {part.name: part for part in before.parts}
    new = {part.name: part for part in after.parts}
    common = [name for name in new if name in old]
    paired = same_rule and before.seeds == after.seeds
    for name in common:
        yield part_change(old[name], new[name], paired=paired, parts=len(common))


def part_change(before: PartModel, after: PartModel, *, paired: bool, parts: int) -> PartChange:
    """How a part's numbers moved from one scorecard to another.

    Args:
        before: the earlier answer.
        after: the later answer.
        paired: whether rule and seeds agree, so that seeds may be paired.
        parts: over how many parts of the claim the error is divided.
    """
    nothing = PartChange(
        name=after.name,
        state="not_compared",
        why=None,
        before=before.estimate,
        after=after.estimate,
        form=None,
        difference=None,
        interval=None,
        paired=paired,
        detectable=None,
    )
    if before.measured != after.measured:
        why = f"'{before.measured}' bound before, '{after.measured}' binds now"
        return nothing.model_copy(update={"why": why})
    if before.per_seed == after.per_seed:
        return nothing.model_copy(update={"state": "identical"})
    if before.scale != after.scale:
        return nothing.model_copy(update={"why": "judged on another scale than before"})
    confidence = 1 - (1 - CONFIDENCE) / parts
    try:
        found = difference(
            before.per_seed,
            after.per_seed,
            paired=paired and len(before.per_seed) == len(after.per_seed),
            scale=Scale(after.scale),
            confidence=confidence,
            floor=max(before.floor, after.floor),
        )
    except ValueError as error:
        return nothing.model_copy(update={"why": str(error)})
    method = found.method if parts == 1 else f"{found.method}, error divided by {parts} parts"
    return nothing.model_copy(
        update={
            "state": "within_noise" if found.within_noise else "beyond_noise",
            "form": found.form,
            "difference": found.estimate,
            "interval": IntervalModel(
                low=found.low,
                high=found.high,
                confidence=confidence,
                method=method,
                scale=after.scale,
            ),
            "detectable": found.detectable,
        }
    )
