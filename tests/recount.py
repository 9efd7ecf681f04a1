"""What the pages of a scorecard must print, recomputed from records and audit.

Nothing here is shared with the rooms that make the pages. Of the judge, what each run says is taken
(its number, yes, no or void); medians, farthest runs, means, intervals, counts and decisions are
computed anew.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from scipy.special import bdtr, betaincinv, stdtrit

from printed import numbers_in
from reproaudit.audit.arms import OWN, PlannedArm, Role, alternatives_of, arms_of
from reproaudit.audit.model import Audit, Claim, Setting
from reproaudit.audit.plan import batch_of
from reproaudit.audit.review import Reviews
from reproaudit.checks import Censored, Kind, Limit, Side, Void
from reproaudit.formats.verdict import (
    Answer,
    ArmAnswer,
    ClaimAnswer,
    Estimate,
    Outcome,
    RunAnswer,
    Status,
    Verdict,
)
from reproaudit.judge import Records
from reproaudit.judge.arms import answer_to_check, arm_answer
from reproaudit.judge.readings import Panel

OWN_ROLES = (Role.OWN, Role.READING)
FEWEST = 5
PAIR = r"(?<![\d.,])(\d+) of (\d+)(?![.,]?\d)"
"""A count of runs."""


def decided(yes: int, most: int, runs: int, share: float = 0.5, *, exact: bool = False) -> str:
    """Return what a count decides, of which `most` say yes if every void run does."""
    if exact:
        return "missed" if most < runs else "met" if yes == runs else "open"
    if runs < FEWEST:
        return "open"
    if yes and 1 - bdtr(yes - 1, runs, share) <= 0.05:
        return "met"
    return "missed" if bdtr(most, runs, share) <= 0.05 else "open"


def share_of(yes: int, runs: int) -> tuple[float, float]:
    """Return the 90 % interval of a share, in per cent."""
    low = betaincinv(yes, runs - yes + 1, 0.05) if yes else 0.0
    high = betaincinv(yes + 1, runs - yes, 0.95) if yes < runs else 1.0
    return 100 * float(low), 100 * float(high)


def whole(arm: ArmAnswer) -> tuple[int, int]:
    """Return how many runs say yes to all conditions, and how many say yes or no.

    Where a mean decides, a run that lies outside says no.
    """
    statuses = Counter(run.status for run in arm.runs)
    yes = statuses[Status.YES]
    if any(estimate.mean is not None for estimate in arm.estimates):
        yes = sum(map(all, zip(*(estimate.holds for estimate in arm.estimates), strict=True)))
    return yes, statuses[Status.YES] + statuses[Status.NO]


# --- what a row must say --------------------------------------------------------------------------


@dataclass(frozen=True)
class Tally:
    """One condition over the runs of one arm, at one coordinate.

    Attributes:
        role: of the check: decides, further (what else is said), or stricter.
        place: of the condition among those of its claim.
        words: what a page may call the arm; one of these is in its label.
        at: the coordinate as a page says it; empty without one.
    """

    place: int
    planned: PlannedArm
    words: tuple[str, ...]
    at: str
    arm: ArmAnswer
    estimate: Estimate | None
    claim: Claim
    blind: bool
    role: str
    planned_seeds: Mapping[str, frozenset[int]]

    @cached_property
    def said(self) -> list[bool | None]:
        """What each run that did not crash says: yes, no, or nothing."""
        runs = self.arm.runs
        holds = [None] * len(runs) if self.estimate is None else self.estimate.holds
        pairs = zip(runs, holds, strict=True)
        return [False if run.diverged else met for run, met in pairs]

    @property
    def yes(self) -> int:
        return self.said.count(True)

    @property
    def n(self) -> int:
        return self.yes + self.said.count(False)

    @property
    def apart(self) -> int:
        """Runs without an answer, but those beside which no run of a compared arm was planned."""
        return len(self.said) - self.n - (len(self.alone) if self.n else 0)

    @property
    def alone(self) -> list[RunAnswer]:
        """Runs beside which no run of a compared arm was planned."""
        return [
            run
            for run in self.arm.runs
            if run.void is Void.NO_REFERENCE
            and run.seed in self.planned_seeds[OWN] - self.planned_seeds[run.about]
        ]

    @cached_property
    def values(self) -> list[float]:
        return [] if self.estimate is None else [v for v in self.estimate.values if v is not None]

    @property
    def number_is_unsaid(self) -> bool:
        """Whether a page says the number in a sentence of its own, as that a law fits better."""
        checks = [*self.claim.headline, *self.claim.support, *self.claim.notes]
        numbers = [number for check in checks for number in check.numbers]
        estimate = self.estimate
        return estimate is not None and any(
            n.name == estimate.name and n.bound is not None for n in numbers
        )

    @property
    def bound(self) -> float:
        """The number that is to be passed; of a margin, the number that is to be equalled."""
        assert self.limit is not None
        return self.limit.target if self.limit.side is Side.WITHIN else self.limit.at

    @property
    def is_plain(self) -> bool:
        """Whether every run has an exact number, and says by it alone what it says."""
        estimate = self.estimate
        if estimate is None or estimate.groups is not None or any(estimate.censored):
            return False
        pairs = zip(estimate.values, estimate.holds, strict=True)
        return all(v is not None and met is self.meets(v) for v, met in pairs)

    @property
    def limit(self) -> Limit | None:
        return None if self.estimate is None else self.estimate.limit

    @property
    def typical(self) -> float | None:
        return median(self.values) if self.values else None

    def beyond(self, value: float) -> float:
        """Return how far a number lies beyond the bound; below 0 if it meets it."""
        assert self.limit is not None
        low, high = accepted(self.limit)
        if self.limit.side is Side.WITHIN:
            below = (self.limit.target - value) / (abs(low - self.limit.target) or math.ulp(0.0))
            above = (value - self.limit.target) / (abs(high - self.limit.target) or math.ulp(0.0))
            return max(below, above) - 1
        return low - value if math.isinf(high) else value - high

    def meets(self, value: float) -> bool:
        assert self.limit is not None
        far = self.beyond(value)
        return far < 0 or (far == 0 and self.limit.side not in (Side.ABOVE, Side.BELOW))

    @property
    def farthest(self) -> float | None:
        return max(self.values, key=self.distance) if self.values else None

    def distance(self, value: float) -> float:
        """Return what orders numbers by how far they are from meeting the bound."""
        assert self.limit is not None
        if self.limit.side is Side.WITHIN:
            return self.beyond(value)
        return value if self.limit.side in (Side.AT_MOST, Side.BELOW) else -value

    @property
    def far(self) -> list[float]:
        """The numbers that miss the bound although the typical one meets it."""
        if self.estimate is None or self.typical is None or not self.meets(self.typical):
            return []
        pairs = zip(self.estimate.values, self.estimate.holds, strict=True)
        return [v for v, met in pairs if v is not None and met is False and not self.meets(v)]

    @cached_property
    def mean(self) -> tuple[float, float, float] | None:
        """The mean and its 90 % interval, where the mean decides."""
        estimate = self.estimate
        if estimate is None or not estimate.by_mean or estimate.groups or any(estimate.censored):
            return None
        kept = sorted(self.values, key=lambda v: abs(v - (self.typical or 0)))
        kept = kept[: len(kept) - estimate.apart]
        if (
            len(self.values) < len(estimate.values)
            or len(kept) < 2
            or (estimate.log and min(kept) <= 0)
        ):
            return None
        placed = [math.log(v) for v in kept] if estimate.log else kept
        middle = math.fsum(placed) / len(placed)
        spread = math.sqrt(math.fsum((v - middle) ** 2 for v in placed) / (len(placed) - 1))
        half = float(stdtrit(len(placed) - 1, 0.95)) * spread / math.sqrt(len(placed))
        ends = (middle, middle - half, middle + half)
        return (math.exp(ends[0]), math.exp(ends[1]), math.exp(ends[2])) if estimate.log else ends

    @cached_property
    def decisions(self) -> tuple[str, ...]:
        """What a page may call it: one word, two where fewer runs than asked have a mean."""
        if self.blind and self.role == "decides":
            return ("tells nothing",)
        if not self.n:
            return ("void",)
        estimate = self.estimate
        if estimate is not None and estimate.groups is not None:
            return (str(estimate.decision),)
        exact = self.claim.exact or self.arm.stands_alone
        counted = decided(
            self.yes,
            self.yes + self.said.count(None),
            len(self.said),
            self.claim.share,
            exact=exact,
        )
        if self.mean is None or estimate is None or estimate.decision is None:
            return (counted,)
        if estimate.apart:
            return (counted,)
        low, high = accepted(estimate.limit)
        inside = low <= self.mean[1] and self.mean[2] <= high
        outside = self.mean[2] < low or self.mean[1] > high
        few = len(self.values) < FEWEST or 2 * self.yes <= self.n or counted != "met"
        by_mean = "met" if inside else "missed" if outside else "open"
        return (by_mean, "open") if few else (by_mean,)

    def symbol_in(self, label: str) -> bool:
        """Tell whether a label names a coordinate of the claim's grade."""
        grade = self.claim.grade
        return grade is not None and f"{grade.symbol} = " in label

    def censored(self, number: float) -> str:
        """Return `at least` or `at most` where the number of a run is only a limit, else ''."""
        if self.estimate is None:
            return ""
        pairs = [*zip(self.estimate.values, self.estimate.censored, strict=False)]
        if any(v is not None and c is Censored.AT_LEAST and v <= number for v, c in pairs):
            return "at least"
        if any(v is not None and c is Censored.AT_MOST and v >= number for v, c in pairs):
            return "at most"
        return ""

    @property
    def is_unmet(self) -> bool:
        return self.planned.role in OWN_ROLES and "met" not in self.decisions


