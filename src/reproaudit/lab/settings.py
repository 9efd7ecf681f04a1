"""From an audit's settings to the typed settings of an experiment."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, cast, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from reproaudit.errors import SpecError, did_you_mean
from reproaudit.lab.measuring import AuditSettings, as_tuples


@cache
def _adapters(kind: Any) -> dict[str, TypeAdapter[Any]]:
    config = ConfigDict(strict=True, allow_inf_nan=False)
    hints = get_type_hints(kind)
    return {
        one.name: TypeAdapter(hints[one.name], config=config) for one in dataclasses.fields(kind)
    }


def build_settings(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Builds an experiment's settings; nothing is defaulted and nothing guessed.

    A list becomes a tuple, and a whole number is taken where a float is expected; a bool is no
    number and ``1.0`` no int.

    Args:
        kind: the experiment's frozen dataclass, or `AuditSettings`, which takes every setting.
        values: every setting by name.

    Raises:
        SpecError: naming every unknown, missing and ill-typed setting at once.
    """
    if kind is AuditSettings:
        return AuditSettings(**values)
    adapters = _adapters(cast(Hashable, kind))
    faults = [
        f"unknown setting '{name}'. {did_you_mean(name, adapters)}".rstrip()
        for name in sorted(values.keys() - adapters.keys())
    ]
    built = {}
    for name, adapter in adapters.items():
        if name not in values:
            faults.append(f"setting '{name}' is missing")
            continue
        try:
            built[name] = adapter.validate_python(as_tuples(values[name]))
        except ValidationError as error:
            faults.append(_ill_typed(name, values[name], error))
    if faults:
        raise SpecError("; ".join(faults))
    try:
        return kind(**built)
    except (ValueError, TypeError) as error:  # the dataclass's own rules
        raise SpecError(f"settings that do not go together: {error}") from error


def _ill_typed(name: str, value: Any, error: ValidationError) -> str:
    reasons = sorted({one["msg"].lower() for one in error.errors(include_url=False)})
    return f"setting '{name}' = {value!r}: {', or '.join(reasons)}"
