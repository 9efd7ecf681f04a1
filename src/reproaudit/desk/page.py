"""The desk's single page: every question of a review with its form, and the acts behind them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import cache
from urllib.parse import parse_qs, quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from reproaudit.audit.model import ReviewDecision, Reviews, VariableName, version_of
from reproaudit.desk import edits
from reproaudit.desk.saving import read_version
from reproaudit.desk.session import DeskSession, StaleError, stamp_of
from reproaudit.errors import AuditError
from reproaudit.report.html import STYLE
from reproaudit.report.numbers import setting_value
from reproaudit.report.printable import printable

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path d="M2 9l4 4 8-10" fill="none" stroke="#0b57a4" stroke-width="3"/></svg>'
)

STALE = (
    "Not saved: this item was changed in the file after you opened it. The page shows what the "
    "file says now, with your words still in the form. Save again to put them there."
)


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
        item = form.get("item", "")
        try:
            if item == "undo":
                session.undo()
            else:
                words, change = _act(session, item, form)
                session.edit(words, item, form.get("stamp", ""), change)
        except StaleError:
            return _page(session, error=STALE, typed=form, status=409)
        except AuditError as error:
            return _page(session, error=str(error), typed=form, status=422)
        return RedirectResponse(f"/#{quote(item)}", 303)

    async def style(_request: Request) -> Response:
        return Response(
            _templates().get_template("desk.css").render(shared=STYLE.read_text(encoding="utf-8")),
            media_type="text/css",
        )

    async def icon(_request: Request) -> Response:
        return Response(ICON, media_type="image/svg+xml")

    async def faulty(_request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{error}\n\nThen load this page again.\n", 409)

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
) -> tuple[str, Callable[[Reviews], Reviews]]:
    """What a form does, in words, and the edit."""
    who, today, reason = session.reviewer, date.today(), form.get("reason", "")
    taken_back = form.get("act") == "withdraw"
    if item in set(VariableName):
        name = VariableName(item)
        if taken_back:
            return f"no decision on {name}", lambda r: edits.withdraw_decision(r, name, who)
        decision = form.get("decision", "")
        return (
            f"{decision.replace('_', ' ')} on {name}",
            lambda r: edits.with_decision(r, name, who, decision, reason, today),
        )
    audit = session.audit
    if item == "sign-off":
        return "signed off", lambda r: edits.sign_off(r, audit, who, today)
    kind, _, name_of = item.partition(" ")
    if name_of not in edits.subjects(audit).get(kind, ()):
        raise AuditError("The audit has no such item any more.")
    if taken_back:
        return f"no dispute of {name_of}", lambda r: edits.withdraw_dispute(r, kind, name_of, who)
    return (
        f"dispute of {name_of}",
        lambda r: edits.dispute(r, kind, name_of, who, reason, today),
    )


def _page(
    session: DeskSession, error: str = "", typed: dict[str, str] | None = None, status: int = 200
) -> Response:
    audit, reviews, who = session.audit, read_version(session.file).reviews, session.reviewer
    notice, session.notice = session.notice, ""
    undecided = edits.undecided(reviews, who)
    shown = {"item": "", "decision": "", "reason": "", **(typed or {})}

    def own_dispute(item: str) -> str:
        kind, _, name = item.partition(" ")
        own = [d for d in reviews.disputes if getattr(d, kind) == name and d.reviewer == who]
        return own[0].reason if own else ""

    def others(item: str) -> list[tuple[str, str]]:
        kind, _, name = item.partition(" ")
        found = [d for d in reviews.disputes if getattr(d, kind) == name and d.reviewer != who]
        return [(d.reviewer, d.reason) for d in found]

    html = (
        _templates()
        .get_template("desk.html")
        .render(
            audit=audit,
            reviewer=who,
            notice=notice,
            error=error,
            typed=shown,
            last=session.last,
            undecided=undecided,
            decisions={v.name: reviews.variables.get(v.name, ()) for v in audit.variables},
            hidden=lambda name: session.blind and name.value in undecided,
            own_dispute=own_dispute,
            others=others,
            stamp=lambda item: stamp_of(reviews, item),
            words=[one.value for one in ReviewDecision],
            signed=any(
                s.reviewer == who and s.version == version_of(audit) for s in reviews.sign_offs
            ),
            subjects=edits.subjects(audit),
            setting_value=setting_value,
        )
    )
    return Response(html, status, media_type="text/html")


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("reproaudit.desk", "templates"),
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
