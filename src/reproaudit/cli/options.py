"""The options that several commands share, and what their values mean."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reproaudit.audit.model import TIERS, TierName
from reproaudit.errors import TechnicalError, UsageError, did_you_mean
from reproaudit.reports.formats import page_names

if TYPE_CHECKING:
    from reproaudit.scorecard.model import Scorecard

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Reproducibility audits of machine-learning papers that people run.",
)

PaperName = Annotated[str, typer.Argument(help="The paper's short name.", metavar="SLUG")]
Slugs = Annotated[list[str] | None, typer.Argument(help="Papers by short name.", metavar="SLUG…")]
All = Annotated[bool, typer.Option("--all", help="Every paper.")]
Audits = Annotated[
    Path | None,
    typer.Option("--audits", help="A folder with DIR/<slug>.yaml beside DIR/<slug>.py."),
]
StorePath = Annotated[Path, typer.Option("--store", help="The folder of records.")]
Reports = Annotated[
    Path, typer.Option("--reports", help="The folder of scorecards, used without records.")
]
Out = Annotated[Path, typer.Option("--out", help="The folder for reports.")]
Tier = Annotated[str, typer.Option("--tier", help="smoke, quick or paper.")]
AnyTier = Annotated[
    str | None, typer.Option("--tier", help="smoke, quick or paper; else the highest there is.")
]
Formats = Annotated[str, typer.Option("--format", help=page_names())]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", min=1, help="Cells at once; one for each core if not given.")
]
CellTimeout = Annotated[
    str | None, typer.Option("--cell-timeout", help="A cell that takes longer fails: 90s, 10m, 1h.")
]
Memory = Annotated[
    str | None, typer.Option("--memory", help="A cell that takes more memory fails: 500M, 4G.")
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Run code that does not come with reproaudit.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Print the traceback of a cell that failed.")
]
DaskAddress = Annotated[
    str | None,
    typer.Option("--dask", help="Compute on this Dask scheduler, such as tcp://host:8786."),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="A folder with data to use instead of downloads (MNIST)."),
]
FailOn = Annotated[
    str | None,
    typer.Option("--fail-on", help="Exit with 1 on these verdicts: contradicted[,vacuous…]."),
]


def fail_on_verdicts(words: str | None) -> frozenset[str]:
    """Returns the verdicts that ``--fail-on`` names."""
    from reproaudit.judging.verdict import Verdict

    wanted = frozenset(word.strip() for word in (words or "").split(",") if word.strip())
    known = [verdict.value for verdict in Verdict]
    for word in sorted(wanted - set(known)):
        raise UsageError(f"--fail-on: no verdict '{word}'. {did_you_mean(word, known)}")
    return wanted


def exit_code(scorecards: Iterable[Scorecard], fail_on: frozenset[str], failed: bool) -> int:
    """Returns 3 if something failed, 1 if a claim has a verdict to fail on, else 0."""
    if failed:
        return TechnicalError.exit_code
    return int(any(c.verdict in fail_on for one in scorecards for c in one.claims))


def chosen_tier(name: str | None) -> TierName | None:
    """Returns the tier of that name; None if no name is given."""
    for tier in TIERS:
        if name in (tier, None):
            return tier if name else None
    raise UsageError(f"no tier '{name}'. {did_you_mean(str(name), TIERS)}")
