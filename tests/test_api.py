"""The Python API: `import reproaudit`."""

import html as escaping
import json
import re
import subprocess
import sys
import types
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reproaudit as ra
from factories import make_audit, make_scorecard
from measured import STEPS, control, descent, every_run, everything, one_seed
from miniatures import claim, write_paper
from reproaudit import api
from reproaudit.audit.catalog import Catalog, audits_in, shipped_audits
from reproaudit.cli import run_command
from reproaudit.consent import TRUST_FILE_VARIABLE, Permission, _trust_file, foreign_code
from reproaudit.intake.reading import read_submission
from reproaudit.report.files import json_data
from reproaudit.report.pages import html
from reproaudit.service.notebook import PaperScorecard

pytestmark = pytest.mark.usefixtures("measured_here")


@pytest.fixture
def audit_file(tmp_path: Path) -> Path:
    return write_paper(tmp_path / "audits") / "mini.yaml"


# --- the names ------------------------------------------------------------------------------------


def test_the_package_offers_what_the_api_defines():
    assert sorted(ra.__all__) == sorted(api.__all__)
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
    for name in ra.__all__:
        assert getattr(ra, name) is getattr(api, name)
        assert f"`{name}" in page, name
    assert set(ra.__all__) <= set(dir(ra))
    with pytest.raises(AttributeError, match="No reproaudit attribute judge_measurement"):
        ra.judge_measurement  # noqa: B018


