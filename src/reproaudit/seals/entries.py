"""The entries of a chain of seals, each one line of JSON.

Every entry holds the hash of the entry before it (`before`) and the hash of all that it says itself
(`hash`), so a line that is edited, removed, put in or moved no longer fits its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    model_serializer,
)

from reproaudit.seals.rule import canonical, digest

BEGINNING = "0" * 64
"""The hash before the first entry."""

ADDED = " added"
"""Ends the words of a change that added something whole."""
ARROW = " → "
"""Stands between what was and what is."""

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Short = Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
Sentence = Annotated[str, Field(max_length=20_000)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RuleChange(_Part):
    """One thing that changed in a rule."""

    what: Sentence
    """The change in words, such as "tolerance of part 'loss' of toy.depth, at_most: 0.1 → 0.12"."""
    claims: tuple[str, ...] | None = None
    """The claims whose verdict it touches; None for every claim."""

    @property
    def is_addition(self) -> bool:
        """True if something was added whole that can only make a claim harder to meet.

        A setting that was added may take the place of another one.
        """
        is_whole = self.what.endswith(ADDED) and ARROW not in self.what and ": " not in self.what
        return is_whole and not self.what.startswith("setting ")


class SucceededClaim(RuleChange):
    """A claim that was taken away, while a claim that resembles it stands in its place."""

    was: Sentence
    """The id of the claim that was taken away; `claims` names its successor."""


class CodeChange(RuleChange):
    """Changed code, found by comparing files."""

    files: tuple[Sentence, ...]
    """The changed files that the hash of this code covers."""


Changes = tuple[SucceededClaim | CodeChange | RuleChange, ...]


class ClaimResult(_Part):
    """A claim's outcome in one judged set of records."""

    decision: Sentence | None
    verdict: Sentence
    estimate: float | None
    numbers: dict[Short, Short]
    """By a hash of each part's name, a hash of its numbers, seed by seed. Other numbers of the
    same part are another draw."""
    failed_run: Short | None = None
    """Of a claim whose run failed: a hash of what failed, and of the time at which it was tried.
    Another one is another try. None of any other claim, and in older entries."""
    unsettled: tuple[Sentence, ...] = ()
    """Of a supported claim: the alternatives that were run and did not meet it, though none turns
    it round. None in older entries."""

    @property
    def has_failed(self) -> bool:
        """True if the run failed, or diverged so that it was judged without a number."""
        return has_failed(self.verdict, self.numbers)

    @model_serializer(mode="wrap")
    def _as_older_entries(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves out fields that older entries lack where they say nothing: their hashes stay."""
        data: dict[str, Any] = dump(self)
        return {k: v for k, v in data.items() if k not in ("failed_run", "unsettled") or v}


def has_failed(verdict: str, numbers: Mapping[str, str]) -> bool:
    """True of a claim whose run failed, or diverged so that it was judged without a number.

    A claim that is not tested, for want of seeds for instance, has not failed.
    """
    return verdict == "technical_failure" or not (numbers or verdict == "not_tested")


class _Entry(_Part):
    version: Literal[1] = 1
    slug: Sentence
    date: AwareDatetime
    """When it was entered; of a reconstructed entry, when the commit was made that it tells of."""
    revision: Sentence | None
    """The git revision at that time, with "+dirty" if files were changed; None outside git."""
    reconstructed: bool = False
    """True if it was read from git's history afterwards, and nothing was sealed at the time."""
    before: Hash
    hash: Hash


class SealEntry(_Entry):
    """A rule, sealed before it is confirmed."""

    kind: Literal["seal"] = "seal"
    rule: Hash
    text: Hash
    change: dict[str, Any]
    """The values that differ from the rule `since`, by path in a tree; None: taken away."""
    since: Hash | None
    """The sealed rule that `change` starts from; None: from nothing."""
    what: Changes
    why: Sentence
    by: Literal["seal", "run"] = "seal"
    """The command: `run` seals what it is about to run, if nobody has."""


class ChangeEntry(_Entry):
    """A change of the rule before anything was sealed, read from git."""

    kind: Literal["change"] = "change"
    what: Changes
    why: Sentence


class BegunEntry(_Entry):
    """The beginning of a confirmation: from here on it counts, finished or not."""

    kind: Literal["confirmation begun"] = "confirmation begun"
    rule: Hash
    look: int = Field(ge=1)
    """The number of the rule among all that were ever sealed here, on any branch."""
    error: float = Field(gt=0, lt=1)
    """The error that this look spends: the α by which its claims are judged."""
    seeds: dict[str, tuple[int, ...]]
    """The derived seeds, by tier."""
    made_with: Hash | None = None
    """A hash of the code, the versions of packages, the device and the data with which it is
    measured; None in older entries."""

    @model_serializer(mode="wrap")
    def _as_older_entries(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves out a field that older entries lack: their hashes stay."""
        data: dict[str, Any] = dump(self)
        return {k: v for k, v in data.items() if k != "made_with" or v is not None}


SEEN_BEFORE = "custom, before its cells were listed"
"""The tier of runs whose cells became the paper tier's after they had been computed."""


class RunEntry(_Entry):
    """The beginning of a run of paper-tier cells: from here on its numbers may have been seen."""

    kind: Literal["run begun"] = "run begun"
    rule: Hash
    judged_by: Hash
    """The part of the rule that judges."""
    tier: Sentence
    """The tier that was asked for; another one than `paper` has cells equal to the paper tier's."""
    claims: tuple[Sentence, ...] | None
    """The claims whose paper-tier cells are among those that were asked for; None for all."""


class ResultEntry(_Entry):
    """The verdicts of a run at the paper tier."""

    kind: Literal["result"] = "result"
    rule: Hash | None
    """The rule at that time; None of a reconstructed result."""
    judged_by: Hash | None
    """The part of the rule that judges; None of a reconstructed result."""
    tier: Literal["paper", "multiverse"] = "paper"
    """The runs: those of the paper tier, or of its alternatives as well (`multiverse`)."""
    confirmation: bool = False
    """True if the seeds were those derived from the rule."""
    records: Hash
    """A hash of every number that was measured, whatever code measured it."""
    claims: dict[str, ClaimResult]


SealsEntry = SealEntry | ChangeEntry | RunEntry | BegunEntry | ResultEntry

_ENTRY: TypeAdapter[SealsEntry] = TypeAdapter(Annotated[SealsEntry, Field(discriminator="kind")])


def parsed_entry(line: bytes) -> SealsEntry:
    """The entry in a line.

    Raises:
        ValueError: if it is none; the text says how that shows.
    """
    return _ENTRY.validate_json(line, strict=False)


def line_of(entry: SealsEntry) -> bytes:
    """The line that an entry stands in, without its end."""
    return canonical(entry.model_dump(mode="json"))


@dataclass(frozen=True)
class Draft:
    """An entry before it has its place in a chain.

    Attributes:
        kind: its class.
        fields: all its fields but `slug`, `before` and `hash`; the present date if it has none.
    """

    kind: type[SealsEntry]
    fields: Mapping[str, Any]

    def after(self, before: str, slug: str) -> SealsEntry:
        """The entry after the one with the hash `before`."""
        whole = {"date": now(), **self.fields, "slug": slug, "before": before, "hash": BEGINNING}
        entry = self.kind.model_validate(whole)
        return entry.model_copy(update={"hash": hash_of(entry)})


def hash_of(entry: SealsEntry) -> str:
    """The hash that an entry must have."""
    return digest(entry.model_dump(mode="json", exclude={"hash"}))


def now() -> datetime:
    """The present time; the order of entries of two chains is told from it."""
    return datetime.now(UTC)


def names_of(
    claim: str, entries: Iterable[SealsEntry], unsealed: Iterable[RuleChange]
) -> frozenset[str]:
    """The id of a claim, and those of the claims that it took the place of."""
    told = [one.what for one in entries if isinstance(one, SealEntry | ChangeEntry)]
    succeeded = [
        one for what in (*told, unsealed) for one in what if isinstance(one, SucceededClaim)
    ]
    names, size = {claim}, 0
    while size < len(names):
        size = len(names)
        names |= {one.was for one in succeeded if one.claims and one.claims[0] in names}
    return frozenset(names)


def in_time(entries: Iterable[SealsEntry]) -> list[SealsEntry]:
    """Entries in the order of time: of one file, what was entered later is never earlier, unless it
    was read from git."""
    dated: list[tuple[datetime, int, SealsEntry]] = []
    latest, before = datetime.min.replace(tzinfo=UTC), BEGINNING
    for number, entry in enumerate(entries):
        if entry.before != before:  # the chain in a store begins
            latest = datetime.min.replace(tzinfo=UTC)
        before = entry.hash
        if not entry.reconstructed:
            latest = max(latest, entry.date)
        dated.append((entry.date if entry.reconstructed else latest, number, entry))
    return [entry for _, _, entry in sorted(dated, key=lambda one: one[:2])]
