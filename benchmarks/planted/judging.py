"""Judge the logs of worlds, and compare each answer with the truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

import reproaudit
from reproaudit import MeasuredRuns, PaperScorecard

from .world import CANNOT_TELL, OWN, Arms, Truth, World

REFUSED = "refused"
"""The outcome where the measurements are refused, so that there is no answer."""
VERDICTS = {"supported": True, "partly supported": True, "not supported": False}
"""What an outcome says of a claim; any other outcome says neither."""


@dataclass(frozen=True)
class Row:
    """One draw of a world, and the tool's answer.

    Attributes:
        world: the world that was drawn.
        draw: the number of the draw.
        outcome: the claim's outcome, or that the measurements were refused.
        level: how sure the tool is; none where nothing is decided.
        reason: what the terminal says of the claim.
    """

    world: World
    draw: int
    outcome: str
    level: str | None
    reason: str

    @property
    def verdict(self) -> bool | None:
        """Return whether the claim was said to be true, or false; or neither."""
        return VERDICTS.get(self.outcome)

    @property
    def wrong(self) -> bool:
        """Return whether there is a verdict and it is not the truth."""
        return self.verdict is not None and self.verdict != self.world.truth

    @property
    def unanswered(self) -> bool:
        """Return whether a true claim that an expert could decide has no verdict."""
        return self.world.truth is True and self.world.decidable and self.verdict is None

    def as_data(self) -> dict[str, str | int | bool | None]:
        """Return the row as data for a file."""
        return {
            "name": self.world.name,
            "kind": self.world.kind,
            "truth": self.world.truth,
            "decidable": self.world.decidable,
            "draw": self.draw,
            "outcome": self.outcome,
            "level": self.level,
            "wrong": self.wrong,
            "unanswered": self.unanswered,
            "reason": self.reason,
            "expert": self.world.expert,
        }


@dataclass(frozen=True)
class Judged:
    """All draws of a world. What more than half of them are, the world is."""

    rows: tuple[Row, ...]

    @property
    def world(self) -> World:
        """Return the world."""
        return self.rows[0].world

    @property
    def truth(self) -> Truth:
        """Return the world's truth."""
        return self.world.truth

    @property
    def supported(self) -> bool:
        """Return whether a false claim was said to be true."""
        return self.truth is False and self._mostly(row.wrong for row in self.rows)

    @property
    def denied(self) -> bool:
        """Return whether a true claim was said to be false."""
        return self.truth is True and self._mostly(row.wrong for row in self.rows)

    @property
    def unanswered(self) -> bool:
        """Return whether a true claim that an expert could decide got no verdict."""
        return self._mostly(row.unanswered for row in self.rows)

    @property
    def invented(self) -> bool:
        """Return whether there is a verdict where nobody can tell."""
        return self.truth == CANNOT_TELL and self._mostly(row.wrong for row in self.rows)

    def _mostly(self, said: Iterable[bool]) -> bool:
        return 2 * sum(said) > len(self.rows)


def measured_runs(world: World, draw: list[Arms]) -> list[MeasuredRuns]:
    """Return the runs of every arm as the tool takes them."""
    runs = []
    for place, arm in enumerate(draw[0]):
        first = 0 if world.paired else 1000 * place
        runs.append(
            MeasuredRuns(
                "training",
                {first + seed: arms[arm] for seed, arms in enumerate(draw)},
                settings={} if arm == OWN else {"arm": arm},
                diverged=frozenset(first + seed for seed in world.diverged.get(arm, ())),
            )
        )
    return runs


def write_audit(world: World, folder: Path) -> Path:
    """Write the world's audit to a folder, and return its file."""
    file = folder / f"{world.slug}.yaml"
    file.write_text(yaml.safe_dump(world.audit(), sort_keys=False), encoding="utf-8")
    return file


def judge_world(world: World, draws: int, folder: Path) -> Judged:
    """Judge so many draws of a world, whose audit is written to a folder."""
    audit = write_audit(world, folder)
    return Judged(tuple(_judge_draw(world, number, audit) for number in range(draws)))


def _judge_draw(world: World, number: int, audit: Path) -> Row:
    try:
        card = reproaudit.judge_measurements(audit, measured_runs(world, world.draw(number)))
    except reproaudit.SpecError as error:
        return Row(world, number, REFUSED, None, str(error))
    answer = card.claim("claim")
    level = answer.level.value if answer.level else None
    return Row(world, number, answer.outcome.value, level, _reason(card))


def _reason(card: PaperScorecard) -> str:
    """Return the page's line on the claim, with why it is not surer or has no answer."""
    (line,) = card.head.claims
    (words,) = (said.certainty for said in card.answers)
    return "; ".join(dict.fromkeys((line.text, *words)))
