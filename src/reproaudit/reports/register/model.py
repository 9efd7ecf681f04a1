"""The contract of `register.json`, as `docs/register.md` describes it key by key."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reproaudit.judging.model import IntervalModel, ReportModel, Verdict
from reproaudit.scorecard.model import Coverage
from reproaudit.scorecard.verdicts import LIMITS, VERDICTS
from reproaudit.stats import Decision

REGISTER_VERSION = 2
"""Grows when a key is taken away or changes its meaning; a new key leaves it as it is."""


class VariableEntry(ReportModel):
    """One reproducibility variable: card against review."""

    name: str
    scored: bool
    """True if it counts in the documentation score."""
    card: str
    """The automated card's answer."""
    decision: str
    """The reviewers' majority, or "disputed"."""
    documented: bool
    """True if it counts as documented after review."""
    dispute: str | None
    """Who decided what, where no decision has most voices."""


class DocumentationEntry(ReportModel):
    """The paper's documentation: its variables and score."""

    strict: int
    """Documented variables by the automated card."""
    reviewed: int
    """The same as reviewed."""
    of: int
    """Scored variables."""
    sharing_type: str
    """Description, Code, Data or Experiment."""
    rate: str
    """The number of papers of this sharing type that were reproduced, as published."""
    agreement: str | None
    """The agreement among the reviewers; null with one reviewer for each variable."""
    variables: tuple[VariableEntry, ...]


class OriginEntry(ReportModel):
    """The origin of measurements that are not ours."""

    who: str
    made: str
    """The day."""
    framework: str
    source: str


class HangsOnEntry(ReportModel):
    """A setting that the paper leaves open, on which a verdict depends."""

    setting: str
    sentence: str


class RunsMetEntry(ReportModel):
    """The number of runs that meet the bound by themselves."""

    met: int
    of: int


class ClaimEntry(ReportModel):
    """One claim as it was judged; estimate, interval and bound are those of the deciding part."""

    id: str
    statement: str
    locator: str
    """Its place in the paper."""
    weight: float
    verdict: Verdict
    verdict_words: str
    """The verdict as it is shown, with its scale if that is smaller than the paper's."""
    decision: Decision | None
    evidence: Literal["exact", "assumed", "reduced", "proxy", "none"]
    """none of a claim that was not tested."""
    hangs_on: tuple[HangsOnEntry, ...]
    """Of a conditional verdict."""
    estimate: float | None
    interval: IntervalModel | None
    bound: float | None
    side: Literal["at_most", "at_least", "within"] | None
    margin: float | None
    """The distance from the bound that still counts as equal; null of a bound."""
    runs_met: RunsMetEntry | None
    reading: str
    """Estimate and interval against the bound, in one line."""
    rule_hash: str
    page: str
    """The claim's place on a page; like every link here, relative to the register's folder."""
    badge: str | None
    """Its badge; null of measurements from elsewhere."""


SvgPath = Annotated[str, Field(pattern=r"^[MLlz0-9. -]*$")]
"""The outline of a line or a surface in SVG's notation: moves, lines and places, and no more."""


class StretchEntry(ReportModel):
    """A stage of training in a strip."""

    x: float
    """Its left end."""
    width: float
    name: str = ""
    """Empty where the names of so many stages have no room."""
    name_x: float = 0.0
    """The middle of its name."""


class StripLineEntry(ReportModel):
    """The mean of the runs in a strip."""

    kind: Literal["claim", "control", "positive"]
    """Whose runs: the claim's own, a control's, or those of a constructed solution."""
    dash: Annotated[int, Field(ge=0, le=3)]
    """The quantity's place in the picture: solid, dashed, dotted, dash-dotted."""
    path: SvgPath
    """Empty where the places along the axis are words."""
    dots: tuple[tuple[float, float], ...]
    """A mark at each place along an axis; at the end of a course over training."""


class StripEntry(ReportModel):
    """A scorecard's most telling course, small; its places are from the upper left corner."""

    claim: str
    """The id of the claim that it is judged for."""
    page: str
    """The claim's place on the scorecard's page."""
    caption: str
    """The quantity that it shows, by which axis."""
    width: float
    height: float
    top: float = 0.0
    """The upper end of the field, below the names of the stages."""
    stages: tuple[StretchEntry, ...]
    onsets: tuple[float, ...]
    """Places along the axis."""
    ranges: tuple[SvgPath, ...]
    """The range that meets the rule."""
    lines: tuple[StripLineEntry, ...]
    """From the lowest to the topmost."""


class MeasuredEntry(ReportModel):
    """One scorecard of a paper: ours, or one of measurements from elsewhere."""

    origin: OriginEntry | None
    """null if the measurements are ours."""
    page: str
    scorecard: str
    """Its `scorecard.json`, with everything else."""
    sha256: str
    """Of that file's bytes."""
    verdicts: dict[str, int]
    """The number of times that each verdict was given."""
    coverage: Coverage
    strip: StripEntry | None
    """null if no claim has a picture."""
    claims: tuple[ClaimEntry, ...]

    @property
    def counts(self) -> dict[str, int]:
        """The verdicts in the order of their table; a file has them by name."""
        names = [f"{verdict.value}{limits}" for verdict in VERDICTS for limits in LIMITS]
        return {name: self.verdicts[name] for name in names if name in self.verdicts}


class PaperEntry(ReportModel):
    """One paper at one tier."""

    schema_version: int = REGISTER_VERSION
    tier: str
    slug: str
    title: str
    authors: tuple[str, ...]
    venue: str
    year: int
    doi: str | None
    """Of a paper on arXiv, the DOI that arXiv gives it."""
    arxiv: str | None
    openreview: str | None
    code: str | None
    """The authors' repository."""
    badge: str | None
    """The badge of our scorecard."""
    documentation: DocumentationEntry
    ours: MeasuredEntry | None
    """null if only others measured."""
    elsewhere: tuple[MeasuredEntry, ...]

    @property
    def measured(self) -> tuple[MeasuredEntry, ...]:
        """Our scorecard, if there is one, and those from elsewhere."""
        return (*(() if self.ours is None else (self.ours,)), *self.elsewhere)


class Register(ReportModel):
    """Every paper of a tier: what `register.json` holds."""

    schema_version: int = REGISTER_VERSION
    tier: str
    papers: tuple[PaperEntry, ...]
