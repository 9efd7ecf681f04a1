"""Claims, arms and checks of the short form, as those that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from reproaudit.audit.arms import ARM_NAME
from reproaudit.audit.faults import Violation
from reproaudit.audit.nodes import Node, renamed
from reproaudit.audit.short.conditions import bound_of, checks_of, number, quantity
from reproaudit.audit.short.fields import CHECKS, GRADE, MISSES, REPORTED
from reproaudit.audit.short.names import Names
from reproaudit.audit.short.settings import Settings

ELSEWHERE = "runs"
"""The experiment that stands for runs from elsewhere, where an audit has none of its own."""

MOST_SHORT_WORDS = 12  # Words of a claim's clause, at most

CLAIM = {
    "says": "says",
    "wording": "wording",
    "main": "main",
    "whose": "whose",
    "settings": "settings",
    "no_control": "no_control",
    "exact": "exact",
    "unlike_lengths": "unlike_lengths",
}
"""The fields of a claim that are what they are in schema 2."""

ARM = ("experiment", "settings", "reads", "words", "deterministic")


# --- claims ---------------------------------------------------------------------------------------


def claim_of(name: str, node: Node, names: Names, *, ours: bool, only: bool) -> Node:
    """Return a claim, or a question of ours; `only` says that the audit has no other claim."""
    if not isinstance(node.data, dict):
        return node
    own = node.mapping_under("arms")
    experiment = _experiment_of(node, names)
    above = names.experiments.get(str(experiment.data)) if experiment is not None else None
    fields: dict[str, Node | None] = {
        "id": node.holding(f"{names.slug}.{name}"),
        **{long: node.field(short) for short, long in CLAIM.items()},
        "short": node.get("short") or _short(node, names),
        "locator": node.get("at") or node.holding("a question of ours" if ours else "not stated"),
        "experiment": experiment,
        "ours": node.holding(True) if ours else None,
        "reported": _each(node.get("reported"), lambda one: renamed(one, REPORTED)),
        "nulls": _each(_stated(node, above, "must_fail"), lambda one: _arm(one, own, names)),
        "constructed": _built(node, above, own, names),
        "ablations": _ablations(node, own, names),
        "readings": _readings(node, experiment, names),
        "together": _together(node.field("together")),
        "grade": _grade(node.get("grade")),
        "share": number(node.get("share_of_runs")),
        "elsewhere": _misses(node.get("misses")),
    }
    for short, long in CHECKS.items():
        listed = node.field(short)
        if listed is not None and isinstance(listed.data, list):
            listed = listed.holding([made for one in listed.data for made in checks_of(one, names)])
        fields[long] = listed
    if only and not ours and node.get("main") is None:
        fields["main"] = node.holding(True)
    if node.at("whose").data == "derived" and node.get("wording") is None:
        fields["wording"] = node.at("whose")
    kept = {field: below for field, below in fields.items() if below is not None}
    read = [arm for long in (*CHECKS.values(), "elsewhere") for arm in _arms_in(fields[long])]
    for arm in read:
        _know(arm, own, names)
    used = {str(arm.data) for arm in read} | _used_of(node, above)
    for arm_name, arm in own.items():
        if arm_name not in used:
            message = f"found the arm '{arm_name}', which this claim does not name"
            remedy = "Name it under 'must_fail' or in a check, or remove it."
            names.unused.append(Violation("RA242", arm.loc, message, remedy, arm_name))
    return node.holding(kept)


def _experiment_of(node: Node, names: Names) -> Node | None:
    """Return the experiment of a claim: the one that it names, or the audit's only one."""
    experiment = node.get("experiment")
    known = names.experiments
    if experiment is None and len(known) > 1:
        message = "found no 'experiment'; expected one, since the audit has several"
        remedy = f"Add 'experiment': one of {', '.join(list(known)[:9])}."
        names.faults.append(Violation("RA051", node.loc, message, remedy))
        return None
    if experiment is None:
        experiment = node.holding(next(iter(known), ELSEWHERE))
    elif experiment.text is not None and experiment.text not in known:
        names.unknown(experiment.loc, "experiment", experiment.text, known)
    names.used["experiment"].add(str(experiment.data))
    return experiment


def _short(node: Node, names: Names) -> Node | None:
    """Return what a claim says as a clause, where it is short enough to be one."""
    says = node.get("says")
    if says is None or says.text is None:
        return says
    words = says.text.removesuffix(".").split(" ")
    if len(words) > MOST_SHORT_WORDS:
        message = f"found no 'short', and {len(words)} words under 'says'; expected one of them in "
        remedy = "Add 'short': a finite clause, from which sentences are made."
        fault = Violation("RA051", node.loc, f"{message}{MOST_SHORT_WORDS} words", remedy)
        names.faults.append(fault)
    return says.holding(" ".join(words[:MOST_SHORT_WORDS]))


def _each(node: Node | None, make: Callable[[Node], Node]) -> Node | None:
    """Return a list with each entry made anew; anything else as it is."""
    if node is None or not isinstance(node.data, list):
        return node
    return node.holding(list(map(make, node.data)))


