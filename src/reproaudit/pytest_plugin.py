"""A pytest plugin: every claim of an audit is a test.

``pytest --reproaudit=audits/ --measurements DIR`` judges the measurements in a folder, and each
claim is a test item with an id such as ``audits/smith2020.yaml::smith2020.converges``. A claim that
is supported passes, one whose outcome is in ``--reproaudit-fail-on`` fails, any other
is skipped with the reason. Without measurements, the records of a store are judged; with
``--reproaudit-run``, what is missing is run first, which needs consent (`reproaudit.consent`).
docs/ci.md is the manual.

A folder of audits is data: what pytest would run there (``conftest.py``, ``__init__.py``, tests) or
obey (its configuration) needs consent as the papers' modules do. Without it it is refused by name.

The plugin is loaded at every start of pytest, so that it imports nothing until an audit is
collected.
"""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from glob import glob
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from reproaudit.audit.model import TierName
    from reproaudit.report.parts import ClaimPart
    from reproaudit.service.notebook import PaperScorecard

MARK = "reproaudit"
PREFIX = "reproaudit_"
"""The beginning of the names of a claim's properties, which JUnit shows and the summary reads."""

_BY_USER = "by the user"
"""What workers of pytest-xdist get as ``--reproaudit-trust``, since they see no command line."""

_AUDIT_NAME = re.compile(r"[a-z][a-z0-9_]*\.ya?ml")  # ``<slug>.run.yaml`` beside it is none


@dataclass
class ClaimTests:
    """The options of the plugin during one start of pytest, and the scorecards that they gave."""

    paths: tuple[Path, ...]
    measurements: tuple[Path, ...]
    store: Path
    tier: TierName | None
    run: bool
    trust: bool
    fail_on: frozenset[str]
    summary: Path | None
    _cards: dict[tuple[Path, str], PaperScorecard | Exception | None] = field(default_factory=dict)

    def covers(self, file: Path) -> bool:
        """True if a file is one of the audits that were asked for."""
        return bool(_AUDIT_NAME.fullmatch(file.name)) and any(
            file == path or file.parent == path for path in self.paths
        )

    def scorecard(self, file: Path, claim: str) -> PaperScorecard | None:
        """Return a claim's scorecard, None if nothing was measured, or raise one error for all."""
        key = (file, claim if self.run else "")
        if key not in self._cards:
            from reproaudit.errors import AuditError

            try:
                self._cards[key] = self._judged(file, claim)
            except AuditError as error:
                self._cards[key] = error
        known = self._cards[key]
        if isinstance(known, Exception):
            raise known
        return known

    def _judged(self, file: Path, claim: str) -> PaperScorecard | None:
        from reproaudit import api

        if self.measurements:
            folder = self._measured.get(file.stem)
            return None if folder is None else api.judge_measurements(file, folder)
        if self.run:
            return api.run_paper(
                file,
                tier=self.tier or "quick",
                claims=[claim],
                store=self.store,
                trust=self.trust,
                ask=lambda _question: False,  # pytest has taken the terminal
                remedy="pass --reproaudit-trust",
            )
        from reproaudit.audit.model import TIERS
        from reproaudit.store.choosing import has_records
        from reproaudit.store.records import Store

        store = Store(self.store)
        tiers = [self.tier] if self.tier else reversed(TIERS)
        tier = next((tier for tier in tiers if has_records(store, file.stem, tier)), None)
        return None if tier is None else api.open_scorecard(file, tier=tier, store=self.store)

    def folder_around(self, place: Path, root: Path | None = None) -> Path | None:
        """The folder of audits that a place lies in or, outside a root, leads to; None if none."""
        folders = _folders_of(self.paths)
        below = () if root is None or place.is_relative_to(root) else folders
        ways = (folder for folder in below if folder.is_relative_to(place))
        return _folder_around(place, folders) or next(ways, None)

    @cached_property
    def _measured(self) -> dict[str, Path]:
        from reproaudit.intake.manifest import submission_folders

        folders = [sorted(path.iterdir()) if path.is_dir() else [path] for path in self.paths]
        files = chain.from_iterable(folders)
        slugs = [file.stem for file in files if _AUDIT_NAME.fullmatch(file.name)]
        return submission_folders(self.measurements, slugs)


