"""The short form's data as those of schema 2, each value with the place where it was written.

What cannot be put into the other form is handed on as it is, so that its model refuses it at its
own place.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from reproaudit.audit.arms import ARM_NAME
from reproaudit.audit.document import Document
from reproaudit.audit.faults import Loc, Violation, unknown
from reproaudit.audit.nodes import Node, renamed
from reproaudit.audit.short.claims import ELSEWHERE, arm_of, claim_of
from reproaudit.audit.short.conditions import written_bound
from reproaudit.audit.short.fields import (
    ANSWER,
    FINDING,
    MEASUREMENT,
    NOT_AUDITED,
    PASSAGE,
    READ,
    STAGE,
)
from reproaudit.audit.short.names import Names
from reproaudit.audit.short.settings import Settings, scaled, settings_of
from reproaudit.checks import KINDS, Kind

ALONE = frozenset(
    (name,) for name in ("claims", "our_questions", "findings", "not_audited", "variables")
)
"""The sections of whose entries nothing else makes use."""

LISTS = ("claims", "findings", "not_audited", "variables")
"""The same sections in schema 2."""

SAME = ("about", "runs", "training_loss", "length", "method", "files")
MOST_GENERATIONS = 20
"""Experiments that take something from each other in a row, at most."""

MOST_COPIED = 20_000
"""Settings and measurements that experiments take from others, at most."""

EXPERIMENT = ("title", "runs", "training_loss", "length", "measures")


def expanded(document: Document) -> tuple[Document, list[Violation], list[Violation]]:
    """Return a document of schema 2 for one in the short form, and what is wrong there.

    The first violations are what its models do not refuse, the others that nothing uses a name.
    """
    audit = _Audit(document.node)
    long = document.holding(audit.expanded())
    return long, audit.faults, audit.unused


def sound_part(document: Document, faulty: Collection[Loc]) -> Document | None:
    """Return what was expanded without the entries at fault; None if a fault lies elsewhere."""
    if any(loc[:1] not in ALONE for loc in faulty):
        return None
    node = document.node
    data = dict(node.data)
    above = document.above(faulty)
    for name in LISTS:
        kept = [entry for entry in node.list_under(name) if entry.loc not in above]
        data[name] = node.holding(kept if name != "findings" else [])
    return document.holding(node.holding(data))


class _Audit:
    """One audit in the short form, on its way to schema 2."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.faults: list[Violation] = []
        self.unused: list[Violation] = []
        self.experiments = node.mapping_under("experiments")
        self.axes = node.mapping_under("axes")
        self._used = {"axis": set[str](), "experiment": set[str]()}
        self._own: dict[str, Settings] = {}
        self._copied = 0
        shared = settings_of(node.get("settings"), self.faults)
        self._shared = scaled(node, shared, {}, self.faults)

    def expanded(self) -> Node:
        """Return the audit as schema 2 has it."""
        made = {name: self._experiment(name) for name in self.experiments}
        names = self._names()
        claims = [
            claim_of(name, claim, names, ours=key == "our_questions", only=len(listed) == 1)
            for key in ("claims", "our_questions")
            for listed in (self.node.mapping_under(key),)
            for name, claim in listed.items()
        ]
        for level in self.experiments.values():
            names.know_all(level.get("must_fail"))
            names.know_all(level.get("must_pass"))
        arms = {name: arm_of(name, arm, names) for name, arm in names.arms.items()}
        for bound in names.bounds.values():
            written_bound(bound, names)
        if claims and not self.experiments:
            made[ELSEWHERE] = from_elsewhere(self.node, claims)
        data = {
            **{key: self.node.data[key] for key in SAME if key in self.node.data},
            "schema_version": self.node.holding(2),
            "paper": _paper(self.node.field("paper")),
            "variables": self._variables(),
            "settings": self.node.holding(self._shared),
            "measurements": self.node.holding(self._measurements(self.node)),
            "experiments": self.node.holding(made),
            "arms": self.node.holding(arms),
            "claims": self.node.holding(claims),
            "not_audited": _not_audited(self.node.field("not_audited")),
            "findings": self._findings(names.slug),
        }
        self._find_unused(names)
        self.faults += names.faults
        self.unused += names.unused
        return self.node.holding({key: node for key, node in data.items() if node is not None})

    def _names(self) -> Names:
        paper = self.node.get("paper")
        slug = paper.get("slug") if paper is not None else None
        return Names(
            slug=str(slug.data) if slug is not None else "",
            experiments=self.experiments,
            settings={name: {**self._shared, **self._own[name]} for name in self.experiments},
            arms=self.node.mapping_under("arms"),
            bounds=self.node.mapping_under("bounds"),
            elsewhere={
                name: tuple(claim.mapping_under("arms"))
                for key in ("claims", "our_questions")
                for name, claim in self.node.mapping_under(key).items()
            },
        )

    # --- experiments ---

    def _experiment(self, name: str) -> Node:
        """Return an experiment with what it takes from others."""
        level = self.experiments[name]
        if not isinstance(level.data, dict):
            self._own[name] = {}
            return level
        data = {key: level.data[key] for key in EXPERIMENT if key in level.data}
        data["settings"] = level.holding(self._settings(name, ()))
        above = self._lineage(name, "measurements_of")
        measured: dict[str, Node] = {}
        for other in (*reversed(above), name):
            measured |= self._measurements(self.experiments[other])
        self._copied += len(measured) if above else 0
        if measured:
            data["measurements"] = level.holding(measured)
        measures = (
            level.data.get("measures"),
            *(self.experiments[n].get("measures") for n in above),
        )
        if (stated := next((node for node in measures if node is not None), None)) is not None:
            data["measures"] = stated
        if (stages := level.get("stages")) is not None:
            listed = [_stage(word, stage) for word, stage in stages.items()]
            data["stages"] = stages.holding(listed)
        return level.holding(data)

    def _settings(self, name: str, below: tuple[str, ...]) -> Settings:
        """Return an experiment's own settings, among them those of another that it names."""
        if name not in self._own:
            level = self.experiments[name]
            other = self._parent(level, "settings_of", (*below, name))
            inherited = self._settings(other, (*below, name)) if other is not None else {}
            own = {**inherited, **settings_of(level.get("settings"), self.faults)}
            self._copied += len(inherited)
            self._own[name] = scaled(level, own, self._shared, self.faults)
        return self._own[name]

    def _lineage(self, name: str, key: str) -> list[str]:
        """Return the experiments that one takes something from, the nearest first."""
        above: list[str] = []
        other = self._parent(self.experiments[name], key, (name,))
        while other is not None:
            above.append(other)
            other = self._parent(self.experiments[other], key, (name, *above))
        return above

    def _parent(self, level: Node, key: str, below: tuple[str, ...]) -> str | None:
        """Return the experiment that another takes something from, unless that is a circle."""
        node = level.get(key)
        if node is None or node.text is None:
            return None
        self._used["experiment"].add(node.text)
        if node.text not in self.experiments:
            fault = unknown(node.loc, "experiment", node.text, self.experiments)
        elif len(below) > MOST_GENERATIONS or self._copied > MOST_COPIED:
            message = "found more that is taken from other experiments than any audit needs"
            fault = Violation("RA016", node.loc, message, "State it where it is used.")
        elif node.text in below:
            circle = " takes from ".join([*below[below.index(node.text) :], node.text])
            fault = Violation("RA243", node.loc, f"found a circle: {circle}")
        else:
            return node.text
        self.faults.append(fault)
        return None

    # --- measurements ---

    def _measurements(self, level: Node) -> dict[str, Node]:
        """Return the measurements that a level declares."""
        declared = level.mapping_under("measurements")
        return {name: self._measurement(one) for name, one in declared.items()}

    def _measurement(self, node: Node) -> Node:
        if not isinstance(node.data, dict):
            return node
        data = {MEASUREMENT[key]: below for key, below in node.data.items() if key in MEASUREMENT}
        data.setdefault("unit", node.holding("1"))
        given = [key for key in ("every_step", "once") if node.get(key) is not None]
        if len(given) != 1:
            found = "both 'every_step' and 'once'" if given else "neither 'every_step' nor 'once'"
            remedy = "Write 'every_step: []' of a series, 'once: []' of a number; [AXIS] for axes."
            self.faults.append(Violation("RA059", node.loc, f"found {found}; expected one", remedy))
            return node.holding(data | {"kind": node.holding("scalar")})
        axes = node.data[given[0]]
        kind = "series" if given == ["every_step"] else "array" if axes.listed() else "scalar"
        data["kind"] = axes.holding(kind)
        if axes.listed():
            data["axes"] = axes.holding([self._axis(axis) for axis in axes.listed()])
        return node.holding(data)

    def _axis(self, node: Node) -> Node:
        """Return an axis, or the one of its name."""
        if node.text is None:
            return node
        self._used["axis"].add(node.text)
        if node.text not in self.axes:
            self.faults.append(unknown(node.loc, "axis", node.text, self.axes))
            return node.holding({"name": node, "size": node.holding(1)})
        axis = self.axes[node.text]
        fields = axis.data if isinstance(axis.data, dict) else {}
        return node.holding({"name": node, **fields})

    # --- what is read and found ---

    def _variables(self) -> Node | None:
        node = self.node.field("variables")
        if node is None or not isinstance(node.data, dict):
            return node
        read = self.node.get("card_read")
        return node.holding([self._variable(name, one, read) for name, one in node.data.items()])

    def _variable(self, name: str, node: Node, read: Node | None) -> Node:
        if not isinstance(node.data, dict):
            return node
        data: dict[str, Node] = {"name": node.holding(name)}
        card = node.get("card")
        place = node.get("at")
        if card is not None:
            day = node.get("card_read") or read
            if day is None:
                self._miss_day(node)
                day = card.holding("2000-01-01")
            data["card"] = card.holding({"result": card, "as_of": day})
            place = place or card.holding(f"card, row {name}")
        elif place is None:
            message = "found no 'at'; expected the place, since there is no card"
            self.faults.append(Violation("RA051", node.loc, message, "Add 'at': the place."))
            place = node.holding("nowhere")
        fields = {"statement": node.get("says"), "locator": place}
        first = node.holding({key: below for key, below in fields.items() if below is not None})
        more = [renamed(one, PASSAGE) for one in node.list_under("also")]
        data["evidence"] = node.holding([first, *more])
        if (answers := node.get("checklist")) is not None:
            data["authors"] = answers.holding([renamed(one, ANSWER) for one in answers.listed()])
        return node.holding(data)

    def _miss_day(self, node: Node) -> None:
        """Report, once, that a card's result has no day."""
        message = "found a card's result without a day; expected one"
        remedy = "Add 'card_read: YYYY-MM-DD' to the audit: the day on which it was read."
        if not any(fault.message == message for fault in self.faults):
            self.faults.append(Violation("RA051", node.loc, message, remedy))

    def _findings(self, slug: str) -> Node | None:
        node = self.node.field("findings")
        if node is None or not isinstance(node.data, dict):
            return node
        return node.holding([self._finding(slug, name, one) for name, one in node.data.items()])

    def _finding(self, slug: str, name: str, node: Node) -> Node:
        if not isinstance(node.data, dict):
            return node
        data = {FINDING.get(key, key): below for key, below in node.data.items()}
        data["id"] = node.holding(f"{slug}.{name}")
        if (sources := node.get("from")) is not None:
            data["sources"] = sources.holding(sources.several())
        if (changes := node.get("changes")) is not None:
            ids = [one.holding(f"{slug}.{one.data}") for one in changes.listed()]
            data["changes"] = changes.holding(ids)
            claims = {
                **self.node.mapping_under("claims"),
                **self.node.mapping_under("our_questions"),
            }
            for one in changes.listed():
                if one.text is not None and one.text not in claims:
                    self.faults.append(unknown(one.loc, "claim", one.text, claims))
        if "as_of" not in data and (read := self.node.get("card_read")) is not None:
            data["as_of"] = read
        return node.holding(data)

    # --- what nothing uses ---

    def _find_unused(self, names: Names) -> None:
        """Report what is named and never used: arms, experiments, bounds, axes."""
        used = {
            **names.used,
            "experiment": names.used["experiment"] | self._used["experiment"],
            "axis": self._used["axis"],
        }
        by = {"axis": "measurement", "bound": "check"}
        kinds = {"arm": "arms", "experiment": "experiments", "bound": "bounds", "axis": "axes"}
        for noun, key in kinds.items():
            for name, node in self.node.mapping_under(key).items():
                if name not in used[noun]:
                    article = "an" if noun[0] in "ae" else "a"
                    message = f"found {article} {noun} that no {by.get(noun, 'claim')} uses"
                    self.unused.append(Violation("RA242", node.loc, message, "", name))


