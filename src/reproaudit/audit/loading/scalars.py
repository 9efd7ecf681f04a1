"""The meaning of an unquoted scalar in YAML 1.1, and a doubt if a reviewer may read another."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

import yaml
from yaml.resolver import Resolver

from reproaudit.audit.rules.values import quoted

LARGEST_INTEGER = 2**63 - 1

Plain = None | bool | int | float | str


class Doubt(NamedTuple):
    """The rule that an unquoted scalar breaks by its notation, with message and remedy."""

    rule: str
    message: str
    remedy: str = ""


_RESOLVER: Any = Resolver()  # its stub has no types
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?[0-9]*\.?[0-9]*([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LOOKS_LIKE_FLOAT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+")
_LOOKS_LIKE_INTEGER = re.compile(r"[-+]?(0[0-9]+|0o[0-7]+|0[xX][0-9a-fA-F]+)")


@lru_cache(maxsize=4096)  # an audit repeats its few dozen words
def read_plain(text: str) -> tuple[Plain, Doubt | None]:
    """Return the value of an unquoted scalar in YAML 1.1, and a doubt if there is one.

    Resolving is PyYAML's own, so that it agrees with what other Python tools load. Dates stay text.
    """
    kind = _kind(text)
    if kind == "null":
        return None, None
    if kind == "bool":
        return _truth(text)
    if kind in ("int", "float"):
        return _number(text, kind)
    if text == "<<":
        return text, Doubt("RA007", "found the merge mark <<; expected a value")
    if _LOOKS_LIKE_FLOAT.fullmatch(text):
        found = f"found {quoted(text)}, which YAML reads as text; expected a number"
        remedy = f"Write {_with_point(text)}, or '{text}' in quotes if it is text."
        return _finite(text, Doubt("RA009", found, remedy))
    if _LOOKS_LIKE_INTEGER.fullmatch(text):
        found = f"found {quoted(text)}, which YAML 1.1 reads as text; expected a decimal number"
        return 0, Doubt("RA011", found)
    return text, None


@lru_cache(maxsize=4096)
def doubt_about_name(text: str) -> Doubt | None:
    """Return the doubt about an unquoted name that YAML does not read as text, else None."""
    if text == "<<":
        return Doubt("RA007", "found the merge key <<; expected the fields themselves")
    kind = _kind(text)
    if kind == "bool":
        return Doubt("RA010", f"found the name {text}, which YAML reads as a truth value")
    if kind in ("null", "int", "float"):
        return Doubt("RA015", f"found the name {quoted(text)}; expected text")
    return None


def _kind(text: str) -> str:
    """The type that YAML 1.1 gives an unquoted scalar: null, bool, int, float, timestamp …, str."""
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))
    return tag.rpartition(":")[2]


def _truth(text: str) -> tuple[bool, Doubt | None]:
    value = text.lower() in ("yes", "on", "true")
    if text in ("true", "false"):
        return value, None
    word = str(value).lower()
    found = f"found {text}, which YAML reads as {word}; expected true or false"
    return value, Doubt("RA010", found, f"Write {word}, or '{text}' in quotes if it is text.")


def _number(text: str, kind: str) -> tuple[int | float, Doubt | None]:
    if _SPECIAL.fullmatch(text):
        return 0, Doubt("RA012", f"found {text}; expected a finite number")
    if (_INTEGER if kind == "int" else _DECIMAL).fullmatch(text) is None:
        meant = "an octal, hexadecimal or binary number"
        meant = "a number with underscores" if "_" in text else meant
        meant = "a number to base 60" if ":" in text else meant
        found = f"found {quoted(text)}, which YAML 1.1 reads as {meant}"
        return 0, Doubt("RA011", f"{found}; expected a decimal number")
    if kind == "float":
        return _finite(text, None)
    if len(text) > 20 or abs(int(text)) > LARGEST_INTEGER:
        return 0, Doubt("RA012", f"found {quoted(text)}; expected a number of at most 63 bits")
    return int(text), None


def _finite(text: str, doubt: Doubt | None) -> tuple[float, Doubt | None]:
    if not math.isfinite(value := float(text)):
        words = f"found {quoted(text)}, which is infinite; expected a number"
        return 0.0, Doubt("RA012", words)
    return value, doubt


def _with_point(text: str) -> str:
    """A number as YAML 1.1 reads it: 1e-3 becomes 1.0e-3, and 1.5e3 becomes 1.5e+3."""
    mantissa, exponent = re.split("[eE]", text)
    whole, _, fraction = mantissa.partition(".")
    sign = "" if exponent[0] in "+-" else "+"
    return f"{whole or '0'}.{fraction or '0'}e{sign}{exponent}"