STATE: pytest.StashKey[ClaimTests] = pytest.StashKey()


# --- options --------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, and the settings in pytest's configuration that stand for them."""
    group = parser.getgroup("reproaudit", "claims of papers as tests")

    measurements = ("--reproaudit-measurements", "--measurements")
    for names, metavar, about in (
        (("--reproaudit",), "PATH", "an audit, or a folder of audits, to test; with ="),
        (measurements, "DIR", "judge the measurements in this folder (docs/measurements.md)"),
    ):
        text = f"{about}; may be repeated"
        group.addoption(*names, action="append", default=[], metavar=metavar, help=text)
    for name, metavar, about in (
        ("store", "DIR", "judge the records of this store (runs)"),
        ("tier", "TIER", "the tier of the records: smoke, quick or paper"),
        ("fail-on", "NAMES", "outcomes on which a claim fails, joined by commas"),
        ("summary", "FILE", "add a table of the claims to this file: $GITHUB_STEP_SUMMARY"),
    ):
        group.addoption(f"--reproaudit-{name}", metavar=metavar, help=about)
    for name, about in (
        ("only", "collect the audits, and nothing else"),
        ("run", "run what is missing of the tier (quick) before judging; needs the extra run"),
        ("trust", "allow the Python files beside the audits to run, this once"),
    ):
        group.addoption(f"--reproaudit-{name}", action="store_true", help=about)
    parser.addini("reproaudit", "audits, or folders of audits", type="paths", default=[])
    parser.addini("reproaudit_measurements", "folders of measurements", type="paths", default=[])
    parser.addini("reproaudit_store", "the folder of records", default="")
    parser.addini("reproaudit_tier", "the tier of the records", default="")
    parser.addini("reproaudit_fail_on", "outcomes that fail", type="args", default=[])


def _named(config: pytest.Config, options: Namespace) -> tuple[list[Path], list[Path]]:
    """The audits that the command line names; and these, or else those of the configuration."""
    given = [config.invocation_params.dir / path for path in options.reproaudit]
    return given, given or list(config.getini("reproaudit"))


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Refuse a configuration and conftests of audits' folders, before pytest loads the latter."""
    options = early_config.known_args_namespace
    folders = _folders_of(_named(early_config, options)[1])
    if not folders:
        return
    from reproaudit.errors import AuditError

    trust = _is_trusted(early_config, options)
    foreign = [*_configuration(early_config, options, folders)]
    foreign += () if options.noconftest else _conftests(early_config, options, folders)
    try:
        for file, folder in foreign:
            _require_consent(file, folder, trust)
    except AuditError as error:
        raise pytest.UsageError(f"reproaudit: {error}") from error


def _is_trusted(config: pytest.Config, options: Namespace) -> bool:
    """Whether the user allows code on the command line or in the environment; no file may do so."""
    if options.reproaudit_trust == _BY_USER:
        return True
    words = [*config.invocation_params.args, *os.environ.get("PYTEST_ADDOPTS", "").split()]
    return "--reproaudit-trust" in words


def _require_consent(file: Path, folder: Path, trust: bool) -> None:
    from reproaudit.consent import require_consent_to

    remedy = "keep audits in a folder of their own, or pass --reproaudit-trust"
    require_consent_to(file, folder, trust=trust, remedy=remedy)


