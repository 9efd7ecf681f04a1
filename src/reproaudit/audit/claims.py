"""Claims of an audit: what the paper says, and the runs and bounds by which it is judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from reproaudit.audit.findings import ClaimId
from reproaudit.audit.settings import Value
from reproaudit.audit.variables import Text, at_most_words
from reproaudit.checks import Bound, Check
from reproaudit.declarations import Coordinate, Name, Quantity, StrictModel


class StartBound(Bound):
    """What holds of an arm before training; where it does not, the run is void."""

    value: Quantity
    """The quantity, read at its first observation."""


class ArmSpec(StrictModel):
    """An experiment under other settings than the claim's own, or read with other measurements."""

    experiment: Name | None = None
    """The experiment that is run; the claim's own if left out."""
    settings: dict[Name, Value] = Field(default_factory=dict)
    """The settings that differ from the claim's own runs, by name, with their values."""
    reads: dict[Name, Name] = Field(default_factory=dict)
    """Measurements (left) in whose place others (right) are read, for example the distance to the
    target of another run. Without `settings` nothing is run again."""
    why: Text
    """What the arm lacks, or how its solution is constructed."""
    words: Text | None = None
    """What a page calls it, in a few words; left out, its name."""
    holds_at_start: tuple[StartBound, ...] = ()
    """What holds of the arm at the start; a run in which it does not is void."""

    @model_validator(mode="after")
    def _differs(self) -> Self:
        if not self.settings and not self.reads and self.experiment is None:
            raise ValueError(
                "state 'settings', 'reads' or 'experiment': what the arm does otherwise"
            )
        return self


def _form_of_arm(value: Any) -> str:
    return "name" if isinstance(value, str) else "arm"


class NamedArm(ArmSpec):
    """An arm that is written in its claim."""

    name: Name
    """The arm's name, by which pages call it."""


AnyArm = Annotated[
    Annotated[Name, Tag("name")] | Annotated[NamedArm, Tag("arm")], Discriminator(_form_of_arm)
]


class AblationSpec(StrictModel):
    """An arm without one part of the mechanism: it tells whether that part brings the effect."""

    arm: AnyArm
    """The arm, or the name of a shared one."""
    lacks: Annotated[str, Field(min_length=1, max_length=40)]
    """What it lacks, in a word or two: B, stage II."""


class Grade(StrictModel):
    """The axis along which a claim is graded, from its easiest coordinate on."""

    axis: Name
    """The axis's name."""
    symbol: Annotated[str, Field(min_length=1, max_length=20)]
    """What a page calls a coordinate: L, n."""
    easiest_first: tuple[Coordinate, ...] = Field(min_length=2)
    """The coordinates, from the easiest to the hardest."""
    primary: tuple[Coordinate, ...] = Field(min_length=1)
    """The coordinates that decide."""
    origin: Literal["paper", "ours"] = Field(default="paper", alias="from")
    """Who makes them primary: the paper, or we."""

    @model_validator(mode="after")
    def _among(self) -> Self:
        if missing := [one for one in self.primary if one not in self.easiest_first]:
            raise ValueError(f"'primary' has {missing[0]}, which 'easiest_first' has not")
        return self


class Elsewhere(StrictModel):
    """Where the runs end that say no."""

    says: Annotated[str, Field(min_length=1, max_length=60)]
    """A clause with a verb in the plural: "end at one other point"."""
    measure: Quantity
    """What it costs them: the quantity whose numbers are compared."""


class Reported(StrictModel):
    """A number published elsewhere, printed with its place and never judged by."""

    says: Text
    """What was reported, in our words."""
    locator: Text
    """The place."""


class Claim(StrictModel):
    """One claim of the paper, with the rule by which it is judged."""

    id: ClaimId
    """A permanent id: the slug, a dot, and words joined by hyphens. It is never reused."""
    says: Annotated[Text, at_most_words(25)]
    """The paper's claim in at most 25 of our words."""
    short: Annotated[Text, at_most_words(10)]
    """A finite clause of at most ten words, from which sentences are made."""
    wording: Literal["from_source", "recalled", "derived"] = "from_source"
    """Whether the claim's words were read in the source, are from memory, or follow by algebra."""
    locator: Text
    """The place where the paper makes the claim."""
    main: bool = False
    """Whether it is the paper's main claim; one claim is."""
    experiment: Name
    """The experiment whose runs are judged."""
    headline: tuple[Check, ...] = Field(min_length=1)
    """What a run must meet to say yes: all of it."""
    support: tuple[Check, ...] = ()
    """What else the paper says of the claim; one that is missed makes it partly supported."""
    notes: tuple[Check, ...] = ()
    """What is ours and stricter: counted and printed, deciding nothing."""
    reported: tuple[Reported, ...] = ()
    """Numbers published elsewhere."""
    nulls: tuple[AnyArm, ...] = ()
    """Arms with nothing to learn, or with a wrong reference: each must miss the headline."""
    ablations: tuple[AblationSpec, ...] = ()
    """Arms without one part of the mechanism; they change no outcome."""
    constructed: AnyArm | None = None
    """A solution built by hand, which shows that the bounds can be met."""
    readings: tuple[Name, ...] = ()
    """The settings whose other sourced values (`readings` of the setting) are run and judged."""
    grade: Grade | None = None
    """The axis along which the headline is judged, coordinate by coordinate."""
    share: float = Field(default=0.5, ge=0.5, lt=1)
    """The share of all runs of which more must say yes."""
    exact: bool = False
    """Whether one run decides, as of a construction or an identity."""
    elsewhere: Elsewhere | None = None
    """Where the runs end that say no."""

    def arms(self) -> Iterator[tuple[tuple[str | int, ...], NamedArm | str]]:
        """Yield each null, ablation and constructed solution, with its place in the claim."""
        yield from ((("nulls", i), one) for i, one in enumerate(self.nulls))
        yield from ((("ablations", i, "arm"), one.arm) for i, one in enumerate(self.ablations))
        if self.constructed is not None:
            yield ("constructed",), self.constructed
