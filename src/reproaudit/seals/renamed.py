"""Finds in a rule the things that had another name in the rule before it.

A claim, a part, a control or an experiment that was taken away may have come back under a new name.
Then its values are compared with those that it had (`reproaudit.seals.changes`), so that a new name
hides no new value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from reproaudit.seals.entries import SucceededClaim
from reproaudit.seals.rule import ORDER, RuleValue

RulePath = tuple[str, ...]
AnyRule = Mapping[str, RuleValue]


@lru_cache(maxsize=1 << 16)
def steps_of(path: str) -> RulePath:
    """The steps of a path in a rule."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in path.split("/"))


def rule_path(steps: RulePath) -> str:
    """The path of steps in a rule."""
    return "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps)


class Renaming(NamedTuple):
    """A place in a rule, by the names that lead to it, before and after."""

    old: RulePath
    new: RulePath


def renamed(rule: AnyRule, renamings: Sequence[Renaming]) -> dict[str, RuleValue]:
    """A rule whose places have the names that they have afterwards."""
    found: dict[str, RuleValue] = {}
    for path, leaf in rule.items():
        steps = steps_of(path)
        for old, new in renamings:
            if steps[: len(old)] == old:
                steps = (*new, *steps[len(old) :])
            elif steps[-1] == ORDER and steps[:-1] == old[:2] and isinstance(leaf, list):
                leaf = [new[-1] if old[2:] == ("checks", one) else one for one in leaf]
        found[rule_path(steps)] = leaf
    return found


def below(rule: AnyRule, place: RulePath) -> dict[str, RuleValue]:
    """The part of a rule below a place."""
    return {path: leaf for path, leaf in rule.items() if steps_of(path)[: len(place)] == place}


# --- claims -------------------------------------------------------------------------------------


def successors(rules: Sequence[AnyRule], after: AnyRule) -> Iterator[SucceededClaim]:
    """Yields the claims that were taken away and have a successor: if either of the two is new.

    A successor makes the same statement as any form of the lost claim, or reads a measurement of
    the same experiment that this form read as well.

    Args:
        rules: the rules before, the last one last.
        after: the rule after.
    """
    present, last = claims_of(after), claims_of(rules[-1])
    forms: dict[str, list[ClaimFeatures]] = {}
    for rule in rules:
        for claim, features in claims_of(rule).items():
            forms.setdefault(claim, []).insert(0, features)
    for old in sorted(forms.keys() - present.keys()):
        for new in sorted(present):
            why = next(filter(None, (one.resembles(present[new]) for one in forms[old])), None)
            if why and (old in last or new not in last):
                what = f"claim {old} was taken away, and {new} {why}"
                yield SucceededClaim(what=what, claims=(new,), was=old)


@dataclass
class ClaimFeatures:
    """The features by which a claim is recognised under another name.

    Attributes:
        statement: its words.
        experiment: that it reads.
        reads: the measurements that its checks read.
    """

    statement: str = ""
    experiment: str = ""
    reads: set[str] = field(default_factory=set)

    def resembles(self, other: ClaimFeatures) -> str | None:
        """The likeness of another claim to this one, in words; None if there is none."""
        if self.statement and self.statement == other.statement:
            return "makes the same statement"
        if self.reads and (self.experiment, self.reads) == (other.experiment, other.reads):
            return "reads the same measurements"
        if self.experiment == other.experiment and self.reads & other.reads:
            return "reads some of the same measurements"
        return None


def claims_of(rule: AnyRule) -> dict[str, ClaimFeatures]:
    """The features of each claim of a rule, by its id."""
    found: dict[str, ClaimFeatures] = {}
    for path, leaf in rule.items():
        steps = steps_of(path)
        if steps[0] == "claims" and len(steps) > 2:
            claim = found.setdefault(steps[1], ClaimFeatures())
            if steps[2:] == ("statement",):
                claim.statement = " ".join(re.findall(r"\w+", str(leaf).casefold()))
            elif steps[2:] == ("experiment",):
                claim.experiment = str(leaf)
            elif steps[2] == "checks" and steps[-1] == "measurement":
                claim.reads.add(str(leaf))
    return found


# --- parts and controls of a claim --------------------------------------------------------------


def renamed_parts(before: AnyRule, after: AnyRule) -> list[Renaming]:
    """The parts that have another name, and check the same measurements in the same way."""
    then, now = _inside(before, "checks"), _inside(after, "checks")
    return _matched(then, now, _what_is_checked)


def renamed_controls(before: AnyRule, after: AnyRule) -> list[Renaming]:
    """The controls that have another name, and are the same otherwise."""
    then, now = _inside(before, "controls"), _inside(after, "controls")
    return _matched(then, now, lambda content: content)


_Content = dict[RulePath, RuleValue]


def _inside(rule: AnyRule, kind: str) -> dict[RulePath, _Content]:
    """The contents of each part, or each control, of each claim."""
    found: dict[RulePath, _Content] = {}
    for path, leaf in rule.items():
        steps = steps_of(path)
        if len(steps) > 4 and (steps[0], steps[2]) == ("claims", kind):
            found.setdefault(steps[:4], {})[steps[4:]] = leaf
    return found


def _what_is_checked(content: _Content) -> _Content:
    return {steps: leaf for steps, leaf in content.items() if steps[-1] in ("kind", "measurement")}


def _matched(
    then: Mapping[RulePath, _Content],
    now: Mapping[RulePath, _Content],
    likeness: Callable[[_Content], _Content],
) -> list[Renaming]:
    """Each thing that is gone, with the first new one of its claim that is like it."""
    found: list[Renaming] = []
    fresh = [place for place in now if place not in then]
    for old, content in then.items():
        if old in now:
            continue
        for new in fresh:
            if new[:3] == old[:3] and likeness(now[new]) == likeness(content):
                found.append(Renaming(old, new))
                fresh.remove(new)
                break
    return found
