"""Hostile data and hostile requests: no script runs, nothing leaves, and the server lives."""

import http.client
import io
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import jinx
import view_data
from jinx._viewer.app import Viewer
from jinx._viewer.server import ViewServer
from jinx._viewer.shown import ShownDataset
from view_data import until

HTML = (
    "<script>window.hacked=1</script><img src=http://evil.test/x onerror='window.hacked=2'>"
    "<a href='javascript:hacked=3'>"
)
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="parent.hacked=4">'
    b"<script>parent.hacked=5</script><image href='http://evil.test/y.png'/>"
    b"<rect width='40' height='40' fill='red'/></svg>"
)


def bomb(width: int, height: int) -> bytes:
    """A small PNG that says it has very many pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * 100_000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def large_image() -> bytes:
    """An image of more than 128 kB, of which a thumbnail is made."""
    from PIL import Image

    out = io.BytesIO()
    Image.frombytes("RGB", (700, 500), os.urandom(700 * 500 * 3)).save(out, "JPEG", quality=90)
    return out.getvalue()


@pytest.fixture(scope="module")
def large() -> bytes:
    return large_image()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, large: bytes) -> Iterator[str]:
    path = tmp_path_factory.mktemp("hostile") / f"{HTML[:8].replace('/', '')}.jinx"
    image = view_data.pictures(1)[0]
    media: list[Any] = [
        image,
        SVG,
        bomb(60_000, 60_000),
        bomb(200, 200),
        image[: len(image) // 2],
        large,
        large[:150_000] + b"\0" * 60_000,
        b"<html><script>parent.hacked=6</script>" + b" " * 600,
        b"\x00\x00\x00\x18ftypmp42" + os.urandom(4_000),
        b"RIFF\xff\xff\xff\xffWAVEfmt " + os.urandom(300),
        os.urandom(5_000),
        b"",
    ]
    with jinx.Writer(path, sidecar=True) as writer:
        for i, data in enumerate(media):
            writer.write(
                {
                    HTML: HTML,
                    "media": data,
                    "text": "x" * (1 << 20) if i == 3 else f"{HTML} {i}",
                    "messages": [{"role": HTML, "content": f"<image>{HTML}"}, {"role": "assistant", "content": HTML}],
                    "$": {"$": "bytes", "type": "text/html", "path": ["media"]},
                    "odd": {"nan": float("nan"), "big": 2**80, "deep": json.loads("[" * 60 + "]" * 60)},
                    "source": HTML if i % 2 else "plain",
                }
            )
    server = ViewServer(Viewer([ShownDataset(jinx.open(path), str(path))], {}))
    thread = server.start()
    yield server.url
    server.stop()
    thread.join(60)


def media_status(url: str, sample: int, *, small: bool) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request("GET", f"{parts.path}0/media/{sample}?path=%5B%22media%22%5D{'&small=1' if small else ''}")
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.headers), body


def test_hostile_samples_run_nothing_and_ask_no_one(page: Any, hostile: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    for query in ("", "?layout=table"):
        page.goto(hostile + query)
        page.wait_for_selector(".card .id, .row .id")
        page.wait_for_timeout(700)
    for sample in range(12):
        page.goto(f"{hostile}?sample={sample}")
        page.wait_for_selector(".sample-content")
        page.wait_for_timeout(150)
        page.get_by_role("tab", name="Stored line").click()
    assert page.evaluate("window.hacked") is None
    # The picture of a sample's address, opened alone.
    page.goto(f"{hostile}0/media/1?path=%5B%22media%22%5D")
    assert page.evaluate("window.hacked") is None


def test_html_is_text_and_what_looks_like_a_marker_is_data(page: Any, hostile: str) -> None:
    page.goto(f"{hostile}?sample=0")
    page.wait_for_selector(".sample-content")
    assert HTML in page.locator(".bubble.assistant").inner_text()
    assert page.locator(".fields").get_by_text("text/html").count() == 1
    assert page.locator("script").count() == 1


def test_broken_media_are_cards_that_say_why(page: Any, hostile: str) -> None:
    page.goto(hostile)
    page.wait_for_selector(".card[data-index='2'] .plate")
    until(page, "() => document.querySelector(\".card[data-index='2']\").textContent.includes('pixels are too many')")
    until(page, "() => document.querySelector(\".card[data-index='6'] .plate, .card[data-index='6'] .loaded\")")


def test_the_types_of_media(hostile: str) -> None:
    expected = {
        0: "image/jpeg",
        1: "image/svg+xml",
        7: "application/octet-stream",
        8: "video/mp4",
        10: "application/octet-stream",
    }
    for sample, kind in expected.items():
        status, headers, _ = media_status(hostile, sample, small=False)
        assert (status, headers["content-type"]) == (200, kind)
        assert headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in headers["content-security-policy"]
    assert "attachment" in media_status(hostile, 7, small=False)[1]["content-disposition"]


def test_pictures_that_are_too_large_or_broken_are_refused(hostile: str, large: bytes) -> None:
    assert media_status(hostile, 2, small=True)[0] == 415
    status, headers, body = media_status(hostile, 5, small=True)
    assert (status, headers["content-type"]) == (200, "image/jpeg")
    assert len(body) < len(large)
    assert media_status(hostile, 10, small=True)[0] == 415
    assert media_status(hostile, 11, small=True)[0] == 415


def ask(url: str, method: str = "GET", address: str = "about", *, body: bytes | None = None, **headers: str) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.request(method, parts.path + address, body=body, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_request_that_is_too_large_gets_its_answer_while_it_is_sent(hostile: str) -> None:
    parts = urlsplit(hostile)
    head = f"POST {parts.path}notes HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {4 << 20}\r\n\r\n"
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall(head.encode() + b"x" * (2 << 20))
        time.sleep(0.5)  # A server that has closed the connection by now resets it.
        connection.sendall(b"x" * (2 << 20))
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")


def test_requests_that_are_not_the_pages_are_refused(hostile: str) -> None:
    assert ask(hostile) == 200
    parts = urlsplit(hostile)
    root = f"http://{parts.netloc}"
    for address in (
        "/",
        "/about",
        "/wrong/about",
        f"/{parts.path[1:9]}/about",
        f"{parts.path.rstrip('/')}x/about",
        "//",
        "/%2e%2e/about",
    ):
        assert ask(root, address=address) == 404
    assert ask(hostile, Host="evil.test") == 400
    assert ask(hostile, Host=f"evil.test:{parts.port}") == 400
    assert ask(hostile, Host=f"localhost:{parts.port}") == 200
    assert ask(hostile, "DELETE") == 405
    assert ask(hostile, "PUT", body=b"x") == 405
    assert ask(hostile, "POST") == 405
    assert ask(hostile, "POST", "notes", body=b"{}", **{"Content-Type": "application/json"}) == 404
    assert ask(hostile, "POST", "notes", body=b"{}", **{"Sec-Fetch-Site": "cross-site"}) == 403
    assert ask(hostile, "POST", "notes", body=b"x" * (2 << 20)) == 413
    assert ask(hostile, **{"Content-Length": "-5"}) in {400, 413}
    for address in (
        "page/../app.py",
        "page/main.py",
        "9/rows",
        "0/sample/99",
        "0/media/0?path=x",
        "0/media/99?path=[]",
        "0/text/0?path=[1]",
    ):
        assert ask(hostile, address=address.replace("[", "%5B").replace("]", "%5D")) in {404, 422}
    for address in (
        "0/rows?where=1%2B",
        "0/rows?start=-1",
        "0/rows?brush=7",
        "0/rows?sort=none",
        "0/charts?columns=7",
        f"0/rows?where={'a' * 30_000}",
    ):
        assert ask(hostile, address=address) in {400, 404, 422}
    assert ask(hostile) == 200


def test_what_is_no_request_is_answered_like_other_errors(hostile: str) -> None:
    parts = urlsplit(hostile)
    for text in (b"hello\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET /" + b"x" * (300 << 10)):
        with socket.create_connection((parts.hostname, parts.port), timeout=60) as client:
            client.sendall(text)
            answer = http.client.HTTPResponse(client)
            answer.begin()
            assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
            assert json.loads(answer.read())["detail"]
    # Long expressions in scripts of four bytes a character fit.
    assert ask(hostile, address=f"0/rows?where={'%F0%90%8D%88' * 12_000}") in {404, 422}


def test_the_pages_policy_allows_nothing_foreign(hostile: str) -> None:
    parts = urlsplit(hostile)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.request("GET", parts.path)
    answer = connection.getresponse()
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "trusted-types 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers.get("access-control-allow-origin") is None
    assert answer.headers.get("server") is None
    connection.close()


def test_many_silent_clients_do_not_stop_the_server(monkeypatch: pytest.MonkeyPatch, hostile: str) -> None:
    # An answer then comes beside them, not after they have lost their connections.
    monkeypatch.setattr("jinx._viewer.server._HEADER_SECONDS", 3600)
    parts = urlsplit(hostile)
    silent = [socket.create_connection((parts.hostname, parts.port)) for _ in range(100)]
    for client in silent[::2]:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
    assert ask(hostile) == 200
    for client in silent:
        client.close()


def test_a_client_that_sends_no_request_loses_its_connection(monkeypatch: pytest.MonkeyPatch, dataset: Any) -> None:
    import jinx._viewer.server as module

    monkeypatch.setattr(module, "_HEADER_SECONDS", 0.3)
    path, _ = dataset
    server = ViewServer(Viewer([ShownDataset(jinx.open(path), str(path))], {}))
    thread = server.start()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(b"GET /")
        assert client.recv(100) == b""
    server.stop()
    thread.join(60)


def test_a_client_that_sends_or_takes_slowly_does_not_keep_its_place(
    monkeypatch: pytest.MonkeyPatch, hostile: str
) -> None:
    import jinx._viewer.guard as module

    monkeypatch.setattr(module, "_SECONDS", 0.5)
    parts = urlsplit(hostile)
    head = f"POST {parts.path}notes HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    # All places: half a body, and answers of a megabyte that no one takes.
    slow = [socket.create_connection((parts.hostname, parts.port), timeout=20) for _ in range(module.MAX_REQUESTS)]
    for i, client in enumerate(slow):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        text = f"GET {parts.path}0/text/3?path=%5B%22text%22%5D HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        client.sendall((head + 'Content-Length: 100\r\n\r\n{"sample"').encode() if i % 2 else text.encode())
    limit = time.monotonic() + 60
    while ask(hostile) != 200:
        assert time.monotonic() < limit
        time.sleep(0.1)
    for client in slow:
        client.close()


def _requests(url: str, count: int) -> None:
    """Requests over one connection, some of them wrong; each gets an answer."""
    parts = urlsplit(url)
    addresses = (
        "about",
        "0/rows?start=3&count=2",
        "0/sample/0",
        "no",
        "0/charts?columns=7",
        "0/media/1?path=%5B%22media%22%5D",
    )
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    for number in range(count):
        connection.request("GET", parts.path + addresses[number % len(addresses)])
        answer = connection.getresponse()
        answer.read()
        assert answer.status in {200, 404, 422}
    connection.close()


def _private_bytes() -> int:
    status = Path("/proc/self/status").read_text("utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("RssAnon:")).split()[1]) << 10


@pytest.mark.parametrize("count", [1_000, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])])
def test_very_many_requests_leave_nothing(hostile: str, count: int) -> None:
    _requests(hostile, 100)
    before, threads = _private_bytes(), threading.active_count()
    clients = [threading.Thread(target=_requests, args=(hostile, count // 4)) for _ in range(4)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert threading.active_count() <= threads + 40
    assert _private_bytes() - before < 60 << 20
    assert ask(hostile) == 200


def test_clients_that_go_away_leave_nothing(hostile: str) -> None:
    parts = urlsplit(hostile)
    before = threading.active_count()
    for _ in range(40):
        with socket.create_connection((parts.hostname, parts.port)) as client:
            client.sendall(
                f"GET {parts.path}0/media/5?path=%5B%22media%22%5D HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
            )
    assert ask(hostile) == 200
    assert threading.active_count() < before + 60


def test_an_idle_server_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write({"a": 1})
    command = [sys.executable, "-m", "jinx", "view", str(path), "--no-open", "--idle", "1s"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("http://127.0.0.1:")
    secret = urlsplit(done.stdout.strip()).path.strip("/")
    assert len(secret) >= 22
