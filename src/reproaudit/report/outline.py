"""The order of a page and its facts, once for Markdown and HTML: rows, claims, folded sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from reproaudit.checks import NUMBERS, Number
from reproaudit.judge import Specificity
from reproaudit.report.chart import chart, legend, picture, strip
from reproaudit.report.model import (
    ArmModel,
    ClaimModel,
    EstimateModel,
    ReasonModel,
    Scorecard,
)
from reproaudit.report.numbers import (
    at_words,
    listed,
    number,
    of,
    setting_value,
    share_range,
)
from reproaudit.report.paragraph import choice_name
from reproaudit.report.printable import clean
from reproaudit.report.words import AT_REDUCED_SCALE, COMMON, OUTCOMES, WITHOUT

LEGEND = (
    (
        "Outcome",
        "Each run says yes or no to the whole claim. "
        + " ".join(f"{how.mark} *{one.value}*: {how.means}." for one, how in OUTCOMES.items()),
    ),
    (
        "Certainty",
        "It starts at high and loses a step for each reason that is named. A *reading* is what "
        "text or code says where they differ; a *guess* is what neither says.",
    ),
    (
        "Runs",
        "How many say yes; in brackets the share of all runs that would, a 90 % interval.",
    ),
    (
        "Effect",
        "The typical run (median) and the worst run against the bound, or a mean with its 90 % "
        "interval where the claim gives a number.",
    ),
    (
        "Null",
        "The same training with nothing to learn, or held against a wrong reference. It must fail.",
    ),
    (
        "Without X",
        "The same training without one part. It tells whether that part brings the effect, and "
        "changes no outcome.",
    ),
)


__all__ = ["chart", "choice_name", "legend", "picture", "strip"]


def main_words(claim: ClaimModel) -> str:
    """Return what marks the main claim in a list."""
    return "main claim: " if claim.main else ""


def certainty_words(claim: ClaimModel, said: Iterable[str] = ()) -> str:
    """Return the level with its reasons, but those said already; or why there is no outcome."""
    reasons = "; ".join(one.words for one in reasons_of(claim, said))
    return ": ".join(filter(None, (claim.certainty.level, reasons)))


def reasons_of(claim: ClaimModel, said: Iterable[str] = ()) -> list[ReasonModel]:
    """Return the reasons why a claim is not surer, but kinds that were said for all claims."""
    known = frozenset(said) if claim.certainty.level is not None else frozenset()
    return [one for one in claim.certainty.reasons if one.kind not in known]


def common_reasons(card: Scorecard) -> dict[str, str]:
    """Return the reasons that fire for every decided claim, by kind, in words that fit all."""
    decided = [one for one in card.claims if one.certainty.level is not None]
    if len(decided) < FEWEST_COMMON:
        return {}
    found: dict[str, str] = {}
    for kind in dict.fromkeys(one.kind for one in decided[0].certainty.reasons):
        every = [[r.words for r in one.certainty.reasons if r.kind == kind] for one in decided]
        words = {one[0] for one in every if one}
        if all(every) and (len(words) == 1 or kind in COMMON):
            found[kind] = COMMON.get(kind) or words.pop()
    return found


FEWEST_COMMON = 3
"""The fewest decided claims for which a common reason is said once."""


def common_words(card: Scorecard) -> str:
    """Return what costs every claim a step; empty if nothing does."""
    found = common_reasons(card)
    return f"Every certainty loses a step for {listed(list(found.values()))}." if found else ""


def runs_words(claim: ClaimModel) -> str:
    """Return the count of runs with the interval of the share: 13 of 15 (64–98 %)."""
    if not claim.runs.n:
        return "none"
    if claim.runs.exact:
        return f"{of(claim.runs.yes, claim.runs.n)}, exact"
    return f"{of(claim.runs.yes, claim.runs.n)} ({share_range(claim.runs.low, claim.runs.high)})"


def claim_details(claim: ClaimModel) -> Iterator[str]:
    """Yield everything that a test log should say of a claim, one line each."""
    yield clean(f"{claim.says} ({claim.locator})")
    yield clean(f"outcome: {claim.outcome}; certainty: {certainty_words(claim) or 'none'}")
    yield clean(f"runs: {runs_words(claim)}")
    for one in claim.headline:
        yield clean(one.words)
    for arm in (*claim.readings, *claim.nulls, *claim.ablations):
        yield clean(f"{arm.role} {arm.words}: {arm.yes} of {arm.n}")


def share_of(claim: ClaimModel) -> str:
    """Return the interval of the share of all runs that would say yes."""
    return "exact" if claim.runs.exact else share_range(claim.runs.low, claim.runs.high)


def paragraphs(card: Scorecard) -> list[str]:
    """Return the summary as two paragraphs: the opening with the main claim, and the rest."""
    return [part for part in (" ".join(card.summary[:2]), " ".join(card.summary[2:])) if part]


def reviewers_words(row: dict[str, Any]) -> str:
    """Return the reviewers' word on one variable."""
    if row["disputed"]:
        return "disputed"
    return listed(sorted({one["decision"].replace("_", " ") for one in row["decisions"]}))


