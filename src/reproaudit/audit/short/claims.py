"""Claims, arms and checks of the short form, as those that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import ValidationError

from reproaudit import checks, declarations
from reproaudit.audit.faults import Loc, Violation
from reproaudit.audit.short.checks import BOUNDS, PAIRS, QUANTITIES, SIDES
from reproaudit.audit.short.nodes import Node
from reproaudit.audit.short.settings import Settings

ELSEWHERE = "runs"
"""The experiment that stands for runs from elsewhere, where an audit has none of its own."""

KINDS: Mapping[str, type[checks.Kind]] = {
    get_args(kind.model_fields["kind"].annotation)[0]: kind
    for kind in get_args(get_args(checks.Check)[0])
}

CHECKS = {"holds_if": "headline", "also_said": "support", "also_report": "notes"}
"""The lists of a claim's checks by their short names."""

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

_QUANTITY = {"where": "at"}


@dataclass
class Names:
    """What claims may name, and what of it they did.

    Attributes:
        slug: the paper's.
        experiments: every experiment by name, as written.
        settings: the settings that each experiment has.
        arms: the audit's arms.
        bounds: the audit's bounds.
        elsewhere: claim -> the names of the arms that it declares for itself.
        used: what was named, by what it is.
        faults: what is wrong.
    """

    slug: str
    experiments: dict[str, Node]
    settings: Mapping[str, Mapping[str, Node]]
    arms: dict[str, Node]
    bounds: dict[str, Node]
    elsewhere: dict[str, tuple[str, ...]] = field(default_factory=dict)
    used: dict[str, set[str]] = field(
        default_factory=lambda: {"arm": set(), "experiment": set(), "bound": set()}
    )
    faults: list[Violation] = field(default_factory=list)

    def know_all(self, node: Node | None) -> None:
        """Report the arms of a list that nobody declares."""
        for arm in node.several() if node is not None else ():
            if arm.text is not None and arm.text not in self.arms and self.experiments:
                self.unknown(arm.loc, "arm", arm.text, self.arms)

    def unknown(
        self, loc: Loc, noun: str, name: str, known: Mapping[str, Any], remedy: str = ""
    ) -> None:
        """Report a name that is none of those that are known."""
        if any(fault.loc == loc for fault in self.faults):
            return
        message = f"found '{name}', which is no {noun} of this audit; expected one"
        self.faults.append(Violation("RA224", loc, message, remedy, name, known))


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
        **{long: node.data.get(short) for short, long in CLAIM.items()},
        "short": node.get("short") or _short(node),
        "locator": node.get("at") or node.holding("a question of ours" if ours else "not stated"),
        "experiment": experiment,
        "ours": node.holding(True) if ours else None,
        "reported": _renamed_all(node.get("reported"), {"at": "locator"}),
        "nulls": _controls(node, above, own, names),
        "constructed": _built(node, above, own, names),
        "ablations": _ablations(node, own, names),
        "readings": _readings(node, experiment, names),
        "grade": _grade(node.get("grade")),
        "share": number(node.get("share_of_runs")),
        "elsewhere": _misses(node.get("misses")),
    }
    for short, long in CHECKS.items():
        listed = node.data.get(short)
        if listed is not None and isinstance(listed.data, list):
            listed = listed.holding([check_of(one, names) for one in listed.data])
        fields[long] = listed
    if only and not ours and node.get("main") is None:
        fields["main"] = node.holding(True)
    kept = {field: below for field, below in fields.items() if below is not None}
    for _, arm in _named_arms(node):
        _know(arm, own, names)
    for arm_name, arm in own.items():
        if arm_name not in _used_of(node, above):
            message = f"found the arm '{arm_name}', which this claim does not name"
            remedy = "Name it under 'must_fail' or in a check, or remove it."
            names.faults.append(Violation("RA242", arm.loc, message, remedy, arm_name))
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


def _short(node: Node) -> Node | None:
    """Return what a claim says as a clause, where it is short enough to be one."""
    says = node.get("says")
    if says is None or says.text is None:
        return says
    return says.holding(says.text.removesuffix("."))


