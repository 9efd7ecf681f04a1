"""What changed between two scorecards: outcomes, certainty, runs, effects, settings, versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reproaudit.report.model import ClaimModel, ReportModel, Scorecard
from reproaudit.report.numbers import number, of, setting_value
from reproaudit.report.printable import clean


class Change(ReportModel):
    """One thing that differs."""

    part: str
    """claim, setting, software, rule, documentation or paper."""
    name: str
    """Which."""
    before: str | None
    """On the first side; None if it is not there."""
    after: str | None
    """On the second side; None if it is not there."""


class Comparison(ReportModel):
    """Everything that differs between two scorecards."""

    before: str
    """The first side, in words."""
    after: str
    """The second side, in words."""
    changes: tuple[Change, ...]
    """Claims first."""

    @property
    def lines(self) -> Iterator[str]:
        """Yield a line for each change."""
        yield f"{self.before} → {self.after}"
        if not self.changes:
            yield "nothing differs"
        for one in self.changes:
            sides = f"{one.before or 'absent'} → {one.after or 'absent'}"
            yield clean(f"{one.part} {one.name}: {sides}")


def compare(before: Scorecard, after: Scorecard) -> Comparison:
    """Compare two scorecards."""
    changes = [
        *_both("paper", {"slug": before.paper["slug"]}, {"slug": after.paper["slug"]}),
        *_both("claim", _claims(before), _claims(after)),
        *_both("rule", _rules(before), _rules(after)),
        *_both("setting", _settings(before), _settings(after)),
        *_both("software", before.software, after.software),
        *_both("documentation", _documented(before), _documented(after)),
    ]
    return Comparison(before=_name(before), after=_name(after), changes=tuple(changes))


def _both(part: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield Change(part=part, name=name, before=before.get(name), after=after.get(name))


def _name(card: Scorecard) -> str:
    return f"{card.paper['slug']} ({card.tier}, {card.records['last'] or 'no records'})"


def _claims(card: Scorecard) -> dict[str, str]:
    return {one.id: _claim(one) for one in card.claims}


def _claim(one: ClaimModel) -> str:
    typical = [
        f"{each.noun} {number(each.median, 4)}" for each in one.headline if each.median is not None
    ]
    level = f", {one.certainty.level}" if one.certainty.level else ""
    return f"{one.outcome}{level}, {of(one.runs.yes, one.runs.n)}; {', '.join(typical)}"


def _rules(card: Scorecard) -> dict[str, str]:
    return {one.experiment: one.rule[:12] for one in card.claims if one.rule is not None}


def _settings(card: Scorecard) -> dict[str, str]:
    return {
        f"{row['experiment']}.{row['name']}" if row["experiment"] else str(row["name"]): _value(row)
        for row in card.settings
    }


def _value(row: Mapping[str, Any]) -> str:
    value = row["value"]
    plain = setting_value(tuple(value) if isinstance(value, list) else value)
    return f"{plain} ({row['source']})"


def _documented(card: Scorecard) -> dict[str, str]:
    found = card.documentation
    return {row["name"]: "documented" if row["documented"] else "not" for row in found["variables"]}
