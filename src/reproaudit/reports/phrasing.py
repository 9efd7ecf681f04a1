"""How a scorecard is put into words and digits, alike in the terminal, in Markdown and in HTML.

A number never stands alone: `reading` sets it beside its interval, `target` beside its bound, and
the digits of all of them are chosen together, so that what differs reads as different.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reproaudit.cell import SettingValue
from reproaudit.judging.model import IntervalModel
from reproaudit.judging.verdict import EvidenceLevel, Verdict
from reproaudit.scorecard import (
    AgreementModel,
    AnswerModel,
    ClaimModel,
    ControlModel,
    CustomModel,
    DocumentationModel,
    OriginModel,
    PartModel,
    ResponseModel,
    Scorecard,
    VariableModel,
)
from reproaudit.stats import Scale

VERDICT_MEANING: dict[str, str] = {
    Verdict.SUPPORTED: "the check is met here, and fails where the claimed mechanism is absent",
    Verdict.CONTRADICTED: "the check is missed, and no guess of the auditors can be the cause",
    Verdict.INCONCLUSIVE: "these seeds, or this evidence, do not settle the claim",
    Verdict.VACUOUS: "the check does not tell the claim from its absence, so it shows nothing",
    Verdict.TECHNICAL_FAILURE: "something crashed or is missing; nothing is said of the claim",
    Verdict.NOT_TESTED: "not run, or not at a scale that is judged",
}
EVIDENCE_MEANING: dict[str, str] = {
    EvidenceLevel.EXACT: "the paper's scale; no setting assumed or recalled",
    EvidenceLevel.ASSUMED: "the paper's scale; some settings assumed",
    EvidenceLevel.REDUCED: "smaller than the paper's scale",
    EvidenceLevel.PROXY: "other data or another method than the paper's",
}
SHARING_MEANING = {
    "Description": "text only",
    "Code": "code, no data",
    "Data": "data, no code",
    "Experiment": "code and data",
}
DISPUTED = "disputed"
UNJUDGED = frozenset({Verdict.NOT_TESTED.value, Verdict.TECHNICAL_FAILURE.value})


def clean(text: str) -> str:
    """One line without control characters: a terminal obeys them, and a table breaks on them."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """The text with its control characters replaced, but for the newline.

    Characters that reorder what follows (bidirectional overrides) are control characters, too.
    """
    return "".join("\N{REPLACEMENT CHARACTER}" if _controls(c) else c for c in text)


def _controls(character: str) -> bool:
    reorders = unicodedata.bidirectional(character) in {
        *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    }
    return reorders or (unicodedata.category(character) == "Cc" and character != "\n")


# --- digits -------------------------------------------------------------------------------------

SIGNIFICANT = 3
MOST_SIGNIFICANT = 8


def number(value: float, digits: int = SIGNIFICANT) -> str:
    """A measured number to so many significant digits; whole numbers that are exact stay whole."""
    if value == 0 or (value == round(value) and abs(value) < 10 ** max(digits, 5)):
        return f"{value:.0f}"
    exponent = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if not -4 <= exponent < max(digits, 5):
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}e{int(power)}"
    return f"{value:.{max(digits - 1 - exponent, 0)}f}"


def stated(value: float) -> str:
    """A number that the audit states (a bound, a margin): as it was written, not padded."""
    mantissa, e, power = f"{value:.12g}".partition("e")
    return f"{mantissa}e{int(power)}" if e else mantissa


def _within_thousandth(value: float, margin: float) -> str:
    """A target as it was stated, or with digits enough for a thousandth of its margin."""
    rounded = (f"{value:.{digits}g}" for digits in range(SIGNIFICANT, 12))
    near = (one for one in rounded if abs(float(one) - value) <= margin / 1000)
    return stated(float(next(near, f"{value:.12g}")))


def _digits(values: Sequence[float], reference: float) -> int:
    """Significant digits at which the values differ from the reference as they should."""
    needed = SIGNIFICANT
    for value in values:
        gap = abs(value - reference)
        size = max(abs(value), abs(reference))
        if gap > 1e-9 * size:
            needed = max(needed, math.floor(math.log10(size)) - math.floor(math.log10(gap)) + 1)
    return min(needed, MOST_SIGNIFICANT)


def _written(
    estimate: float, interval: IntervalModel | None, bound: float | None
) -> tuple[str, str | None]:
    """The estimate and its interval's ends, with digits enough to tell them and the bound apart."""
    ends = (interval.low, interval.high) if interval else ()
    digits = _digits([*ends, *(() if bound is None else (bound,))], estimate)
    if bound is not None:
        digits = max(digits, *(_digits([end], bound) for end in ends), SIGNIFICANT)
    if not ends:
        return number(estimate, digits), None
    # A wide interval says of itself that more than three digits of its ends mean nothing.
    low, high = (number(end, digits) for end in ends)
    return number(estimate, digits), f"[{low}, {high}]"


