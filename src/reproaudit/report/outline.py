"""The order of a page and its facts, once for Markdown and HTML: rows, claims, folded sections."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from reproaudit.audit.arms import Role
from reproaudit.audit.model import Finding, Setting
from reproaudit.cell import SettingValue
from reproaudit.declarations import Declaration
from reproaudit.formats.scorecard import LeftOut, Scorecard
from reproaudit.formats.verdict import AblationAnswer, ArmAnswer, Estimate, Reason, ReasonKind
from reproaudit.report.claims import ClaimText
from reproaudit.report.documentation import Documented
from reproaudit.report.numbers import (
    at_words,
    counted,
    listed,
    number,
    of,
    setting_value,
    several,
    share_range,
)
from reproaudit.report.printable import clean
from reproaudit.report.words import (
    AT_REDUCED_SCALE,
    COMMON,
    OUTCOMES,
    WITHOUT,
    figure_of,
    not_alike,
    run_number,
)
from reproaudit.stats.binomial import Decision

_LEGEND = (
    ("Certainty", "It starts at high; each reason takes a step off."),
    ("Runs", "How many say yes; the share of all runs that would, a 90 % interval."),
    ("Effect", "The median and worst run, or the mean and its 90 % interval."),
    ("Control", "Nothing to learn, or a wrong reference. It must fail."),
    ("Without X", "The training without one part; it changes no outcome."),
)


QUESTIONS = "Questions of ours, which the paper does not raise"
"""The heading of our questions, which are in no count."""


def how_to_read(card: Scorecard) -> tuple[tuple[str, str], ...]:
    """Return the words that a page explains: outcomes, those that it has, and columns."""
    found = {claim.outcome for claim in card.claims}
    outcomes = [
        f"{how.mark} *{one.value}*: {how.means}." for one, how in OUTCOMES.items() if one in found
    ]
    said = " ".join(["Each run says yes or no to the whole claim.", *outcomes])
    return (("Outcome", said), *_LEGEND)


def main_words(claim: ClaimText) -> str:
    """Return what marks the main claim in a list."""
    return "main claim: " if claim.claim.main else ""


def certainty_words(claim: ClaimText, said: Container[ReasonKind] = ()) -> str:
    """Return the level with its reasons, but those said already; or why there is no outcome."""
    reasons = "; ".join(claim.why(one) for one in reasons_of(claim, said))
    return ": ".join(filter(None, (claim.answer.level, reasons)))


def reasons_of(claim: ClaimText, said: Container[ReasonKind] = ()) -> list[Reason]:
    """Return the reasons why a claim is not surer, but kinds that were said for all claims."""
    known = said if claim.answer.level is not None else ()
    return [reason for reason in claim.answer.reasons if reason.kind not in known]


def common_reasons(claims: Sequence[ClaimText]) -> dict[ReasonKind, str]:
    """Return the reasons that fire for every decided claim, by kind, in words that fit all."""
    decided = [claim for claim in claims if claim.answer.level is not None]
    if len(decided) < FEWEST_COMMON:
        return {}
    found: dict[ReasonKind, str] = {}
    for kind in dict.fromkeys(reason.kind for reason in decided[0].answer.reasons):
        every = [[c.why(r) for r in c.answer.reasons if r.kind is kind] for c in decided]
        words = {one[0] for one in every if one}
        if all(every) and (len(words) == 1 or kind in COMMON):
            found[kind] = COMMON.get(kind) or words.pop()
    return found


FEWEST_COMMON = 3
"""The fewest decided claims for which a common reason is said once."""


def common_words(claims: Sequence[ClaimText]) -> str:
    """Return what costs every claim a step; empty if nothing does."""
    found = common_reasons(claims)
    return f"Every certainty loses a step for {listed(list(found.values()))}." if found else ""


def runs_words(claim: ClaimText) -> str:
    """Return the count of runs with the interval of the share: 13 of 15 (64–98 %)."""
    count = of(claim.base.yes, claim.base.n)
    if not claim.base.n:
        return "none"
    return f"{count}, exact" if claim.claim.exact else f"{count} ({share_range(*claim.share)})"


def claim_details(claim: ClaimText) -> Iterator[str]:
    """Yield everything that a test log should say of a claim, one line each."""
    answer = claim.answer
    yield clean(f"{claim.claim.says} ({claim.claim.locator})")
    yield clean(f"outcome: {answer.outcome}; certainty: {certainty_words(claim) or 'none'}")
    yield clean(f"runs: {runs_words(claim)}")
    for estimate in claim.base.estimates:
        yield clean(claim.said(estimate))
    for arm in (*answer.readings, *answer.controls, *answer.ablations):
        yield clean(f"{arm.role} {claim.arm(arm)}: {arm.yes} of {arm.n}")


def share_of(claim: ClaimText) -> str:
    """Return the interval of the share of all runs that would say yes."""
    return "exact" if claim.claim.exact else share_range(*claim.share)


def reviewers_words(documented: Documented) -> str:
    """Return the reviewers' word on one variable."""
    if documented.disputed:
        return "disputed"
    return listed(sorted({each.decision.replace("_", " ") for each in documented.decisions}))


