"""The reviewer's walkthrough: MLflow logs of three seeds, where torch and MLflow are not there."""

from __future__ import annotations

import csv
import io
import shutil
import zipfile
from pathlib import Path

import numpy as np

from walkthroughs import DOCS, blocks, light_environment, run_page

EXAMPLE = DOCS.parent / "examples" / "reviewer"


def test_the_page_does_what_it_shows(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "reviewer")
    shutil.copytree(DOCS / "tutorial", tmp_path / "docs" / "tutorial")
    ran = run_page("reviewer.md", tmp_path, light_environment(tmp_path / "light"))
    assert [code for _, code, _ in ran] == [0] * 4
    (page,) = (tmp_path / "pages" / "quick" / "soudry2018" / "elsewhere").rglob("scorecard.html")
    assert "not tested" in page.read_text(encoding="utf-8").lower()
    tables = sorted((tmp_path / "wanted").glob("*.csv"))
    assert len(tables) == 6
    for file in tables:
        rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
        assert {row["seed"] for row in rows} == set("01234")


def test_the_mapping_of_the_page_is_the_file() -> None:
    (shown,) = blocks("reviewer.md", "yaml")
    assert shown == (EXAMPLE / "mapping.yaml").read_text(encoding="utf-8")


def test_the_logs_are_what_the_script_computes() -> None:
    """The last weights of a run, computed by the update that the script does."""
    with zipfile.ZipFile(EXAMPLE / "mlruns.zip") as packed:
        names = packed.namelist()
        runs = {name.removesuffix("/params/seed") for name in names if name.endswith("params/seed")}
        assert len(runs) == 6
        for run in runs:
            seed, loss = (
                packed.read(f"{run}/params/{name}").decode() for name in ("seed", "objective")
            )
            support = np.array([[0.5, 1.5], [1.5, 0.5]])
            others = np.random.default_rng(int(seed)).uniform([1.5, 0.75], [5.0, 2.0], size=(12, 2))
            points = np.concatenate([support, support, others])
            w, lr = np.zeros(2), 1 / np.linalg.norm(points, ord=2) ** 2
            for _ in range(20_000):
                margins = points @ w
                slope = 1 / (1 + np.exp(margins)) if loss == "logistic" else 1 - margins
                w = w + lr * slope @ points
            for axis, expected in zip("xy", w, strict=True):
                text = io.TextIOWrapper(packed.open(f"{run}/metrics/weight/{axis}"), "utf-8").read()
                _, value, step = text.splitlines()[-1].split()
                assert step == "20000"
                np.testing.assert_allclose(float(value), expected, rtol=1e-9)