def reading(answer: AnswerModel) -> str:
    """``0.0312 [0.0281, 0.0340]``; of a rule over every seed the count and the worst seed."""
    estimate, interval = _written(answer.estimate, answer.interval, answer.bound)
    if answer.satisfied is not None:
        return f"{_count(answer)}, worst {estimate}"
    return f"{estimate} {interval}" if interval else estimate


def target(answer: AnswerModel) -> str:
    """What the estimate is held against: ``≤ 0.1``, ``≥ 0.9``, ``within 0.05 of 1``."""
    bound = stated(answer.bound)
    if answer.side == "within":
        margin = answer.margin or 0.0
        relative = answer.interval is not None and answer.interval.scale == Scale.LOG
        bound = _within_thousandth(answer.bound, margin * (abs(answer.bound) if relative else 1.0))
        if relative:
            return f"within a factor {stated(1 + margin)} of {bound}"
        return f"within {stated(margin)} of {bound}"
    return f"{'≤' if answer.side == 'at_most' else '≥'} {bound}"


def sentence(answer: AnswerModel) -> str:
    """Reading and target as one statement that is true: ``1.42 [1.25, 1.61] not ≤ 0.1``."""
    if answer.satisfied is not None:
        estimate, _ = _written(answer.estimate, None, answer.bound)
        return f"{_count(answer)} {target(answer)}, worst {estimate}"
    held = {"missed": f"not {target(answer)}", "undecided": f"{target(answer)}?"}
    return f"{reading(answer)} {held.get(answer.decision, target(answer))}"


def _count(answer: AnswerModel) -> str:
    return f"{answer.satisfied} of {len(answer.per_seed)} seeds"


def spread(answer: AnswerModel, seeds: Sequence[int] = ()) -> str:
    """What the estimate is, over which seeds, and how its interval was made."""
    count = len(answer.per_seed)
    which = f" ({ranges(seeds)})" if len(seeds) == count else ""  # an exact value has no seeds
    if answer.satisfied is not None:
        return f"judged over every seed{which}, a count"
    if answer.interval is None:
        return f"{count} value{'' if count == 1 else 's'}{which}, no interval"
    return f"{method(answer.interval)}, {count} seeds{which}"


def method(interval: IntervalModel) -> str:
    """``95 % Student t, log scale``."""
    words = f"{percent(interval.confidence)} {interval.method}"
    if interval.scale == Scale.LINEAR:
        return words
    scale = {"log_complement": "log(1 − x)"}.get(interval.scale, interval.scale)
    return f"{words}, {scale} scale"


def percent(share: float) -> str:
    """A confidence or a rate as ``95 %``."""
    return f"{100 * share:.4g} %"


# --- claims -------------------------------------------------------------------------------------


def words(name: str) -> str:
    """``technical_failure`` as people write it."""
    return name.replace("_", " ")


def part_of(parts: Sequence[AnswerModel], name: str | None, estimate: float | None) -> int | None:
    """The place of the binding part among parts whose names may repeat."""
    for index, part in enumerate(parts):
        if part.name == name and part.estimate == estimate:
            return index
    return None


