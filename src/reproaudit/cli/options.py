"""The options that several commands share, and what their values mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_type_hints

import typer

from reproaudit.cell import RunForm
from reproaudit.errors import TechnicalError, UsageError, did_you_mean
from reproaudit.report.files import FORMATS

if TYPE_CHECKING:
    from reproaudit.audit.catalog import Entry
    from reproaudit.audit.settings import TierName
    from reproaudit.commands.run import How
    from reproaudit.report.model import Scorecard

KEYWORD = inspect.Parameter.KEYWORD_ONLY

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Reproducibility audits of machine-learning papers that people run.",
)


def known_slugs(incomplete: str) -> list[str]:
    """Returns the papers that a half-typed name may become, for shells that complete it."""
    from reproaudit.audit.catalog import Catalog

    return [slug for slug in Catalog().entries if slug.startswith(incomplete)]


PaperName = Annotated[
    str,
    typer.Argument(help="The paper's short name.", metavar="SLUG", autocompletion=known_slugs),
]
Slugs = Annotated[
    list[str] | None,
    typer.Argument(help="Papers by short name.", metavar="SLUG…", autocompletion=known_slugs),
]
All = Annotated[bool, typer.Option("--all", help="Every paper.")]
Audits = Annotated[
    Path | None,
    typer.Option("--audits", help="A folder with DIR/<slug>.yaml beside DIR/<slug>.py."),
]
StorePath = Annotated[Path, typer.Option("--store", help="The folder of records.")]
Reports = Annotated[
    Path | None,
    typer.Option(
        "--reports",
        help="The folder of scorecards, used without records; 'reports' beside the store if none.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="The folder for reports; 'reports' beside the store if none."),
]
Tier = Annotated[str, typer.Option("--tier", help="smoke, quick or paper.")]
AnyTier = Annotated[
    str | None, typer.Option("--tier", help="smoke, quick or paper; else the highest there is.")
]
Salt = Annotated[
    str | None,
    typer.Option("--salt", help="A word that draws other seeds, kept apart (paper tier)."),
]
Formats = Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)}, joined by commas.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
FormName = Annotated[
    str, typer.Option("--form", help="fast, or plain: straight from the paper's equations.")
]
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
    bool, typer.Option("--verbose", help="Print every detail, and tracebacks of cells that failed.")
]
DaskAddress = Annotated[
    str | None,
    typer.Option("--dask", help="Compute on this Dask scheduler, such as tcp://host:8786."),
]
DaskTls = Annotated[
    Path | None,
    typer.Option("--dask-tls", help="A folder with ca.pem, cert.pem and key.pem for tls://…"),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="A folder with data to use instead of downloads (MNIST)."),
]
FailOn = Annotated[
    str | None,
    typer.Option("--fail-on", help="Exit with 1 on these outcomes: not-supported[,failed…]."),
]


@dataclass(frozen=True)
class Computing:
    """The options of every command that computes: on which device, how many at once, where kept."""

    device: Device = "auto"
    jobs: Jobs = None
    cell_timeout: CellTimeout = None
    memory: Memory = None
    verbose: Verbose = False
    trust: Trust = False
    dask: DaskAddress = None
    dask_tls: DaskTls = None
    data_dir: DataDir = None
    audits: Audits = None
    store: StorePath = Path("runs")

    def how(self, fresh: bool = False, form: RunForm = "fast") -> How:
        """Returns what these options say; from here on papers look for data where they say."""
        from reproaudit.audit.catalog import Catalog
        from reproaudit.commands.run import How, parse_limits, read_data_from
        from reproaudit.running.store import Store

        read_data_from(self.data_dir)
        return How(
            Catalog(self.audits),
            Store(self.store),
            device=self.device,
            jobs=self.jobs,
            fresh=fresh,
            dask=self.dask,
            dask_tls=self.dask_tls,
            limits=parse_limits(self.cell_timeout, self.memory),
            verbose=self.verbose,
            form=form,
        )


COMPUTING = Computing()


def with_computing(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the fields of its parameter ``computing`` as options of their own."""
    own = inspect.signature(command, eval_str=True).parameters
    hints = get_type_hints(Computing, include_extras=True)
    shared = {
        one.name: inspect.Parameter(
            one.name, KEYWORD, default=one.default, annotation=hints[one.name]
        )
        for one in fields(Computing)
    }
    parameters = [
        each
        for name, one in own.items()
        for each in (shared.values() if name == "computing" else [one.replace(kind=KEYWORD)])
    ]

    def called(**given: Any) -> int:
        computing = Computing(**{name: given.pop(name) for name in shared})
        return command(computing=computing, **given)

    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def fail_on_outcomes(words: str | None) -> frozenset[str]:
    """Returns the outcomes that ``--fail-on`` names, with hyphens for blanks."""
    from reproaudit.judge import Outcome

    known = {one.value.replace(" ", "-"): one.value for one in Outcome}
    found = set()
    for word in (words or "").split(","):
        name = word.strip().replace(" ", "-").replace("_", "-")
        if name and name not in known:
            raise UsageError(f"--fail-on: no outcome '{name}'. {did_you_mean(name, known)}")
        found |= {known[name]} if name else set()
    return frozenset(found)


def exit_code(scorecards: Iterable[Scorecard], fail_on: frozenset[str], failed: bool) -> int:
    """Returns 3 if something failed, 1 if a claim has an outcome to fail on, else 0."""
    if failed:
        return TechnicalError.exit_code
    return int(any(claim.outcome in fail_on for one in scorecards for claim in one.claims))


def chosen_form(name: str) -> RunForm:
    """Returns the form of that name."""
    for form in get_args(RunForm):
        if form == name:
            return cast("RunForm", form)
    raise UsageError(f"--form '{name}': write fast or plain.")


def chosen_tier(name: str) -> TierName:
    """Returns the tier of that name, or raises a `UsageError`."""
    from reproaudit.audit.settings import known_tier

    return known_tier(name)


def salted(entries: Sequence[Entry], word: str | None, tier: str | None) -> tuple[Entry, ...]:
    """Returns papers whose seeds follow from a word, too; as they are if there is none."""
    from reproaudit.audit.seeds import known_salt

    salt = known_salt(word, tier)
    return tuple(replace(entry, salt=salt) for entry in entries)
