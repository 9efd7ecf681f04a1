"""What changed between two scorecards: outcomes, certainty, runs, effects, settings, versions."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.documentation import documentation_of
from reproaudit.audit.seeds import rule
from reproaudit.declarations import StrictModel
from reproaudit.formats.numbers import number, of, setting_value
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import ClaimAnswer
from reproaudit.report.printable import clean


class Change(StrictModel):
    """One thing that differs."""

    part: str
    """claim, setting, software, rule, documentation or paper."""
    name: str
    before: str | None
    """On the first side; None if it is not there."""
    after: str | None
    """On the second side; None if it is not there."""


class Comparison(StrictModel):
    """Everything that differs between two scorecards."""

    before: str
    after: str
    changes: tuple[Change, ...]
    """Claims first."""

    @property
    def lines(self) -> Iterator[str]:
        """Yield a line for each change."""
        yield f"{self.before} → {self.after}"
        if not self.changes:
            yield "nothing differs"
        for change in self.changes:
            sides = f"{change.before or 'absent'} → {change.after or 'absent'}"
            yield clean(f"{change.part} {change.name}: {sides}")


def compare(before: Scorecard, after: Scorecard) -> Comparison:
    """Compare two scorecards."""
    first = _said(before)
    then = _said(after)
    changes = [
        Change(part=part, name=name, before=said.get(name), after=then[part].get(name))
        for part, said in first.items()
        for name in dict.fromkeys((*said, *then[part]))
        if said.get(name) != then[part].get(name)
    ]
    return Comparison(before=_name(before), after=_name(after), changes=tuple(changes))


def _said(card: Scorecard) -> dict[str, dict[str, str]]:
    """What is compared, by part and name."""
    judged = dict.fromkeys(c.experiment for c in card.audit.claims) if card.scale == "paper" else ()
    documented = documentation_of(card.audit, card.reviews).variables
    return {
        "paper": {"slug": card.paper.slug},
        "claim": {answer.id: _claim(answer) for answer in card.claims},
        # of a rule the seeds at the paper's own scale are drawn
        "rule": {name: rule(card.audit, name, "paper")[:12] for name in judged},
        "setting": {
            name: f"{setting_value(setting.at(card.scale))} ({setting.side})"
            for name, setting in card.audit.every_setting().items()
        },
        "software": {name: ", ".join(used) for name, used in card.records.software.items()},
        "documentation": {
            row.variable.name: "documented" if row.documented else "not" for row in documented
        },
    }


def _name(card: Scorecard) -> str:
    last = card.records.last
    return f"{card.paper.slug} ({card.tier}, {last.date() if last else 'no records'})"


def _claim(answer: ClaimAnswer) -> str:
    """An answer in numbers, which a scorecard of an earlier version has, too."""
    base = answer.base
    typical = [
        f"{estimate.measurement.replace('_', ' ')} {number(estimate.median, 4)}"
        for estimate in base.estimates
        if estimate.median is not None
    ]
    level = f", {answer.level}" if answer.level else ""
    return f"{answer.outcome}{level}, {of(base.yes, base.n)}; {', '.join(typical)}"
