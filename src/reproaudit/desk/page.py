"""The desk's single page: every question of a review with its form, and the acts behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from enum import StrEnum
from functools import cache, partial
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote

from jinja2 import Environment, PackageLoader
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from reproaudit.audit.loading import load_reviews
from reproaudit.audit.model import Audit, Claim, VariableName
from reproaudit.audit.review import MOST_NOTE_WORDS, Dispute, ReviewDecision, Reviews, version_of
from reproaudit.checks import Kind, Names, read_noun
from reproaudit.declarations import Quantity
from reproaudit.desk.session import DeskSession, StaleError
from reproaudit.errors import AuditError
from reproaudit.formats.names import Namer
from reproaudit.formats.numbers import listed, setting_value, stated
from reproaudit.report.pages import STYLE, environment
from reproaudit.report.printable import printable
from reproaudit.service import edits

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path d="M2 9l4 4 8-10" fill="none" stroke="#0b57a4" stroke-width="3"/></svg>'
)


NO_ANSWERS = "A note is about answers, and there are none yet: reproaudit run makes them."


def application(session: DeskSession) -> Starlette:
    """Return the desk's pages, without the guard."""

    async def show(_request: Request) -> Response:
        return _page(session)

    async def act(request: Request) -> Response:
        try:
            text = (await request.body()).decode()
            form = {name: value[-1] for name, value in parse_qs(text, max_num_fields=20).items()}
        except ValueError:
            return PlainTextResponse("Expected a form of this page.\n", 400)
        request.state.typed = form.get("reason", "")
        item = form.get("item", "")
        stamp = form.get("stamp", "")
        try:
            if item == "undo":
                session.undo(stamp)
            else:
                words, change = _act(session, item, form)
                session.edit(words, item, stamp, change)
        except StaleError as error:
            return _page(session, 409, str(error), error.change, form)
        except AuditError as error:
            field = error.field if isinstance(error, edits.FieldError) else ""
            return _page(session, 422, str(error), typed={**form, "field": field})
        return RedirectResponse(f"/#{quote(item)}", 303)

    async def style(_request: Request) -> Response:
        return Response(
            _templates().get_template("desk.css").render(shared=STYLE.read_text(encoding="utf-8")),
            media_type="text/css",
        )

    async def icon(_request: Request) -> Response:
        return Response(ICON, media_type="image/svg+xml")

    async def faulty(request: Request, error: Exception) -> Response:
        typed = getattr(request.state, "typed", "")
        kept = f"\nYou typed, and it was not saved:\n\n{typed}\n" if typed else ""
        return PlainTextResponse(f"{error}\n\nThen load this page again.\n{kept}", 409)

    return Starlette(
        exception_handlers={AuditError: faulty},
        routes=[
            Route("/", show, methods=["GET"]),
            Route("/", act, methods=["POST"]),
            Route("/style.css", style, methods=["GET"]),
            Route("/icon.svg", icon, methods=["GET"]),
        ],
    )


def _act(
    session: DeskSession, item: str, form: dict[str, str]
) -> tuple[str, Callable[[Reviews, Audit], Reviews]]:
    who = session.reviewer
    today = date.today()
    reason = form.get("reason", "")
    taken_back = form.get("act") == "withdraw"

    def withdrawn(reviews: Reviews, _audit: Audit) -> Reviews:
        return edits.withdraw(reviews, item, who)

    if item in set(VariableName):
        name = VariableName(item)
        if taken_back:
            return f"no decision on {name}", withdrawn
        decision = form.get("decision", "")
        return (
            f"{decision.replace('_', ' ')} on {name}",
            lambda r, _: edits.with_decision(r, name, who, decision, reason, today),
        )
    if item == edits.SIGN_OFF:
        return "signed off", lambda r, audit: edits.sign_off(r, audit, who, today)
    if item == edits.NOTE:
        if taken_back:
            return "no note", withdrawn
        card = session.scorecard(again=True)
        if card is None:
            raise AuditError(NO_ANSWERS)
        answers = card.answers_digest
        return "the note", lambda r, _: edits.with_note(r, reason, who, answers, today)
    kind, _, name_of = item.partition(" ")
    if kind not in edits.DISPUTABLE:
        raise AuditError("The page has no such item.")
    if taken_back:
        return f"no dispute of {name_of}", withdrawn
    return (
        f"dispute of {name_of}",
        lambda r, audit: edits.dispute(r, audit, item, who, reason, today),
    )


def _page(
    session: DeskSession,
    status: int = 200,
    error: str = "",
    change: str = "",
    typed: dict[str, str] | None = None,
) -> Response:
    audit = session.audit
    reviews = load_reviews(session.file)
    who = session.reviewer
    notice, session.notice = session.notice, ""
    typed = {"item": "", "decision": "", "reason": "", "field": "", **(typed or {})}
    own = {
        edits.item_of(entry): entry.reason for entry in reviews.disputes if entry.reviewer == who
    }
    gone = [item for item in own if not edits.audited(audit, item)]
    has_form = bool(edits.audited(audit, typed["item"]))

    def others(item: str) -> list[Dispute]:
        disputes = [entry for entry in reviews.disputes if edits.item_of(entry) == item]
        return [entry for entry in disputes if entry.reviewer != who]

    html = (
        _templates()
        .get_template("desk.html")
        .render(
            audit=audit,
            reviewer=who,
            notice=notice,
            error=error,
            change=change,
            typed=typed,
            typed_without_form="" if has_form else typed["reason"],
            last=session.last,
            undecided=edits.undecided(reviews, audit, who),
            decisions={
                variable.name: edits.entries_on(reviews, audit, variable.name, who, session.blind)
                for variable in audit.variables
            },
            own_disputes=own,
            others=others,
            gone=gone,
            stamp=partial(session.stamp, audit, reviews),
            words=[decision.value for decision in ReviewDecision],
            **_note_shown(session, audit, reviews),
            arm_rows=arm_rows,
            check_words=check_words,
            signed=any(
                s.reviewer == who and s.version == version_of(audit) for s in reviews.sign_offs
            ),
            subjects=edits.subjects(audit),
            setting_value=setting_value,
        )
    )
    return Response(html, status, media_type="text/html")


