"""The descriptions of a model's fields: the texts below them in the source.

pydantic can read these texts itself (`use_attribute_docstrings`), but does so while a class is
made, for every class, at every start: an eighth of the time that `reproaudit check` needs in all.
Here they are read when they are needed: by a fault that names a missing field, or the JSON Schema.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel


def description(model: type[BaseModel], field: str) -> str:
    """Return the description of a field, by its name in a file; empty if it has none."""
    field = next((name for name, one in model.model_fields.items() if one.alias == field), field)
    for one in model.__mro__:
        if field in (texts := _written_in(one.__module__).get(one.__qualname__, {})):
            return texts[field]
    return ""


@cache
def _written_in(module: str) -> Mapping[str, Mapping[str, str]]:
    """The descriptions of a module's fields, by class and field."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):  # built in, or without its source
        return {}
    return {one.name: _below_fields(one) for one in tree.body if isinstance(one, ast.ClassDef)}


def _below_fields(model: ast.ClassDef) -> dict[str, str]:
    """The texts below annotated names in the body of a class."""
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in zip(model.body, model.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
