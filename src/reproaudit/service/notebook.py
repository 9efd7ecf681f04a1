"""A scorecard for Python users and notebooks: claims by id, text, files, and a view of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from reproaudit.errors import UsageError, did_you_mean
from reproaudit.formats.outcomes import OUTCOMES
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import ClaimAnswer, Outcome
from reproaudit.report.files import PAGES
from reproaudit.report.pages import environment, html, markdown, plain, table
from reproaudit.report.parts import ClaimPart, part_of, parts
from reproaudit.report.printable import clean
from reproaudit.report.terminal import report_lines
from reproaudit.service.pages import write_report

DEFAULT_FAIL_ON: frozenset[str] = frozenset(
    outcome.value for outcome, look in OUTCOMES.items() if look.test in ("failure", "error")
)
"""The outcomes that the table of outcomes counts as a failure or an error."""

COLUMNS = ("Claim", "Outcome", "Certainty", "Runs", "Found")


def known_outcomes(words: str) -> frozenset[str]:
    """Return outcomes joined by commas, with blanks, hyphens or underscores, or a UsageError."""
    known = {outcome.value.replace(" ", "-"): outcome.value for outcome in Outcome}
    renamed = {"failed": Outcome.ERROR}
    named = set()
    for name in filter(None, map(str.strip, words.split(","))):
        word = name.replace(" ", "-").replace("_", "-")
        if word in renamed:
            raise UsageError(f"no outcome '{name}': a crash is called '{renamed[word]}'.")
        if word not in known:
            raise UsageError(f"no outcome '{name}'. {did_you_mean(word, known)}".rstrip())
        named.add(known[word])
    return frozenset(named)


class PaperScorecard(Scorecard):
    """The model that `scorecard.json` holds, with what Python users need.

    Printed it reads as in the terminal; in a notebook it shows a table and its page.
    """

    @classmethod
    def of(cls, card: Scorecard) -> PaperScorecard:
        """Return the same scorecard in this form."""
        return cls.model_validate({name: getattr(card, name) for name in card.model_fields_set})

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """The outcome of every claim, by the claim's id."""
        return {claim.id: claim.outcome for claim in self.claims}

    def claim(self, name: str) -> ClaimAnswer:
        """Return a claim by its id, with or without the slug; a UsageError names the closest."""
        whole = {claim.id: claim for claim in self.claims}
        claim = whole.get(name) or whole.get(f"{self.paper.slug}.{name}")
        if claim is None:
            raise UsageError(f"no claim '{name}'. {did_you_mean(name, whole)}".rstrip())
        return claim

    def told(self, name: str) -> ClaimPart:
        """Return a claim with all that a page says of it; names and errors as of `claim`."""
        return part_of(self, self.claim(name).id)

    def failures(self, fail_on: Collection[str] = DEFAULT_FAIL_ON) -> tuple[ClaimAnswer, ...]:
        """Return the claims whose outcome is in ``fail_on``; a UsageError at another name."""
        wanted = known_outcomes(",".join(fail_on))
        return tuple(claim for claim in self.claims if claim.outcome in wanted)

    def text(self, width: int = 80) -> str:
        """Return the scorecard as the terminal shows it."""
        return "\n".join(report_lines(self, width)) + "\n"

    def markdown(self) -> str:
        """Return the scorecard as Markdown."""
        return markdown(self)

    def page(self) -> str:
        """Return the scorecard as an HTML page that loads nothing from anywhere."""
        return html(self)

    def write(self, folder: Path | str, formats: Sequence[str] = tuple(PAGES)) -> tuple[Path, ...]:
        """Write it below a folder, as ``html``, ``json`` and ``md``, or raise a StoreError."""
        return write_report(self, Path(folder), formats)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """The table of claims, and the whole page folded below it in a frame of its own."""
        page = environment().get_template("notebook.html")
        rows = [claim_cells(part) for part in parts(self)]
        return page.render(card=self, columns=COLUMNS, rows=rows, page=self.page(), clean=clean)


def claim_cells(part: ClaimPart) -> tuple[str, ...]:
    """Return what a table says of a claim, under `COLUMNS`."""
    line = part.line
    certainty = str(line.level or "")
    return line.claim, f"{line.mark} {line.outcome}", certainty, part.words.runs, line.text


def claims_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of claims as Markdown, with a heading: for a summary in CI or a review."""
    return "\n".join((f"# {plain(title)}", "", *table(columns, rows))) + "\n"
