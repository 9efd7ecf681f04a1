"""`reproaudit adopt`: after a change that computes the same, old records count; others do not."""

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from miniatures import MODULE, write_paper
from reproaudit.audit.catalog import Catalog
from reproaudit.cli import run_command
from reproaudit.formats.scorecard import Scorecard
from reproaudit.records import Record
from reproaudit.report.making import made_words
from reproaudit.store.adoptions import Adoptions, pair_of, read_adoptions
from reproaudit.store.code import closure_of, fingerprint_of
from reproaudit.store.records import Store
from reproaudit.store.shipped import FILE_NAME

UNUSED = "\n\ndef unused() -> None:\n    print()\n"
PAIRS = 7
"""Two experiments, each with its settings, a control and a built solution; and a second control."""

FALLS = "(distance - end) * 0.7"
CONTROLS_FALL_FASTER = {FALLS: "(distance - end) * (0.6 if settings.level > 0.5 else 0.7)"}

pytestmark = pytest.mark.usefixtures("measured_here")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, measured_here: None) -> Path:
    """A folder with a paper and the records of its quick tier."""
    folder = tmp_path_factory.mktemp("adopted")
    write_paper(folder / "audits")
    command(folder, "run", "mini")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def command(folder: Path, *words: str, code: int = 0) -> Any:
    """What a command prints as JSON; of one that fails, its errors."""
    where = ["--audits", str(folder / "audits"), "--store", str(folder / "runs"), "--json"]
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        assert run_command([*words, *where]) == code, errors.getvalue()
    return json.loads(out.getvalue()) if out.getvalue() else errors.getvalue()


def change(folder: Path, more: str = UNUSED, **replaced: str) -> None:
    """Another state of the paper's code."""
    module = folder / "audits" / "mini.py"
    text = module.read_text()
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    module.write_text(text + more)


def forge(folder: Path, **changes: Any) -> dict[str, Any]:
    """Changes the last line on what was adopted; what it says now."""
    file = folder / "audits" / "mini.adoptions.jsonl"
    line = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps(line) + "\n")
    return line


def said_of(card: Any) -> str:
    """What a page says of what made the records."""
    return " ".join(made_words(Scorecard.model_validate_json(json.dumps(card))))


def adoptions(folder: Path) -> Adoptions:
    return read_adoptions(Catalog(folder / "audits")["mini"], folder / "runs")


def records(folder: Path, tier: str = "quick") -> list[Record]:
    return list(Store(folder / "runs").records("mini", tier))


def measured_anew(folder: Path) -> int:
    """How many cells another run of the tier measures."""
    before = len(records(folder))
    command(folder, "run", "mini")
    return len(records(folder)) - before


def test_old_records_count_after_an_adoption(folder):
    count, before = len(records(folder)), command(folder, "report", "mini")
    change(folder)
    assert "Made by other code than today's" in said_of(command(folder, "report", "mini"))
    found = command(folder, "adopt", "mini")
    assert (found["pairs"], found["same"]) == (PAIRS, PAIRS)
    assert (found["differs"], found["left"]) == ([], 0)
    assert found["records"] == count
    assert len(records(folder, "adopt-quick")) == PAIRS
    assert measured_anew(folder) == 0
    after = command(folder, "report", "mini")
    assert after["claims"] == before["claims"]
    old, new = found["old"][:8], found["new"][:8]
    said = f"Measured with code {old} and {new}, in {PAIRS} of {count} cells with two of them"
    assert said in said_of(after)
    assert "other code" not in said_of(after)
    assert command(folder, "adopt", "mini")["old"] is None
    assert len(adoptions(folder).lines) == 1
    assert command(folder, "verify", "mini")["faults"] == []


def test_a_pair_that_differs_keeps_its_code_and_is_run_anew(folder):
    change(folder, **CONTROLS_FALL_FASTER)
    found = command(folder, "adopt", "mini")
    assert (found["same"], len(found["differs"])) == (PAIRS - 2, 2)
    assert {one["experiment"] for one in found["differs"]} == {"descent", "guessed"}
    assert "distance: " in found["differs"][0]["what"]
    assert measured_anew(folder) == 10, "the controls' runs alone"
    levels = {record.settings["level"] for record in records(folder) if record.code == found["new"]}
    assert levels == {0.8}


