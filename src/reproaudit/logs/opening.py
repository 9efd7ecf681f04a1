"""How files of strangers are opened: regular ones, bounded, never executed."""

from __future__ import annotations

import ast
import gzip
import io
import math
import os
import re
import stat
import time
import warnings
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
import yaml
from yaml.composer import Composer

from reproaudit.files import decode_json, open_regular
from reproaudit.logs.logged import LogError

MAX_TEXT_BYTES = 2**27  # of a table, a JSON file or a list of JSON lines
MAX_CONFIG_BYTES = 2**22  # of one configuration in JSON
MAX_YAML_BYTES = 2**18  # of one in YAML, which takes a second to read
MOST_IN_LITERAL = 2**16  # characters of a dict as Python prints it
MAX_LOG_BYTES = 2**32  # of an event file or a database; these are read piece by piece
MAX_UNPACKED_BYTES = 2**31  # of an archive


def open_log(path: Path, place: str, most: int = MAX_LOG_BYTES) -> IO[bytes]:
    """Open a regular file for reading; it is never waited for, as a named pipe would be."""
    try:
        return open_regular(path, most, follow=False)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        text = f"cannot be read: {why}. Leave it out, or mend it; links are not followed."
        raise LogError(place, text) from None


def read_log_text(
    path: Path, place: str, most: int = MAX_TEXT_BYTES, remarks: list[str] | None = None
) -> str:
    """Read all of a text file, be it packed by gzip: UTF-8, UTF-16 with its mark, or cp1252.

    That it is the last, as Excel saves CSV on Windows, is added to the `remarks`.
    """
    with open_log(path, place, most) as handle:
        data = handle.read()
    try:
        if data.startswith(b"\x1f\x8b"):
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(most + 1)
    except (zlib.error, OSError, EOFError) as error:
        text = f"found packed data that is damaged or cut off ({error}); expected a whole file."
        raise LogError(place, f"{text} Copy it again.") from None
    if len(data) > most:
        raise LogError(place, f"found more than {most:,} bytes unpacked; expected fewer.")
    is_wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    if not is_wide and (at := data.find(b"\0")) >= 0:
        text = f"found a byte of zero at {at}, as no text has; expected text."
        raise LogError(place, f"{text} If it is text, save it as UTF-8; else copy it again.")
    try:
        return data.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        at = error.start
        fault = f"found bytes that are no {error.encoding} text at {at}; expected text."
    if remarks is not None and not is_wide:
        with suppress(UnicodeDecodeError):
            text = data.decode("cp1252")
            odd = text[max(0, at - 9) : at + 9].strip()
            remarks.append(f"it is no UTF-8, and was read as cp1252, as in '{odd}'")
            return text
    raise LogError(place, f"{fault} If it is text, save it as UTF-8.")


def read_arrays(path: Path, place: str) -> dict[str, Any]:
    """Read NumPy's arrays of plain values by name, as lists, or raise a LogError.

    The only one of ``.npy`` has no name.
    """
    try:
        with open_log(path, place, MAX_TEXT_BYTES) as handle:
            if zipfile.is_zipfile(handle):
                with zipfile.ZipFile(handle) as archive:
                    size = sum(member.file_size for member in archive.infolist())
                if size > MAX_TEXT_BYTES:
                    raise ValueError(f"more than {MAX_TEXT_BYTES:,} bytes unpacked")
            handle.seek(0)
            loaded = np.load(handle, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"": loaded.tolist()}
            return {name: loaded[name].tolist() for name in loaded.files}
    except LogError:
        raise
    except Exception as error:  # what NumPy raises over damaged files has no end
        text = (
            f"found no arrays of plain values ({str(error)[:80]}); expected NumPy's file of them."
        )
        raise LogError(place, text) from None


def parse_json(data: str, place: str) -> Any:
    """Parse JSON text; a name that comes twice is refused, since nobody knows which was meant."""
    try:
        return decode_json(data, object_pairs_hook=_unique)
    except ValueError as error:
        text = f"found text that is no JSON ({error}); expected JSON. Is the file whole?"
        raise LogError(place, text) from None


