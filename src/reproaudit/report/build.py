"""From the engine's answers to a scorecard: names, words and data, nothing decided anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from reproaudit.audit.model import (
    UNSCORED,
    Audit,
    Claim,
    ReviewDecision,
    Reviews,
    TierName,
    Variable,
)
from reproaudit.audit.plan import Role, arms_of
from reproaudit.audit.seeds import rule
from reproaudit.cell import SettingValue
from reproaudit.checks import Kind
from reproaudit.checks.beats import Beats
from reproaudit.declarations import Coordinate
from reproaudit.judge import ArmAnswer, ClaimAnswer, Note, Records
from reproaudit.judge.model import Estimate
from reproaudit.judge.runs import Bundles
from reproaudit.records import Record
from reproaudit.report.choices import choices
from reproaudit.report.courses import chart_of
from reproaudit.report.model import (
    ArmModel,
    CertaintyModel,
    ClaimModel,
    EstimateModel,
    ReasonModel,
    RunModel,
    RunsModel,
    Scorecard,
)
from reproaudit.report.numbers import at_words, listed, number
from reproaudit.report.paragraph import authors_should_state, ours, summary
from reproaudit.report.words import (
    SOURCES,
    Context,
    Namer,
    against,
    brief,
    figure_of,
    leading,
    typical_words,
    words,
)
from reproaudit.stats.binomial import share_interval


def build(
    audit: Audit,
    reviews: Reviews,
    tier: TierName,
    answers: Sequence[ClaimAnswer],
    records: Records,
    *,
    environment: Sequence[str] = (),
    earlier: int = 0,
) -> Scorecard:
    """Build a paper's scorecard.

    Args:
        audit: the paper.
        reviews: what reviewers say of it.
        tier: of the records.
        answers: the engine's, one for each claim.
        records: those that were judged.
        environment: lines on code, versions and device.
        earlier: how many results came before.
    """
    namer, by_id = Namer(audit), {one.id: one for one in audit.claims}
    judged = [one for seeds in records.values() for one in seeds.values()]
    claims = tuple(claim_model(audit, by_id[one.id], one, namer, tier, records) for one in answers)
    unstated = choices(audit, claims, namer)
    label = f"{tier}-{audit.salt}" if audit.salt else tier
    origins = [one.origin for one in judged if one.origin is not None]
    return Scorecard(
        **told_by_audit(audit, tier),
        tier=label,
        summary=summary(audit, tier, claims),
        ours=ours(audit, claims, unstated, earlier),
        authors=authors_should_state(audit, unstated),
        documentation=documentation_of(audit, reviews),
        claims=claims,
        unstated=unstated,
        environment=tuple(environment),
        software=_software(judged),
        records=_records(judged),
        earlier_results=earlier,
        origin=origins[0].model_dump(mode="json") if origins else None,
    )


def told_by_audit(audit: Audit, tier: TierName) -> dict[str, Any]:
    """Return the fields of a scorecard that say what the audit says, whatever was measured."""
    return {
        "paper": audit.paper.model_dump(mode="json"),
        "about": audit.about,
        "not_audited": tuple(one.model_dump() for one in audit.not_audited),
        "findings": _findings(audit),
        "settings": _settings(audit, tier),
        "measurements": _measurements(audit),
    }


def claim_model(
    audit: Audit,
    claim: Claim,
    found: ClaimAnswer,
    namer: Namer,
    tier: TierName,
    records: Records,
) -> ClaimModel:
    """Return one claim's answer with its words."""
    symbol = claim.grade.symbol if claim.grade is not None else ""
    context = Context(namer, claim.experiment, symbol, tier)
    make = _Arms(audit, claim, namer, tier)
    low, high = share_interval(found.base.yes, found.base.n)
    judged = [*found.nulls, *filter(None, [found.constructed])]  # perhaps under a reading
    arms = {one.name: one for one in (*arms_of(audit, claim), *(one.arm for one in judged))}
    bundles = Bundles(audit, claim, tier, arms, records)
    own = bundles.recorded(found.base.arm)
    return ClaimModel(
        id=found.id,
        says=claim.says,
        short=claim.short,
        wording=claim.wording,
        locator=claim.locator,
        main=claim.main,
        experiment=claim.experiment,
        outcome=found.outcome.value,
        certainty=CertaintyModel(
            level=found.level.value if found.level is not None else None,
            reasons=_reasons(found.reasons, context),
        ),
        phrase=words(found.phrases[0], context) if found.phrases else "",
        clauses=_reasons(found.clauses, context),
        runs=RunsModel(yes=found.base.yes, n=found.base.n, low=low, high=high, exact=claim.exact),
        **_row(claim, found, bundles, context),
        proxy=next((one.proxy for one in own.values() if one.proxy), None),
        elsewhere=next(
            (words(one, context) for one in found.phrases if one.kind == "elsewhere"), ""
        ),
        base=make.own(found),
        symbol=symbol or None,
        headline=make.estimates(found.base, claim.headline, found.cannot_fail),
        reported=tuple(one.model_dump() for one in claim.reported),
        **make.beside(found),
        per_run=tuple(
            RunModel(
                seed=run.seed,
                status=run.status.value,
                values=tuple(one.value for one in run.conditions),
            )
            for run in found.base.runs
        ),
        rule=rule(audit, claim.experiment, tier),
    )