def accepted(limit: Limit) -> tuple[float, float]:
    """Return the range that meets a bound."""
    if limit.side is Side.WITHIN and limit.relative:
        ends = sorted((limit.target / (1 + limit.at), limit.target * (1 + limit.at)))
        return ends[0], ends[1]
    if limit.side is Side.WITHIN:
        return limit.target - limit.at, limit.target + limit.at
    upper = limit.side in (Side.AT_MOST, Side.BELOW)
    return (-math.inf, limit.at) if upper else (limit.at, math.inf)


def value_text(value: Any) -> str:
    """Return a setting's value as a page says it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).lower().replace("_", " ")
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e7 else f"{value:.6g}"


def _missing_half_as_wide(tallies: Sequence[Tally]) -> Iterator[tuple[int, int]]:
    """How many runs of a claim's own miss a bound of ours that is half as wide, of how many."""
    for tally in tallies:
        if tally.estimate is None or tally.planned.role not in OWN_ROLES:
            continue
        limit = tally.estimate.limit.tightened()
        numbers = [number for number in tally.estimate.values if number is not None]
        yield sum(not limit.met_by(number) for number in numbers), len(tally.said)


@dataclass(frozen=True)
class Sheet:
    """A paper's records before its audit, with what the judge says of each run."""

    audit: Audit
    records: Records
    answers: Sequence[ClaimAnswer]
    quick: Records | None = None
    reviews: Reviews = field(default_factory=Reviews)
    earlier: int = 0
    tier: Any = "paper"
    _asked: dict[tuple[str, str], ArmAnswer] = field(default_factory=dict)

    @cached_property
    def claims(self) -> dict[str, Claim]:
        return {claim.id.partition(".")[2]: claim for claim in self.audit.claims}

    @cached_property
    def answered(self) -> dict[str, ClaimAnswer]:
        return {answer.name: answer for answer in self.answers}

    def of(self, whose: str) -> list[Claim]:
        """Return the claims that the paper or its code makes, that we derived, or that are ours."""
        claims = self.audit.claims
        return [claim for claim in claims if ("ours" if claim.ours else claim.whose) == whose]

    def outcome(self, claim: Claim) -> Outcome:
        """Return a claim's outcome."""
        return self.answered[claim.id.partition(".")[2]].outcome

    def knows(self, name: str, count: str) -> bool:
        """Tell whether a count is one of a claim's."""
        said = re.match(PAIR, count)
        pairs = self.known[name].pairs
        return said is not None and (int(said[1]), int(said[2])) in pairs

    @cached_property
    def tallies(self) -> dict[str, list[Tally]]:
        """Every condition in every arm, by the claim's name."""
        return {name: [*self._tallies(claim)] for name, claim in self.claims.items()}

    @cached_property
    def known(self) -> dict[str, Known]:
        """What sentences on a claim may say, by the claim's name."""
        found = {}
        for name, tallies in self.tallies.items():
            found[name] = Known(tallies, self.answered[name])
            found[name].numbers += self._lengths(tallies)
            found[name].pairs |= {count for count, _ in self.sides(name)}
            found[name].numbers += [*self._beside(name), self._unsettled(name)]
            found[name].pairs |= set(_missing_half_as_wide(tallies))
            alike = Counter(reading.decision for reading in self.answered[name].readings)
            found[name].numbers += [n - own for n in alike.values() for own in (0, 1)]
            found[name].numbers += _numbers_of(self.claims[name].model_dump(mode="json"))
        return found

    def _lengths(self, tallies: Sequence[Tally]) -> set[float]:
        """The last steps of the arms' courses."""
        arms = {tally.planned.name: tally.planned for tally in tallies}.values()
        keys = [arm.key(self.audit, self.tier) for arm in arms]
        records = [record for key in keys for record in self.records.get(key, {}).values()]
        courses = [course for record in records for course in record.measurements.series.values()]
        return {float(course.steps[-1]) for course in courses}

    def sides(self, name: str) -> list[tuple[tuple[int, int], Answer]]:
        """Return what each reading and alternative of a claim answers, with its count.

        Beside an alternative stand the claim's own runs of the same tier.
        """
        answer = self.answered[name]
        found = [(whole(arm), arm.answer) for arm in (*answer.stated, *answer.alternatives)]
        own = answer.own.answer
        beside = {arm.tier: self._own_runs(name, arm.tier) for arm in answer.alternatives}
        return found + [(count, own) for count in beside.values()]

    def hangs_on_a_bound(self, name: str) -> bool:
        """Tell whether a bound of ours, half or twice as wide, changes a claim's answer."""
        return bool(self.answered[name].other_bounds)

    def _unsettled(self, name: str) -> int:
        """How many settings have a credible guess that did not answer."""
        claim = self.claims[name]
        settings = self.audit.settings_of(claim.experiment)
        silent = (Answer.OPEN, Answer.NEAR, Answer.UNFINISHED)
        ran = self.answered[name].alternatives
        clear = [arm.varied for arm in ran if arm.counts and arm.answer not in silent]
        answered = [(varied.setting, varied.value) for varied in clear if varied is not None]
        guesses = [arm.varied for arm in alternatives_of(self.audit, claim)]
        left = [guess for guess in guesses if guess is not None and guess not in answered]
        return len({name for name, value in left if settings[name].is_credible(value)})

    def _beside(self, name: str) -> list[float]:
        """The typical numbers of a claim's own runs at the tier of its alternatives."""
        tiers = {arm.tier for arm in self.answered[name].alternatives}
        estimates = [estimate for tier in tiers for estimate in self._own_arm(name, tier).estimates]
        values = [[v for v in estimate.values if v is not None] for estimate in estimates]
        return [median(numbers) for numbers in values if numbers]

    def _own_arm(self, name: str, tier: Any) -> ArmAnswer:
        """A claim's own runs of a tier."""
        if (name, tier) not in self._asked:
            records = self.records if tier == self.tier else self.quick or {}
            panel = Panel.of(self.audit, self.claims[name], tier, records)
            self._asked[name, tier] = panel.headline(panel.base)
        return self._asked[name, tier]

    def _own_runs(self, name: str, tier: Any) -> tuple[int, int]:
        """How many of a claim's own runs of a tier say yes, and how many say yes or no."""
        statuses = Counter(run.status for run in self._own_arm(name, tier).runs)
        return statuses[Status.YES], statuses[Status.YES] + statuses[Status.NO]

    def _tallies(self, claim: Claim) -> Iterator[Tally]:
        panel = Panel.of(self.audit, claim, self.tier, self.records)
        stated = [arm for arm in panel.arms.values() if arm.role in OWN_ROLES]
        grade = claim.grade
        levels = (None,) if grade is None else grade.easiest_first
        put: list[tuple[Panel, PlannedArm, Any]] = []
        for reading in stated:
            there = panel.under(reading)
            put += [(there, reading, at) for at in levels]
        for reading in stated:
            there = panel.under(reading)
            others = [arm for arm in there.arms.values() if arm.role not in OWN_ROLES]
            put += [(there, arm, at) for arm in others for at in levels]
        put += [*self._guessed(claim, self.tier, self.records, levels)]
        put += [*self._guessed(claim, "quick", self.quick or {}, levels)]
        places: dict[tuple[Any, ...], int] = {}
        for there, arm, at in put:
            answer = arm_answer([there.at(arm, at)], ArmAnswer)
            for key, estimate in _conditions(claim.headline, answer):
                place = places.setdefault((0, *key), len(places))
                yield self._tally(claim, place, arm, at, answer, estimate, "decides")
        own = [asked for asked in put if asked[1].role in OWN_ROLES and asked[2] == levels[0]]
        for group, check in enumerate((*claim.support, *claim.notes), 1):
            role = "further" if group <= len(claim.support) else "stricter"
            for there, arm, _ in own:
                answer = answer_to_check(there, check, arm)
                for key, estimate in _conditions([check], answer):
                    place = places.setdefault((group, *key), len(places))
                    yield self._tally(claim, place, arm, None, answer, estimate, role)

    def _guessed(
        self, claim: Claim, tier: Any, records: Records, levels: Sequence[Any]
    ) -> Iterator[tuple[Panel, PlannedArm, Any]]:
        panel = Panel.of(self.audit, claim, tier, records)
        for arm in alternatives_of(self.audit, claim):
            if panel.recorded(arm):
                yield from ((panel.under(arm), arm, at) for at in levels)

    def _tally(
        self,
        claim: Claim,
        place: int,
        planned: PlannedArm,
        at: Any,
        arm: ArmAnswer,
        estimate: Estimate | None,
        role: str,
    ) -> Tally:
        grade = claim.grade
        # a coordinate is no setting's value
        called = at.replace("_", " ") if isinstance(at, str) else value_text(at)
        symbol = "" if grade is None or at is None else f"{grade.symbol} = {called}"
        blind = self._is_blind(claim, planned, at)
        words = tuple(self._words(claim, planned))
        seeds = {
            each.name: frozenset(batch_of(self.audit, claim, each, self.tier).seeds)
            for each in arms_of(self.audit, claim)
        }
        return Tally(place, planned, words, symbol, arm, estimate, claim, blind, role, seeds)

    def _is_blind(self, claim: Claim, planned: PlannedArm, at: Any) -> bool:
        answer = self.answered[claim.id.partition(".")[2]]
        if planned.name == answer.base.name and answer.grades:
            return any(level.at == at and level.answer is Answer.BLIND for level in answer.grades)
        controls = [each.name for each in answer.controls if each.verdict is Verdict.ITSELF]
        if planned.name in controls:
            return True
        arms = (*answer.stated, *answer.alternatives)
        return any(
            reading.name == planned.name and reading.answer is Answer.BLIND for reading in arms
        )

    def _words(self, claim: Claim, planned: PlannedArm) -> Iterator[str]:
        settings = self.audit.settings_of(claim.experiment)
        if planned.varied is not None:
            name, value = planned.varied
            text = value_text(value)
            yield _phrase(settings[name], text)
            yield from (
                other.words
                for other in settings[name].readings
                if other.value == value and other.words
            )
        elif planned.role is Role.OWN:
            yield from ("as run", "settings as run")
            for name in claim.readings:
                text = value_text(settings[name].at(self.tier))
                yield _phrase(settings[name], text)
        else:
            arm = self.audit.arms.get(planned.name)
            yield arm.words if arm is not None and arm.words else planned.name.replace("_", " ")
            for ablation in claim.ablations:
                written = ablation.arm
                if planned.name == (written if isinstance(written, str) else written.name):
                    yield ablation.lacks

    # --- what may stand in a sentence -------------------------------------------------------------

    @cached_property
    def phrases(self) -> re.Pattern[str]:
        """What audit, reviews and stand-ins say in words, in which numbers are theirs."""
        texts: set[str] = set()
        for model in (self.audit, self.reviews):
            texts |= {*_strings(model.model_dump(mode="json"))}
        texts |= {f"opinion of {note.reviewer}" for note in [self.reviews.note] if note}
        runs = [run for by_seed in self.records.values() for run in by_seed.values()]
        texts |= {run.proxy for run in runs if run.proxy}
        known = sorted(texts, key=len, reverse=True)
        joined = "|".join(re.escape(text.rstrip(".")) for text in known)
        return re.compile(rf"(?<![\w.])(?:{joined})(?!\w)", re.IGNORECASE)

    def bare(self, text: str) -> str:
        """Return a text without what audit, reviews and stand-ins say, and without dates."""
        text = re.sub(r"\d{4}-\d\d-\d\d|arXiv \d+\.\d+", "", " ".join(text.split()))
        return self.phrases.sub("§", text)

    @cached_property
    def settings(self) -> set[float]:
        """The values of settings, and the coordinates of grades."""
        audit = self.audit
        named = [
            audit.settings,
            *(experiment.settings for experiment in audit.experiments.values()),
        ]
        values: list[Any] = [at for claim in audit.claims for at in claim.settings.values()]
        for setting in (setting for them in named for setting in them.values()):
            values += [setting.value, setting.at("quick"), *setting.alternatives]
            values += [reading.value for reading in setting.readings]
        for claim in audit.claims:
            values += claim.grade.easiest_first if claim.grade is not None else ()
        flat = [at for value in values for at in (value if isinstance(value, tuple) else [value])]
        return {float(at) for at in flat if isinstance(at, int | float)}

    def explained(self, name: str, text: str) -> list[str]:
        """Return the counts and numbers of a sentence on a claim that nothing explains."""
        known = self.known[name]
        text = self.bare(text)
        pairs = [(int(k), int(n)) for k, n in re.findall(PAIR, text)]
        faults = [f"{k} of {n}" for k, n in pairs if (k, n) not in known.pairs]
        text = re.sub(r"(?<![\d.,])(?:\d+ → )?\d+ of \d+(?![\d.,]*\d)", "§", text)
        for number in numbers_in(text):
            is_setting = any(math.isclose(number.value, at, rel_tol=1e-5) for at in self.settings)
            if not is_setting and not any(map(number.is_of, known.numbers)):
                faults.append(number.text)
        return faults