def findings(card: Scorecard) -> list[Finding]:
    """Return where sources differ; what changes an answer first."""
    return sorted(card.audit.findings, key=lambda one: not one.changes)


def changed(finding: Finding) -> str:
    """Return the names of the claims that a finding bears on."""
    return listed([claim.partition(".")[2] for claim in finding.changes])


def scale_words(card: Scorecard) -> str:
    """Return the scale of the records."""
    if card.tier == "paper":
        return "the paper's own scale" if card.origin is None else "scale as measured"
    if card.scale == "paper":
        return f"the paper's own scale, seeds drawn with '{card.tier.partition('-')[2]}'"
    return "reduced scale" if card.tier == "quick" else "smoke: nothing is judged"


def byline(card: Scorecard) -> str:
    """Return authors' last names, venue and year, as far as they are known."""
    names = ", ".join(name.split()[-1] for name in card.paper.authors)
    return " · ".join(filter(None, (names, card.paper.published)))


def about_runs(card: Scorecard) -> str:
    """Return at which scale, in how many runs a claim, and by whom it was rerun."""
    counts = sorted({claim.base.n for claim in card.of_paper if claim.base.n})
    runs = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else "".join(map(str, counts))
    each = f", {runs} runs a claim" if runs else ""
    return f"{scale_words(card)}{each}"


def read_words(card: Scorecard) -> str:
    """Return what was read of the paper; '' if nobody says."""
    return f"read: {listed(card.paper.read)}" if card.paper.read else ""


def not_read_words(card: Scorecard) -> str:
    """Return what was not read, a fact of the first line; '' if nothing is named."""
    return f"not read: {listed(card.paper.not_read)}" if card.paper.not_read else ""


def records_words(card: Scorecard) -> str:
    """Return how many records there are, how they ended, and from when they are."""
    found = card.records
    days = [None if one is None else one.date() for one in (found.started, found.last)]
    return (
        f"{found.completed} completed, {found.diverged} diverged, {found.failed} failed; "
        f"{round(found.seconds / 3600, 3)} hours of one core; {days[0]} to {days[1]}."
    )


def as_written_words(card: Scorecard) -> str:
    """Return how old a scorecard is that is shown as its file has it; '' of any other."""
    if card.changed_since is None:
        return ""
    found = card.records
    last = f" up to {found.last.date()}" if found.last is not None else ""
    changed = listed([one.replace("_", " ") for one in card.changed_since])
    since = f"The audit has changed since: {changed}." if changed else "The audit is the same."
    which = "that came with the installation, as it" if card.shipped else "as it"
    return (
        f"For want of records nothing was judged now: this is the scorecard {which} was written "
        f"(format {card.schema_version}), of {counted(found.count, 'record')}{last}. {since}"
    )


def made_words(card: Scorecard) -> Iterator[str]:
    """Yield what made the records: code, versions, device; and what was left out."""
    made = card.made
    machine = made.environment
    if machine is not None:
        packages = ", ".join(f"{name} {one}" for name, one in sorted(machine.packages.items()))
        yield f"Python {machine.python}; {packages}."
        threads = "" if machine.threads is None else f", {machine.threads} thread a run"
        yield f"{machine.device}{threads}; {machine.form} form; {machine.platform}."
        if made.of_today is False:
            short = dict.fromkeys(map(_revision, made.revisions))
            yield f"Made by other code than today's: revision {several(list(short), 6)}."
        if made.adopted:
            codes = listed([one[:8] for one in made.adopted])
            yield (
                f"Measured with code {codes}; measured again with {made.code[:8]} in "
                f"{made.measured_again:,} of {card.records.count:,} cells: the same bits."
            )
        if made.other_groups:
            yield f"{made.other_groups} other groups of records were left out."
    for one in made.left_out:
        yield f"{one.count} {one.tier} records were left out: {_why_left_out(one)}."
    if made.damaged:
        yield f"{made.damaged} damaged records of alternatives were left out."
    if made.listed is not None:
        yield "These records came with the report and were judged again."
    if made.lacking:
        of_all = f"{made.lacking} of the {made.listed} records that its list names"
        yield f"Their archive lacks {of_all}."
    yield from made.remarks


