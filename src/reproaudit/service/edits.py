"""The acts of a reviewer: each takes what a review file says and returns what it says after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TypeVar

from reproaudit.audit.document import UNREADABLE
from reproaudit.audit.model import Audit, VariableName
from reproaudit.audit.review import (
    MOST_NOTE_WORDS,
    Dispute,
    Note,
    Response,
    Review,
    ReviewDecision,
    Reviews,
    SignOff,
    version_of,
)
from reproaudit.declarations import StrictModel
from reproaudit.errors import UsageError, did_you_mean

Signed = TypeVar("Signed", Review, SignOff)  # what a reviewer says at most once
DISPUTABLE = ("claim", "arm", "source")  # a claim's dispute covers its bound
SIGN_OFF = "sign-off"  # items of the desk's page
NOTE = "note"


class FieldError(UsageError):
    """What one field of a form holds is refused."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


EXAMPLES = "Examples: 'Dataset Splits=disagree: REASON', 'claim ID=dispute: REASON'."


def subjects(audit: Audit) -> dict[str, dict[str, list[StrictModel]]]:
    """Return what can be disputed: what the audit states, by kind and name."""
    arms: dict[str, list[StrictModel]] = {name: [arm] for name, arm in audit.arms.items()}
    for _, arm in (arm for claim in audit.claims for arm in claim.arms()):
        if not isinstance(arm, str):
            arms.setdefault(arm.name, []).append(arm)
    return {
        "claim": {claim.id: [claim] for claim in audit.claims},
        "arm": arms,
        "source": {name: [setting] for name, setting in audit.every_setting().items()},
    }


def item_of(dispute: Dispute) -> str:
    """Return what a dispute is about, as orders and pages name it: ``claim ID``."""
    return next(f"{kind} {name}" for kind in DISPUTABLE if (name := getattr(dispute, kind)))


def audited(audit: Audit, item: str) -> list[StrictModel]:
    """Return what the audit states of an item of the desk's page; nothing if it has no such item.

    An item is a variable, ``claim ID``, ``arm NAME``, ``source SETTING``, or, of all of the audit,
    the sign-off or the note.
    """
    if item in (SIGN_OFF, NOTE):
        return [audit]
    kind, _, name = item.partition(" ")
    of_kind: Mapping[str, list[StrictModel]] = subjects(audit).get(kind, {})
    return [variable for variable in audit.variables if variable.name == item] or of_kind.get(
        name, []
    )


def entries_on(
    reviews: Reviews, audit: Audit, item: str, reviewer: str, blind: bool
) -> Sequence[StrictModel]:
    """Return what a review file says of an item of `audited`, as far as the reviewer may see it.

    Others' decisions are hidden from the blind until they have decided themselves.
    """
    if item == SIGN_OFF:
        decided = [entry for entries in reviews.variables.values() for entry in entries]
        return [
            *(review for review in decided if review.reviewer == reviewer),
            *(sign_off for sign_off in reviews.sign_offs if sign_off.reviewer == reviewer),
        ]
    if item == NOTE:
        note = reviews.note
        hidden = blind and bool(undecided(reviews, audit, reviewer))
        if note is None or (note.reviewer != reviewer and hidden):
            return []
        return [note]
    if item in set(VariableName):
        decisions = reviews.variables.get(VariableName(item), ())
        own = [decision for decision in decisions if decision.reviewer == reviewer]
        return own if blind and not own else decisions
    return [dispute for dispute in reviews.disputes if item_of(dispute) == item]


def with_decision(
    reviews: Reviews, name: VariableName, reviewer: str, decision: str, reason: str, today: date
) -> Reviews:
    """Return the reviews with the reviewer's decision on a variable, in place of an earlier one.

    A UsageError if the decision is none of the three, or has no reason.
    """
    known = {word.value.replace("_", " "): word for word in ReviewDecision}
    chosen = known.get(decision.replace("_", " ").strip().lower())
    if chosen is None:
        raise FieldError("decision", f"expected one of {', '.join(known)}.")
    entry = Review(reviewer=reviewer, decision=chosen, reason=_reason(reason), as_of=today)
    return _with_decisions(reviews, name, _replaced(reviews.variables.get(name, ()), entry))


