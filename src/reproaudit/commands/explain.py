"""`reproaudit multiverse --explain`: which settings make a claim come out otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import Batch
from reproaudit.bounded import decode_json, read_regular
from reproaudit.cell import SettingValue, canonical_settings
from reproaudit.commands.multiverse import Varied
from reproaudit.commands.output import print_json, show
from reproaudit.commands.run import parse_setting
from reproaudit.errors import TechnicalError, UsageError, did_you_mean
from reproaudit.multiverse.completions import Override, batch_of, choices_of
from reproaudit.multiverse.model import Explanation
from reproaudit.multiverse.read import ClaimReading, explanation
from reproaudit.multiverse.smallest_set import SmallestSet, smallest_sets
from reproaudit.records import Record
from reproaudit.reports.files import MOST_CARD_BYTES, read_scorecard
from reproaudit.reports.multiverse import explanation_document
from reproaudit.scorecard.model import Scorecard


def parse_against(
    texts: Sequence[str], audit: Audit, claim: Claim, tier: TierName
) -> tuple[Override, ...]:
    """Returns the settings that differ in another run; what is named later counts.

    Args:
        texts: ``name=value,…`` written out, the file of one of its records, or its scorecard.

    Raises:
        UsageError: on what cannot be read, an unknown setting, one of which a scorecard says
            nothing, or no difference at all.
    """
    values: dict[str, SettingValue] = {}
    scorecard: Path | None = None
    for text in texts:
        if "=" not in text:
            path, other = Path(text), _read(Path(text))
            scorecard = path if isinstance(other, Scorecard) else scorecard
            values.update(_settings_of(path, other, audit, claim))
            continue
        for one in re.split(r",(?![^\[]*\])", text):
            name, value = parse_setting(one.strip())
            values[_own_name(name, claim)] = value
    default = audit.values_of(claim.experiment, tier)
    for name in values:
        if name not in default:
            remedy = did_you_mean(name, default)
            raise UsageError(
                f"--against: experiment '{claim.experiment}' has no setting '{name}'. {remedy}"
            )
    unsaid = [name for name in default if name not in values]
    if scorecard is not None and unsaid:
        raise UsageError(
            f"--against {scorecard}: it says nothing of '{unsaid[0]}', which '{claim.experiment}' "
            f"has now. Write its value as well: --against {unsaid[0]}=…"
        )
    changes = tuple(
        Override(claim.experiment, name, value, value)
        for name, value in values.items()
        if canonical_settings({name: value}) != canonical_settings({name: default[name]})
    )
    if not changes:
        raise UsageError("--against: nothing differs from the audit's own settings.")
    return changes


def _own_name(name: str, claim: Claim) -> str:
    experiment, _, own = name.rpartition(".")
    if experiment not in ("", claim.experiment):
        raise UsageError(
            f"--against {name}: {claim.id} is judged on the experiment '{claim.experiment}'."
        )
    return own


def _read(path: Path) -> Record | Scorecard:
    """Reads a record's file, a scorecard.json, or the folder of one, by what it holds."""
    file = path / "scorecard.json" if path.is_dir() else path
    try:
        content = read_regular(file, MOST_CARD_BYTES)
        data = decode_json(content)
        if isinstance(data, dict) and "claims" in data:
            return read_scorecard(file)
        return Record.model_validate_json(content)
    except (OSError, ValueError) as error:
        reason = "it is no record, nor a scorecard"
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
        raise UsageError(
            f"--against {file}: {reason}. Write name=value,…, or the file of a record or of a "
            "scorecard."
        ) from error


def _settings_of(
    path: Path, other: Record | Scorecard, audit: Audit, claim: Claim
) -> Mapping[str, SettingValue]:
    """Returns the settings that the claim's experiment had in another run."""
    of_paper, experiment = _subject(other, claim)
    if of_paper != audit.paper.slug:
        raise UsageError(f"--against {path}: of paper '{of_paper}', not '{audit.paper.slug}'.")
    if experiment != claim.experiment:
        raise UsageError(
            f"--against {path}: of '{experiment}', and {claim.id} is judged on "
            f"'{claim.experiment}'."
        )
    return other.settings if isinstance(other, Record) else _settings_shown(other, claim)


def _subject(other: Record | Scorecard, claim: Claim) -> tuple[str, str]:
    """Returns the paper of another run, and the experiment on which it judges the claim."""
    if isinstance(other, Record):
        return other.paper, other.experiment
    judged = {one.id: one.experiment for one in other.claims}
    return str(other.paper.get("slug")), judged.get(claim.id, claim.experiment)


def _settings_shown(card: Scorecard, claim: Claim) -> Mapping[str, SettingValue]:
    """Returns a claim's settings in a scorecard: shared, its experiment's, and others' own."""
    shown = sorted(card.settings, key=lambda one: one.experiment is not None)
    values = {one.name: one.value for one in shown if one.experiment in (None, claim.experiment)}
    for name, value in card.origin.settings.items() if card.origin else ():
        experiment, _, own = name.rpartition(".")
        if experiment in ("", claim.experiment):
            values[own] = value
    return values


def claim_of(audit: Audit, name: str) -> Claim:
    """Returns a claim by its id, with or without the slug.

    Raises:
        UsageError: naming the closest one.
    """
    known = {claim.id: claim for claim in audit.claims}
    wanted = name if "." in name else f"{audit.paper.slug}.{name}"
    if wanted not in known:
        raise UsageError(f"no claim '{name}'. {did_you_mean(wanted, known)}")
    return known[wanted]


def explanation_of(varied: Varied, claim: Claim, changes: tuple[Override, ...]) -> Explanation:
    """Returns the smallest set of changed settings that flips a claim's decision.

    Raises:
        TechnicalError: if one of the two runs cannot be judged.
    """
    audit, tier = varied.audit, varied.tier

    def batch(subset: SmallestSet) -> Batch:
        return batch_of(audit, tuple(changes[i] for i in subset), claim.experiment, tier)

    def reading() -> ClaimReading:
        return ClaimReading(audit, claim, tier, varied.lookup(), choices_of(audit, tier))

    everything = tuple(range(len(changes)))
    varied.ensure([batch(()), batch(everything)])
    first = reading()
    for one, name in (
        (first.default, "the audit's settings"),
        (first.judged(changes), "--against"),
    ):
        if one.decision is None:
            raise TechnicalError(f"{claim.id} cannot be judged with {name}: {one.problem}")
    target = first.judged(changes).decision
    if target == first.default.decision:
        return explanation(first, changes, (), exhaustive=True, trials=0)

    def flips(subsets: Sequence[SmallestSet]) -> list[bool]:
        varied.ensure([batch(subset) for subset in subsets])
        now = reading()
        return [now.judged(tuple(changes[i] for i in s)).decision == target for s in subsets]

    found = smallest_sets(len(changes), flips)
    sets = tuple(tuple(changes[i] for i in subset) for subset in found.sets)
    return explanation(reading(), changes, sets, exhaustive=found.exhaustive, trials=found.trials)


def show_explanation(varied: Varied, claim: str, against: Sequence[str], as_json: bool) -> int:
    """Explains a changed decision and prints it; returns the exit code."""
    stated = claim_of(varied.audit, claim)
    changes = parse_against(against, varied.audit, stated, varied.tier)
    explained = explanation_of(varied, stated, changes)
    if as_json:
        print_json(explained.model_dump(mode="json", by_alias=True))
    else:
        show(explanation_document(explained))
    return 0
