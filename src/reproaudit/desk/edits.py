"""The acts of a reviewer: each takes what a review file says and returns what it says after."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TypeVar

from reproaudit.audit.document import UNREADABLE
from reproaudit.audit.model import (
    Audit,
    Dispute,
    Response,
    Review,
    ReviewDecision,
    Reviews,
    SignOff,
    VariableName,
    version_of,
)
from reproaudit.audit.plan import arms_of
from reproaudit.errors import UsageError, did_you_mean

Signed = TypeVar("Signed", Review, SignOff)
"""What a reviewer says at most once."""

DISPUTABLE = ("claim", "arm", "source")
"""The words that name what can be disputed; a claim's dispute covers its bound."""

EXAMPLES = "Examples: 'Dataset Splits=disagree: REASON', 'claim ID=dispute: REASON'."


def subjects(audit: Audit) -> dict[str, list[str]]:
    """Return the names of what can be disputed, by kind."""
    own = [
        f"{experiment}.{name}"
        for experiment, one in audit.experiments.items()
        for name in one.settings
    ]
    arms = [arm.name for claim in audit.claims for arm in arms_of(audit, claim)]
    return {
        "claim": [one.id for one in audit.claims],
        "arm": list(dict.fromkeys([*audit.arms, *arms])),
        "source": [*audit.settings, *own],
    }


def with_decision(
    reviews: Reviews, name: VariableName, reviewer: str, decision: str, reason: str, today: date
) -> Reviews:
    """Return the reviews with the reviewer's decision on a variable, in place of an earlier one.

    Raises:
        UsageError: if the decision is none of the three, or has no reason.
    """
    known = {one.value.replace("_", " "): one for one in ReviewDecision}
    chosen = known.get(decision.replace("_", " ").strip().lower())
    if chosen is None or not (reason := _readable(reason)):
        raise UsageError(f"expected one of {', '.join(known)}, then ': ' and the reason.")
    entry = Review(reviewer=reviewer, decision=chosen, reason=reason, as_of=today)
    return _with_decisions(reviews, name, _replaced(reviews.variables.get(name, ()), entry))


def withdraw_decision(reviews: Reviews, name: VariableName, reviewer: str) -> Reviews:
    """Return the reviews without the reviewer's decision on a variable, and their sign-off.

    Raises:
        UsageError: if there is none.
    """
    was = reviews.variables.get(name, ())
    left = tuple(one for one in was if one.reviewer != reviewer)
    if left == was:
        raise UsageError(f"{reviewer} has decided nothing on {name}.")
    signed = tuple(one for one in reviews.sign_offs if one.reviewer != reviewer)
    return _with_decisions(reviews.model_copy(update={"sign_offs": signed}), name, left)


def dispute(
    reviews: Reviews, kind: str, name: str, reviewer: str, reason: str, today: date
) -> Reviews:
    """Return the reviews with the reviewer's dispute, in place of an earlier one of the same.

    Raises:
        UsageError: if no reason is given.
    """
    if not (reason := _readable(reason)):
        raise UsageError("expected 'dispute: REASON' or 'withdraw'.")
    about = {kind: name}
    entry = Dispute(**about, reviewer=reviewer, reason=reason, as_of=today)
    left = [one for one in reviews.disputes if not _is(one, kind, name, reviewer)]
    return reviews.model_copy(update={"disputes": (*left, entry)})


def withdraw_dispute(reviews: Reviews, kind: str, name: str, reviewer: str) -> Reviews:
    """Return the reviews without the reviewer's dispute.

    Raises:
        UsageError: if there is none.
    """
    left = tuple(one for one in reviews.disputes if not _is(one, kind, name, reviewer))
    if left == reviews.disputes:
        raise UsageError(f"{reviewer} disputes no such thing.")
    return reviews.model_copy(update={"disputes": left})


