"""Sentences about a scorecard, the same in the terminal, in Markdown, on pages and in exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reproaudit.audit.documentation import SharingType
from reproaudit.reports.numbers import (
    counted,
    digits_apart,
    duration,
    number,
    percent,
    ranges,
    sentence,
    settings_words,
    value_words,
)
from reproaudit.reports.printable import clean
from reproaudit.scorecard.model import (
    AgreementModel,
    AnswerModel,
    ClaimModel,
    ControlModel,
    CustomModel,
    DisputeModel,
    DocumentationModel,
    OriginModel,
    PartModel,
    ResponseModel,
    Scorecard,
    VariableModel,
)
from reproaudit.scorecard.verdicts import EVIDENCE, VERDICTS, complete
from reproaudit.stats import Decision

SHARING = complete(
    SharingType,
    {
        SharingType.DESCRIPTION: "text only",
        SharingType.CODE: "code, no data",
        SharingType.DATA: "data, no code",
        SharingType.EXPERIMENT: "code and data",
    },
)
DISPUTED = "disputed"
NO_REASON = "no reason given"


def words(name: str) -> str:
    """Returns ``technical_failure`` as people write it."""
    return name.replace("_", " ")


def upper_first(text: str) -> str:
    """Returns a text that begins a sentence."""
    return text[:1].upper() + text[1:]


# --- claims -------------------------------------------------------------------------------------


def _place_of(parts: Sequence[AnswerModel], name: str | None, estimate: float | None) -> int | None:
    """Returns the index of a part by name and estimate, since names may repeat."""
    for index, part in enumerate(parts):
        if part.name == name and part.estimate == estimate:
            return index
    return None


def deciding_part(claim: ClaimModel) -> PartModel | None:
    """Returns the part that decides a claim; None if nothing was judged."""
    index = _place_of(claim.parts, claim.binding_part, claim.estimate)
    return None if index is None else claim.parts[index]


def deciding_answer(control: ControlModel) -> AnswerModel | None:
    """Returns the part that decides a control; None if nothing was judged."""
    index = _place_of(control.parts, control.part, control.estimate)
    return None if index is None else control.parts[index]


def same_part(claim: ClaimModel, control: ControlModel) -> AnswerModel | None:
    """Returns a control's answer to the very condition that decides the claim, if it has one."""
    mine = deciding_part(claim)
    if mine is None:
        return None
    wanted = (mine.name, mine.measured, mine.bound)
    same = (its for its in control.parts if (its.name, its.measured, its.bound) == wanted)
    return next(same, None)


def controls_of(claim: ClaimModel) -> Iterator[tuple[str, ControlModel]]:
    """Yields a claim's controls and its positive control, each with its name."""
    for index, control in enumerate(claim.controls, start=1):
        yield "control" if len(claim.controls) == 1 else f"control {index}", control
    if claim.positive_control is not None:
        yield "positive control", claim.positive_control


def claim_sentence(claim: ClaimModel) -> str:
    """Returns the estimate of the deciding part against its bound, or ``no estimate``."""
    part = deciding_part(claim)
    return "no estimate" if part is None else sentence(part)


def evidence_label(claim: ClaimModel) -> str:
    """Returns the evidence level; ``none`` of a claim that was not tested."""
    return claim.evidence.value if VERDICTS[claim.verdict].tested else "none"


def evidence_words(claim: ClaimModel) -> str:
    """Returns the evidence level with its meaning."""
    if not VERDICTS[claim.verdict].tested:
        return "none: not judged"
    return f"{claim.evidence.value}: {EVIDENCE[claim.evidence]}"


def decision_words(decision: Decision | None) -> str:
    """Returns a decision; ``not judged`` if there is none."""
    return "not judged" if decision is None else decision.value


def measured_words(part: AnswerModel) -> str:
    """Returns the part and its condition: ``the loss (“its last value”)``."""
    if not part.measured.startswith(f"{part.name}: "):
        return part.measured
    return f"{part.name} (“{part.measured.removeprefix(f'{part.name}: ')}”)"


