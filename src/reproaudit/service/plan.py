"""`reproaudit plan`: what will decide each claim and what must run, before anything does."""

from __future__ import annotations

import math
import string
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from reproaudit.audit.arms import PlannedArm, Role, arms_of, runs_of
from reproaudit.audit.catalog import Entry, shipped_reports
from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import batch_of, cells_of_tier
from reproaudit.audit.seeds import rules_of, stored_tier, whole_rule
from reproaudit.cell import Cell, canonical_settings
from reproaudit.checks import Side
from reproaudit.errors import UsageError
from reproaudit.files import scratch_folder
from reproaudit.formats.numbers import apart, counted, listed, number, stated
from reproaudit.formats.scorecard import JudgedRecords, Scorecard
from reproaudit.judge.decisions import fewest_yes
from reproaudit.records import CellStatus, Record
from reproaudit.scorecard.answers import scorecard_of_paper
from reproaudit.service.workspace import PaperLike, Workspace
from reproaudit.store.memory import most_memory
from reproaudit.store.records import Store
from reproaudit.store.shipped import FILE_NAME, unpack_records

PLAN_LINES = 30  # so that a logbook holds it
PLAN_WIDTH = 80
USUAL_RUNS = (5, 10, 15)  # for which a plan says how many must say yes

MUST: Mapping[Role, str] = {
    Role.CONTROL: "must fail",
    Role.POSITIVE_CONTROL: "must succeed",
    Role.COMPARED: "compared with",
    Role.READING: "stated as well",
    Role.ABLATION: "without a part",
}
"""What an arm beside a claim's own must do, or is for."""


@dataclass(frozen=True)
class NeededYes:
    """How many of so many runs must say yes; None where so few never decide."""

    runs: int
    yes: int | None


@dataclass(frozen=True)
class PlannedBeside:
    """An arm that must run beside a claim's own; `runs` is None where whoever runs it decides."""

    name: str
    role: str
    must: str
    runs: int | None


@dataclass(frozen=True)
class Headroom:
    """How far the last positive control lay inside a bound: of all conditions, the closest.

    Attributes:
        typical: the number of its median run.
        accepted: the least and the largest number that meet the bound; None for an open end.
        room: the distance to the nearest end, negative beyond it.
    """

    arm: str
    condition: str
    typical: float
    side: Side
    accepted: tuple[float | None, float | None]
    room: float
    tier: str

    @property
    def words(self) -> str:
        """The number and the bound: 0.0021 for ≤ 0.1."""
        low, high = self.accepted
        if low is not None and high is not None:
            return f"{number(self.typical)} for {number(low)}–{number(high)}"
        end = next(end for end in self.accepted if end is not None)
        return f"{apart(self.typical, end)} for {_SIGNS[self.side]} {stated(end)}"


_SIGNS = {Side.BELOW: "<", Side.AT_MOST: "≤", Side.ABOVE: ">", Side.AT_LEAST: "≥"}


@dataclass(frozen=True)
class PlannedClaim:
    """A claim before its runs; numbers of runs are None where whoever runs it decides.

    Attributes:
        needed: the runs that must say yes, in words.
        by: `count`, `all`, `mean` or `ranks`, joined if its checks differ.
        decides: by count, for the usual numbers of runs and the planned one, if there is one.
        no_control: why no control must fail, where the audit says so.
        headroom: None where no record has a positive control.
        cells: how many runs it rests on, which claims share.
        core_minutes: what these took by the last records; None where none says.
    """

    claim: str
    experiment: str
    runs: int | None
    needed: str
    by: str
    decides: tuple[NeededYes, ...]
    arms: tuple[PlannedBeside, ...]
    no_control: str | None
    headroom: Headroom | None
    cells: int | None
    core_minutes: float | None

    @property
    def name(self) -> str:
        """The claim's name within its paper."""
        return self.claim.partition(".")[2]


