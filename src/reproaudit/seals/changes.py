"""The changes between two rules, in words, with the claims that they touch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from reproaudit.audit.model import REASONS_THAT_COUNT
from reproaudit.seals.entries import ADDED, Changes, RuleChange, SucceededClaim
from reproaudit.seals.rule import CODE, JUDGING, ORDER, STREAM, RuleValue, canonical

RulePath = tuple[str, ...]

LONGEST_SHOWN = 80
SHOWN_BEFORE = 30
"""Of two long texts, as many letters that they share stand before the first that differs."""
ARROW = " → "

WHOLE: Mapping[str, str] = {
    CODE: "code that computes the measurements",
    STREAM: "random stream: how a seed becomes random numbers",
    JUDGING: "code that judges: checks, statistics or verdicts",
    "confidence": "confidence of the intervals",
}
"""Paths that name one thing, in words."""


def changes_between(
    before: Mapping[str, RuleValue],
    after: Mapping[str, RuleValue],
    earlier: Iterable[Mapping[str, RuleValue]] = (),
) -> Changes:
    """Everything that differs between two rules; empty if nothing does.

    What was added or taken away whole, such as a claim, a part or a control, is one change.

    Args:
        before: the rule before.
        after: the rule after.
        earlier: rules from before that, whose lost claims a new claim may succeed.
    """
    succeeded = tuple(_succeeded((*earlier, before), after))
    there = [
        {thing for path in rule for thing in _things(_steps(path))} for rule in (before, after)
    ]
    told: dict[RuleChange, None] = {}
    renamed = _renamed_controls(before, after)
    for (claim, old), new in renamed.items():
        told[RuleChange(what=f"control '{old}' of {claim} renamed '{new}'", claims=())] = None
    before = {path: leaf for path, leaf in before.items() if _control(path) not in renamed}
    new_names = {(claim, new) for (claim, _), new in renamed.items()}
    after = {path: leaf for path, leaf in after.items() if _control(path) not in new_names}
    for path in sorted(before.keys() | after.keys()):
        if canonical(before.get(path)) == canonical(after.get(path)):
            continue
        steps = _steps(path)
        for thing in _things(steps):
            if (thing in there[0]) != (thing in there[1]):
                fate = ADDED if thing in there[1] else " taken away"
                told[_change(thing, f"{_name(thing)}{fate}", before, after)] = None
                break
        else:
            words = _difference(steps, before.get(path), after.get(path))
            if words is not None:
                told[_change(steps, words, before, after)] = None
    return (*told, *succeeded)


# --- claims that take the place of others -------------------------------------------------------


def _succeeded(
    rules: Sequence[Mapping[str, RuleValue]], after: Mapping[str, RuleValue]
) -> Iterator[SucceededClaim]:
    """Yields the claims that were taken away and have a successor: if either of the two is new.

    A successor makes the same statement, or reads a measurement of the same experiment that the
    lost claim read as well.

    Args:
        rules: the rules before, the last one last.
        after: the rule after.
    """
    present, last = _claims(after), _claims(rules[-1])
    known: dict[str, _Claim] = {}
    for rule in rules:
        known |= _claims(rule)
    for old in sorted(known.keys() - present.keys()):
        for new in sorted(present):
            why = known[old].resembles(present[new])
            if why and (old in last or new not in last):
                what = f"claim {old} was taken away, and {new} {why}"
                yield SucceededClaim(what=what, claims=(new,), was=old)


@dataclass
class _Claim:
    """The features by which a claim is recognised under another name.

    Attributes:
        statement: its words.
        reads: its experiment, and the measurements that its checks read.
    """

    statement: str = ""
    experiment: str = ""
    reads: set[str] = field(default_factory=set)

    def resembles(self, other: _Claim) -> str | None:
        """The likeness of another claim to this one, in words; None if there is none."""
        if self.statement and self.statement == other.statement:
            return "makes the same statement"
        if self.reads and (self.experiment, self.reads) == (other.experiment, other.reads):
            return "reads the same measurements"
        if self.experiment == other.experiment and self.reads & other.reads:
            return "reads some of the same measurements"
        return None


def _claims(rule: Mapping[str, RuleValue]) -> dict[str, _Claim]:
    found: dict[str, _Claim] = {}
    for path, leaf in rule.items():
        steps = _steps(path)
        if steps[0] == "claims" and len(steps) > 2:
            claim = found.setdefault(steps[1], _Claim())
            if steps[2:] == ("statement",):
                claim.statement = " ".join(re.findall(r"\w+", str(leaf).casefold()))
            elif steps[2:] == ("experiment",):
                claim.experiment = str(leaf)
            elif steps[2] == "checks" and steps[-1] == "measurement":
                claim.reads.add(str(leaf))
    return found


def _control(path: str) -> tuple[str, str] | None:
    """The claim and the name of the control that a path is of; None of any other path."""
    steps = _steps(path)
    is_control = len(steps) > 4 and (steps[0], steps[2]) == ("claims", "controls")
    return (steps[1], steps[3]) if is_control else None


def _renamed_controls(
    before: Mapping[str, RuleValue], after: Mapping[str, RuleValue]
) -> dict[tuple[str, str], str]:
    """By claim and old name, the new name of each control that is the same otherwise."""

    def contents(rule: Mapping[str, RuleValue]) -> dict[tuple[str, str], dict[RulePath, RuleValue]]:
        found: dict[tuple[str, str], dict[RulePath, RuleValue]] = {}
        for path, leaf in rule.items():
            control = _control(path)
            if control is not None:
                found.setdefault(control, {})[_steps(path)[4:]] = leaf
        return found

    then, now = contents(before), contents(after)
    renamed: dict[tuple[str, str], str] = {}
    for (claim, old), content in then.items():
        fresh = (name for place, name in now if place == claim and (claim, name) not in then)
        taken = {new for (place, _), new in renamed.items() if place == claim}
        same = (name for name in fresh if now[claim, name] == content and name not in taken)
        if (claim, old) not in now and (new := next(same, None)) is not None:
            renamed[claim, old] = new
    return renamed


def _difference(steps: RulePath, before: RuleValue | None, after: RuleValue | None) -> str | None:
    """A value's change in words; None if other changes tell of it."""
    name = _name(steps)
    if steps[0] in (CODE, STREAM, JUDGING):
        return name
    if _is_reason_that_counts(steps):
        if before is not None and after is not None:
            return None  # an older rule held its words as well
        before, after = (None if leaf is None else "given" for leaf in (before, after))
    if steps[-1] == ORDER and isinstance(before, list) and isinstance(after, list):
        if before[0] != after[0]:
            return f"primary part of {steps[1]}: '{before[0]}'{ARROW}'{after[0]}'"
        if sorted(before) != sorted(after):
            return None
    return f"{name}: {ARROW.join(_cut_alike(_shown(before), _shown(after)))}"


