"""Rules of the numbers within a check: with those that they refuse, it could hardly be missed."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit
from reproaudit.audit.rules.looks import checks
from reproaudit.audit.rules.rule import Violation, error
from reproaudit.checks.grows_like import GrowsLike
from reproaudit.checks.separates import Separates

FLOOR_BELOW = 0.5
"""No scale judges with a larger floor (`reproaudit.stats.scales`)."""
FARTHEST_RIVAL = 0.5
"""A law that is told from powers farther away alone is told from too few of them."""


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
    "RA201",
    "A quantity lies below another only if the difference is not negative.",
    "Write 0 or more, or use 'matches' for numbers that may differ by so much either way.",
)
def _differences_are_not_negative(audit: Audit) -> Iterator[Violation]:
    for loc, check in checks(audit):
        if isinstance(check, Separates) and check.by < 0:
            yield Violation((*loc, "by"), f"found {check.by:g}; expected 0 or more")


@error(
    "RA202",
    "A law of growth is told from powers that are far from it too easily.",
    "Write the smallest difference of exponents that the paper's claim excludes.",
)
def _rivals_are_near(audit: Audit) -> Iterator[Violation]:
    for loc, check in checks(audit):
        if isinstance(check, GrowsLike) and check.rival_exponent > FARTHEST_RIVAL:
            yield Violation(
                (*loc, "rival_exponent"),
                f"found {check.rival_exponent:g}; expected {FARTHEST_RIVAL:g} or less",
            )
