"""What changed between two scorecards: outcomes, certainty, runs, effects, settings, versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
    changes = [
        *_both("paper", {"slug": before.paper.slug}, {"slug": after.paper.slug}),
        *_both("claim", _claims(before), _claims(after)),
        *_both("rule", _rules(before), _rules(after)),
        *_both("setting", _settings(before), _settings(after)),
        *_both("software", _software(before), _software(after)),
        *_both("documentation", _documented(before), _documented(after)),
    ]
    return Comparison(before=_name(before), after=_name(after), changes=tuple(changes))


def _both(part: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield Change(part=part, name=name, before=before.get(name), after=after.get(name))


def _name(card: Scorecard) -> str:
    last = card.records.last
    return f"{card.paper.slug} ({card.tier}, {last.date() if last else 'no records'})"


def _claims(card: Scorecard) -> dict[str, str]:
    return {answer.id: _claim(answer) for answer in card.claims}


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


def _rules(card: Scorecard) -> dict[str, str]:
    """The rule of each experiment, of which the seeds at the paper's own scale are drawn."""
    judged = dict.fromkeys(c.experiment for c in card.audit.claims) if card.scale == "paper" else ()
    return {name: rule(card.audit, name, "paper")[:12] for name in judged}


def _settings(card: Scorecard) -> dict[str, str]:
    return {
        name: f"{setting_value(setting.at(card.scale))} ({setting.side})"
        for name, setting in card.audit.every_setting().items()
    }


def _software(card: Scorecard) -> dict[str, str]:
    return {name: ", ".join(versions) for name, versions in card.records.software.items()}


def _documented(card: Scorecard) -> dict[str, str]:
    found = documentation_of(card.audit, card.reviews).variables
    return {row.variable.name: "documented" if row.documented else "not" for row in found}
