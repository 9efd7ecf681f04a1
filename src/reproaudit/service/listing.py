"""A line for each paper: what is documented of it, and its last answers."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproaudit.audit.catalog import Entry, shipped_reports
from reproaudit.errors import AuditError
from reproaudit.formats.numbers import documented_words, maker_words
from reproaudit.scorecard.opening import (
    Opening,
    digest_of_file,
    digest_of_records,
    has_records_of,
    read_opening,
    tiers_of,
)

if TYPE_CHECKING:  # a list of papers whose pages are of today starts without models
    from reproaudit.formats.scorecard import Scorecard

FEWEST_OF_TITLE = 10  # characters for which answers of other papers leave room


@dataclass(frozen=True)
class ScaleSummary:
    """The answers at one scale.

    Attributes:
        tier: None, as `outcomes`, of a paper that has not run.
        outcomes: how many of the paper's own claims have which outcome.
        measured_by: who measured elsewhere what was judged.
        outdated: whether the audit has changed since.
    """

    tier: str | None = None
    outcomes: dict[str, int] | None = None
    shipped: bool = False
    measured_by: tuple[str, ...] = ()
    outdated: bool = False
    no_guess_varied: bool = False
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> dict[str, Any]:
        """The summary as ``--json`` prints it."""
        return {name: value for name, value in asdict(self).items() if name != "marks"}


@dataclass(frozen=True)
class PaperSummary:
    """A paper's names, how many variables are documented of it, and its last answers.

    Attributes:
        documented: by reviewers; None where nobody has reviewed. `card` is by the card, of `of`.
        shown: the answers that `report` shows.
        scales: the answers at each scale, the largest first.
    """

    slug: str
    title: str
    venue: str
    documented: int | None
    card: int
    of: int
    shown: ScaleSummary
    scales: tuple[ScaleSummary, ...]

    @property
    def data(self) -> dict[str, Any]:
        """The summary as ``--json`` prints it."""
        names = ("slug", "title", "venue", "documented", "card", "of")
        of_shown = ("tier", "outcomes", "outdated", "shipped")
        return {
            **{name: getattr(self, name) for name in names},
            **{name: getattr(self.shown, name) for name in of_shown},
            "scales": [scale.data for scale in self.scales],
            "measured_by": self.shown.measured_by,
        }


@dataclass(frozen=True)
class Listed:
    """All papers that can be read, and by slug, in their order, why others cannot."""

    papers: tuple[PaperSummary, ...]
    errors: Mapping[str, AuditError]

    @property
    def data(self) -> list[dict[str, Any]]:
        """What ``--json`` prints."""
        return [paper.data for paper in self.papers]


def summaries_of(entries: Iterable[Entry], store: Path, out: Path) -> Listed:
    """Return a summary of each paper; one that cannot be read stops no other."""
    papers: list[PaperSummary] = []
    errors: dict[str, AuditError] = {}
    for entry in entries:
        try:
            papers.append(opened(entry, store, out) or list_entry(entry, store, out))
        except AuditError as error:
            errors[entry.slug] = error
    return Listed(tuple(papers), errors)


def opened(entry: Entry, store: Path, out: Path) -> PaperSummary | None:
    """Return what the openings of a paper's pages say; None unless all of them are of today."""
    found = [_page_of_today(entry, tier, store, out) for tier in ("paper", "quick", "smoke")]
    pages = [page for page in found if page is not None]
    if not pages or not all(page.opening for page in pages):
        return None
    scales = tuple(
        _scale(page.tier, page.opening.head, page.shipped)
        for page in pages
        if page.opening and (page.tier != "smoke" or len(pages) == 1)
    )
    shown = next((page for page in pages if not page.shipped), pages[0])
    first = shown.opening
    if first is None:
        return None
    whole = _scale(first.tier, first.head, shown.shipped)
    return PaperSummary(
        slug=entry.slug,
        title=first.head["title"],
        venue=first.head["byline"].rpartition(" · ")[2],
        documented=first.head["documented"].get("by_reviewers"),
        card=first.head["documented"]["card"],
        of=first.head["documented"]["of"],
        shown=replace(whole, no_guess_varied=False, marks=scales[0].marks),
        scales=scales,
    )


@dataclass(frozen=True)
class _Page:
    """A tier's page; without an opening, what `report` shows is not what the page says."""

    tier: str
    opening: Opening | None
    shipped: bool = False


def _page_of_today(entry: Entry, tier: str, store: Path, out: Path) -> _Page | None:
    """A tier's page, without an opening if it is another day's; None where the tier has nothing."""
    own = out / tier / entry.slug
    if has_records_of(store, entry.slug, tier):
        records = digest_of_records(store, entry.slug, tiers_of(tier))
        opening = _of_today(read_opening(own / "scorecard.json"), entry)
        is_same = opening is not None and opening.inputs.get("records") == records
        return _Page(tier, opening if is_same else None)
    beside = store.parent / "reports" / tier / entry.slug
    installed = shipped_reports() / tier / entry.slug
    for folder in dict.fromkeys((own, beside, installed)):
        if (folder / "scorecard.json").is_file():
            opening = _of_today(read_opening(folder / "scorecard.json"), entry)
            if opening is None or not opening.inputs.get("shipped"):
                return _Page(tier, opening, folder == installed)
        elif (folder / "elsewhere").is_dir():
            return _Page(tier, None)
    return None