def control_differences(control: ControlModel) -> str:
    """Returns a control's own settings, and the measurements judged in place of others."""
    read = [f"{theirs} in place of {ours}" for ours, theirs in control.substitutes.items()]
    return ", ".join([*([settings_words(control.settings)] if control.settings else []), *read])


def no_estimate(
    scorecard: Scorecard, experiment: str, tier: str, settings: Mapping[str, Any]
) -> str:
    """Returns why a judged batch shows no number: a seed diverged."""
    diverged = [
        record.seed
        for record in scorecard.records
        if (record.experiment, record.tier, record.overrides) == (experiment, tier, settings)
        and record.status == "diverged"
    ]
    if not diverged:
        return "no estimate"
    plural = "s" if len(diverged) > 1 else ""
    return f"no estimate: seed{plural} {ranges(diverged)} diverged, which counts as missed"


def shown_answer(claim: ClaimModel, control: ControlModel) -> tuple[AnswerModel | None, bool]:
    """Returns the part of a control that is shown, and whether it is the claim's deciding one.

    It is that one if the control decides it as it decides the whole, else the control's own.
    """
    same = same_part(claim, control)
    if same is not None and same.decision == control.decision:
        return same, True
    return deciding_answer(control), False


def control_words(scorecard: Scorecard, claim: ClaimModel, control: ControlModel) -> str:
    """Returns the numbers behind a control's decision."""
    if control.decision is None:
        return control.problem or NO_REASON
    answer, is_same = shown_answer(claim, control)
    if answer is None:
        return no_estimate(scorecard, control.experiment, control.tier, control.settings)
    said = sentence(answer)
    return said if is_same else f"{said} (part “{answer.measured}”)"


def power(part: PartModel) -> str | None:
    """Returns what would decide an undecided part; None of a decided one."""
    if part.decision != Decision.UNDECIDED:
        return None
    seeds = len(part.per_seed)
    if part.interval is None:
        return "a single seed decides nothing"
    if part.detectable is None:
        said = f"{seeds} seeds that differ so much would rarely decide any mean within the margin"
    else:
        shown = digits_apart([part.bound, part.estimate], part.detectable)
        said = (
            f"{seeds} seeds that differ so much would decide a mean of "
            f"{number(part.detectable, shown)} (with probability 80 %)"
        )
    if part.seeds_needed is None:
        return f"{said}; this mean is so near its bound that no affordable number of seeds would do"
    return f"{said}; if the true mean is this one, {part.seeds_needed} seeds would decide"


def warnings(claim: ClaimModel) -> tuple[str, ...]:
    """Returns what a reader of the verdict must not miss."""
    found = []
    if claim.rule_is_younger:
        found.append("the rule is younger than its records: it was changed after they were made")
    if claim.undiscriminated:
        found.append(f"met on every control too: {', '.join(claim.undiscriminated)}")
    return tuple(found)


# --- findings, responses, reviewers ---------------------------------------------------------------


def effect_words(finding: Mapping[str, Any]) -> str:
    """Returns the measured effect of a finding, in words and numbers."""
    said = [str(finding["effect"])] if finding.get("effect") else []
    for one in finding.get("effects") or ():
        said.append(
            f"{one['claim']} with {one['setting']} = {value_words(one['value'])}: {one['found']}, "
            f"a difference of {number(one['difference'])} [{number(one['low'])}, "
            f"{number(one['high'])}] on the scale of the claim ({one['tier']} tier, "
            f"{one['as_of']})."
        )
    return " ".join(said) or "not measured"


def _claims_in(finding: Mapping[str, Any]) -> list[str]:
    return list(
        dict.fromkeys([*finding["claims"], *(e["claim"] for e in finding.get("effects", ()))])
    )