def _why_left_out(left_out: LeftOut) -> str:
    if left_out.data:
        return f"they read another '{left_out.data}' than the last run"
    names = listed([f"'{name}'" for name in left_out.measurements])
    return (
        f"experiment '{left_out.experiment}' measured {names} along {left_out.before}, and "
        f"the audit now declares {left_out.now}"
    )


def _revision(one: str | None) -> str:
    revision = one or "unknown"
    return f"{revision[:12]}{'+dirty' if revision.endswith('+dirty') else ''}"


class Fact(NamedTuple):
    """A line of a claim's section: a word or two, and what is to be said."""

    label: str
    text: str


MOST_FACTS = 8


def source_words(claim: ClaimText) -> str:
    """Return where the paper makes a claim, and who worded it."""
    wording = {"recalled": " (worded from memory)", "derived": " (derived by us)"}
    return f"{claim.claim.locator}{wording.get(claim.claim.wording, '')}"


def facts(claim: ClaimText, most: int = MOST_FACTS) -> list[Fact]:
    """Return the facts of a claim's section, the weightiest kept."""
    return list(_facts(claim))[:most]


def _facts(claim: ClaimText) -> Iterator[Fact]:
    answer = claim.answer
    if claim.sets:
        yield Fact("Run with", f"{', '.join(claim.sets)}.")
    own = f"as run: {claim.own}" if claim.own else ""
    if readings := [*(_arm(claim, reading) for reading in answer.readings), *filter(None, [own])]:
        yield Fact("Other reading" if answer.readings else "Reading", "; ".join(readings) + ".")
    if answer.proxy:
        yield Fact("Stand-in", f"{answer.proxy}.")
    if alike := [*_alike(claim)]:
        yield Fact("Runs", f"{'; '.join(alike)}.")
    yield from _effects(claim)
    if answer.controls:
        yield Fact("Controls", "; ".join(_arm(claim, control) for control in answer.controls) + ".")
    if answer.ablations:
        yield Fact(
            "Without", "; ".join(_ablation(claim, ablation) for ablation in answer.ablations) + "."
        )
    if others := answer.otherwise:
        scale = AT_REDUCED_SCALE if any(map(claim.is_smaller, others)) else ""
        yield Fact("Hangs on", "; ".join(_arm(claim, one) for one in others) + f"{scale}.")
    for label, checks in (("Also said", claim.support), ("Stricter (ours)", claim.notes)):
        if said := [f"{words}: {_counts(one)}" for words, one in checks]:
            yield Fact(label, "; ".join(said) + ".")
    if (built := claim.positive_control) is not None:
        yield Fact("Positive control", f"{_arm(claim, built)}.")
    if reported := claim.claim.reported:
        yield Fact("Reported", "; ".join(f"{one.says} ({one.locator})" for one in reported))
    trained = claim.base.trained
    if trained is not None:
        yield Fact("Training", f"loss {number(trained[0])} → {number(trained[1])}.")


def _alike(claim: ClaimText) -> Iterator[str]:
    """What runs have in common, what was not measured alike, and what has nothing to compare."""
    base = claim.base
    said = [reason.alike for reason in claim.answer.reasons]
    for found in claim.answer.not_alike:
        if found not in said:
            yield not_alike(found, claim)
    if base.equal:
        yield "the same in every run"
    if base.copies:
        yield f"{base.copies} more were copies of these"
    for name, count in base.left_over.items():
        runs = counted(count, "run")
        yield f"{runs} of {claim.namer.arm(name)} with other seeds are compared with none of these"


def _effects(claim: ClaimText) -> Iterator[Fact]:
    pairs = [*enumerate(claim.base.estimates)]
    # of a graded claim each bound once: the table of its coordinates has the rest
    told = {(claim.noun_of(e), e.limit.origin, e.limit.why): (place, e) for place, e in pairs[::-1]}
    for place, one in pairs[:4] if not claim.answer.grades else reversed(told.values()):
        cannot = place in claim.answer.cannot_fail
        little = " *Tells little: no control clearly misses it.*" if cannot else ""
        why = f": {one.limit.why}" if one.limit.why else ""
        words = claim.said(one)
        noun = claim.noun_of(one)
        said = words if words.startswith(noun) else f"{noun}: {words}"
        origin = one.limit.origin
        number_from = one.limit.number_from
        source = origin if origin is number_from else f"number: {number_from}; margin: {origin}"
        yield Fact("Effect", f"{said} ({source}{why}).{little}")