def _row(claim: Claim, found: ClaimAnswer, bundles: Bundles, context: Context) -> dict[str, Any]:
    """What the claim's row shows: one condition in words, and its figure."""
    shown = leading(found)
    if shown is None:
        nothing = {"effect": "no numbers", "typical": "no numbers"}
        return {**nothing, "figure": None, "shown": None}
    whole, typical = (_typical(claim, found, shown, context, with_worst=w) for w in (True, False))
    return {
        "effect": against(whole, shown),
        "typical": against(typical, shown),
        "figure": chart_of(bundles, found, shown, context.namer),
        "shown": found.base.estimates.index(shown),
    }


class _Arms:
    """Makes models of arms, with the words of one claim."""

    def __init__(self, audit: Audit, claim: Claim, namer: Namer, tier: TierName) -> None:
        self._audit, self._claim, self._namer, self._tier = audit, claim, namer, tier
        self._why = {**{n: a.why for n, a in audit.arms.items()}, **_inline(claim)}
        self._grade = claim.grade

    def arm(
        self,
        answer: ArmAnswer,
        cannot_fail: Sequence[int] = (),
        checks: Sequence[Kind] = (),
        **more: Any,
    ) -> ArmModel:
        """Return the model of an arm's answer, with what only such an arm has."""
        arm = answer.arm
        setting, value = arm.varied or (None, None)
        said = self._namer.arm(arm.name)
        if setting is not None and value is not None:
            said = self._namer.varied(self._claim.experiment, setting, value)
        primary = self._grade is None or answer.at is None or answer.at in self._grade.primary
        source = None
        if setting is not None and value is not None and arm.role is not Role.ALTERNATIVE:
            source = self._source(setting, value)
        made = ArmModel(
            name=arm.name,
            words=said,
            role=arm.role.value,
            why=self._why.get(arm.name),
            setting=setting,
            value=value,
            at=answer.at,
            primary=primary,
            decision=answer.decision.value,
            yes=answer.yes,
            n=answer.n,
            void=answer.void,
            same=answer.same,
            trained=answer.trained,
            source=source,
            weak=answer.weak,
            estimates=self.estimates(answer, checks or self._claim.headline, cannot_fail),
        )
        return made.model_copy(update=more)

    def own(self, found: ClaimAnswer) -> ArmModel:
        """Return the model of the claim's own runs, with a setting that is read otherwise, too."""
        audit, base = self._audit, found.base
        names = {one.arm.varied[0] for one in found.readings if one.arm.varied is not None}
        if base.arm.varied is None and len(names) == 1:
            (name,) = names
            value = base.arm.settings(audit, self._tier)[name]
            if value == audit.settings_of(self._claim.experiment)[name].value:
                base = replace(base, arm=replace(base.arm, varied=(name, value)))
        return self.arm(base, found.cannot_fail)

    def beside(self, found: ClaimAnswer) -> dict[str, Any]:
        """Return the models of all arms and checks beside the one that decides."""
        claim = self._claim
        pairs = {"support": (found.support, claim.support), "notes": (found.notes, claim.notes)}
        return {
            **{
                field: tuple(
                    self.check(one, check, both[1], field.removesuffix("s"))
                    for one, check in zip(*both, strict=True)
                )
                for field, both in pairs.items()
            },
            "grades": tuple(map(self.arm, found.grades)),
            "readings": tuple(map(self.arm, found.readings)),
            "nulls": tuple(map(self.arm, found.nulls)),
            "constructed": None if found.constructed is None else self.arm(found.constructed),
            "ablations": tuple(
                self.arm(
                    one.answer,
                    specificity=one.specificity.value,
                    lacks=one.answer.arm.lacks,
                    effects=one.effects,
                )
                for one in found.ablations
            ),
            "alternatives": tuple(
                self.arm(
                    one.answer,
                    tier=None if one.tier == self._tier else one.tier,
                    flips=one.flips,
                    opens=one.opens,
                    unfinished=one.unfinished,
                )
                for one in found.alternatives
            ),
        }

    def _source(self, setting: str, value: SettingValue) -> str | None:
        """The source that states a reading's value."""
        found = self._audit.settings_of(self._claim.experiment).get(setting)
        if found is None:
            return None
        stated = {one.value: one.source for one in found.readings}
        return SOURCES[stated.get(value, found.source)]

    def check(self, answer: ArmAnswer, check: Kind, among: Sequence[Kind], role: str) -> ArmModel:
        """Return the model of one of several checks beside the headline."""
        said = [typical_words(one, *self._noun(one, check, among)) for one in answer.estimates]
        return self.arm(answer, checks=(check,), role=role, words=", ".join(said) or check.name)

    def estimates(
        self, answer: ArmAnswer, checks: Sequence[Kind], cannot_fail: Sequence[int] = ()
    ) -> tuple[EstimateModel, ...]:
        """Return the models of an answer's conditions."""
        return tuple(
            self._estimate(one, checks[one.condition.check], checks, place in cannot_fail)
            for place, one in enumerate(answer.estimates)
        )

    def _noun(self, one: Estimate, check: Kind, among: Sequence[Kind]) -> tuple[str, str]:
        """What a condition's number is of, with its coordinates where others are of the same.

        Where it is read in another arm, the arm is named.
        """
        measured = one.condition.noun
        noun, reference = self._namer.compared(self._claim.experiment, check, measured)
        if isinstance(check, Beats):
            return noun, reference
        if len([other for other in among if _places(other, measured) is not None]) > 1:
            places = _places(check, measured)
            noun += f" [{', '.join(map(at_words, places))}]" if places else ""
        arms = {read.arm for read in check.quantities()}
        arm = next(iter(arms)) if len(arms) == 1 else None
        return f"{noun} with {self._namer.arm(arm)}" if arm is not None else noun, reference

    def _estimate(
        self, one: Estimate, check: Kind, among: Sequence[Kind], cannot_fail: bool
    ) -> EstimateModel:
        limit, (noun, reference) = one.limit, self._noun(one, check, among)
        within = limit.side.value == "within"
        return EstimateModel(
            name=one.condition.name,
            noun=noun,
            median=one.median,
            low=min(one.values, default=None),
            high=max(one.values, default=None),
            worst=one.worst,
            bound=limit.at,
            target=limit.target if within else None,
            side=limit.side.value,
            unit=one.condition.unit,
            **{"from": limit.origin.value},
            why=limit.why,
            mean=one.mean,
            cannot_fail=cannot_fail,
            met=limit.met_by(one.median),
            values=one.values,
            figure=figure_of(one),
            words=against(typical_words(one, noun, reference), one),
        )


