"""The messages of PyYAML's two parsers about broken YAML, put into a reviewer's words."""

from __future__ import annotations

import yaml

from reproaudit.audit.loading.fault import START, Place
from reproaudit.audit.rules.values import quoted

_MISALIGNED = "a line whose indentation fits nothing above it"
_ALIGN = "Align it with its neighbours; quote text that goes on after a closing quote."
_UNCLOSED = "a list or mapping in brackets without its end"
_CLOSE = "Add the missing comma or bracket."

_MEANINGS = {
    "mapping values are not allowed": (
        "a colon where none can stand",
        "Quote text that holds ': ', or mend the indentation.",
    ),
    "cannot start any token": (
        "a character that cannot start a value",
        "Indent with spaces, not tabs; quote text that begins with @, ` or %.",
    ),
    "could not find expected ':'": (
        "a line that is no 'name: value'",
        "Add the colon, or quote the text that runs over several lines.",
    ),
    "expected <block end>": (_MISALIGNED, _ALIGN),
    "did not find expected key": (_MISALIGNED, _ALIGN),
    "did not find expected '-' indicator": (
        "a line that is no '- item' of the list above",
        "Align it with the list, or with the field that holds it.",
    ),
    "unexpected end of stream": ("a quotation without its end", "Add the closing quote."),
    "did not find expected ',' or": (_UNCLOSED, _CLOSE),
    "expected ',' or": (_UNCLOSED, _CLOSE),
    "unknown escape": (
        "an unknown escape in double quotes",
        "Use single quotes, or double the backslash.",
    ),
}
"""By a part of the parser's message its meaning, and the remedy."""


def explain_syntax(error: yaml.YAMLError) -> tuple[Place, str, str]:
    """Return the place of broken syntax, what was found, and the remedy (empty: the rule's)."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = Place(mark.line + 1, mark.column + 1) if mark is not None else START
    said = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    for part, (meaning, remedy) in _MEANINGS.items():
        if part in said:
            return place, meaning, remedy
    return place, quoted(said.splitlines()[0] if said else "unreadable"), ""
