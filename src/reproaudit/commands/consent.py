"""Consent to code that does not come with reproaudit, before it runs."""

from __future__ import annotations

from collections.abc import Sequence

from reproaudit.audit.catalog import Entry
from reproaudit.commands.output import say
from reproaudit.consent import require_consent
from reproaudit.running.fingerprint import code_hash


def confirm_code(entries: Sequence[Entry], trust: bool) -> None:
    """Names the code that does not come with reproaudit, before it runs, and asks for consent.

    Args:
        entries: the papers that are to be run.
        trust: whether consent was given on the command line.

    Raises:
        ConsentError: if there is no consent.
    """
    for entry in entries:
        if not entry.module.importable:
            file = entry.module.file.resolve()
            digest = code_hash(file, entry.module.roots)
            say(f"{entry.slug}: the code of {file} will run, with hash {digest}", stderr=True)
    require_consent((entry.module for entry in entries), trust=trust)
