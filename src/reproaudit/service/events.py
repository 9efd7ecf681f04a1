"""What a shell is told while the service works, beside the events of a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a shell that runs nothing starts without them
    from reproaudit.audit.model import Audit
    from reproaudit.run.events import Event


@dataclass(frozen=True)
class WorkStarted:
    """Work on some papers begins, or goes on with others.

    Attributes:
        audits: those of the papers, which say to which arm a cell belongs.
        until: by `time.monotonic`, when the last cell may start.
    """

    audits: tuple[Audit, ...] = ()
    until: float = math.inf


OnWork = Callable[["Event | WorkStarted"], None]


def ignored(_news: object) -> None:
    """Take what a shell does not want to know."""
