"""Sentences about a scorecard, the same in the terminal, in Markdown, on pages and in exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reproaudit.judging.model import Verdict
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
from reproaudit.reports.status import alternatives_told
from reproaudit.scorecard.elsewhere import BesideModel, OriginModel
from reproaudit.scorecard.model import (
    AnswerModel,
    ClaimModel,
    ControlModel,
    CustomModel,
    PartModel,
    Scorecard,
)
from reproaudit.scorecard.verdicts import (
    AT_REDUCED_SCALE,
    EVIDENCE,
    LIMITS,
    VERDICTS,
    without_limits,
)
from reproaudit.stats import Decision

NO_REASON = "no reason given"
FROM_ZERO = " (of parameters that start at 0, any change counts as 1)"


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
        number = "control" if len(claim.controls) == 1 else f"control {index}"
        yield f"{number} ({control.name})" if control.name else number, control
    if claim.positive_control is not None:
        yield "positive control", claim.positive_control


def claim_sentence(claim: ClaimModel) -> str:
    """Returns the estimate of the deciding part against its bound, or ``no estimate``."""
    part = deciding_part(claim)
    return "no estimate" if part is None else sentence(part)


def verdict_title(one: ClaimModel | BesideModel) -> str:
    """Returns the verdict as it is shown: ``supported at reduced scale``."""
    return one.headline or words(one.verdict)


def headline(claim: ClaimModel) -> str:
    """Returns the verdict with what it depends on, in one line."""
    depends = "; ".join(one.sentence for one in claim.hangs_on)
    return f"{verdict_title(claim)}: {depends}" if depends else verdict_title(claim)


def alternatives_words(scorecard: Scorecard, claim: ClaimModel) -> Iterator[str]:
    """Yields how many alternatives were run, then those of lower tiers, which decide nothing."""
    run = alternatives_told(claim, scorecard.tier)
    if not run:
        return
    yield f"{run} at this tier"
    lower: dict[str, list[str]] = {}
    for one in claim.alternatives:
        if one.tier != scorecard.tier:
            flip = ", beyond seed noise" if one.flips else ""
            said = f"{one.decision.value} with {one.setting} = {value_words(one.value)}{flip}"
            lower.setdefault(one.tier, []).append(said)
    for tier, said_of in lower.items():
        yield f"at the {tier} tier, without bearing on this verdict: {'; '.join(said_of)}"


def movement_words(claim: ClaimModel) -> str | None:
    """Returns how its runs show that they trained; None if nothing asks for it."""
    asked = claim.movement
    if asked is None:
        return None
    ask = f"a run has trained if its '{asked.training_loss}' is at least {asked.at_least:g}"
    if asked.loss_stays:
        ask += f", or its '{asked.parameters}' is: {asked.loss_stays.rstrip('.')}"
    if asked.parameters_moved is None or asked.loss_moved is None:
        return f"{ask}; not measured in the claim's own runs"
    return (
        f"{ask}; in the claim's own runs they are {asked.loss_moved:.2g} and "
        f"{asked.parameters_moved:.2g} ('{asked.parameters}'), the change over the size at the "
        "start, medians over the runs"
    )


def control_notes(claim: ClaimModel, control: ControlModel) -> Iterator[str]:
    """Yields what limits a control: runs that meet, its scale, divergence, whether it trained.

    What holds of every run of the claim, `movement_words` says.
    """
    answer, _ = shown_answer(claim, control)
    runs = None if answer is None else answer.runs_met
    if control is not claim.positive_control and runs is not None and runs.met:
        yield f"{runs.met} of {runs.of} of its runs meet the bound"
    reason = control.scale_reason or "no reason is given"
    if changed := ", ".join(filter(None, (control.smaller, control.larger))):
        yield f"at another scale than the claim's, {changed}: {reason.rstrip('.')}"
    if control.scale_reason and not (control.smaller or control.larger):
        yield f"said to run at another scale, which no setting shows: {control.scale_reason}"
    if control.parameters_moved is not None and control.loss_moved is not None:
        yield (
            "in the training that is judged, its parameters moved by "
            f"{control.parameters_moved:.2g} and its training loss by {control.loss_moved:.2g} "
            f"times their size at the start{FROM_ZERO if control.parameters_moved == 1 else ''}"
        )
    every = claim.movement.loss_stays if claim.movement else None
    if control.loss_stays and control.loss_stays != every:
        yield (f"parameters that moved are enough to show that it trained: {control.loss_stays}")
    if control.inert:
        yield "inert: it did not train, so it counts for nothing"
    if control.diverged:
        yield f"diverged and left out: seed {ranges(control.diverged)}"


def runs_words(answer: AnswerModel | ClaimModel) -> str | None:
    """Returns ``4 of 5 runs meet it (38–96 %)``, with Wilson's interval; None if not counted."""
    found = answer.runs_met
    if found is None:
        return None
    low, high = 100 * found.interval.low, 100 * found.interval.high
    return f"{found.met} of {found.of} runs meet it ({low:.0f}–{high:.0f} %)"


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


