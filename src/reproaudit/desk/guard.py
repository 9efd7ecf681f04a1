"""Lets only the reviewer's own browser, on this machine, speak to the desk.

Other pages in the same browser, other names of this machine (DNS rebinding), requests without the
cookie, and long bodies are refused before anything is read or written.
"""

from __future__ import annotations

import secrets

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 * 1024  # a reason has a few hundred bytes

SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}

COPY = "Copy the address that 'reproaudit review' printed into the browser's address bar."


class Guard:
    """The outermost layer of the desk's application."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.token: str | None = secrets.token_urlsafe(32)  # in the printed address; works once
        self._app = app
        self._host = f"127.0.0.1:{port}"
        self._origin = f"http://127.0.0.1:{port}"
        self._cookie = f"desk-{port}"
        self._session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request itself, or hands it on with its body."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        refused = self._refused(request)
        body = b""
        if refused is None and request.method == "POST":
            body, refused = await _body(request)

        async def replayed() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        await (refused or self._app)(scope, replayed, secured)

    def _refused(self, request: Request) -> Response | None:
        headers = request.headers
        if request.method not in ("GET", "HEAD", "POST"):
            return _refusal(405, "Only pages and forms are served.")
        if headers.getlist("host") != [self._host]:
            return _refusal(421, f"This is {self._host}; the request was for something else.")
        origins = headers.getlist("origin")
        if (origins or request.method == "POST") and origins != [self._origin]:
            return _refusal(403, "A form of another page was refused.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _refusal(403, f"A request from another page was refused. {COPY}")
        is_known = _equal(request.cookies.get(self._cookie, ""), self._session)
        if request.scope["path"] == "/enter" and request.method == "GET":
            return self._entered(request, is_known)
        return None if is_known else _refusal(403, f"This browser has not entered. {COPY}")

    def _entered(self, request: Request, is_known: bool) -> Response:
        """Turns the token of the address into a cookie, once."""
        shown = request.query_params.get("token", "")
        right = self.token is not None and _equal(shown, self.token)
        if not right and not is_known:
            return _refusal(403, "This address is wrong, or was used. Start the command again.")
        response = RedirectResponse("/", 303)
        if right:
            self.token = None
            response.set_cookie(
                self._cookie, self._session, path="/", httponly=True, samesite="strict"
            )
        return response


async def _body(request: Request) -> tuple[bytes, Response | None]:
    """The body of a request, or the answer to one that is too long."""
    too_long = _refusal(413, f"Expected at most {LARGEST_BODY} bytes.")
    stated = request.headers.get("content-length", "0")
    if not stated.isdecimal() or len(stated) > 9 or int(stated) > LARGEST_BODY:
        return b"", too_long
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_BODY:
                return b"", too_long
    except ClientDisconnect:
        return b"", _refusal(400, "The request broke off.")
    return body, None


def _equal(a: str, b: str) -> bool:
    return secrets.compare_digest(a.encode(), b.encode())


def _refusal(status: int, text: str) -> Response:
    return PlainTextResponse(text + "\n", status, headers={"connection": "close"})
