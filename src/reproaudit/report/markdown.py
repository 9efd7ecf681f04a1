"""A scorecard as Markdown: at most 200 lines and 3,000 words a paper."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence

from reproaudit.report.choices import choices_of
from reproaudit.report.claims import ClaimText, questions_of, texts_of
from reproaudit.report.documentation import by_whom, documentation_of
from reproaudit.report.numbers import listed, of
from reproaudit.report.outline import (
    MOST_FACTS,
    QUESTIONS,
    about_runs,
    as_written_words,
    at_once,
    byline,
    certainty_words,
    changed,
    common_reasons,
    common_words,
    facts,
    findings,
    grade_rows,
    how_to_read,
    made_words,
    main_words,
    measurements,
    not_read_words,
    read_words,
    records_words,
    reviewers_words,
    settings,
    source_words,
)
from reproaudit.report.printable import clean
from reproaudit.report.reviews import (
    answer_rows,
    answer_words,
    dispute_rows,
    dispute_words,
    note_row,
    note_words,
    sign_off_rows,
    sign_off_words,
)
from reproaudit.report.screen import (
    ordered_claims,
    ours,
    plain_claims,
    questions,
    questions_heading,
    sections,
    verdict,
)
from reproaudit.report.words import look
from reproaudit.verdict import ReasonKind, Scorecard

LONGEST_PAGE = 200
MOST_WORDS = 3000

FEWEST_FACTS = 2
"""Of a claim that simply holds."""


def markdown(card: Scorecard) -> str:
    """Return the page as Markdown; of a long one, without findings that change no answer."""
    for whole, most in (
        (True, MOST_FACTS),
        (False, MOST_FACTS),
        (False, 5),
        (False, 3),
        (False, 2),
    ):
        text = "\n".join(_lines(card, whole, most)).rstrip() + "\n"
        if text.count("\n") <= LONGEST_PAGE and len(text.split()) <= MOST_WORDS:
            break
    return text


def _lines(card: Scorecard, whole: bool, most: int) -> Iterator[str]:
    yield f"# {plain(card.paper.title)}"
    yield ""
    yield " · ".join(_top(card))
    if card.origin is not None:
        yield ""
        yield f"**Not ours:** measured by {plain(card.origin.who)} ({plain(card.origin.source)})."
    if card.changed_since is not None:
        yield from ("", f"**As it was written.** {plain(as_written_words(card))}")
    yield from ("", f"## {plain(' '.join(verdict(card)))}")
    if card.audit.about:
        yield from ("", plain(card.audit.about))
    for section in sections(card):
        yield from ("", f"**{plain(section.heading)}**", "")
        for one in section.bullets:
            yield f"- {one.mark} **{plain(one.title)}** {plain(one.text)}".rstrip()
    if asked := questions(card):
        yield from ("", f"**{plain(questions_heading(card))}**", "")
        yield from (f"{place}. {plain(one.text)}" for place, one in enumerate(asked, 1))
    if (note := note_row(card)) is not None:
        yield from ("", f"> {plain(note.words)}")
        yield f"> — {plain(note_words(note))}"
    if said := ours(card):
        yield from ("", f"**Ours.** {plain(said)}")
    yield from _answers(card)
    yield from _choices(card)
    yield from _claims(card, most)
    yield from _variables(card)
    yield from _reviews(card)
    yield from _findings(card, whole)
    yield from _more(card)


def _top(card: Scorecard) -> Iterator[str]:
    yield plain(byline(card))
    yield plain(about_runs(card))
    if card.paper.read:
        yield plain(read_words(card))
    if card.paper.not_read:
        yield f"**{plain(not_read_words(card))}**"


def _answers(card: Scorecard) -> Iterator[str]:
    claims = texts_of(card)
    if not claims:
        return
    yield from ("", "## Answers", "")
    said = common_reasons(claims)
    if said:
        yield from (plain(common_words(claims)), "")
    rows = [_row(one, said) for one in ordered_claims(card)]
    if questions := questions_of(card):
        rows.append((_Written(f"*{QUESTIONS}*"), "", "", ""))
        rows += [_row(one, said) for one in questions]
    yield from table(("Claim", "Outcome", "Certainty", "Runs"), rows)
    yield from ("", "How to read an answer:", "")
    yield from (f"- **{label}.** {text}" for label, text in how_to_read(card))
    if left := card.audit.not_audited:
        yield from ("", f"Not audited, {len(left)} of the listed claims:", "")
        yield from (f"- {plain(one.statement)} {plain(one.reason)}" for one in left)


def _row(one: ClaimText, said: Container[ReasonKind]) -> tuple[str, ...]:
    name = plain(one.name)
    return (
        _Written(f"[{name}](#{name}): {plain(main_words(one) + one.claim.short)}"),
        _outcome(one),
        certainty_words(one, said),
        of(one.base.yes, one.base.n),
    )


def _outcome(claim: ClaimText) -> str:
    outcome = claim.answer.outcome
    return f"{look(outcome).mark} **{outcome}**"


def _choices(card: Scorecard) -> Iterator[str]:
    choices = choices_of(card)
    varied = [one for one in choices if one.answers]
    if not varied:
        return
    yield from ("", "## Unstated choices", "")
    yield from table(
        ("Choice", "As run", "Answer"),
        (
            (
                f"**{one.name}**" if one.changes else one.name,
                one.said,
                "; ".join(one.answers),
            )
            for one in varied
        ),
    )
    rest = [one.name for one in choices if not one.answers]
    if rest:
        yield from ("", f"Not varied: {plain(listed(rest))}.")


def _claims(card: Scorecard, most: int) -> Iterator[str]:
    claims = [*ordered_claims(card), *questions_of(card)]
    if claims:
        yield from ("", "## Claims")
    folded = plain_claims(claims)
    for one in claims:
        yield from ("", f"### {plain(one.name)}", "")
        said = [f"{plain(one.claim.says)} *{plain(source_words(one))}.*"]
        said += [
            f"**{fact.label}:** {plain(fact.text)}"
            for fact in facts(one, min(most - 1, FEWEST_FACTS) if one in folded else most)
        ]
        if one.answer.grades:
            rows = "; ".join(filter(None, (*map(_grade, grade_rows(one)), at_once(one))))
            said.append(f"**By {plain(one.symbol)}:** {plain(rows)}.")
        yield " ".join(said)


def _grade(row: tuple[str, str, str, str, str]) -> str:
    at, runs, typical, worst, decision = row
    return f"{at}: {decision}, {runs} ({typical}, worst {worst})"


def _variables(card: Scorecard) -> Iterator[str]:
    found = documentation_of(card.audit, card.reviews)
    disputed = listed([one.variable.name for one in found.variables if one.disputed])
    but = f", and disagree on {disputed}" if disputed else ""
    yield from ("", "## Reproducibility variables", "")
    yield f"{by_whom(found)}{plain(but)}."
    yield ""
    yield from table(
        ("Variable", "Card", "Reviewers", "Evidence"),
        (
            (
                one.variable.name,
                one.variable.card.result,
                "**disputed**" if one.disputed else reviewers_words(one),
                one.variable.evidence[0].statement,
            )
            for one in found.variables
        ),
    )


def _reviews(card: Scorecard) -> Iterator[str]:
    rows = [*map(dispute_words, dispute_rows(card)), *map(answer_words, answer_rows(card))]
    rows += map(sign_off_words, sign_off_rows(card))
    if rows:
        yield from ("", "## Reviews", "")
        yield from (f"- {plain(one)}" for one in rows)


def _findings(card: Scorecard, whole: bool) -> Iterator[str]:
    found = findings(card)
    if not found:
        return
    yield from ("", "## Findings", "")
    shown = [one for one in found if whole or one.changes]
    for one in shown:
        may = f" *Bears on {plain(changed(one))}.*" if one.changes else ""
        yield f"- {plain(one.statement)} ({plain('; '.join(one.sources))}){may}"
    if left := len(found) - len(shown):
        yield f"- {left} that change no answer: in scorecard.json and scorecard.html."


def _more(card: Scorecard) -> Iterator[str]:
    yield from ("", "## More", "")
    yield f"- **Records:** {card.records.count}: {plain(records_words(card))}"
    yield f"- {plain(' '.join(made_words(card)))}"
    counts = f"**Settings ({len(settings(card))}), measurements ({len(measurements(card))}):**"
    yield f"- {counts} in scorecard.json and scorecard.html."
    yield f"- **Earlier results:** {card.earlier_results}."


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)


class _Written(str):
    """A cell that is Markdown already."""


def _cell(text: str) -> str:
    return (text if isinstance(text, _Written) else plain(text)).replace("|", "\\|")


_LIVE = re.compile(
    r"[\\`]"  # begins an escape, or code
    r"|\](?=[(\[])|^\[(?=[^\]]*\]:)"  # ends the text of a link or a picture; begins their address
    r"|(?<=:)//|(?<=www)\."  # part of an address that some readers make a link of
    r"|~(?=~~)",  # begins code to the page's end
    re.IGNORECASE,
)


def plain(text: object) -> str:
    """Return text on one line without tags, links, pictures and code; unsafe characters escaped."""
    return _LIVE.sub(r"\\\g<0>", clean(str(text))).replace("<", "&lt;")
