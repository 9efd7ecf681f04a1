"""Serves the desk on the loopback address until it is interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from reproaudit.desk.guard import Guard
from reproaudit.desk.page import application
from reproaudit.desk.session import DeskSession
from reproaudit.errors import UsageError

LOOPBACK = "127.0.0.1"

ANSWERED_WITHIN = 30.0  # seconds, for a connection and each request after an answer


def serve(session: DeskSession, *, port: int, tell: Callable[[str], object]) -> None:
    """Serves the desk until Ctrl-C; a UsageError if the port, 0 for any, cannot be used."""
    with listening(port) as sock:
        server, address = desk_server(session, sock)
        tell(f"Open {address}")
        tell("The address works once, on this machine only. Ctrl-C ends the desk.")
        with contextlib.suppress(KeyboardInterrupt):  # the way to end it
            server.run(sockets=[sock])


class TimedConnection(H11Protocol):
    """A connection that is cut off if its next request does not come, or its answer is not taken.

    So connections that somebody opens and forgets do not use up those that a desk may have.
    """

    _limit: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the time."""
        super().connection_made(transport)
        self._limit = self.loop.call_later(ANSWERED_WITHIN, transport.abort)

    def on_response_complete(self) -> None:
        """Starts the time of the next request."""
        self._limit.cancel()
        self._limit = self.loop.call_later(ANSWERED_WITHIN, self.transport.abort)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the time."""
        self._limit.cancel()
        super().connection_lost(exc)


def desk_server(session: DeskSession, sock: socket.socket) -> tuple[uvicorn.Server, str]:
    """A server of a session on a socket, and the address that lets one browser in."""
    guard = Guard(application(session), sock.getsockname()[1])
    config = uvicorn.Config(
        guard,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        loop="asyncio",
        http=TimedConnection,
        limit_concurrency=64,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=3,
    )
    address = f"http://{LOOPBACK}:{sock.getsockname()[1]}/enter?token={guard.token}"
    return uvicorn.Server(config), address


def listening(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address alone; a UsageError if none can."""
    try:
        return socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else error
        raise UsageError(f"--port {port}: {reason}. Choose another, or 0.") from error
