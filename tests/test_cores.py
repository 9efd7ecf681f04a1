"""The cores that a process may use, on systems that tell and on systems that do not."""

from __future__ import annotations

import os

import pytest

from reproaudit.running.devices import available_cores


@pytest.mark.parametrize(
    ("allowed", "counted", "cores"),
    [({0, 3, 5}, 64, 3), ({2}, 64, 1), (set(), 64, 1), (None, 4, 4), (None, None, 1)],
)
def test_only_the_cores_that_this_process_is_allowed_count(
    monkeypatch: pytest.MonkeyPatch, allowed: set[int] | None, counted: int | None, cores: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: counted)
    monkeypatch.setattr(os, "sched_getaffinity", {0: allowed}.__getitem__, raising=False)
    if allowed is None:
        monkeypatch.delattr(os, "sched_getaffinity")
    assert available_cores() == cores
