"""The JSON Schema of an audit: complete, up to date, neither too wide nor too narrow."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from reproaudit.audit.catalog import audits_in
from reproaudit.audit.model import Audit
from reproaudit.audit.schema import schema_of, schema_of_both, schema_text
from reproaudit.audit.short.forms import ShortAudit
from test_loading import TEXT

COMMITTED = Path(__file__).parents[1] / "audits" / "schema.json"


class DatesAsText(yaml.SafeLoader):
    """YAML as editors hand it to a schema: dates are text."""


DatesAsText.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in rules if not tag.endswith(":timestamp")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def faults(text: str) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema_of_both())
    return [e.message for e in validator.iter_errors(yaml.load(text, DatesAsText))]


def test_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema_of_both())


@pytest.mark.parametrize(
    "schema", [schema_of(Audit), schema_of(ShortAudit)], ids=["schema 2", "short form"]
)
def test_every_model_and_field_is_documented(schema):
    models = {"Audit": schema, **schema["$defs"]}
    fields = {
        f"{name}.{field}": spec
        for name, model in models.items()
        for field, spec in model.get("properties", {}).items()
    }
    assert len(fields) > 100
    described = {"description", "$ref"}  # a reference has its model's
    silent = [name for name, spec in {**models, **fields}.items() if not described & spec.keys()]
    assert silent == []
    assert [name for name, spec in fields.items() if "title" in spec] == []
    assert fields["Paper.title"]["type"] == "string"


def test_committed_schema_is_up_to_date():
    assert json.loads(schema_text()) == schema_of_both()
    assert COMMITTED.read_text(encoding="utf-8") == schema_text(), (
        "audits/schema.json is older than the models; write it anew with `reproaudit schema`"
    )


def test_toy_is_valid():
    assert faults(TEXT) == []


@pytest.mark.parametrize("path", audits_in(COMMITTED.parent), ids=lambda p: p.stem)
def test_shipped_audits_are_valid(path):
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema_version: 2", "schema_version: 1"),
        ("  title: A linear model learns a direction\n", ""),
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
def test_bad_audits_are_not(old, new):
    assert old in TEXT
    assert faults(TEXT.replace(old, new, 1))