def _is_reason_that_counts(steps: RulePath) -> bool:
    """True of a field of a control or a movement of which a rule says only that it is there."""
    above = {"controls": 4, "positive_control": 3, "movement": 3}.get("".join(steps[2:3]))
    return steps[0] == "claims" and len(steps) - 1 == above and steps[-1] in REASONS_THAT_COUNT


def _steps(path: str) -> RulePath:
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in path.split("/"))


def _things(steps: RulePath) -> Iterator[RulePath]:
    """Yields what holds a value and can come and go as one, the largest first."""
    if steps[0] in ("settings", "experiments", "claims"):
        yield steps[:2]
        if len(steps) > 3 and steps[0] != "settings" and steps[2] in _LISTS:
            yield steps[:4]
    elif steps[0] == "movement":
        yield steps[:1]


_LISTS = ("checks", "controls", "settings", "measurements")


def _name(steps: RulePath) -> str:
    """A place in a rule, in words."""
    first, *rest = steps
    if first in WHOLE:
        return WHOLE[first]
    if first == "seeds":
        return f"seeds of the {rest[0]} tier" if rest else "seeds"
    if first == "movement":
        return _of("movement of training", rest)
    if first == "settings":
        return _setting(rest, "")
    if first == "experiments":
        where = f" of experiment '{rest[0]}'"
        if len(rest) > 2 and rest[1] == "settings":
            return _setting(rest[2:], where)
        if len(rest) > 2 and rest[1] == "measurements":
            return _of(f"measurement '{rest[2]}'{where}", rest[3:])
        return _of(f"experiment '{rest[0]}'", rest[1:])
    if first == "claims":
        return _claim(rest)
    return _field(steps)


