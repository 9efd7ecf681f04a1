"""The command line: exit codes, one-line messages, and what is printed where."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from miniatures import ENVIRONMENT, aligns, audit_data, claim, run_program, setting, write_paper
from reproaudit import __version__, cli
from reproaudit import api as ra
from reproaudit.audit.schema import schema_text
from reproaudit.cli import run_command
from reproaudit.cli.options import FORMATS_HELP, parse_duration, parse_seeds, parse_size
from reproaudit.cli.showing import EXPORTS_HELP
from reproaudit.errors import UsageError
from reproaudit.report.export.registry import EXPORTS
from reproaudit.report.files import FORMATS
from reproaudit.scorecard import answers
from reproaudit.service import listing
from reproaudit.service.run import parse_setting

pytestmark = pytest.mark.usefixtures("measured_here")

CONTRACT = "schema_version tier claims figures records made earlier_results audit reviews"
CLAIM_CONTRACT = """
    id outcome level reasons base cannot_fail proxy grades support notes readings controls ablations
    positive_control alternatives
"""


class Place:
    """A working folder with a paper, a store and a report folder, and what commands say there."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.store, self.out = folder / "runs", folder / "reports"
        self.audits = write_paper(folder / "audits")

    def __call__(self, command: str, *arguments: str, store: bool = True) -> tuple[int, str, str]:
        """Exit code, output and errors of a command on the paper's folder and store."""
        known: list[str] = []
        if command != "schema":
            known += ["--audits", str(self.audits)]
        if store and command in ("run", "report", "list"):
            known += ["--store", str(self.store)]
        if command == "report":
            known += ["--out", str(self.out)]
        code = run_command([command, *arguments, *known])
        said = self._capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err