def dispute(
    reviews: Reviews, audit: Audit, item: str, reviewer: str, reason: str, today: date
) -> Reviews:
    """Return the reviews with the reviewer's dispute, in place of an earlier one of the same.

    A UsageError if the audit has no such item, or no reason is given.
    """
    kind, _, name = item.partition(" ")
    if name not in (known := subjects(audit)[kind]):
        raise UsageError(f"no {kind} '{name}'. {did_you_mean(name, known)}")
    about = {kind: name}
    entry = Dispute(**about, reviewer=reviewer, reason=_reason(reason), as_of=today)
    return reviews.model_copy(
        update={"disputes": (*_other_disputes(reviews, item, reviewer), entry)}
    )


def answer(reviews: Reviews, audit: Audit, to: str, by: str, text: str, today: date) -> Reviews:
    """Return the reviews with an answer to a finding or claim; a UsageError if there is neither."""
    known = [*(finding.id for finding in audit.findings), *(claim.id for claim in audit.claims)]
    if to not in known:
        raise UsageError(f"no finding or claim '{to}'. {did_you_mean(to, known)}")
    entry = Response(to=to, by=by, statement=_readable(text), as_of=today)
    return reviews.model_copy(update={"responses": (*reviews.responses, entry)})


def sign_off(reviews: Reviews, audit: Audit, reviewer: str, today: date) -> Reviews:
    """Return the reviews with a sign-off of this version; a UsageError if something is open."""
    if left := undecided(reviews, audit, reviewer):
        raise UsageError(f"decide on all variables before you sign off. Open: {', '.join(left)}.")
    entry = SignOff(reviewer=reviewer, version=version_of(audit), as_of=today)
    return reviews.model_copy(update={"sign_offs": _replaced(reviews.sign_offs, entry)})


def with_note(reviews: Reviews, text: str, reviewer: str, answers: str, today: date) -> Reviews:
    """Return the reviews with the reviewer's note on answers, in place of an earlier one of theirs.

    A UsageError if the text is empty, too long or not readable, or another's note is there.
    """
    if (control := UNREADABLE.search(text)) is not None:
        what = f"the control character U+{ord(control.group()):04X}"
        raise FieldError("reason", f"the note has {what}; expected readable text. Remove it.")
    words = text.split()
    if not words:
        raise FieldError("reason", f"the note is empty; expected 1 to {MOST_NOTE_WORDS} words.")
    if len(words) > MOST_NOTE_WORDS:
        raise FieldError(
            "reason",
            f"the note has {len(words)} words; expected at most {MOST_NOTE_WORDS}. Shorten it.",
        )
    there = reviews.note
    if there is not None and there.reviewer != reviewer:
        raise UsageError(
            f"{there.reviewer} wrote the note on {there.as_of}, and there is room for one. "
            f"First withdraw it: --reviewer '{there.reviewer}' --set note=withdraw."
        )
    entry = Note(reviewer=reviewer, text=" ".join(words), answers=answers, as_of=today)
    return reviews.model_copy(update={"note": entry})


def withdraw(reviews: Reviews, item: str, who: str) -> Reviews:
    """Return the reviews without what somebody said, whether or not the audit has the item.

    With a reviewer's decision their sign-off goes, too. A UsageError if they said nothing of it.

    Args:
        item: a variable, ``claim ID``, ``arm NAME``, ``source SETTING``, ``answer ID`` or the note.
    """
    kind, _, name = item.partition(" ")
    if item == NOTE:
        if reviews.note is None or reviews.note.reviewer != who:
            raise UsageError(f"{who} has written no note.")
        return reviews.model_copy(update={"note": None})
    if kind == "answer":
        to = [response.to for response in reviews.responses if response.by == who]
        if name not in to:
            raise UsageError(f"{who} has answered no such thing. {did_you_mean(name, to)}".rstrip())
        left = [answer for answer in reviews.responses if (answer.to, answer.by) != (name, who)]
        return reviews.model_copy(update={"responses": tuple(left)})
    if kind in DISPUTABLE:
        own = [item_of(dispute) for dispute in reviews.disputes if dispute.reviewer == who]
        if item not in own:
            raise UsageError(f"{who} disputes no such thing. {did_you_mean(item, own)}".rstrip())
        return reviews.model_copy(update={"disputes": _other_disputes(reviews, item, who)})
    decisions = reviews.variables.get(VariableName(item), ())
    others = tuple(decision for decision in decisions if decision.reviewer != who)
    if others == decisions:
        raise UsageError(f"{who} has decided nothing on {item}.")
    signed = tuple(sign_off for sign_off in reviews.sign_offs if sign_off.reviewer != who)
    unsigned = reviews.model_copy(update={"sign_offs": signed})
    return _with_decisions(unsigned, VariableName(item), others)


