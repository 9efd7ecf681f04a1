"""The acts of a reviewer on an audit, and the edits of its YAML that each takes.

Every function takes the file's text and returns the edited one. Nothing here needs the audit to be
valid, so that a draft can be finished; `saving` refuses what is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from reproaudit.audit.draft import TODO
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import Loc
from reproaudit.audit.variables import ReviewDecision, VariableName
from reproaudit.cell import SettingValue
from reproaudit.desk.splicing import YamlText
from reproaudit.errors import UsageError, did_you_mean

AHEAD = tuple(Audit.model_fields)
"""The fields of an audit in order; a new one is put behind those that come before it."""

SETTING_FIELDS = ("value", "source", "locator", "why", "alternatives")
"""The fields of a setting that the desk edits, in order."""


@dataclass(frozen=True)
class Disputed:
    """The subject of a dispute, as the audit names it.

    Attributes:
        claim: the claim's id, or the id of the claim that the next two belong to.
        tolerance: the name of the check whose tolerance it is.
        control: the control's number from 1, or "positive".
        source: the setting's name.
    """

    claim: str | None = None
    tolerance: str | None = None
    control: int | str | None = None
    source: str | None = None

    @property
    def fields(self) -> dict[str, object]:
        """The fields of the dispute that say what it is about."""
        return {name: value for name, value in vars(self).items() if value is not None}


def decide(
    text: YamlText, name: str, reviewer: str, decision: ReviewDecision, reason: str, today: date
) -> YamlText:
    """The reviewer's decision on a variable, in place of an earlier one or of a draft's TODO."""
    loc = ("variables", _variable(text, name), "reviews")
    review = {"reviewer": reviewer, "decision": decision.value, "reason": reason, "as_of": today}
    reviews: list[Any] = text.at(loc) or []
    for who in (reviewer, TODO):
        for i, one in enumerate(reviews):
            if one.get("reviewer") == who:
                return _changed(text, (*loc, i), review)
    return text.append(loc, review, ("name", "card"))


def withdraw_decision(text: YamlText, name: str, reviewer: str) -> YamlText:
    """The text without the reviewer's decision on a variable, and so without their sign-off."""
    loc = ("variables", _variable(text, name), "reviews")
    for i, one in enumerate(text.at(loc) or []):
        if one.get("reviewer") == reviewer:
            return _without_sign_off(text.remove((*loc, i)), reviewer)
    raise UsageError(f"{reviewer} has decided nothing on {name}.")


def dispute(
    text: YamlText, disputed: Disputed, reviewer: str, reason: str, today: date
) -> YamlText:
    """The reviewer's dispute, in place of an earlier one of the same thing."""
    index = dispute_of(text, disputed, reviewer)
    entry = {**disputed.fields, "reviewer": reviewer, "reason": reason, "as_of": today}
    if index is not None:
        return _changed(text, ("disputes", index), entry)
    return text.append(("disputes",), entry, AHEAD[: AHEAD.index("disputes")])


def withdraw_dispute(text: YamlText, disputed: Disputed, reviewer: str) -> YamlText:
    """The text without the reviewer's dispute."""
    index = dispute_of(text, disputed, reviewer)
    if index is None:
        raise UsageError(f"{reviewer} disputes no such thing.")
    return text.remove(("disputes", index))


def dispute_of(text: YamlText, disputed: Disputed, reviewer: str) -> int | None:
    """The position of a reviewer's dispute of something; None if there is none."""
    wanted = {**disputed.fields, "reviewer": reviewer}
    said = {"reason", "as_of"}
    for i, one in enumerate(text.at(("disputes",)) or []):
        if {name: value for name, value in one.items() if name not in said} == wanted:
            return i
    return None


def answer(
    text: YamlText, to: str, by: str, statement: str, locator: str | None, today: date
) -> YamlText:
    """An author's answer to a finding or a claim, beside earlier ones."""
    where = {"locator": locator} if locator else {}
    entry = {"to": to, "by": by, "statement": statement, **where, "as_of": today}
    return text.append(("responses",), entry, AHEAD[: AHEAD.index("responses")])


def correct(text: YamlText, setting: str, field: str, value: SettingValue) -> YamlText:
    """Another value, source, locator, reason or other alternatives of a setting.

    Args:
        text: the audit's text.
        setting: the setting's name; `experiment.setting` for the own setting of one experiment.
        field: one of `SETTING_FIELDS`.
        value: its value.
    """
    if field not in SETTING_FIELDS:
        raise UsageError(f"a setting has no '{field}'. {did_you_mean(field, SETTING_FIELDS)}")
    loc = (*setting_loc(text, setting), field)
    if value in ((), [], "") and field in ("locator", "why", "alternatives"):
        return text if text.at(loc) is None else text.without(loc)
    return text.put(loc, value, SETTING_FIELDS[: SETTING_FIELDS.index(field)])


def setting_loc(text: YamlText, setting: str) -> Loc:
    """The place of a setting: a shared one, or the own one of an experiment.

    Raises:
        UsageError: if there is no such setting, or several experiments have one of this name.
    """
    experiments: dict[str, Any] = text.at(("experiments",)) or {}
    shared: dict[str, Any] = text.at(("settings",)) or {}
    own = {
        f"{experiment}.{name}": ("experiments", experiment, "settings", name)
        for experiment, one in experiments.items()
        for name in one.get("settings", {})
    }
    if setting in shared:
        return ("settings", setting)
    if setting in own:
        return own[setting]
    alike = [name for name in own if name.partition(".")[2] == setting]
    if len(alike) == 1:
        return own[alike[0]]
    hint = f"Write {' or '.join(alike)}." if alike else did_you_mean(setting, [*shared, *own])
    raise UsageError(f"no one setting '{setting}'. {hint}")


def undecided(text: YamlText, reviewer: str) -> list[str]:
    """The variables on which a reviewer has not decided."""
    return [
        str(one.get("name"))
        for one in text.at(("variables",)) or []
        if reviewer not in [review.get("reviewer") for review in one.get("reviews") or ()]
    ]


def sign_off(text: YamlText, reviewer: str, version: str, today: date) -> YamlText:
    """The reviewer's sign-off of a version, in place of an earlier one."""
    entry = {"reviewer": reviewer, "version": version, "as_of": today}
    index = sign_off_of(text, reviewer)
    if index is not None:
        return _changed(text, ("sign_offs", index), entry)
    return text.append(("sign_offs",), entry, AHEAD[: AHEAD.index("sign_offs")])


def sign_off_of(text: YamlText, reviewer: str) -> int | None:
    """The position of a reviewer's sign-off, of whatever version; None if there is none."""
    for i, one in enumerate(text.at(("sign_offs",)) or []):
        if one.get("reviewer") == reviewer:
            return i
    return None


def _without_sign_off(text: YamlText, reviewer: str) -> YamlText:
    index = sign_off_of(text, reviewer)
    return text if index is None else text.remove(("sign_offs", index))


def _variable(text: YamlText, name: str) -> int:
    """The position of a variable."""
    names = [one.get("name") for one in text.at(("variables",)) or []]
    if name not in names:
        raise UsageError(f"no variable '{name}'. {did_you_mean(name, list(VariableName))}")
    return names.index(name)


def _changed(text: YamlText, loc: Loc, entry: Mapping[str, object]) -> YamlText:
    """The text with an entry's fields changed; its date only if something else changes."""
    edited = text
    for field, value in entry.items():
        if field != "as_of":
            edited = edited.put((*loc, field), value)
    return text if edited is text else edited.put((*loc, "as_of"), entry["as_of"])