def _stage(name: str, node: Node) -> Node:
    if not isinstance(node.data, dict):
        return node
    fields = renamed(node, STAGE).data
    return node.holding({**fields, "name": node.holding(name)})


def _not_audited(node: Node | None) -> Node | None:
    if node is None or not isinstance(node.data, list):
        return node
    return node.holding([renamed(one, NOT_AUDITED) for one in node.data])


def _paper(node: Node | None) -> Node | None:
    """Return the paper, and what was read of it in a page's words."""
    if node is None or not isinstance(node.data, dict):
        return node
    data = {key: below for key, below in node.data.items() if key != "read"}
    read: list[Node] = []
    not_read: list[Node] = []
    for key, below in node.mapping_under("read").items():
        if key in READ and isinstance(below.data, bool):
            (read if below.data else not_read).append(below.holding(READ[key][not below.data]))
        elif key in READ and below.text is not None:
            read.append(below)
        elif key in ("others", "not_others"):
            (read if key == "others" else not_read).extend(below.listed())
    if read:
        data["read"] = node.holding(read)
    if not_read:
        data["not_read"] = node.holding(not_read)
    return node.holding(data)


# --- runs from elsewhere --------------------------------------------------------------------------


def from_elsewhere(audit: Node, claims: list[Node]) -> Node:
    """Return the experiment of an audit that runs nothing: it measures what its checks name."""
    declared = audit.mapping_under("measurements")
    kinds: dict[str, str] = {}
    axes: dict[str, dict[str, dict[Any, None]]] = {}
    for claim in claims:
        for check in _checks_of(claim):
            whole = {quantity.measurement for quantity in check.over_training}
            for quantity in check.quantities():
                name = quantity.measurement
                part = quantity.step != "last" or quantity.passes is not None
                series = name in whole or part or kinds.get(name) == "series"
                kinds[name] = "series" if series else "scalar"
                along = axes.setdefault(name, {})
                for axis, coordinate in {**check.at, **quantity.at}.items():
                    along.setdefault(axis, {})[coordinate] = None
                for coordinate in quantity.coordinates:
                    along.setdefault("coordinate", {})[coordinate] = None
    measured = {
        name: _measured(audit, name, kind, axes[name])
        for name, kind in kinds.items()
        if name not in declared
    }
    method = audit.get("method")
    own = _at(audit, {"source": "derived", "locator": "the names of the runs"})
    arm = own.holding({"value": method or audit.holding("own"), **own.data})
    return audit.holding(
        {
            "title": audit.holding("Runs from elsewhere"),
            "settings": audit.holding({ARM_NAME: arm}),
            "measurements": audit.holding(measured),
        }
    )


def _measured(audit: Node, name: str, kind: str, along: Mapping[str, Mapping[Any, None]]) -> Node:
    """Return the declaration of a measurement that checks name."""
    fields: dict[str, Any] = {"meaning": name.replace("_", " "), "unit": "1", "kind": kind}
    if along:
        fields["axes"] = [{"name": axis, "values": [*values]} for axis, values in along.items()]
    if along and kind == "scalar":
        fields["kind"] = "array"
    return _at(audit, fields)


def _at(node: Node, data: Any) -> Node:
    """Return plain data as nodes at one place."""
    if isinstance(data, dict):
        return node.holding({key: _at(node, below) for key, below in data.items()})
    return node.holding([_at(node, below) for below in data] if isinstance(data, list) else data)


def _checks_of(claim: Node) -> Iterator[Kind]:
    """Yield the checks of a claim that their kinds accept."""
    for key in ("headline", "support", "notes"):
        for check in claim.list_under(key):
            kind = check.get("kind")
            model = KINDS.get(str(kind.data)) if kind is not None else None
            if model is not None:
                with suppress(ValidationError, ValueError):
                    yield model.model_validate_json(json.dumps(check.plain({})))
