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

from reproaudit.checks.aligns import Aligns
from reproaudit.checks.beats import Beats
from reproaudit.checks.canonical import BOUND, CanonicalForm, form, plain
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
from reproaudit.checks.run import Begins, Censored, Course, PassedAt, Run
from reproaudit.checks.scales_like import ScalesLike
from reproaudit.checks.separates import Separates
from reproaudit.checks.shown import Drawing, Form, Names, Number, read_noun
from reproaudit.checks.stages import Stages
from reproaudit.declarations import ByKind

__all__ = [
    "BOUND",
    "KINDS",
    "NUMBERS",
    "Begins",
    "Bound",
    "CanonicalForm",
    "Censored",
    "Check",
    "Condition",
    "Course",
    "Drawing",
    "FewObservedError",
    "Form",
    "Kind",
    "Limit",
    "Names",
    "Number",
    "PassedAt",
    "Provenance",
    "Run",
    "Side",
    "SourcedNumber",
    "Void",
    "form",
    "located_quantities",
    "plain",
    "read_noun",
]

KINDS: Mapping[str, type[Kind]] = {
    get_args(kind.model_fields["kind"].annotation)[0]: kind
    for kind in (
        *(Aligns, Beats, Concentrates, Converges, Equals, Follows),
        *(GrowsLike, Reaches, ScalesLike, Separates, Stages),
    )
}
"""The kinds of check by name. A new kind is named here."""

Check = Annotated[Kind, ByKind(KINDS, KINDS.__getitem__)]
"""Any kind of check; its field `kind` says which."""

NUMBERS: Mapping[str, Number] = {
    number.name: number for kind in KINDS.values() for number in kind.made
}
"""Every number that a kind may make, by its name, which no other has."""
