"""Checks, bounds and numbers of the short form, as those that they stand for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from reproaudit import checks, declarations
from reproaudit.audit.faults import Violation
from reproaudit.audit.nodes import Node, renamed
from reproaudit.audit.short.checks import SIDES, Role, part_in, role
from reproaudit.audit.short.names import Names
from reproaudit.checks import KINDS
from reproaudit.declarations import StrictModel

_QUANTITY = {"where": "at"}

OF_ARM = " of "  # The word between a quantity and the arm in whose run it is read
MOST_PLACES = 100  # Places at which one check may be made


def checks_of(node: Node, names: Names) -> list[Node]:
    """Return a check, or one for each place where its `where` lists coordinates."""
    where = node.get("where")
    if where is None or not any(below.listed() for _, below in where.items()):
        return [check_of(node, names)]
    axes = [[(axis, one) for one in below.several()] for axis, below in where.items()]
    if (count := math.prod(map(len, axes))) > MOST_PLACES:
        message = f"found a check at {count} places; expected at most {MOST_PLACES}"
        names.faults.append(Violation("RA059", where.loc, message, "Write fewer coordinates."))
        return []
    return [
        check_of(node.holding({**node.data, "where": where.holding(dict(place))}), names)
        for place in itertools.product(*axes)
    ]


def check_of(node: Node, names: Names) -> Node:
    """Return a check."""
    kind = node.get("kind")
    model = KINDS.get(str(kind.data)) if kind is not None else None
    if model is None:
        return node
    fields = model.model_fields
    given = _sides_of(node, names) if {"lower", "upper"} <= fields.keys() else node.data
    shared = {key: given[key] for key in ("from", "why") if given.get(key) is not None}
    data = _fields(given, model, names, shared)
    return _with_numbers(node, data, shared, model, names)


def _fields(
    given: Mapping[str, Node], model: type[StrictModel], names: Names, shared: Mapping[str, Node]
) -> dict[str, Node]:
    """Return the fields of a check, or of a part of one, but for its numbers' sources."""
    known = {info.alias or name: (name, info) for name, info in model.model_fields.items()}
    data: dict[str, Node] = {}
    for key, below in given.items():
        if key in ("from", "why", "bound"):
            continue
        if key == "where":
            data["at"] = below
        elif key in known and below.data is not None:
            data[key] = _field(below, *known[key], names, shared)
        else:
            data[key] = below
    return data


def _field(
    node: Node, name: str, info: FieldInfo, names: Names, shared: Mapping[str, Node]
) -> Node:
    match role(name, info):
        case Role.QUANTITY:
            return quantity(node)
        case Role.PAIR:
            return node.holding([quantity(one) for one in node.listed()]) if node.listed() else node
        case Role.BOUND:
            return bound_of(node, names, shared)
        case Role.PLAIN:
            return number(node) or node
        case Role.PART:
            part = part_in(info)
            return _part(node, part, names, shared) if part is not None else node
    return node


def _part(node: Node, model: type[StrictModel], names: Names, shared: Mapping[str, Node]) -> Node:
    """Return a part of a check; what has a source has the check's for want of its own."""
    if not isinstance(node.data, dict):
        return node
    data = _fields(node.data, model, names, shared)
    if "at_most" in model.model_fields:
        bound = bound_of(node, names, shared)
        return node.holding({**data, **bound.data})
    own = {**shared, **_source(node)} if "origin" in model.model_fields else {}
    return node.holding({**data, **own})


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
        source = source or {key: bound[key] for key in ("from", "why") if key in bound}
        data |= {key: below for key, below in bound.items() if key in SIDES}
    roles = {info.alias or name: role(name, info) for name, info in model.model_fields.items()}
    for key, below in data.items():
        if roles.get(key) not in (Role.SIDE, Role.TARGET, Role.EXPONENT):
            continue
        if _is_mapping(below) and "is" in below.data:
            data[key] = number(below.data["is"]) or below
            source = source or _source(below)
        elif roles[key] is Role.EXPONENT and (_is_mapping(below) or below.text in names.bounds):
            data[key] = bound_of(below, names, shared)
        else:
            data[key] = number(below) or quantity(below)
    for key in [key for key in data if roles.get(key) in (Role.MARGIN, Role.NUMBER)]:
        if _is_mapping(data[key]):
            source = _margin(data, key, source, names)
        else:
            data[key] = number(data[key]) or data[key]
    data |= {key: below for key, below in source.items() if key in roles}
    origin = model.model_fields.get("origin")
    of_number = "exponent" in data and not _is_mapping(data["exponent"])
    if origin is not None and (origin.is_required() or of_number):
        _miss_source(node, data, "no 'from': where the number comes from", names)
    return node.holding(data)


def _miss_source(node: Node, data: Mapping[str, Node], found: str, names: Names) -> None:
    """Report what has no source, unless the bound is misnamed that would have one."""
    name = node.get("bound")
    if "from" not in data and (name is None or name.text in names.bounds):
        message = f"found {found}; expected one"
        names.faults.append(Violation("RA241", node.loc, message))


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


def _sides_of(node: Node, names: Names) -> dict[str, Node]:
    """Return the fields of a comparison, with its two sides as `lower` and `upper`."""
    value = node.get("value")
    arm = node.get("arm")
    if value is None and arm is None:
        return dict(node.data)
    left = {key: below for key, below in node.data.items() if key not in ("value", "arm", "higher")}
    if value is None or arm is None or "lower" in left or "upper" in left:
        message = "found a comparison of neither form; expected 'value' and 'arm', or 'lower' and "
        remedy = "Name the quantity as 'value' and the other arm as 'arm'."
        names.faults.append(Violation("RA051", node.loc, f"{message}'upper'", remedy))
        return left
    other = quantity_in(quantity(value), arm)
    higher = node.get("higher")
    if higher is None:
        message = "found no 'higher'; expected it beside 'value' and 'arm'"
        remedy = "Write 'higher: true' if the larger value is the better one, else 'higher: false'."
        names.faults.append(Violation("RA051", node.loc, message, remedy))
        return left
    ends = (other, value) if higher.data is True else (value, other)
    return {**left, "lower": ends[0], "upper": ends[1]}


def quantity_in(node: Node, arm: Node) -> Node:
    """Return the same quantity of another arm."""
    if node.text is not None:
        try:
            read = declarations.Quantity.model_validate(node.text)
        except ValidationError:
            return node
        fields = {"measurement": node.holding(read.measurement)}
        if read.coordinates:
            fields["coordinates"] = node.holding(list(map(node.holding, read.coordinates)))
        if read.step != "last":
            fields["step"] = node.holding(read.step)
        return node.holding({**fields, "arm": arm})
    return node.holding({**node.data, "arm": arm}) if _is_mapping(node) else node


def quantity(node: Node) -> Node:
    """Return a quantity: a text as it is, a mapping with its coordinates under `at`.

    A text such as ``loss[query]@first of frozen`` is that quantity in the run of another arm.
    """
    own, of, arm = (node.text or "").rpartition(OF_ARM)
    if of and arm.strip().isidentifier():
        return quantity_in(node.holding(own), node.holding(arm.strip()))
    return renamed(node, _QUANTITY)


def bound_of(node: Node, names: Names, shared: Mapping[str, Node]) -> Node:
    """Return a bound, or the one of its name; without a source it has the check's."""
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
    if "from" not in data:
        data |= shared
    _miss_source(node, data, "a bound without 'from': where it comes from", names)
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