def changed(row: dict[str, Any]) -> str:
    """Return the names of the claims that a finding bears on."""
    return listed([one.partition(".")[2] for one in row["changes"]])


def scale_words(card: Scorecard) -> str:
    """Return the scale of the records."""
    if card.tier == "paper":
        return "the paper's own scale"
    if card.tier.startswith("paper-"):
        return f"the paper's own scale, seeds drawn with '{card.tier.partition('-')[2]}'"
    return "reduced scale" if card.tier == "quick" else "smoke: nothing is judged"


def byline(card: Scorecard) -> str:
    """Return authors' last names, venue and year."""
    names = ", ".join(name.split()[-1] for name in card.paper["authors"])
    return f"{names} · {card.paper['venue']} {card.paper['year']}"


def records_words(card: Scorecard) -> str:
    """Return how many records there are, how they ended, and from when they are."""
    found = card.records
    return (
        f"{found['completed']} completed, {found['diverged']} diverged, {found['failed']} failed; "
        f"{found['hours']} hours of one core; {found['first']} to {found['last']}."
    )


class Fact(NamedTuple):
    """A line of a claim's section: a word or two, and what is to be said."""

    label: str
    text: str


MOST_FACTS = 8


def source_words(claim: ClaimModel) -> str:
    """Return where the paper makes a claim, and who worded it."""
    wording = {"recalled": " (worded from memory)", "derived": " (derived by us)"}
    return f"{claim.locator}{wording.get(claim.wording, '')}"


def facts(claim: ClaimModel, most: int = MOST_FACTS) -> list[Fact]:
    """Return the facts of a claim's section, the weightiest kept."""
    return list(_facts(claim))[:most]


def _facts(claim: ClaimModel) -> Iterator[Fact]:
    own = "" if claim.base.setting is None else f"as run: {claim.base.words}"
    if readings := [*map(_arm, claim.readings), *filter(None, [own])]:
        yield Fact("Other reading" if claim.readings else "Reading", "; ".join(readings) + ".")
    if claim.proxy:
        yield Fact("Stand-in", f"{claim.proxy}.")
    # of a graded claim each bound once: the table of its coordinates has the rest
    told = {(one.noun, one.origin, one.why): one for one in reversed(claim.headline)}
    for one in claim.headline[:4] if not claim.grades else reversed(told.values()):
        cannot = " *Tells little: no null clearly misses it.*" if one.cannot_fail else ""
        why = f": {one.why}" if one.why else ""
        said = one.words if one.words.startswith(one.noun) else f"{one.noun}: {one.words}"
        yield Fact("Effect", f"{said} ({one.origin}{why}).{cannot}")
    if claim.nulls:
        yield Fact("Nulls", "; ".join(_arm(one) for one in claim.nulls) + ".")
    if claim.ablations:
        yield Fact("Without", "; ".join(_ablation(one) for one in claim.ablations) + ".")
    if flips := [one for one in claim.alternatives if one.flips]:
        scale = AT_REDUCED_SCALE if any(one.tier for one in flips) else ""
        yield Fact("Hangs on", "; ".join(_arm(one) for one in flips) + f"{scale}.")
    if claim.certainty.reasons:
        yield Fact("Why not surer", f"{certainty_words(claim)}.")
    if claim.support:
        yield Fact("Also said", "; ".join(_arm(one) for one in claim.support) + ".")
    if claim.notes:
        yield Fact("Stricter (ours)", "; ".join(_arm(one) for one in claim.notes) + ".")
    if claim.constructed is not None and claim.constructed.n:
        yield Fact("Built by hand", f"{_arm(claim.constructed)}.")
    if claim.reported:
        yield Fact("Reported", "; ".join(f"{r['says']} ({r['locator']})" for r in claim.reported))
    trained = claim.base.trained
    if trained is not None:
        yield Fact("Training", f"loss {number(trained[0])} → {number(trained[1])}.")