def test_adoptions_follow_each_other(folder):
    for step in range(3):
        change(folder, f"\nSTEP = {step}\n")
        assert command(folder, "adopt", "mini")["same"] == PAIRS
    assert measured_anew(folder) == 0
    assert len(adoptions(folder).lines) == 3
    again = f"in {PAIRS} of {len(records(folder))} cells"
    assert again in said_of(command(folder, "report", "mini")), "the last code's cells alone"
    shutil.copy(MODULE, folder / "audits" / "mini.py")
    assert command(folder, "adopt", "mini")["old"] is None, "the first code counts like the last"


def test_what_is_left_is_measured_by_the_same_command(folder):
    change(folder)
    found = command(folder, "adopt", "mini", "--budget", "0")
    assert (found["left"], found["same"], adoptions(folder).lines) == (PAIRS, 0, ())
    assert command(folder, "adopt", "mini")["same"] == PAIRS


def test_without_rights_beside_the_audit_the_store_has_the_line(folder):
    change(folder)
    command(folder, "adopt", "mini", "--prepare")
    beside = folder / "audits" / "mini.adoptions.jsonl"
    command(folder, "adopt", "mini")
    beside.rename(folder / "runs" / "adoptions.mini.jsonl")
    assert measured_anew(folder) == 0


def write_as_of_another_processor(store: Store, record: Record) -> None:
    """Write a record anew, as if it came from a machine that rounds otherwise."""
    scalars = {"final": record.measurements.scalars["final"] * (1 + 1e-12)}
    measured = record.measurements.model_copy(update={"scalars": scalars})
    where = record.environment.model_copy(update={"processor": "another"})
    store.write(record.model_copy(update={"measurements": measured, "environment": where}))


def test_what_another_processor_prepared_is_measured_here(folder):
    command(folder, "adopt", "mini", "--prepare")
    store = Store(folder / "runs")
    for record in [*records(folder), *store.records("mini", "adopt-quick")]:
        write_as_of_another_processor(store, record)
    command(folder, "adopt", "mini", "--prepare")
    change(folder)
    assert command(folder, "adopt", "mini")["same"] == PAIRS


def test_bits_of_another_processor_are_no_fault_of_the_code(folder):
    store = Store(folder / "runs")
    for record in records(folder):
        write_as_of_another_processor(store, record)
    prepared = command(folder, "adopt", "mini", "--prepare")
    assert (prepared["measured"], prepared["pairs"]) == (PAIRS, PAIRS)
    change(folder)
    assert command(folder, "adopt", "mini")["same"] == PAIRS
    shutil.rmtree(folder / "runs" / "mini" / "adopt-quick")
    change(folder, "\nMORE = 1\n")
    found = command(folder, "adopt", "mini")
    assert (found["same"], len(found["differs"])) == (0, PAIRS)
    assert "with the old code, 'reproaudit adopt mini --prepare'" in found["differs"][0]["what"]


def test_a_damaged_record_of_adopted_code_is_noticed(folder):
    change(folder)
    command(folder, "adopt", "mini")
    victim = next((folder / "runs" / "mini" / "quick" / "guessed").glob("*.json"))
    victim.write_bytes(victim.read_bytes().replace(b"0.", b"1.", 1))
    assert len(command(folder, "verify", "mini", code=3)["faults"]) == 1
    command(folder, "report", "mini", code=2)
    command(folder, "run", "mini")
    assert victim.with_name(f"{victim.name}.bad").exists()
    command(folder, "report", "mini")


def test_a_line_whose_numbers_are_not_the_records_is_a_fault(folder):
    change(folder)
    command(folder, "adopt", "mini")
    first, *others = forge(folder)["cells"]
    forge(folder, cells=[{**first, "measured": "0" * 64}, *others])
    faults = command(folder, "verify", "mini", code=3)["faults"]
    assert {fault["what"] for fault in faults} == {
        "its numbers are not those that an adoption compared"
    }
    file = folder / "audits" / "mini.adoptions.jsonl"
    file.write_text("{}\n")
    assert f"{file}:1: found no adoption (" in command(folder, "report", "mini", code=2)