def _stated(node: Node, above: Node | None, key: str) -> Node | None:
    """Return what a claim states, or for want of that its experiment."""
    stated = node.field(key)
    return above.get(key) if stated is None and above is not None else stated


def _built(node: Node, above: Node | None, own: Settings, names: Names) -> Node | None:
    """Return the positive control of a claim."""
    built = _stated(node, above, "must_pass")
    if built is not None and isinstance(built.data, list):
        built = built.data[0] if built.data else None
    return _arm(built, own, names) if built is not None else None


def _ablations(node: Node, own: Settings, names: Names) -> Node | None:
    parts = node.get("without_part")
    if parts is None:
        return None
    listed = [
        arm.holding({"arm": _arm(arm, own, names), "lacks": arm.holding(part)})
        for part, arms in parts.items()
        for arm in arms.several()
    ]
    return parts.holding(listed)


def _arm(node: Node, own: Settings, names: Names) -> Node:
    """Return an arm by its name, or written out where the claim itself declares it."""
    if node.text is None or node.text not in own:
        _know(node, own, names)
        return node
    written = arm_of(node.text, own[node.text], names)
    if not isinstance(written.data, dict):
        return written
    return written.holding({**written.data, "name": node})


def _know(node: Node, own: Mapping[str, Node], names: Names) -> None:
    """Note that an arm is named; report one that nobody declares."""
    name = node.text
    if name is None or name in own or name == "own":
        return
    names.used["arm"].add(name)
    if name in names.arms:
        return
    if not names.experiments:
        names.arms[name] = node.holding({})
        return
    others = [claim for claim, arms in names.elsewhere.items() if name in arms]
    remedy = f"It stands under the claim '{others[0]}': move it under 'arms:'." if others else ""
    names.unknown(node.loc, "arm", name, {**names.arms, **own}, remedy)


def _used_of(node: Node, above: Node | None) -> set[str]:
    """Return the arms that a claim and its experiment name beside the checks."""
    levels = [level for level in (node, above) if level is not None]
    named = [level.at(key) for level in levels for key in ("must_fail", "must_pass")]
    named += node.mapping_under("without_part").values()
    return {str(arm.data) for arms in named for arm in arms.several()}


def _arms_in(node: Node | None) -> Iterator[Node]:
    """Yield the arms in whose runs checks read a quantity."""
    for name, below in node.items() if node is not None else ():
        if name == "arm":
            yield below
        yield from _arms_in(below)
    for below in node.listed() if node is not None else ():
        yield from _arms_in(below)


def _readings(node: Node, experiment: Node | None, names: Names) -> Node | None:
    """Return the settings whose readings are judged: those named, or all of the experiment."""
    if (listed := node.field("readings")) is not None:
        return listed
    known = names.settings.get(str(experiment.data if experiment is not None else ""), {})
    own = node.mapping_under("settings")
    read = [
        name
        for name, setting in sorted(known.items())
        if name not in own
        and any(one.get("excused") is None for one in setting.list_under("readings"))
    ]
    return node.holding([node.holding(name) for name in read]) if read else None


def _together(node: Node | None) -> Node | None:
    """Return the settings that change at once, in a list for each such reading."""
    if node is None or not node.listed():
        return None
    return node if any(one.listed() for one in node.listed()) else node.holding([node])


def _grade(node: Node | None) -> Node | None:
    if node is None or not isinstance(node.data, dict):
        return node
    data = dict(renamed(node, GRADE).data)
    levels = node.field("easiest_first")
    if data.get("primary") is None and levels is not None:
        data["primary"] = levels
    return node.holding(data)


def _misses(node: Node | None) -> Node | None:
    if node is None or not isinstance(node.data, dict):
        return node
    data = dict(renamed(node, MISSES).data)
    if "measure" in data:
        data["measure"] = quantity(data["measure"])
    return node.holding(data)


def arm_of(name: str, node: Node, names: Names) -> Node:
    """Return an arm."""
    if not isinstance(node.data, dict):
        return node
    data = {key: node.data[key] for key in ARM if node.data.get(key) is not None}
    words = node.get("words")
    data["why"] = node.get("says") or words or node.holding(name.replace("_", " "))
    if (experiment := node.get("experiment")) is not None and experiment.text is not None:
        names.used["experiment"].add(experiment.text)
        if experiment.text not in names.experiments:
            names.unknown(experiment.loc, "experiment", experiment.text, names.experiments)
    if not names.experiments:
        data["experiment"] = node.holding(ELSEWHERE)
        own = node.mapping_under("settings")
        data["settings"] = node.holding({ARM_NAME: node.holding(name), **own})
    if bounds := node.get("holds_at_start"):
        data["holds_at_start"] = bounds.holding([_start(one, names) for one in bounds.listed()])
    return node.holding(data)


def _start(node: Node, names: Names) -> Node:
    bound = bound_of(node, names, {})
    value = node.get("value")
    if not isinstance(bound.data, dict) or value is None:
        return bound
    return bound.holding({**bound.data, "value": quantity(value)})
