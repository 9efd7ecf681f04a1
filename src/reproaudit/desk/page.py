"""The desk's pages: what is open, one item after the other, and the forms that settle it.

Every page works without a script. A form is a POST; what it did is told on the next page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from reproaudit.audit.agreement import agreement
from reproaudit.audit.disputes import version_of
from reproaudit.audit.draft import TODO
from reproaudit.audit.variables import ReviewDecision
from reproaudit.desk import acts
from reproaudit.desk.acts import Disputed
from reproaudit.desk.saving import difference, git_difference
from reproaudit.desk.script import setting_value
from reproaudit.desk.session import DeskSession, StaleError, stamp_of
from reproaudit.desk.splicing import YamlText
from reproaudit.desk.styling import ICON, page_templates, shown_field, style_sheet
from reproaudit.desk.views import DeskView
from reproaudit.errors import AuditError, UsageError

MOST_FIELDS = 20
"""Fields of a form; the largest has eight."""

SIGNED_KINDS = ("claim", "setting", "finding")
"""The kinds of items that a sign-off says were read."""

MOST_UNOPENED = 12
"""Items of a kind that the last page names as not opened; it counts the others."""

Fields = dict[str, str]
TextEdit = Callable[[YamlText, date], YamlText]


@dataclass(frozen=True)
class Order:
    """The edit that a submitted form asks for.

    Attributes:
        words: what it does, for the reviewer.
        change: the edit.
        next: the page that follows.
    """

    words: str
    change: TextEdit
    next: str


@dataclass(frozen=True)
class Looked:
    """The share of one kind of items that a reviewer has opened since the desk was started.

    Attributes:
        kind: the kind, in the plural.
        of: the number of items.
        opened: the number of those whose page was shown.
        unopened: the address and name of those whose page was not, at most `MOST_UNOPENED`.
    """

    kind: str
    of: int
    opened: int
    unopened: Sequence[tuple[str, str]]


def application(session: DeskSession) -> Starlette:
    """The pages of a session; `guard.Guard` stands before them."""
    return Starlette(routes=_Desk(session).routes(), exception_handlers={AuditError: _broken})


class _Desk:
    """The pages of one session."""

    def __init__(self, session: DeskSession) -> None:
        self._session = session

    def routes(self) -> list[Route]:
        both = ["GET", "POST"]
        item = partial(Route, methods=both)
        return [
            Route("/", self._overview),
            Route("/style.css", _style),
            Route("/icon.svg", _icon),
            item("/variable/{index:int}", partial(self._item, "variable")),
            Route("/settings", partial(self._list, "settings")),
            item("/setting/{name:str}", partial(self._item, "setting")),
            item("/claim/{index:int}", partial(self._item, "claim")),
            item("/finding/{index:int}", partial(self._item, "finding")),
            item("/unfinished", self._unfinished),
            Route("/changes", self._changes),
            Route("/undo", self._undo, methods=["POST"]),
            item("/end", self._end),
        ]

    # --- pages ------------------------------------------------------------------------------------

    def _view(self) -> DeskView:
        return DeskView(self._session.read(), self._session.reviewer, self._session.blind)

    def _shown(self, name: str, view: DeskView, status: int = 200, **more: Any) -> Response:
        told, self._session.told = self._session.told, ""
        undo = self._session.steps[-1] if self._session.steps else None
        values: dict[str, Any] = {
            "view": view,
            "told": told,
            "undo": undo,
            "error": "",
            "typed": {},
            "stale": False,
        }
        return HTMLResponse(
            page_templates().get_template(f"{name}.html.j2").render({**values, **more}), status
        )

    async def _overview(self, _request: Request) -> Response:
        view = self._view()
        return self._shown("overview", view, next=_next(view))

    async def _list(self, name: str, _request: Request) -> Response:
        return self._shown(name, self._view())

    async def _changes(self, _request: Request) -> Response:
        view = self._view()
        hides = self._session.blind and not view.signed
        if hides:  # one's own edits alone, and no line beside them
            steps = self._session.steps
            own = "".join(difference(one.before, one.after, context=0) for one in steps)
        else:
            own = difference(self._session.first, view.version)
        by_git = None if hides else git_difference(self._session.path)
        return self._shown("changes", view, own=own, by_git=by_git, hides=hides)

    async def _undo(self, request: Request) -> Response:
        self._session.undo((await _form(request)).get("digest", ""))
        return RedirectResponse("/changes", 303)

    # --- items and their forms --------------------------------------------------------------------

    async def _item(self, kind: str, request: Request) -> Response:
        """One variable, setting, claim or finding; a form changes it."""
        key = request.path_params.get("index", request.path_params.get("name"))
        view = self._view()
        item = _found(view, kind, key)
        self._session.opened.add((kind, item.key))
        if request.method != "POST":
            return self._shown(kind, view, item=item)
        form = await _form(request)
        orders = {
            "variable": self._of_variable,
            "setting": self._of_setting,
            "claim": self._of_claim,
            "finding": self._of_finding,
        }
        try:
            order = orders[kind](view, item, form)
            self._session.edit(
                order.words,
                form.get("stamp", ""),
                lambda version: _stamp(self._view_of(version), kind, key),
                order.change,
            )
        except StaleError:
            return self._conflict(kind, key, form)
        except AuditError as error:
            view = self._view()
            shown = _found(view, kind, key)
            return self._shown(kind, view, 422, item=shown, error=str(error), typed=form)
        return RedirectResponse(order.next or _next(self._view()), 303)

    def _view_of(self, version: Any) -> DeskView:
        return DeskView(version, self._session.reviewer, self._session.blind)

    def _conflict(self, kind: str, key: Any, form: Fields) -> Response:
        """The item has changed: its present state, with what was typed, to choose from."""
        view = self._view()
        return self._shown(kind, view, 409, item=_found(view, kind, key), typed=form, stale=True)

    def _of_variable(self, view: DeskView, item: Any, form: Fields) -> Order:
        who = self._session.reviewer
        if form.get("do") == "withdraw":
            take = partial(acts.withdraw_decision, name=item.name, reviewer=who)
            here = f"/variable/{item.index}"
            words = f"your decision on {item.name} withdrawn"
            if view.signed:
                words += ", and with it your sign-off, which needs all nine"
            return Order(words, lambda t, _: take(t), here)
        if form.get("decision") not in list(ReviewDecision):
            raise UsageError("Choose one: agree, disagree or not applicable.")
        decision = ReviewDecision(form["decision"])
        reason = _needed(form, "reason", "Give your reason, in one sentence.")
        words = f"{item.name}: {decision.value.replace('_', ' ')}"
        left = [one for one in view.undecided() if one.index != item.index]
        after = [one for one in left if one.index > item.index] or left
        return Order(
            words,
            lambda text, today: acts.decide(text, item.name, who, decision, reason, today),
            f"/variable/{after[0].index}" if after else "",
        )

    def _of_setting(self, _view: DeskView, item: Any, form: Fields) -> Order:
        here = f"/setting/{item.name}"
        if form.get("do") != "correct":
            return self._of_dispute(
                Disputed(source=item.name), f"source of {item.name}", form, here
            )

        def corrected(text: YamlText, _: date) -> YamlText:
            for field in acts.SETTING_FIELDS:
                said = form.get(field, "").strip()
                was = shown_field(item.setting, field)
                if said != was:
                    many = field == "alternatives"
                    value = setting_value(said, many=many) if many or field == "value" else said
                    text = acts.correct(text, item.name, field, value)
            return text

        return Order(f"setting {item.name} corrected", corrected, here)

    def _of_claim(self, _view: DeskView, item: Any, form: Fields) -> Order:
        here = f"/claim/{item.index}"
        identifier = item.claim.id
        if form.get("do") == "answer":
            return self._of_answer(identifier, form, here)
        part, _, key = form.get("about", "claim").partition(":")
        if part == "tolerance" and key.isdecimal() and int(key) < len(item.checks):
            name = item.claim.checks[int(key)].name
            about = Disputed(claim=identifier, tolerance=name)
            return self._of_dispute(about, f"tolerance of '{name}'", form, here)
        if part == "control" and key in [one.key for one in item.controls]:
            number = key if key == "positive" else int(key)
            about = Disputed(claim=identifier, control=number)
            return self._of_dispute(about, f"control {key} of {identifier}", form, here)
        return self._of_dispute(Disputed(claim=identifier), identifier, form, here)

    def _of_finding(self, _view: DeskView, item: Any, form: Fields) -> Order:
        return self._of_answer(item.finding.id, form, f"/finding/{item.index}")

    def _of_dispute(self, about: Disputed, words: str, form: Fields, here: str) -> Order:
        who = self._session.reviewer
        if form.get("do") == "withdraw":
            return Order(
                f"dispute withdrawn, {words}",
                lambda text, _: acts.withdraw_dispute(text, about, who),
                here,
            )
        reason = _needed(form, "reason", "Give your reason, in one or two sentences.")
        return Order(
            f"disputed, {words}",
            lambda text, today: acts.dispute(text, about, who, reason, today),
            here,
        )

    def _of_answer(self, to: str, form: Fields, here: str) -> Order:
        by = _needed(form, "by", "Say who answers.")
        statement = _needed(form, "statement", "Write the answer.")
        where = form.get("locator", "").strip() or None
        return Order(
            f"answer to {to}",
            lambda text, today: acts.answer(text, to, by, statement, where, today),
            here,
        )

    # --- drafts, and the end ----------------------------------------------------------------------

    async def _unfinished(self, request: Request) -> Response:
        """The fields of a draft that are still TODO, each with a box to write it in."""
        view = self._view()
        if request.method != "POST":
            return self._shown("unfinished", view, todos=_todos(view))
        form = await _form(request)
        todos = {stamp_of(loc): loc for _, loc, _ in _todos(view)}
        loc = todos.get(form.get("stamp", ""))
        if loc is None:
            self._session.told = "Somebody has written that already; nothing was saved."
            return RedirectResponse("/unfinished", 303)
        try:
            said = _needed(form, "text", "Write what belongs here.")
            value = setting_value(said) if form.get("as") == "number" else said
            self._session.edit(
                f"{form.get('path', 'text')} written",
                stamp_of(loc, True),
                lambda version: stamp_of(loc, TODO in str(version.text.at(loc))),
                lambda text, _: text.put(loc, value),
            )
        except AuditError as error:
            view = self._view()
            return self._shown(
                "unfinished", view, 422, todos=_todos(view), error=str(error), typed=form
            )
        return RedirectResponse("/unfinished", 303)

    async def _end(self, request: Request) -> Response:
        """Agreement, what is still open, and the sign-off."""
        view = self._view()
        audit = view.audit
        error = ""
        if request.method == "POST":
            shown = (await _form(request)).get("version", "")
            try:
                if view.undecided():
                    raise UsageError("Decide on all nine variables first.")
                self._session.edit(
                    "signed off",
                    shown,
                    lambda version: version_of(version.audit) if version.audit else "",
                    lambda text, today: acts.sign_off(text, view.reviewer, shown, today),
                )
                return RedirectResponse("/end", 303)
            except StaleError:
                error = "The audit has changed since you saw it. Look at the changes first."
            except AuditError as refused:
                error = str(refused)
            view = self._view()
            audit = view.audit
        sees = not (view.blind and view.undecided())
        return self._shown(
            "end",
            view,
            422 if error else 200,
            error=error,
            hash=version_of(audit) if audit is not None else "",
            agreement=agreement(audit.variables) if audit is not None and sees else None,
            sees=sees,
            looked=[_looked(kind, view, self._session.opened) for kind in SIGNED_KINDS],
            signs_this=audit is not None
            and (view.reviewer, version_of(audit))
            in [(one.reviewer, one.version) for one in audit.sign_offs],
        )


# --- helpers --------------------------------------------------------------------------------------


def _found(view: DeskView, kind: str, key: Any) -> Any:
    """The item of a page.

    Raises:
        HTTPException: 404 if there is none.
    """
    if kind == "setting":
        found = [one for one in view.settings() if one.name == key]
    else:
        several: dict[str, Callable[[], list[Any]]] = {
            "variable": view.variables,
            "claim": view.claims,
            "finding": view.findings,
        }
        found = [one for one in several[kind]() if one.index == key]
    if not found:
        raise HTTPException(404, "There is no such page.")
    return found[0]


def _looked(kind: str, view: DeskView, opened: Collection[tuple[str, str]]) -> Looked:
    """The items of a kind, counted, with those that were not opened."""
    if kind == "setting":
        every = [(f"/setting/{quote(one.name, safe='')}", one.key) for one in view.settings()]
    else:
        items = view.claims() if kind == "claim" else view.findings()
        every = [(f"/{kind}/{one.index}", one.key) for one in items]
    left = [(address, key) for address, key in every if (kind, key) not in opened]
    return Looked(f"{kind}s", len(every), len(every) - len(left), left[:MOST_UNOPENED])


def _stamp(view: DeskView, kind: str, key: Any) -> str:
    try:
        return str(_found(view, kind, key).stamp)
    except HTTPException:
        return ""


def _next(view: DeskView) -> str:
    """The first page on which something is open."""
    if view.undecided():
        return f"/variable/{view.undecided()[0].index}"
    return "/unfinished" if view.audit is None else "/end"


def _todos(view: DeskView) -> list[tuple[str, tuple[str | int, ...], str]]:
    """Every text that is still TODO: its path in words, its place, and the fault."""
    return [
        (fault.path, fault.loc, fault.message)
        for fault in view.version.faults
        if fault.rule in ("RA058", "RA153") and "reviews" not in fault.loc
    ]


def _needed(form: Fields, name: str, words: str) -> str:
    text = form.get(name, "").strip()
    if not text:
        raise UsageError(words)
    return text


async def _form(request: Request) -> Fields:
    """The fields of a form; a line break is one character."""
    try:
        pairs = parse_qsl(
            (await request.body()).decode(),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as error:
        raise HTTPException(400, "This is no form of the desk.") from error
    return {name: text.replace("\r\n", "\n") for name, text in pairs}


async def _broken(_request: Request, error: Exception) -> Response:
    """The file cannot be read at all; what to mend."""
    return PlainTextResponse(
        f"The audit cannot be read. Mend it, and load again.\n\n{error}\n", 500
    )


async def _style(_request: Request) -> Response:
    return Response(style_sheet(), media_type="text/css")


async def _icon(_request: Request) -> Response:
    return Response(ICON, media_type="image/svg+xml")
