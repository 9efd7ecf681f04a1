"""The manual builds without a warning, and what it shows runs."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reproaudit.audit.loading import read_audit
from reproaudit.declarations import misfit
from reproaudit.lab.settings import build_settings

ROOT = Path(__file__).parent.parent


@pytest.mark.process
def test_the_manual_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason="the extra 'docs' is not installed")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    pages = {page.parent.name for page in (tmp_path / "site").rglob("index.html")}
    assert {"short-fields", "names", "module", "tutorial", "review", "ci", "chair"} <= pages
    for page in (tmp_path / "site").rglob("index.html"):
        loaded = r'(?:<script[^>]*src|<img[^>]*src|<link[^>]*rel="stylesheet"[^>]*href)="https?:'
        assert not re.search(loaded, page.read_text(encoding="utf-8")), page


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


AROUND = """
schema_version: 3
paper: {slug: shown, title: Shown}
settings: [{from: paper, at: Table 1, values: {steps: 100, widths: [2, 4]}}]
claims:
  falls:
    says: The loss falls.
    holds_if: [{kind: reaches, value: final_loss, at_most: 1, from: paper}]
    no_control: It is an example.
"""
"""The rest of an audit of which the manual shows a part."""


def test_the_module_in_the_manual_measures_what_its_audit_declares():
    module: dict[str, object] = {"__name__": "shown"}
    exec(
        compile(_blocks("module.md", "python")[0], "docs/module.md", "exec", dont_inherit=True),
        module,
    )
    audit, faults = read_audit("shown.yaml", AROUND + _blocks("module.md", "yaml")[0])
    assert audit is not None, faults
    declared = audit.measurements_of("widths")
    values = audit.values_of("widths", "paper")
    experiment = module["EXPERIMENTS"]["widths"]  # type: ignore[index]
    settings = build_settings(experiment.settings, values)
    found = [experiment.measure(settings, SimpleNamespace(seed=seed)) for seed in (0, 1)]
    assert found[0].names == declared.keys()
    for name, declaration in declared.items():
        assert misfit(name, declaration, found[0], values) is None
    assert not np.array_equal(found[0].arrays["by_width"], found[1].arrays["by_width"])