def parse_object(data: str, place: str) -> Any:
    """Parse a JSON text, or the literal of a dict as Python prints it, with ``nan`` and ``inf``.

    Raises:
        LogError: if it is neither, or a literal beyond `MOST_IN_LITERAL`.
    """
    try:
        return parse_json(data, place)
    except LogError:
        if not data.lstrip().startswith("{") or len(data) > MOST_IN_LITERAL:
            raise
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(data.strip(), mode="eval").body
            return _literal(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
        raise


def _literal(node: ast.expr) -> Any:
    """Return what a literal holds: dicts, lists, texts, numbers, truth values and None."""
    match node:
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = zip(filter(None, keys), values, strict=True)
            return _unique([(str(_literal(name)), _literal(value)) for name, value in pairs])
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item) for item in items]
        case ast.Name(id="nan" | "inf" as name):
            return float(name)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id="inf")):
            return -math.inf
    value = ast.literal_eval(node)
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(f"the literal of a {type(value).__name__}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise ValueError(f"the name {name[:40]!r} stands twice in one object")
        values[name] = value
    return values


def parse_yaml(text: str, place: str) -> Any:
    """Parse YAML text: plain values only. ``1e-3`` is a number, as its writers mean it."""
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, OverflowError, LookupError, AttributeError) as error:
        fault = f"text that is no plain YAML ({getattr(error, 'problem', None) or error})"
        mark = getattr(error, "problem_mark", None)
        place += f":{mark.line + 1}" if mark is not None else ""
    except RecursionError:
        fault = "YAML nested too deeply"
    raise LogError(place, f"found {fault}; expected plain YAML.")


MAX_BITS = 10_000  # bits of a whole number; Python does not write out many more
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BASES: Any = (_PARSER,) if issubclass(_PARSER, Composer) else (Composer, _PARSER)
_TUPLE = "tag:yaml.org,2002:python/tuple"
"""The tag by which Lightning marks tuples in its own hparams.yaml; they are read as lists."""


class _Loader(*_BASES):  # type: ignore[misc]
    """Loads plain values, and no name twice, by libyaml's faster parser if it is there."""

    def __init__(self, text: str) -> None:
        _PARSER.__init__(self, text)
        Composer.__init__(self)

    def compose_node(self, parent: yaml.Node | None, index: int) -> Any:
        if self.check_event(yaml.AliasEvent):  # aliases of aliases multiply without end
            event = self.peek_event()
            fault = f"found the alias *{event.anchor}; expected the value itself"
            raise yaml.MarkedYAMLError(problem=fault, problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    fault = f"the name '{key.value[:40]}' stands twice"
                    raise yaml.MarkedYAMLError(problem=fault, problem_mark=key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_number(self, node: yaml.ScalarNode) -> int | float | str:
        if ":" in node.value:  # 1:30 was 90 in YAML 1.1, at the cost of the square of its length
            return str(node.value)
        if node.tag.endswith("float"):
            return float(self.construct_yaml_float(node))
        number = int(self.construct_yaml_int(node))
        if number.bit_length() > MAX_BITS:
            raise ValueError(f"a number of {number.bit_length():,} bits")
        return number


for _tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
    _Loader.add_constructor(_tag, _Loader.construct_number)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)
yaml.add_constructor(_TUPLE, yaml.SafeLoader.construct_yaml_seq, _Loader)


def unpack(file: Path, place: str, into: Path) -> list[str]:
    """Unpack a zip archive's regular files; return the names of the links in it.

    An archive may name files outside its folder, hold links, or unpack to far more than it is; so
    each member is looked at first.
    """
    links = list[str]()
    seen = set[str]()
    size = 0
    try:
        with open_log(file, place) as handle, zipfile.ZipFile(handle) as archive:
            for member in archive.infolist():
                size += member.file_size
                path = PurePosixPath(member.filename.replace("\\", "/"))
                if path.is_absolute() or ".." in path.parts:
                    text = f"found the path '{member.filename[:200]}', which leads out of it"
                    raise LogError(place, f"{text}; expected none. Unpack it, and import that.")
                if size > MAX_UNPACKED_BYTES:
                    text = f"found more than {MAX_UNPACKED_BYTES:,} bytes unpacked; expected fewer"
                    raise LogError(place, f"{text}. Unpack it, and import that.")
                if stat.S_ISLNK(member.external_attr >> 16):
                    links.append(member.filename)
                    continue
                made = time.mktime((*member.date_time, 0, 0, -1))
                unpacked = archive.extract(member, into)
                if unpacked in seen and not member.is_dir():
                    text = f"found '{member.filename[:200]}' twice in it; expected each file once"
                    raise LogError(place, f"{text}. Pack the right one alone.")
                seen.add(unpacked)
                os.utime(unpacked, (made, made))
    except LogError:
        raise
    except Exception as error:  # what the library raises over damaged archives has no end
        text = f"found an archive that cannot be unpacked ({error}); expected a whole one."
        raise LogError(place, text) from None
    return links