def _places(check: Kind, measured: str) -> list[Coordinate] | None:
    """Where a check reads a measurement, by its coordinates; None if it does not."""
    for one in check.quantities():
        if one.measurement == measured:
            return [*check.at.values(), *one.at.values(), *one.coordinates]
    return None


def _inline(claim: Claim) -> dict[str, str]:
    """Why the arms that are written in a claim are there, by name."""
    written = [*claim.nulls, *(one.arm for one in claim.ablations), claim.constructed]
    return {one.name: one.why for one in written if one is not None and not isinstance(one, str)}


def _reasons(notes: Sequence[Note], context: Context) -> tuple[ReasonModel, ...]:
    return tuple(
        ReasonModel(kind=one.kind, words=words(one, context), brief=brief(one)) for one in notes
    )


def _typical(
    claim: Claim, found: ClaimAnswer, shown: Estimate, context: Context, *, with_worst: bool
) -> str:
    """The row's numbers; of a graded claim at the first and the last primary coordinate."""
    check = claim.headline[shown.condition.check]
    noun, against_what = context.namer.compared(claim.experiment, check, shown.condition.noun)
    primary = [one for one in found.grades if claim.grade and one.at in claim.grade.primary]
    estimates = [one.estimates[0] for one in primary if one.estimates]
    if len(primary) < 2 or any(one.median is None or one.worst is None for one in estimates):
        return typical_words(shown, noun, against_what, with_worst=with_worst)
    ends = [
        f"{figure_of(one)} at {where}{at_words(part.at or 0)}"
        f"{f', worst run {number(one.worst or 0.0)}' if with_worst else ''}"
        for where, part, one in (
            (f"{context.symbol} = ", primary[0], estimates[0]),
            ("", primary[-1], estimates[-1]),
        )
    ]
    return f"{noun} {'; '.join(ends) if with_worst else listed(ends)}"


