"""Makes text safe to show: control and bidirectional characters become visible escapes.

Text from audits, records, file names and exceptions may hold characters that a terminal obeys or
that reorder what follows. Everything that is printed passes through this module.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f"  # control characters, but for the newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides of the reading direction
    "\u2028\u2029\ud800-\udfff]"  # separators of lines and paragraphs; halves of characters
)


def printable(text: str) -> str:
    r"""Returns the text with unsafe characters as escapes such as ``\x1b``; newlines stay."""
    return _UNSAFE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def clean(text: str) -> str:
    """Returns the text on one line, blanks collapsed, unsafe characters as escapes."""
    return printable(" ".join(text.split()))
