"""A paper whose experiments are commands: ``<slug>.run.yaml`` in place of a module."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reproaudit.audit.paper_module import Module

if TYPE_CHECKING:
    from reproaudit.lab.experiment import Experiment


@dataclass(frozen=True)
class CommandModule(Module):
    """A run file, which is read where its cells are computed, as a paper's module is imported.

    What reads it lies above the audits, and is imported by name when it is asked for, as every
    paper's module is. Nothing is executed but by the experiments themselves.
    """

    def load(self) -> Mapping[str, Experiment]:
        """Return the experiments of the run file.

        Raises:
            SpecError: listing every fault of the file.
        """
        experiments: Mapping[str, Experiment] = _reader().experiments_of(self.file)
        return experiments

    def digest(self) -> str:
        """Return the digest of everything the run file computes, as 32 hexadecimal digits.

        Raises:
            SpecError: listing every fault of the file.
        """
        return str(_reader().run_file_digest(self.file))

    def described(self) -> str:
        """Return the commands that the run file will execute, on one line.

        Raises:
            SpecError: listing every fault of the file.
        """
        return str(_reader().described(self.file))


def _reader() -> Any:
    return importlib.import_module("reproaudit.repositories.experiments")
