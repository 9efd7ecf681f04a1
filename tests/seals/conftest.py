"""The paper in miniature, before and after its first seal."""

from __future__ import annotations

from pathlib import Path

import pytest
from chains import commit
from places import Place


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the ways in which commands try one defect, the first is tried always, and all slowly."""
    tried: set[str] = set()
    for item in items:
        if isinstance(item, pytest.Function) and "at" in item.fixturenames:
            name = f"{item.path}::{item.originalname}"
            if name in tried:
                item.add_marker(pytest.mark.slow)
            tried.add(name)


@pytest.fixture
def at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Place:
    monkeypatch.setenv("COLUMNS", "100")
    return Place(tmp_path, capsys)


@pytest.fixture
def sealed(at: Place) -> Place:
    assert at("seal", "mini")[0] == 0
    commit(at.folder, "seal")
    return at
