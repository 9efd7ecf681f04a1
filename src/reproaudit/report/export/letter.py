"""A letter to the authors: the numbered questions of a page with their evidence, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.report.export.registry import Exported, ExportRequest
from reproaudit.report.markdown import plain
from reproaudit.report.outline import about_runs, not_read_words, read_words
from reproaudit.report.screen import Question, questions, sections, verdict
from reproaudit.verdict import Scorecard


def letter_export(request: ExportRequest) -> Exported:
    """Return one file with the letter."""
    card = request.scorecard()
    return Exported({"letter.md": letter(card).encode()}, card.tier)


def letter(card: Scorecard) -> str:
    """Return the letter: what was rerun and found, then the questions with what hangs on each."""
    return "\n".join(_lines(card)).rstrip() + "\n"


def _lines(card: Scorecard) -> Iterator[str]:
    yield f"# Questions on *{plain(card.paper.title)}*"
    read = filter(None, (read_words(card), not_read_words(card)))
    yield from ("", plain(f"We reran it at {'; '.join([about_runs(card), *read])}."))
    yield from ("", plain(" ".join(verdict(card))))
    for section in sections(card):
        bullets = [one for one in section.bullets if one.claim]
        if section.asks and bullets:
            yield from ("", f"**{plain(section.heading)}**", "")
            yield from (f"- **{plain(one.title)}** {plain(one.text)}" for one in bullets)
    asked = questions(card)
    if not asked:
        yield from ("", "Nothing that we had to choose is left open by the paper.")
    else:
        yield from ("", "## Questions")
    for place, one in enumerate(asked, 1):
        yield from _question(place, one)


def _question(place: int, one: Question) -> Iterator[str]:
    yield from ("", f"{place}. {plain(one.text)}")
    yield from (f"   - {plain(said)}" for said in one.evidence)