def _controls(node: Node, above: Node | None, own: Settings, names: Names) -> Node | None:
    """Return the controls of a claim: its own, or those of its experiment."""
    controls = node.data.get("must_fail")
    if controls is None and above is not None:
        controls = above.get("must_fail")
    if controls is None or not isinstance(controls.data, list):
        return controls
    return controls.holding([_arm(one, own, names) for one in controls.data])


def _built(node: Node, above: Node | None, own: Settings, names: Names) -> Node | None:
    """Return the positive control of a claim: its own, or that of its experiment."""
    built = node.data.get("must_pass")
    if built is None and above is not None:
        built = above.get("must_pass")
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
    return written.holding({**written.data, "name": node}) if written.data else written


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
    """Return every name of an arm in a claim, its experiment's controls among them."""
    used = {str(arm.data) for _, arm in _named_arms(node)}
    for level in (node, above):
        for key in ("must_fail", "must_pass"):
            if level is not None and (controls := level.get(key)) is not None:
                used.update(str(one.data) for one in controls.several())
    for arms in node.mapping_under("without_part").values():
        used.update(str(arm.data) for arm in arms.several())
    return used


def _named_arms(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the arms that the checks of a claim read, each with the field that names it."""
    for key in (*CHECKS, "misses"):
        if (below := node.get(key)) is not None:
            yield from _arms_in(below)


def _arms_in(node: Node) -> Iterator[tuple[str, Node]]:
    for name, below in node.items():
        if name == "arm":
            yield name, below
        yield from _arms_in(below)
    for below in node.listed():
        yield from _arms_in(below)


def _readings(node: Node, experiment: Node | None, names: Names) -> Node | None:
    """Return the settings whose readings are judged: those named, or all of the experiment."""
    if (listed := node.data.get("readings")) is not None:
        return listed
    known = names.settings.get(str(experiment.data), {}) if experiment is not None else {}
    own = node.mapping_under("settings")
    read = [
        name
        for name, setting in sorted(known.items())
        if name not in own
        and any(one.get("excused") is None for one in setting.list_under("readings"))
    ]
    return node.holding([node.holding(name) for name in read]) if read else None


def _grade(node: Node | None) -> Node | None:
    if node is None or not isinstance(node.data, dict):
        return node
    data = {"primary" if key == "decisive" else key: below for key, below in node.data.items()}
    levels = node.data.get("easiest_first")
    if data.get("primary") is None and levels is not None:
        data["primary"] = levels
    return node.holding(data)


def _misses(node: Node | None) -> Node | None:
    if node is None or not isinstance(node.data, dict):
        return node
    data = {"measure" if key == "cost" else key: below for key, below in node.data.items()}
    if "measure" in data:
        data["measure"] = quantity(data["measure"])
    return node.holding(data)


def _renamed_all(node: Node | None, fields: Mapping[str, str]) -> Node | None:
    return None if node is None else node.holding([renamed(one, fields) for one in node.listed()])


def renamed(node: Node, fields: Mapping[str, str]) -> Node:
    """Return a mapping with other names for some of its fields."""
    if not isinstance(node.data, dict):
        return node
    return node.holding({fields.get(name, name): below for name, below in node.data.items()})


# --- arms -----------------------------------------------------------------------------------------


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
    if (bounds := node.get("holds_at_start")) is not None:
        data["holds_at_start"] = bounds.holding([_start(one, names) for one in bounds.listed()])
    return node.holding(data)


def _start(node: Node, names: Names) -> Node:
    bound = bound_of(node, names, {})
    value = node.get("value")
    if not isinstance(bound.data, dict) or value is None:
        return bound
    return bound.holding({**bound.data, "value": quantity(value)})


# --- checks ---------------------------------------------------------------------------------------


def check_of(node: Node, names: Names) -> Node:
    """Return a check."""
    kind = node.get("kind")
    model = KINDS.get(str(kind.data)) if kind is not None else None
    if model is None:
        return node
    given = _sides_of_beats(node, names) if str(kind.data if kind else "") == "beats" else node.data
    shared = {key: given[key] for key in ("from", "why") if given.get(key) is not None}
    data: dict[str, Node] = {}
    for key, below in given.items():
        if key in ("from", "why"):
            continue
        if key == "where":
            data["at"] = below
        elif key in PAIRS and isinstance(below.data, list):
            data[key] = below.holding([quantity(one) for one in below.data])
        elif key in QUANTITIES or (key == "share" and isinstance(below.data, str | dict)):
            data[key] = quantity(below)
        elif key in BOUNDS and below.data is not None:
            data[key] = bound_of(below, names, shared)
        elif key in ("earlier", "later"):
            data[key] = _onset(below)
        elif key == "quantile":
            data[key] = bound_of(below, names, shared, keep=("share",))
        elif key == "wait":
            data[key] = below.holding({**shared, **below.data}) if _is_mapping(below) else below
        else:
            data[key] = number(below) or below
    return _with_numbers(node, data, shared, model, names)


def _with_numbers(
    node: Node,
    data: dict[str, Node],
    shared: dict[str, Node],
    model: type[checks.Kind],
    names: Names,
) -> Node:
    """Return a check whose numbers have their sources where schema 2 has them."""
    source = dict(shared)
    if (name := node.get("bound")) is not None:
        bound = _bound_named(name, names)
        data.pop("bound", None)
        source = source or {key: bound[key] for key in ("from", "why") if key in bound}
        data |= {key: below for key, below in bound.items() if key in SIDES}
    for key in (*SIDES, "to", "exponent"):
        below = data.get(key)
        if below is None or not _is_mapping(below):
            continue
        if "is" in below.data:
            data[key] = number(below.data["is"]) or below
            source = source or _source(below)
        elif key == "exponent":
            data[key] = bound_of(below, names, shared)
        elif key == "to":
            data[key] = quantity(below)
    if (exponent := data.get("exponent")) is not None and exponent.text in names.bounds:
        data["exponent"] = bound_of(exponent, names, shared)
    if isinstance(data.get("to", node).data, str):
        data["to"] = number(data["to"]) or data["to"]
    for key in ("within", "by"):
        if key in data and _is_mapping(data[key]):
            source = _margin(data, key, source, names)
    fields = {one.alias or name for name, one in model.model_fields.items()}
    data |= {key: below for key, below in source.items() if key in fields}
    origin = model.model_fields.get("origin")
    of_number = "exponent" in data and not _is_mapping(data["exponent"])
    needed = origin is not None and (origin.is_required() or of_number)
    if needed and "from" not in data and not _misnamed(name, names):
        message = "found no 'from': where the number comes from; expected one"
        remedy = "Add 'from': paper, derived, null, ceiling, or ours with 'why'."
        names.faults.append(Violation("RA241", node.loc, message, remedy))
    return node.holding(data)


def _misnamed(name: Node | None, names: Names) -> bool:
    """Tell whether the name of a bound is none."""
    return name is not None and name.text not in names.bounds


def _margin(
    data: dict[str, Node], key: str, source: dict[str, Node], names: Names
) -> dict[str, Node]:
    """Put a margin with its own source where it belongs; return the check's source."""
    below = data[key]
    if "relative" in below.data and key == "within":
        data["relative"] = below.data["relative"].holding(True)
    found = next((below.data[k] for k in ("absolute", "relative", "is") if k in below.data), None)
    if found is None:
        message = "found no number; expected 'absolute' or 'relative'"
        names.faults.append(Violation("RA051", below.loc, message, "Add one of the two."))
        return source
    amount = number(found) or found
    own = _source(below)
    if source and own:
        data[key] = below.holding({"is": amount, **own})
        return source
    data[key] = amount
    return source or own


def _source(node: Node) -> dict[str, Node]:
    """Return where a number comes from and why, as far as it says so itself."""
    return {key: node.data[key] for key in ("from", "why") if node.data.get(key) is not None}


def _is_mapping(node: Node) -> bool:
    return isinstance(node.data, dict)


def _sides_of_beats(node: Node, names: Names) -> dict[str, Node]:
    """Return the fields of a comparison, with its two sides as `lower` and `upper`."""
    value, arm = node.get("value"), node.get("arm")
    if value is None and arm is None:
        return dict(node.data)
    left = {key: below for key, below in node.data.items() if key not in ("value", "arm", "higher")}
    if value is None or arm is None or "lower" in left or "upper" in left:
        message = "found a comparison of neither form; expected 'value' and 'arm', or 'lower' and "
        remedy = "Name the quantity as 'value' and the other arm as 'arm'."
        names.faults.append(Violation("RA051", node.loc, f"{message}'upper'", remedy))
        return left
    other = quantity_in(value, arm)
    higher = node.get("higher")
    ends = (other, value) if higher is not None and higher.data is True else (value, other)
    return {**left, "lower": ends[0], "upper": ends[1]}


def quantity_in(node: Node, arm: Node) -> Node:
    """Return the same quantity of another arm."""
    if node.text is not None:
        try:
            read = declarations.Quantity.model_validate(node.text)
        except ValidationError:
            return node
        stated = read.model_dump(include={"measurement", "coordinates", "step"})
        fields = {key: node.holding(below) for key, below in stated.items() if below != ()}
        if "coordinates" in fields:
            fields["coordinates"] = node.holding([node.holding(c) for c in read.coordinates])
        return node.holding({**fields, "arm": arm})
    return node.holding({**node.data, "arm": arm}) if _is_mapping(node) else node


def quantity(node: Node) -> Node:
    """Return a quantity: a text as it is, a mapping with its coordinates under `at`."""
    return renamed(node, _QUANTITY)


def _onset(node: Node) -> Node:
    if not isinstance(node.data, dict):
        return node
    data = {key: number(below) or below for key, below in node.data.items()}
    return node.holding({**data, "series": quantity(data["series"])} if "series" in data else data)


def bound_of(
    node: Node, names: Names, shared: Mapping[str, Node], keep: tuple[str, ...] = ()
) -> Node:
    """Return a bound, or what stands under its name; without a source it has the check's."""
    if node.text is not None:
        return node.holding(_bound_named(node, names))
    if not isinstance(node.data, dict):
        return node
    data = {key: below for key, below in node.data.items() if key != "bound"}
    if (name := node.get("bound")) is not None:
        data |= _bound_named(name, names)
    for side in SIDES:
        below = data.get(side)
        if below is None:
            continue
        if isinstance(below.data, dict):
            data = {**_source(below), **data}
            below = below.data.get("is", below)
        data[side] = number(below) or below
    data = {**data, **{key: number(data[key]) or data[key] for key in keep if key in data}}
    if "from" not in data:
        data |= shared
    if "from" not in data and not _misnamed(name, names):
        message = "found a bound without 'from': where it comes from; expected one"
        remedy = "Add 'from': paper, derived, null, ceiling, or ours with 'why'."
        names.faults.append(Violation("RA241", node.loc, message, remedy))
    return node.holding(data)


def _bound_named(node: Node, names: Names) -> dict[str, Node]:
    """Return the fields of one of the audit's bounds."""
    name = str(node.data)
    if name not in names.bounds:
        names.unknown(node.loc, "bound", name, names.bounds)
        return {}
    names.used["bound"].add(name)
    below = names.bounds[name]
    return dict(below.data) if isinstance(below.data, dict) else {}


def number(node: Node | None) -> Node | None:
    """Return a number, also one that is written as a fraction; None of anything else."""
    if node is None or isinstance(node.data, bool):
        return None
    if isinstance(node.data, str) and node.data.count("/") == 1:
        top, _, bottom = node.data.partition("/")
        whole = top.removeprefix("-").isdecimal() and bottom.isdecimal() and len(node.data) < 32
        return node.holding(int(top) / int(bottom)) if whole and int(bottom) else None
    return node if isinstance(node.data, int | float) else None
