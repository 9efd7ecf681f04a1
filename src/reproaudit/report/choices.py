"""Choices that the paper leaves open or that its sources read differently, and what they change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproaudit.audit.model import Audit, Setting
from reproaudit.report.model import ArmModel, ChoiceModel, ClaimModel
from reproaudit.report.numbers import listed, of
from reproaudit.report.words import AT_REDUCED_SCALE, SOURCES, Namer, value_words


def choices(audit: Audit, claims: Sequence[ClaimModel], namer: Namer) -> tuple[ChoiceModel, ...]:
    """Return every guess and reading of the judged experiments, those that change answers first."""
    found = []
    for experiment, name, setting in _open_settings(audit, claims):
        mine = [one for one in claims if experiment in (None, one.experiment)]
        arms = [(one, arm) for one in mine for arm in _varied(one, name)]
        lower = any(arm.tier for _, arm in arms)
        found.append(
            ChoiceModel(
                setting=name if experiment is None else f"{experiment}.{name}",
                words=namer.setting(experiment or mine[0].experiment, name),
                said=_said(setting) + (AT_REDUCED_SCALE if lower else ""),
                value=setting.value,
                source=setting.source.value,
                others=setting.others,
                answers=tuple(_answers(arms, setting)),
                changes=any(one.changed_by(arm) for one, arm in arms),
                reading=bool(setting.readings),
                unstated=setting.guessed or bool(setting.readings),
            )
        )
    return tuple(sorted(found, key=lambda one: (not one.changes, not one.reading, not one.answers)))


def _open_settings(
    audit: Audit, claims: Sequence[ClaimModel]
) -> Iterator[tuple[str | None, str, Setting]]:
    judged = {one.experiment for one in claims}
    for name, setting in audit.settings.items():
        used = any(name not in audit.experiments[one].settings for one in judged)
        if setting.underspecified and used:
            yield None, name, setting
    for experiment in sorted(judged):
        for name, setting in audit.experiments[experiment].settings.items():
            if setting.underspecified:
                yield experiment, name, setting


def _said(setting: Setting) -> str:
    """Which source states which value: 1 in the code, 100 on the card; or what is guessed."""
    if not setting.readings:
        others = ", ".join(value_words(setting, one) for one in setting.others)
        return f"{value_words(setting, setting.value)} (guessed); also {others}"
    stated = [(setting.value, setting.source), *((o.value, o.source) for o in setting.readings)]
    return ", ".join(f"{value_words(setting, value)} {SOURCES[source]}" for value, source in stated)


def _varied(claim: ClaimModel, name: str) -> list[ArmModel]:
    return [one for one in (*claim.readings, *claim.alternatives) if one.setting == name]


def _answers(arms: Sequence[tuple[ClaimModel, ArmModel]], setting: Setting) -> Iterator[str]:
    """For each value the claims whose answer changes with it, or that none does."""
    same: list[str] = []
    by_value: dict[str, list[tuple[ClaimModel, ArmModel]]] = {}
    for claim, arm in arms:
        if arm.value is not None and arm.n:
            by_value.setdefault(value_words(setting, arm.value), []).append((claim, arm))
    for value, pairs in by_value.items():
        turned = [
            f"{claim.name} {of(arm.yes, arm.n)} (as run {of(claim.runs.yes, claim.runs.n)})"
            for claim, arm in pairs
            if claim.changed_by(arm)
        ]
        late = sum(arm.unfinished for _, arm in pairs)
        turned += [f"{claim.name} open, {of(arm.yes, arm.n)}" for claim, arm in pairs if arm.opens]
        if turned:
            yield f"{value}: {', '.join(turned)}"
        elif late:
            yield f"{value}: training had not come half as far"
        else:
            same.append(value)
    if same:
        yield f"{listed(same)}: no answer changes"