def _setting(rest: list[str], where: str) -> str:
    name = f"setting '{rest[0]}'{where}"
    if rest[1:] in (["quick", "value"], ["smoke", "value"]):
        return f"{name} at the {rest[1]} tier"
    return name if rest[1:] in ([], ["value"]) else _of(name, rest[1:])


def _claim(rest: list[str]) -> str:
    claim, *inner = rest
    if not inner:
        return f"claim {claim}"
    if inner[0] == "checks" and len(inner) > 1:
        part = f"part '{inner[1]}' of {claim}"
        if len(inner) == 2:
            return part
        if len(inner) == 3 and inner[2] not in _MEASURED:
            return f"tolerance of {part}, {inner[2]}"
        return f"what {part} measures, {_field(inner[2:])}"
    if inner[0] == "controls" and len(inner) > 1:
        return _of(f"control '{inner[1]}' of {claim}", inner[2:])
    if inner[0] == "positive_control":
        return _of(f"positive control of {claim}", inner[1:])
    return f"{inner[0].replace('_', ' ')} of {claim}" + (
        f", {_field(inner[1:])}" if inner[1:] else ""
    )


_MEASURED = ("kind", "each", "among", "scale", "over", "name", "quantity", "ablation")
"""Fields of a check that are no tolerance."""


def _of(name: str, rest: list[str]) -> str:
    return f"{name}, {_field(rest)}" if rest else name


def _field(steps: Iterable[str]) -> str:
    return " ".join(step.replace("_", " ") for step in steps)


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        first = value[0] if type(value[0]) is int else 0
        if len(value) > 3 and value == list(range(first, first + len(value))):
            return f"{value[0]} to {value[-1]}"
        return ", ".join(_shown(one) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cut_alike(*texts: str) -> tuple[str, ...]:
    """Texts that are short enough to be shown, from a little before they differ."""
    alike = sum(
        1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    )
    begin = alike - SHOWN_BEFORE if any(len(one) > LONGEST_SHOWN for one in texts) else 0
    if begin > 0:
        begin = texts[0].find(" ", begin, alike) + 1 or begin  # at a word
        texts = tuple(f"…{one[begin:]}" for one in texts)
    return tuple(
        one if len(one) <= LONGEST_SHOWN else f"{one[: LONGEST_SHOWN - 1]}…" for one in texts
    )


# --- the claims that a change touches -----------------------------------------------------------


def _change(
    steps: RulePath, words: str, before: Mapping[str, RuleValue], after: Mapping[str, RuleValue]
) -> RuleChange:
    return RuleChange(what=words, claims=_touched(steps, (before, after)))


def _touched(
    steps: RulePath, rules: tuple[Mapping[str, RuleValue], Mapping[str, RuleValue]]
) -> tuple[str, ...] | None:
    """The claims whose verdict hangs on a place in a rule; None for all of them."""
    if steps[0] == "claims" and len(steps) > 1:
        return (steps[1],)
    if steps[0] == "experiments" and len(steps) > 1:
        places = ((_steps(path), leaf) for rule in rules for path, leaf in rule.items())
        return tuple(
            sorted(
                {
                    place[1]
                    for place, leaf in places
                    if place[0] == "claims" and place[-1] == "experiment" and leaf == steps[1]
                }
            )
        )
    return None
