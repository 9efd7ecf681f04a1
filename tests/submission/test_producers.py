"""Files as their producers leave them: the right answer, or the line that leads to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import encoders
import pytest

from reproaudit.audit.loading import load_audit
from reproaudit.errors import AuditError
from reproaudit.service.judge import Judged, judge_logs

AUDIT = """\
schema_version: 3
paper: {{slug: producers, title: Producers, year: 2024, read: {{text: abstract}}}}
method: ours
measurements: {{score: {{{form}, says: The score.}}}}
claims:
  main:
    says: Ours has the higher score.
    holds_if: [{{kind: beats, value: score, arm: baseline, higher: true, from: paper}}]
"""
SERIES = "every_step: []"
SCALAR = "once: []"
OURS = (0.9, 0.8, 0.7, 0.6, 0.4)
BASELINE = (0.5, 0.5, 0.5, 0.5, 0.5)
ARMS = {"ours": OURS, "baseline": BASELINE}


def judged(folder: Path, logs: Sequence[Path], mapping: str = "{}", form: str = SCALAR) -> Judged:
    audit = folder / "producers.yaml"
    audit.write_text(AUDIT.format(form=form), encoding="utf-8")
    stated = folder / "mapping.yaml"
    stated.write_text(mapping, encoding="utf-8")
    return judge_logs(load_audit(audit), list(logs), stated)


def counts(made: Judged) -> tuple[int, int]:
    """Return the runs that say yes, and those that say anything."""
    (claim,) = made.scorecard.claims
    return claim.base.yes, claim.base.n


def notes(made: Judged) -> str:
    assert made.logs is not None
    return "\n".join(made.logs.lines)


def refusal(folder: Path, logs: Sequence[Path], mapping: str = "{}", form: str = SCALAR) -> str:
    with pytest.raises(AuditError) as error:
        judged(folder, logs, mapping, form)
    return str(error.value)


# --- the files of one run's folder ----------------------------------------------------------------


def trainer_folders(logs: Path) -> list[Path]:
    """Write what Hugging Face's Trainer leaves: its state, a checkpoint's, and summaries."""
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            home = logs / f"{arm}-seed{seed}"
            (home / "checkpoint-10").mkdir(parents=True)
            steps = [{"step": 10, "score": value / 2}, {"step": 20, "score": value}]
            for folder, reached in ((home / "checkpoint-10", 10), (home, 20)):
                state = {"log_history": steps, "global_step": reached, "max_steps": 20}
                (folder / "trainer_state.json").write_text(json.dumps(state))
            end = {"epoch": 2.0, "score": value}
            (home / "all_results.json").write_text(json.dumps(end))
            (home / "eval_results.json").write_text(json.dumps(end))
            (home / "config.json").write_text('{"hidden_size": 768}')
    return sorted(logs.iterdir())


def test_summaries_beside_a_log_are_no_runs_of_their_own(tmp_path: Path) -> None:
    trainer_folders(tmp_path / "logs")
    made = judged(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert counts(made) == (4, 5)
    assert "(sums up trainer_state.json beside it)" in notes(made)
    assert "runs given" not in notes(made)


@pytest.mark.parametrize("name", ["trainer_state.json", "all_results.json"])
def test_files_by_hand_have_the_seeds_of_their_folders(tmp_path: Path, name: str) -> None:
    files = [home / name for home in trainer_folders(tmp_path / "logs")]
    made = judged(tmp_path, files, form=SERIES if name == "trainer_state.json" else SCALAR)
    assert counts(made) == (4, 5)


def test_what_a_summary_alone_has_is_its_logs(tmp_path: Path) -> None:
    for home in trainer_folders(tmp_path / "logs"):
        value = ARMS[home.name.partition("-")[0]][int(home.name[-1])]
        (home / "test_results.json").write_text(json.dumps({"test_score": value, "epoch": 2.0}))
    made = judged(tmp_path, [tmp_path / "logs"], "mapping: {score: test_score}")
    assert counts(made) == (4, 5)


def test_no_advice_leaves_both_logs_of_a_run_out(tmp_path: Path) -> None:
    for home in trainer_folders(tmp_path / "logs"):
        for summary in home.glob("*_results.json"):
            summary.unlink()
        encoders.event_file(home / "a.tfevents.1", {"score": [(10, 0.1), (20, 0.2)]})
    told = refusal(tmp_path, [tmp_path / "logs"], form=SERIES)
    both = "ours-seed0/a.tfevents.1, ours-seed0/trainer_state.json"
    assert f"Both are called so: hand in one of {both} alone." in told
    assert "ignore" not in told


# --- nested rows, and rows that sum others up -----------------------------------------------------


@pytest.mark.parametrize("beside", [{"conclusion": {"ours": 0.9, "baseline": 0.5}}, {"best": 0.9}])
@pytest.mark.parametrize("tag", ["metrics.test.score", "test.score"])
def test_rows_whose_seed_stands_in_their_settings(
    tmp_path: Path, beside: dict[str, object], tag: str
) -> None:
    rows = [
        {"config": {"algo": arm, "seed": seed}, "metrics": {"test": {"score": value}}}
        for arm, values in ARMS.items()
        for seed, value in enumerate(values)
    ]
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"task": "reproduce", "results": rows, **beside}))
    made = judged(tmp_path, [file], f"mapping: {{score: {tag}}}")
    assert counts(made) == (4, 5)
    assert "passed over beside the runs: " in notes(made)


GERMAN = """\
Verfahren;Lauf;Startwert;score;Laufzeit (s);Datum
ours;1;0;92,40 %;1.203,5;01.03.2024
ours;2;1;92,15 %;1.199,0;02.03.2024
ours;3;2;91,00 %;999,5;03.03.2024
baseline;4;0;91,20 %;1.210,2;01.03.2024
baseline;5;1;90,85 %;1.188,7;02.03.2024
baseline;6;2;91,05 %;2.403,1;03.03.2024
Mittelwert ours;;;91,85 %;1.134,0;
Mittelwert baseline;;;91,03 %;1.600,6;
"""


def test_a_german_table_with_rows_of_means(tmp_path: Path) -> None:
    file = tmp_path / "Ergebnisse.csv"
    file.write_text(GERMAN, encoding="utf-8-sig")
    made = judged(tmp_path, [file], "columns: {seed: Startwert}")
    assert counts(made) == (2, 3)
    passed = "line 8 (Mittelwert ours), line 9 (Mittelwert baseline)"
    assert f"rows without a seed were passed over: {passed}" in notes(made)
    assert "'score' is in per cent, such as 92,40 %" in notes(made)
    assert "ignored tags: Datum, Lauf, Laufzeit (s)" in notes(made)


def test_rows_without_a_seed_that_have_steps_are_not_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "ours.jsonl"
    rows = [{"seed": 0, "step": 0, "score": 0.1}, {"step": 1, "score": 0.2}]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert "found the seed 'None'; expected a whole number" in refusal(tmp_path, [file])
