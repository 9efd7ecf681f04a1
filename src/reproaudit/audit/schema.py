"""The JSON Schema of an audit, for editors that complete and check YAML as it is typed.

Most editors read draft-07, pydantic writes 2020-12. Three things differ: the place of definitions;
keywords beside a `$ref` are ignored, so that a field's description would be lost; and there is no
`discriminator`. The schema checks one node at a time; `reproaudit.audit.rules` checks more.

The description of a field is the text below it in the source. pydantic can read these texts itself
(`use_attribute_docstrings`), but does so while a class is made, for every class, at every start: an
eighth of the time that `reproaudit check` needs in all. Here they are read when they are needed.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from reproaudit.audit.model import Audit
from reproaudit.declarations import Quantity

Schema = dict[str, Any]


def audit_schema() -> Schema:
    """Return the schema of `reproaudit.audit.model.Audit`, draft-07."""
    schema = Audit.model_json_schema(
        ref_template="#/definitions/{model}", schema_generator=_Described
    )
    definitions = {name: _titled(one) for name, one in schema.pop("$defs").items()}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **_titled(schema),
        "definitions": definitions,
    }


def schema_text() -> str:
    """Return the schema as it is written to ``audits/schema.json``."""
    return json.dumps(audit_schema(), indent=2, ensure_ascii=False) + "\n"


class _Described(GenerateJsonSchema):
    """pydantic's generator, with the meaning of every field."""

    def model_schema(self, schema: ModelSchema) -> Schema:
        """The schema of one model."""
        generated = super().model_schema(schema)
        for field, one in generated.get("properties", {}).items():
            if meaning := description(schema["cls"], field):
                one["description"] = meaning
        if schema["cls"] is not Quantity:
            return generated
        short = {"type": "string", "description": "The measurement, as in loss[query]@first."}
        return {"description": generated["description"], "anyOf": [short, generated]}


def _titled(schema: Schema) -> Schema:
    """A model or an enumeration and all below it, of which it alone keeps its title."""
    return {**({"title": schema["title"]} if "title" in schema else {}), **_draft_07(schema)}


def _draft_07(schema: Any) -> Any:
    """A schema and all below it, without titles, which repeat the fields' names."""
    if isinstance(schema, list):
        return [_draft_07(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    converted: Schema = {}
    for key, value in schema.items():
        if key in ("default", "enum", "const"):
            converted[key] = value
        elif key in ("properties", "patternProperties"):  # by names, among them `title`
            converted[key] = {name: _draft_07(one) for name, one in value.items()}
        elif key == "description":
            converted[key] = " ".join(value.split())
        elif key not in ("title", "discriminator"):
            converted["items" if key == "prefixItems" else key] = _draft_07(value)
    if "$ref" in converted and len(converted) > 1:
        converted = {"allOf": [{"$ref": converted.pop("$ref")}], **converted}
    if "patternProperties" in converted:  # which alone lets names of another form pass
        converted["additionalProperties"] = False
    return converted


# --- descriptions -------------------------------------------------------------------------------


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
