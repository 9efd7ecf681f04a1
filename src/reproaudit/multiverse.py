"""The alternatives of what a paper leaves open: which of them change which answer."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.report.model import ArmModel, ReportModel, Scorecard
from reproaudit.report.numbers import of, setting_value


class Row(ReportModel):
    """One claim under one other value."""

    claim: str
    """The claim's id."""
    setting: str
    """The setting that differs."""
    value: str
    """Its value."""
    kind: str
    """reading, which a source backs; or alternative, a guess."""
    yes: int
    """The runs that say yes."""
    n: int
    """The runs that count."""
    own_yes: int
    """The claim's own runs that say yes."""
    own_n: int
    """The claim's own runs."""
    found: str
    """changes the answer, leaves it, or unfinished."""
    trained: tuple[float, float] | None
    """The typical training loss at the start and at the end."""


class Multiverse(ReportModel):
    """Every claim under every reading and alternative that ran."""

    paper: str
    """The paper's slug."""
    tier: str
    """Of the records."""
    rows: tuple[Row, ...]
    """Those that change an answer first."""
    not_run: tuple[str, ...]
    """The settings with values that have not run."""

    @property
    def lines(self) -> Iterator[str]:
        """Yield the rows as text."""
        if not self.rows:
            yield "nothing was varied"
        for one in self.rows:
            loss = f", loss {one.trained[0]:.3g} → {one.trained[1]:.3g}" if one.trained else ""
            yield (
                f"{one.setting} = {one.value}: {one.claim.partition('.')[2]} "
                f"{of(one.yes, one.n)} (as run {of(one.own_yes, one.own_n)}), {one.found}{loss}"
            )
        if self.not_run:
            yield f"not run: {', '.join(self.not_run)}"


def multiverse_of(card: Scorecard) -> Multiverse:
    """Return what a scorecard says of readings and alternatives."""
    rows = [
        Row(
            claim=claim.id,
            setting=str(arm.setting),
            value=setting_value(arm.value),
            kind=arm.role,
            yes=arm.yes,
            n=arm.n,
            own_yes=claim.runs.yes,
            own_n=claim.runs.n,
            found=_found(arm, claim.base),
            trained=arm.trained,
        )
        for claim in card.claims
        for arm in (*claim.readings, *claim.alternatives)
        if arm.n and arm.value is not None
    ]
    order = ("changes the answer", "unfinished", "leaves it")
    rows.sort(key=lambda one: order.index(one.found))
    not_run = tuple(one.setting for one in card.unstated if not one.answers)
    return Multiverse(
        paper=str(card.paper["slug"]), tier=card.tier, rows=tuple(rows), not_run=not_run
    )


def _found(arm: ArmModel, own: ArmModel) -> str:
    if arm.unfinished:
        return "unfinished"
    changes = arm.flips if arm.role == "alternative" else arm.decision != own.decision
    return "changes the answer" if changes else "leaves it"
