"""What reviewers and authors say of an audit, in sentences: who, when, about what.

What an audit no longer has is named by its id.
"""

from __future__ import annotations

from operator import attrgetter

from reproaudit.audit.review import Dispute, version_of
from reproaudit.formats.names import Namer
from reproaudit.formats.scorecard import HeadNote, Scorecard


def decisions(card: Scorecard) -> list[str]:
    """Return every decision on a variable, in the order of the audit's variables."""
    return [
        f"{variable.name}: {review.reviewer}, {review.as_of}, {review.decision.replace('_', ' ')}. "
        f"{review.reason}"
        for variable in card.audit.variables
        for review in card.reviews.variables.get(variable.name, ())
    ]


def opinions(card: Scorecard) -> list[str]:
    """Return the disputes with their answers, then other answers, then sign-offs; oldest first."""
    said = {finding.id: finding.statement for finding in card.audit.findings}
    said |= {claim.id: claim.short for claim in card.audit.claims}
    day = attrgetter("as_of")
    answers = sorted(card.reviews.responses, key=day)
    found = []
    for dispute in sorted(card.reviews.disputes, key=day):
        to_it = [answer for answer in answers if answer.to == dispute.claim]
        replies = "".join(f" {each.by}, {each.as_of}: {each.statement}" for each in to_it)
        about = (
            f"claim “{said.get(dispute.claim, dispute.claim)}”"
            if dispute.claim
            else _about(card, dispute)
        )
        found.append(
            f"{dispute.reviewer}, {dispute.as_of}, disputes the {about}: {dispute.reason}{replies}"
        )
    disputed = {dispute.claim for dispute in card.reviews.disputes}
    for answer in answers:
        if answer.to not in disputed:
            about = said.get(answer.to, answer.to)
            found.append(f"{answer.by}, {answer.as_of}, on “{about}”: {answer.statement}")
    for sign_off in sorted(card.reviews.sign_offs, key=day):
        is_of_this = sign_off.version == version_of(card.audit)
        which = "this version" if is_of_this else "another version"
        who = sign_off.reviewer
        found.append(f"{who}, {sign_off.as_of}, signed off {which} of the audit.")
    return found


def note_words(note: HeadNote) -> str:
    """Return whose opinion a note is, from when, and whether claims or answers have changed
    since."""
    stale = "; claims or answers have changed since" if note.stale else ""
    return f"opinion of {note.by}, {note.as_of}{stale}"


def _about(card: Scorecard, dispute: Dispute) -> str:
    """The arm or the setting that is disputed, as pages call it."""
    namer = Namer(card.audit)
    if dispute.arm is not None:
        arms = [arm for claim in card.audit.claims for _, arm in claim.arms()]
        own = [arm.words for arm in arms if not isinstance(arm, str) and arm.name == dispute.arm]
        return f"arm “{next(filter(None, own), namer.arm(dispute.arm))}”"
    source = str(dispute.source)
    experiment, _, name = source.rpartition(".")
    if experiment in card.audit.experiments:
        title = card.audit.experiments[experiment].title
        return f"setting “{namer.setting(experiment, name)} ({title})”"
    shared = card.audit.settings.get(source)
    called = source if experiment else source.replace("_", " ")
    return f"setting “{shared.words if shared and shared.words else called}”"