FORGED = {
    "numbers": {"measured": "0" * 64},
    "seed": {"seed": 10**6},
    "settings": {"settings": "0" * 64},
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_cell_that_no_record_bears_out_does_not_count(folder, forged):
    change(folder)
    command(folder, "adopt", "mini")
    cell, *others = forge(folder)["cells"]
    of_pair = [
        record
        for record in records(folder)
        if (record.experiment, pair_of(record).settings) == (cell["experiment"], cell["settings"])
    ]
    forge(folder, cells=[{**cell, **FORGED[forged]}, *others])
    assert f"in {PAIRS - 1} of" in said_of(command(folder, "report", "mini"))
    assert measured_anew(folder) == len(of_pair) > 0


def test_a_line_written_by_hand_makes_no_record_count(folder):
    change(folder)
    real = command(folder, "adopt", "mini")
    shutil.rmtree(folder / "runs" / "mini" / "adopt-quick")
    line = forge(folder)
    cells = [{**cell, "measured": "0" * 64} for cell in line["cells"]]
    for processor in (line["processor"], "another"):
        forge(folder, cells=cells, processor=processor)
        assert "Made by other code than today's" in said_of(command(folder, "report", "mini"))
        assert command(folder, "adopt", "mini", "--budget", "0")["old"] == real["old"]
    forge(folder, cells=line["cells"])
    assert "other code" not in said_of(command(folder, "report", "mini")), "they agree"


def test_records_without_a_processor_bear_out_their_cell_alone(folder):
    change(folder)
    command(folder, "adopt", "mini")
    shutil.rmtree(folder / "runs" / "mini" / "adopt-quick")
    store = Store(folder / "runs")
    for one in records(folder):
        where = one.environment.model_copy(update={"processor": None})
        store.write(one.model_copy(update={"environment": where}))
    cells = forge(folder)["cells"]
    forge(folder, cells=[{**cell, "measured": "0" * 64} for cell in cells])
    assert "other code" not in said_of(command(folder, "report", "mini"))
    forge(folder, cells=[{**cell, "seed": 10**6} for cell in cells])
    assert "other code" in said_of(command(folder, "report", "mini"))


def test_records_of_the_first_form_of_a_digest_count_by_a_line_that_says_so(folder):
    store, first = Store(folder / "runs"), "0" * 32
    today = closure_of(Catalog(folder / "audits")["mini"].module).digest
    for one in records(folder):
        store.file_of(one).unlink()
        of_first = one.model_copy(update={"code": first})
        store.write(of_first.model_copy(update={"fingerprint": fingerprint_of(of_first)}))
    line = {"kind": "form", "date": "2026-11-29T20:19:52Z", "first": first, "second": today}
    assert "other code" in said_of(command(folder, "report", "mini"))
    (folder / "audits" / "mini.adoptions.jsonl").write_text(json.dumps(line) + "\n")
    assert "other code" not in said_of(command(folder, "report", "mini"))
    assert measured_anew(folder) == 0
    assert command(folder, "adopt", "mini")["old"] is None
    change(folder)
    assert "other code" in said_of(command(folder, "report", "mini"))
    assert command(folder, "adopt", "mini")["same"] == PAIRS
    assert measured_anew(folder) == 0


def test_bad_input_is_one_line(folder, tmp_path):
    change(folder)
    assert "--from beef: no codes of records begin so. Known: " in command(
        folder, "adopt", "mini", "--from", "beef", code=2
    )
    empty = tmp_path / "empty"
    write_paper(empty / "audits")
    assert "no records of mini" in command(empty, "adopt", "mini", code=2)
    store = Store(folder / "runs")
    for record in records(folder):
        packages = {**record.environment.packages, "numpy": "1.0.0"}
        where = record.environment.model_copy(update={"packages": packages})
        store.file_of(record).unlink()
        other = record.model_copy(update={"environment": where})
        store.write(other.model_copy(update={"fingerprint": fingerprint_of(other)}))
    said = command(folder, "adopt", "mini", code=2)
    assert "made with numpy 1.0.0, here " in said
    assert adoptions(folder).lines == ()


def test_records_that_came_with_a_report_follow(folder, tmp_path):
    exported = folder / "exported"
    words = ("export", "mini", "--to", "records", "--tier", "quick", "--out", str(exported))
    command(folder, *words)
    fresh = tmp_path / "fresh"
    shutil.copytree(folder / "audits", fresh / "audits")
    shipped = fresh / "reports" / "quick" / "mini"
    shipped.mkdir(parents=True)
    shutil.copy(exported, shipped / FILE_NAME)
    change(fresh)
    assert command(fresh, "adopt", "mini")["same"] == PAIRS
    after = command(fresh, "report", "mini", "--tier", "quick")
    assert "other code" not in said_of(after)
    assert f"in {PAIRS} of" in said_of(after)
