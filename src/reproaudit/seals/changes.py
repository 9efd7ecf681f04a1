"""The changes between two rules, in words, with the claims that they touch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from reproaudit.audit.model import REASONS_THAT_COUNT
from reproaudit.seals.entries import ADDED, ARROW, Changes, RuleChange
from reproaudit.seals.renamed import (
    AnyRule,
    Renaming,
    RulePath,
    below,
    claims_of,
    renamed,
    renamed_controls,
    renamed_parts,
    rule_path,
    steps_of,
    successors,
)
from reproaudit.seals.rule import CODE, JUDGING, ORDER, STREAM, RuleValue, canonical

LONGEST_SHOWN = 80
"""Of longer texts, what they share is left out, and of longer lists, too."""
SHOWN_AROUND = 30
"""So many letters that two long texts share stand before the first that differs, or after it."""
LONGEST_TOLD = 9_000

WHOLE: Mapping[str, str] = {
    CODE: "code that computes the measurements",
    STREAM: "random stream: how a seed becomes random numbers",
    JUDGING: "code that judges: checks, statistics or verdicts",
    "confidence": "confidence of the intervals",
}
"""Paths that name one thing, in words."""


def changes_between(
    before: AnyRule,
    after: AnyRule,
    earlier: Iterable[AnyRule] = (),
) -> Changes:
    """Everything that differs between two rules; empty if nothing does.

    What was added or taken away whole, such as a claim, a part or a control, is one change.

    Args:
        before: the rule before.
        after: the rule after.
        earlier: rules from before that, whose lost claims a new claim may succeed.
    """
    rules = (*earlier, before)
    succeeded = tuple(successors(rules, after))
    then, now = claims_of(before), claims_of(after)
    pairs = [(one, before, one) for one in now if one in then]
    told = [*_compared(before, after)]
    for change in succeeded:
        (new,) = change.claims or ()
        if new not in then:
            last = next(rule for rule in reversed(rules) if change.was in claims_of(rule))
            told += _compared_as(("claims", change.was), last, ("claims", new), after)
            pairs.append((change.was, last, new))
    for old, rule, new in pairs:
        told += _experiments_compared(old, rule, new, after)
    return (*_merged(told), *succeeded)


def _compared(before: AnyRule, after: AnyRule) -> Iterator[RuleChange]:
    """Yields what differs, and which parts and controls have another name alone."""
    parts, controls = renamed_parts(before, after), renamed_controls(before, after)
    for old, new in controls:
        yield RuleChange(what=f"{_name(old)} renamed '{new[-1]}'", claims=())
    for old, new in parts:
        yield RuleChange(what=f"{_name(old)} renamed '{new[-1]}'", claims=(new[1],))
    before = renamed(before, (*parts, *controls))
    there = [
        {thing for path in rule for thing in _things(steps_of(path))} for rule in (before, after)
    ]
    for path in sorted(before.keys() | after.keys()):
        if canonical(before.get(path)) == canonical(after.get(path)):
            continue
        steps = steps_of(path)
        for thing in _things(steps):
            if (thing in there[0]) != (thing in there[1]):
                is_new = thing in there[1]
                words = _come(thing, after) if is_new else _gone(thing, before)
                yield _change(thing, words, before, after)
                break
        else:
            said = _difference(steps, before.get(path), after.get(path))
            if said is not None:
                yield _change(steps, said, before, after)


def _compared_as(
    old: RulePath, before: AnyRule, new: RulePath, after: AnyRule
) -> Iterator[RuleChange]:
    """Yields what differs between a place and one that took its place."""
    then = renamed(below(before, old), [Renaming(old, new)])
    for change in _compared(then, below(after, new)):
        yield change.model_copy(update={"claims": _touched(new, (after, after))})


def _experiments_compared(
    old: str, before: AnyRule, new: str, after: AnyRule
) -> Iterator[RuleChange]:
    """Yields what differs between what a claim read and what it, or its successor, reads.

    A setting of one experiment stands above that of all experiments. So another one may count
    although neither was changed.
    """
    then, now = claims_of(before)[old].experiment, claims_of(after)[new].experiment
    was, is_now = _settings_of(before, then), _settings_of(after, now)
    for name in sorted(was.keys() | is_now.keys()):
        (there, fields), (here, todays) = was.get(name, _NO_SETTING), is_now.get(name, _NO_SETTING)
        if then == now and (there == here or not fields or not todays):
            continue  # told where it stands
        for steps in sorted(fields.keys() | todays.keys()):
            before_after = fields.get(steps), todays.get(steps)
            if canonical(before_after[0]) != canonical(before_after[1]):
                place = _setting([name, *steps], f", as experiment '{now}' has it")
                yield RuleChange(what=f"{place}: {_between(*before_after)}", claims=(new,))
    if then != now:
        old_place, new_place = (("experiments", one, "measurements") for one in (then, now))
        yield from _compared_as(old_place, before, new_place, after)


_NO_SETTING: tuple[RulePath, Mapping[RulePath, RuleValue]] = ((), {})


def _settings_of(
    rule: AnyRule, experiment: str
) -> dict[str, tuple[RulePath, dict[RulePath, RuleValue]]]:
    """The settings that an experiment reads: for each name the place, and what stands there."""
    found: dict[str, tuple[RulePath, dict[RulePath, RuleValue]]] = {}
    places: Sequence[RulePath] = (("settings",), ("experiments", experiment, "settings"))
    for place in places:
        for path, leaf in below(rule, place).items():
            name, *field = steps_of(path)[len(place) :]
            if found.get(name, _NO_SETTING)[0] != place:
                found[name] = (place, {})
            found[name][1][tuple(field)] = leaf
    return found


def _merged(told: Iterable[RuleChange]) -> Iterator[RuleChange]:
    """Yields each change in words once, for all the claims that it touches."""
    claims: dict[str, list[tuple[str, ...] | None]] = {}
    for one in told:
        claims.setdefault(one.what, []).append(one.claims)
    for what, several in claims.items():
        touched = {name for one in several for name in one or ()}
        yield RuleChange(what=what, claims=None if None in several else tuple(sorted(touched)))


# --- changes in words ---------------------------------------------------------------------------


def _come(thing: RulePath, after: AnyRule) -> str:
    value = _value_of(thing, after)
    return f"{_name(thing)}{ADDED}" + ("" if value is None else f": {_cut(_shown(value))}")


def _gone(thing: RulePath, before: AnyRule) -> str:
    value = _value_of(thing, before)
    return f"{_name(thing)} taken away" + ("" if value is None else f": {_cut(_shown(value))}")


def _value_of(thing: RulePath, rule: AnyRule) -> RuleValue | None:
    """The value of a setting that came or went; None of anything else."""
    is_setting = thing[0] == "settings" or thing[2:3] == ("settings",)
    return rule.get(rule_path((*thing, "value"))) if is_setting else None


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
    return f"{name}: {_between(before, after)}"


def _is_reason_that_counts(steps: RulePath) -> bool:
    """True of a field of a control or a movement of which a rule says only that it is there."""
    above = {"controls": 4, "positive_control": 3, "movement": 3}.get("".join(steps[2:3]))
    return steps[0] == "claims" and len(steps) - 1 == above and steps[-1] in REASONS_THAT_COUNT


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


def _between(before: RuleValue | None, after: RuleValue | None) -> str:
    """A value before and after, in words; of long lists and texts all that differs."""
    texts = _shown(before), _shown(after)
    if max(map(len, texts)) > LONGEST_SHOWN:
        if isinstance(before, list) and isinstance(after, list):
            out, put = _without(before, after), _without(after, before)
            if out or put:
                said = [f"{_shown(out)} taken out"] if out else []
                said += [f"{_shown(put)} put in"] if put else []
                return _cut("; ".join(said))
        texts = _around_difference(*texts)
    return ARROW.join(map(_cut, texts))


def _without(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """The entries of a list that another one lacks."""
    known = {canonical(entry) for entry in other}
    return [entry for entry in one if canonical(entry) not in known]


def _around_difference(one: str, other: str) -> tuple[str, str]:
    """Two texts without most of what they share at their beginning and end."""
    shared = _shared(one, other)
    begin = shared - SHOWN_AROUND
    if begin > 0:
        begin = one.find(" ", begin, shared) + 1 or begin  # at a word
        one, other = f"…{one[begin:]}", f"…{other[begin:]}"
    differing = min(len(one), len(other)) - _shared(one, other)
    alike = min(differing, _shared(one[::-1], other[::-1])) - SHOWN_AROUND
    if max(len(one), len(other)) > LONGEST_SHOWN and alike > 0:
        one, other = f"{one[:-alike]}…", f"{other[:-alike]}…"
    return one, other


def _shared(one: str, other: str) -> int:
    """The number of letters with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _cut(text: str) -> str:
    """As much of a text as an entry can hold."""
    more = len(text) - LONGEST_TOLD
    return text if more <= 0 else f"{text[:LONGEST_TOLD]}… and {more} more letters"


# --- the claims that a change touches -----------------------------------------------------------


def _change(steps: RulePath, words: str, before: AnyRule, after: AnyRule) -> RuleChange:
    return RuleChange(what=words, claims=_touched(steps, (before, after)))


def _touched(steps: RulePath, rules: tuple[AnyRule, AnyRule]) -> tuple[str, ...] | None:
    """The claims whose verdict hangs on a place in a rule; None for all of them."""
    if steps[0] == "claims" and len(steps) > 1:
        return (steps[1],)
    if steps[0] == "experiments" and len(steps) > 1:
        places = ((steps_of(path), leaf) for rule in rules for path, leaf in rule.items())
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
