"""Operators that ask a model behind a URL: each request is paid for once."""

import json
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import jinx_pipeline as jp
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.operators.api.answer_files import AnswerFiles
from jinx_pipeline.operators.api.response_cache import AnswerError, Answers, NoServiceError
from jinx_pipeline.operators.api.retry_after import BusyError


class Service:
    """A model that turns prompts to upper case; busy at first, and broken for one prompt."""

    def __init__(self) -> None:
        self.paid: Counter[str] = Counter()
        self.refusals = 3
        self.broken = "text 7"
        self.at_once = threading.Barrier(2)
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"]
                if service.refusals:
                    service.refusals -= 1
                    self.send_response(429)
                    self.send_header("Retry-After", "0.6")
                    self.end_headers()
                    return
                service.paid[prompt] += 1
                if prompt == service.broken:
                    self.send_response(500)
                    self.end_headers()
                    self.wfile.write(b"out of order")
                    return
                if prompt.isdecimal():
                    self.send_response(int(prompt))
                    self.end_headers()
                    return
                if prompt == "at once":
                    service.at_once.wait()
                    prompt += f" {threading.get_ident()}"
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
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
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
            return {"text": [answer["text"] for answer in answers]}

    return Shout()


def test_retries_division_and_resume_pay_once(service, tmp_path):
    texts = [{"text": f"text {n}"} for n in range(24)]
    flow = jp.Dataset.load(texts).process(asking(service.url))
    options = {"workers": 2, "block_rows": 8}
    with pytest.warns(jp.BadRowsWarning):
        result = flow.export(tmp_path / "out.jinx", **options)
    assert [bad.row for bad in result.bad_rows] == [7]
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
    assert busy.value.retry_after == pytest.approx(0.6)
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


@pytest.fixture
def willing(service):
    """A service that is not busy."""
    service.refusals = 0
    return service


def test_a_busy_service_costs_no_group(service, tmp_path):
    url = service.url

    class ShoutOnce(jp.Aggregator):
        reads = writes = ("text",)

        def aggregate(self, batch, ctx):
            return {"text": ctx.ask(url, {"prompt": " ".join(batch.column("text"))})["text"]}

    flow = jp.Dataset.load([{"text": "a"}, {"text": "b"}]).process([jp.create("naive_grouper"), ShoutOnce()])
    result = flow.export(tmp_path / "out.jinx", workers=1)
    assert (result.ok, result.rows_out, service.refusals) == (True, 1, 0)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_service_that_refuses_every_request_stops_the_run(willing, tmp_path, status):
    flow = jp.Dataset.load([{"text": str(status)}] * 3).process(asking(willing.url))
    with pytest.raises(StoppedError, match=f"NoServiceError: {willing.url}: status {status}"):
        flow.export(tmp_path / "out.jinx", workers=1)


def test_a_service_that_is_not_there_stops_the_run_and_loses_no_row(willing, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = free.getsockname()
        url = f"http://127.0.0.1:{place[1]}/v1"
        flow = jp.Dataset.load([{"text": "a"}, {"text": "b"}]).process(asking(url))
        with pytest.raises(StoppedError, match=f"NoServiceError: {url}: .*Connection refused"):
            flow.export(tmp_path / "out.jinx", workers=1)
    with ThreadingHTTPServer(place, willing.server.RequestHandlerClass) as started:
        thread = threading.Thread(target=started.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        result = flow.export(tmp_path / "out.jinx", workers=1)
        started.shutdown()
        thread.join()
    assert (result.ok, result.resumed, result.rows_out) == (True, True, 2)


def test_a_name_that_is_not_known_and_a_key_that_is_not_set_concern_all_rows(willing, tmp_path, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(NoServiceError, match="Name or service not known"):
        Answers(tmp_path).ask("http://nowhere.invalid/v1", {"prompt": "a"})
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(NoServiceError, match="NO_KEY with the key is not set"):
        Answers(tmp_path).ask(willing.url, {"prompt": "a"}, key_variable="NO_KEY")


def test_two_that_ask_the_same_at_once_are_told_the_same(willing, tmp_path):
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(Answers(tmp_path).ask, willing.url, {"prompt": "at once"}) for _ in range(2)]
        first, second = [job.result() for job in jobs]
    assert first == second == Answers(tmp_path).ask(willing.url, {"prompt": "at once"})
    assert willing.paid["at once"] == 2


def test_many_that_begin_a_directory_at_once_all_keep_the_first_answer(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        for round_ in range(20):
            folder, barrier = tmp_path / str(round_), threading.Barrier(8)

            def keep(number: int, folder=folder, barrier=barrier) -> int:
                barrier.wait()
                return AnswerFiles(folder).put_first(b"k" * 16, number, {})

            assert len(set(pool.map(keep, range(8)))) == 1


def test_several_requests_are_under_way_at_once_and_paid_for_once(willing, tmp_path):
    requests = [{"prompt": text} for text in ("at once", "at once", "text 1", "text 2")]
    answers = Answers(tmp_path)
    # The service answers the first two only when it has both.
    first, second, *others = answers.ask_all(willing.url, requests)
    assert first == second
    assert others == [{"text": "TEXT 1"}, {"text": "TEXT 2"}]
    assert answers.ask_all(willing.url, []) == []
    willing.broken = "broken"
    with pytest.raises(AnswerError, match="status 500"):
        answers.ask_all(willing.url, [{"prompt": "broken"}, {"prompt": "text 3"}])
    answers.ask_all(willing.url, [*requests[2:], {"prompt": "text 3"}])
    assert willing.paid == {"at once": 2, "text 1": 1, "text 2": 1, "text 3": 1, "broken": 1}
