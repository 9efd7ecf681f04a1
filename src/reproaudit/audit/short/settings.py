"""Groups of settings and blocks of tiers, as the settings that they stand for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from reproaudit.audit.faults import Loc, Violation, unknown
from reproaudit.audit.nodes import Node
from reproaudit.cell import value_text

SOURCES = {
    "paper": "paper",
    "card": "card",
    "code": "authors_code",
    "reviews": "reviews",
    "literature": "reproduction",
    "derived": "derived",
    "ours": "derived",
    "recalled": "recalled",
    "guess": "assumption",
}
"""The source of a setting by its short name; what is ours and has alternatives is a guess, too."""

SMOKE_REASON = "Only shows that it runs."
"""The reason of a value at the smoke tier that has none of its own."""

Settings = dict[str, Node]  # The settings of one level by name


def settings_of(groups: Node | None, faults: list[Violation]) -> Settings:
    """Return the settings of some groups; what is wrong with them joins the faults."""
    settings: Settings = {}
    for group in groups.listed() if groups is not None else ():
        own = group.mapping_under("values")
        entries = _entries(group, own)
        for name, value in own.items():
            if name in settings:
                message = f"found '{name}' in a second group; expected it in one"
                beside = settings[name].loc
                faults.append(Violation("RA240", value.loc, message, "", name, beside=beside))
            else:
                settings[name] = _setting(group, name, value, entries, len(own) == 1)
        faults += _misplaced(group, own)
    return settings


_Entries = Mapping[tuple[str, str], list[Node]]
"""What a group says of other values: entries by field and by setting, '' for all of them."""


def _named(values: Collection[str], own: Collection[str]) -> str:
    """Return the setting that an entry's values are of: the first of the group's own, if any."""
    return next((name for name in values if name in own), next(iter(values), ""))


def _also_stated(entry: Node) -> list[Node]:
    """Return what else states a group's values, or others, each with its source and place."""
    node = entry.at("also_stated")
    return node.listed() or [
        place.holding({"from": place.holding(origin), "at": place})
        for origin, places in node.items()
        for place in places.several()
    ]


MOST_AGREEING = 20  # Sources that state the same values, at most: further ones are left out


def _entries(group: Node, own: Collection[str]) -> _Entries:
    """Return the entries of a group's other values by what they are about."""
    entries: dict[tuple[str, str], list[Node]] = {}
    others = {"could_be": group.list_under("could_be"), "also_stated": _also_stated(group)}
    for field, listed in others.items():
        for entry in listed:
            values = entry.mapping_under("values")
            entries.setdefault((field, _named(values, own)), []).append(entry)
    return entries


def _setting(group: Node, name: str, value: Node, entries: _Entries, only: bool) -> Node:
    """Return one setting of a group; `only` says whether it is the group's only one."""
    origin = group.at("from")
    place = group.at("at")
    why = group.at("why")
    source = _source(origin)
    ours = origin.data == "ours"
    if ours and (group.at("could_be") or group.at("no_other")):
        source = origin.holding("assumption")
    elif ours and not place:
        place, why = why, place
    data: dict[str, Node | None] = {
        "value": value,
        "source": source,
        "who": group.get("who"),
        "locator": _locator(place, _own(group.get("notes"), name, only)),
        "words": _own(group.get("words"), name, only),
        "phrases": _phrases(group.get("phrases"), name),
        "why": why,
        "only_reading": group.get("no_other"),
        "ask": _own(group.get("ask"), name, only),
        "ours": origin.holding(True) if ours else None,
        **_others(group, name, entries, only),
        **_stated(group, name, entries),
    }
    if data.get("alternatives") and not only:
        data["only_reading"] = None
    return _known(value, data)


def _source(origin: Node) -> Node:
    """Return the source by the name that schema 2 has for it."""
    return origin.holding(SOURCES.get(str(origin.data), origin.data))


def _own(node: Node | None, name: str, only: bool) -> Node | None:
    """Return what a group says of one setting, where it may say it of its only one by itself."""
    if node is None or not isinstance(node.data, dict):
        return node if only else None
    return node.get(name)


def _phrases(node: Node | None, name: str) -> Node | None:
    if node is None or not any(isinstance(below.data, dict) for _, below in [*node.items()][:1]):
        return node
    return node.get(name)


def _locator(place: Node, note: Node | None) -> Node:
    """Return the place where a source states a value, with what else is to be said of it."""
    if note is None or place.text is None or note.text is None:
        return place
    return place.holding(f"{place.text}, {note.text}")


def _others(group: Node, name: str, entries: _Entries, only: bool) -> dict[str, Node | None]:
    """Return the values that could as well be chosen for a setting."""
    listed = group.at("could_be")
    alone = entries.get(("could_be", ""), []) if only else []
    others = [entry for entry in alone if not isinstance(entry.data, dict)]
    unlikely: dict[str, Node] = {}
    for entry in entries.get(("could_be", name), []):
        value = entry.mapping_under("values")[name]
        others.append(value)
        if why := entry.get("unlikely"):
            unlikely[value_text(value.plain({}))] = why
    if not others:
        return {}
    return {
        "alternatives": listed.holding(sorted(others, key=lambda node: node.loc)),
        "unlikely": listed.holding(unlikely or None),
    }


def _stated(group: Node, name: str, entries: _Entries) -> dict[str, Node | None]:
    """Return what other sources state of a setting: the same value, or a reading."""
    listed = group.at("also_stated")
    also = [_statement(entry) for entry in entries.get(("also_stated", ""), [])[:MOST_AGREEING]]
    readings = [_reading(entry, name) for entry in entries.get(("also_stated", name), [])]
    return {"also_at": listed.holding(also or None), "readings": listed.holding(readings or None)}