def answer(reviews: Reviews, audit: Audit, to: str, by: str, text: str, today: date) -> Reviews:
    """Return the reviews with another answer to a finding or a claim.

    Raises:
        UsageError: if the audit has neither of this id.
    """
    known = [*(one.id for one in audit.findings), *(one.id for one in audit.claims)]
    if to not in known:
        raise UsageError(f"no finding or claim '{to}'. {did_you_mean(to, known)}")
    entry = Response(to=to, by=by, statement=_readable(text), as_of=today)
    return reviews.model_copy(update={"responses": (*reviews.responses, entry)})


def sign_off(reviews: Reviews, audit: Audit, reviewer: str, today: date) -> Reviews:
    """Return the reviews with the reviewer's sign-off of this version of the audit.

    Raises:
        UsageError: if the reviewer has not decided on every variable.
    """
    if left := undecided(reviews, reviewer):
        raise UsageError(f"decide on all variables before you sign off. Open: {', '.join(left)}.")
    entry = SignOff(reviewer=reviewer, version=version_of(audit), as_of=today)
    return reviews.model_copy(update={"sign_offs": _replaced(reviews.sign_offs, entry)})


def undecided(reviews: Reviews, reviewer: str) -> list[str]:
    """Return the variables on which a reviewer has not decided."""
    return [
        name.value
        for name in VariableName
        if reviewer not in [one.reviewer for one in reviews.variables.get(name, ())]
    ]


def carry_out(reviews: Reviews, audit: Audit, order: str, reviewer: str, today: date) -> Reviews:
    """Return the reviews after one `--set 'WHAT=WORD: TEXT'`.

    ``Dataset Splits=disagree: REASON``, ``claim ID=dispute: REASON``, ``arm NAME=…``,
    ``source SETTING=…``, any of these with ``withdraw``, and ``answer ID=TEXT``.

    Raises:
        UsageError: if the order is not of this form, or names what the audit does not have.
    """
    subject, _, said = (part.strip() for part in order.partition("="))
    if not subject or not said:
        raise UsageError(f"--set '{order}': expected WHAT=WORD: TEXT. {EXAMPLES}")
    kind, _, name = (part.strip() for part in subject.partition(" "))
    word, _, text = (part.strip() for part in said.partition(":"))
    try:
        if kind == "answer":
            return answer(reviews, audit, name, reviewer, said, today)
        if kind in DISPUTABLE:
            known = subjects(audit)[kind]
            if name not in known:
                raise UsageError(f"no {kind} '{name}'. {did_you_mean(name, known)}")
            if said == "withdraw":
                return withdraw_dispute(reviews, kind, name, reviewer)
            reason = text if word.lower() == "dispute" else ""
            return dispute(reviews, kind, name, reviewer, reason, today)
        variable = _variable(subject)
        if said == "withdraw":
            return withdraw_decision(reviews, variable, reviewer)
        return with_decision(reviews, variable, reviewer, word, text, today)
    except UsageError as error:
        raise UsageError(f"--set '{order}': {error}") from error


def _readable(text: str) -> str:
    """The text with spaces for characters that no file may hold: copies from a PDF have them."""
    return UNREADABLE.sub(" ", text).strip()


def _variable(name: str) -> VariableName:
    for one in VariableName:
        if one.value.lower() == name.lower():
            return one
    known = (*DISPUTABLE, "answer", *(one.value for one in VariableName))
    raise UsageError(f"nothing is called '{name}'. {did_you_mean(name, known)}")


def _with_decisions(reviews: Reviews, name: VariableName, decisions: tuple[Review, ...]) -> Reviews:
    return reviews.model_copy(update={"variables": {**reviews.variables, name: decisions}})


def _replaced(entries: Sequence[Signed], entry: Signed) -> tuple[Signed, ...]:
    """The entries with the same reviewer's one replaced where it was, or the entry added."""
    if entry.reviewer not in [one.reviewer for one in entries]:
        return tuple(entries) + (entry,)  # noqa: RUF005 (mypy)
    return tuple(entry if one.reviewer == entry.reviewer else one for one in entries)


def _is(one: Dispute, kind: str, name: str, reviewer: str) -> bool:
    return getattr(one, kind) == name and one.reviewer == reviewer
