"""The few kinds of error that a user can meet, each with the exit code of the command line.

A user's mistake is one clear line (where, what was found, what was expected, what to do) and exit
code 2. A fault of the machine or of a run is exit code 3. Anything else is a bug and may trace.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AuditError(Exception):
    """Something that the user can mend; its text says what and how."""

    exit_code = 2


class UsageError(AuditError):
    """A command line that cannot be carried out: an unknown slug, a bad ``--set``."""


class SpecError(AuditError):
    """An audit file with faults; the text lists every one of them with its place."""


class CardError(AuditError):
    """A file that is no reproducibility card; the text says what was found instead."""


class StoreError(AuditError):
    """A store or a report folder that cannot be read or written."""


class TechnicalError(AuditError):
    """The machine or a run failed, so that there is no answer: a full disk, a crashed cell."""

    exit_code = 3


OF_THE_EXTRA_RUN = frozenset(
    {"torch", "torchvision", "numba", "scipy", "sklearn", "threadpoolctl", "jaxtyping"}
)
"""The libraries that only the extra `run` installs, by the names under which they are imported."""


MOST_SUGGESTED = 20
"""Known names that a remedy lists at most."""


LONGEST_COMPARED = 100
"""Characters of a name for which a close one is looked for: the time grows with their square."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known name that an unknown one was most likely meant to be; None if none is close."""
    if len(word) > LONGEST_COMPARED:
        return None
    names = sorted(one for one in set(known) if len(one) <= LONGEST_COMPARED)
    return next(iter(difflib.get_close_matches(word, names, n=1, cutoff=0.6)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy for an unknown name: the closest known one, or a list of the known ones.

    Returns:
        ``"Did you mean 'ahn2023'?"``, or ``"Known: a, b, c."``, or nothing if none is known.
    """
    names = sorted(set(known))
    close = closest(word, names)
    if close is not None:
        return f"Did you mean '{close}'?"
    more = f" and {len(names) - MOST_SUGGESTED} more" if len(names) > MOST_SUGGESTED else ""
    return f"Known: {', '.join(names[:MOST_SUGGESTED])}{more}." if names else ""