@pytest.fixture
def at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Place:
    monkeypatch.setenv("COLUMNS", "100")
    return Place(tmp_path, capsys)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, measured_here: None) -> Path:
    """A folder in which the quick tier has been run; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("finished")
    audits = write_paper(folder / "audits")
    stores = ["--store", str(folder / "runs"), "--audits", str(audits)]
    assert run_command(["run", "mini", *stores]) == 0
    return folder


@pytest.fixture
def done(finished: Path, at: Place) -> Place:
    at.store, at.audits = finished / "runs", finished / "audits"
    return at


# --- a user's mistakes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["run", "minj"], "unknown paper 'minj'. Did you mean 'mini'?"),
        (["run"], "name a paper, or --all."),
        (["report"], "name a paper, or --all."),
        (["run", "mini", "--tier", "quik"], "no tier 'quik'. Did you mean 'quick'?"),
        (["report", "mini", "--tier", "custom"], "no tier 'custom'."),
        (["run", "mini", "--fail-on", "not-suported"], "Did you mean 'not-supported'?"),
        (["report", "mini", "--fail-on", "bad"], "--fail-on: no outcome 'bad'."),
        (["report", "mini", "--fail-on", ", "], "--fail-on: found no outcome in ', '; expected"),
        (["report", "mini", "--format", "pdf"], "no format 'pdf'."),
        (["run", "mini", "--seeds", "4-0"], "--seeds: found '4-0'. Write 0-4, or 7,9,20-22."),
        (["run", "mini", "--seeds", "0-99999"], "more than 10000 seeds"),
        (["run", "mini", "--experiment", "decsent"], "Did you mean 'descent'?"),
        (["run", "mini", "--set", "stepz=3"], "has no such setting. Did you mean 'steps'?"),
        (["run", "mini", "--set", "steps="], "found nothing; expected a value or a list"),
        (["run", "mini", "--set", "steps={a: 1}"], "expected a value or a list"),
        (
            ["run", "mini", "--experiment", "descent", "--set", "steps=many"],
            "setting 'steps' = 'many'",
        ),
        (["run", "mini", "--experiment", "guessed", "--set", "outcome=up"], "setting 'outcome'"),
        (["run", "mini", "--set", "decsent.steps=3", "--set", "descent.steps=4"], "decsent.steps"),
        (
            ["run", "mini", "--cell-timeout", "soon"],
            "--cell-timeout: found 'soon'. Write 90s, 10m or 1.5h.",
        ),
        (["run", "mini", "--memory", "4X"], "--memory: found '4x'. Write a number of bytes, 500M"),
        (["run", "mini", "--data-dir", "nowhere"], "dir 'nowhere' does not exist."),
        (["run", "mini", "--device", "gpu"], "gpu"),
        (["run", "mini", "--jobs", "0"], "--jobs"),
        (["run", "mini", "--jobs", "99999999"], "--jobs"),
        (["run", "mini", "--memory", "9" * 400], "--memory: found '999"),
        (["run", "mini", "--set", "steps=2001-99-99"], "found 2001-99-99; expected a value"),
        (["run", "mini", "--set", 'steps="\\UFFFFFFFF"'], "expected a value or a list"),
        (["run", "mini", "--set", f"steps=0x{'9' * 8000}"], "numbers below 2^63"),
        (["check", "absent.yaml"], "absent.yaml"),
        (["check", "no/audits"], "no/audits:1:1: found no readable file"),
    ],
    ids=lambda one: " ".join(one)[:60] if isinstance(one, list) else "",
)
def test_a_mistake_is_one_line_and_exit_code_2(at, command, text):
    code, out, errors = at(*command)
    assert code == 2
    assert text in out + errors
    said = [line for line in errors.strip().splitlines() if " will run" not in line]
    assert len(said) == (0 if out else 1), errors
    assert not at.store.exists(), "nothing was run"


def test_help_version_and_schema(capsys):
    for words, code, says in (
        ([], 2, "Usage: reproaudit"),
        (["--help"], 0, "Usage: reproaudit"),
        (["--version"], 0, f"reproaudit {__version__}\n"),
        (["schema"], 0, schema_text()),
    ):
        assert run_command(words) == code
        assert says in "".join(capsys.readouterr())


def test_a_bad_audit_tells_every_fault(at):
    data = audit_data()
    data["claims"][1]["headline"][0]["from"] = "us"
    data["paper"]["year"] = "2023"
    at.audits = write_paper(at.folder / "bad", **data)
    for command in (["run", "mini"], ["report", "mini"], ["list"]):
        code, _, errors = at(*command)
        assert code == 2
        for fault in ("claims[1].headline[0].from", "paper.year"):
            assert fault in errors
        assert "Did you mean 'ours'?" in errors
    code, out, _ = at("check", "--json")
    assert code == 2
    faults = json.loads(out)
    assert {f["severity"] for f in faults} >= {"error"}
    assert all(f["line"] > 0 and f["column"] > 0 for f in faults)


def test_a_file_in_the_place_of_the_reports(done):
    done.out.write_text("in the way")
    code, _, errors = done("report", "mini", "--format", "json")
    assert (code, "a file stands where a folder is needed" in errors) == (2, True)


def test_a_report_without_records(at):
    code, _, errors = at("report", "mini")
    assert code == 2
    assert "no records of mini, and none came with a report in" in errors
    assert errors.strip().endswith("Make them with: reproaudit run mini")
    code, _, errors = at("report", "mini", "--tier", "paper")
    assert errors.strip().endswith("Make them with: reproaudit run mini --tier paper")


def test_values_of_options():
    assert parse_seeds("7,9,20-22") == (7, 9, 20, 21, 22)
    assert parse_seeds(" 3 , 3,2-3") == (3, 2)
    for text in ("", ",", "1-", "-", "1--2", "1.5", "0x1", "1,,2", "٣" * 20):
        with pytest.raises(UsageError, match=r"Write 0-4, or 7,9,20-22\."):
            parse_seeds(text)
    assert [parse_duration(one) for one in ("90", "90s", " 10m", "1.5h")] == [90, 90, 600, 5400]
    assert [parse_size(one) for one in ("7", "500mb", "4G", "4 KB")] == [7, 5e8, 4e9, 4e3]
    values = {"1": 1, "1.5": 1.5, "1e-3": 1e-3, "true": True, "word": "word", "'1'": "1"}
    for text, value in {**values, "[x, y]": ("x", "y"), "b=c": "b=c"}.items():
        name, found = parse_setting(f"b.a={text}")
        assert (name, found, type(found)) == ("b.a", value, type(value))
    for text in ("a", "=1", "A=1", "a=", "a=[]", "a=[[1]]", "a=2020-01-01", "a=[1", "a.b.c=1"):
        with pytest.raises(UsageError, match="--set"):
            parse_setting(text)


# --- runs ---------------------------------------------------------------------------------------


def test_a_run_prints_the_scorecard_and_its_json_is_the_contract(done):
    code, out, errors = done("run", "mini", "--json")
    assert code == 0
    assert "all 35 cells have records already" in errors
    card = json.loads(out)
    assert card.keys() >= set(CONTRACT.split())
    for one in card["claims"]:
        assert one.keys() >= set(CLAIM_CONTRACT.split())
        assert [run["seed"] for run in one["base"]["runs"]] == [0, 1, 2, 3, 4]
        assert {len(each["values"]) for each in one["base"]["estimates"]} == {5}
    code, out, _ = done("run", "mini")
    assert code == 0
    lines = out.splitlines()
    for name in ("supported", "contradicted", "guessed", "vacuous"):
        assert f"[{name}]" in out, name
    assert len(lines) <= 30
    assert "control: " not in out, "arms are for --verbose"
    page = done.store.parent / "reports" / "quick" / "mini" / "scorecard.html"
    assert f"wrote {page}" in lines
    assert page.is_file()
    code, out, _ = done("run", "mini", "--verbose", "--out", str(done.folder / "elsewhere"))
    assert code == 0
    assert "    control: stays, 0 of 5" in out
    assert f"wrote {done.folder / 'elsewhere/quick/mini/scorecard.html'}" in out.splitlines()


def test_all_papers_are_shown_on_one_screen_and_counted(done):
    write_paper(done.audits, "other")
    assert done("run", "other")[0] == 0
    code, out, _ = done("report", "mini", "other", "--all", "--tier", "quick")
    assert code == 0
    assert "The paper's own claims" not in out, "details are for papers by name"
    last = out.splitlines()
    assert any(line.startswith("8 claims: ") for line in last), out
    (done.audits / "other.yaml").unlink()
    (done.audits / "other.py").unlink()
    _, detailed, _ = done("report", "mini", "--tier", "quick")
    assert "The paper's own claims" in detailed


@pytest.mark.process
def test_progress_in_a_file_is_a_plain_line_now_and_then(tmp_path):
    audits = write_paper(tmp_path, settings={"pause": setting(0.2)})
    where = ["--audits", str(audits), "--store", str(tmp_path / "runs"), "--jobs", "1"]
    code, _, errors = run_program(["run", "mini", "--tier", "smoke", *where])
    assert code == 0
    assert not {"\x1b", "\r"} & set(errors)
    first, *told, last = [line for line in errors.splitlines() if "will run" not in line]
    assert first == "7 cells, 0 have records already"
    assert last == "7/7 cells have records now"
    form = re.compile(r"(importing|measuring|compiling): (\d)/7 cells(, about \d+ s left)?(; .+)?$")
    matches = [form.match(line) for line in told if not line.startswith("judging")]
    assert all(matches), told
    assert 5 <= len(told) <= 25
    finished = [int(match[2]) for match in matches if match]
    assert finished == sorted(finished)
    assert any(match[3] for match in matches if match)
    for part in ("own: descent, seed 0: ", "control stays: descent, ", "positive control built: "):
        assert any(f"; {part}" in line for line in told), part


def test_fail_on(done):
    for command in ("run", "report"):
        assert done(command, "mini", "--fail-on", "undecided,error")[0] == 0
        assert done(command, "mini", "--fail-on", "not-supported")[0] == 1
        assert done(command, "mini", "--fail-on", "error,uninformative")[0] == 1


def test_a_failed_cell_is_exit_code_3_and_is_tried_twice_in_all(at):
    at.audits = write_paper(
        at.folder / "failing",
        settings={"outcome": {"value": "fails", "source": "paper", "locator": "x"}},
    )
    for tries in (35, 0):
        code, out, errors = at("run", "mini", "--json")
        assert code == 3
        assert errors.count("run again: RuntimeError: out of order") == tries
        assert errors.count("to try this one anew") == (tries == 0)
        assert {one["outcome"] for one in json.loads(out)["claims"]} == {"error"}
    assert "mini · reduced scale · 35 runs (35 failed), " in at("run", "mini")[1]
    assert at("report", "mini", "--fail-on", "error")[0] == 1
    assert at("report", "mini")[0] == 0


def test_a_run_that_diverges(at):
    """A run that diverges says no."""
    diverges = {"value": "diverges", "source": "paper", "locator": "x"}
    at.audits = write_paper(at.folder / "wild", settings={"outcome": diverges})
    code, out, errors = at("run", "mini", "--json")
    assert code == 0
    assert "diverged" in errors
    assert "NaN" not in out
    card = json.loads(out)
    assert (card["records"]["diverged"], card["records"]["completed"]) == (35, 0)
    said = [run["status"] for one in card["claims"] for run in one["base"]["runs"]]
    assert said == ["no"] * 5 * len(card["claims"])
    for _ in range(2):  # the second time every record is there
        code, out, _ = at("run", "mini", "--tier", "smoke")
        assert code == 3
        assert "mini · smoke: nothing is judged · 7 runs (7 diverged)" in out


def test_custom_runs_feed_no_answer(at):
    assert at("run", "mini")[0] == 0
    _, before, _ = at("report", "mini", "--json", "--format", "terminal")
    chosen = ["run", "mini", "--seeds", "7,9", "--set", "level=0.9", "--set", "guessed.steps=3"]
    code, out, _ = at(*chosen, "--set", "steps=10", "--json")
    assert code == 0
    values = [(r["tier"], r["experiment"], r["seed"], r["settings"]) for r in json.loads(out)]
    assert [(*one[:3], one[3]["level"], one[3]["steps"]) for one in values] == [
        ("custom", name, seed, 0.9, steps)
        for name, steps in (("descent", 10), ("guessed", 3))  # what names an experiment wins
        for seed in (7, 9)
    ]
    code, out, _ = at(*chosen, "--set", "outcome=fails")
    assert code == 3
    assert "failed (RuntimeError: out of order" in out
    code, out, _ = at(*chosen)
    assert "Custom records feed no answer of a tier." in out
    assert "→" in out
    _, after, _ = at("report", "mini", "--json", "--format", "terminal")
    assert json.loads(after) == json.loads(before)


# --- reports ------------------------------------------------------------------------------------


def test_a_report_writes_every_format_and_an_index(done):
    code, out, _ = done("report", "mini")
    assert code == 0
    folder = done.out / "quick" / "mini"
    pages = {f"scorecard.{x}" for x in ("html", "json", "md")}
    assert {f.name for f in folder.iterdir()} == {*pages, "badge.svg", "badges"}
    assert f"wrote {done.out / 'quick' / 'index.html'}" in out
    assert (done.out / "quick" / "index.html").exists()
    assert "✓ Main: the distance vanishes: 5 of 5" in out
    assert f"open: {folder / 'scorecard.html'}" in out.splitlines()
    assert "next: reproaudit multiverse mini (10 cells, about " in out
    code, out, errors = done("report", "mini", "--json", "--tier", "quick")
    assert (code, "wrote" in errors) == (0, True)
    assert json.loads(out) == json.loads((folder / "scorecard.json").read_text())


def test_a_report_of_what_has_not_changed_is_not_made_again(done, monkeypatch):
    made: list[str] = []
    judge = answers.judge

    def counted(audit: Any, *rest: Any) -> Any:
        made.append(audit.paper.slug)
        return judge(audit, *rest)

    monkeypatch.setattr(answers, "judge", counted)
    code, first, _ = done("report", "mini")
    assert (code, made) == (0, ["mini"])
    code, second, _ = done("report", "mini")
    assert (code, made) == (0, ["mini"])
    page = done.out / "quick" / "mini" / "scorecard.html"
    assert "4 files are of today" in second
    lines = [line for line in first.splitlines() if not line.startswith("wrote ")]
    assert [line for line in second.splitlines() if "of today" not in line] == lines
    page.write_text("spoilt")
    done("report", "mini")
    assert made == ["mini"] * 2
    assert page.read_text() != "spoilt"
    audit = done.audits / "mini.yaml"
    audit.write_text(audit.read_text() + "\n# another comment\n")
    done("report", "mini")
    assert made == ["mini"] * 3
    (done.out / "quick" / "index.html").unlink()
    code, out, _ = done("report", "mini")
    assert made == ["mini"] * 3
    assert f"wrote {done.out / 'quick' / 'index.html'}" in out


def test_run_and_report_write_to_the_same_folder_beside_the_store(at, monkeypatch):
    work = at.folder / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    page = at.folder / "reports" / "smoke" / "mini" / "scorecard.html"
    told = ["--audits", str(at.audits), "--store", "../runs"]
    assert run_command(["run", "mini", "--tier", "smoke", *told]) == 0
    page.unlink()
    assert run_command(["report", "mini", *told]) == 0
    assert page.is_file()
    assert list(work.iterdir()) == []
    page.unlink()
    assert run_command(["multiverse", "mini", "--tier", "smoke", *told]) == 0
    assert page.is_file()
    assert list(work.iterdir()) == []
    assert ra.open_scorecard("mini", store="../no-runs", audits=at.audits).tier == "smoke"


def test_a_committed_scorecard_renders_again_without_records(done, tmp_path):
    assert done("report", "mini")[0] == 0
    folder = done.out / "quick" / "mini"
    before = {file.name: file.read_bytes() for file in folder.glob("scorecard.*")}
    assert before.keys() == {f"scorecard.{one}" for one in ("html", "json", "md")}
    for name in ("scorecard.html", "scorecard.md"):
        (folder / name).unlink()
    done.store = tmp_path / "no-runs"
    code, out, _ = done("report", "mini")
    assert (code, "scorecard as it was written" in " ".join(out.split())) == (0, True)
    assert (folder / "scorecard.json").read_bytes() == before["scorecard.json"]
    for text, says in {
        "{": "is not JSON",
        "[]": "scorecard version None, which another version of reproaudit wrote",
        '{"schema_version": 2}': "scorecard version 2, which another version",
        '{"schema_version": 3}': "Make it again from its records: reproaudit report SLUG --tier",
        '{"schema_version": 6}': "this one reads versions 4 and 5",
        '{"schema_version": 4}': "is no scorecard: tier: Field required",
    }.items():
        (folder / "scorecard.json").write_text(text)
        code, _, errors = done("report", "mini")
        assert (code, len(errors.strip().splitlines())) == (2, 1)
        assert says in errors
        assert "scorecard.json" in errors


def test_own_records_and_reports_stand_before_what_came_with_the_installation(
    done, tmp_path, monkeypatch
):
    installed = tmp_path / "installed" / "paper" / "mini" / "scorecard.json"
    for module in (answers, listing):
        monkeypatch.setattr(module, "shipped_reports", lambda: tmp_path / "installed")
    own = done.store
    card = json.loads(done("report", "mini", "--json")[1])
    installed.parent.mkdir(parents=True)
    installed.write_text(json.dumps({**card, "tier": "paper"}))
    done.out = tmp_path / "new" / "reports"
    done.store = tmp_path / "new" / "runs"
    other = {**card["audit"], "paper": {**card["audit"]["paper"], "title": "Another"}}
    installed.write_text(json.dumps({**card, "tier": "paper", "audit": other}))
    assert done("report", "mini")[0] == 2, "another paper of that name is shipped"
    for earlier in (0, 1):  # the second time it is a newer installation
        installed.write_text(json.dumps({**card, "tier": "paper", "earlier_results": earlier}))
        code, out, _ = done("report", "mini")
        says = "this is the scorecard that came with the installation, as it was written"
        assert (code, says in " ".join(out.split())) == (0, True)
        assert "quick" not in out
        copy = json.loads((done.out / "paper" / "mini" / "scorecard.json").read_text())
        assert (copy["earlier_results"], copy["shipped"]) == (earlier, True)
        assert listed(done)["shipped"]
        assert "paper: ✓ 2 ✗ 1 ○ 1 (shipped, no guess was varied)" in done("list")[1]
    assert done("report", "mini", "--tier", "quick")[0] == 2
    done.store = own
    assert json.loads(done("report", "mini", "--json")[1])["tier"] == "quick"
    assert not listed(done)["shipped"]
    quick = "quick: ✓ 2 ✗ 1 ○ 1 (no guess was varied)"
    said = " ".join(done("list")[1].split())
    assert f"paper: ✓ 2 ✗ 1 ○ 1 (shipped, no guess was varied); {quick}" in said
    first, *_ = done("report", "mini")[1].splitlines()
    assert first == f"mini, paper: ✓ 2 ✗ 1 ○ 1 (shipped, no guess was varied); {quick}"
    done.store = tmp_path / "new" / "runs"
    assert json.loads(done("report", "mini", "--json")[1])["tier"] == "quick", "its own report"


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "The audit is the same."),
    "a bound": (
        {"claims": [claim("mini", "supported", main=True, headline=[aligns(0.001)])]},
        "The audit has changed since: claims.",
    ),
    "a setting": ({"settings": {"level": setting(0.5)}}, "The audit has changed since: settings."),
    "a word": ({"about": "A word."}, "The audit has changed since: about."),
}


@pytest.mark.parametrize("what", CHANGES)
def test_an_old_scorecard_says_what_has_changed_since(done, tmp_path, what):
    assert done("report", "mini", "--format", "json")[0] == 0
    changes, says = CHANGES[what]
    done.audits, done.store = write_paper(tmp_path / "edited", **changes), tmp_path / "runs"
    code, out, _ = done("report", "mini", "--format", "terminal")
    assert (code, says in " ".join(out.split())) == (0, True)
    assert ("the audit has changed since" in done("list")[1]) == (what != "nothing")


def test_an_old_scorecard_says_so_in_every_form(done, tmp_path):
    assert done("report", "mini", "--format", "json")[0] == 0
    changes, says = CHANGES["a word"]
    done.audits, done.store = write_paper(tmp_path / "edited", **changes), tmp_path / "runs"
    for more in (["--format", "terminal"], ["--json"], ["--all", "--format", "terminal,md,html"]):
        names = [] if "--all" in more else ["mini"]
        code, out, errors = done("report", *names, *more)
        told = " ".join((errors if "--json" in more else out).split())
        assert (code, says in told) == (0, True)
        assert "this is the scorecard as it was written (format 5), of 35 records up to 20" in told
    for page in ("md", "html"):
        written = (done.out / "quick" / "mini" / f"scorecard.{page}").read_text()
        assert says in " ".join(written.split())
    places = ["--store", str(done.store), "--reports", str(done.out)]
    code, _, errors = done(
        "export", "mini", "--to", "letter", "--out", str(tmp_path / "x"), *places
    )
    assert (code, says in errors) == (0, True)


def test_the_highest_tier_is_reported(at):
    custom = ["--seeds", "9", "--experiment", "descent"]
    for more, tier in ((["--tier", "smoke"], "smoke"), (custom, "smoke"), ([], "quick")):
        assert at("run", "mini", *more)[0] == 0
        assert json.loads(at("report", "mini", "--json")[1])["tier"] == tier, "custom is no tier"
    assert json.loads(at("report", "mini", "--json", "--tier", "smoke")[1])["tier"] == "smoke"


def listed(place: Place) -> dict[str, Any]:
    code, out, _ = place("list", "--json")
    assert code == 0
    return next(one for one in json.loads(out) if one["slug"] == "mini")


def test_list(done):
    assert "mini " in done("list")[1]
    mini = listed(done)
    assert mini["tier"] == "quick"
    assert mini["outcomes"] == {"supported": 2, "not supported": 1, "uninformative": 1}
    assert (mini["card"], mini["documented"]) == (2, None), "nobody has reviewed"
    done.out = done.folder / "shipped" / "reports"
    assert done("report", "mini")[0] == 0
    done.store = done.folder / "shipped" / "runs"
    assert listed(done) == mini, "the answers that came with a report"
    done.store = done.folder / "none" / "runs"
    assert listed(done)["outcomes"] is None


# --- terminals ----------------------------------------------------------------------------------


def test_what_is_piped_has_no_colour_and_fits(done, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in (["report", "mini", "--format", "terminal"], ["list"]):
        code, out, errors = done(*command)
        assert code == 0
        assert "\x1b" not in out + errors
        assert max(len(line) for line in out.splitlines()) <= 80


NO_TORCH = """
import sys
import reproaudit
assert not {"numpy", "pydantic", "yaml", "rich"} & set(sys.modules)
from reproaudit.cli import run_command
from reproaudit.run.devices import has_driver

