"""The paper in miniature, before and after its first seal."""

from __future__ import annotations

from pathlib import Path

import pytest
from chains import commit
from places import Place


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
