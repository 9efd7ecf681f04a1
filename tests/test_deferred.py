"""Modules that are imported when something of them is first used."""

from __future__ import annotations

import copy
import sys

import pytest

from reproaudit.lazy import deferred


def test_a_module_is_imported_with_the_first_name_that_is_asked_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    module = copy.copy(deferred("colorsys"))
    assert "colorsys" not in sys.modules
    assert module.rgb_to_hsv(1.0, 0.0, 0.0) == (0.0, 1.0, 1.0)
    assert module.rgb_to_hsv is sys.modules["colorsys"].rgb_to_hsv
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # noqa: B018
