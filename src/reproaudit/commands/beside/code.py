"""The code, or the command, between an audit and the numbers that are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproaudit.audit.catalog import Entry
from reproaudit.audit.command_module import CommandModule
from reproaudit.audit.model import Audit, Control
from reproaudit.lazy import deferred
from reproaudit.reports.warning import OTHER_CODE, OTHER_COMMAND
from reproaudit.running.groups import Group, todays_groups
from reproaudit.scorecard.model import ClaimModel, Scorecard

_commands = deferred("reproaudit.repositories.description")


def told_of_code(
    card: Scorecard,
    entry: Entry,
    audit: Audit,
    claim: ClaimModel,
    today: Sequence[Group] | None = None,
) -> Iterator[str]:
    """Yields sentences on what made the records of a claim, where the audit does not say it.

    Args:
        card: the scorecard.
        entry: the paper.
        audit: its audit.
        claim: one of the scorecard's claims.
        today: the groups that today's code would make, if they are known.
    """
    stated = next((one for one in audit.claims if one.id == claim.id), None)
    if stated is None:
        return
    if not isinstance(entry.code, CommandModule):
        if not {one.code for one in today or todays_groups(entry.code)} >= {*card.environment.code}:
            yield f"{OTHER_CODE}: {', '.join(one[:8] for one in card.environment.code)}."
        return
    if card.group is not None and not card.group.of_today:
        yield f"{OTHER_COMMAND}, which is told here."
    positive = audit.positive_control_of(stated)
    every = [*audit.controls_of(stated), *([positive] if isinstance(positive, Control) else [])]
    controls = (str(one.experiment) for one in every)
    for name in dict.fromkeys([stated.experiment, *controls]):
        yield from (f"{said}." for said in _commands.told_of_experiment(entry.code.file, name))
