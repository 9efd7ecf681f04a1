"""From a store to a scorecard: which records are judged, and by what history."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from miniatures import aligns, audit_data, claim, git, write_paper
from reproaudit.audit.catalog import Catalog, Entry
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import ClaimAnswer
from reproaudit.report.files import json_data
from reproaudit.report.making import made_words
from reproaudit.scorecard.answers import scorecard_of_archive, scorecard_of_store
from reproaudit.store.coordinates import axes_file, coordinates_along, read_axes
from reproaudit.store.records import Store
from reproaudit.store.shipped import FILE_NAME, unpack_records

pytestmark = pytest.mark.usefixtures("measured_here")
ROOT = Path(__file__).parents[1]
Command = Callable[..., dict[str, Any]]


@pytest.fixture
def audits(tmp_path: Path) -> Path:
    return write_paper(tmp_path / "audits")


@pytest.fixture
def command(tmp_path: Path, audits: Path, cli: Any) -> Command:
    """A command on the paper, whose JSON is read."""

    def call(name: str, *arguments: str, code: int = 0) -> dict[str, Any]:
        known = ["--audits", audits, "--store", tmp_path / "runs", "--json"]
        found: dict[str, Any] = cli(name, "mini", *arguments, *known, code=code).data
        return found

    return call


def entry_in(audits: Path) -> Entry:
    return Catalog(audits)["mini"]


def judged(audits: Path, tier: Any = "quick") -> Scorecard:
    entry = entry_in(audits)
    return scorecard_of_store(entry, entry.audit(), tier, Store(audits.parent / "runs"))


def guessed(card: Scorecard) -> ClaimAnswer:
    return next(one for one in card.claims if one.id == "mini.guessed")


def alternatives(card: dict[str, Any]) -> list[tuple[float, str]]:
    """The values of the guess that were tried, and what each answers."""
    (found,) = (one for one in card["claims"] if one["id"] == "mini.guessed")
    return [(one["varied"]["value"], one["answer"]) for one in found["alternatives"]]


def reasons(card: dict[str, Any], name: str) -> list[str]:
    found = next(one for one in card["claims"] if one["id"] == f"mini.{name}")
    return [reason["kind"] for reason in found["reasons"]]


def outcome(card: dict[str, Any], name: str) -> str:
    return next(one["outcome"] for one in card["claims"] if one["id"] == f"mini.{name}")


def said_of(card: dict[str, Any]) -> list[str]:
    """What a page says of what made the records."""
    return list(made_words(Scorecard.model_validate_json(json.dumps(card))))


def of_archive(audits: Path, command: Command) -> Scorecard:
    """What is judged of the records of the paper tier once they are exported."""
    file = audits.parent / FILE_NAME
    command("export", "--to", "records", "--tier", "paper", "--out", str(file))
    entry = entry_in(audits)
    return scorecard_of_archive(entry, entry.audit(), "paper", file)


def edit_module(audits: Path) -> None:
    """Other code, that computes the same."""
    file = audits / "mini.py"
    file.write_text(f"{file.read_text()}\nEXTRA = 1\n")


# --- which records --------------------------------------------------------------------------------


def test_the_pages_of_a_run_are_those_of_its_report(tmp_path, command):
    """Byte by byte."""
    tier = "paper"
    assert command("multiverse", "--tier", tier)
    ran = command("run", "--tier", tier)
    folder = tmp_path / "reports" / tier / "mini"
    pages = {file.name: file.read_bytes() for file in folder.glob("scorecard.*")}
    assert command("report", "--tier", tier) == ran
    assert {name: (folder / name).read_bytes() for name in pages} == pages


def test_a_run_judges_what_it_planned_and_alternatives_of_the_same_code(audits, command):
    command("multiverse")
    edit_module(audits)
    card = command("run")
    assert card["records"]["completed"] == 35, "the alternatives are of other code"
    assert "guess not settled" in reasons(card, "guessed")
    command("multiverse")
    assert outcome(command("run"), "guessed") == "depends"


def test_a_report_judges_todays_records_else_those_with_most_cells(audits, command):
    first = command("run")
    assert judged(audits).made.of_today
    before = (audits / "mini.py").read_text()
    (audits / "mini.py").write_text(
        before.replace("settings.level * np", "0.5 + settings.level * np")
    )
    card = judged(audits)
    assert (card.records.count, answers(json_data(card))) == (35, answers(first))
    assert any(word.startswith("Made by other code than today's: ") for word in made_words(card))
    assert answers(command("run")) != answers(first)
    made = judged(audits).made
    assert (made.of_today, made.other_groups) == (True, 1)
    (audits / "mini.py").write_text(before)
    there = sorted((audits.parent / "runs").rglob("*.json"))
    assert answers(command("run")) == answers(first)
    assert sorted((audits.parent / "runs").rglob("*.json")) == there, "nothing is measured again"
    assert answers(json_data(judged(audits))) == answers(first)


def test_a_damaged_record_of_an_alternative_is_left_out_and_said(tmp_path, audits, command):
    command("multiverse")
    file = next((tmp_path / "runs" / "mini" / "multiverse-quick").rglob("*.json"))
    file.write_text("{")
    card = command("run")
    assert card["made"]["damaged"] == 1


def test_an_archive_is_judged_whole_whatever_its_seeds(audits, command):
    """A changed rule draws other seeds; who shipped the records drew theirs."""
    before = command("run", "--tier", "paper")
    claims = [claim("mini", "supported", main=True, headline=[aligns(0.2)])]
    write_paper(audits, claims=[*claims, *audit_data()["claims"][1:]])
    card = of_archive(audits, command)
    assert (card.claims[0].base.yes, card.claims[0].base.n) == (6, 6)
    assert card.records.completed == before["records"]["completed"]
    of_store = judged(audits, "paper")
    assert {one.outcome for one in of_store.claims} == {"not tested", "supported"}
    assert of_store.claims[0].base.n == 0, "the plan names other seeds"


def test_an_archive_tells_of_alternatives_at_the_quick_tier(audits, command):
    command("multiverse", "--tier", "quick")
    command("run", "--tier", "paper")
    card = of_archive(audits, command)
    assert guessed(card).alternatives == guessed(judged(audits, "paper")).alternatives
    assert {alternative.n for alternative in guessed(card).alternatives} == {5}


def test_the_multiverse_runs_what_is_missing(tmp_path, audits, command, cli):
    known = ["mini", "--audits", audits, "--store", tmp_path / "runs"]
    assert "35 cells" in cli("run", *known).err
    budget = command("multiverse", "--budget", "0s")
    assert alternatives(budget) == [], "a budget starts nothing more"
    said = cli("multiverse", *known, "--verbose")
    assert "45 cells, 35 have records already" in said.err
    assert "guess: level 0.3, 0 of 5" in said.out
    assert f"wrote {tmp_path / 'reports' / 'quick' / 'mini' / 'scorecard.html'}" in said.out
    tiers = {path.name for path in (tmp_path / "runs" / "mini").iterdir()}
    assert tiers == {"multiverse-quick", "quick"}
    for name in ("multiverse", "report"):
        assert alternatives(command(name)) == [(0.04, "yes"), (0.3, "no")]


# --- of which data --------------------------------------------------------------------------------


@pytest.fixture
def data(audits: Path) -> Path:
    """A file that the paper reads: what is added to the level at which every run ends."""
    file, module = audits / "added.txt", audits / "mini.py"
    text = module.read_text()
    text = text.replace("import os\n", "import os\nfrom pathlib import Path\n")
    read = f"Path({str(file)!r}).read_text()"
    text = text.replace("end = settings.level", f"end = float({read}) + settings.level")
    of_file = f"lambda _: {{'added': {read}}}"
    module.write_text(text.replace("measure, phases=", f"measure, data={of_file}, phases="))
    file.write_text("0")
    return file


def answers(card: dict[str, Any]) -> list[Any]:
    return [[one["id"], one["outcome"], one["base"], one["alternatives"]] for one in card["claims"]]


def test_a_report_is_of_the_data_of_the_last_run_though_it_measured_nothing(data, command):
    tier = "paper"
    first = answers(command("multiverse", "--tier", tier) and command("run", "--tier", tier))
    data.write_text("0.5")
    command("multiverse", "--tier", tier)
    other = command("run", "--tier", tier)
    assert answers(other) != first
    assert answers(command("report", "--tier", tier)) == answers(other)
    data.write_text("0")
    assert answers(command("run", "--tier", tier)) == first
    card = command("report", "--tier", tier)
    assert answers(card) == first
    assert "they read another 'added'" in " ".join(said_of(card))


def test_data_that_are_gone_fail_a_run_and_its_report(data, command):
    command("run")
    data.unlink()
    assert command("run", code=3)["claims"][0]["outcome"] == "error"
    card = command("report")
    assert card["claims"][0]["outcome"] == "error"
    assert "35 quick records were left out: they read another 'added'" in " ".join(said_of(card))


def test_an_archive_is_of_the_data_of_the_last_run(data, audits, command):
    first = answers(command("run", "--tier", "paper"))
    for added in ("0.5", "0"):
        data.write_text(added)
        command("run", "--tier", "paper")
    assert answers(json_data(of_archive(audits, command))) == first


# --- along which coordinates ----------------------------------------------------------------------


def measured_by_kind(*kinds: str, **more: Any) -> dict[str, Any]:
    """Experiments that also measure the ends of two kinds, and claims on one of them, `low`."""
    axis = {"name": "kind", "values": kinds} if kinds else {"name": "kind", "size": 2}
    ends = {"kind": "array", "axes": [axis], "unit": "1", "meaning": "Where each kind ends."}
    experiments = audit_data()["experiments"]
    for experiment in experiments.values():
        experiment["measurements"] = {**experiment["measurements"], "ends": ends, **more}
    low = [{**aligns(0.1), "distance": f"ends[{'low' if kinds else 0}]"}]
    claims = [claim("mini", "supported", main=True, headline=low)]
    claims.append(claim("mini", "guessed", experiment="guessed", headline=low))
    return {"experiments": experiments, "claims": claims}


@pytest.fixture
def by_kind(audits: Path) -> Callable[..., None]:
    """Writes the audit anew, with these kinds; the module measures the low end first."""

    def write(*kinds: str, **more: Any) -> None:
        write_paper(audits, **measured_by_kind(*kinds, **more))
        module = audits / "mini.py"
        ends = 'arrays={"ends": [float(series["distance"].values[-1]), 1.0]}'
        text = module.read_text().replace("(series=series, ", f"(series=series, {ends}, ")
        module.write_text(text)

    write("low", "high")
    return write


def refused(audits: Path, cli: Any, name: str, *options: str) -> str:
    store = audits.parent / "runs"
    said = cli(name, "mini", *options, "--audits", audits, "--store", store, code=2)
    assert not said.out
    return said.err


@pytest.mark.parametrize("name", ["report", "run"])
def test_exchanged_coordinates_are_refused(audits, by_kind, command, cli, name):
    assert command("run")["claims"][0]["outcome"] == "supported"
    by_kind("high", "low")
    said = " ".join(refused(audits, cli, name).split())
    assert (
        "mini, experiment 'descent': 15 quick records have 'ends' along kind = low, high, and the "
        "audit now declares kind = high, low. Put the audit's coordinates back, or measure again "
        "with --fresh."
    ) in said
    by_kind("low", "high")
    assert command(name)["claims"][0]["outcome"] == "supported"


def test_alternatives_of_other_coordinates_are_left_out_and_named(audits, by_kind, command, cli):
    command("multiverse")
    by_kind("low", "tall")
    ran = command("run", "--fresh")
    (line,) = [line for line in said_of(ran) if " were left out: " in line]
    assert line.startswith("10 multiverse-quick records were left out: experiment 'guessed' ")
    assert "measured 'ends' along kind = high" in line
    assert "guess not settled" in reasons(ran, "guessed")
    assert answers(command("report")) == answers(ran)
    assert "kind = tall" in refused(audits, cli, "multiverse")
    command("multiverse", "--fresh")
    assert outcome(command("report"), "guessed") == "depends"


def test_the_same_coordinates_written_otherwise_and_a_new_measurement_change_nothing(
    audits, by_kind, command
):
    by_kind()
    before = answers(command("run"))
    more = {"kind": "scalar", "unit": "1", "meaning": "More."}
    by_kind(more=more)
    file = audits / "mini.yaml"
    text = file.read_text()
    file.write_text(text.replace("size: 2", "values: [0,\n              1]"))
    assert file.read_text() != text
    assert answers(command("report")) == before


@pytest.mark.parametrize("slug", ["ahn2023", "chen2024", "wang2024", "yang2025"])
def test_the_coordinates_of_shipped_records_are_kept(slug, tmp_path):
    """Beside the archive, since those who made it kept none in the records."""
    store = unpack_records(ROOT / "reports" / "paper" / slug / FILE_NAME, tmp_path)
    kept = read_axes(axes_file(store.root, slug))
    for tier in ("paper", "multiverse-paper", "quick", "multiverse-quick"):
        for path in {file.parent: file for file in store.files(slug, tier)}.values():
            record = store.read(path)
            assert record is not None
            series = record.measurements.series.items()
            with_axes = {*record.measurements.arrays, *(n for n, s in series if s.values.ndim > 1)}
            along = coordinates_along(kept.get(record.experiment, {}), record.settings)
            assert with_axes <= along.keys()


# --- by what history ------------------------------------------------------------------------------


def test_a_bound_that_changed_after_results_costs_certainty(tmp_path, audits, command):
    assert "rule" not in reasons(command("run", "--tier", "paper"), "supported")
    ours = {**aligns(0.2), "from": "ours", "why": "near enough"}
    claims = [claim("mini", "supported", main=True, headline=[ours])]
    write_paper(audits, claims=[*claims, *audit_data()["claims"][1:]])
    card = command("run", "--tier", "paper")
    assert card["earlier_results"] == 1
    assert "rule" in reasons(card, "supported")
    assert "rule" not in reasons(card, "guessed")
    logged = (audits / "mini.results.jsonl").read_text().splitlines()
    assert len(logged) == 2
    answers = json.loads(logged[0])["claims"]
    assert answers["mini.supported"]["answer"] == "supported"
    assert (answers["mini.contradicted"]["yes"], answers["mini.contradicted"]["n"]) == (0, 6)


def test_an_audit_that_was_not_committed_costs_certainty(tmp_path, audits, command):
    git(audits, "init", "-q")
    git(audits, "commit", "-q", "--allow-empty", "-m", "none")
    assert "rule" in reasons(command("run", "--tier", "paper"), "supported")
    assert "rule" not in reasons(command("run"), "supported"), "the quick tier has no history"
    assert "rule" in reasons(command("report", "--tier", "paper"), "supported")
    file = tmp_path / "reports" / "paper" / "mini" / FILE_NAME
    command("export", "--to", "records", "--tier", "paper", "--out", str(file))
    shutil.rmtree(tmp_path / "runs")
    assert "rule" in reasons(command("report", "--tier", "paper"), "supported"), "by the log"
