"""Files of strangers, opened safely: regular files only, bounded, nothing in them executed."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import IO, Any

import yaml

from reproaudit.bounded import UnfitFileError, decode_json, open_regular
from reproaudit.elsewhere.logged import LogError

MAX_TEXT_BYTES = 2**27
"""Of a table, a JSON file or a list of JSON lines."""
MAX_CONFIG_BYTES = 2**22
"""Of one configuration."""
MAX_LOG_BYTES = 2**32
"""Of an event file, a W&B log or a database; these are read piece by piece."""
_MAX_DEPTH = 40
"""Levels of nesting in a configuration."""


def open_log(path: Path, place: str, most: int = MAX_LOG_BYTES) -> IO[bytes]:
    """Open a regular file for reading; it is never waited for, as a named pipe would be.

    Raises:
        LogError: if it is no regular file, cannot be read, or holds more than so many bytes.
    """
    try:
        return open_regular(path, most, follow=False)
    except UnfitFileError as error:
        raise LogError(
            place,
            f"found {error.strerror}. Import fewer runs at a time, or leave this file out.",
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise LogError(
            place, f"cannot be read ({why}); expected a regular file. Links are not followed."
        ) from None


def read_log_text(path: Path, place: str, most: int = MAX_TEXT_BYTES) -> str:
    """Read all of a text file in UTF-8.

    Raises:
        LogError: as `open_log` does, or if it is no UTF-8.
    """
    try:
        with open_log(path, place, most) as handle:
            return handle.read(most + 1)[:most].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LogError(
            place, f"found bytes that are no UTF-8 text at {error.start}; expected text."
        ) from None


def parse_json(text: str, place: str) -> Any:
    """Parse JSON text; a name that comes twice is refused, since nobody knows which was meant.

    Raises:
        LogError: if it is no JSON, or a name comes twice.
    """
    try:
        return decode_json(text, object_pairs_hook=unique)
    except ValueError as error:
        raise LogError(
            place, f"found text that is no JSON ({error}); expected JSON. Is the file whole?"
        ) from None


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object.

    Raises:
        ValueError: if a name stands twice in it.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"the name {twice[:40]!r} stands twice in one object")
    return found


def parse_yaml(text: str, place: str) -> Any:
    """Parse YAML text: plain values only. ``1e-3`` is a number, as its writers mean it.

    Raises:
        LogError: if it is no YAML, nests too deeply, or has a tag, an alias or a name twice.
    """
    try:
        _check_events(text, place)
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = str(getattr(error, "problem", None) or error)
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise LogError(
            f"{place}{line}", f"found text that is no YAML ({said}); expected YAML."
        ) from None


class _Loader(yaml.SafeLoader):
    """Loads plain values, with decimals as JSON and OmegaConf write them, and no name twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    said = f"the name '{key.value[:40]}' stands twice"
                    raise yaml.MarkedYAMLError(problem=said, problem_mark=key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [*resolvers] for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def _check_events(text: str, place: str) -> None:
    depth = 0
    for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        line = f"{place}:{event.start_mark.line + 1}" if event.start_mark else place
        if isinstance(event, yaml.AliasEvent):
            raise LogError(line, f"found the alias *{event.anchor}; expected the value itself.")
        if (tag := getattr(event, "tag", None)) is not None:
            raise LogError(
                line,
                f"found the tag {tag}; expected plain values. A tag can run code: take it out.",
            )
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise LogError(line, f"found nesting deeper than {_MAX_DEPTH}; expected less.")
