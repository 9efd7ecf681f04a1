"""The options of the command line, each declared once, and how their words become values.

A parser imports what it needs when it is called, so that help and completion appear at once.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from reproaudit.cell import RunForm
from reproaudit.cli.output import say
from reproaudit.errors import TechnicalError, UsageError
from reproaudit.lazy import deferred

if TYPE_CHECKING:
    from reproaudit.audit.catalog import Entry
    from reproaudit.consent import Permission
    from reproaudit.formats.scorecard import Scorecard
    from reproaudit.service.workspace import Workspace

_model = deferred("reproaudit.audit.model")
_engines = deferred("reproaudit.run.executors.engines")
_files = deferred("reproaudit.report.files")
_notebook = deferred("reproaudit.service.notebook")

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Reproducibility audits of machine-learning papers that people run.",
)


def known_slugs(incomplete: str) -> list[str]:
    """Return the papers that a half-typed name may become, for shells that complete it."""
    from reproaudit.audit.catalog import Catalog

    return [slug for slug in Catalog().entries if slug.startswith(incomplete)]


def parsed(option: str, parse: Callable[[str], Any], metavar: str, about: str) -> Any:
    """Return an option whose words a function turns into a value; its mistakes name the option."""

    def parser(words: str) -> Any:
        try:
            return parse(words)
        except UsageError as error:
            raise UsageError(f"{option}: {error}") from error

    return Option(option, parser=parser, metavar=metavar, help=about)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return seeds such as ``0-4`` or ``7,9,20-22``."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise UsageError(f"found '{part}'. Write 0-4, or 7,9,20-22.")
        seeds += range(int(match[1]), int(match[2] or match[1]) + 1)
        if len(seeds) > 10_000:
            raise UsageError("found more than 10000 seeds. Ask for fewer.")
    return tuple(dict.fromkeys(seeds))


def parse_salt(text: str) -> str:
    """Return the word from which seeds follow, too."""
    if not re.fullmatch(r"[a-z0-9-]{1,32}", text):
        raise UsageError(
            f"found '{text}'. Write a word of up to 32 lower-case letters, digits and hyphens."
        )
    return text


def parse_duration(text: str) -> float:
    """Return a time such as ``90s``, ``10m``, ``1.5h`` or plain seconds, in seconds."""
    return _amount(text, {"": 1, "s": 1, "m": 60, "h": 3600}, "90s, 10m or 1.5h")


def parse_size(text: str) -> float:
    """Return a size such as ``500M``, ``4GB`` or plain bytes, in bytes."""
    units = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
    return _amount(text.lower().rstrip("b"), units, "a number of bytes, 500M or 4G")


def parse_slurm(text: str) -> dict[str, str]:
    """Return options of sbatch such as ``partition=short,mem=4G``; ``time`` in minutes."""
    options: dict[str, str] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*([a-z][a-z-]*)=([^\s\"'`$\\\\]+)\s*", part)
        if match is None:
            raise UsageError(f"found '{part}'. Write partition=short,time=2h,mem=4G.")
        options[match[1]] = match[2]
    if "time" in options:
        options["time"] = str(max(1, math.ceil(parse_duration(options["time"]) / 60)))
    return options


def parse_block(text: str) -> Any:
    """Return ``20``, so many cells, or ``30m``, what fits into that time."""
    if re.fullmatch(r"[1-9]\d{0,5}", text):
        return _engines.BlockSize(cells=int(text))
    return _engines.BlockSize(seconds=parse_duration(text))


def parse_shard(text: str) -> tuple[int, int]:
    """Return number and count in ``2/5``."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"found '{text}'. Write 1/5 to 5/5, for five parts.")
    return int(match[1]), int(match[2])


def engine_of(executor: tuple[str, str] | None, slurm: Mapping[str, str] | None, block: Any) -> Any:
    """Return the engine that the options name; a UsageError if they do not fit together."""
    name, address = executor or ("", "")
    if name != "slurm" and (slurm or block):
        raise UsageError("--slurm and --block are for --executor slurm: give that, too.")
    if not name:
        return None
    known = {"options": slurm, "block": block}
    return _engines.Engine(name, address, **{key: value for key, value in known.items() if value})


def end_of(budget: float | None) -> float:
    """Return by `time.monotonic` when the last cell may start."""
    return math.inf if budget is None else time.monotonic() + budget


def _amount(text: str, units: Mapping[str, int], examples: str) -> float:
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d+)?)\s*([a-z]?)\s*", text)
    if match is None or match[2] not in units:
        raise UsageError(f"found '{text}'. Write {examples}.")
    return float(match[1]) * units[match[2]]


