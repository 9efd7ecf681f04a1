"""The service prints nothing and asks through callbacks; its models are what ``--json`` prints."""

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reproaudit
from measured import every_run
from miniatures import write_paper
from reproaudit.audit.model import VariableName
from reproaudit.cli import run_command
from reproaudit.cli.output import printed_json
from reproaudit.consent import ConsentError, Permission
from reproaudit.report.files import json_data
from reproaudit.run.events import CellFinished, WorkStarted
from reproaudit.service.check import check_audits
from reproaudit.service.judge import judge_folder
from reproaudit.service.listing import summaries_of
from reproaudit.service.plan import plan_audit
from reproaudit.service.report import report_papers, scorecards_data
from reproaudit.service.review_files import review_audit
from reproaudit.service.run import How, Papers, run_papers
from reproaudit.service.verify import prune_store, verify_store
from reproaudit.service.workspace import Workspace
from reproaudit.store.memory import most_memory

SERVICE = Path(reproaudit.__file__).parent / "service"
CONSOLE = {"print", "input", "stdout", "stderr", "stdin", "say", "cli", "Console", "rich"}
"""Names of what writes to a terminal or reads from it."""


def names_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every name that code says or imports, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.Import | ast.ImportFrom):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                yield from ((node.lineno, word) for word in f"{module}.{alias.name}".split("."))


def test_nothing_in_service_writes_to_a_terminal():
    said = {
        f"{file.name}:{line}": name
        for file in sorted(SERVICE.glob("*.py"))
        for line, name in names_in(ast.parse(file.read_text(encoding="utf-8")))
        if name in CONSOLE
    }
    assert not said


@pytest.mark.parametrize(
    "code",
    ["print(1)", "import sys\nsys.stdout.write('')", "from reproaudit.cli.output import say"],
)
def test_a_line_that_writes_is_noticed(code):
    assert CONSOLE & {name for _, name in names_in(ast.parse(code))}


def allowed(place: Workspace) -> Papers:
    return place.allowed(["mini"], Permission(trust=True))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, measured_here: None) -> Workspace:
    folder = tmp_path_factory.mktemp("place")
    write_paper(folder / "audits")
    place = Workspace(folder / "audits", folder / "runs")
    ran = run_papers(allowed(place), "smoke", How(place.records, jobs=1), pages=place.pages)
    assert ran.failed == 0
    return place


SAME: dict[str, Callable[[Workspace], Any]] = {
    "list": lambda place: summaries_of(place.select(everything=True), place.store, place.pages),
    "check mini": lambda place: check_audits(["mini"], place.catalog),
    "plan mini": lambda place: plan_audit(place, "mini"),
    "report mini": lambda place: scorecards_data(
        report_papers(place, place.select(["mini"])).scorecards
    ),
    "verify mini": lambda place: verify_store(place.catalog, place.records, ["mini"]),
    "prune mini --dry-run": lambda place: prune_store(place.records, ["mini"], dry_run=True),
    "run mini --tier smoke": lambda place: scorecards_data(
        run_papers(allowed(place), "smoke", How(place.records), pages=place.pages).scorecards
    ),
}
"""By command line, the function that stands for it."""


@pytest.mark.parametrize("words", SAME)
def test_a_model_is_what_the_command_prints_as_json(words, place, capsys):
    model = SAME[words](place)
    assert capsys.readouterr() == ("", "")
    audits = [] if words.startswith("prune") else ["--audits", str(place.audits)]
    where = [] if words.startswith("check") else ["--store", str(place.store)]
    assert run_command([*words.split(), "--json", *audits, *where]) == 0
    data = printed_json(getattr(model, "data", model))
    assert json.loads(capsys.readouterr().out) == json.loads(data)


def test_a_shell_follows_the_work_through_its_callbacks(place):
    events: list[object] = []
    cards: list[str] = []
    ran = run_papers(
        allowed(place),
        "smoke",
        How(place.records, jobs=1, fresh=True),
        on_event=events.append,
        on_card=lambda card: cards.append(card.paper.slug),
    )
    assert isinstance(events[0], WorkStarted)
    assert [audit.paper.slug for audit in events[0].audits] == ["mini"]
    assert sum(isinstance(event, CellFinished) for event in events) == 7
    assert cards == [card.paper.slug for card in ran.scorecards] == ["mini"]
    assert ran.written == []
    held = most_memory(place.store, "mini", "smoke")
    assert held is not None
    assert 10**7 < held < 10**12


def test_consent_is_asked_for_through_the_callback(place, monkeypatch, tmp_path):
    monkeypatch.setenv("REPROAUDIT_TRUST", "0")
    monkeypatch.setenv("REPROAUDIT_TRUST_FILE", str(tmp_path / "trust"))
    with pytest.raises(ConsentError, match=r"pass trust=True"):
        check_audits(["mini"], place.catalog, run=True)
    named: list[str] = []
    questions: list[str] = []

    def ask(question: str) -> bool:
        questions.append(question)
        return True

    permission = Permission(ask=ask, on_code=named.append)
    assert check_audits(["mini"], place.catalog, True, permission).errors == 0
    assert len(questions) == len(named) == 1
    assert named[0].startswith("mini: the code of ")


def test_a_slug_is_no_path_and_a_path_no_slug(place):
    assert place.audits is not None
    file = place.audits / "mini.yaml"
    assert place.entry(file) == place.entry("mini")
    with pytest.raises(reproaudit.UsageError, match="unknown paper"):
        place.entry(str(file))
    with pytest.raises(reproaudit.UsageError, match="no such file"):
        place.entry(Path("mini"))


def test_measurements_are_judged_with_what_reviewers_say_by_every_door(place, tmp_path, capsys):
    audits = write_paper(tmp_path / "audits")
    own = Workspace(audits, tmp_path / "runs", place.pages)
    review_audit(own, own.entry("mini"), "R. Reviewer", ["Open Datasets=agree: It is there."])
    measured = tmp_path / "measured"
    reproaudit.write_measurements(measured, audits / "mini.yaml", every_run())
    judged = judge_folder(own.entry("mini"), measured)
    decisions = judged.scorecard.reviews.variables[VariableName.OPEN_DATASETS]
    assert [decision.reviewer for decision in decisions] == ["R. Reviewer"]
    by_api = reproaudit.judge_measurements(audits / "mini.yaml", measured)
    assert by_api == reproaudit.PaperScorecard.of(judged.scorecard)
    command = ["judge", "mini", "--measurements", str(measured), "--audits", str(audits), "--json"]
    assert run_command(command) == 0
    assert json.loads(capsys.readouterr().out) == json_data(judged.scorecard)
