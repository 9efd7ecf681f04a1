"""A session that keeps its checkpoints in memory, and can be cut off."""

from dataclasses import dataclass, field

from reproaudit.cell import RunForm


class Killed(Exception):
    pass


@dataclass
class MemorySession:
    """Keeps checkpoints in memory.

    Attributes:
        kept: the last checkpoint of each phase.
        told: what was told of progress: (phase, done, total).
        cut: simulates a kill when a phase reaches this step.
        cut_before: simulates a kill when this phase begins.
    """

    seed: int = 0
    device: str = "cpu"
    form: RunForm = "fast"
    kept: dict[str, bytes] = field(default_factory=dict)
    told: list[tuple[str, int, int]] = field(default_factory=list)
    cut: int | None = None
    cut_before: str = ""

    def load(self, phase: str) -> bytes | None:
        if phase == self.cut_before:
            raise Killed
        return self.kept.get(phase)

    def save(self, phase: str, checkpoint: bytes) -> None:
        self.kept[phase] = checkpoint

    def progress(self, phase: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        self.told.append((phase, done, total))
        if self.cut is not None and done >= self.cut:
            raise Killed
