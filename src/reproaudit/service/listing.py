"""A line for each paper: what is documented of it, and its last answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from reproaudit.audit.arms import alternatives_of
from reproaudit.audit.catalog import Entry
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import Outcome
from reproaudit.report.documentation import documentation_of, documented_words
from reproaudit.report.numbers import listed
from reproaudit.report.words import OUTCOMES
from reproaudit.scorecard.answers import scorecards_by_scale, scorecards_of_paper
from reproaudit.store.records import Store

FEWEST_OF_TITLE = 10
"""Characters of a title for which the answers of other papers leave room."""


def list_entry(entry: Entry, store: Path, out: Path) -> dict[str, Any]:
    """Return the names of a paper, what is documented of it, and its last answers, as data.

    Where there are none of ours, they are those on measurements from elsewhere, judged before.
    `scales` has the answers at each scale, the largest first; the rest is of what `report` shows.

    Raises:
        AuditError: if the audit or a record cannot be read.
    """
    audit = entry.audit()
    documented = documentation_of(audit, entry.reviews())
    cards = scorecards_of_paper(entry, audit, Store(store), None, out, judge_shipped=False)
    card = cards[0] if cards else None
    scales = () if card is None else scorecards_by_scale(entry, audit, Store(store), out, card)
    found = [one.outcome for each in cards for one in each.of_paper]
    return {
        "slug": entry.slug,
        "title": audit.paper.title,
        "venue": f"{audit.paper.venue} {audit.paper.year}",
        "documented": documented.by_reviewers,
        "card": documented.card,
        "of": documented.of,
        "tier": None if card is None else card.tier,
        "outcomes": None if card is None else dict(Counter(found)),
        "outdated": any(one.changed_since for one in cards),
        "shipped": bool(card and card.shipped),
        "scales": [*map(_of_scale, scales)] if len(cards) == 1 else [],
        "measured_by": list(
            dict.fromkeys(one.origin.who for one in cards if one.origin is not None)
        ),
    }


def list_lines(papers: Sequence[dict[str, Any]], room: int) -> Iterator[str]:
    """Yield a line for each paper; its title is cut at so many characters, an answer never."""
    counts = [_counts(one) for one in papers]
    documented = [documented_words(one["documented"], one["card"], one["of"]) for one in papers]
    words = max(map(len, documented), default=0)
    names = max((len(one["slug"]) for one in papers), default=0)
    left = room - names - words - len("    ")
    answers = max((len(one) for one in counts if len(one) < left - FEWEST_OF_TITLE), default=0)
    for one, by, said in zip(papers, documented, counts, strict=True):
        line = f"{one['slug']:<{names}}  {by:<{words}}  {said:<{answers}}"
        title = f"  {one['title']}"
        if len(line + title) > room:
            title = f"{title[: max(0, room - len(line) - 1)].rstrip()}…"
        yield f"{line}{title}"


def scales_words(cards: Iterable[Scorecard]) -> str:
    """Return the counts of outcomes at each scale: ``paper: ✓ 6 ⇄ 2 (shipped); quick: ✓ 8``."""
    return "; ".join(map(_scale_words, map(_of_scale, cards)))


def _of_scale(card: Scorecard) -> dict[str, Any]:
    """The answers at one scale, as data."""
    guesses = any(True for one in card.audit.claims for _ in alternatives_of(card.audit, one))
    return {
        "tier": card.tier,
        "outcomes": dict(Counter(one.outcome for one in card.of_paper)),
        "shipped": card.shipped,
        "measured_by": [] if card.origin is None else [card.origin.who],
        "outdated": bool(card.changed_since),
        "no_guess_varied": guesses and not any(one.alternatives for one in card.claims),
    }


def _counts(one: dict[str, Any]) -> str:
    if one["outcomes"] is None:
        return "not run"
    return "; ".join(map(_scale_words, one["scales"])) or _scale_words(one)


def _scale_words(one: dict[str, Any]) -> str:
    counts = one["outcomes"]
    marks = [f"{OUTCOMES[found].mark} {counts[found]}" for found in Outcome if counts.get(found)]
    asides = ["shipped"] * one["shipped"]
    asides += [f"measured by {listed(one['measured_by'])}"] * bool(one["measured_by"])
    asides += ["the audit has changed since"] * one["outdated"]
    asides += ["no guess was varied"] * one.get("no_guess_varied", False)
    aside = f" ({', '.join(asides)})" if asides else ""
    return f"{one['tier']}: {' '.join(marks) or 'no claims'}{aside}"