audits, store, out = sys.argv[1:]
stored = ["--audits", audits, "--store", store]
device = ["--device", "cpu" if has_driver() else "auto"]
absent = {"torch", "torchvision", "numba", "sklearn", "scipy"}
judging = {"reproaudit.records", "reproaudit.judge.outcomes", "reproaudit.store.records"}
beyond = {"--help": {"pydantic", "numpy", "rich"}, "check": {"numpy", "jinja2", *judging}}
for command in (["--help"], ["check", "--audits", audits], ["schema"], ["list", *stored],
                ["report", "mini", *stored, "--out", out], ["run", "mini", *stored, *device]):
    heavy = absent | beyond.get(command[0], set())
    code = run_command(command)
    print(command[0], code, sorted(heavy & set(sys.modules)), file=sys.stderr)
reproaudit.judge_measurements
assert not absent & set(sys.modules)
"""


def test_what_computes_nothing_starts_without_torch(finished, tmp_path):
    places = [str(finished / "audits"), str(finished / "runs"), str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", NO_TORCH, *places],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=True,
    )
    commands = ["--help", "check", "schema", "list", "report", "run"]
    said = [line for line in done.stderr.splitlines() if line.split(" ")[0] in commands]
    assert said == [f"{command} 0 []" for command in commands]


def test_the_help_names_every_command_and_format():
    """The tables are imported when they are used: help shows copies of their names."""
    assert ", ".join(FORMATS) == FORMATS_HELP
    *first, last = EXPORTS
    assert f"{', '.join(first)} or {last}." == EXPORTS_HELP
    commands = [one.callback for one in cli.app.registered_commands]
    assert all(command.__doc__ for command in commands if command)