@dataclass(frozen=True)
class Plan:
    """What will decide an audit's claims at a tier, and what must run.

    Attributes:
        rule: the digest by which results name the rule that they were made under.
        rules: experiment -> the digest of its rule, from which its seeds follow.
        cells: every run, each once; None where whoever runs them decides how many.
        core_hours: what they took by so many `measured` records; None where none says.
        memory: the most bytes that a worker held in a run of this tier; None where none is noted.
    """

    slug: str
    tier: TierName
    rule: str
    rules: Mapping[str, str]
    claims: tuple[PlannedClaim, ...]
    cells: int | None
    core_hours: float | None
    measured: int
    memory: int | None
    runs_here: bool

    @property
    def lines(self) -> list[str]:
        """The plan in words, for a logbook."""
        head = [
            f"plan of {self.slug} at the {self.tier} tier: {counted(len(self.claims), 'claim')}, "
            f"{self._runs}",
            _usual(self.claims),
        ]
        letters = _lettered(self.claims)
        end = [*self._cost(), f"rule {self.rule}"]
        room = PLAN_LINES - len(head) - len(end)
        table = [*_table(self.claims, letters)]
        legend = _cut([*_legend(self.claims, letters)], room - min(len(table), room // 2))
        return [*head, *_cut(table, room - len(legend)), *legend, *end]

    @property
    def _runs(self) -> str:
        """How many runs there are, and of runs from elsewhere of how many arms."""
        if self.cells is None:
            return "runs as you decide"
        each = {number for c in self.claims for number in (c.runs, *(arm.runs for arm in c.arms))}
        if self.runs_here or len(each) > 1:
            return counted(self.cells, "run")
        (runs,) = each
        return f"{runs} runs of each of {counted(self.cells // (runs or 1), 'arm')}"

    def _cost(self) -> Iterator[str]:
        if not self.runs_here:
            if self.cells is None:
                yield "How many runs there are is yours to decide, now: five seeds or more."
            yield "Nothing runs here: hand the runs to judge."
            return
        cost = "No record of this tier says how long a run takes."
        if self.core_hours is not None:
            is_short = self.core_hours < 1
            amount = number(self.core_hours * 60 if is_short else self.core_hours)
            unit = "core-minutes" if is_short else "core-hours"
            cost = f"{amount} {unit} by {counted(self.measured, 'record')}."
        memory = "Nobody has noted how much memory one takes."
        if self.memory is not None:
            memory = f"A worker held at most {number(self.memory / 1e9)} GB."
        yield from _wrapped(f"{cost} {memory}")
        yield "Machines share the runs: the same run with --shard I/N on each, then merge."


def plan_audit(workspace: Workspace, paper: PaperLike, tier: TierName | None = None) -> Plan:
    """Return what will decide and what must run; nothing is run.

    The runs' time is known by the store, else by the records and scorecards of reports.

    Args:
        tier: None for quick, or for paper if the audit has no module.

    Raises:
        UsageError: at the smoke tier, which judges nothing, or if there are no claims.
        StoreError: at a damaged scorecard.
    """
    entry = workspace.entry(paper)
    audit = workspace.audit(paper)
    store = workspace.records
    out = workspace.pages
    tier = tier or ("quick" if entry.code is not None else "paper")
    if tier == "smoke":
        raise UsageError("--tier: found 'smoke', which judges nothing; expected quick or paper.")
    if not audit.claims:
        raise UsageError(f"{entry.slug}: its audit states no claims, so none can be planned.")
    times = _Times.of(_last_records(entry, audit, tier, store, out))
    card = _last_scorecard(entry, audit, tier, store, out)
    if not times.records and card is not None and card.tier == stored_tier(audit, tier):
        times = _Times.on_average(card.records)
    cells = cells_of_tier(audit, tier)
    own = (experiment.runs for experiment in audit.experiments.values())
    states_runs = "runs" in audit.model_fields_set or any(runs is not None for runs in own)
    is_open = entry.code is None and not states_runs
    seconds = times.seconds(cells)
    return Plan(
        slug=entry.slug,
        tier=tier,
        rule=whole_rule(audit, tier),
        rules=rules_of(audit, tier),
        claims=tuple(_planned(audit, claim, tier, times, card, is_open) for claim in audit.claims),
        cells=None if is_open else len(cells),
        core_hours=None if seconds is None else seconds / 3600,
        measured=times.records,
        memory=most_memory(store.root, entry.slug, stored_tier(audit, tier)),
        runs_here=entry.code is not None,
    )


def _planned(
    audit: Audit, claim: Claim, tier: TierName, times: _Times, card: Scorecard | None, is_open: bool
) -> PlannedClaim:
    """Return a claim before its runs; their numbers are None if they are open."""
    own, *beside = arms_of(audit, claim)
    runs = None if is_open else runs_of(audit, claim, own, tier)
    cells = {cell.key: cell for arm in (own, *beside) for cell in _cells(audit, claim, arm, tier)}
    seconds = times.seconds([*cells.values()])
    return PlannedClaim(
        claim=claim.id,
        experiment=claim.experiment,
        runs=runs,
        needed=_needed(claim, runs),
        by=" and ".join(dict.fromkeys(_decided_by(claim))),
        decides=tuple(
            NeededYes(n, fewest_yes(claim, n)) for n in sorted({*USUAL_RUNS, runs or USUAL_RUNS[0]})
        ),
        arms=tuple(
            PlannedBeside(
                name=arm.name,
                role=arm.role.value,
                must=MUST[arm.role],
                runs=None if is_open else runs_of(audit, claim, arm, tier),
            )
            for arm in beside
        ),
        no_control=claim.no_control,
        headroom=_headroom(claim, card),
        cells=None if is_open else len(cells),
        core_minutes=None if seconds is None else seconds / 60,
    )


def _cells(audit: Audit, claim: Claim, arm: PlannedArm, tier: TierName) -> Iterator[Cell]:
    batch = batch_of(audit, claim, arm, tier)
    settings = batch.settings(audit)
    for seed in batch.seeds:
        yield Cell(audit.paper.slug, stored_tier(audit, tier), batch.experiment, settings, seed)


# --- what decides ---------------------------------------------------------------------------------


def _decided_by(claim: Claim) -> Iterator[str]:
    """Yield for each check of the headline what decides it."""
    for check in claim.headline:
        if claim.exact:
            yield "all"
        elif check.group is not None:
            yield "ranks"
        else:
            yield "mean" if check.by_mean else "count"


def _needed(claim: Claim, runs: int | None) -> str:
    """Return how many of the planned runs must say yes, in words; of open ones by what they do."""
    ways = [*dict.fromkeys(_decided_by(claim))]
    if runs is None:
        return " + ".join("all" if way == "all" else f"by {way}" for way in ways)
    yes = fewest_yes(claim, runs)
    count = f"{runs} are too few" if yes is None else f"{yes} of {runs}"
    words = {"mean": f"mean of {runs}", "ranks": f"ranks of {runs}", "count": count, "all": count}
    return " + ".join(words[way] for way in ways)


def _usual(claims: Sequence[PlannedClaim]) -> str:
    """Return how many of the usual numbers of runs must say yes, by the most frequent rule."""
    usual = [
        [need for need in claim.decides if need.runs in USUAL_RUNS]
        for claim in claims
        if "count" in claim.by
    ]
    if not usual:
        return "No claim is decided by a count of runs."
    common = max(usual, key=usual.count)
    words = ", ".join(f"{need.yes} of {need.runs}" for need in common if need.yes is not None)
    needed = words or f"more than {USUAL_RUNS[-1]} runs"
    return f"By count a claim holds with {needed} (exact binomial, 95 %)."


# --- the last records -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Times:
    """The mean seconds of runs: by experiment and settings, by experiment alone, and of all."""

    by_arm: Mapping[tuple[str, str], float]
    by_experiment: Mapping[str, float]
    records: int
    of_all: float | None = None

    @classmethod
    def of(cls, records: Sequence[Record]) -> _Times:
        """Return the means over records."""
        arms: dict[tuple[str, str], list[float]] = {}
        experiments: dict[str, list[float]] = {}
        for record in records:
            arms.setdefault(record.key[:2], []).append(record.seconds)
            experiments.setdefault(record.experiment, []).append(record.seconds)
        of_arms = {key: fmean(seconds) for key, seconds in arms.items()}
        return cls(of_arms, {key: fmean(own) for key, own in experiments.items()}, len(records))

    @classmethod
    def on_average(cls, judged: JudgedRecords) -> _Times:
        """Return the mean of all records that a scorecard was made of."""
        mean = judged.seconds / judged.count if judged.count else None
        return cls({}, {}, judged.count, mean)

    def seconds(self, cells: Sequence[Cell]) -> float | None:
        """Return what cells take together; None if nothing is known of one."""
        each = []
        for cell in cells:
            arm = (cell.experiment, canonical_settings(cell.settings))
            known = self.by_experiment.get(cell.experiment, self.of_all)
            each.append(self.by_arm.get(arm, known))
        if None in each:
            return None
        return sum(filter(None, each))


def _last_records(
    entry: Entry, audit: Audit, tier: TierName, store: Store, out: Path
) -> list[Record]:
    """The finished records of a tier: the store's, else those that came with a report."""
    kept = stored_tier(audit, tier)
    if records := _finished(store, entry.slug, kept):
        return records
    for reports in dict.fromkeys((out, store.root.parent / "reports", shipped_reports())):
        for scale in dict.fromkeys((kept, "paper")):  # the paper tier's file has the others, too
            file = reports / scale / entry.slug / FILE_NAME
            if file.is_file():
                with scratch_folder() as folder:
                    return _finished(unpack_records(file, folder), entry.slug, kept)
    return []


def _finished(store: Store, slug: str, tier: str) -> list[Record]:
    records = store.records(slug, tier, lambda _damaged: None)
    return [record for record in records if record.status is not CellStatus.FAILED]


def _last_scorecard(
    entry: Entry, audit: Audit, tier: TierName, store: Store, out: Path
) -> Scorecard | None:
    """The last answers at a tier, else at the highest that has some."""
    cards = (
        scorecard_of_paper(entry, audit, store, scale, out, judge_shipped=False)
        for scale in (tier, None)
    )
    return next(filter(None, cards), None)


def _headroom(claim: Claim, card: Scorecard | None) -> Headroom | None:
    """How far the positive control lay inside the closest bound, if the claim is still the same."""
    if card is None or claim not in card.audit.claims:
        return None
    arm = next(answer for answer in card.claims if answer.id == claim.id).positive_control
    estimates = () if arm is None else arm.estimates
    rooms = []
    for estimate in estimates:
        typical = estimate.median
        if typical is not None and not math.isnan(typical):
            low, high = estimate.limit.accepted
            room = min(typical - low, high - typical)
            rooms.append((room / (abs(estimate.limit.at) or 1.0), room, typical, estimate))
    if arm is None or not rooms:
        return None
    _, room, typical, estimate = min(rooms, key=lambda entry: entry[0])
    limit = estimate.limit
    least, most = (end if math.isfinite(end) else None for end in limit.accepted)
    return Headroom(arm.name, estimate.name, typical, limit.side, (least, most), room, card.tier)


# --- lines ----------------------------------------------------------------------------------------


def _lettered(claims: Sequence[PlannedClaim]) -> dict[tuple[str, str], str]:
    """A letter for each arm and what it must do, in the order of the claims."""
    arms = dict.fromkeys((arm.must, arm.name) for claim in claims for arm in claim.arms)
    names = [*string.ascii_lowercase, *string.ascii_uppercase]
    names += [f"({place})" for place in range(len(arms))]
    return dict(zip(arms, names, strict=False))


def _table(claims: Sequence[PlannedClaim], letters: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Yield a line for each claim under its heading, columns as wide as they must be."""
    rows = [("claim", "must say yes", "beside", "positive control", "core-min")]
    for claim in claims:
        room = "" if claim.headroom is None else claim.headroom.words
        minutes = "" if claim.core_minutes is None else number(claim.core_minutes)
        beside = "".join(letters[arm.must, arm.name] for arm in claim.arms) or "–"
        rows.append((claim.name, claim.needed, beside, room, minutes))
    shown = [place for place in range(5) if any(row[place] for row in rows[1:])]
    widths = [max(len(row[place]) for row in rows) for place in shown]
    widths[0] = min(widths[0], PLAN_WIDTH - sum(widths[1:]) - 2 * len(widths[1:]))
    for row in rows:
        name, *cells = (row[place] for place in shown)
        name = name if len(name) <= widths[0] else f"{name[: widths[0] - 1]}…"
        aligned = zip([name, *cells], widths, strict=True)
        yield "  ".join(f"{cell:<{width}}" for cell, width in aligned).rstrip()


def _legend(
    claims: Sequence[PlannedClaim], letters: Mapping[tuple[str, str], str]
) -> Iterator[str]:
    """Yield what each letter stands for, then the claims without a control."""
    for must in MUST.values():
        named = [
            f"{letter}\N{NO-BREAK SPACE}{name}"
            for (of, name), letter in letters.items()
            if of == must
        ]
        if named:
            yield from _wrapped(f"{must}: {', '.join(named)}")
    fails = MUST[Role.CONTROL]
    without = [claim for claim in claims if fails not in {arm.must for arm in claim.arms}]
    reasoned = [claim.name for claim in without if claim.no_control is not None]
    unreasoned = [claim.name for claim in without if claim.no_control is None]
    if reasoned:
        yield from _wrapped(f"no control, for a reason in the audit: {listed(reasoned)}")
    if unreasoned:
        yield from _wrapped(f"no control that must fail: {listed(unreasoned)}")


_FIRM = "\N{NO-BREAK SPACE}"  # a blank at which no line ends


def _cut(lines: list[str], most: int) -> list[str]:
    """Return so many lines at most, the last of which says how many were cut."""
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"and {len(lines) - most + 1} more lines: --json"]


def _wrapped(text: str) -> list[str]:
    lines = textwrap.wrap(
        text, PLAN_WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )
    return [line.replace(_FIRM, " ") for line in lines]
