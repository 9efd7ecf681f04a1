"""Writes the manual's page of every field of an audit, from the models that validate audits.

MkDocs calls `on_files` (see mkdocs.yml). The example of each kind of check is the first one in the
shipped audits or the tutorial's, word for word; without one, the check by which it is calibrated.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from reproaudit.audit.schema import audit_schema

Schema = dict[str, Any]

ROOT = Path(__file__).parent.parent
EXAMPLES = [*sorted(ROOT.glob("audits/*.yaml")), *ROOT.glob("docs/tutorial/*.yaml")]

HEAD = """\
# Every field of an audit

An audit is one YAML file. This page is made from the models that `reproaudit check` validates it
with; `reproaudit schema` prints the same as a JSON Schema, which editors complete from. What spans
several fields (a claim's measurement is declared, a control changes something) is checked by rules.

**Bold** fields are required. Fields that do not exist are refused.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds `fields.md` to the manual."""
    files.append(File.generated(config, "fields.md", content=field_reference()))
    return files


def field_reference() -> str:
    """The page of every field, as Markdown."""
    schema = audit_schema()
    models = {"Audit": schema, **schema["$defs"]}
    parts = [HEAD]
    for name in _reached("Audit", models):
        parts += _section(name, models[name], models)
    return "\n".join(parts) + "\n"


def _reached(start: str, models: dict[str, Schema]) -> Iterator[str]:
    """Every model below another one, each once, in the order of first mention."""
    waiting, seen = [start], {start}
    while waiting:
        name = waiting.pop(0)
        if "properties" in models[name]:
            yield name
        below = [one for one in _references(models[name].get("properties", {})) if one not in seen]
        seen.update(below)
        waiting = [*dict.fromkeys(below), *waiting]


def _references(node: Any) -> Iterator[str]:
    """The names of the models that a schema mentions, in order."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].rsplit("/", 1)[1]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _section(name: str, model: Schema, models: dict[str, Schema]) -> list[str]:
    if "properties" not in model:  # a short form beside the whole one
        model = {**model["anyOf"][-1], "description": model.get("description", "")}
    kind = model["properties"].get("kind", {}).get("const")
    title = f"Check: {kind}" if kind else name
    lines = [f"\n## {title} {{#{name.lower()}}}\n", _plain(model.get("description", "")), ""]
    if name == "Audit":
        lines[1] = "The whole file."
    lines += ["| field | type | meaning |", "|---|---|---|"]
    for field, one in model["properties"].items():
        required = field in model.get("required", ())
        default = one.get("default")
        meaning = _plain(one.get("description", ""))
        if not required and default not in (None, [], {}, ()):
            meaning += f" Default: `{json.dumps(default)}`."
        shown = f"**`{field}`**" if required else f"`{field}`"
        lines.append(f"| {shown} | {_type(one, models)} | {meaning} |".replace("\n", " "))
    if kind:
        lines += ["", f"For example, {_example(kind)}"]
    return lines


def _plain(text: str) -> str:
    return text.split(" Attributes:")[0].replace("|", "\\|").strip()


def _type(schema: Schema, models: dict[str, Schema]) -> str:
    """The type of a field in words, with links to the models."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if "properties" not in models[name]:  # an enumeration
            return _type(models[name], models)
        return f"[{name}](#{name.lower()})"
    for key in ("allOf", "anyOf", "oneOf"):
        if key in schema:
            types = [_type(one, models) for one in schema[key] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(types))
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        if "prefixItems" in schema:  # one schema for each place
            return f"list of {', '.join(_type(one, models) for one in schema['prefixItems'])}"
        items = schema.get("items")
        return f"list of {_type(items, models)}" if items else "list"
    if schema.get("type") == "object":
        values = [*schema.get("patternProperties", {}).values()]
        values += [schema["additionalProperties"]] if schema.get("additionalProperties") else []
        return (
            f"by name: {_type(values[0], models)}" if values and values[0] is not True else "object"
        )
    return {"string": "text", "integer": "whole number"}.get(
        schema.get("type", ""), schema.get("type", "value")
    )


def _example(kind: str) -> str:
    """The first check of a kind in the examples, word for word, with its audit's name."""
    for file in EXAMPLES:
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in _checks(yaml.compose(text, Loader=yaml.CSafeLoader)):
            pairs = {key.value: value.value for key, value in node.value}
            if pairs.get("kind") == kind:
                start, end = node.start_mark.line, node.end_mark.line
                body = "\n".join([" " * node.start_mark.column + lines[start].lstrip(" -"),
                                  *lines[start + 1 : end]])  # fmt: skip
                block = "- " + textwrap.indent(textwrap.dedent(body).strip(), "  ").lstrip()
                return f"of the audit `{file.stem}`:\n\n```yaml\n{block}\n```"
    sys.path.append(str(ROOT))  # here, since MkDocs puts the path back once it has loaded this file
    calibrated = import_module("benchmarks.calibrate").CHECKS[kind]
    block = yaml.safe_dump([{"kind": kind, **calibrated}], sort_keys=False)
    return f"as it is calibrated:\n\n```yaml\n{block}```"


def _checks(node: yaml.Node) -> Iterator[yaml.MappingNode]:
    """Every check below a node."""
    if isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _checks(one)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value in ("headline", "support", "notes", "checks") and isinstance(
                value, yaml.SequenceNode
            ):
                yield from value.value
            else:
                yield from _checks(value)
