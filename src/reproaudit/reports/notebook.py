"""A scorecard for Python users and notebooks: claims by id, text, files, and a view of its own."""

from __future__ import annotations

import html
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from reproaudit.errors import UsageError, did_you_mean
from reproaudit.judging.model import Verdict
from reproaudit.reports import numbers, phrasing
from reproaudit.reports import outline as o
from reproaudit.reports.files import FILES, as_read, write_report
from reproaudit.reports.html import html_page
from reproaudit.reports.markdown import markdown_text
from reproaudit.reports.printable import clean, printable
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.reports.terminal import print_document
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.scorecard.verdicts import VERDICTS
from reproaudit.stats import Decision

FAIL_ON_NAMES: tuple[str, ...] = tuple(one.value for one in (*Verdict, *Decision))
"""Every verdict and every decision: the names that ``fail_on`` takes."""

DEFAULT_FAIL_ON: frozenset[str] = frozenset(
    {
        *(verdict.value for verdict, row in VERDICTS.items() if row.junit in ("failure", "error")),
        Decision.MISSED.value,
    }
)
"""The verdicts that the table of verdicts counts as a failure or an error, and the decision missed,
whatever verdict it led to."""

COLUMNS = (
    "Claim",
    "Verdict",
    "Decision",
    "Evidence",
    "Estimate [interval] against bound",
)


def known_outcomes(names: Collection[str]) -> frozenset[str]:
    """Returns names of verdicts and decisions.

    Raises:
        UsageError: at a name that is neither.
    """
    for name in sorted(names):
        if name not in FAIL_ON_NAMES:
            remedy = did_you_mean(name, FAIL_ON_NAMES)
            raise UsageError(f"no verdict or decision '{name}'. {remedy}".rstrip())
    return frozenset(str(one) for one in names)


def fails_on(claim: ClaimModel, fail_on: Collection[str]) -> str | None:
    """Returns the verdict or the decision of a claim that is in ``fail_on``; None if neither is."""
    decision = "" if claim.decision is None else str(claim.decision)
    return next((name for name in (str(claim.verdict), decision) if name in fail_on), None)


def claim_details(card: Scorecard, claim: ClaimModel) -> Iterator[str]:
    """Yields everything that a test log should say of a claim, one line each."""
    yield clean(f"{claim.statement} ({claim.locator})")
    evidence = phrasing.evidence_words(claim)
    yield clean(f"verdict: {phrasing.verdict_title(claim)}; {claim.why}")
    yield clean(f"decision: {phrasing.decision_words(claim.decision)}; evidence {evidence}")
    for part in claim.parts:
        yield clean(
            f"part {phrasing.measured_words(part)}: {part.decision}, {numbers.sentence(part)} "
            f"({numbers.spread(part, claim.seeds)})"
        )
        if part.decision is not Decision.MET:
            yield clean(f"tolerance: {part.reason}")
    for name, control in phrasing.controls_of(claim):
        found = phrasing.control_words(card, claim, control)
        yield clean(f"{name}: {phrasing.decision_words(control.decision)}, {found}")


class PaperScorecard(Scorecard):
    """A scorecard with what Python users need beside its fields.

    It is the very model that `scorecard.json` holds, so that every function that takes a scorecard
    takes it. Printed it reads as in the terminal; in a notebook it shows a table and its page.
    """

    @classmethod
    def of(cls, card: Scorecard) -> PaperScorecard:
        """Returns the same scorecard in this form."""
        return cls.model_construct(
            **{name: getattr(card, name) for name in type(card).model_fields}
        )

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """The verdict of every claim, by the claim's id."""
        return {claim.id: claim.verdict for claim in self.claims}

    def claim(self, name: str) -> ClaimModel:
        """Returns a claim by its id, or by what follows the slug and the dot in it.

        Raises:
            UsageError: naming the closest id.
        """
        whole = {claim.id: claim for claim in self.claims}
        found = whole.get(name) or whole.get(f"{self.paper['slug']}.{name}")
        if found is None:
            raise UsageError(f"no claim '{name}'. {did_you_mean(name, whole)}".rstrip())
        return found

    def failures(self, fail_on: Collection[str] = DEFAULT_FAIL_ON) -> tuple[ClaimModel, ...]:
        """Returns the claims whose verdict or decision is in ``fail_on``.

        Raises:
            UsageError: at a name that is no verdict and no decision.
        """
        wanted = known_outcomes(fail_on)
        return tuple(claim for claim in self.claims if fails_on(claim, wanted) is not None)

    def text(self, width: int = 100) -> str:
        """Returns the scorecard as the terminal shows it, without colours."""
        out = io.StringIO()
        console = Console(file=out, width=width, force_terminal=False, no_color=True)
        print_document(scorecard_document(self), console)
        return out.getvalue()

    def markdown(self) -> str:
        """Returns the scorecard as Markdown."""
        return markdown_text(scorecard_document(self))

    def page(self) -> str:
        """Returns the scorecard as an HTML page that loads nothing from anywhere."""
        return html_page(scorecard_document(as_read(self)))

    def write(self, folder: Path | str, formats: Sequence[str] = FILES) -> tuple[Path, ...]:
        """Writes the scorecard below a report folder, as ``html``, ``json`` and ``md``.

        Raises:
            UsageError: at an unknown format.
            StoreError: if the folder cannot be written.
        """
        return write_report(self, Path(folder), formats)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """The table of claims, and the whole page folded below it in a frame of its own.

        The frame keeps the page's style sheet from the notebook, and runs nothing.
        """
        paper = self.paper
        title = f"{paper.get('slug', '')}: {paper.get('title', '')} ({self.tier} tier)"
        head = "".join(f"<th>{_escaped(name)}</th>" for name in COLUMNS)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in claim_cells(claim)) + "</tr>"
            for claim in self.claims
        )
        return (
            f"<div><p><strong>{_escaped(title)}</strong></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            "<details><summary>The whole scorecard</summary>"
            f'<iframe sandbox="" title="{_escaped(title)}" srcdoc="{html.escape(self.page())}" '
            'style="width:100%;height:40em;border:1px solid #888"></iframe></details></div>'
        )


def claim_cells(claim: ClaimModel) -> tuple[str, ...]:
    """Returns what a table says of a claim, under `COLUMNS`."""
    return (
        claim.id,
        phrasing.headline(claim),
        phrasing.decision_words(claim.decision),
        phrasing.evidence_label(claim),
        phrasing.claim_sentence(claim),
    )


def claims_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table of claims as Markdown, with a heading: for a summary in CI or a review."""
    return markdown_text(
        o.Document(name=title, title=title, lead=(), blocks=(o.Tabular(columns, list(rows)),))
    )


def _escaped(text: object) -> str:
    return html.escape(printable(" ".join(str(text).split())))
