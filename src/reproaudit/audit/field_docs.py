"""What the fields of a model mean: the text that stands below each of them in the source.

pydantic can read these texts itself (`use_attribute_docstrings`), but does so while a class is
made, for every class, at every start: an eighth of the time that `reproaudit check` needs in all.
Here they are read when somebody asks: a fault that names a missing field, or the JSON Schema.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel


def description(model: type[BaseModel], field: str) -> str:
    """What a field of a model means, on one line; empty if nothing says."""
    for one in model.__mro__:
        if field in (texts := _written_in(one.__module__).get(one.__qualname__, {})):
            return texts[field]
    return ""


@cache
def _written_in(module: str) -> Mapping[str, Mapping[str, str]]:
    """For every class of a module, its fields' descriptions."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):  # built in, or without its source
        return {}
    return {one.name: _below_fields(one) for one in tree.body if isinstance(one, ast.ClassDef)}


def _below_fields(model: ast.ClassDef) -> dict[str, str]:
    """The texts that follow upon annotated names in the body of a class."""
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in zip(model.body, model.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