def binding_part(claim: ClaimModel) -> PartModel | None:
    """The part that decides a claim."""
    index = part_of(claim.parts, claim.binding_part, claim.estimate)
    return None if index is None else claim.parts[index]


def binding_answer(control: ControlModel) -> AnswerModel | None:
    """The part that decides a control."""
    index = part_of(control.parts, control.part, control.estimate)
    return None if index is None else control.parts[index]


def same_part(claim: ClaimModel, control: ControlModel) -> AnswerModel | None:
    """A control's answer to the very condition that decides the claim, if it has one."""
    mine = binding_part(claim)
    if mine is None:
        return None
    same = ((its.name, its.measured, its.bound) for its in control.parts)
    wanted = (mine.name, mine.measured, mine.bound)
    return next((its for its, key in zip(control.parts, same, strict=True) if key == wanted), None)


def control_names(claim: ClaimModel) -> list[str]:
    """What each of a claim's controls is called."""
    if len(claim.controls) == 1:
        return ["control"]
    return [f"control {index}" for index in range(1, len(claim.controls) + 1)]


def controls_of(claim: ClaimModel) -> Iterator[tuple[str, ControlModel]]:
    """A claim's controls and its positive control, each with what it is called."""
    yield from zip(control_names(claim), claim.controls, strict=True)
    if claim.positive_control is not None:
        yield "positive control", claim.positive_control


def evidence_words(claim: ClaimModel) -> str:
    """The evidence level and what it means; of an unjudged claim there is none."""
    if claim.verdict in UNJUDGED:
        return "none: not judged"
    return f"{claim.evidence}: {EVIDENCE_MEANING.get(claim.evidence, '')}"


def evidence_label(claim: ClaimModel) -> str:
    """The evidence level alone; of an unjudged claim ``none``."""
    return evidence_words(claim).partition(":")[0]


def control_differences(control: ControlModel) -> str:
    """What a control does differently: its settings, and what is judged in place of what."""
    read = [f"{theirs} in place of {ours}" for ours, theirs in control.substitutes.items()]
    return ", ".join([*([settings_words(control.settings)] if control.settings else []), *read])


def settings_words(settings: Mapping[str, SettingValue]) -> str:
    """``learning_rate = 0, mechanism = none``."""
    return ", ".join(f"{name} = {value_words(settings[name])}" for name in sorted(settings))


def value_words(value: SettingValue) -> str:
    """A setting's value, as an audit writes it."""
    if isinstance(value, tuple):
        return f"[{', '.join(value_words(v) for v in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return stated(value) if isinstance(value, float) else str(value)


def ranges(seeds: Sequence[int]) -> str:
    """``0–4, 7``."""
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}–{r[-1]}" for r in runs)


def no_estimate(scorecard: Scorecard, experiment: str, tier: str, settings: object) -> str:
    """Why a judged batch shows no number: a seed diverged."""
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


def control_words(scorecard: Scorecard, claim: ClaimModel, control: ControlModel) -> str:
    """What a control measured: on the claim's own binding condition, or else on its own."""
    if control.decision is None:
        return control.problem or "no reason given"
    same = same_part(claim, control)
    answer = same or binding_answer(control)
    if answer is None:
        return no_estimate(scorecard, control.experiment, control.tier, control.settings)
    said = sentence(answer)
    if answer.decision != control.decision:
        said += f" ({answer.decision} on this part)"
    return said if same else f"{said} ({answer.measured})"


def power(part: PartModel) -> str | None:
    """Of an undecided part: what these seeds could have decided, and how many would decide it."""
    if part.decision != "undecided":
        return None
    seeds = len(part.per_seed)
    if part.interval is None:
        return "a single seed decides nothing"
    if part.detectable is None:
        detectable = (
            f"{seeds} seeds with this spread would rarely decide any mean within the margin"
        )
    else:
        digits = _digits([part.bound, part.estimate], part.detectable)
        detectable = (
            f"{seeds} seeds with this spread would decide a mean of "
            f"{number(part.detectable, digits)} (power 80 %)"
        )
    if part.seeds_needed is None:
        return f"{detectable}; the mean is so near its limit that no affordable number would do"
    return f"{detectable}; were this mean the true one, {part.seeds_needed} seeds would do"


