"""The contract of a paper's module. Nothing in here needs torch.

A module `papers/<slug>` defines one name, ``EXPERIMENTS``: a mapping from an experiment's name in
the audit to an `Experiment`. An experiment sees its settings, its seed and its device. It cannot
see a claim, a bound or a tolerance, so it cannot be bent towards the number that it is meant to
reproduce (an import contract enforces this).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from reproaudit.cell import RunForm as RunForm
from reproaudit.records import Measurements as Measurements


class Session(Protocol):
    """The runner as an experiment sees it: what to run on, and where to keep unfinished work."""

    @property
    def seed(self) -> int:
        """The seed to measure."""

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"cuda"``."""

    @property
    def form(self) -> RunForm:
        """``"fast"``, or ``"plain"``: straight from the paper's equations."""

    def load(self, phase: str) -> bytes | None:
        """The last checkpoint of a phase of this cell, or None at its first start."""

    def save(self, phase: str, checkpoint: bytes) -> None:
        """Keep a checkpoint, atomically, in place of the phase's last one."""

    def keep_output(self, name: str, text: bytes) -> str:
        """Keep what a program printed, beside the cell's record; returns where it is."""

    def progress(self, phase: str, done: int, total: int) -> None:
        """Tell the user how far the phase is, in steps."""


Measure = Callable[[Any, Session], Measurements]
"""From settings and a session to what was measured with the session's seed."""


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes:
        settings: a frozen dataclass; its field names are the setting names of the audit, its
            annotations their types. It has no defaults: every value comes from the audit.
        measure: runs it with one seed.
        phases: the phases that `measure` reports, with the number of steps of each, so that the
            runner can say how much is left before anything has run.
        data: from settings to the checksum of each data file that `measure` reads, by name. Other
            data make another cell.
        proxy: from settings to the stand-in for the paper's data or method, or None.
        has_plain_form: whether `measure` also computes straight from the paper's equations, on the
            processor, where the session asks for the plain form.
    """

    settings: type[Any]
    measure: Measure
    phases: Callable[[Any], Mapping[str, int]] = lambda _settings: {}
    data: Callable[[Any], Mapping[str, str]] = lambda _settings: {}
    proxy: Callable[[Any], str | None] = lambda _settings: None
    has_plain_form: bool = False
