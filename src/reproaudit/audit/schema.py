"""The JSON Schema of an audit, for editors that complete and check YAML as it is typed.

The schema is pydantic's own (2020-12); the description of a field is the text below it in the
source. It checks one node at a time; `reproaudit.audit.rules` checks more.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from reproaudit.audit.model import Audit
from reproaudit.declarations import Quantity, StrictModel, description_of


def schema_of_both() -> dict[str, Any]:
    """Return the schema by which either form is completed and checked.

    A file that does not say its version is one in the short form, whose models are called Short….
    """
    from reproaudit.audit.short.forms import ShortAudit

    definitions: dict[str, Any] = {}
    forms: tuple[tuple[str, type[StrictModel]], ...] = (("", Audit), ("Short", ShortAudit))
    for prefix, model in forms:
        schema = schema_of(model, prefix)
        parts = schema.pop("$defs")
        definitions[model.__name__] = schema
        definitions |= {f"{prefix}{name}": part for name, part in parts.items()}
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "if": {"properties": {"schema_version": {"const": 2}}, "required": ["schema_version"]},
        "then": {"$ref": "#/$defs/Audit"},
        "else": {"$ref": "#/$defs/ShortAudit"},
        "$defs": definitions,
    }


def schema_of(model: type[StrictModel], prefix: str = "") -> dict[str, Any]:
    """Return the schema of a model, whose references have a prefix."""
    return model.model_json_schema(
        ref_template=f"#/$defs/{prefix}{{model}}", schema_generator=_Generator
    )


def schema_text() -> str:
    """Return the schema of both forms as it is written to ``audits/schema.json``."""
    return json.dumps(schema_of_both(), indent=2, ensure_ascii=False) + "\n"


class _Generator(GenerateJsonSchema):
    """pydantic's generator, without titles that repeat names, and with a quantity's short form."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        """A mapping in which names of another form are refused, too."""
        generated = super().dict_schema(schema)
        if "patternProperties" in generated:
            generated["additionalProperties"] = False
        return generated

    def model_schema(self, schema: ModelSchema) -> dict[str, Any]:
        generated = super().model_schema(schema)
        for name, below in generated.get("properties", {}).items():
            if "description" not in below and (text := description_of(schema["cls"], name)):
                below["description"] = text
        if schema["cls"] is not Quantity:
            return generated
        short = {"type": "string", "description": "The measurement, as in loss[query]@first."}
        return {"description": generated.pop("description"), "anyOf": [short, generated]}
