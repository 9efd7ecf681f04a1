"""Checks, bounds and numbers of the short form, as those that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from pydantic import ValidationError

from reproaudit import checks, declarations
from reproaudit.audit.faults import Violation
from reproaudit.audit.short.checks import BOUNDS, PAIRS, QUANTITIES, SIDES
from reproaudit.audit.short.names import Names
from reproaudit.audit.short.nodes import Node, renamed

_QUANTITY = {"where": "at"}

KINDS: Mapping[str, type[checks.Kind]] = {
    get_args(kind.model_fields["kind"].annotation)[0]: kind
    for kind in get_args(get_args(checks.Check)[0])
}


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


def written_bound(node: Node, names: Names) -> Node:
    """Return one of the audit's bounds; what it takes from others is left out."""
    own = {key: below for key, below in node.items() if key != "bound"}
    return bound_of(node.holding(own), names, {})


def _bound_named(node: Node, names: Names) -> dict[str, Node]:
    """Return the fields of one of the audit's bounds, which itself has none of another."""
    name = str(node.data)
    if name not in names.bounds:
        names.unknown(node.loc, "bound", name, names.bounds)
        return {}
    names.used["bound"].add(name)
    return dict(written_bound(names.bounds[name], names).data)


def number(node: Node | None) -> Node | None:
    """Return a number, also one that is written as a fraction; None of anything else."""
    if node is None or isinstance(node.data, bool):
        return None
    if isinstance(node.data, str) and node.data.count("/") == 1:
        top, _, bottom = node.data.partition("/")
        whole = top.removeprefix("-").isdecimal() and bottom.isdecimal() and len(node.data) < 32
        return node.holding(int(top) / int(bottom)) if whole and int(bottom) else None
    return node if isinstance(node.data, int | float) else None