def _arm(arm: ArmModel) -> str:
    void = f", {arm.void} void" if arm.void else ""
    numbers = [one for one in arm.estimates if one.median is not None]
    telling = next((one for one in numbers if not one.met), numbers[0] if numbers else None)
    missed = arm.role == "reading" and arm.decision == "missed"
    typical = f" ({_number(telling)})" if telling is not None else ""
    return f"{arm.words}: {counts_of(arm)}{void}{typical if arm.role == 'null' or missed else ''}"


def _number(one: EstimateModel) -> str:
    """The typical run's number in a few words."""
    said = NUMBERS.get(one.name, Number(one.name))
    figure = one.figure or number(one.median or 0.0)
    return said.aside.format(noun=said.noun or one.noun, figure=figure)


def counts_of(arm: ArmModel) -> str:
    """Return how many runs say yes; where their mean decides otherwise, that it does."""
    means = [one for one in arm.estimates if one.mean is not None]
    if not arm.n:
        return "not run" if not arm.void else "no valid run"
    if arm.decision == "missed" and means and arm.yes == arm.n:
        return f"missed by the mean of {arm.n}"
    return of(arm.yes, arm.n)


def _ablation(arm: ArmModel) -> str:
    said = WITHOUT[Specificity(arm.specificity or "open")]
    pair = ""
    if arm.effects is not None:
        pair = f", {number(arm.effects[0])} against {number(arm.effects[1])}"
    return f"{said} {arm.lacks} ({counts_of(arm)}{pair})"


def grade_rows(claim: ClaimModel) -> list[tuple[str, str, str, str, str]]:
    """Return a row for each coordinate: coordinate, runs, typical run, worst run, decision."""
    rows = []
    for one in claim.grades:
        first = one.estimates[0] if one.estimates else None
        typical = number(first.median) if first and first.median is not None else "none"
        worst = number(first.worst) if first and first.worst is not None else "none"
        at = f"{one.at}" if one.primary else f"{one.at} (not primary)"
        rows.append((at, of(one.yes, one.n), typical, worst, one.decision))
    return rows


def at_once(claim: ClaimModel) -> str:
    """Return how many runs say yes at several primary coordinates at once; else nothing."""
    primary = [at_words(one.at) for one in claim.grades if one.primary and one.at is not None]
    if len(primary) < 2:
        return ""
    return f"{of(claim.runs.yes, claim.runs.n)} at {claim.symbol} = {listed(primary)} at once"


def setting_line(row: dict[str, object]) -> str:
    """Return one setting with value and source."""
    name = f"{row['experiment']}.{row['name']}" if row["experiment"] else f"{row['name']}"
    where = row["locator"] or row["why"] or ""
    value = row["value"]
    text = setting_value(tuple(value) if isinstance(value, list) else value)  # type: ignore[arg-type]
    return f"{name} = {text} ({row['source']}{f', {where}' if where else ''})"
