"""Names cells while they run: by their arm, else by the settings that differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from reproaudit.audit.arms import Role, alternatives_of, arms_of
from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.plan import varied_tier
from reproaudit.audit.seeds import stored_tier
from reproaudit.cell import Cell, canonical_settings
from reproaudit.report.printable import clean
from reproaudit.store.adoptions import adoption_tier

Arms = Mapping[tuple[str, ...], str]
"""By paper, tier, experiment and canonical settings: the arm that cells of these belong to."""


def arms_of_cells(audits: Iterable[Audit]) -> Arms:
    """Return the arms of all cells of some audits."""
    return {key: name for audit in audits for key, name in _arms(audit)}


def _arms(audit: Audit) -> Iterator[tuple[tuple[str, ...], str]]:
    planned = [(arm, False) for claim in audit.claims for arm in arms_of(audit, claim)]
    planned += [(arm, True) for claim in audit.claims for arm in alternatives_of(audit, claim)]
    for arm, is_alternative in sorted(planned, key=lambda plan: plan[0].role is Role.OWN):
        name = arm.role.value if arm.role is Role.OWN else f"{arm.role.value} {arm.name}"
        for tier in TIERS:
            kept = stored_tier(audit, tier)
            place = varied_tier(kept) if is_alternative else kept
            for stored in (place, adoption_tier(place)):
                yield (audit.paper.slug, stored, *arm.key(audit, tier)), name


class CellNames:
    """Names cells by their arms, and cells without one by the settings that differ in a plan."""

    def __init__(self, arms: Arms) -> None:
        self._arms = arms
        self._varying: dict[tuple[str, str], list[str]] = {}
        self._has_papers = False

    def plan(self, cells: Iterable[Cell]) -> None:
        """Note the cells of a plan."""
        values: dict[tuple[str, str], dict[str, set[str]]] = {}
        for cell in cells:
            of_settings = values.setdefault((cell.paper, cell.experiment), defaultdict(set))
            for name, value in cell.settings.items():
                of_settings[name].add(str(value))
        self._varying = {
            key: [name for name, texts in of_settings.items() if len(texts) > 1]
            for key, of_settings in values.items()
        }
        self._has_papers = len({paper for paper, _ in values}) > 1

    def short(self, cell: Cell) -> str:
        """Return the name, with the paper only if the plan has several."""
        return self._name(cell, with_paper=self._has_papers)

    def full(self, cell: Cell) -> str:
        """Return the name with the paper: ``control shuffled: ahn2023 sparse, seed 3``."""
        return self._name(cell, with_paper=True)

    def _name(self, cell: Cell, *, with_paper: bool) -> str:
        settings = canonical_settings(cell.settings)
        arm = self._arms.get((cell.paper, cell.tier, cell.experiment, settings), "")
        varying = [] if arm else self._varying.get((cell.paper, cell.experiment), [])
        differ = "".join(f", {name}={cell.settings.get(name)}" for name in varying)
        start = f"{arm}: " if arm else ""
        paper = f"{cell.paper} " if with_paper else ""
        return clean(f"{start}{paper}{cell.experiment}{differ}, seed {cell.seed}")
