"""Measurements from elsewhere: read, held against the audit, judged, marked as not ours."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

import factories
from measured import everything
from rendering import render_html, render_markdown, render_scorecard
from reproaudit.audit.catalog import Catalog
from reproaudit.audit.training_length import stated_length
from reproaudit.cli import run_command
from reproaudit.commands.judge import scorecard_of_submission
from reproaudit.diff.compare import compare
from reproaudit.diff.model import ComparedScorecard
from reproaudit.elsewhere.submission import read_submission
from reproaudit.errors import AuditError, SpecError, UsageError
from reproaudit.records import Measurements
from reproaudit.reports.files import read_scorecard, write_report
from reproaudit.reports.markdown import markdown_text
from reproaudit.reports.register.writing import write_register
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.scorecard.model import ClaimModel, Scorecard

DOCUMENTED = Path(__file__).parents[2] / "docs" / "measurements.md"
SEEDS = (7, 21, 22, 23, 40)

CLAIMS = [
    factories.claim("layers", "good", checks=[factories.by_layer()], weight=1.0),
    factories.claim("distance", "good"),
    factories.claim("missed", "assumed_opposite"),
]
AUDIT = factories.make_audit(claims=CLAIMS, responses=[], findings=[])
EVERYTHING = everything(AUDIT)


def manifest(*runs: dict[str, Any], **changes: Any) -> dict[str, Any]:
    stated = {
        "schema_version": 1,
        "who": "Ben Sample",
        "source": "logs of the cluster",
        "framework": "JAX 0.4.30",
        "date": "2026-11-02",
        "runs": list(runs),
    }
    return {**stated, **changes}


def run(mechanism: str = "full", experiment: str = "good", **changes: Any) -> dict[str, Any]:
    own = {} if mechanism == "full" else {"mechanism": mechanism}
    return {
        "experiment": experiment,
        "seeds": list(SEEDS),
        "settings": own,
        "files": [f"{mechanism}-{{seed}}.json"],
        **changes,
    }


def as_json(measured: Measurements) -> dict[str, Any]:
    series = {
        name: {"steps": list(one.steps), "values": one.values.tolist()}
        for name, one in measured.series.items()
    }
    return {
        **measured.scalars, **series, **{n: a.tolist() for n, a in measured.arrays.items()},
    }  # fmt: skip


def write(folder: Path, stated: dict[str, Any], **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    text = yaml.safe_dump(stated, sort_keys=False)
    (folder / "manifest.yaml").write_text(text.replace("'2026-11-02'", "2026-11-02"))
    for mechanism, level in factories.LEVELS.items():
        for seed in SEEDS:
            data = as_json(factories.measurements(level, 0.1, seed))
            (folder / f"{mechanism}-{seed}.json").write_text(json.dumps(data))
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


def judged(folder: Path, ours: Scorecard | None = None) -> Scorecard:
    return scorecard_of_submission(read_submission(AUDIT, folder), ours)


def claim(card: Scorecard, name: str) -> ClaimModel:
    return next(one for one in card.claims if one.id == f"toy.{name}")


FULL = (run(), run("none"), run("constructed"))


# --- what is judged -------------------------------------------------------------------------------


def test_complete_measurements_have_verdicts_by_the_same_rule(tmp_path: Path) -> None:
    card = judged(write(tmp_path, manifest(*FULL, settings=EVERYTHING)))
    ours = factories.make_scorecard(claims=CLAIMS, responses=[], findings=[])
    for name in ("layers", "distance"):
        theirs, mine = claim(card, name), claim(ours, name)
        assert (theirs.decision, theirs.verdict, theirs.evidence) == ("met", "supported", "exact")
        assert (mine.decision, mine.verdict) == (theirs.decision, theirs.verdict)
        assert theirs.seeds == SEEDS
    expected = [factories.measurements(0.03, 0.1, seed).scalars["distance"] for seed in SEEDS]
    assert claim(card, "distance").per_seed == pytest.approx(tuple(expected))
    assert claim(card, "missed").verdict == "not_tested"
    assert card.origin is not None
    assert "experiment 'assumed_opposite'" in card.origin.absent
    assert (card.origin.settings, card.origin.unstated) == ({}, ())
    assert {r.status for r in card.records} == {"completed"}


def test_a_setting_that_nobody_states_convicts_no_paper(tmp_path: Path) -> None:
    """The same numbers that contradict with every setting stated."""
    far = run(files=["none-{seed}.json"])  # the experiment ends where the control does
    without = {name: one for name, one in EVERYTHING.items() if name != "good.steps"}
    cases = [(EVERYTHING, "contradicted", "exact"), (without, "inconclusive", "assumed")]
    for number, (stated, verdict, evidence) in enumerate(cases):
        stating = manifest(far, *FULL[1:], settings=stated)
        card = judged(write(tmp_path / str(number), stating))
        one = claim(card, "distance")
        assert (one.decision, one.verdict, one.evidence) == ("missed", verdict, evidence)
    assert card.origin is not None
    assert "good.steps" in card.origin.unstated
    text = " ".join(render_markdown(card).replace("\\", "").split())
    assert "Not stated in the manifest, and taken to be the audit's: " in text
    assert "good.steps" in text


def test_a_control_that_reads_another_measurement_needs_no_runs_of_its_own(tmp_path: Path) -> None:
    other = factories.claim("distance", "good", positive_control=factories.NO_SOLUTION)
    reads = {"experiment": "good", "substitutes": {"distance": "accuracy"}, "why": "Not small."}
    audit = factories.make_audit(
        claims=[{**other, "controls": [reads]}], responses=[], findings=[], figures=[]
    )
    submission = read_submission(audit, write(tmp_path, manifest(run())))
    (one,) = scorecard_of_submission(submission, None).claims
    assert submission.absent == ()
    assert (one.control.decision, one.verdict) == ("missed", "supported")


def test_without_controls_a_claim_is_not_tested_and_says_so(tmp_path: Path) -> None:
    card = judged(write(tmp_path, manifest(run())))
    one = claim(card, "distance")
    assert (one.decision, one.verdict) == ("met", "not_tested")
    assert "control 'good' is unfinished: 0 of 5 seeds" in one.why
    assert card.origin is not None
    assert "control 'good' with mechanism = 'none'" in card.origin.absent


def test_fewer_seeds_than_the_rule_has_are_not_enough(tmp_path: Path) -> None:
    few = [run(m, seeds=list(SEEDS[:3])) for m in ("full", "none", "constructed")]
    one = claim(judged(write(tmp_path, manifest(*few))), "distance")
    assert (one.verdict, one.decision) == ("not_tested", None)
    assert "3 of 5 seeds" in one.why
    assert one.estimate is not None
    assert one.interval is not None
    assert (len(one.seeds), len(one.per_seed)) == (3, 3), "where they lie is shown"


def test_one_logged_run_is_shown_without_an_interval(tmp_path: Path) -> None:
    alone = [run(m, seeds=[SEEDS[0]]) for m in ("full", "none", "constructed")]
    card = judged(write(tmp_path, manifest(*alone)))
    one = claim(card, "distance")
    assert (one.verdict, one.decision) == ("not_tested", None)
    assert one.estimate is not None
    assert one.interval is None
    assert "1 of 5 seeds" in one.why
    assert "not tested" in markdown_text(scorecard_document(card)).lower()


def test_more_seeds_than_the_rule_has_all_count(tmp_path: Path) -> None:
    more = (*SEEDS, 41, 42)
    folder = write(tmp_path, manifest(*(run(m, seeds=list(more)) for m in factories.LEVELS)))
    for mechanism, level in factories.LEVELS.items():
        for seed in (41, 42):
            data = as_json(factories.measurements(level, 0.1, seed))
            (folder / f"{mechanism}-{seed}.json").write_text(json.dumps(data))
    one = claim(judged(folder), "distance")
    assert (one.verdict, len(one.per_seed)) == ("supported", 7)


def test_a_measurement_left_out_leaves_its_claim_untested(tmp_path: Path) -> None:
    folder = write(tmp_path, manifest(*FULL))
    for seed in SEEDS:
        path = folder / f"full-{seed}.json"
        data = json.loads(path.read_text())
        del data["layer_distance"], data["loss"]
        path.write_text(json.dumps(data))
    card = judged(folder)
    assert claim(card, "distance").verdict == "supported"
    assert claim(card, "layers").verdict == "not_tested"
    assert "not supplied from elsewhere" in claim(card, "layers").why
    assert claim(card, "layers").pictures == ()
    assert "losses" not in {figure.id for figure in card.figures}


def test_a_diverged_run_counts_as_the_rule_says(tmp_path: Path) -> None:
    runs = (run(seeds=list(SEEDS[1:])), run(seeds=[7], status="diverged"), *FULL[1:])
    folder = write(tmp_path, manifest(*runs))
    path = folder / "full-7.json"
    data = json.loads(path.read_text())
    data["distance"] = float("nan")
    path.write_text(json.dumps(data))
    one = claim(judged(folder), "distance")
    assert one.verdict == "technical_failure"
    assert "diverged, seed 7" in one.why


@pytest.mark.parametrize(
    ("changes", "evidence"),
    [
        ({}, "assumed"),
        ({"settings": {"init_scale": 0.1}}, "assumed"),  # an alternative of the ledger
        ({"settings": {"init_scale": 0.5}}, "proxy"),  # nobody's value
        ({"settings": {"assumed_opposite.init_scale": 0.5}}, "proxy"),
        ({"settings": {"good.mechanism": "none"}}, "assumed"),  # of another experiment
        ({"settings": {"steps": 100}}, "reduced"),
        ({"settings": {"steps": 2000}}, "proxy"),
        ({"settings": {"mechanism": "none"}}, "proxy"),  # a control in disguise
        ({"proxy": "other data"}, "proxy"),
        ({"tier": "quick"}, "reduced"),
    ],
)
def test_evidence_is_what_the_settings_show(
    changes: dict[str, Any], evidence: str, tmp_path: Path
) -> None:
    runs = [run(m, experiment="assumed_opposite") for m in factories.LEVELS]
    card = judged(write(tmp_path, manifest(*runs, **changes)))
    assert claim(card, "missed").evidence == evidence
    assert claim(card, "missed").verdict == "supported"


# --- formats --------------------------------------------------------------------------------------


def table(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def measured(seed: int) -> Measurements:
    return factories.measurements(0.03, 0.1, seed)


def csv_files(folder: Path) -> list[str]:
    """Scalars and series of all seeds in a table each; an array in a file named after it."""
    scalars = [{"seed": s, **measured(s).scalars} for s in SEEDS]
    (folder / "ends.csv").write_text(table(scalars))
    loss = [
        {"seed": s, "step": step, "loss": value}
        for s in SEEDS
        for step, value in zip(*_series(s), strict=True)
    ]
    (folder / "curves.csv").write_text(table(loss))
    for s in SEEDS:
        rows = [
            {"layer": f"{layer}.0", "value": v}
            for layer, v in zip(factories.LAYERS, measured(s).arrays["layer_distance"], strict=True)
        ]
        place = folder / str(s)
        place.mkdir(exist_ok=True)
        (place / "layer_distance.csv").write_text(table(rows[::-1]))
    return ["ends.csv", "curves.csv", "{seed}/layer_distance.csv"]


def _series(seed: int) -> tuple[tuple[int, ...], list[float]]:
    one = measured(seed).series["loss"]
    return one.steps, one.values.tolist()


def npz_files(folder: Path) -> list[str]:
    for s in SEEDS:
        one = measured(s)
        steps = {f"{name}.steps": np.array(v.steps) for name, v in one.series.items()}
        values = {name: v.values for name, v in one.series.items()}
        np.savez(folder / f"all-{s}.npz", **one.scalars, **one.arrays, **steps, **values)
    return ["all-{seed}.npz"]


def json_files(folder: Path) -> list[str]:
    return ["full-{seed}.json"]


@pytest.mark.parametrize("make", [csv_files, npz_files, json_files])
def test_every_format_holds_the_same(make: Callable[[Path], list[str]], tmp_path: Path) -> None:
    write(tmp_path, manifest())
    files = make(tmp_path)
    write(tmp_path, manifest(run(files=files)))
    records = read_submission(AUDIT, tmp_path).records
    assert [r.seed for r in records] == list(SEEDS)
    for record in records:
        truth, found = measured(record.seed), record.measurements
        assert found.scalars == pytest.approx(truth.scalars)
        assert found.series["loss"].steps == truth.series["loss"].steps
        np.testing.assert_allclose(found.series["loss"].values, truth.series["loss"].values)
        for name in found.arrays:
            np.testing.assert_allclose(found.arrays[name], truth.arrays[name])
        assert "layer_distance" in found.arrays


def test_a_manifest_in_json(tmp_path: Path) -> None:
    folder = write(tmp_path, manifest(*FULL))
    (folder / "manifest.yaml").unlink()
    (folder / "manifest.json").write_text(json.dumps(manifest(*FULL)))
    assert claim(judged(folder), "distance").verdict == "supported"
    (folder / "manifest.json").write_text(json.dumps(manifest(run(seeds=[-1]))))
    with pytest.raises(SpecError, match=r"^manifest.json: runs\[0\].seeds\[0\]: found -1"):
        read_submission(AUDIT, folder)


# --- what does not fit ----------------------------------------------------------------------------

LOSS = "step,loss\n0,1.0\n10,0.5\n"
LAYERS = "layer,layer_distance\n1,0.1\n2,0.1\n3,0.1\n"
CASES: list[tuple[str, dict[str, Any], str, str, str]] = [
    # (name, change of the manifest, the file a.csv or b.json, place, words)
    ("unknown field", {"whom": "x"}, LOSS, "manifest.yaml:6:7: whom", "Did you mean 'who'?"),
    ("missing field", {"who": None}, LOSS, "manifest.yaml:2:6: who", "found null"),
    ("bad tier", {"tier": "smoke"}, LOSS, "manifest.yaml:6:7: tier", "'quick' or 'paper'"),
    ("other paper", {"paper": "other"}, LOSS, "manifest.yaml:6:8: paper", "expected 'toy'"),
    ("unknown setting", {"settings": {"step": 3}}, LOSS, "settings.step", "mean 'steps'?"),
    ("ill-typed setting", {"settings": {"steps": "x"}}, LOSS, "settings.steps", "a whole number"),
    ("unknown experiment of a setting", {"settings": {"god.steps": 3}}, LOSS,
     "settings.god.steps", "mean 'good'?"),
    ("unknown unit", {"units": {"lss": "1"}}, LOSS, "units.lss", "mean 'loss'?"),
    ("other unit", {"units": {"loss": "nats"}}, LOSS, "units.loss", "expected '1'"),
    ("ragged", {}, "step,loss\n0,1.0\n10\n", "a.csv:3", "found 1 cells; expected 2"),
    ("no number", {}, "step,loss\n0,high\n", "a.csv:2", "column loss: found 'high'"),
    ("not finite", {}, "step,loss\n0,1.0\n1,nan\n", "a.csv:3", "status: diverged"),
    ("part of a step", {}, "step,loss\n0.5,1.0\n", "a.csv:2", "column step: found '0.5'"),
    ("negative step", {}, "step,loss\n-1,1.0\n", "a.csv:2", "whole number of 0 or more"),
    ("steps fall", {}, "step,loss\n10,1.0\n5,1.0\n", "a.csv:3", "found step 5 after 10"),
    ("step twice", {}, "step,loss\n0,1.0\n0,1.0\n", "a.csv:3", "same place as line 2"),
    ("no measurement", {}, "step,lss\n0,1.0\n", "a.csv:1", "expected a measurement among them"),
    ("columns twice", {}, "step,step\n0,1.0\n", "a.csv:1", "different names"),
    ("empty", {}, "", "a.csv:1", "no header"),
    ("no steps", {}, "loss\n1.0\n", "a.csv:1", "no column 'step', but 'loss' is a series"),
    ("steps of a scalar", {}, "step,accuracy\n0,1.0\n", "a.csv:1", "but 'accuracy' is a scalar"),
    ("axis unknown", {}, "depth,layer_distance\n1,0.1\n", "a.csv:1", "expected layer"),
    ("axis missing", {}, "layer_distance\n0.1\n", "a.csv:1", "found the axes none"),
    ("coordinate unknown", {}, LAYERS.replace("3,", "4,"), "a.csv:4", "one of 1, 2, 3"),
    ("coordinate missing", {}, LAYERS[:-6], "a.csv:", "no 'layer_distance' at layer 3"),
    ("no rows", {}, "layer,layer_distance\n", "a.csv:", "no row of 'layer_distance'"),
    ("two rows of a scalar", {}, "accuracy\n0.1\n0.2\n", "a.csv:3", "same place as line 2"),
    ("not text", {}, "\x00\udcff", "a.csv", "CSV table in UTF-8"),
]  # fmt: skip


def faults(folder: Path) -> list[str]:
    """What is wrong with measurements, a line for each fault."""
    with pytest.raises(SpecError) as caught:
        read_submission(AUDIT, folder)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("changes", "text", "place", "says"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_what_does_not_fit_in_a_table_is_one_line_with_its_place(
    changes: dict[str, Any], text: str, place: str, says: str, tmp_path: Path
) -> None:
    one = run(seeds=[7], files=["a.csv"])
    stated = {**manifest(), **changes}
    write(tmp_path, {**{k: v for k, v in stated.items() if k != "runs"}, "runs": [one]})
    (tmp_path / "a.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    (line,) = faults(tmp_path)
    assert place in line
    assert says in line


@pytest.mark.parametrize(
    ("data", "place", "says"),
    [
        ("{", "b.json:", "is not JSON"),
        ("[]", "b.json:", "expected measurements by name"),
        ('{"lss": 1}', "b.json: lss", "Did you mean 'loss'?"),
        ('{"loss": [1, 2]}', "b.json: loss", "found no steps of 'loss'"),
        ('{"loss": {"steps": [0]}}', "b.json: loss", "lists 'steps' and 'values'"),
        ('{"loss": {"steps": [0, 0], "values": [1, 2]}}', "b.json: loss", "step 0 after 0"),
        ('{"loss": {"steps": [0.5], "values": [1]}}', "b.json: loss", "found the step 0.5"),
        ('{"loss": {"steps": [true], "values": [1]}}', "b.json: loss", "found the step True"),
        ('{"loss": {"steps": [], "values": []}}', "b.json: loss", "found no steps"),
        (
            '{"loss": {"steps": [0, 1], "values": [1]}}',
            "b.json: loss",
            "shape (1) of 'loss'; expected (2)",
        ),
        ('{"accuracy": [1]}', "b.json: accuracy", "expected a single number"),
        ('{"accuracy": "high"}', "b.json: accuracy", "else than numbers"),
        ('{"accuracy": true}', "b.json: accuracy", "else than numbers"),
        ('{"accuracy": null}', "b.json: accuracy", "else than numbers"),
        ('{"accuracy": NaN}', "b.json: accuracy", "is not finite"),
        ('{"layer_distance": [1, 2]}', "b.json: layer_distance", "layer [1, 2, 3]"),
        ('{"layer_distance": [1, [2]]}', "b.json: layer_distance", "different lengths"),
    ],
)
def test_what_does_not_fit_in_json(data: str, place: str, says: str, tmp_path: Path) -> None:
    write(tmp_path, manifest(run(seeds=[7], files=["b.json"])), b__json=data)
    (line,) = faults(tmp_path)
    assert line.startswith(place)
    assert says in line


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"experiment": "god"}, "manifest.yaml:7:15: runs[0].experiment: found the unknown"),
        ({"settings": {"mechanism": "half"}}, "or {mechanism: 'constructed'}"),
        ({"files": ["none.csv"]}, "runs[0].files[0]: found no file 'none.csv'"),
        ({"files": ["../x.csv"]}, "expected a file inside the manifest's folder"),
        ({"files": ["/etc/passwd"]}, "expected a file inside the manifest's folder"),
        ({"files": ["link.csv"]}, "leads out of the folder"),
        ({"files": ["loss.txt"]}, "expected one of .csv, .json, .npz"),
        ({"files": ["bad.npz"]}, "is no NPZ file of plain arrays"),
        ({"files": ["objects.npz"]}, "is no NPZ file of plain arrays"),
        ({"seeds": [7, 7]}, "found seed 7 of 'good' a second time"),
        ({"seeds": [7, 21], "files": ["full-7.json"]}, "one file for several seeds"),
        ({"seeds": [7, 21], "files": ["a.csv"]}, "without a column 'seed'"),
        ({"files": ["full-7.json", "a.csv"]}, "found 'loss', which full-7.json: loss has already"),
        ({"files": []}, "at least 1 item"),
    ],
)
def test_what_does_not_fit_in_a_run(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    write(folder, manifest(run(**{"seeds": [7], "files": ["full-{seed}.json"], **changes})),
          a__csv=LOSS, loss__txt="", bad__npz="PK")  # fmt: skip
    np.savez(folder / "objects.npz", loss=np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "outside.csv").write_text(LOSS)
    (folder / "link.csv").symlink_to(tmp_path / "outside.csv")
    with pytest.raises(SpecError) as caught:
        read_submission(AUDIT, folder)
    assert says in str(caught.value)


def test_everything_is_told_at_once(tmp_path: Path) -> None:
    first = run(seeds=[7], files=["a.csv", "b.json"])
    second = run("none", seeds=[7], files=["nowhere.csv"])
    write(tmp_path, manifest(first, second, run(experiment="god"), units={"lss": "1"}),
          a__csv="step,loss\n0,x\n1,y\n", b__json='{"accuracy": [1], "distance": "x"}')  # fmt: skip
    lines = faults(tmp_path)
    assert len(lines) == 7
    assert all(re.match(r"(manifest\.yaml:\d+:\d+|a\.csv:\d*|b\.json): ", line) for line in lines)


def test_a_folder_without_a_manifest_is_a_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no manifest"):
        read_submission(AUDIT, tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        read_submission(AUDIT, tmp_path / "none")


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["loss", "distance", "weights", "steps", "values", "seeds", "files",
                         "experiment", "good", "settings"]) | st.text(max_size=3),
        inner, max_size=4,
    ),
    max_leaves=10,
)  # fmt: skip
CELLS = st.sampled_from(["step", "loss", "layer", "value", "0", "1", "nan", "1e400", "", "x", '"'])
TABLES = st.lists(st.lists(CELLS, max_size=4).map(",".join), max_size=5).map("\n".join)


@settings(max_examples=150, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(
    data=st.binary(max_size=60) | ANY.map(json.dumps).map(str.encode) | TABLES.map(str.encode),
    name=st.sampled_from(["a.csv", "b.json", "c.npz", "manifest.yaml"]),
    stated=st.dictionaries(st.sampled_from(["who", "tier", "settings", "units", "runs"]), ANY),
)
def test_any_files_are_read_or_refused_in_single_lines(
    tmp_path: Path, data: bytes, name: str, stated: dict[str, Any]
) -> None:
    text = yaml.safe_dump({**manifest(run(seeds=[7], files=[name])), **stated})
    (tmp_path / "manifest.yaml").write_text(text.replace("'2026-11-02'", "2026-11-02"))
    (tmp_path / name).write_bytes(data)
    try:
        judged(tmp_path)
    except AuditError as error:
        for line in str(error).splitlines():
            assert re.match(r"(manifest\.yaml|a\.csv|b\.json|c\.npz|settings that)", line), line


# --- what stands out ------------------------------------------------------------------------------

OWN, CONTROL = "experiment 'good'", "control 'good' with mechanism = 'none'"
SOLUTION = "positive control 'good' with mechanism = 'constructed'"


def change(folder: Path, mechanism: str, seed: int, **changes: Any) -> None:
    """Changes the numbers of one run; None takes them away."""
    path = folder / f"{mechanism}-{seed}.json"
    data = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({name: one for name, one in data.items() if one is not None}))


def copy(folder: Path, mechanism: str, seed: int, *seeds: int, of: str = "") -> None:
    """Writes the numbers of one seed for others, in place of their own."""
    for other in seeds:
        text = (folder / f"{of or mechanism}-{seed}.json").read_text()
        (folder / f"{mechanism}-{other}.json").write_text(text)


def curve(*steps: int) -> dict[str, Any]:
    return {"steps": list(steps), "values": [1.0 / (1 + step) for step in steps]}


def whole(folder: Path, *runs: dict[str, Any], **changes: Any) -> Path:
    """A submission in which nothing stands out."""
    write(folder, manifest(*(runs or FULL), **{"settings": EVERYTHING, **changes}))
    for seed in SEEDS:
        loss = as_json(factories.measurements(0.03, 0.1, seed))["loss"]
        change(folder, "full", seed, loss={**loss, "steps": [10 * one for one in loss["steps"]]})
    return folder


def remarks(folder: Path) -> tuple[str, ...]:
    return read_submission(AUDIT, folder).remarks


def test_whole_runs_of_their_own_have_no_remark(tmp_path: Path) -> None:
    card = judged(whole(tmp_path))
    assert card.origin is not None
    assert card.origin.remarks == ()


def test_copies_among_seeds_that_differ_are_refused(tmp_path: Path) -> None:
    copy(whole(tmp_path), "full", 7, 21, 22)
    copy(tmp_path, "full", 23, 40)
    first, second = faults(tmp_path)
    assert "runs[0]: found the same numbers for" in first
    assert f"for seeds 21, 22 as for seed 7 of {OWN}; expected runs of their own" in first
    assert "runs[0]: found the same numbers for seed 40 as for seed 23" in second


def test_runs_that_all_agree_or_have_few_numbers_are_told_and_judged(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    copy(folder, "none", 7, *SEEDS[1:])
    for seed in SEEDS:  # shares that saturate, and nothing else
        share = {"accuracy": 1.0 if seed > 21 else 0.9 - seed / 1000}
        (folder / f"full-{seed}.json").write_text(json.dumps(share))
    copy(folder, "constructed", 7, 40)
    assert remarks(folder) == (
        f"The seeds 22, 23, 40 of {OWN} have the same numbers.",
        f"The seeds 7, 21, 22, 23, 40 of {CONTROL} have the same numbers.",
        f"The seeds 7, 40 of {SOLUTION} have the same numbers.",
    )


def test_series_that_end_elsewhere_than_training_are_told(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    for seed in SEEDS:
        change(folder, "none", seed, loss=curve(0, seed, 500))
    change(folder, "full", 7, loss=curve(1))
    change(folder, "full", 21, loss=curve(0, 500, 600))  # may have ended at 1000 unobserved
    change(folder, "full", 22, loss=curve(0, 1000, 2000))
    change(folder, "constructed", 7, loss=curve(0))  # has no course
    assert remarks(folder) == (
        f"Series of seed 7 of {OWN} end at step 1 of 1000.",
        f"Series of seed 22 of {OWN} end at step 2000 of 1000.",
        f"Series of seeds 7, 21, 22, 23, 40 of {CONTROL} end at step 500 of 1000.",
    )


def test_notes_of_the_manifest_stand_on_every_page(tmp_path: Path) -> None:
    for text in shown(judged(whole(tmp_path, noted=["Two runs were left out."]))).values():
        assert "Two runs were left out." in text


def test_stages_together_are_the_length_of_training() -> None:
    audit = Catalog()["yang2025"].audit()
    settings = audit.values_of("three_stages", "paper")
    assert stated_length(audit, "three_stages", {**settings, "stage_steps": (1, 2, 4)}) == 7
    assert stated_length(audit, "three_stages", {**settings, "stage_steps": (1, 2)}) is None
    assert stated_length(audit, "three_stages", {**settings, "stage_steps": 5}) == 15
    assert stated_length(audit, "construction", audit.values_of("construction", "paper")) is None


# --- what is shown --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Scorecard:
    ours = factories.make_scorecard(claims=CLAIMS, responses=[], findings=[])
    folder = tmp_path_factory.mktemp("theirs")
    return judged(write(folder, manifest(*FULL, settings={"steps": 2000})), ours)


def shown(card: Scorecard) -> dict[str, str]:
    out = io.StringIO()
    render_scorecard(card, Console(file=out, width=80))
    assert max(map(len, out.getvalue().splitlines())) <= 80
    texts = {"terminal": out.getvalue(), "md": render_markdown(card), "html": render_html(card)}
    return {name: " ".join(text.replace("&#39;", "'").split()) for name, text in texts.items()}


def test_they_are_marked_as_not_ours_everywhere(card: Scorecard) -> None:
    for name, text in shown(card).items():
        assert "Measurements from elsewhere, not ours: made 2026-11-02 by Ben Sample" in text, name
        assert "In every run steps = 2000." in text, name
        assert "Not supplied: experiment 'assumed" in text.replace("\\", ""), name


def test_ours_stand_beside_them(card: Scorecard) -> None:
    (beside,) = [one for one in card.beside if one.id == "toy.distance"]
    assert (beside.decision, beside.verdict, beside.evidence) == ("met", "supported", "exact")
    assert "Welch t, 5 against 5 seeds" in beside.difference
    assert "Not shown to be equal" in beside.difference
    for name, text in shown(card).items():
        assert "eside our own records" in text, name
        assert beside.reading in text.replace("\\", ""), name


def test_their_pages_stand_apart_from_ours(card: Scorecard, tmp_path: Path) -> None:
    written = write_report(card, tmp_path)
    assert {p.parent.relative_to(tmp_path).as_posix() for p in written} == {
        "paper/toy/elsewhere/by_ben_sample_2026_11_02"
    }
    again = read_scorecard(written[1])
    assert again == card.model_copy(update={"digest": again.digest})
    ours = factories.make_scorecard(claims=CLAIMS, responses=[], findings=[])
    found = compare(ComparedScorecard("ours", None, ours), ComparedScorecard("theirs", None, again))
    assert any(c.place == "origin" and c.kind == "records" for c in found.changes)


def test_no_other_measurements_are_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(documented(tmp_path))
    table = tmp_path / "trained.csv"
    place = "paper/ahn2023/elsewhere/by_r_reader_2026_11_02"
    command = ["judge", "ahn2023", "--measurements", ".", "--out", "reports"]

    def judge() -> str:
        assert run_command(command) == 0
        return " ".join(capsys.readouterr().out.split())

    judge()
    first = (tmp_path / "reports" / place / "scorecard.json").read_bytes()
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace("0.7688", "0.7689"), encoding="utf-8")
    assert f"wrote reports/{place}_2/scorecard.html" in judge()
    assert f"wrote reports/{place}_2/scorecard.html" in judge(), "the same once more"
    table.write_text(text.replace("0.7688", "0.7690"), encoding="utf-8")
    judge()
    assert (tmp_path / "reports" / place / "scorecard.json").read_bytes() == first
    found = sorted(one.name for one in (tmp_path / "reports" / place).parent.iterdir())
    assert found == [f"by_r_reader_2026_11_02{number}" for number in ("", "_2", "_3")]
    (index,) = write_register([factories.make_scorecard()], tmp_path / "reports")
    assert len(rows_of(index, "Not ours: made 2026-11-02")) == 3


@pytest.mark.parametrize("damage", ["{", None])
def test_a_scorecard_that_cannot_be_read_is_not_written_over(
    damage: str | None, card: Scorecard, tmp_path: Path
) -> None:
    page, *_ = write_report(card, tmp_path)
    if damage is None:
        page.with_suffix(".json").unlink()
    else:
        page.with_suffix(".json").write_text(damage)
    other, *_ = write_report(card, tmp_path)
    assert other.parent.name == f"{page.parent.name}_2"


def test_scorecards_without_a_digest_are_told_apart_by_their_records(
    card: Scorecard, tmp_path: Path
) -> None:
    assert card.origin is not None
    older = card.model_copy(update={"origin": card.origin.model_copy(update={"measurements": ""})})
    first, *_ = write_report(older, tmp_path)
    other = judged(write(tmp_path / "other", manifest(*FULL[:2])))
    assert write_report(other, tmp_path)[0].parent.name == f"{first.parent.name}_2"
    same, *_ = write_report(card, tmp_path)
    assert same == first


# --- the command, by the documented example -------------------------------------------------------


def documented(folder: Path) -> Path:
    """Writes the files of the example, as the page names them."""
    page = DOCUMENTED.read_text(encoding="utf-8")
    for name in ("manifest.yaml", "trained.csv"):
        block = re.search(rf"`{re.escape(name)}`:\n\n```\w+\n(.*?)```", page, re.DOTALL)
        assert block is not None, name
        (folder / name).write_text(block[1], encoding="utf-8")
    return folder


def test_the_documented_example_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(documented(tmp_path))
    assert run_command(["judge", "ahn2023", "--measurements", ".", "--out", "reports"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "by R. Reader with JAX 0.4.30" in text
    page = "reports/paper/ahn2023/elsewhere/by_r_reader_2026_11_02/scorecard.html"
    assert page in DOCUMENTED.read_text(encoding="utf-8")
    assert (tmp_path / page).is_file()
    assert run_command(["judge", "ahn2023", "--measurements", ".", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    one = next(c for c in data["claims"] if c["id"] == "ahn2023.one-layer-optimum")
    assert (one["decision"], one["verdict"]) == ("met", "not_tested")
    assert data["origin"]["who"] == "R. Reader"


def test_the_documented_controls_are_those_of_the_audit(tmp_path: Path) -> None:
    page = DOCUMENTED.read_text(encoding="utf-8")
    folder = documented(tmp_path)
    (block,) = re.findall(r"```yaml\n(  - experiment.*?)```", page, re.DOTALL)
    with (folder / "manifest.yaml").open("a", encoding="utf-8") as file:
        file.write(block)
    table = (folder / "trained.csv").read_text(encoding="utf-8")
    for name in re.findall(r"files: \[(\w+\.csv)\]", block):
        (folder / name).write_text(table, encoding="utf-8")
    submission = read_submission(Catalog()["ahn2023"].audit(), folder)
    assert len(submission.records) == 15
    assert not [one for one in submission.absent if "one_layer" in one]


def test_a_mistake_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["judge", "ahn2023", "--measurements", str(tmp_path)]) == 2
    assert "holds no manifest" in capsys.readouterr().err
    assert run_command(["judge", "ahn2024", "--measurements", str(tmp_path)]) == 2


# --- in the index of the reports ------------------------------------------------------------------


def links_in(page: Path) -> list[str]:
    return re.findall(r'<a href="([^"]*)"', page.read_text(encoding="utf-8"))


def rows_of(page: Path, text: str) -> list[str]:
    """What a reader sees of the table rows that hold a text, each on one line."""
    rows = re.findall(r"<tr\b.*?</tr>", page.read_text(encoding="utf-8"), re.DOTALL)
    shown = [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in rows]
    return [row for row in shown if text in row]


def test_the_index_sets_measurements_from_elsewhere_beside_ours(tmp_path: Path) -> None:
    ours = factories.make_scorecard(claims=CLAIMS, responses=[], findings=[])
    theirs = judged(write(tmp_path / "logs", manifest(*FULL, settings=EVERYTHING)), ours)
    out = tmp_path / "reports"
    write_report(ours, out)
    (alone,) = write_register([ours], out)
    before = alone.read_bytes()
    assert b"elsewhere" not in before
    write_report(theirs, out)
    (index,) = write_register([ours], out)
    page = "toy/elsewhere/by_ben_sample_2026_11_02/scorecard.html"
    anchors = [f"{page}#claim-{n}" for n in (1, 2, 3)]
    assert list(dict.fromkeys(one for one in links_in(index) if "elsewhere" in one)) == [
        page,
        *anchors,
    ]
    for link in (page, *anchors):
        target, _, anchor = link.partition("#")
        text = (index.parent / target).read_text(encoding="utf-8")
        assert not anchor or f'id="{anchor}"' in text
    (paper,) = rows_of(index, "Not ours: made 2026-11-02 with JAX 0.4.30; logs of the cluster")
    assert "toy, measured by Ben Sample" in paper
    assert "2 supported" in paper
    mine, other = rows_of(index, "toy.distance")
    assert "supported" in mine
    assert "measured by Ben Sample (not ours, 2026-11-02) supported" in other
    assert "exact" in other
    (out / "paper" / page).unlink()
    write_register([ours], out)
    assert index.read_bytes() == before


def test_a_paper_that_only_others_measured_stands_in_the_index(tmp_path: Path) -> None:
    theirs = judged(write(tmp_path / "logs", manifest(*FULL)))
    write_report(theirs, tmp_path)
    other = factories.make_scorecard("toy_two")
    (index,) = write_register([other], tmp_path)
    assert len(rows_of(index, "measured by Ben Sample")) == 1 + len(theirs.claims)


def test_hostile_names_stay_text_in_the_index(tmp_path: Path) -> None:
    who = "<script>alert(1)</script> & co"
    stated = manifest(*FULL, who=who, source='"><img src=x>')
    write_report(judged(write(tmp_path / "logs", stated)), tmp_path)
    (index,) = write_register([factories.make_scorecard()], tmp_path)
    text = index.read_text(encoding="utf-8")
    assert text.count("<script") == 1
    assert "<img" not in text
    assert len(rows_of(index, f"measured by {who}")) >= 2


def test_judging_brings_an_index_that_is_there_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(documented(tmp_path))
    command = ["judge", "ahn2023", "--measurements", ".", "--out", "reports"]
    assert run_command(command) == 0
    index = tmp_path / "reports" / "paper" / "index.html"
    assert not index.exists()
    ours = factories.make_scorecard()
    write_report(ours, tmp_path / "reports")
    index.write_text("an older one", encoding="utf-8")
    assert run_command(command) == 0
    assert "wrote reports/paper/index.html" in capsys.readouterr().out
    assert "toy/scorecard.html" in links_in(index)
    assert "ahn2023/elsewhere/by_r_reader_2026_11_02/scorecard.html" in links_in(index)