# --- what a page has apart from its answers ------------------------------------------------------


def documentation_of(audit: Audit, reviews: Reviews) -> dict[str, Any]:
    """Return each variable with the card's result and the reviewers' word, and both counts of 7."""
    rows = [_variable(one, reviews) for one in audit.variables]
    scored = [row for row in rows if row["scored"]]
    return {
        "of": len(scored),
        "card": sum(row["card"] == "Yes" for row in scored),
        "reviewed": sum(row["documented"] for row in scored),
        "disputed": [row["name"] for row in rows if row["disputed"]],
        "variables": rows,
    }


def _variable(variable: Variable, reviews: Reviews) -> dict[str, Any]:
    decisions = reviews.variables.get(variable.name, ())
    card = variable.card.result == "Yes"
    votes = [
        one.decision is ReviewDecision.NOT_APPLICABLE
        or card is (one.decision is ReviewDecision.AGREE)
        for one in decisions
    ]
    balance = 2 * sum(votes) - len(votes)
    return {
        "name": variable.name.value,
        "scored": variable.name not in UNSCORED,
        "card": variable.card.result,
        "documented": card if balance == 0 else balance > 0,
        "disputed": bool(votes) and balance == 0,
        "decisions": [
            {"reviewer": one.reviewer, "decision": one.decision.value, "reason": one.reason}
            for one in decisions
        ],
        "evidence": [one.model_dump() for one in variable.evidence],
    }


def _findings(audit: Audit) -> tuple[dict[str, Any], ...]:
    ordered = sorted(audit.findings, key=lambda one: not one.changes)
    return tuple(one.model_dump(mode="json") for one in ordered)


def _settings(audit: Audit, tier: TierName) -> tuple[dict[str, Any], ...]:
    own = {experiment: one.settings for experiment, one in audit.experiments.items()}
    return tuple(
        {
            "experiment": experiment,
            "name": name,
            "value": one.at(tier),
            "source": one.source.value,
            "locator": one.locator,
            "why": one.why,
        }
        for experiment, name, one in _everywhere(audit.settings, own)
    )


def _measurements(audit: Audit) -> tuple[dict[str, Any], ...]:
    own = {experiment: one.measurements for experiment, one in audit.experiments.items()}
    return tuple(
        {
            "experiment": experiment,
            "name": name,
            "kind": one.kind.value,
            "axes": [axis.name for axis in one.axes],
            "unit": one.unit,
            "meaning": one.meaning,
        }
        for experiment, name, one in _everywhere(audit.measurements, own)
    )


_Stated = TypeVar("_Stated")


def _everywhere(
    shared: Mapping[str, _Stated], own: Mapping[str, Mapping[str, _Stated]]
) -> Iterator[tuple[str | None, str, _Stated]]:
    """What all experiments share, then each one's own: the experiment, the name, what is stated."""
    yield from ((None, name, one) for name, one in shared.items())
    yield from ((e, name, one) for e, named in own.items() for name, one in named.items())


def _records(records: Sequence[Record]) -> Mapping[str, Any]:
    ended = {status: sum(one.status.value == status for one in records) for status in _STATUS}
    return {
        "count": len(records),
        **ended,
        "hours": round(sum(one.seconds for one in records) / 3600, 3),
        "seconds": round(sum(one.seconds for one in records), 3),
        "started": min((_utc(one.started) for one in records), default=None),
        "ended": max((_utc(one.started, one.seconds) for one in records), default=None),
        "first": min((one.started.date().isoformat() for one in records), default=None),
        "last": max((one.started.date().isoformat() for one in records), default=None),
    }


def _utc(moment: datetime, seconds: float = 0.0) -> str:
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return (aware + timedelta(seconds=seconds)).isoformat(timespec="seconds")


def _software(records: Sequence[Record]) -> dict[str, str]:
    """The versions that made the records, all of them where they differ."""
    found: dict[str, set[str]] = {}
    for one in records:
        packages = {"python": one.environment.python, **one.environment.packages}
        for name, version in packages.items():
            found.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(versions)) for name, versions in sorted(found.items())}


_STATUS = ("completed", "diverged", "failed")
