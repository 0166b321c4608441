"""Operators that ask a model behind a URL: each request is paid for once."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import jinx_pipeline as jp
from jinx_pipeline.operators.answers import AnswerError, Answers, BusyError


class Service:
    """A model that turns prompts to upper case; busy at first, and broken for one prompt."""

    def __init__(self) -> None:
        self.paid: Counter[str] = Counter()
        self.refusals = 3
        self.broken = "text 7"
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"]
                if service.refusals:
                    service.refusals -= 1
                    self.send_response(429)
                    self.send_header("Retry-After", "0.1")
                    self.end_headers()
                    return
                service.paid[prompt] += 1
                if prompt == service.broken:
                    self.send_response(500)
                    self.end_headers()
                    self.wfile.write(b"out of order")
                    return
                self.send_response(302 if prompt == "elsewhere" else 200)
                self.send_header("Location", "http://localhost:1/")
                self.end_headers()
                self.wfile.write(b"<html>" if prompt == "odd" else json.dumps({"text": prompt.upper()}).encode())

            def log_message(self, *_) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def service():
    made = Service()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def asking(url: str) -> jp.Operator:
    class Shout(jp.Mapper):
        reads = writes = ("text",)

        def process(self, batch, ctx):
            answers = [ctx.ask(url, {"model": "tiny", "prompt": text}) for text in batch.column("text")]
            return {"text": [one["text"] for one in answers]}

    return Shout()


def test_retries_division_and_resume_pay_once(service, tmp_path):
    texts = [{"text": f"text {n}"} for n in range(24)]
    flow = jp.Dataset.load(texts).process(asking(service.url))
    options = {"workers": 2, "block_rows": 8}
    with pytest.warns(jp.BadRowsWarning):
        result = flow.export(tmp_path / "out.jinx", **options)
    assert [one.row for one in result.bad_rows] == [7]
    assert "status 500: out of order" in result.bad_rows[0].error
    assert result.rows_out == 23
    good = {f"text {n}": 1 for n in range(24) if n != 7}
    assert {prompt: count for prompt, count in service.paid.items() if prompt != "text 7"} == good
    service.broken = ""
    again = flow.export(tmp_path / "out.jinx", restart=True, overwrite=True, **options)
    assert (again.ok, again.rows_out) == (True, 24)
    assert all(service.paid[prompt] == 1 for prompt in good)


def test_what_is_no_answer_is_an_error_that_names_the_service(service, tmp_path, monkeypatch):
    answers = Answers(tmp_path)
    with pytest.raises(BusyError) as busy:
        answers.ask(service.url, {"prompt": "a"})
    assert busy.value.retry_after == pytest.approx(0.1)
    service.refusals = 0
    for prompt, what in (("odd", "the answer is not JSON: b'<html>'"), ("elsewhere", "status 302")):
        with pytest.raises(AnswerError, match=f"{service.url}: {what}"):
            answers.ask(service.url, {"prompt": prompt})
    with pytest.raises(AnswerError, match="not an http or https URL"):
        answers.ask("file:///etc/passwd", {})
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(AnswerError, match="NO_KEY with the key is not set"):
        answers.ask(service.url, {"prompt": "a"}, key_variable="NO_KEY")
    assert answers.ask(service.url, {"prompt": "b"}) == answers.ask(service.url, {"prompt": "b"}) == {"text": "B"}
    assert service.paid["b"] == 1
