"""The register as one HTML page, with search, filters and sorting in one script.

The page allows no script but this one, by its hash, and loads nothing. Without scripts it shows
every table whole.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reproaudit.reports import phrasing
from reproaudit.reports.numbers import stated
from reproaudit.reports.printable import clean
from reproaudit.reports.register import plot
from reproaudit.reports.register.model import (
    ClaimEntry,
    MeasuredEntry,
    PaperEntry,
    Register,
    VariableEntry,
)
from reproaudit.scorecard.verdicts import EVIDENCE, VERDICTS, without_limits

SORT_KEYS = {
    "papers": {
        "slug": "short name",
        "documented": "documentation",
        "sharing": "sharing type",
        "supported": "share supported",
        "tested": "claims tested",
        "venue": "venue",
        "year": "year",
    },
    "claims": {
        "claim": "name",
        "verdict": "verdict",
        "evidence": "evidence",
        "weight": "weight",
        "year": "year",
    },
}
"""The columns by which each table can be sorted; the template has the keys of its rows."""
BETWEEN = "\n"
"""Between several values of one attribute; no name has a line break."""
ANYTHING = "any setting"

ClaimRows = list[tuple[MeasuredEntry, ClaimEntry]]


@dataclass(frozen=True)
class _Filter:
    """A field of the form: its name, its label, and its values with their words."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]


def register_page(register: Register) -> str:
    """Returns the page."""
    measured = [(paper, one) for paper in register.papers for one in paper.measured]
    every = [(paper, one, claim) for paper, one in measured for claim in one.claims]
    variables = {v.name: v.scored for p in register.papers for v in p.documentation.variables}
    script = _script()
    return (
        _templates()
        .get_template("register.html.j2")
        .render(
            register=register,
            claims=[(paper, rows) for paper in register.papers for rows in _claims(paper)],
            panels=plot.panels(register.papers),
            fewest=plot.FEWEST_FOR_MEAN,
            box={"width": plot.WIDTH, "height": plot.HEIGHT, "left": plot.LEFT,
                 "right": plot.RIGHT, "bottom": plot.BOTTOM},
            boxes=_boxes(every),
            choices=_choices(register.papers, every),
            sort_keys=SORT_KEYS,
            rates=dict.fromkeys(paper.documentation.rate for paper in register.papers),
            variables=variables,
            by_variable=lambda paper: _by_variable(paper, variables),
            share=_share,
            of=lambda one: one.page.rpartition("/")[0],
            hangs=_hangs,
            plain=without_limits,
            words=phrasing.words,
            number=stated,
            has_strips=any(one.strip for _, one in measured),
            tones={verdict.value: row.tone.value for verdict, row in VERDICTS.items()},
            ranks={verdict.value: n for n, verdict in enumerate(VERDICTS)},
            evidence_ranks={name: n for n, name in enumerate((*EVIDENCE, "none"))},
            verdict_meanings={verdict.value: row.meaning for verdict, row in VERDICTS.items()},
            evidence_meanings={level.value: said for level, said in EVIDENCE.items()},
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )  # fmt: skip


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("reproaudit.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """Returns text free of control characters; an attribute of several values keeps its breaks."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return BETWEEN.join(clean(one) for one in value.split(BETWEEN))
    return value


@cache
def _script() -> str:
    return (files("reproaudit.reports") / "templates" / "register.js").read_text(encoding="utf-8")


# --- rows ---------------------------------------------------------------------------------------


def _claims(paper: PaperEntry) -> Iterable[ClaimRows]:
    """Returns each claim of a paper: ours, then the same as others measured it."""
    groups: dict[str, ClaimRows] = {}
    for measured in paper.measured:
        for claim in measured.claims:
            groups.setdefault(claim.id, []).append((measured, claim))
    return groups.values()


def _share(paper: PaperEntry) -> float:
    """Returns the share of supported claims that papers are sorted by; -1 where none is tested."""
    ours = paper.ours
    if ours is None or not ours.coverage.tested:
        return -1.0
    return round(plot.supported_of(ours) / ours.coverage.tested, 6)


def _by_variable(paper: PaperEntry, variables: Iterable[str]) -> Mapping[str, VariableEntry | None]:
    own = {one.name: one for one in paper.documentation.variables}
    return {name: own.get(name) for name in variables}


def _hangs(claim: ClaimEntry) -> str:
    """Returns the settings on which a claim hangs, and first that there are any."""
    names = list(dict.fromkeys(one.setting for one in claim.hangs_on))
    return BETWEEN.join([ANYTHING, *names] if names else [])


# --- filters ------------------------------------------------------------------------------------


def _boxes(every: list[tuple[PaperEntry, MeasuredEntry, ClaimEntry]]) -> Iterable[_Filter]:
    """Yields the filters of which several values can be chosen, as far as they tell apart."""
    found: dict[str, list[str]] = {
        "verdict": [claim.verdict.value for *_, claim in every],
        "evidence": [claim.evidence for *_, claim in every],
        "by": ["others" if one.origin else "us" for _, one, _ in every],
    }
    orders: dict[str, tuple[str, ...]] = {
        "verdict": tuple(one.value for one in VERDICTS),
        "evidence": (*(one.value for one in EVIDENCE), "none"),
        "by": ("us", "others"),
    }
    labels = {"verdict": "Verdict", "evidence": "Evidence", "by": "Measured by"}
    for name, values in found.items():
        options = tuple(
            (value, f"{phrasing.words(value)} ({values.count(value)})")
            for value in orders[name]
            if value in values
        )
        if options and not (name == "by" and len(options) == 1):
            yield _Filter(name, labels[name], options)


def _choices(
    papers: Iterable[PaperEntry], every: list[tuple[PaperEntry, MeasuredEntry, ClaimEntry]]
) -> Iterable[_Filter]:
    """Yields the filters of which one value can be chosen."""
    venues = sorted({paper.venue for paper in papers})
    years = sorted({str(paper.year) for paper in papers}, reverse=True)
    hangs = [set(_hangs(claim).split(BETWEEN)) - {""} for *_, claim in every]
    settings = sorted(set().union(*hangs) - {ANYTHING})
    yield _Filter("venue", "Venue", tuple((one, one) for one in venues))
    yield _Filter("year", "Year", tuple((one, one) for one in years))
    if settings:
        counts = {one: sum(one in names for names in hangs) for one in (ANYTHING, *settings)}
        said = tuple((one, f"{one} ({count})") for one, count in counts.items())
        yield _Filter("hangs", "Hangs on", said)
