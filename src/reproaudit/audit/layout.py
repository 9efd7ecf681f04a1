"""YAML as PyYAML writes it and an audit's reader takes it: sections in blocks, entries filled."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from io import StringIO
from typing import Any

import yaml

from reproaudit.audit.document import read_plain

YAML_WIDTH = 80
"""The column after which PyYAML breaks a line where it can next: none is longer than 120."""

SECTIONS = (
    *("variables", "bounds", "settings", "quick", "smoke", "measurements", "experiments", "arms"),
    *("claims", "our_questions", "not_audited", "findings"),
)
"""The sections of an audit whose entries begin on a line each."""

SPACED = (*SECTIONS, "paper", "axes")  # The fields that have an empty line before them


class Dumper(yaml.SafeDumper):
    """Writes plain data without aliases, and in quotes what an audit's reader takes for no text."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        """Write equal values out, each time."""
        return True


def _text(dumper: Dumper, text: str) -> yaml.ScalarNode:
    """Text in quotes where an audit's file would read something else, as it does of 0E0."""
    style = None if read_plain(text) == (text, "") else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


Dumper.add_representer(str, _text)
Dumper.add_representer(tuple, lambda dumper, data: dumper.represent_list(data))
Dumper.add_representer(Fraction, lambda dumper, data: _text(dumper, str(data)))
Dumper.add_multi_representer(StrEnum, lambda dumper, data: _text(dumper, data.value))


def laid_out(data: dict[str, Any]) -> str:
    """Return an audit's plain data as the text of its file."""
    lines = ["# yaml-language-server: $schema=schema.json\n"]
    for name, value in data.items():
        lines += ["\n"] * (name in SPACED)
        lines.append(_field(name, value))
    return "".join(lines)


def _field(name: str, value: Any) -> str:
    """One of an audit's fields, on one line where that is long enough."""
    node: Any = Dumper(StringIO(), sort_keys=False).represent_data({name: value})
    node.flow_style = False
    (_, below), *_ = node.value
    below.flow_style = True
    text = _serialized(node)
    if name not in SECTIONS or text.count("\n") == 1:
        return text
    below.flow_style = False
    for entry in below.value:
        (entry[-1] if isinstance(entry, tuple) else entry).flow_style = True
    return _serialized(node)


def _serialized(node: yaml.Node) -> str:
    text: str = yaml.serialize(node, Dumper=Dumper, width=YAML_WIDTH, allow_unicode=True)
    return text