def test_what_the_page_shows_works(monkeypatch):
    root = Path(__file__).parents[1]
    monkeypatch.chdir(root)
    page = (root / "docs" / "api.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.setitem(sys.modules, "page", types.ModuleType("page"))
    shown: dict[str, Any] = sys.modules["page"].__dict__
    for block in blocks:
        if "measured_with_squared_loss" in block:
            shown["measured_with_squared_loss"] = shown["measurements"]["separable"]
        exec(block, shown)
    claimed = shown["card"].claim("direction")
    assert (claimed.base.decision, claimed.outcome) == ("met", "undecided")  # no control
    judged = ra.judge_measurements(
        "docs/tutorial/soudry2018.yaml", shown["runs"], tier="quick"
    ).claim("direction")
    assert judged.controls[0].decision == "met"  # the stand-in is no null
    settings = shown["Settings"](ablation="shuffled_targets", steps=1)
    shown["draw"] = lambda seed: (np.arange(9), np.arange(9) + seed)
    assert sorted(shown["training_data"](settings, 3)[1]) == list(range(3, 12))


# --- audits ---------------------------------------------------------------------------------------


def test_an_audit_is_opened_by_slug_path_or_folder(audit_file):
    assert ra.open_audit("ahn2023").paper.slug == "ahn2023"
    audit = ra.open_audit(audit_file)
    assert ra.open_audit(str(audit_file)) == audit
    assert ra.open_audit("mini", audits=audit_file.parent) == audit
    assert ra.open_audit(audit) is audit
    assert ra.paper_slugs() == tuple(file.stem for file in audits_in(shipped_audits()))
    assert "mini" in ra.paper_slugs(audit_file.parent)
    with pytest.raises(ra.UsageError, match=r"'ahn2032'.*'ahn2023'"):
        ra.open_audit("ahn2032")


def test_faults_are_listed_with_their_places(audit_file):
    assert not [fault for fault in ra.find_faults("ahn2023") if fault.severity == "error"]
    text = audit_file.read_text(encoding="utf-8")
    audit_file.write_text(text.replace("at_most: 0.1", "at_mots: 0.1", 1), encoding="utf-8")
    faults = ra.find_faults(audit_file)
    assert any("at_mots" in str(fault) and fault.place.line > 1 for fault in faults)
    with pytest.raises(ra.SpecError, match="at_mots"):
        ra.open_audit(audit_file)


# --- measurements ---------------------------------------------------------------------------------


def test_measurements_are_judged_alike_in_memory_in_files_and_by_the_command(
    audit_file, tmp_path, capsys
):
    made = ra.Origin(who="A", source="B", framework="C", made=date(2024, 5, 6))
    stated = everything(ra.open_audit(audit_file))
    card = ra.judge_measurements(audit_file, every_run(), origin=made, settings=stated)
    assert {name.partition(".")[2]: outcome for name, outcome in card.outcomes.items()} == {
        "supported": ra.Outcome.SUPPORTED,
        "contradicted": ra.Outcome.NOT_SUPPORTED,
        "guessed": ra.Outcome.NOT_TESTED,
        "vacuous": ra.Outcome.UNINFORMATIVE,
    }
    assert card.origin is not None
    assert (card.origin.who, card.origin.made) == ("A", date(2024, 5, 6))
    folder = ra.write_measurements(
        tmp_path / "out" / "made", audit_file, every_run(), origin=made, settings=stated
    )
    of_files = ra.judge_measurements(audit_file, folder)
    assert of_files.model_copy(update={"rule": None}) == card, "files may tell when the rule stood"
    assert ra.judge_measurements("mini", str(folder), audits=audit_file.parent) == of_files
    one = ra.judge_measurements(audit_file, folder, claims=[card.claims[0].id])
    assert len(one.claims) == 1
    where = ["--audits", str(audit_file.parent), "--measurements", str(folder), "--json"]
    for same, asked in ((of_files, []), (one, ["--claim", card.claims[0].id])):
        assert run_command(["judge", "mini", *where, *asked]) == 0
        assert json.loads(capsys.readouterr().out) == json_data(same)
    for runs, options, says in (
        (folder, {"claims": ["mini.other"]}, r"no claim 'mini\.other'"),
        (folder, {"tier": "quick"}, "stand in its manifest"),
        (every_run(), {"tier": "papre"}, r"no tier 'papre'. Did you mean 'paper'"),
    ):
        with pytest.raises(ra.UsageError, match=says):
            ra.judge_measurements(audit_file, runs, **options)  # type: ignore[arg-type]


def test_numbers_reach_the_record_exactly(audit_file, tmp_path):
    audit = ra.open_audit(audit_file)
    ends = np.random.default_rng(0).normal(size=3)
    pair, mapping = (STEPS, ends), {"steps": list(STEPS), "values": ends.tolist()}
    series = ra.Series(steps=STEPS, values=ends)
    for number, given in enumerate((pair, mapping, series, list(pair))):
        runs = {"descent": {4: {"distance": given, "final": np.float32(0.1)}}}
        ra.write_measurements(tmp_path / str(number), audit, runs)
        (record,) = read_submission(audit, tmp_path / str(number)).records
        assert record.seed == 4
        assert record.measurements.series["distance"].steps == STEPS
        assert np.array_equal(record.measurements.series["distance"].values, ends)
        assert record.measurements.scalars == {"final": float(np.float32(0.1))}


def test_a_measurement_may_have_any_name(tmp_path):
    one = {"kind": "scalar", "unit": "1", "meaning": "A number."}
    measured = {"distance": {**one, "kind": "series"}, "file": one, "allow_pickle": one}
    experiments = {"descent": {"title": "It descends", "measurements": measured}}
    audit = make_audit(experiments=experiments, claims=[claim("mini", "supported", main=True)])
    runs = {"descent": {0: {"file": 1.0, "allow_pickle": 2.0}}}
    ra.write_measurements(tmp_path / "made", audit, runs)
    (record,) = read_submission(audit, tmp_path / "made").records
    assert record.measurements.scalars == {"file": 1.0, "allow_pickle": 2.0}


def test_a_diverged_seed_may_hold_what_is_not_finite(audit_file):
    seeds = {seed: one_seed(0.02, seed) for seed in range(6)}
    seeds[3] = {"distance": (STEPS, [1.0, np.inf, np.nan]), "final": np.nan}
    with pytest.raises(ra.SpecError, match=r"runs\[0\] \(descent\), seed 3, .*not finite"):
        ra.judge_measurements(audit_file, {"descent": seeds})
    run = ra.MeasuredRuns("descent", seeds, diverged=frozenset({3}))
    card = ra.judge_measurements(audit_file, [run, control(0.8), control(0.001)])
    supported = card.claim("supported")
    assert (supported.base.yes, supported.base.n) == (5, 6), "a diverged run says no"
    assert supported.base.runs[3].status == "no"


GOOD = one_seed(0.02, 0)
BAD: dict[str, Any] = {
    "runs[0].experiment: found the unknown experiment 'descend'. Did you mean": {
        "descend": {0: GOOD}
    },
    "runs[1].settings: found settings that no arm of": [descent(), control(0.7)],
    "runs[0].seeds[0]: found -1": {"descent": {-1: GOOD}},
    "runs[1].seeds[0]: found seed 0 of 'descent' a second time": [descent(), descent()],
    "runs: ": {},
    "runs[0].seeds: ": {"descent": {}},
}


def test_what_does_not_fit_is_told_by_its_place_in_memory(audit_file, tmp_path):
    for said, runs in BAD.items():
        with pytest.raises(ra.AuditError, match=f"^{re.escape(said)}"):
            ra.judge_measurements(audit_file, runs)
    with pytest.raises(ra.AuditError, match=f"^{re.escape(said)}"):
        ra.write_measurements(tmp_path / "made", audit_file, runs)
    assert not (tmp_path / "made").exists()
    assert not list(tmp_path.glob(".made*"))


def test_a_folder_is_replaced_only_if_it_holds_measurements(audit_file, tmp_path):
    made, other = tmp_path / "made", tmp_path / "other"
    runs, fewer = every_run(), [descent(seeds=(0,))]
    ra.write_measurements(made, audit_file, runs)
    with pytest.raises(ra.UsageError, match=r"exists already.*replace=True"):
        ra.write_measurements(made, audit_file, fewer)
    before = {file.name for file in made.iterdir()}
    with pytest.raises(ra.SpecError):
        ra.write_measurements(made, audit_file, list(BAD.values())[1], replace=True)
    assert {file.name for file in made.iterdir()} == before  # what was there stays
    ra.write_measurements(made, audit_file, fewer, replace=True)
    assert {file.name for file in made.iterdir()} == {"manifest.yaml", "0-descent"}
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    with pytest.raises(ra.UsageError, match=r"no manifest\.yaml, so it is not replaced"):
        ra.write_measurements(other, audit_file, fewer, replace=True)
    assert (other / "thesis.tex").exists()


# --- scorecards -----------------------------------------------------------------------------------


def test_a_scorecard_finds_claims_and_failures():
    card = PaperScorecard.of(make_scorecard())
    first = card.claims[0]
    assert card.claim(first.id) is first
    assert card.claim(first.id.partition(".")[2]) is first
    with pytest.raises(ra.UsageError, match=f"no claim .*{re.escape(first.id)}"):
        card.claim(first.id + "x")
    failing = {claim.id for claim in card.failures()}
    assert failing == {"mini.contradicted"}
    assert card.failures(()) == ()
    assert {failure.id for failure in card.failures(["uninformative"])} == {"mini.vacuous"}
    with pytest.raises(ra.UsageError, match="no outcome 'suported'"):
        card.failures(["suported"])


def test_a_notebook_shows_the_table_and_the_page_in_a_closed_frame():
    card = make_scorecard()
    hostile = '<script>alert("x")</script>'
    paper = card.paper.model_copy(update={"title": hostile})
    first, *others = card.audit.claims
    claims = (first.model_copy(update={"says": hostile, "short": hostile}), *others)
    audit = card.audit.model_copy(update={"paper": paper, "claims": claims})
    shown = PaperScorecard.of(card.model_copy(update={"audit": audit}))
    markup = shown._repr_html_()
    assert "<script" not in markup
    (frame,) = re.findall(r'<iframe sandbox="" [^>]*srcdoc="([^"]*)"', markup)
    page = escaping.unescape(frame)
    assert page == shown.page()
    assert "<script" not in page
    assert "&lt;script&gt;alert(" in page
    outside = markup.replace(frame, "")
    assert not re.search(r"(src|href)=|url\(|@import", outside)
    assert not re.search(r'src="|url\((?!#)|@import|<link', page)
    for claim_ in shown.claims:
        assert claim_.id in outside


def test_a_scorecard_is_the_one_that_is_reported(tmp_path):
    card = make_scorecard()
    mine = PaperScorecard.of(card)
    assert isinstance(mine, ra.Scorecard)
    assert mine.page() == html(card)
    with pytest.raises(ValueError, match="its claims are not those of its audit"):
        PaperScorecard.of(card.model_copy(update={"claims": ()}))
    (data,) = (file for file in mine.write(tmp_path) if file.suffix == ".json")
    read = ra.open_scorecard(data)
    assert ra.open_scorecard(data.parent) == read
    assert (read.page(), read.text()) == (mine.page(), str(mine))
    assert card.claims[0].id.partition(".")[2] in read.markdown()
    with pytest.raises(ra.StoreError):
        ra.open_scorecard(tmp_path / "nothing.json")


# --- running and consent --------------------------------------------------------------------------


@pytest.fixture
def trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("REPROAUDIT_TRUST")
    monkeypatch.setenv(TRUST_FILE_VARIABLE, str(tmp_path / "trust" / "file"))
    return tmp_path / "trust" / "file"


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
def test_the_trust_file_lies_in_the_users_configuration_folder(tmp_path, monkeypatch):
    for name in (TRUST_FILE_VARIABLE, "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _trust_file() == tmp_path / ".config" / "reproaudit" / "trust"
    monkeypatch.setenv("XDG_CONFIG_HOME", "of/no/meaning/as/it/is/relative")
    assert _trust_file() == tmp_path / ".config" / "reproaudit" / "trust"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    assert _trust_file() == tmp_path / "own" / "reproaudit" / "trust"


def test_foreign_code_is_asked_about_once_for_each_hash(audit_file, trust):
    folder, entry = audit_file.parent, Catalog(audit_file.parent)["mini"]
    module = entry.module
    asked: list[str] = []

    def yes(question: str) -> bool:
        asked.append(question)
        return True

    changes = (
        lambda: None,
        lambda: module.file.write_text(module.file.read_text() + "# changed\n"),
        lambda: (folder / "sibling.py").write_text("x = 1\n"),
        lambda: (folder / "sibling.py").rename(folder / "other.py"),
        lambda: (folder / "native.so").write_bytes(b"\x7fELF"),
    )
    for number, change in enumerate(changes, start=1):
        change()
        Permission(ask=yes).require([entry])
        Permission(ask=yes).require([entry])
        assert len(asked) == number
        code = foreign_code(module)
        assert code is not None
        assert code.digest[:16] in asked[-1]
        assert code.digest in trust.read_text()
    (folder / "__pycache__").mkdir(exist_ok=True)
    (folder / "__pycache__" / "mini.cpython-311.pyc").write_bytes(b"")
    (folder / "notes.txt").write_text("no code")
    trust.write_text(f"# what I have read\n\n{trust.read_text()}")
    Permission(ask=yes).require([entry])
    Permission(ask=yes).require(Catalog().entries.values())
    assert len(asked) == 5, "shipped papers never ask"
    trust.write_text("yes, all of it\n")
    with pytest.raises(ra.ConsentError):
        Permission().require([entry])


def test_a_run_asks_first_then_makes_the_scorecard(audit_file, tmp_path, trust):
    store = tmp_path / "runs"
    with pytest.raises(ra.ConsentError, match="trust=True"):
        ra.run_paper(audit_file, store=store, ask=lambda _question: False)
    assert not store.exists()
    chosen = ["mini.supported"]
    with pytest.raises(ra.UsageError, match=r"no claim 'mini\.suported'"):
        ra.run_paper(audit_file, claims=["mini.suported"], store=store, trust=True)
    card = ra.run_paper(audit_file, claims=chosen, store=store, trust=True)
    assert card.outcomes["mini.supported"] is ra.Outcome.SUPPORTED
    assert card.outcomes["mini.guessed"] is ra.Outcome.NOT_TESTED
    assert not trust.exists()
    read = ra.open_scorecard(audit_file, store=store, tier="quick")
    assert read.outcomes == card.outcomes
    whole = ra.run_paper(audit_file, store=store, trust=True)
    assert whole.outcomes["mini.guessed"] is ra.Outcome.SUPPORTED


def test_a_script_that_runs_a_paper_is_not_run_again_by_the_workers(audit_file, tmp_path):
    """Nothing guards its lines with ``__name__``, as scripts and notebooks have it."""
    script = tmp_path / "script.py"
    script.write_text(
        "import reproaudit\n"
        "print('begins')\n"
        f"card = reproaudit.run_paper({str(audit_file)!r}, store='runs', trust=True)\n"
        "print(card.outcomes['mini.supported'])\n"
    )
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "begins\nsupported\n"), done.stderr


def test_without_torch_a_run_is_one_line(audit_file, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "find_spec", lambda _name: None)
    with pytest.raises(ra.UsageError, match=r"^torch is not installed.*'\.\[run\]'$"):
        ra.run_paper(audit_file, store=tmp_path / "runs", trust=True)