def _conditions(
    checks: Sequence[Kind], answer: ArmAnswer
) -> Iterator[tuple[tuple[int, str], Estimate | None]]:
    """Every condition of checks with its numbers; of an arm without any, each check."""
    for estimate in answer.estimates:
        yield (estimate.check, estimate.name), estimate
    if answer.n and not answer.estimates:
        yield from (((place, check.numbers[0].name), None) for place, check in enumerate(checks))


def _strings(data: Any) -> Iterator[str]:
    """Yield every text in which there is a digit and a letter."""
    if isinstance(data, dict):
        yield from (text for pair in data.items() for at in pair for text in _strings(at))
    elif isinstance(data, list):
        yield from (text for at in data for text in _strings(at))
    elif isinstance(data, str):
        text = " ".join(data.split())
        if re.search(r"\d", text) and re.search(r"[^\W\d_]{2}", text):
            yield text
            yield text.replace("_", " ")


def _numbers_of(data: Any) -> Iterator[float]:
    """Yield every number that is written in a claim."""
    if isinstance(data, dict | list):
        values = data.values() if isinstance(data, dict) else data
        yield from (number for at in values for number in _numbers_of(at))
    elif isinstance(data, int | float):
        yield float(data)


class Known:
    """The counts and numbers that a sentence on a claim may have."""

    def __init__(self, tallies: Sequence[Tally], answer: ClaimAnswer) -> None:
        self.pairs: set[tuple[int, int]] = set()
        self.numbers: list[float] = []
        for tally in tallies:
            self._count(tally)
            self._measure(tally)
        for arm in (*answer.arms(), *answer.support, *answer.notes):
            self._join(arm)

    def _count(self, tally: Tally) -> None:
        runs = len(tally.said)
        self.pairs |= {(tally.yes, tally.n), (tally.n - tally.yes, tally.n)}
        read = 0 if tally.estimate is None else sum(met is not None for met in tally.estimate.holds)
        self.pairs |= {(len(tally.far), tally.n), (len(tally.far), read)}
        diverged = sum(run.diverged for run in tally.arm.runs)
        self.pairs |= {(diverged, tally.n), (diverged, runs)}
        voids = Counter((run.void, run.about) for run in tally.arm.runs if run.void)
        self.pairs |= {(count, runs) for count in voids.values()}
        alone = Counter(run.about for run in tally.alone)
        self.pairs |= {(runs - count, runs) for count in alone.values()}
        beside = Counter(run.about for run in tally.arm.runs if run not in tally.alone)
        self.pairs |= {(count, runs) for count in beside.values()}
        estimate = tally.estimate
        held = [] if estimate is None else zip(estimate.values, estimate.holds, strict=True)
        without = sum(value is None and met is not None for value, met in held)
        self.pairs.add((without, tally.n))
        self.numbers.append(without)
        self.numbers += [tally.apart, runs, tally.n, *voids.values(), diverged]

    def _measure(self, tally: Tally) -> None:
        if tally.estimate is None:
            return
        limit = tally.estimate.limit
        ends = [end for end in accepted(limit) if math.isfinite(end)]
        self.numbers += [limit.at, limit.target, 1 + limit.at, *ends]
        self.numbers += [limit.margin, 1 + limit.margin] if limit.margin else []
        away = limit.at - limit.zero
        self.numbers += [limit.zero + away / 2, limit.zero + 2 * away, limit.at**2, limit.at**0.5]
        if not tally.values:
            return
        self.pairs.add((sum(value > 1.01 for value in tally.values), len(tally.values)))
        numbers = [tally.typical or 0.0, tally.farthest or 0.0, *tally.far]
        numbers += [min(tally.values), max(tally.values), *(tally.mean or ())]
        self.numbers += [*numbers, *(1 / number for number in numbers if number)]

    def _join(self, arm: ArmAnswer) -> None:
        yes, valid = whole(arm)
        counted = sum(run.status is Status.YES for run in arm.runs)
        for k in (yes, counted):
            self.pairs |= {(k, valid), (valid - k, valid)}
        voids = Counter((run.void, run.about) for run in arm.runs if run.void)
        self.pairs |= {(count, len(arm.runs)) for count in voids.values()}
        self.numbers += [len(arm.runs) - valid, len(arm.runs)]
        self.numbers += [*(arm.trained or ())]


def _phrase(setting: Setting, text: str) -> str:
    """What a page calls a value, whose words may be joined in the phrases' keys."""
    found = {key.replace("_", " "): words for key, words in setting.phrases.items()}
    return found.get(text.replace("_", " "), text)
