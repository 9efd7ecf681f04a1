"""The JSON Schema of an audit, for editors that complete and check YAML as it is typed.

The schema is pydantic's own (2020-12); the description of a field is the text below it in the
source. It checks one node at a time; `reproaudit.audit.rules` checks more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from reproaudit.audit.model import Audit
from reproaudit.declarations import Quantity, description_of


def audit_schema() -> dict[str, Any]:
    """Return the schema of `reproaudit.audit.model.Audit`."""
    schema = Audit.model_json_schema(schema_generator=_Generator)
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema}


def short_schema() -> dict[str, Any]:
    """Return the schema of the short form, `reproaudit.audit.short.forms.ShortAudit`."""
    from reproaudit.audit.short.forms import ShortAudit

    schema = ShortAudit.model_json_schema(schema_generator=_Generator)
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema}


def schema_of_both() -> dict[str, Any]:
    """Return the schema by which either form is completed and checked.

    A file that does not say its version is one in the short form.
    """
    long = _nested(audit_schema(), "Audit", "")
    short = _nested(short_schema(), "ShortAudit", "Short")
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "if": {"properties": {"schema_version": {"const": 2}}, "required": ["schema_version"]},
        "then": {"$ref": "#/$defs/Audit"},
        "else": {"$ref": "#/$defs/ShortAudit"},
        "$defs": {**long, **short},
    }


def _nested(schema: dict[str, Any], name: str, prefix: str) -> dict[str, Any]:
    """Return the definitions of a schema, its own among them, with a prefix to the others."""
    parts = schema.pop("$defs")
    renamed = {below: f"{prefix}{below}" for below in parts}
    del schema["$schema"]
    return {
        name: _referring(schema, renamed),
        **{renamed[below]: _referring(part, renamed) for below, part in parts.items()},
    }


def _referring(node: Any, renamed: Mapping[str, str]) -> Any:
    """Return a schema whose references have the new names."""
    if isinstance(node, list):
        return [_referring(below, renamed) for below in node]
    if not isinstance(node, dict):
        return node
    found = {key: _referring(below, renamed) for key, below in node.items()}
    if isinstance(found.get("$ref"), str):
        found["$ref"] = f"#/$defs/{renamed[found['$ref'].rpartition('/')[2]]}"
    return found


def schema_text() -> str:
    """Return the schema of both forms as it is written to ``audits/schema.json``."""
    return json.dumps(schema_of_both(), indent=2, ensure_ascii=False) + "\n"


def part_text(name: str) -> str:
    """Return the fields of a part or a kind, with an example; of ``all`` as a page in Markdown.

    Raises:
        UsageError: on an unknown name.
    """
    from reproaudit.audit.short.reference import entry, lines_of, page

    return page() if name == "all" else "\n".join(lines_of(entry(name))) + "\n"


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