def ablation_words(part: PartModel) -> str:
    """Returns how a part came out on its ablation, with the ablation's name if it has one."""
    said = decision_words(part.control)
    return said if part.ablation is None else f"{said} ({part.ablation})"


def measured_words(part: AnswerModel) -> str:
    """Returns the part and its condition: ``the loss (“its last value”)``."""
    if not part.measured.startswith(f"{part.name}: "):
        return part.measured
    return f"{part.name} (“{part.measured.removeprefix(f'{part.name}: ')}”)"


def control_differences(control: ControlModel) -> str:
    """Returns a control's own settings, and the measurements judged in place of others."""
    read = [f"{theirs} in place of {ours}" for ours, theirs in control.substitutes.items()]
    return ", ".join([*([settings_words(control.settings)] if control.settings else []), *read])


def experiment_differences(card: Scorecard, claim: ClaimModel, control: ControlModel) -> str:
    """Returns in which settings a control's experiment differs from the claim's; else nothing.

    One of the two may have settings that the other one lacks. A scorecard knows the values of its
    own tier, so that a control at another one gets the names.
    """
    if control.experiment == claim.experiment:
        return ""
    shared = {one.name: one.value for one in card.settings if one.experiment is None}
    ours, theirs = (
        shared | {one.name: one.value for one in card.settings if one.experiment == experiment}
        for experiment in (claim.experiment, control.experiment)
    )
    other = {
        name: value
        for name, value in theirs.items()
        if name not in control.settings and (name not in ours or ours[name] != value)
    }
    said = settings_words(other) if control.tier == card.tier else f"in {', '.join(other)}"
    lacking = [name for name in ours if name not in theirs]
    without = f"without {', '.join(lacking)}" if lacking else ""
    told = " and ".join(one for one in (said if other else "", without) if one)
    return f"and by its experiment {told}" if told else ""


def no_estimate(
    scorecard: Scorecard,
    experiment: str,
    tier: str,
    settings: Mapping[str, Any],
    decision: Decision | None = Decision.MISSED,
) -> str:
    """Returns why a judged batch shows no number: seeds diverged, and what follows from that."""
    diverged = [
        record.seed
        for record in scorecard.records
        if (record.experiment, record.tier, record.overrides) == (experiment, tier, settings)
        and record.status == "diverged"
    ]
    if not diverged:
        return "no estimate"
    plural = "s" if len(diverged) > 1 else ""
    is_missed = decision is Decision.MISSED
    follows = "which counts as missed" if is_missed else "so that it answers nothing"
    return f"no estimate: seed{plural} {ranges(diverged)} diverged, {follows}"


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
        batch = control.experiment, control.tier, control.settings
        return no_estimate(scorecard, *batch, control.decision)
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
        said = f"{seeds} seeds with this spread would rarely decide any mean within the margin"
    else:
        shown = digits_apart([part.bound, part.estimate], part.detectable)
        said = (
            f"{seeds} seeds with this spread would decide if the mean were "
            f"{number(part.detectable, shown)} (with probability 80 %)"
        )
    if part.seeds_needed is None:
        return f"{said}; this mean is so near its bound that no affordable number of seeds would do"
    return f"{said}; if the true mean is this one, {part.seeds_needed} seeds would decide"


