"""The session that benchmarks give to experiments."""

from __future__ import annotations

from reproaudit.cell import RunForm


class BenchSession:
    """A session of the fast form that keeps nothing (see `reproaudit.lab.experiment.Session`)."""

    form: RunForm = "fast"

    def __init__(self, seed: int, device: str = "cpu") -> None:
        self.seed = seed
        self.device = device

    def load(self, phase: str) -> None:
        """There is never a checkpoint."""

    def save(self, phase: str, checkpoint: bytes) -> None:
        """Nothing is resumed."""

    def keep_output(self, name: str, text: bytes) -> str:  # noqa: ARG002
        """Nothing is kept."""
        return name

    def progress(self, phase: str, done: int, total: int) -> None:
        """Nobody watches."""
