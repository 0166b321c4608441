"""HTTP: connections that are used again, another try where a connection broke, answers of bounded size."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from jinx_pipeline.sample.http_client import HttpError, TooLargeError, get, parsed_url, post
from jinx_pipeline.sample.media_from_urls import UrlError, fetch
from jinx_pipeline.sample.roles import Roles


def reply_to(path: str) -> tuple[int, str | None, int]:
    """The status, where it leads, and the size of the body."""
    kind, _, rest = path[1:].partition("/")
    if kind in {"to", "loop"}:
        return 302, rest if kind == "to" else path, 10
    return int(rest) if kind == "status" else 200, None, int(rest) if kind == "size" else 10


class Server:
    """Says what its path asks for, and counts connections."""

    def __init__(self) -> None:
        self.connections = 0
        self.asked: list[str] = []
        self.cookies: list[str | None] = []
        self.break_next = 0
        self.gateway_errors = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                server.connections += 1
                super().setup()

            def do_GET(self) -> None:
                server.asked.append(self.path)
                server.cookies.append(self.headers["Cookie"])
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if server.break_next:
                    server.break_next -= 1
                    self.close_connection = True
                    return
                status, to, size = reply_to(self.path)
                if server.gateway_errors:
                    server.gateway_errors -= 1
                    status = 502
                self.send_response(status)
                self.send_header("Content-Length", str(size))
                self.send_header("Set-Cookie", "who=you")
                if to:
                    self.send_header("Location", to)
                self.end_headers()
                self.wfile.write(b"x" * size)

            do_POST = do_GET  # noqa: N815 - as the base class has it

            def log_message(self, *_) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server():
    made = Server()
    thread = threading.Thread(target=made.http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join()


def asked(url, max_bytes=100):
    return get(url, seconds=60.0, max_bytes=max_bytes, check=lambda _: None)


def test_connections_are_used_again_and_cookies_are_not_kept(server):
    for _ in range(5):
        assert asked(f"{server.url}/size/3").body == b"xxx"
        assert post(f"{server.url}/", b"{}", {}, seconds=60.0, max_bytes=100).is_ok
    assert server.connections == 1
    assert set(server.cookies) == {None}


def test_a_request_whose_connection_broke_is_sent_again(server):
    server.break_next = 2
    assert post(f"{server.url}/", b"{}", {}, seconds=60.0, max_bytes=100).is_ok
    assert len(server.asked) == 3
    server.break_next = 3
    with pytest.raises(HttpError, match="disconnected"):
        asked(server.url)


def test_a_gateway_without_an_answer_is_asked_again(server):
    server.gateway_errors = 1
    assert asked(server.url).status == 200
    server.gateway_errors = 9
    assert asked(server.url).status == 502


def test_an_answer_that_is_too_large_is_refused(server):
    assert len(asked(f"{server.url}/size/100").body) == 100
    with pytest.raises(TooLargeError, match="more than 100 bytes"):
        asked(f"{server.url}/size/101")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a/b", "http:///x", "http://[::1", "nothing"])
def test_what_is_no_url(url):
    with pytest.raises(HttpError, match="URL"):
        parsed_url(url)


def test_media_come_only_from_hosts_that_are_named(server):
    roles = Roles(url_hosts=("127.0.0.1",), url_bytes=50, url_seconds=60.0)
    assert fetch(f"{server.url}/to/{server.url}/size/7", roles) == b"x" * 7
    assert fetch(f"{server.url}/to//size/7", roles) == b"x" * 7
    with pytest.raises(UrlError, match="the host 'localhost' is not in url_hosts"):
        fetch(f"{server.url}/to/{server.url.replace('127.0.0.1', 'localhost')}/", roles)
    with pytest.raises(UrlError, match=r"the host 'elsewhere\.example' is not in url_hosts"):
        fetch("http://127.0.0.1@elsewhere.example/", roles)
    with pytest.raises(UrlError, match=r"more than 50 bytes \(url_bytes\)"):
        fetch(f"{server.url}/size/51", roles)
    with pytest.raises(UrlError, match="status 404: xxxxxxxxxx"):
        fetch(f"{server.url}/status/404", roles)
    # A redirection to itself ends.
    with pytest.raises(UrlError, match="redirections"):
        fetch(f"{server.url}/loop/", roles)


def test_a_redirection_leads_to_no_file(server):
    for place in ("file:///etc/passwd", "http://["):
        with pytest.raises(UrlError):
            fetch(f"{server.url}/to/{place}", Roles(url_hosts=("127.0.0.1", ""), url_seconds=60.0))
