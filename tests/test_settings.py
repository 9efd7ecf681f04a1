from dataclasses import dataclass
from typing import Any, Literal

import pytest

from reproaudit.errors import SpecError
from reproaudit.lab.settings import build_settings


@dataclass(frozen=True)
class Settings:
    steps: int
    rate: float
    bias: bool
    kind: Literal["sgd", "adam"]
    sizes: tuple[int, ...]
    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise ValueError("steps is at least 0")


GOOD: dict[str, Any] = {
    "steps": 3,
    "rate": 1,
    "bias": True,
    "kind": "sgd",
    "sizes": [1, 2],
    "rates": [1, 0.5],
}


def test_values_take_the_declared_types():
    built = build_settings(Settings, GOOD)
    assert built == Settings(3, 1.0, True, "sgd", (1, 2), (1.0, 0.5))
    assert type(built.rate) is float
    assert [type(rate) for rate in built.rates] == [float, float]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("steps", 1.0, "valid integer"),
        ("steps", True, "valid integer"),
        ("rate", True, "valid number"),
        ("rate", float("nan"), "finite number"),
        ("kind", "rms", "'sgd' or 'adam'"),
        ("sizes", 3, "valid tuple"),
        ("rates", ["a"], "valid number"),
    ],
)
def test_a_wrong_type_is_named(name, value, reason):
    with pytest.raises(SpecError, match=reason) as caught:
        build_settings(Settings, {**GOOD, name: value})
    assert f"setting '{name}'" in str(caught.value)


def test_every_fault_is_named_at_once():
    values = {**GOOD, "stepz": 3, "rate": "x"}
    del values["steps"], values["bias"]
    with pytest.raises(SpecError) as caught:
        build_settings(Settings, values)
    text = str(caught.value)
    assert "unknown setting 'stepz'. Did you mean 'steps'?" in text
    assert "setting 'steps' is missing" in text
    assert "setting 'bias' is missing" in text
    assert "setting 'rate' = 'x'" in text


def test_the_dataclass_may_refuse():
    with pytest.raises(SpecError, match="steps is at least 0"):
        build_settings(Settings, {**GOOD, "steps": -1})
