"""The pages say what records and audit say, as other code reads and recomputes them."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from drawn import drawn
from printed import claim_rows, html_page, plain_markdown, sections
from recount import Sheet
from reproaudit.audit.arms import Role
from reproaudit.audit.catalog import Catalog
from reproaudit.audit.review import Reviews
from reproaudit.formats.scorecard import Made, Scorecard
from reproaudit.formats.verdict import Outcome
from reproaudit.judge import arms, judge
from reproaudit.report.pages import html, markdown
from reproaudit.report.parts import arm_words, is_expected, is_stated, own_row, parts, row_words
from reproaudit.report.terminal import detail_lines, report_lines
from reproaudit.scorecard import answers
from reproaudit.scorecard.files import read_scorecard
from reproaudit.store.shipped import FILE_NAME
from second_reader import faults

SHIPPED = Path(__file__).parents[2] / "reports" / "paper"
PAPERS = sorted(file.parent.name for file in SHIPPED.glob("*/scorecard.json"))
CARDS = 40
CLAIMS = 5
WIDTH = 80

Pages = tuple[str, str, tuple[str, ...]]
"""HTML, Markdown, and the lines of a terminal."""


def pages_of(card: Scorecard) -> Pages:
    return html(card), markdown(card), tuple(report_lines(card, WIDTH))


@pytest.fixture(autouse=True)
def _asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge, rows and recount ask each run the same; what it says is kept, as it takes long."""
    said: dict[object, tuple[object, object]] = {}
    ask = arms.ask_runs

    def once(checks: Any, bundles: Any, arm: Any, at: Any = None) -> object:
        key = (
            id(bundles.records),
            bundles.claim.id,
            *map(id, checks),
            f"{arm} {bundles.arms} {at}",
        )
        if key not in said:
            said[key] = (bundles, ask(checks, bundles, arm, at))
        return said[key][1]

    monkeypatch.setattr(arms, "ask_runs", once)