def _arm(claim: ClaimText, arm: ArmAnswer) -> str:
    numbers = [estimate for estimate in arm.estimates if estimate.median is not None]
    telling = next(
        (number for number in numbers if not number.met), numbers[0] if numbers else None
    )
    missed = arm.role is Role.READING and arm.decision is Decision.MISSED
    shown = telling is not None and (arm.role is Role.CONTROL or missed)
    typical = f" ({_number(claim, telling)})" if telling is not None and shown else ""
    return f"{claim.arm(arm)}: {_counts(arm)}{typical}"


def _counts(arm: ArmAnswer) -> str:
    return f"{counts_of(arm)}{f', {arm.void} void' if arm.void else ''}"


def _number(claim: ClaimText, estimate: Estimate) -> str:
    """The typical run's number in a few words."""
    what = claim.number_of(estimate)
    figure = figure_of(estimate, what) or number(estimate.median or 0.0)
    return what.aside.format(noun=what.noun or claim.noun_of(estimate), figure=figure)


def counts_of(arm: ArmAnswer) -> str:
    """Return how many runs say yes; where their mean decides otherwise, that it does."""
    means = [estimate for estimate in arm.estimates if estimate.mean is not None]
    if not arm.n:
        return "not run"
    if arm.decision is Decision.MISSED and means and arm.yes == arm.n:
        return f"missed by the mean of {arm.n}"
    return of(arm.yes, arm.n)


def _ablation(claim: ClaimText, arm: AblationAnswer) -> str:
    effects = claim.effects(arm)
    pair = f", {effects}" if effects else ""
    return f"{WITHOUT[arm.specificity]} {claim.lacks(arm)} ({counts_of(arm)}{pair})"


def grade_rows(claim: ClaimText) -> list[tuple[str, str, str, str, str]]:
    """Return a row for each coordinate: coordinate, runs, typical run, worst run, decision."""
    rows = []
    for grade in claim.answer.grades:
        first = grade.estimates[0] if grade.estimates else None
        typical = run_number(first, first.median) if first else "none"
        worst = run_number(first, first.worst) if first else "none"
        at = f"{grade.at}" if claim.is_primary(grade) else f"{grade.at} (not primary)"
        rows.append((at, of(grade.yes, grade.n), typical, worst, grade.decision.value))
    return rows


def at_once(claim: ClaimText) -> str:
    """Return how many runs say yes at several primary coordinates at once; else nothing."""
    grades = [grade for grade in claim.answer.grades if claim.is_primary(grade)]
    primary = [at_words(one.at) for one in grades if one.at is not None]
    if len(primary) < 2:
        return ""
    return f"{of(claim.base.yes, claim.base.n)} at {claim.symbol} = {listed(primary)} at once"


def grade_words(claim: ClaimText) -> str:
    """Return every coordinate with its decision, runs and numbers, then those met at once."""
    rows = [
        f"{at}: {decision}, {runs} ({typical}, worst {worst})"
        for at, runs, typical, worst, decision in grade_rows(claim)
    ]
    return "; ".join(filter(None, (*rows, at_once(claim))))


def settings(card: Scorecard) -> list[str]:
    """Return every setting with value and source, the shared ones first, claims' own last."""
    own = [(f"{e}.", one.settings) for e, one in card.audit.experiments.items()]
    of_claims = [
        f"{name} = {setting_value(value)} (of {claim.id} alone)"
        for claim in card.audit.claims
        for name, value in claim.settings.items()
    ]
    stated = [
        _setting(f"{experiment}{name}", setting, setting.at(card.scale))
        for experiment, named in (("", card.audit.settings), *own)
        for name, setting in named.items()
    ]
    return [*stated, *of_claims]


def _setting(name: str, setting: Setting, value: SettingValue) -> str:
    where = setting.locator or setting.why
    return f"{name} = {setting_value(value)} ({setting.source}{f', {where}' if where else ''})"


def measurements(card: Scorecard) -> list[tuple[str, Declaration]]:
    """Return every measurement with its name, the shared ones first."""
    own = [experiment.measurements for experiment in card.audit.experiments.values()]
    return [pair for named in (card.audit.measurements, *own) for pair in named.items()]