PaperName = Annotated[
    str, Argument(help="The paper's short name.", metavar="SLUG", autocompletion=known_slugs)
]
PaperOrFile = Annotated[
    str,
    Argument(
        help="The paper's short name, or its audit's YAML file.",
        metavar="SLUG|AUDIT.yaml",
        autocompletion=known_slugs,
    ),
]
Slugs = Annotated[
    list[str] | None,
    Argument(help="Papers by short name.", metavar="SLUG…", autocompletion=known_slugs),
]
All = Annotated[bool, Option("--all", help="Every paper.")]
Shipped = Annotated[
    bool, Option("--shipped/--no-shipped", help="Of --all: also what lies outside --audits.")
]
Audits = Annotated[Path | None, Option(help="A folder with DIR/<slug>.yaml beside DIR/<slug>.py.")]
StorePath = Annotated[Path, Option(help="The folder of records.")]
KeptStore = Annotated[
    Path | None, Option("--store", exists=True, help="The folder of records.", show_default="runs")
]
"""The store of a command that only looks after records: it has to be there if it is named."""
Out = Annotated[
    Path | None, Option(help="The folder of reports; 'reports' beside the store if none.")
]
Tier = Annotated[
    Any, parsed("--tier", lambda text: _model.known_tier(text), "TIER", "smoke, quick or paper.")
]
Salt = Annotated[
    str | None, parsed("--salt", parse_salt, "WORD", "Draws other seeds, kept apart (paper tier).")
]
FORMATS_HELP = "terminal, html, json, md"
Formats = Annotated[
    frozenset[str] | None,
    parsed(
        "--format",
        lambda text: _files.chosen_formats(text),
        "FORMATS",
        f"{FORMATS_HELP}, joined by commas; else all.",
    ),
]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Claims = Annotated[list[str] | None, Option("--claim", help="Only this claim; may be repeated.")]


def _outcomes_in(text: str) -> frozenset[str]:
    """Return the outcomes that a text names, or raise a UsageError if it names none."""
    outcomes: frozenset[str] = _notebook.known_outcomes(text)
    if not outcomes:
        raise UsageError(f"found no outcome in '{text}'; expected one or more, such as error.")
    return outcomes


FailOn = Annotated[
    frozenset[str] | None,
    parsed(
        "--fail-on",
        _outcomes_in,
        "OUTCOMES",
        "Exit with 1 on these: not-supported[,…].",
    ),
]
Seeds = Annotated[
    Sequence[int] | None,
    parsed("--seeds", parse_seeds, "SEEDS", "Other seeds, such as 0-4 or 7,9 (custom)."),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"],
    Option(help="Where to compute; auto takes a card for what imports torch."),
]
FormName = Annotated[RunForm, Option("--form", help="plain: straight from the paper's equations.")]
Jobs = Annotated[
    int | None, Option(min=1, max=1024, help="Cells at once; one for each core if not given.")
]
CellTimeout = Annotated[
    float | None,
    parsed("--cell-timeout", parse_duration, "TIME", "A cell that takes longer fails: 90s, 10m."),
]
Memory = Annotated[
    float | None,
    parsed("--memory", parse_size, "SIZE", "A cell that takes more memory fails: 500M, 4G."),
]
Budget = Annotated[
    float | None,
    parsed("--budget", parse_duration, "TIME", "Start nothing more after 90s, 10m, 1.5h."),
]
ExecutorName = Annotated[
    Any,
    parsed(
        "--executor",
        lambda text: _engines.parse_engine(text),
        "ENGINE",
        "What computes: slurm, dask=ADDRESS or dask=local.",
    ),
]
SlurmOptions = Annotated[
    Any, parsed("--slurm", parse_slurm, "OPTIONS", "For sbatch: partition=short,time=2h,mem=4G.")
]
BlockOf = Annotated[
    Any,
    parsed("--block", parse_block, "SIZE", "A Slurm job's cells: 20, or (as else) what takes 30m."),
]
Shard = Annotated[
    Any, parsed("--shard", parse_shard, "I/N", "Only the I-th of N parts of the cells; see merge.")
]
Leave = Annotated[bool, Option("--leave", help="End where other runs compute all that is left.")]
Trust = Annotated[bool, Option("--trust", help="Run code that does not come with reproaudit.")]
Fresh = Annotated[bool, Option("--fresh", help="Measure again what is there.")]
Verbose = Annotated[
    bool, Option("--verbose", help="Print every detail, and tracebacks of cells that failed.")
]
DataDir = Annotated[
    Path | None,
    Option(
        exists=True,
        file_okay=False,
        resolve_path=True,
        help="A folder of data that would be downloaded.",
    ),
]


def open_workspace(
    audits: Path | None = None, store: Path | None = None, reports: Path | None = None
) -> Workspace:
    """Return the folders that a command line names, to work in."""
    from reproaudit.service.workspace import Workspace

    return Workspace(audits, store or Path("runs"), reports)


def entry_named(workspace: Workspace, name: str) -> Entry:
    """Return where a paper's files are, by its short name or its audit's YAML file."""
    path = Path(name)
    return workspace.entry(path if path.suffix in (".yaml", ".yml") else name)


def permission(trust: bool) -> Permission:
    """Return how code that does not come with reproaudit is named, and consent asked for."""
    from reproaudit.consent import Permission, ask_terminal

    return Permission(trust, ask_terminal, "pass --trust", partial(say, stderr=True))


def exit_code(
    scorecards: Iterable[Scorecard], fail_on: frozenset[str] | None, failed: bool = False
) -> int:
    """Return 3 if something failed, 1 if a claim has an outcome to fail on, else 0."""
    if failed:
        return TechnicalError.exit_code
    outcomes = {claim.outcome for card in scorecards for claim in card.of_paper}
    return int(bool(outcomes & (fail_on or frozenset())))
