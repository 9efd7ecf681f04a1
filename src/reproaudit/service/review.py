"""`reproaudit review`: the text of a note, the answers it is for, and the command that shows it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.errors import UsageError
from reproaudit.files import read_regular, report_folder
from reproaudit.formats.scorecard import Scorecard
from reproaudit.scorecard.answers import scorecard_of_paper
from reproaudit.store.records import Store

LARGEST_NOTE = 2**14
"""Of a note's file; 80 words have a thirtieth of it."""


def note_in(file: Path) -> str:
    """Return the text of a note's file, of ``-`` standard input's; a UsageError if it is none."""
    try:
        if str(file) == "-":
            content = sys.stdin.buffer.read(LARGEST_NOTE + 1)
        else:
            content = read_regular(file, LARGEST_NOTE)
        if len(content) > LARGEST_NOTE:
            raise UsageError(f"--note {file}: found more than {LARGEST_NOTE:,} bytes.")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"--note {file}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--note {file}: found no UTF-8; expected a text file.") from error


def answered(
    entry: Entry, store: Path, out: Path | None, tier: TierName | None
) -> Scorecard | None:
    """Return the scorecard that a note is written for, without judging shipped records again.

    Raises:
        AuditError: if it cannot be read.
    """
    reports = report_folder(out, store)
    audit = entry.audit()
    return scorecard_of_paper(entry, audit, Store(store), tier, reports, judge_shipped=False)


def note_for(file: Path, entry: Entry, card: Scorecard | None) -> tuple[str, str]:
    """Return a note's text and the digest of the answers that it is for, or raise a UsageError."""
    if card is None:
        raise UsageError(
            f"--note: a note is about answers, and there are none of {entry.slug}: no records, and "
            f"no report. Make them with: reproaudit run {entry.slug}"
        )
    return note_in(file), card.answers_digest


def command_to_show(slug: str, **options: object) -> str:
    """Return the command that shows a paper's page, with the options that are not None."""
    given = [(f"--{name}", str(value)) for name, value in options.items() if value is not None]
    return shlex.join(["reproaudit", "report", slug, *(word for pair in given for word in pair)])
