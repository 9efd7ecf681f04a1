"""Nothing but the reviewer's own browser reads or writes through the desk."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from desks import RunningDesk, copied, running

from reproaudit.desk import server
from reproaudit.desk.guard import LARGEST_BODY
from reproaudit.desk.server import listening
from reproaudit.errors import UsageError


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[RunningDesk]:
    with running(copied(tmp_path)) as one:
        before = one.file.read_bytes()
        one.enter()
        yield one
        assert one.file.read_bytes() == before, "a refused request has changed the file"


FORM = urlencode({"decision": "agree", "reason": "so"}).encode()


def test_it_listens_on_the_loopback_address_alone(desk):
    port = int(desk.host.partition(":")[2])
    assert desk.host.startswith("127.0.0.1:")
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in addresses - {"127.0.0.1"}:
        with pytest.raises((ConnectionError, TimeoutError)):
            socket.create_connection((address, port), timeout=2)
    with pytest.raises(UsageError, match="--port"), listening(port):
        pass


def test_the_address_works_once(tmp_path):
    with running(copied(tmp_path)) as one:
        assert one.get("/").status == 403
        assert one.send("GET", "/enter?token=wrong").status == 403
        assert one.send("GET", "/enter").status == 403
        entered = one.enter()
        assert entered.status == 303
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert one.get("/").status == 200
        assert one.enter().status == 303  # the browser that has the cookie may open it again
        one.cookie = ""
        assert one.enter().status == 403


@pytest.mark.parametrize(
    "cookie", [None, "", "desk=x", "{name}=x", "{name}", "=;;\x01", "{value}x"]
)
def test_another_cookie_is_refused(desk, cookie):
    name = desk.cookie.partition("=")[0]
    shown = cookie.format(name=name, value=desk.cookie) if cookie is not None else None
    assert desk.send("GET", "/", cookie=shown).status in (400, 403)


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "evil.example:{port}", "localhost:{port}", "127.0.0.1",
     "[::1]:{port}", "127.0.0.1:{port}.evil.example", "127.0.0.1:1"],
)  # fmt: skip
def test_another_name_of_this_machine_is_refused(desk, host):
    port = desk.host.partition(":")[2]
    shown = host.format(port=port) if host is not None else None
    for path in ("/", "/style.css", "/enter?token=x"):
        assert desk.send("GET", path, host=shown).status in (400, 421)
    origin = f"http://{shown}"
    assert desk.send("POST", "/", FORM, host=shown, origin=origin).status in (400, 421)


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "https://{host}",
    "http://localhost:{port}", "http://127.0.0.1:1", "http://{host}.evil.example"])  # fmt: skip
def test_a_form_of_another_page_is_refused(desk, origin):
    port = desk.host.partition(":")[2]
    shown = origin.format(host=desk.host, port=port) if origin is not None else None
    answer = desk.send("POST", "/", FORM, origin=shown)
    assert answer.status == 403
    if shown is not None:
        assert desk.send("GET", "/", origin=shown).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_page_causes_is_refused(desk, site):
    assert desk.send("GET", "/", sec_fetch_site=site).status == 403
    own = f"http://{desk.host}"
    answer = desk.send("POST", "/", FORM, origin=own, sec_fetch_site=site)
    assert answer.status == 403


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/style.css/../../../etc/passwd",
     "/setting/..%2f..%2fetc%2fpasswd", "/setting/%00", "/variable/-1", "/variable/9", "/claim/99",
     "/variable/99999999999999999999", "/wang2024.yaml", "//evil.example/", "/static/x"],
)  # fmt: skip
def test_only_the_pages_are_served(desk, path):
    answer = desk.get(path)
    assert answer.status in (307, 404)
    assert "root:" not in answer.text
    assert "evil" not in answer.headers.get("location", "")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_only_pages_and_forms_are_served(desk, method):
    assert desk.send(method, "/", origin=f"http://{desk.host}").status == 405


def test_a_long_body_is_refused(desk):
    origin = f"http://{desk.host}"
    body = b"reason=" + b"x" * LARGEST_BODY
    assert desk.send("POST", "/", body, origin=origin).status == 413
    for length in ("99999999999", "-1", "1e9"):
        answer = desk.send("POST", "/", b"", origin=origin, content_length=length)
        assert answer.status in (400, 413)
    chunks = b"".join(b"%x\r\n%s\r\n" % (4096, b"x" * 4096) for _ in range(40)) + b"0\r\n\r\n"
    with socket.create_connection(tuple(desk.host.split(":")), timeout=60) as raw:  # type: ignore[arg-type]
        raw.sendall(
            f"POST / HTTP/1.1\r\nhost: {desk.host}\r\ncookie: {desk.cookie}\r\n"
            f"origin: {origin}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
            + chunks
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("sent", ["", "POST / HT", "POST / HTTP/1.1\r\nhost: {host}\r\n"
    "cookie: {cookie}\r\norigin: http://{host}\r\ncontent-length: 9\r\n\r\nitem"])  # fmt: skip
def test_a_connection_that_asks_for_nothing_is_cut_off(desk, monkeypatch, sent):
    monkeypatch.setattr(server, "ANSWERED_WITHIN", 0.3)
    with socket.create_connection(tuple(desk.host.split(":")), timeout=9) as raw:  # type: ignore[arg-type]
        raw.sendall(sent.format(host=desk.host, cookie=desk.cookie).encode())
        with suppress(ConnectionResetError):
            assert raw.recv(100) == b""


@pytest.mark.parametrize("body", [b"\xff=\xff", b"&".join(b"a%d=1" % i for i in range(99)), b""])
def test_what_is_no_form_is_refused(desk, body):
    answer = desk.send("POST", "/", body, origin=f"http://{desk.host}")
    assert answer.status in (400, 409, 422)


def test_every_answer_forbids_what_a_page_could_load(desk):
    for path in ("/", "/nothing", "/style.css"):
        headers = desk.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script" not in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    refused = desk.send("GET", "/", cookie=None)
    assert "default-src 'none'" in refused.headers["content-security-policy"]
    assert "<script" not in desk.get("/").text