def warnings(claim: ClaimModel) -> tuple[str, ...]:
    """What a reader of the verdict must not miss."""
    found = []
    if claim.rule_is_younger:
        found.append("the rule is younger than its records: it was changed after they were made")
    if claim.undiscriminated:
        parts = ", ".join(clean(name) for name in claim.undiscriminated)
        found.append(f"met on every control too: {parts}")
    return tuple(found)


# --- findings, responses, reviewers ---------------------------------------------------------------


def effect_words(finding: Mapping[str, Any]) -> str:
    """What a finding was measured to change, in words and numbers."""
    said = [str(finding["effect"])] if finding.get("effect") else []
    for one in finding.get("effects") or ():
        said.append(
            f"{one['claim']} with {one['setting']} = {_plain_value(one['value'])}: {one['found']}, "
            f"a difference of {number(one['difference'])} [{number(one['low'])}, "
            f"{number(one['high'])}] on the scale of the claim ({one['tier']} tier, "
            f"{one['as_of']})."
        )
    return " ".join(said) or "not measured"


def _plain_value(value: Any) -> str:
    return value_words(tuple(value) if isinstance(value, list) else value)


def findings_about(scorecard: Scorecard, claim: ClaimModel) -> list[tuple[int, str]]:
    """The findings that may affect a claim: each with its number on the scorecard and its id."""
    return [
        (number, str(one["id"]))
        for number, one in enumerate(scorecard.findings, start=1)
        if claim.id in one["claims"] or claim.id in {e["claim"] for e in one.get("effects", ())}
    ]


def claims_named(scorecard: Scorecard, finding: Mapping[str, Any]) -> list[tuple[int | None, str]]:
    """The claims that a finding names: each with its number on the scorecard, if it is there."""
    numbers = {claim.id: number for number, claim in enumerate(scorecard.claims, start=1)}
    named = dict.fromkeys([*finding["claims"], *(e["claim"] for e in finding.get("effects", ()))])
    return [(numbers.get(one), one) for one in named]


def responses_to(scorecard: Scorecard, identifier: str) -> list[ResponseModel]:
    """The answers to a finding or a verdict, the earliest first."""
    found = [one for one in scorecard.responses if one.to == identifier]
    return sorted(found, key=lambda one: one.as_of)


def response_words(response: ResponseModel) -> str:
    """Who answered when, what, and where it stands."""
    where = f" ({response.locator})" if response.locator else ""
    return f"{response.by}, {response.as_of}: {response.statement}{where}"


def agreement_words(agreement: AgreementModel) -> str:
    """How far the reviewers agree: a count, a percentage, and alpha."""
    share = 100 * agreement.agreeing / agreement.pairs
    alpha = "not defined, since every decision is the same"
    if agreement.alpha is not None:
        alpha = f"{agreement.alpha:.2f}"
    return (
        f"{len(agreement.reviewers)} reviewers ({', '.join(agreement.reviewers)}) agree in "
        f"{agreement.agreeing} of {agreement.pairs} pairs of decisions ({share:.0f} %) on "
        f"{len(agreement.variables)} variables; Krippendorff's alpha, nominal: {alpha}"
    )


def open_disagreements(documentation: DocumentationModel) -> list[tuple[str, str]]:
    """The variables on which reviewers disagree: who says what, and how it counts."""
    if documentation.agreement is None:
        return []
    still_open = set(documentation.agreement.open)
    return [(v.name, disagreement(v)) for v in documentation.variables if v.name in still_open]


def disagreement(variable: VariableModel) -> str:
    """Who decided what on a variable, and how it counts."""
    said = ", ".join(f"{who} {words(what)}" for who, what in variable.decisions.items())
    if variable.decision == DISPUTED:
        return f"{said}; disputed, counts as the card has it ({variable.card})"
    return f"{said}; counts as most have it ({words(variable.decision)})"


