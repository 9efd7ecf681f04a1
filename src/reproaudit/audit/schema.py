"""The JSON Schema of an audit, for editors that complete and check YAML as it is typed.

Most editors read draft-07, pydantic writes 2020-12. Three things differ: the place of definitions;
keywords beside a `$ref` are ignored, so that a field's description would be lost; and there is no
`discriminator`. The schema checks one node at a time; `reproaudit.audit.rules` checks more.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from reproaudit.audit.field_docs import description
from reproaudit.audit.model import Audit
from reproaudit.declarations import Quantity

Schema = dict[str, Any]


class _Described(GenerateJsonSchema):
    """pydantic's generator, with the meaning of every field."""

    def model_schema(self, schema: ModelSchema) -> Schema:
        """The schema of one model."""
        generated = super().model_schema(schema)
        model = schema["cls"]
        names = {one.alias or name: name for name, one in model.model_fields.items()}
        for field, one in generated.get("properties", {}).items():
            meaning = description(model, names.get(field, field))
            if meaning:
                one["description"] = meaning
        if model is not Quantity:
            return generated
        short = {"type": "string", "description": "The measurement, as in loss[query]@first."}
        return {"description": generated["description"], "anyOf": [short, generated]}


def audit_schema() -> Schema:
    """The schema of `reproaudit.audit.model.Audit`, draft-07."""
    schema = Audit.model_json_schema(
        ref_template="#/definitions/{model}", schema_generator=_Described
    )
    definitions = {name: _draft_07(one) for name, one in schema.pop("$defs").items()}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **_draft_07(schema),
        "definitions": definitions,
    }


def schema_text() -> str:
    """The schema as it is written to ``audits/schema.json``."""
    return json.dumps(audit_schema(), indent=2, ensure_ascii=False) + "\n"


def _draft_07(schema: Schema) -> Schema:
    """One object of the schema (a model, an enumeration) and all below it."""
    title = schema.get("title")
    converted = _convert(schema)
    return {"title": title, **converted} if title is not None else converted


def _convert(schema: Any) -> Any:
    """A schema and all below it, without titles, which repeat the fields' names."""
    if isinstance(schema, list):
        return [_convert(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {
        str(_DRAFT_07.get(key, key)): _CONVERTERS.get(key, _convert)(value)
        for key, value in schema.items()
        if key not in ("title", "discriminator")
    }
    return _closed(_beside_ref(converted))


def _named(schemas: Schema) -> Schema:
    """Fields by name; here `title` is a field, not a keyword."""
    return {name: _convert(one) for name, one in schemas.items()}


def _as_it_is(value: Any) -> Any:
    return value


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _beside_ref(schema: Schema) -> Schema:
    """Move a `$ref` into `allOf` if anything stands beside it."""
    if "$ref" not in schema or len(schema) == 1:
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {"allOf": [{"$ref": schema["$ref"]}], **rest}


def _closed(schema: Schema) -> Schema:
    """Refuse names of another form, which `patternProperties` alone lets pass."""
    if "patternProperties" in schema:
        return {**schema, "additionalProperties": False}
    return schema


_DRAFT_07 = {"prefixItems": "items"}
"""Keywords that have another name there."""

_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "properties": _named,
    "patternProperties": _named,
    "description": _one_line,
    "default": _as_it_is,
    "enum": _as_it_is,
    "const": _as_it_is,
}
"""The keywords of a schema that hold something else than schemas, and how it is converted."""
