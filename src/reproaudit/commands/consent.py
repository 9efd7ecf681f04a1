"""Consent to code that does not come with reproaudit, before it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from rich.console import Console

from reproaudit.audit.catalog import Entry
from reproaudit.errors import UsageError
from reproaudit.running.fingerprint import code_hash

TRUST_VARIABLE = "REPROAUDIT_TRUST"
"""The environment variable that stands for ``--trust`` if it is 1."""


def confirm_code(entries: Iterable[Entry], trust: bool) -> None:
    """Names the code that does not come with reproaudit, before it runs, and asks for consent.

    Args:
        entries: the papers that are to be run.
        trust: whether consent was given on the command line.

    Raises:
        UsageError: if there is no consent.
    """
    console = Console(stderr=True)
    foreign = [entry for entry in entries if not entry.module.importable]
    for entry in foreign:
        file = entry.module.file.resolve()
        digest = code_hash(file, entry.module.roots)
        text = f"{entry.slug}: the code of {file} will run, with hash {digest}"
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    if not foreign or trust or os.environ.get(TRUST_VARIABLE) == "1":
        return
    if sys.stdin is not None and sys.stdin.isatty():
        console.print(
            "It is not part of reproaudit and has all your rights. Run it? [y/N] ", end=""
        )
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise UsageError(
        f"{', '.join(entry.slug for entry in foreign)}: nothing was run. This code is not part of "
        f"reproaudit and has all your rights. Read it, and consent with --trust."
    )