# --- the paper as a whole -----------------------------------------------------------------------


def verdict_counts(claims: Iterable[ClaimModel]) -> dict[str, int]:
    """How often each verdict is given, in the verdicts' own order, zeros left out."""
    counts = Counter(claim.verdict for claim in claims)
    return {verdict.value: counts[verdict] for verdict in Verdict if counts[verdict]}


def counts_words(counts: Mapping[str, int]) -> str:
    """``4 supported, 1 inconclusive``."""
    return ", ".join(f"{n} {words(verdict)}" for verdict, n in counts.items()) or "no claims"


_SPELLED = {7: "seven", 15: "fifteen"}


def rate_words(documentation: DocumentationModel) -> str:
    """The published rate at which such papers were reproduced, as a count, and what it is worth."""
    shared = documentation.sharing_type
    kind = f"{shared} ({SHARING_MEANING.get(shared, '')})"
    rate = documentation.published_rate
    if rate is None:
        return f"Sharing type {kind}. No reproduction rate is known for this type."
    total = int(rate["of"])
    return (
        f"Sharing type {kind}: {rate['reproduced']} of {total} such papers were reproduced "
        f"({percent(rate['confidence'])} {rate['method']} interval "
        f"{100 * rate['low']:.0f}–{100 * rate['high']:.0f} %; {rate['source']}). "
        f"{_SPELLED.get(total, str(total)).capitalize()} papers say little about any single one."
    )


def coverage_words(scorecard: Scorecard) -> str:
    """How many of the paper's claims were tested."""
    coverage, listed = scorecard.coverage, len(scorecard.claims)
    return (
        f"{coverage.tested} of {coverage.claims} listed claims tested "
        f"({listed} audited, {len(scorecard.not_audited)} not); "
        f"they carry {percent(round(coverage.weight_tested, 3))} of the audited weight"
    )


def chance_words(scorecard: Scorecard) -> str:
    """How many wrong decisions chance alone would give."""
    chance = scorecard.chance
    if not chance.claims:
        return "no claim was judged by an interval"
    claims = "1 claim" if chance.claims == 1 else f"{chance.claims} claims"
    return (
        f"chance alone would decide at most {number(chance.expected_wrong)} of {claims} wrongly "
        "on average"
    )


def origin_words(origin: OriginModel) -> str:
    """Whose the measurements are, if they are not ours, and what they lack."""
    said = [
        f"Measurements from elsewhere, not ours: made {origin.made} by {origin.who} with "
        f"{origin.framework}; {origin.source}.",
        "They are judged by this audit's rule; whether it was fixed before they were made, and "
        "that they are what they say, nobody here has checked.",
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
    """How many records stand behind the scorecard, when they were made, and how long it took."""
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
    """What a group of custom records is: the experiment, what was changed, over which seeds."""
    changed = settings_words(custom.settings) or "the tier's own settings"
    plural = "" if len(custom.seeds) == 1 else "s"
    return f"{custom.experiment} with {changed}, seed{plural} {ranges(custom.seeds)}"


def duration(seconds: float) -> str:
    """``42 s``, ``3.5 min`` or ``2.1 h``."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 6000 else f"{seconds / 3600:.3g} h"


def citation(paper: Mapping[str, object]) -> str:
    """Authors, venue and year."""
    authors = paper.get("authors")
    names = [str(a) for a in authors] if isinstance(authors, list | tuple) else []
    who = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    return f"{who}. {paper.get('venue', '')} {paper.get('year', '')}".strip(" .")


@dataclass(frozen=True)
class ListEntry:
    """A paper as `reproaudit list` shows it; `verdicts` is None where nothing has been run."""

    slug: str
    title: str
    venue: str
    strict: int
    reviewed: int
    of: int = 7
    tier: str | None = None
    verdicts: Mapping[str, int] | None = None