def findings_about(scorecard: Scorecard, claim: ClaimModel) -> list[tuple[int, str]]:
    """Returns the findings that may affect a claim: number on the scorecard and id."""
    return [
        (number, str(one["id"]))
        for number, one in enumerate(scorecard.findings, start=1)
        if claim.id in _claims_in(one)
    ]


def claims_named(scorecard: Scorecard, finding: Mapping[str, Any]) -> list[tuple[int | None, str]]:
    """Returns the claims that a finding names: number, None if it is not on the card, and id."""
    numbers = {claim.id: number for number, claim in enumerate(scorecard.claims, start=1)}
    return [(numbers.get(one), one) for one in _claims_in(finding)]


def responses_to(scorecard: Scorecard, identifier: str) -> list[ResponseModel]:
    """Returns the answers to a finding or a verdict, the earliest first."""
    found = [one for one in scorecard.responses if one.to == identifier]
    return sorted(found, key=lambda one: one.as_of)


def response_words(response: ResponseModel) -> str:
    """Returns who answered when and what, and where it is published."""
    where = f" ({response.locator})" if response.locator else ""
    return f"{response.by}, {response.as_of}: {response.statement}{where}"


def disputes_of_claim(scorecard: Scorecard, claim: str) -> list[DisputeModel]:
    """Returns the disputes of a claim, its tolerances and its controls."""
    return [one for one in scorecard.disputes if one.claim == claim]


def dispute_words(dispute: DisputeModel) -> str:
    """Returns what is disputed, by whom, when and why."""
    about = "the claim as it is stated"
    if dispute.source is not None:
        about = f"the source of {dispute.source}"
    elif dispute.tolerance is not None:
        about = f"the tolerance of '{dispute.tolerance}'"
    elif dispute.control is not None:
        positive = dispute.control == "positive"
        about = "the positive control" if positive else f"control {dispute.control}"
    return f"{about}, by {dispute.reviewer}, {dispute.as_of}: {dispute.reason}"


def agreement_words(agreement: AgreementModel) -> str:
    """Returns how far the reviewers agree: a count, a percentage, and alpha."""
    share = 100 * agreement.agreeing / agreement.pairs
    alpha = "not defined, since every decision is the same"
    if agreement.alpha is not None:
        alpha = f"{agreement.alpha:.2f}"
    return (
        f"{len(agreement.reviewers)} reviewers ({', '.join(agreement.reviewers)}) agree in "
        f"{agreement.agreeing} of {agreement.pairs} pairs of decisions ({share:.0f} %) on "
        f"{len(agreement.variables)} variables; Krippendorff's alpha, nominal: {alpha}"
    )


def open_disagreements(documentation: DocumentationModel) -> dict[str, str]:
    """Returns the variables on which reviewers disagree: who says what, and how it counts."""
    if documentation.agreement is None:
        return {}
    still_open = set(documentation.agreement.open)
    return {v.name: disagreement(v) for v in documentation.variables if v.name in still_open}


def disagreement(variable: VariableModel) -> str:
    """Returns who decided what on a variable, and how it counts."""
    said = ", ".join(f"{who} {words(what)}" for who, what in variable.decisions.items())
    if variable.decision == DISPUTED:
        return f"{said}; disputed, counts as the card has it ({variable.card})"
    return f"{said}; counts as most have it ({words(variable.decision)})"


# --- the paper as a whole -----------------------------------------------------------------------


