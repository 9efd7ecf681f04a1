"""What reviewers and authors say of an audit, as rows for a page: who, when, about what, in words.

What an audit no longer has is named by its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from reproaudit.audit.model import Dispute, version_of
from reproaudit.report.words import Namer
from reproaudit.verdict import Scorecard


@dataclass(frozen=True)
class DecisionRow:
    """A reviewer's decision on one of the nine variables.

    Attributes:
        variable: its name.
        who: the reviewer.
        decision: agree, disagree or not applicable.
        words: the reason.
        day: of the decision.
    """

    variable: str
    who: str
    decision: str
    words: str
    day: date


@dataclass(frozen=True)
class AnswerRow:
    """An answer of the authors, or of others concerned.

    Attributes:
        about: the claim or the finding, in words.
        who: the person who answers.
        words: the answer.
        place: where it can be read; '' if it is not public.
        day: of the answer.
    """

    about: str
    who: str
    words: str
    place: str
    day: date


@dataclass(frozen=True)
class DisputeRow:
    """A reviewer's objection.

    Attributes:
        kind: claim, arm or setting.
        about: what is disputed, in words.
        who: the reviewer.
        words: the reason.
        day: of the dispute.
        answers: to the claim that is disputed; none to an arm or a setting.
    """

    kind: str
    about: str
    who: str
    words: str
    day: date
    answers: Sequence[AnswerRow]


@dataclass(frozen=True)
class SignOffRow:
    """A reviewer's sign-off.

    Attributes:
        who: the reviewer.
        day: of the sign-off.
        is_of_this_version: whether the audit that the scorecard shows is the one that was reviewed.
    """

    who: str
    day: date
    is_of_this_version: bool


@dataclass(frozen=True)
class NoteRow:
    """The opinion of the auditor or of a reviewer on the whole.

    Attributes:
        who: whose opinion it is.
        words: the opinion, at most 80 words.
        day: of the note.
        is_stale: whether the answers have changed since.
    """

    who: str
    words: str
    day: date
    is_stale: bool


def decision_rows(card: Scorecard) -> list[DecisionRow]:
    """Return every decision on a variable, in the order of the audit's variables."""
    decided = card.reviews.variables
    return [
        DecisionRow(
            variable.name.value,
            one.reviewer,
            one.decision.value.replace("_", " "),
            one.reason,
            one.as_of,
        )
        for variable in card.audit.variables
        for one in decided.get(variable.name, ())
    ]


def dispute_rows(card: Scorecard) -> list[DisputeRow]:
    """Return every dispute, oldest first, each with the answers to it."""
    return [
        DisputeRow(
            *_disputed(card, one),
            one.reviewer,
            one.reason,
            one.as_of,
            _answers_to(card, one.claim),
        )
        for one in sorted(card.reviews.disputes, key=lambda one: one.as_of)
    ]


def answer_rows(card: Scorecard) -> list[AnswerRow]:
    """Return the answers to findings, and to claims that nobody disputes, oldest first."""
    disputed = {one.claim for one in card.reviews.disputes}
    ids = dict.fromkeys(one.to for one in card.reviews.responses)
    found = [row for one in ids if one not in disputed for row in _answers_to(card, one)]
    return sorted(found, key=lambda row: row.day)


def sign_off_rows(card: Scorecard) -> list[SignOffRow]:
    """Return every sign-off, oldest first."""
    signed = sorted(card.reviews.sign_offs, key=lambda one: one.as_of)
    version = version_of(card.audit) if signed else ""
    return [SignOffRow(one.reviewer, one.as_of, one.version == version) for one in signed]


def note_row(card: Scorecard) -> NoteRow | None:
    """Return the note; None if there is none."""
    note = card.reviews.note
    if note is None:
        return None
    return NoteRow(note.reviewer, note.text, note.as_of, card.note_is_stale)


def note_words(row: NoteRow) -> str:
    """Return whose opinion a note is, from when, and whether the answers have changed since."""
    stale = "; the answers have changed since" if row.is_stale else ""
    return f"opinion of {row.who}, {row.day}{stale}"


def dispute_words(row: DisputeRow) -> str:
    """Return a dispute and the answers to it."""
    answers = "".join(f" {one.who}, {one.day}: {one.words}" for one in row.answers)
    return f"{row.who}, {row.day}, disputes the {row.kind} “{row.about}”: {row.words}{answers}"


def answer_words(row: AnswerRow) -> str:
    """Return an answer to a finding, or to a claim that nobody disputes."""
    return f"{row.who}, {row.day}, on “{row.about}”: {row.words}"


def sign_off_words(row: SignOffRow) -> str:
    """Return a sign-off, and whether the audit has changed since."""
    which = "this version" if row.is_of_this_version else "another version"
    return f"{row.who}, {row.day}, signed off {which} of the audit."


def _answers_to(card: Scorecard, subject: str | None) -> list[AnswerRow]:
    found = [one for one in card.reviews.responses if one.to == subject]
    return [
        AnswerRow(_said(card, one.to), one.by, one.statement, one.locator or "", one.as_of)
        for one in sorted(found, key=lambda one: one.as_of)
    ]


def _said(card: Scorecard, subject: str) -> str:
    """A claim or a finding in words."""
    claims = {one.id: one.short for one in card.audit.claims}
    findings = {one.id: one.statement for one in card.audit.findings}
    return {**findings, **claims}.get(subject, subject)


def _disputed(card: Scorecard, one: Dispute) -> tuple[str, str]:
    """What kind of thing a dispute is about, and what it is called."""
    if one.claim is not None:
        return "claim", _said(card, one.claim)
    if one.arm is not None:
        return "arm", _arm(card, one.arm)
    return "setting", _setting(card, one.source or "")


def _arm(card: Scorecard, name: str) -> str:
    """What pages call an arm, shared or written in its claim."""
    arms = [arm for claim in card.audit.claims for _, arm in claim.arms()]
    own = [arm.words for arm in arms if not isinstance(arm, str) and arm.name == name]
    return next((words for words in own if words), Namer(card.audit).arm(name))


def _setting(card: Scorecard, name: str) -> str:
    """What pages call a setting, with its experiment where it is that experiment's own."""
    experiment, _, own = name.rpartition(".")
    if not experiment:
        found = card.audit.settings.get(name)
        return found.words if found is not None and found.words else name.replace("_", " ")
    if experiment not in card.audit.experiments:
        return name
    said = Namer(card.audit).setting(experiment, own)
    return f"{said} ({card.audit.experiments[experiment].title})"
