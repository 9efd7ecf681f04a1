"""Names code that does not come with reproaudit before a command runs it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rich.console import Console

from reproaudit.audit.catalog import Entry
from reproaudit.consent import foreign_code, require_consent

TRUST_EVERYTHING = "REPROAUDIT_TRUST"
"""The environment variable that stands for ``--trust`` if it is 1."""


def confirm_code(entries: Iterable[Entry], trust: bool) -> None:
    """Prints the foreign code of papers that are to be run, with its hash, and asks for consent.

    Args:
        entries: the papers.
        trust: whether consent was given on the command line.

    Raises:
        ConsentError: if there is no consent.
    """
    modules = [entry.module for entry in entries]
    trust = trust or os.environ.get(TRUST_EVERYTHING) == "1"
    require_consent(modules, trust=trust)
    for module in modules:
        if (code := foreign_code(module)) is not None:
            text = f"running {code.about}, which does not come with reproaudit"
            Console(stderr=True).print(text, highlight=False, markup=False, soft_wrap=True)
