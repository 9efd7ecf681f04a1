"""A desk that runs, for tests: a server on the loopback address, and plain HTTP to it."""

import http.client
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from reproaudit.audit.review import Reviews
from reproaudit.desk.server import desk_server, listening
from reproaudit.desk.session import DeskSession
from reproaudit.formats.scorecard import Scorecard
from reproaudit.service.review_files import save

ROOT = Path(__file__).parents[2]

RESETS = 3
"""So often a connection may be reset before a request has failed."""


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    text: str


@dataclass
class RunningDesk:
    """A desk that runs.

    Attributes:
        address: what is printed, with the token.
        file: the review file.
        cookie: what the browser holds, empty until it has entered.
    """

    address: str
    file: Path
    cookie: str = ""
    host: str = field(init=False)

    def __post_init__(self) -> None:
        self.host = urlsplit(self.address).netloc

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str | None
    ) -> Answer:
        """One request; a header that is None is left out.

        A server that refuses by the head alone closes before the body comes, which may reset the
        connection before its answer is read. Then the request is made again.
        """
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        every = {"host": self.host, "cookie": self.cookie or None, **named}
        for _ in range(RESETS):
            with suppress(ConnectionResetError):
                return self._once(method, path, body, every)
        return self._once(method, path, body, every)

    def _once(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str | None]
    ) -> Answer:
        with closing(http.client.HTTPConnection(self.host, timeout=60)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None and "content-length" not in headers:
                connection.putheader("content-length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read().decode())

    def enter(self) -> Answer:
        """Opens the address, and keeps the cookie."""
        answer = self.send("GET", self.address.partition(self.host)[2])
        self.cookie = (answer.headers["set-cookie"] or self.cookie).partition(";")[0]
        return answer

    def get(self, path: str) -> Answer:
        return self.send("GET", path)

    def post(self, item: str, **fields: str) -> Answer:
        """A form of the page about an item, with its own stamp unless another is given."""
        body = urlencode({"item": item, "stamp": self.stamp(item), **fields}).encode()
        return self.send("POST", "/", body, origin=f"http://{self.host}")

    def stamp(self, item: str) -> str:
        """The stamp that the page shows for an item now; empty where it has no form."""
        page = self.get("/").text
        found = re.search(f'value="{re.escape(item)}">\\s*<input [^>]*value="([^"]*)"', page)
        return unescape(found[1]) if found else ""


@contextmanager
def running(
    file: Path,
    reviewer: str = "R2",
    *,
    blind: bool = True,
    scorecard: Callable[[], Scorecard | None] = lambda: None,
) -> Iterator[RunningDesk]:
    """A desk of an audit."""
    audit_file = file.with_suffix("").with_suffix(".yaml")
    with listening(0) as sock:
        session = DeskSession(audit_file, file, reviewer, blind, scorecard)
        server, address = desk_server(session, sock)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        try:
            yield RunningDesk(address, file)
        finally:
            server.should_exit = True
            thread.join(60)


def copied(folder: Path, slug: str = "wang2024") -> Path:
    """The review file of a shipped audit in another folder: the first reviewer alone, no note."""
    for name in (f"{slug}.yaml", f"{slug}.review.yaml"):
        shutil.copy(ROOT / "audits" / name, folder)
    file = folder / f"{slug}.review.yaml"

    def first_alone(reviews: Reviews) -> Reviews:
        first = {name: entries[:1] for name, entries in reviews.variables.items()}
        return reviews.model_copy(update={"variables": first, "note": None})

    save(file, first_alone)
    return file
