"""Rules of the numbers within a check."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit, Claim, Movement
from reproaudit.audit.rules.looks import checks
from reproaudit.audit.rules.rule import Loc, Violation, error

FLOOR_BELOW = 0.5
"""No scale judges with a larger floor (`reproaudit.stats.scales`)."""


@error(
    "RA199",
    "A floor is the resolution of a measurement: whatever lies below it counts as equal to it.",
    "Write the smallest value that the measurement can tell from 0.",
)
def _floors_are_small(audit: Audit) -> Iterator[Violation]:
    for loc, check in checks(audit):
        if check.floor >= FLOOR_BELOW:
            yield Violation(
                (*loc, "floor"), f"found {check.floor:g}; expected a number below {FLOOR_BELOW:g}"
            )


@error(
    "RA200",
    "A number that is held against itself is always equal.",
    "Name the other measurement, coordinate or step.",
)
def _fields_differ(audit: Audit) -> Iterator[Violation]:
    for loc, check in checks(audit):
        seen: dict[str, str] = {}
        for field, quantity in check.by_field().items():
            other = seen.setdefault(quantity.model_dump_json(), field)
            if other != field:
                yield Violation(
                    (*loc, field),
                    f"found '{quantity.measurement}' as '{other}' and as '{field}' of "
                    f"'{check.name}'; expected two different numbers",
                )


@error(
    "RA203",
    "A check of a course reads all of it.",
    "Leave 'step' out.",
)
def _courses_are_read_whole(audit: Audit) -> Iterator[Violation]:
    for loc, check in checks(audit):
        for field, quantity in check.by_field().items():
            if quantity.step == "first" and check.follows_training():
                yield Violation(
                    (*loc, field, "step"),
                    f"found 'first' of '{quantity.measurement}', of which '{check.kind}' reads "
                    "every step; expected none",
                )


@error(
    "RA204",
    "Movement is a change relative to the start, and so a pure number.",
    'Measure the change over the size at the start, with unit "1".',
)
def _movement_is_relative(audit: Audit) -> Iterator[Violation]:
    told: list[tuple[Loc, Claim | None, Movement | None]] = [(("movement",), None, audit.movement)]
    told += [(("claims", i, "movement"), one, one.movement) for i, one in enumerate(audit.claims)]
    for loc, claim, movement in told:
        if movement is None:
            continue
        names = {"parameters": movement.parameters, "training_loss": movement.training_loss}
        experiments = [claim.experiment] if claim else audit.experiments
        for field, name in names.items():
            found = [audit.declaration(experiment, name) for experiment in experiments]
            units = {one.unit for one in found if one is not None} - {"1"}
            for unit in sorted(units):
                yield Violation((*loc, field), f"found '{name}' in '{unit}'; expected unit '1'")