def _reading(entry: Node, name: str) -> Node:
    """Return what another source states of a setting, with what changes along."""
    values = entry.mapping_under("values")
    origin = entry.at("from")
    together = {other: value for other, value in values.items() if other != name}
    also = entry.get("also_stated")
    fields = {
        "value": values[name],
        "with": entry.holding(together or None),
        "quick": entry.at("quick").get("values"),
        "words": entry.get("words"),
        "excused": entry.get("cannot_matter"),
        "also_at": also and also.holding(list(map(_statement, _also_stated(entry)))),
        "ours": origin.holding(True) if origin.data == "ours" else None,
    }
    return _known(entry, {**_statement(entry).data, **fields})


def _statement(entry: Node) -> Node:
    """Return which source states something, and where."""
    source = _source(entry.at("from"))
    fields = {"source": source, "who": entry.get("who"), "locator": entry.get("at")}
    return _known(entry, fields)


def _known(entry: Node, fields: Mapping[str, Node | None]) -> Node:
    return entry.holding({field: node for field, node in fields.items() if node})


def _misplaced(group: Node, own: Mapping[str, Node]) -> Iterator[Violation]:
    """Yield names of settings that a group does not have, and a guess that names no others."""
    named: list[tuple[str, Loc]] = []
    for entry in (*group.list_under("could_be"), *_also_stated(group)):
        values = entry.mapping_under("values")
        named += [(name, values[name].loc) for name in [_named(values, own)] if name]
    for field in ("notes", "words", "ask"):
        node = group.at(field)
        named += [(name, below.loc) for name, below in node.items()]
        if node.text is not None and len(own) > 1:
            message = f"found one text for {len(own)} settings; expected one for each"
            yield Violation("RA059", node.loc, message, f"Write {field}: {{SETTING: TEXT}}.")
    for entry in group.list_under("could_be"):
        if (count := len(entry.mapping_under("values"))) > 1:
            message = f"found {count} values; expected one: they are tried one at a time"
            yield Violation("RA059", entry.loc, message, "Write an entry for each.")
    for name, loc in named:
        if name not in own:
            yield unknown(loc, "setting", name, own, "of this group")
    yield from _unvaried(group, own)


def _unvaried(group: Node, own: Mapping[str, Node]) -> Iterator[Violation]:
    """Yield settings of a guess for which neither another value nor a reason is given."""
    if group.at("from").data not in ("guess", "recalled"):
        return
    if group.get("why") is None:
        message = "found a guess without 'why'; expected what speaks for its values"
        yield Violation("RA051", group.loc, message, "Add 'why'.")
    entries = group.list_under("could_be")
    varied = {name for entry in entries for name in entry.mapping_under("values")}
    alone = [entry for entry in entries if not isinstance(entry.data, dict)]
    if len(own) == 1 and alone:
        varied |= own.keys()
    elif alone:
        message = f"found a value alone for {len(own)} settings; expected the name of one"
        yield Violation("RA059", alone[0].loc, message, "Write {values: {SETTING: VALUE}}.")
    for name, value in own.items():
        if name not in varied and group.get("no_other") is None:
            message = f"found no other value of the guess '{name}'; expected some under 'could_be'"
            remedy = "Add 'could_be', or 'no_other' with the reason why there is none."
            yield Violation("RA051", value.loc, message, remedy)


# --- tiers ----------------------------------------------------------------------------------------


def scaled(
    level: Node, own: Settings, shared: Mapping[str, Node], faults: list[Violation]
) -> Settings:
    """Return the settings of an audit, or an experiment, with the values of its smaller tiers.

    A block of an experiment may name a setting that the experiment shares with others: it then has
    that setting as its own, with the value of the block. What is wrong joins the faults.
    """
    settings = dict(own)
    known = {**shared, **own}
    for tier in ("quick", "smoke"):
        seen: dict[str, Node] = {}
        for block in blocks.several() if (blocks := level.get(tier)) else ():
            faults += _reasons_amiss(block, needed=tier == "quick")
            for name, value in block.mapping_under("values").items():
                if name in seen:
                    message = f"found '{name}' in a second block; expected it in one"
                    fault = Violation("RA240", value.loc, message, "", name, beside=seen[name].loc)
                    faults.append(fault)
                elif name not in known:
                    faults.append(unknown(value.loc, "setting", name, known, "here"))
                else:
                    reason = _own(block.get("why"), name, True) or block.holding(SMOKE_REASON)
                    setting = settings.get(name, known[name])
                    smaller = value.holding({"value": value, "reason": reason})
                    settings[name] = setting.holding({**setting.data, tier: smaller})
                seen.setdefault(name, value)
    return settings


def _reasons_amiss(block: Node, *, needed: bool) -> Iterator[Violation]:
    """Yield what is wrong with the reasons of a block; `needed` says whether each value has one."""
    why = block.get("why")
    values = block.mapping_under("values")
    message = "found no 'why'; expected why these values still show the phenomenon"
    if why is None and needed:
        yield Violation("RA051", block.loc, message, "Add 'why'.")
    if why is None or why.text is not None:
        return
    for name, value in values.items():
        if needed and why.get(name) is None:
            yield Violation("RA051", value.loc, message, f"Add '{name}' to 'why'.")
    for name, reason in why.items():
        if name not in values:
            yield unknown(reason.loc, "setting", name, values, "of this block")
