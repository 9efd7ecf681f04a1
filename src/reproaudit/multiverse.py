"""The alternatives of what a paper leaves open: which of them change which answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reproaudit.declarations import StrictModel
from reproaudit.files import write_whole
from reproaudit.report.choices import choices_of
from reproaudit.report.numbers import of, setting_value
from reproaudit.report.pages import environment, plain, table
from reproaudit.verdict import Answer, ClaimAnswer, ReadingAnswer, Scorecard

CHANGES = "changes the answer"
UNFINISHED = "unfinished"
LEAVES = "leaves it"
"""What becomes of an answer, in the order of the rows."""


class Row(StrictModel):
    """One claim under one other value."""

    claim: str
    setting: str
    value: str
    kind: str
    """reading, which a source backs; or alternative, a guess."""
    yes: int
    n: int
    """The runs that count."""
    own_yes: int
    own_n: int
    found: str
    """`CHANGES`, `UNFINISHED` or `LEAVES`."""
    trained: tuple[float, float] | None
    """The typical training loss at the start and at the end."""


class Multiverse(StrictModel):
    """Every claim under every reading and alternative that ran."""

    paper: str
    tier: str
    rows: tuple[Row, ...]
    """Those that change an answer first."""
    not_run: tuple[str, ...]
    """The settings with values that have not run."""

    @property
    def title(self) -> str:
        """What the page is called."""
        return f"{self.paper}: other values of what is open, {self.tier} tier"

    @property
    def means(self) -> str:
        """How to read the rows."""
        turned = sum(one.found == CHANGES for one in self.rows)
        return (
            f"Each row runs a claim with one other value; {turned} of {len(self.rows)} change the "
            "answer. A reading is backed by a source, a guess is ours. Unfinished: training had "
            "not come half as far as the claim's own."
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The heads of the table."""
        return ("Setting", "Value", "Kind", "Claim", "Runs", "As run", "Answer", "Training loss")

    @property
    def cells(self) -> Iterator[tuple[str, ...]]:
        """Yield the rows of the table as text."""
        for one in self.rows:
            yield (
                one.setting,
                one.value,
                one.kind,
                one.claim.partition(".")[2],
                of(one.yes, one.n),
                of(one.own_yes, one.own_n),
                one.found,
                f"{one.trained[0]:.3g} → {one.trained[1]:.3g}" if one.trained else "",
            )

    @property
    def lines(self) -> Iterator[str]:
        """Yield the rows for a terminal."""
        if not self.rows:
            yield "nothing was varied"
        for setting, value, _, claim, runs, as_run, answer, loss in self.cells:
            trained = f", loss {loss}" if loss else ""
            yield f"{setting} = {value}: {claim} {runs} (as run {as_run}), {answer}{trained}"
        if self.not_run:
            yield f"not run: {', '.join(self.not_run)}"


def multiverse_of(card: Scorecard) -> Multiverse:
    """Return what a scorecard says of readings and alternatives."""
    rows = [
        Row(
            claim=claim.id,
            setting=arm.varied.setting,
            value=setting_value(arm.varied.value),
            kind=arm.role.value,
            yes=arm.yes,
            n=arm.n,
            own_yes=claim.base.yes,
            own_n=claim.base.n,
            found=_found(claim, arm),
            trained=arm.trained,
        )
        for claim in card.claims
        for arm in (*claim.readings, *claim.alternatives)
        if arm.n and arm.varied is not None
    ]
    order = (CHANGES, UNFINISHED, LEAVES)
    rows.sort(key=lambda one: order.index(one.found))
    not_run = tuple(one.setting for one in choices_of(card) if not one.answers)
    return Multiverse(paper=card.paper.slug, tier=card.tier, rows=tuple(rows), not_run=not_run)


def _found(claim: ClaimAnswer, arm: ReadingAnswer) -> str:
    if arm.answer is Answer.UNFINISHED:
        return UNFINISHED
    return CHANGES if claim.changed_by(arm) else LEAVES


def write_multiverse(found: Multiverse, folder: Path) -> tuple[Path, ...]:
    """Write the table as HTML, as Markdown and as JSON; return the files, or raise a StoreError."""
    page = environment().get_template("multiverse.html")
    files = {
        "multiverse.html": page.render(found=found),
        "multiverse.json": found.model_dump_json(indent=1) + "\n",
        "multiverse.md": "\n".join(_markdown(found)) + "\n",
    }
    return tuple(write_whole(folder / name, text) for name, text in files.items())


def _markdown(found: Multiverse) -> Iterator[str]:
    yield from (f"# {plain(found.title)}", "", plain(found.means), "")
    yield from table(found.columns, found.cells)
    if found.not_run:
        yield from ("", f"Not run: {plain(', '.join(found.not_run))}.")
