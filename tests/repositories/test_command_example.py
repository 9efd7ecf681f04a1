"""The example of docs/command.md does what the page shows."""

import shutil

import pytest
from outsiders import EXAMPLE, ROOT

from walkthroughs import blocks, light_environment, run_page


@pytest.mark.process
def test_the_page_does_what_it_shows(tmp_path):
    """In an environment that has no torch."""
    light = light_environment(tmp_path / "light")
    environment = {**light, "REPROAUDIT_CACHE": str(tmp_path / "cache"), "PYTHONUNBUFFERED": "1"}
    environment.pop("REPROAUDIT_TRUST", None)
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "command")
    (tmp_path / "docs" / "tutorial").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "tutorial" / "soudry2018.yaml", tmp_path / "docs" / "tutorial")
    ran = run_page("command.md", tmp_path, environment, str.strip)
    assert [code for _, code, _ in ran] == [0] * 6
    records = (tmp_path / "runs").rglob("*.json")
    assert len([file for file in records if not file.name.endswith(".failed.json")]) == 15


def test_the_run_file_of_the_page_is_the_files():
    (shown,) = blocks("command.md", "yaml")
    assert shown == (EXAMPLE / "soudry2018.run.yaml").read_text(encoding="utf-8")