def _of_today(opening: Opening | None, entry: Entry) -> Opening | None:
    """An opening, if audit and reviews are still those that it was made of."""
    if opening is None or opening.head.get("documented") is None:
        return None
    now = (digest_of_file(entry.audit_file), digest_of_file(entry.review_file))
    made_of = (opening.inputs.get("audit"), opening.inputs.get("reviews", ""))
    return opening if now == made_of else None


def list_entry(entry: Entry, store: Path, out: Path) -> PaperSummary:
    """Return what is said of a paper, judged or read in whole; an AuditError if it cannot be read.

    For want of answers of ours, they are those on measurements from elsewhere, judged before.
    """
    from reproaudit.audit.documentation import documentation_of
    from reproaudit.scorecard.answers import scorecards_by_scale, scorecards_of_paper
    from reproaudit.store.records import Store

    audit = entry.audit()
    documented = documentation_of(audit, entry.reviews())
    cards = scorecards_of_paper(entry, audit, Store(store), None, out, judge_shipped=False)
    card = cards[0] if cards else None
    scales = () if card is None else scorecards_by_scale(entry, audit, Store(store), out, card)
    outcomes = Counter(claim.outcome.value for card in cards for claim in card.of_paper)
    makers = (card.origin.who for card in cards if card.origin is not None)
    return PaperSummary(
        slug=entry.slug,
        title=audit.paper.title,
        venue=audit.paper.published,
        documented=documented.by_reviewers,
        card=documented.card,
        of=documented.of,
        shown=ScaleSummary()
        if card is None
        else ScaleSummary(
            tier=card.tier,
            outcomes=dict(outcomes),
            shipped=bool(card.shipped),
            measured_by=tuple(dict.fromkeys(makers)),
            outdated=any(card.changed_since for card in cards),
            marks=_marks(cards),
        ),
        scales=tuple(map(_of_scale, scales)) if len(cards) == 1 else (),
    )


def _marks(cards: Iterable[Scorecard]) -> dict[str, str]:
    return {line.outcome.value: line.mark for card in cards for line in card.head.claims}


def list_lines(papers: Sequence[PaperSummary], room: int) -> Iterator[str]:
    """Yield a line for each paper; its title is cut at so many characters, an answer is wrapped."""
    counts = [_counts(paper) for paper in papers]
    documented = [documented_words(paper.documented, paper.card, paper.of) for paper in papers]
    words = max(map(len, documented), default=0)
    names = max((len(paper.slug) for paper in papers), default=0)
    left = room - names - words - len("    ")
    fitting = (len(count) for count in counts if len(count) < left - FEWEST_OF_TITLE)
    answers = max(fitting, default=0)
    for paper, by, count in zip(papers, documented, counts, strict=True):
        line = f"{paper.slug:<{names}}  {by:<{words}}  {count:<{answers}}"
        title = f"  {paper.title}"
        if len(line + title) > room:
            title = f"{title[: max(0, room - len(line) - 1)].rstrip()}…"
        if len(line) < room:
            yield f"{line}{title}"
        else:
            yield from textwrap.wrap(line, room, subsequent_indent=" " * (names + 2))


def scales_words(cards: Iterable[Scorecard]) -> str:
    """Return the counts of outcomes at each scale: ``paper: ✓ 6 ⇄ 2 (shipped); quick: ✓ 8``."""
    return "; ".join(map(_scale_words, map(_of_scale, cards)))


def _of_scale(card: Scorecard) -> ScaleSummary:
    head = card.head.model_dump(mode="json")
    return replace(_scale(card.tier, head, card.shipped), outdated=bool(card.changed_since))


def _scale(tier: str, head: Mapping[str, Any], shipped: bool) -> ScaleSummary:
    """Return the answers in a scorecard's head, as JSON has it."""
    return ScaleSummary(
        tier=tier,
        outcomes=dict(head["counts"]["paper"]),
        shipped=shipped,
        measured_by=tuple(filter(None, [head.get("measured_by")])),
        no_guess_varied=bool(head.get("no_guess_varied")),
        marks={line["outcome"]: line["mark"] for line in head["claims"]},
    )


def _counts(paper: PaperSummary) -> str:
    if paper.shown.tier is None:
        return "not run"
    return "; ".join(map(_scale_words, paper.scales or (paper.shown,)))


def _scale_words(scale: ScaleSummary) -> str:
    outcomes = scale.outcomes or {}
    marks = [f"{scale.marks[outcome]} {count}" for outcome, count in outcomes.items()]
    asides = ["shipped"] * scale.shipped
    asides += [*map(maker_words, scale.measured_by)]
    asides += ["the audit has changed since"] * scale.outdated
    asides += ["no guess was varied"] * scale.no_guess_varied
    aside = f" ({', '.join(asides)})" if asides else ""
    return f"{scale.tier}: {' '.join(marks) or 'no claims'}{aside}"
