"""The register as a table for spreadsheets: one row for each claim that was judged."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

from reproaudit.elsewhere.submission import OURS
from reproaudit.reports.printable import clean
from reproaudit.reports.register.model import ClaimEntry, MeasuredEntry, PaperEntry

CsvValue = str | int | float | None
RegisterRow = tuple[PaperEntry, MeasuredEntry, ClaimEntry]

REGISTER_COLUMNS: dict[str, Callable[[RegisterRow], CsvValue]] = {
    "tier": lambda row: row[0].tier,
    "paper": lambda row: row[0].slug,
    "title": lambda row: row[0].title,
    "venue": lambda row: row[0].venue,
    "year": lambda row: row[0].year,
    "doi": lambda row: row[0].doi,
    "sharing_type": lambda row: row[0].documentation.sharing_type,
    "documented_by_card": lambda row: row[0].documentation.strict,
    "documented_as_reviewed": lambda row: row[0].documentation.reviewed,
    "measured_by": lambda row: row[1].origin.who if row[1].origin else OURS,
    "claim": lambda row: row[2].id,
    "statement": lambda row: row[2].statement,
    "weight": lambda row: row[2].weight,
    "verdict": lambda row: row[2].verdict.value,
    "verdict_words": lambda row: row[2].verdict_words,
    "decision": lambda row: row[2].decision.value if row[2].decision else None,
    "evidence": lambda row: row[2].evidence,
    "hangs_on": lambda row: "; ".join(one.setting for one in row[2].hangs_on),
    "estimate": lambda row: row[2].estimate,
    "low": lambda row: row[2].interval.low if row[2].interval else None,
    "high": lambda row: row[2].interval.high if row[2].interval else None,
    "confidence": lambda row: row[2].interval.confidence if row[2].interval else None,
    "side": lambda row: row[2].side,
    "bound": lambda row: row[2].bound,
    "margin": lambda row: row[2].margin,
    "runs_met": lambda row: row[2].runs_met.met if row[2].runs_met else None,
    "runs": lambda row: row[2].runs_met.of if row[2].runs_met else None,
    "rule_hash": lambda row: row[2].rule_hash,
    "page": lambda row: row[2].page,
}
"""Each column's name and its value; `docs/register.md` describes them."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""The characters that a spreadsheet takes for the beginning of a formula."""


def register_csv(papers: Sequence[PaperEntry]) -> str:
    """Returns the claims of every paper, ours and from elsewhere, under `REGISTER_COLUMNS`.

    Text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(REGISTER_COLUMNS)
    for paper in papers:
        for measured in paper.measured:
            for claim in measured.claims:
                row = (paper, measured, claim)
                writer.writerow([_safe(value(row)) for value in REGISTER_COLUMNS.values()])
    return out.getvalue()


def _safe(value: CsvValue) -> CsvValue:
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.startswith(FORMULA) else text
