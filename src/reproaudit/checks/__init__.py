"""The kinds of check: few, general, and named for phenomena.

A check turns one run into conditions: a number and the bound that it meets or not. A run meets the
check if it meets every condition. Checks know neither the paper nor the experiment; `judge` counts
the runs. Each kind is held against synthetic runs with and without its phenomenon
(docs/calibration.md).

What other rooms must know of a kind, they ask it. To add one, see CONTRIBUTING.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import Field

from reproaudit.checks.aligns import Aligns
from reproaudit.checks.beats import Beats
from reproaudit.checks.canonical import BOUND, QUANTITY, CanonicalForm, Part, plain
from reproaudit.checks.concentrates import Concentrates
from reproaudit.checks.converges import Converges
from reproaudit.checks.equals import Equals
from reproaudit.checks.follows import Follows
from reproaudit.checks.grows_like import GrowsLike
from reproaudit.checks.kind import (
    Bound,
    Condition,
    FewObservedError,
    Kind,
    Limit,
    Provenance,
    Side,
    SourcedNumber,
    Void,
    located_quantities,
)
from reproaudit.checks.reaches import Reaches
from reproaudit.checks.run import Begins, Censored, PassedAt, Run
from reproaudit.checks.scales_like import ScalesLike
from reproaudit.checks.separates import Separates
from reproaudit.checks.shown import Drawing, Form, Names, Number, read_noun
from reproaudit.checks.stages import Stages

__all__ = [
    "BOUND",
    "NUMBERS",
    "QUANTITY",
    "Begins",
    "Bound",
    "CanonicalForm",
    "Censored",
    "Check",
    "Condition",
    "Drawing",
    "FewObservedError",
    "Form",
    "Kind",
    "Limit",
    "Names",
    "Number",
    "Part",
    "PassedAt",
    "Provenance",
    "Run",
    "Side",
    "SourcedNumber",
    "Void",
    "located_quantities",
    "plain",
    "read_noun",
]

Check = Annotated[
    Aligns
    | Beats
    | Concentrates
    | Converges
    | Equals
    | Follows
    | GrowsLike
    | Reaches
    | ScalesLike
    | Separates
    | Stages,
    Field(discriminator="kind"),
]
"""Any kind of check; its field `kind` says which. A new kind is named here."""

NUMBERS: Mapping[str, Number] = {
    number.name: number for kind in get_args(get_args(Check)[0]) for number in kind.made
}
"""Every number that a kind may make, by its name, which no other has."""