def _configuration(
    config: pytest.Config, options: Namespace, folders: Sequence[Path]
) -> Iterator[tuple[Path, Path]]:
    """The configuration in use, with a folder of audits, if it lies there or was found from there.

    An option of ours that is written without ``=`` is a path to look from, since pytest does not
    know the option yet.
    """
    file = config.inipath
    if file is None:
        return
    is_named = bool(options.inifilename or options.file_or_dir)
    from_here = is_named or config.invocation_params.dir.is_relative_to(file.parent)
    folder = _folder_around(file, folders) or (None if from_here else folders[0])
    if folder is not None:
        yield file, folder


def _conftests(
    config: pytest.Config, options: Namespace, folders: Sequence[Path]
) -> Iterator[tuple[Path, Path]]:
    """The conftests that pytest loads first, each with the folder of audits around it."""
    here = config.invocation_params.dir
    named = [here / argument.split("::")[0] for argument in options.file_or_dir]
    usual = [
        Path(place)
        for path in config.getini("testpaths")
        for place in glob(str(config.rootpath / path))
    ]
    anchors = [here, *folders, *named, *usual]
    near = [place for anchor in anchors for place in (anchor, *anchor.glob("test*"))]
    for place in dict.fromkeys(above for start in near for above in (start, *start.parents)):
        folder = _folder_around(place, folders)
        if folder is not None and (place / "conftest.py").is_file():
            yield place / "conftest.py", folder


def _folders_of(paths: Sequence[Path]) -> list[Path]:
    return [path if path.is_dir() else path.parent for path in paths]