def _other_disputes(reviews: Reviews, item: str, reviewer: str) -> tuple[Dispute, ...]:
    own = (item, reviewer)
    return tuple(entry for entry in reviews.disputes if (item_of(entry), entry.reviewer) != own)


def undecided(reviews: Reviews, audit: Audit, reviewer: str) -> list[str]:
    """Return the variables with a card's result on which a reviewer has not decided."""
    names = [variable.name for variable in audit.variables if variable.card is not None]
    return [
        name.value
        for name in names
        if reviewer not in [review.reviewer for review in reviews.variables.get(name, ())]
    ]


def carry_out(reviews: Reviews, audit: Audit, order: str, reviewer: str, today: date) -> Reviews:
    """Return the reviews after one `--set 'WHAT=WORD: TEXT'`.

    ``Dataset Splits=disagree: REASON``, ``claim ID=dispute: REASON``, ``arm NAME=…``,
    ``source SETTING=…``, ``answer ID=TEXT``, and any of these with ``withdraw``, also where the
    audit no longer has what was disputed or answered; ``note=withdraw``.

    Raises:
        UsageError: if the order is not of this form, or names what the audit does not have.
    """
    subject, _, words = (part.strip() for part in order.partition("="))
    if not subject or not words:
        raise UsageError(f"--set '{order}': expected WHAT=WORD: TEXT. {EXAMPLES}")
    kind, _, name = (part.strip() for part in subject.partition(" "))
    word, _, text = (part.strip() for part in words.partition(":"))
    try:
        is_named = subject == NOTE or kind in (*DISPUTABLE, "answer")
        item = f"{kind} {name}".strip() if is_named else _variable(subject)
        if words == "withdraw":
            return withdraw(reviews, item, reviewer)
        if item == NOTE:
            raise UsageError("a note is written with --note FILE; here it can be withdrawn.")
        if kind == "answer":
            return answer(reviews, audit, name, reviewer, words, today)
        if kind not in DISPUTABLE:
            return with_decision(reviews, VariableName(item), reviewer, word, text, today)
        if word.lower() != "dispute":
            raise UsageError("expected 'dispute: REASON' or 'withdraw'.")
        return dispute(reviews, audit, item, reviewer, text, today)
    except UsageError as error:
        hint = f" {EXAMPLES}" if isinstance(error, FieldError) else ""
        raise UsageError(f"--set '{order}': {error}{hint}") from error


def _readable(text: str) -> str:
    """The text with spaces for characters that no file may hold: copies from a PDF have them."""
    return UNREADABLE.sub(" ", text).strip()


def _reason(text: str) -> str:
    if not (reason := _readable(text)):
        raise FieldError("reason", "expected a reason.")
    return reason


def _variable(name: str) -> VariableName:
    for variable in VariableName:
        if variable.value.lower() == name.lower():
            return variable
    known = (*DISPUTABLE, "answer", NOTE, *(variable.value for variable in VariableName))
    raise UsageError(f"nothing is called '{name}'. {did_you_mean(name, known)}")


def _with_decisions(reviews: Reviews, name: VariableName, decisions: tuple[Review, ...]) -> Reviews:
    return reviews.model_copy(update={"variables": {**reviews.variables, name: decisions}})


def _replaced(entries: Sequence[Signed], entry: Signed) -> tuple[Signed, ...]:
    """The entries with the same reviewer's one replaced where it was, or the entry added."""
    if entry.reviewer not in [earlier.reviewer for earlier in entries]:
        return tuple(entries) + (entry,)  # noqa: RUF005 (mypy)
    return tuple(entry if earlier.reviewer == entry.reviewer else earlier for earlier in entries)