@pytest.mark.parametrize("slug", PAPERS)
def test_a_papers_pages_say_what_its_records_say(
    slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheets: list[Sheet] = []
    made = answers.scorecard_of

    def noted(audit: Any, reviews: Any, tier: Any, claims: Any, records: Any, **more: Any) -> Any:
        sheets.append(
            Sheet(audit, records, claims, more["quick"], reviews, more["history"].earlier)
        )
        return made(audit, reviews, tier, claims, records, **more)

    monkeypatch.setattr(answers, "scorecard_of", noted)
    entry = Catalog()[slug]
    file = SHIPPED / slug / FILE_NAME
    card = answers.scorecard_of_archive(entry, entry.audit(), "paper", file)
    assert faults(sheets[0], *pages_of(card)) == []


@pytest.mark.parametrize("slug", PAPERS)
def test_every_rendering_has_the_same_rows(slug: str) -> None:
    """All but guesses, which have a table of their own, and in Markdown what ended as it should."""
    card = read_scorecard(SHIPPED / slug / "scorecard.json")
    page = html_page(html(card))
    text = plain_markdown(markdown(card))
    claims = sections(text.partition("\n## Claims\n")[2], "###")
    terminal = " ".join(" ".join(detail_lines(card)).split())
    for part in parts(card):
        table = {(row.arm, row.count) for row in claim_rows(page.first("article", id=part.name))}
        for check in part.checks:
            for row in check:
                if row.arm_role is Role.ALTERNATIVE:
                    continue
                assert (arm_words(row), row.count) in table
                assert " ".join(row_words(row).split()) in terminal
                as_own = is_stated(row) and (row.decision, row.count) == (
                    "met",
                    own_row(check).count,
                )
                joined = is_stated(row) and "with every other stated value" in claims[part.name]
                called = joined or row.arm_words in claims[part.name]
                said = row.count in claims[part.name] and called
                assert said or as_own or is_expected(row) or row.arm == own_row(check).arm, row
                assert row.why in text or row.arm != own_row(check).arm, row
    left = re.search(r"(\d+) rows of other arms that, by all checks", text)
    others = [row for row in card.rows if not is_stated(row) and row.arm_role != "alternative"]
    assert left is None or int(left[1]) == sum(map(is_expected, others))


def drawn_pages(seed: int) -> tuple[Sheet, Pages, Scorecard]:
    audit, records, quick = drawn(seed, CLAIMS)
    claims = judge(audit, "paper", records, None, quick)
    card = answers.scorecard_of(
        audit, Reviews(), "paper", claims, records, made=Made(), quick=quick
    )
    return Sheet(audit, records, claims, quick), pages_of(card), card


def test_pages_of_drawn_verdicts_say_what_their_records_say() -> None:
    seen: Counter[str] = Counter()
    for seed in range(CARDS):
        sheet, pages, card = drawn_pages(seed)
        assert faults(sheet, *pages) == [], f"drawn({seed})"
        seen.update(answer.outcome.value for answer in card.claims)
        for row in card.rows:
            there = {
                "void": row.void,
                "crashed": row.crashed,
                "diverged": row.diverged,
                "mean": row.mean,
                "censored": row.at_least + row.at_most,
                "level": row.at is not None,
                "reading": row.varied is not None,
                "far": row.far,
            }
            seen.update(
                [row.decision.value, *(name for name, is_there in there.items() if is_there)]
            )
    assert sum(seen[outcome.value] for outcome in Outcome) == CARDS * CLAIMS
    lacking = {*Outcome, *there} - seen.keys()
    assert not lacking


# --- what it catches ------------------------------------------------------------------------------

drawn_once = cache(drawn_pages)
DEPENDS = 38
"""A card on which a claim holds, one does not, one depends, and stricter checks are missed."""

HTML, MARKDOWN, TERMINAL = 0, 1, 2

CORRUPTED: tuple[tuple[int, str, str], ...] = (
    # numbers
    (HTML, r"(<td>)\d[\d.]+(</td><td>met)", r"\g<1>0.0777\2"),
    (HTML, r"(, farthest )0\.\d+", r"\g<1>0.0777"),
    (HTML, r"(mean 0\.\d+ \[)0\.\d+", r"\g<1>0.0777"),
    (MARKDOWN, r"(\d of \d \()0\.\d+", r"\g<1>0.0777"),
    (MARKDOWN, r"(mean 0\.\d+ \[)0\.\d+", r"\g<1>0.0777"),
    # counts
    (HTML, r'(class="num">)6 of 6', r"\g<1>5 of 6"),
    (MARKDOWN, r"(: as run, )6 of 6", r"\g<1>5 of 6"),
    (MARKDOWN, r"6 of 6 \(61–100 %\)", "5 of 6 (61–100 %)"),
    (MARKDOWN, r"61–100 %", "72–100 %"),
    (HTML, r"1 holds and 1 does not hold", "2 hold and 1 does not hold"),
    (MARKDOWN, r"Apart: 2 claims", "Apart: 3 claims"),
    (MARKDOWN, r"61 completed", "60 completed"),
    # words of outcome
    (HTML, r"(6 of 6</td><td>[^<]*</td><td>)met", r"\1missed"),
    (HTML, r"(0 of 6</td><td>[^<]*</td><td>)missed", r"\1met"),
    (HTML, r"✓ supported", "✗ not supported"),
    (MARKDOWN, r"- ✓ ", "- ✗ "),
    (MARKDOWN, r"✗ not supported", "✓ supported"),
    (MARKDOWN, r"(holds with level 0.04 \(code\), )6 of 6", r"\g<1>2 of 6"),
    (HTML, r"(not with level 0.02 \(paper\), )0 of 6", r"\g<1>6 of 6"),
    (MARKDOWN, r"0 → 6 of 6", "6 → 6 of 6"),
    # what is absent
    (HTML, r'<tr class="own missed">.*?</tr>', ""),
    (MARKDOWN, r"- stricter, ours: covered[^\n]*\*\*[^\n]*\n", ""),
    (MARKDOWN, r"; \*\*rate 0.2 \(code\)[^*]*\*\*", ""),
    (TERMINAL, r"\n  claim-d: [^\n]*\n[^\n]*", ""),
)


@pytest.mark.parametrize(("page", "pattern", "instead"), CORRUPTED)
def test_what_differs_is_caught(page: int, pattern: str, instead: str) -> None:
    sheet, pages, _ = drawn_once(DEPENDS)
    texts = [pages[HTML], pages[MARKDOWN], "\n".join(pages[TERMINAL])]
    changed, count = re.subn(pattern, instead, texts[page], count=1)
    assert count, "the page says no such thing"
    texts[page] = changed
    assert faults(sheet, texts[HTML], texts[MARKDOWN], texts[TERMINAL].split("\n"))


@pytest.mark.parametrize(
    ("seed", "pattern", "instead"),
    [
        (41, r"open at 2 and 4", "open at 2"),
        (44, r"(twice it\), 0 of 6, )at 2", r"\1at 3"),
        (40, r"this answer would change: “[^”]*”", "no answer would change"),
        (
            39,
            r"no answer would change",
            "this answer would change: “the distance of claim-a vanishes”",
        ),
    ],
)
def test_what_a_line_leaves_out_is_caught(seed: int, pattern: str, instead: str) -> None:
    sheet, pages, _ = drawn_once(seed)
    changed, count = re.subn(pattern, instead, pages[MARKDOWN], count=1)
    assert count, "the page says no such thing"
    assert not faults(sheet, *pages)
    assert faults(sheet, pages[HTML], changed, pages[TERMINAL])