def _folder_around(place: Path, folders: Sequence[Path]) -> Path | None:
    """The folder that a place lies in, by its name or by where its links lead; None if in none."""
    names = (Path(os.path.abspath(place)), place.resolve())
    return next(
        (
            folder
            for folder in folders
            for name in names
            if name.is_relative_to(os.path.abspath(folder)) or name.is_relative_to(folder.resolve())
        ),
        None,
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the options; a mistake in them ends pytest with one line and exit code 4."""
    config.addinivalue_line("markers", f"{MARK}: a claim of a paper, judged by its audit")
    here = config.invocation_params.dir
    given, paths = _named(config, config.option)
    if not paths:
        return
    from reproaudit.audit.model import known_tier
    from reproaudit.errors import UsageError
    from reproaudit.service.notebook import DEFAULT_FAIL_ON, known_outcomes

    folders = [here / path for path in config.getoption("reproaudit_measurements")]
    folders = folders or list(config.getini("reproaudit_measurements"))
    for path in (*paths, *folders):
        if not path.exists():
            raise pytest.UsageError(f"reproaudit: {path}: no such file or folder")
    store, tier = (
        config.getoption(name) or config.getini(name)
        for name in ("reproaudit_store", "reproaudit_tier")
    )
    fail_on = config.getoption("reproaudit_fail_on")
    names = config.getini("reproaudit_fail_on") if fail_on is None else [fail_on]
    option = "--reproaudit-tier"
    try:
        known = known_tier(tier) if tier else None
        option = "--reproaudit-fail-on"
        outcomes = known_outcomes(",".join(names)) or DEFAULT_FAIL_ON
    except UsageError as error:
        raise pytest.UsageError(f"{option}: {error}") from error
    trust = _is_trusted(config, config.option)
    config.option.reproaudit_trust = _BY_USER if trust else False
    summary = config.getoption("reproaudit_summary")
    config.stash[STATE] = ClaimTests(
        paths=tuple(path.resolve() for path in paths),
        measurements=tuple(folders),
        store=here / (store or "runs"),
        tier=known,
        run=config.getoption("reproaudit_run"),
        trust=trust,
        fail_on=outcomes,
        summary=here / summary if summary else None,
    )
    _collect_also(config, given, paths)


def _collect_also(config: pytest.Config, given: list[Path], paths: list[Path]) -> None:
    """Adds the audits to what pytest collects, unless its own arguments choose among them."""
    chosen = config.args_source is pytest.Config.ArgsSource.ARGS
    if config.getoption("reproaudit_only") and not hasattr(config, "workerinput"):
        if chosen:
            named_too = " ".join(config.args)
            raise pytest.UsageError(f"--reproaudit-only collects the audits alone, not {named_too}")
        config.args[:] = map(str, paths)
        return
    if chosen and not given:
        return
    here = config.invocation_params.dir
    named = [(here / argument.split("::")[0]).resolve() for argument in config.args]
    for path in paths:
        place = path.resolve()
        inside = any(argument.is_relative_to(place) for argument in named)
        around = any(place.is_relative_to(argument) for argument in named)
        if not inside and not around:
            config.args.append(str(path))


# --- items ----------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collects an audit that was asked for; what else would be run beside it needs consent."""
    collectors = yield
    state = parent.config.stash.get(STATE, None)
    if state is None:
        return collectors
    if state.covers(file_path):
        return [*collectors, AuditFile.from_parent(parent, path=file_path)]
    folder = state.folder_around(file_path)
    why = _refusal(state, file_path, folder) if collectors and folder else ""
    return [_Refused.about(why, parent, file_path)] if why else collectors


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects a folder of audits, one below, or one on the way, without running its code."""
    state = parent.config.stash.get(STATE, None)
    folder = state.folder_around(path, parent.config.rootpath) if state else None
    if state is None or folder is None:
        return None
    conftest = path / "conftest.py"
    is_loaded = parent.config.pluginmanager.has_plugin(str(conftest))
    if conftest.is_file() and not (is_loaded or parent.config.getoption("noconftest")):
        why = _refusal(state, conftest, folder)
        return _Refused.about(why, parent, path) if why else None
    start = path / "__init__.py"
    is_refused = start.is_file() and _refusal(state, start, folder)
    return pytest.Dir.from_parent(parent, path=path) if is_refused else None


def _refusal(state: ClaimTests, file: Path, folder: Path) -> str:
    """Why a file in or near a folder of audits may not run; empty if it may."""
    from reproaudit.errors import AuditError

    try:
        _require_consent(file, folder, state.trust)
    except AuditError as error:
        return str(error)
    return ""


class _Refused(pytest.File):
    """A file that is not collected, since nobody has allowed it to run: an error that says so."""

    _why = ""

    @classmethod
    def about(cls, why: str, parent: pytest.Collector, path: Path) -> _Refused:
        refused: _Refused = cls.from_parent(parent, path=path)
        refused._why = why
        return refused

    def collect(self) -> Iterator[pytest.Item]:
        raise self.CollectError(self._why)


class AuditFile(pytest.File):
    """An audit, whose claims are its tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yields an item for each claim of the paper; a CollectError lists the audit's faults."""
        from reproaudit.audit.loading import load_audit
        from reproaudit.errors import SpecError

        try:
            audit = load_audit(self.path)
        except SpecError as error:
            raise self.CollectError(str(error)) from error
        lines = self.path.read_text(encoding="utf-8").splitlines()
        for claim in (claim for claim in audit.claims if not claim.ours):
            stated = re.compile(rf"\bid:\s*[\"']?{re.escape(claim.id)}[\"']?\s*(,|\}}|#|$)")
            line = next((n for n, text in enumerate(lines) if stated.search(text)), 0)
            yield ClaimItem.from_parent(self, name=claim.id, line=line)


class ClaimItem(pytest.Item):
    """One claim as a test: judged when it is set up, passed, failed or skipped when it runs."""

    def __init__(self, *, line: int, **more: Any) -> None:
        super().__init__(**more)
        self._line = line
        self._state = self.config.stash[STATE]
        self._card: PaperScorecard | None = None
        self.add_marker(MARK)

    def setup(self) -> None:
        """Judges the claim; an error if the measurements do not fit, or may not be made."""
        from reproaudit.errors import AuditError

        try:
            self._card = self._state.scorecard(self.path, self.name)
        except AuditError as error:
            pytest.fail(str(error), pytrace=False)
        if self._card is not None:
            self.user_properties += list(_properties(self._card.told(self.name)))

    def runtest(self) -> None:
        """Passes if the claim is supported, fails on chosen outcomes, is skipped otherwise."""
        from reproaudit.formats.outcomes import look
        from reproaudit.formats.verdict import Outcome
        from reproaudit.report.parts import claim_details

        if self._card is None:
            missing = f"not tested: {self._lacking()}"
            if "not tested" in self._state.fail_on:
                pytest.fail(f"{self.name}: {missing}", pytrace=False)
            _skip(missing)
            return
        claim = self._card.told(self.name)
        if claim.answer.outcome in self._state.fail_on:
            lines = [f"{self.name}: {_words(claim)}", *claim_details(claim)]
            pytest.fail("\n  ".join(lines), pytrace=False)
        if look(claim.answer.outcome).test != "passed":
            _skip(_words(claim))
        if claim.answer.outcome is Outcome.DEPENDS:
            self.add_report_section("call", "claim", f"{self.name}: {_words(claim)}")

    def _lacking(self) -> str:
        slug = self.path.stem
        state = self._state
        if state.measurements:
            return f"no measurements of {slug} in {', '.join(map(str, state.measurements))}"
        tier = f" at the {state.tier} tier" if state.tier else ""
        return (
            f"no records of {slug}{tier} in {state.store}; give --measurements, or --reproaudit-run"
        )

    def reportinfo(self) -> tuple[Path, int, str]:
        """Returns the audit's file, the claim's line from 0, and a heading."""
        return self.path, self._line, f"claim {self.name}"


def _skip(reason: str) -> None:
    raise pytest.skip.Exception(reason, _use_item_location=True)


def _words(claim: ClaimPart) -> str:
    from reproaudit.report.parts import certainty_words

    answer = f"{claim.answer.outcome}, {claim.words.runs}: {claim.line.text}"
    return f"{answer}; {certainty_words(claim)}"


def _properties(claim: ClaimPart) -> Iterator[tuple[str, str]]:
    from reproaudit.service.notebook import claim_cells

    names = ("claim", "outcome", "certainty", "runs", "effect")
    for name, cell in zip(names, claim_cells(claim), strict=True):
        yield PREFIX + name, cell


# --- the summary ----------------------------------------------------------------------------------


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Names the claims that passed and hang on a choice."""
    dependent = [
        text
        for report in terminalreporter.stats.get("passed", [])
        for title, text in report.sections
        if title == "Captured claim call"
    ]
    if dependent:
        terminalreporter.section("claims that depend on a choice")
        for text in dependent:
            terminalreporter.write_line(text)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Gathers results for the summary, in the process that hears of all of them."""
    state = session.config.stash.get(STATE, None)
    if (
        state is not None
        and state.summary is not None
        and not hasattr(session.config, "workerinput")
    ):
        session.config.pluginmanager.register(_Summary(state.summary), "reproaudit-summary")


class _Summary:
    """Adds a table of claims to a Markdown file when the session ends."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rows: dict[str, tuple[str, ...]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if MARK not in report.keywords or (report.when != "call" and report.passed):
            return
        if report.when == "teardown":
            return
        properties = dict(report.user_properties)
        shown = ("outcome", "certainty", "runs", "effect")
        *cells, effect = (str(properties.get(PREFIX + name, "")) for name in shown)
        outcome = "error" if report.failed and report.when != "call" else report.outcome
        whole = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        first = next(iter(str(whole).splitlines()), "")
        self._rows[report.nodeid] = (report.nodeid, outcome, *cells, effect or first)

    def pytest_sessionfinish(self) -> None:
        from reproaudit.service.notebook import claims_table

        columns = ("Claim", "Test", "Outcome", "Certainty", "Runs", "Effect against bound")
        counts = Counter(row[1] for row in self._rows.values())
        words = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        text = claims_table(f"Claims: {words or 'none tested'}", columns, [*self._rows.values()])
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
