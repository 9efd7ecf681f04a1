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
from reproaudit.declarations import Quantity


def audit_schema() -> dict[str, Any]:
    """Return the schema of `reproaudit.audit.model.Audit`."""
    schema = Audit.model_json_schema(schema_generator=_Generator)
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema}


def schema_text() -> str:
    """Return the schema as it is written to ``audits/schema.json``."""
    return json.dumps(audit_schema(), indent=2, ensure_ascii=False) + "\n"


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
        if schema["cls"] is not Quantity:
            return generated
        short = {"type": "string", "description": "The measurement, as in loss[query]@first."}
        return {"description": generated.pop("description"), "anyOf": [short, generated]}
