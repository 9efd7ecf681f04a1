"""A line for each paper: what is documented of it, and its last answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproaudit.audit.arms import alternatives_of
from reproaudit.audit.catalog import Entry
from reproaudit.declarations import StrictModel
from reproaudit.errors import AuditError
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import Outcome
from reproaudit.report.documentation import documentation_of, documented_words
from reproaudit.report.numbers import listed
from reproaudit.report.words import OUTCOMES
from reproaudit.scorecard.answers import scorecards_by_scale, scorecards_of_paper
from reproaudit.store.records import Store

FEWEST_OF_TITLE = 10
"""Characters of a title for which the answers of other papers leave room."""


class ScaleSummary(StrictModel):
    """The answers at one scale."""

    tier: str
    outcomes: dict[Outcome, int]
    shipped: bool
    """Whether they came with the installation."""
    measured_by: tuple[str, ...]
    """Who measured elsewhere what was judged."""
    outdated: bool
    """Whether the audit has changed since."""
    no_guess_varied: bool


class PaperSummary(StrictModel):
    """The names of a paper, what is documented of it, and its last answers."""

    slug: str
    title: str
    venue: str
    documented: int | None
    """The variables that reviewers find documented; None where nobody has reviewed."""
    card: int
    """The variables that the card finds documented."""
    of: int
    """The variables that are scored."""
    tier: str | None
    """The tier of what `report` shows, as all that follows but `scales`."""
    outcomes: dict[Outcome, int] | None
    outdated: bool
    shipped: bool
    scales: tuple[ScaleSummary, ...]
    """The answers at each scale, the largest first."""
    measured_by: tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """All papers that can be read, and why others cannot.

    Attributes:
        errors: by slug, in the order of the papers.
    """

    papers: tuple[PaperSummary, ...]
    errors: Mapping[str, AuditError]

    @property
    def data(self) -> list[dict[str, object]]:
        """What ``--json`` prints."""
        return [paper.model_dump(mode="json") for paper in self.papers]


def summaries_of(entries: Iterable[Entry], store: Path, out: Path) -> Listed:
    """Return a summary of each paper; one that cannot be read stops no other."""
    papers: list[PaperSummary] = []
    errors: dict[str, AuditError] = {}
    for entry in entries:
        try:
            papers.append(list_entry(entry, store, out))
        except AuditError as error:
            errors[entry.slug] = error
    return Listed(tuple(papers), errors)


def list_entry(entry: Entry, store: Path, out: Path) -> PaperSummary:
    """Return what is said of a paper.

    Where there are no answers of ours, they are those on measurements from elsewhere, judged
    before.

    Raises:
        AuditError: if the audit or a record cannot be read.
    """
    audit = entry.audit()
    documented = documentation_of(audit, entry.reviews())
    cards = scorecards_of_paper(entry, audit, Store(store), None, out, judge_shipped=False)
    card = cards[0] if cards else None
    scales = () if card is None else scorecards_by_scale(entry, audit, Store(store), out, card)
    outcomes = Counter(claim.outcome for card in cards for claim in card.of_paper)
    makers = (card.origin.who for card in cards if card.origin is not None)
    return PaperSummary(
        slug=entry.slug,
        title=audit.paper.title,
        venue=audit.paper.published,
        documented=documented.by_reviewers,
        card=documented.card,
        of=documented.of,
        tier=None if card is None else card.tier,
        outcomes=None if card is None else dict(outcomes),
        outdated=any(card.changed_since for card in cards),
        shipped=bool(card and card.shipped),
        scales=tuple(map(_of_scale, scales)) if len(cards) == 1 else (),
        measured_by=tuple(dict.fromkeys(makers)),
    )


def list_lines(papers: Sequence[PaperSummary], room: int) -> Iterator[str]:
    """Yield a line for each paper; its title is cut at so many characters, an answer never."""
    counts = [_counts(paper) for paper in papers]
    documented = [documented_words(paper.documented, paper.card, paper.of) for paper in papers]
    words = max(map(len, documented), default=0)
    names = max((len(paper.slug) for paper in papers), default=0)
    left = room - names - words - len("    ")
    answers = max((len(said) for said in counts if len(said) < left - FEWEST_OF_TITLE), default=0)
    for paper, by, said in zip(papers, documented, counts, strict=True):
        line = f"{paper.slug:<{names}}  {by:<{words}}  {said:<{answers}}"
        title = f"  {paper.title}"
        if len(line + title) > room:
            title = f"{title[: max(0, room - len(line) - 1)].rstrip()}…"
        yield f"{line}{title}"


def scales_words(cards: Iterable[Scorecard]) -> str:
    """Return the counts of outcomes at each scale: ``paper: ✓ 6 ⇄ 2 (shipped); quick: ✓ 8``."""
    return "; ".join(map(_scale_words, map(_of_scale, cards)))


def _of_scale(card: Scorecard) -> ScaleSummary:
    claims = card.audit.claims
    has_guesses = any(True for claim in claims for _ in alternatives_of(card.audit, claim))
    return ScaleSummary(
        tier=card.tier,
        outcomes=dict(Counter(claim.outcome for claim in card.of_paper)),
        shipped=card.shipped,
        measured_by=() if card.origin is None else (card.origin.who,),
        outdated=bool(card.changed_since),
        no_guess_varied=has_guesses and not any(claim.alternatives for claim in card.claims),
    )


def _counts(paper: PaperSummary) -> str:
    if paper.outcomes is None or paper.tier is None:
        return "not run"
    whole = ScaleSummary(
        tier=paper.tier,
        outcomes=paper.outcomes,
        shipped=paper.shipped,
        measured_by=paper.measured_by,
        outdated=paper.outdated,
        no_guess_varied=False,
    )
    return "; ".join(map(_scale_words, paper.scales)) or _scale_words(whole)


def _scale_words(scale: ScaleSummary) -> str:
    counts = scale.outcomes
    marks = [f"{OUTCOMES[name].mark} {counts[name]}" for name in Outcome if counts.get(name)]
    asides = ["shipped"] * scale.shipped
    asides += [f"measured by {listed(scale.measured_by)}"] * bool(scale.measured_by)
    asides += ["the audit has changed since"] * scale.outdated
    asides += ["no guess was varied"] * scale.no_guess_varied
    aside = f" ({', '.join(asides)})" if asides else ""
    return f"{scale.tier}: {' '.join(marks) or 'no claims'}{aside}"
