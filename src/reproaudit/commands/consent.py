"""Consent to code that does not come with reproaudit, before it runs."""

from __future__ import annotations

from collections.abc import Sequence

from reproaudit.audit.catalog import Entry
from reproaudit.audit.command_module import CommandModule
from reproaudit.commands.output import say
from reproaudit.consent import require_consent


def ask_to_run(entries: Sequence[Entry], trust: bool) -> None:
    """Name the code that does not come with reproaudit, before it runs, and ask for consent.

    The one hash that is shown is that of the consent, with the question.

    Raises:
        ConsentError: if there is no consent.
    """
    for entry in entries:
        if not entry.module.importable:
            file = entry.module.file.resolve()
            what = f"the code of {file}"
            if isinstance(entry.module, CommandModule):
                what = f"what {entry.module.file} says ({entry.module.described()})"
            say(f"{entry.slug}: {what} will run", stderr=True)
    require_consent((entry.module for entry in entries), trust=trust)
