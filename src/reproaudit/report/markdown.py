"""A scorecard as Markdown: at most 250 lines and 4,000 words a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from reproaudit.report.model import Scorecard
from reproaudit.report.numbers import listed
from reproaudit.report.outline import (
    LEGEND,
    MOST_FACTS,
    at_once,
    byline,
    certainty_words,
    changed,
    choice_name,
    common_reasons,
    common_words,
    facts,
    grade_rows,
    main_words,
    records_words,
    reviewers_words,
    runs_words,
    source_words,
)
from reproaudit.report.printable import clean
from reproaudit.report.words import look

MOST_LINES, MOST_WORDS = 250, 4000

FEWER_FACTS = 5
"""Of each claim, where the page is still too long."""


def markdown(card: Scorecard) -> str:
    """Return the page as Markdown; of a long one, without findings that change no answer."""
    for whole, most in ((True, MOST_FACTS), (False, MOST_FACTS), (False, FEWER_FACTS)):
        text = "\n".join(_lines(card, whole, most)).rstrip() + "\n"
        if text.count("\n") <= MOST_LINES and len(text.split()) <= MOST_WORDS:
            break
    return text


def _lines(card: Scorecard, whole: bool, most: int) -> Iterator[str]:
    yield f"# {plain(card.paper['title'])}"
    yield ""
    yield f"{plain(byline(card))} · {plain(card.paper['slug'])}"
    if card.origin is not None:
        yield ""
        who, source = card.origin["who"], card.origin["source"]
        yield f"**Not ours:** measured by {plain(who)} ({plain(source)})."
    if card.as_written is not None:
        yield from ("", f"**As it was written.** {plain(card.as_written.words)}")
    if card.about:
        yield ""
        yield plain(card.about)
    yield ""
    yield plain(" ".join(card.summary))
    yield ""
    yield f"**The authors should state:** {plain(card.authors)}"
    yield ""
    yield f"**Ours, not the paper's.** {plain(card.ours)}"
    yield from _answers(card)
    yield from _choices(card)
    yield from _claims(card, most)
    yield from _variables(card)
    yield from _findings(card, whole)
    yield from _more(card)


def _answers(card: Scorecard) -> Iterator[str]:
    if not card.claims:
        return
    yield from ("", "## Answers", "")
    said = common_reasons(card)
    if said:
        yield from (plain(common_words(card)), "")
    yield from table(
        ("Claim", "Outcome", "Certainty", "Runs", "Effect against bound", ""),
        (
            (
                _Written(
                    f"[{plain(one.name)}](#{plain(one.name)}): {plain(main_words(one) + one.short)}"
                ),
                f"{look(one.outcome).mark} **{one.outcome}**",
                certainty_words(one, said),
                runs_words(one),
                one.effect,
                one.phrase,
            )
            for one in card.claims
        ),
    )
    yield from ("", "How to read an answer:", "")
    yield from (f"- **{label}.** {text}" for label, text in LEGEND)
    if card.not_audited:
        yield from ("", f"Not audited, {len(card.not_audited)} of the listed claims:", "")
        for row in card.not_audited:
            yield f"- {plain(row['statement'])} {plain(row['reason'])}"


def _choices(card: Scorecard) -> Iterator[str]:
    varied = [one for one in card.unstated if one.answers]
    if not varied:
        return
    yield from ("", "## Unstated choices", "")
    yield from table(
        ("Choice", "As run", "Answer"),
        (
            (
                f"**{choice_name(one)}**" if one.changes else choice_name(one),
                one.said,
                "; ".join(one.answers),
            )
            for one in varied
        ),
    )
    rest = [choice_name(one) for one in card.unstated if not one.answers]
    if rest:
        yield from ("", f"Not varied: {plain(listed(rest))}.")


def _claims(card: Scorecard, most: int) -> Iterator[str]:
    if card.claims:
        yield from ("", "## Claims")
    for one in card.claims:
        level = f" · {one.certainty.level}" if one.certainty.level else ""
        yield from ("", f"### {plain(one.name)}", "")
        answer = f"{look(one.outcome).mark} **{one.outcome}**{level} · {runs_words(one)}"
        yield f"{answer} · {plain(one.says)} *{plain(source_words(one))}.*"
        yield ""
        yield from (f"- **{fact.label}:** {plain(fact.text)}" for fact in facts(one, most))
        if one.grades:
            rows = "; ".join(filter(None, (*map(_grade, grade_rows(one)), at_once(one))))
            yield f"- **By {plain(one.symbol or 'coordinate')}:** {plain(rows)}."


def _grade(row: tuple[str, str, str, str, str]) -> str:
    at, runs, typical, worst, decision = row
    return f"{at}: {decision}, {runs} ({typical}, worst {worst})"


def _variables(card: Scorecard) -> Iterator[str]:
    found = card.documentation
    yield from ("", "## Reproducibility variables", "")
    yield (
        f"The card finds {found['card']} of {found['of']} documented; reviewers "
        f"{found['reviewed']}{plain(_disputed(found['disputed']))}."
    )
    yield ""
    yield from table(
        ("Variable", "Card", "Reviewers", "Evidence"),
        (
            (
                row["name"],
                row["card"],
                "**disputed**" if row["disputed"] else reviewers_words(row),
                row["evidence"][0]["statement"],
            )
            for row in found["variables"]
        ),
    )


def _disputed(names: Iterable[str]) -> str:
    found = list(names)
    return f", and disagree on {listed(found)}" if found else ""


def _findings(card: Scorecard, whole: bool) -> Iterator[str]:
    if not card.findings:
        return
    yield from ("", "## Findings", "")
    shown = [row for row in card.findings if whole or row["changes"]]
    for row in shown:
        may = f" *Bears on {plain(changed(row))}.*" if row["changes"] else ""
        yield f"- {plain(row['statement'])} ({plain('; '.join(row['sources']))}){may}"
    if left := len(card.findings) - len(shown):
        yield f"- {left} that change no answer: in scorecard.json and scorecard.html."


def _more(card: Scorecard) -> Iterator[str]:
    yield from ("", "## More", "")
    yield f"- **Records:** {card.records['count']}: {plain(records_words(card))}"
    yield f"- {plain(' '.join(card.environment))}"
    yield (
        f"- **Settings ({len(card.settings)}), measurements ({len(card.measurements)}):** in "
        "scorecard.json and scorecard.html."
    )
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
