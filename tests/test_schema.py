"""The JSON Schema of an audit: draft-07, complete, up to date, neither too wide nor too narrow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from reproaudit.audit.catalog import audits_in
from reproaudit.audit.model import Paper
from reproaudit.audit.schema import audit_schema, description, schema_text
from reproaudit.checks import Aligns
from test_loading import TEXT

COMMITTED = Path(__file__).parents[1] / "audits" / "schema.json"


class DatesAsText(yaml.SafeLoader):
    """YAML as editors hand it to a schema: dates are text."""


DatesAsText.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in rules if not tag.endswith(":timestamp")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def faults(text: str) -> list[str]:
    validator = jsonschema.Draft7Validator(audit_schema())
    return [e.message for e in validator.iter_errors(yaml.load(text, DatesAsText))]


def schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for one in schema.values():
            yield from schemas_in(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from schemas_in(one)


def test_is_draft_07() -> None:
    schema = audit_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["$schema"].endswith("draft-07/schema#")
    words = {word for one in schemas_in(schema) for word in one}
    assert words.isdisjoint({"$defs", "prefixItems", "discriminator", "unevaluatedProperties"})
    assert all(len(one) == 1 for one in schemas_in(schema) if "$ref" in one)


def test_every_model_and_field_is_documented() -> None:
    schema = audit_schema()
    models = {"Audit": schema, **schema["definitions"]}
    fields = {
        f"{name}.{field}": one
        for name, model in models.items()
        for field, one in model.get("properties", {}).items()
    }
    assert len(fields) > 100
    silent = [name for name, one in {**models, **fields}.items() if not one.get("description")]
    assert silent == []
    assert "\n" not in "".join(one["description"] for one in fields.values())
    assert [name for name, one in fields.items() if "title" in one] == []
    assert fields["Paper.title"]["type"] == "string"


def test_a_description_is_the_text_below_a_field_and_is_inherited() -> None:
    assert description(Paper, "title") == "The title as published."
    assert description(Aligns, "why").startswith("Of a bound of ours")
    assert description(Paper, "no_field") == ""
    two_lines = description(Aligns, "origin")
    assert two_lines.startswith("Where the bound comes from")
    assert "\n" not in two_lines


def test_committed_schema_is_up_to_date() -> None:
    assert json.loads(schema_text()) == audit_schema()
    assert COMMITTED.read_text(encoding="utf-8") == schema_text(), (
        "audits/schema.json is older than the models; write it anew with `reproaudit schema`"
    )


def test_toy_is_valid() -> None:
    assert faults(TEXT) == []


@pytest.mark.parametrize("path", audits_in(COMMITTED.parent), ids=lambda p: p.stem)
def test_shipped_audits_are_valid(path: Path) -> None:
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema_version: 2", "schema_version: 1"),
        ("  venue: Journal of Small Examples\n", ""),
        ("short: every", "shrot: every"),
        ("kind: aligns", "kind: algins"),
        ("kind: aligns", "kind: beats"),
        ("  optimizer:\n", "  Optimizer:\n"),
        ("quick: 5", "quick: 0"),
        ("value: 32", "value: {a: 1}"),
        ("within: 0.05", "within: 5e-2"),
        ("- id: toy.direction", "- id: Direction"),
    ],
)
def test_bad_audits_are_not(old: str, new: str) -> None:
    assert old in TEXT
    assert faults(TEXT.replace(old, new, 1))
