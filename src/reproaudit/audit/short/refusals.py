"""What the models of the short form refuse, in words that say where a thing belongs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from reproaudit.audit.faults import Violation


def in_short(refusals: Iterable[Violation], data: Any) -> Iterator[Violation]:
    """Yield refusals, an unknown field with where it belongs."""
    yield from refusals
