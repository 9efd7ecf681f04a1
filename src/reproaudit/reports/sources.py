"""Every setting of a scorecard with its source, and every measurement with its meaning.

A verdict is about the paper only as far as its settings are the paper's, and its measurements are
what the statement speaks of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproaudit.audit.settings import Source
from reproaudit.judging.model import EvidenceLevel
from reproaudit.reports import numbers, phrasing
from reproaudit.reports import outline as o
from reproaudit.scorecard.model import ClaimModel, Scorecard

DECLARED = (
    "These are the settings that the audit declares, and evidence and alternatives are about them. "
    "A choice that stands in the code of the experiment alone is not among them, and nothing tells "
    "what hangs on it."
)


def settings_section(card: Scorecard) -> Iterator[o.Section]:
    """Yields every setting with its value, and where that is stated, if there are any."""
    rows = []
    for one in card.settings:
        value = numbers.value_words(one.value)
        if one.value != one.paper:
            value += f" (the paper: {numbers.value_words(one.paper)})"
        source, where = phrasing.words(one.source), one.locator or ""
        rows.append((o.code(one.name), one.experiment or "all", value, source, where))
    if rows:
        columns = ("Setting", "Experiment", "Value run", "Source", "Where it is stated, or why")
        table = o.Tabular(columns, rows, "Every setting with its source")
        fold = o.Fold(numbers.counted(len(rows), "setting"), (table,))
        about = o.Paragraph(DECLARED, "soft")
        yield o.Section("Settings", (about, fold), anchor="settings", detail=o.Detail.FULL)


def measurements_section(card: Scorecard) -> Iterator[o.Section]:
    """Yields what the claims' numbers mean, if the scorecard says so."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for one in card.measurements:
        along = "; ".join(f"{axis} {_places(at)}" for axis, at in one.axes.items())
        found.setdefault((one.name, one.unit, along, one.meaning), []).append(one.experiment)
    rows = [
        (o.code(name), ", ".join(dict.fromkeys(experiments)), unit, along, meaning)
        for (name, unit, along, meaning), experiments in found.items()
    ]
    if rows:
        columns = ("Measurement", "Experiment", "Unit", "Along", "Meaning")
        table = o.Tabular(columns, rows, "All that claims and controls are judged by")
        fold = o.Fold(numbers.counted(len(rows), "measurement"), (table,))
        yield o.Section("Measurements", (fold,), anchor="measurements", detail=o.Detail.FULL)


MOST_PLACES = 12
"""Of longer axes the first and the last coordinate are named."""


def _places(at: Sequence[str | int | float]) -> str:
    """The coordinates of an axis."""
    told = [numbers.value_words(one) for one in at]
    return ", ".join(told if len(told) <= MOST_PLACES else [told[0], "…", told[-1]])


def unstated_words(card: Scorecard, claim: ClaimModel) -> str:
    """Returns the settings of a claim that no source states as they are, to stand after evidence.

    Recalled ones have no alternatives, so that nothing is seen to hang on them. Derived ones do not
    either, and how they were derived is the author's word.
    """
    if claim.evidence not in (EvidenceLevel.ASSUMED, EvidenceLevel.EXACT):
        return ""
    shared, own = (
        {one.name: one.source for one in card.settings if one.experiment == experiment}
        for experiment in (None, claim.experiment)
    )
    said = []
    for source in (Source.RECALLED, Source.DERIVED):
        names = [name for name, found in {**shared, **own}.items() if found == source]
        said += [f"; {source.value}: {', '.join(names)}"] if names else []
    return "".join(said)