def verdict_counts(claims: Iterable[ClaimModel]) -> dict[str, int]:
    """Returns how often each verdict is given, in the order of the table, zeros left out."""
    counts = Counter(claim.verdict for claim in claims)
    return {verdict.value: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def counts_words(counts: Mapping[str, int]) -> str:
    """Returns ``4 supported, 1 inconclusive``."""
    return ", ".join(f"{n} {words(verdict)}" for verdict, n in counts.items()) or "no claims"


def score_words(documentation: DocumentationModel) -> str:
    """Returns how many variables are documented, by the card and as reviewed."""
    strict, reviewed, of = documentation.strict, documentation.reviewed, documentation.of
    return f"{strict} of {of} variables by the card, {reviewed} of {of} as reviewed"


def rate_words(documentation: DocumentationModel) -> str:
    """Returns the published rate at which papers of this sharing type were reproduced."""
    shared = documentation.sharing_type
    kind = f"{shared} ({SHARING[SharingType(shared)]})"
    rate = documentation.published_rate
    if rate is None:
        return f"Sharing type {kind}. No reproduction rate is known for this type."
    return (
        f"Sharing type {kind}: {rate['reproduced']} of {rate['of']} such papers were reproduced "
        f"({percent(rate['confidence'])} {rate['method']} interval "
        f"{100 * rate['low']:.0f}–{100 * rate['high']:.0f} %; {rate['source']}). "
        f"So few papers say little about any single one."
    )


def coverage_words(scorecard: Scorecard) -> str:
    """Returns how many of the paper's claims were tested."""
    coverage, listed = scorecard.coverage, len(scorecard.claims)
    return (
        f"{coverage.tested} of {coverage.claims} listed claims tested "
        f"({listed} audited, {len(scorecard.not_audited)} not); "
        f"they carry {percent(round(coverage.weight_tested, 3))} of the audited weight"
    )


def chance_words(scorecard: Scorecard) -> str:
    """Returns how many wrong decisions chance alone would give."""
    chance = scorecard.chance
    if not chance.claims:
        return "no claim was judged by an interval"
    return (
        f"chance alone would decide at most {number(chance.expected_wrong)} of "
        f"{counted(chance.claims, 'claim')} wrongly on average"
    )


def origin_words(origin: OriginModel) -> str:
    """Returns who made the measurements, if they are not ours, and what they lack."""
    said = [
        f"Measurements from elsewhere, not ours: made {origin.made} by {origin.who} with "
        f"{origin.framework}; {origin.source}.",
        "They are judged by this audit's rule. Nobody here has checked that the rule was fixed "
        "before they were made, nor that they are what they say.",
    ]
    if origin.settings:
        said.append(f"In every run {settings_words(origin.settings)}.")
    if origin.absent:
        said.append(
            f"Not supplied: {'; '.join(origin.absent)}. A claim without its controls stays not "
            "tested, whatever its own decision."
        )
    return " ".join(said)


def records_words(scorecard: Scorecard) -> str:
    """Returns the number of records, when they were made, and how long it took."""
    records = scorecard.records
    if scorecard.origin is not None:
        return f"{len(records)} runs from elsewhere, dated {scorecard.origin.made}"
    if not records:
        return "no records"
    days = sorted({record.started.date().isoformat() for record in records})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    said = f"{len(records)} records made {when} in {duration(scorecard.environment.seconds)}"
    if scorecard.custom_records:
        said += f"; {scorecard.custom_records} custom records (other seeds or settings) not used"
    if (group := scorecard.group) is not None and (group.of_today is False or group.others):
        said += f"; of group {group.made_with}"
        said += "" if group.of_today else ", which is not today's code and versions"
        if group.others:
            said += f"; not mixed with {', '.join(group.others)}"
    return said


def custom_words(custom: CustomModel) -> str:
    """Returns a group of custom records: the experiment, its changes, its seeds."""
    changed = settings_words(custom.settings) or "the tier's own settings"
    plural = "" if len(custom.seeds) == 1 else "s"
    return f"{custom.experiment} with {changed}, seed{plural} {ranges(custom.seeds)}"


def citation(paper: Mapping[str, object]) -> str:
    """Returns authors, venue and year."""
    authors = paper.get("authors")
    names = [str(a) for a in authors] if isinstance(authors, list | tuple) else []
    who = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    return clean(f"{who}. {paper.get('venue', '')} {paper.get('year', '')}".strip(" ."))