def _note_shown(session: DeskSession, audit: Audit, reviews: Reviews) -> dict[str, Any]:
    """The note as far as the reviewer may see it, whether it is stale, and why there is no form."""
    shown = edits.entries_on(reviews, audit, edits.NOTE, session.reviewer, session.blind)
    is_stale = False
    no_form = ""
    try:
        card = session.scorecard()
    except AuditError as error:
        no_form = f"A note is about answers, and they cannot be read: {error}"
    else:
        no_form = NO_ANSWERS if card is None else ""
        if card is not None:
            is_stale = card.model_copy(update={"reviews": reviews}).note_is_stale
    return {
        "note": reviews.note,
        "shows_note": bool(shown),
        "note_is_stale": is_stale,
        "no_note_form": no_form,
        "most_words": MOST_NOTE_WORDS,
    }


@cache
def _templates() -> Environment:
    return environment().overlay(
        loader=PackageLoader("reproaudit.desk", "templates"),
        finalize=lambda value: printable(value) if type(value) is str else value,
    )


# --- claims and arms in words, before anything has run -----------------------------------------


class ArmRow(NamedTuple):
    """An arm of a claim: its name in the audit, its role, what pages call it, and why it is so."""

    name: str
    role: str
    words: str
    about: str


def arm_rows(audit: Audit, claim: Claim) -> Iterator[ArmRow]:
    """Yield the arms of a claim: controls first, then the positive control and ablations."""
    arms = [("control", arm) for arm in claim.nulls]
    arms += [] if claim.constructed is None else [("positive control", claim.constructed)]
    arms += [(f"without {ablation.lacks}", ablation.arm) for ablation in claim.ablations]
    for role, name_or_arm in arms:
        arm = audit.arms[name_or_arm] if isinstance(name_or_arm, str) else name_or_arm
        name = name_or_arm if isinstance(name_or_arm, str) else name_or_arm.name
        yield ArmRow(name, role, arm.words or Namer(audit).arm(name), arm.why)


_UNSAID = frozenset({"kind", "origin", "why", "standard", "log"})  # have other words, or none

_PROVENANCE = {
    "paper": "from the paper",
    "derived": "derived",
    "null": "what the control reaches",
    "ceiling": "what the positive control reaches",
    "ours": "our number",
}


def check_words(audit: Audit, claim: Claim, check: Kind) -> str:
    """Return what a check of a claim asks of a run: its kind in words, and each of its fields."""
    namer = Namer(audit)
    names = namer.of(claim.experiment)
    phenomenon = (type(check).__doc__ or check.name).splitlines()[0].rstrip(".")
    by_mean = ["decided on the mean of the runs"] if check.by_mean else []
    text = "; ".join([*_fields(check, names), *by_mean])
    return f"{phenomenon}. {text[:1].upper()}{text[1:]}."


def _fields(model: BaseModel, names: Names) -> Iterator[str]:
    """Each field that is stated: what is read, then numbers, then where they come from."""
    fields = [
        (name.replace("_", " "), getattr(model, name))
        for name, field in type(model).model_fields.items()
        if name not in _UNSAID
        and getattr(model, name) != field.get_default(call_default_factory=True)
    ]
    for label, value in sorted(fields, key=lambda pair: isinstance(pair[1], int | float)):
        is_named = isinstance(value, int | float | BaseModel) and not isinstance(value, Quantity)
        yield f"{label}{'' if is_named else ':'} {_value(value, names)}".rstrip()
    origin = getattr(model, "origin", None)
    if origin is not None:
        why = getattr(model, "why", None)
        yield f"{_PROVENANCE[origin.value]}: {why}" if why else _PROVENANCE[origin.value]


def _value(value: Any, names: Names) -> str:
    if isinstance(value, Quantity):
        return _quantity(value, names)
    if isinstance(value, BaseModel):
        return f"({', '.join(_fields(value, names))})"
    if isinstance(value, bool):
        return "" if value else "no"
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, int | float):
        return stated(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(part, names)}" for name, part in value.items())
    if isinstance(value, tuple):
        return listed([_value(part, names) for part in value])
    return str(value).replace("_", " ")


def _quantity(quantity: Quantity, names: Names) -> str:
    """A quantity with its coordinates, its arm, and whether it is read before training."""
    where = [names.coordinate(at) for at in (*quantity.at.values(), *quantity.coordinates)]
    parts = [
        read_noun(quantity, names),
        f"at {', '.join(where)}" if where else "",
        "before training" if quantity.step == "first" else "",
        f'of the arm "{names.arm(quantity.arm)}"' if quantity.arm is not None else "",
    ]
    return " ".join(filter(None, parts))