# --- the paper as a whole -----------------------------------------------------------------------


def verdict_counts(claims: Iterable[ClaimModel]) -> dict[str, int]:
    """Returns how often each verdict is given, see `counted_verdicts`."""
    return counted_verdicts((claim.verdict, claim.headline) for claim in claims)


def counted_verdicts(judged: Iterable[tuple[Verdict, str]]) -> dict[str, int]:
    """Returns how often each verdict is given, in the order of the table, zeros left out.

    One at a smaller scale or by proxy is counted apart, with that after its name.

    Args:
        judged: of each claim, its verdict and the words that stand for it (`verdict_words`).
    """
    counts = Counter(
        (verdict, words.removeprefix(without_limits(words))) for verdict, words in judged
    )
    return {
        f"{verdict.value}{limits}": counts[verdict, limits]
        for verdict in VERDICTS
        for limits in LIMITS
        if counts[verdict, limits]
    }


def counts_words(counts: Mapping[str, int]) -> str:
    """Returns ``4 supported, 1 inconclusive``."""
    return ", ".join(f"{n} {words(verdict)}" for verdict, n in counts.items()) or "no claims"


def scale_apart(counts: Mapping[str, int]) -> tuple[dict[str, int], str]:
    """Returns counts of verdicts without their scale, and ``, at reduced scale`` if one had it.

    At a tier either all verdicts that can have it do, or none.
    """
    plain: dict[str, int] = {}
    for name, n in counts.items():
        short = name.removesuffix(AT_REDUCED_SCALE)
        plain[short] = plain.get(short, 0) + n
    return plain, f",{AT_REDUCED_SCALE}" if plain.keys() != counts.keys() else ""


def coverage_words(scorecard: Scorecard) -> str:
    """Returns how many of the paper's claims were tested."""
    coverage, listed = scorecard.coverage, len(scorecard.claims)
    share = percent(round(coverage.weight_tested, 3))
    weight = "" if coverage.weight_tested == 1 else f"; they carry {share} of the audited weight"
    left = coverage.claims - listed - len(scorecard.not_audited)
    not_asked = f", {left} not asked for" if left > 0 else ""
    return (
        f"{coverage.tested} of {coverage.claims} listed claims tested ({listed} audited"
        f"{not_asked}, {len(scorecard.not_audited)} not){weight}"
    )


def chance_words(scorecard: Scorecard) -> str:
    """Returns how many wrong decisions chance alone would give."""
    chance = scorecard.chance
    if not chance.claims:
        return "no claim was judged by an interval"
    return (
        f"wrong decisions by chance, expected: at most {number(chance.expected_wrong)} of "
        f"{counted(chance.claims, 'claim')}, if seeds are near normal on their scale, and not a "
        f"few of them of another kind"
    )


def origin_words(origin: OriginModel) -> str:
    """Returns who made the measurements, if they are not ours, and what they lack."""
    said = [
        f"Measurements from elsewhere, not ours: made {origin.made} by {origin.who} with "
        f"{origin.framework}; {origin.source}.",
        "They are judged by this audit's rule. Nobody here has checked that they are what they "
        "say.",
    ]
    if origin.settings:
        said.append(f"In every run {settings_words(origin.settings)}.")
    if origin.unstated:
        said.append(
            "Not stated in the manifest, and taken to be the audit's: "
            f"{', '.join(origin.unstated)}. Evidence on them is assumed at best, and contradicts "
            "no paper."
        )
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
    if "plain" in scorecard.environment.form:
        said += ", in the plain form of the equations"
    if scorecard.shipped:
        said += "; they came with the report, and were judged again"
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
