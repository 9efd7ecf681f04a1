"""The cores that a process may use, on systems that tell and on systems that do not."""

from __future__ import annotations

import os

import pytest

from reproaudit.running.cores import available_cores


@pytest.mark.parametrize(("allowed", "cores"), [({0, 3, 5}, 3), ({2}, 1), (set(), 1)])
def test_only_the_cores_that_this_process_is_allowed_count(
    monkeypatch: pytest.MonkeyPatch, allowed: set[int], cores: int
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(
        os, "sched_getaffinity", lambda process: asked.append(process) or allowed, raising=False
    )
    assert available_cores() == cores
    assert asked == [0], "of another process than this one"


@pytest.mark.parametrize(("counted", "cores"), [(4, 4), (None, 1)])
def test_where_the_allowed_cores_are_not_told_all_count(
    monkeypatch: pytest.MonkeyPatch, counted: int | None, cores: int
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: counted)
    assert available_cores() == cores
