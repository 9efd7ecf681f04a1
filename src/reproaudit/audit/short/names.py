"""What the claims of an audit may name, and what of it they did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reproaudit.audit.faults import Loc, Violation, unknown
from reproaudit.audit.nodes import Node


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
        unused: what is declared and never named.
        told: the places whose unknown name is among the faults.
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
    unused: list[Violation] = field(default_factory=list)
    told: set[Loc] = field(default_factory=set)

    def know_all(self, node: Node | None) -> None:
        """Report the arms of a list that nobody declares."""
        for arm in node.several() if node is not None else ():
            if arm.text is not None and arm.text not in self.arms and self.experiments:
                self.unknown(arm.loc, "arm", arm.text, self.arms)

    def unknown(
        self, loc: Loc, noun: str, name: str, known: Mapping[str, Any], remedy: str = ""
    ) -> None:
        """Report a name that is none of those that are known."""
        if loc in self.told:
            return
        self.told.add(loc)
        self.faults.append(unknown(loc, noun, name, known, remedy=remedy))
