"""The client against a local server: retries, refusals, time-outs, budgets, keys, and answers that are kept."""

import json
import os
import socket
import time
from dataclasses import replace

import pytest

from jinx_pipeline.llm import client as client_module
from jinx_pipeline.llm.client import Client, Reply, Request
from jinx_pipeline.llm.post import call_soon
from jinx_pipeline.llm.service import BudgetError, Service, Settings, chat_url
from jinx_pipeline.operators.api.response_cache import AnswerError, NoServiceError
from jinx_pipeline.operators.api.retry_after import BusyError
from pipeline.llm.model_server import Said, completion, digest, good, in_turn, serving

pytest.importorskip("aiohttp", reason="needs the extra llm")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(client_module, "_FIRST_PAUSE", 0.02)


def request(text="a", **fields) -> Request:
    return Request({"model": "m", "messages": [{"role": "user", "content": text}], **fields}, {"operator": "test"})


def service(server, **settings) -> Service:
    return Service("m", chat_url(server.url), Settings(**settings))


def texts(replies) -> list[str]:
    return [reply.text if isinstance(reply, Reply) else f"error: {reply}" for reply in replies]


def test_replies_come_in_order_and_equal_requests_are_sent_once(tmp_path):
    with serving(lambda body, _: Said(body["messages"][0]["content"].upper())) as server:
        asked = [request(text) for text in ("a", "b", "a", "c")]
        assert texts(Client(tmp_path).ask_all(service(server), asked)) == ["A", "B", "A", "C"]
        again = Client(tmp_path).ask_all(service(server), asked)
        assert texts(again) == ["A", "B", "A", "C"]
        assert all(reply.was_kept for reply in again)
        assert again[0].tokens == (100, 20)
        assert len(server.bodies) == 3
        # The digest of a request does not depend on where the service is.
        elsewhere = Service("m", "http://127.0.0.1:1/v1/chat/completions", Settings())
        assert texts(Client(tmp_path).ask_all(elsewhere, asked)) == ["A", "B", "A", "C"]


def test_without_a_directory_answers_are_kept_in_memory():
    with serving() as server:
        client = Client(None)
        for _ in range(2):
            assert texts(client.ask_all(service(server), [request()])) == ["A good text."]
        assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Said("wait", status=429, headers={"Retry-After": "0"}),
        Said("wait", status=503),
        Said("overloaded", status=529, headers={"Retry-After": "0.5"}),
        Said("broken", status=500),
        Said("gateway", status=502),
        Said("half", hangs_up=True),
        Said(body=b"<html>"),
        Said(body=b'{"detail": "not a completion"}'),
    ],
    ids=["429", "503", "529", "500", "502", "hang-up", "html", "other-json"],
)
def test_what_passes_is_tried_again(tmp_path, fault, monkeypatch):
    monkeypatch.setattr("jinx_pipeline.llm.post.seconds_to_wait", lambda _: 0.05)
    with serving(in_turn([fault, Said("yes")])) as server:
        assert texts(Client(tmp_path).ask_all(service(server), [request()])) == ["yes"]
        assert len(server.bodies) == 2


def test_a_late_request_is_sent_again_and_does_not_wait_once_more_like_one_that_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(client_module, "_FIRST_PAUSE", 1e6)
    monkeypatch.setattr(client_module, "_MAX_PAUSE", 1e6)
    with serving(in_turn([Said("late", seconds=600), Said("yes")])) as server:
        assert texts(Client(tmp_path).ask_all(service(server, seconds=1), [request()])) == ["yes"]
        assert len(server.bodies) >= 2


def test_an_answer_that_came_in_time_counts_though_the_process_was_busy(tmp_path):
    def script(*_):
        call_soon(time.sleep, 1.5)  # the client's loop reads nothing until the time limit is over
        return Said("yes", seconds=0.1)

    with serving(script) as server:
        assert texts(Client(tmp_path).ask_all(service(server, seconds=1.0), [request()])) == ["yes"]
        assert len(server.bodies) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_refused_fails_alone_and_is_not_sent_again(tmp_path, status):
    def script(body, _):
        return Said("too long", status=status) if body["messages"][0]["content"] == "bad" else Said("yes")

    with serving(script) as server:
        client = Client(tmp_path)
        for _ in range(2):
            replies = client.ask_all(service(server), [request("bad"), request("fine")])
            assert isinstance(replies[0], AnswerError)
            assert f"status {status}: too long" in str(replies[0])
            assert texts(replies[1:]) == ["yes"]
        assert len(server.bodies) == 2


def test_a_service_that_fails_again_and_again_is_an_error_of_the_row(tmp_path):
    with serving(lambda *_: Said("broken", status=500)) as server:
        (reply,) = Client(tmp_path).ask_all(service(server, tries=3), [request()])
        assert "status 500: broken, 3 times" in str(reply)
        assert len(server.bodies) == 3


@pytest.mark.parametrize(
    "said",
    [
        Said("no", status=401),
        Said("no", status=403),
        Said("no", status=404),
        Said('{"error": {"code": "insufficient_quota"}}', status=429),
    ],
)
def test_what_every_request_would_meet_stops_all(tmp_path, said):
    with serving(lambda *_: said) as server:
        with pytest.raises(NoServiceError, match=f"status {said.status}"):
            Client(tmp_path).ask_all(service(server, concurrency=2), [request(str(n)) for n in range(50)])
        assert len(server.bodies) <= 2


def test_a_service_that_is_not_there(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(NoServiceError, match="Connect"):
            Client(tmp_path).ask_all(Service("m", chat_url(url), Settings()), [request()])


def test_a_service_that_stays_busy_asks_the_block_to_wait(tmp_path):
    busy = Said("wait", status=429, headers={"Retry-After": "30"})
    with serving(lambda *_: busy) as server:
        with pytest.raises(BusyError) as caught:
            Client(tmp_path).ask_all(service(server, patience=10), [request()])
        assert caught.value.retry_after == 30


def test_an_answer_that_is_too_large_is_an_error_of_the_row(tmp_path, monkeypatch):
    monkeypatch.setattr("jinx_pipeline.llm.post._MAX_BYTES", 1 << 20)
    with serving(lambda *_: Said("x" * (2 << 20))) as server:
        (reply,) = Client(tmp_path).ask_all(service(server), [request()])
        assert "more than 1,048,576 bytes" in str(reply)
        assert len(server.bodies) == 1


@pytest.mark.parametrize("content", [None, "", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], 7])
def test_contents_of_other_kinds(tmp_path, content):
    with serving(lambda *_: Said(content)) as server:
        assert texts(Client(tmp_path).ask_all(service(server), [request()])) == [
            "ab" if isinstance(content, list) else ""
        ]


@pytest.mark.parametrize("body", [b'{"choices": []}', b'{"choices": [7]}', b'{"choices": {"a": 1}}'])
def test_completions_without_a_choice_are_empty(tmp_path, body):
    with serving(lambda *_: Said(body=body)) as server:
        (reply,) = Client(tmp_path).ask_all(service(server), [request("a b c d")])
        assert (reply.text, reply.tokens) == ("", (3, 0))


def test_the_key_is_from_the_environment_and_in_no_message_or_file(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    said = in_turn([Said("Incorrect key sk-very-secret", status=400), Said("your key is sk-very-secret")])
    with serving(said) as server:
        asked = service(server, key_variable="MY_KEY", concurrency=1)
        replies = Client(tmp_path).ask_all(asked, [request("a"), request("b")])
        assert server.keys == {"Bearer sk-very-secret"}
        assert "Incorrect key [key]" in str(replies[0])
        assert replies[1].text == "your key is [key]"
        assert b"sk-very-secret" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert "sk-very" not in repr(asked)
        monkeypatch.delenv("MY_KEY")
        with pytest.raises(NoServiceError, match="MY_KEY with the key is not set"):
            Client(tmp_path).ask_all(asked, [request("c")])


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://localhost:8000/v1", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("https://h/x?api-version=2", "https://h/x/chat/completions?api-version=2"),
        ("/chat/completions", "http://base/v1/chat/completions"),
        (None, "http://base/v1/chat/completions"),
    ],
)
def test_urls(endpoint, url, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://base/v1")
    assert chat_url(endpoint) == url


@pytest.mark.parametrize(
    "endpoint", ["file:///etc/passwd", "localhost:8000", "http://u:p@h/v1", "http://h/v1?api_key=x"]
)
def test_urls_that_are_refused(endpoint):
    with pytest.raises(ValueError, match=r"is not an http|has a password or key"):
        chat_url(endpoint)


def test_a_budget_of_requests_is_kept_and_can_be_raised(tmp_path):
    with serving(lambda *_: Said("yes", seconds=0.01)) as server:
        asked = [request(str(n)) for n in range(40)]
        limited = service(server, max_requests=15, concurrency=8)
        for _ in range(2):
            with pytest.raises(BudgetError, match=r"max_requests \(15\) is used up: 15 answers, 1,800 tokens"):
                Client(tmp_path).ask_all(limited, asked)
            assert len(server.bodies) == 15
        raised = replace(limited, settings=Settings(max_requests=40))
        assert texts(Client(tmp_path).ask_all(raised, asked)) == ["yes"] * 40
        assert len(server.bodies) == 40


@pytest.mark.parametrize("limit", [{"max_tokens_spent": 1200}, {"max_money": 0.0014, "prices": [1.0, 2.0]}])
def test_budgets_of_tokens_and_money(tmp_path, limit):
    with serving(lambda *_: Said("yes", seconds=0.01)) as server:
        with pytest.raises(BudgetError, match="is used up"):
            Client(tmp_path).ask_all(service(server, concurrency=4, **limit), [request(str(n)) for n in range(40)])
        assert 10 <= len(server.bodies) <= 14


def test_the_number_of_requests_under_way_adapts(tmp_path, monkeypatch):
    """A service takes eight at once, and refuses others."""
    monkeypatch.setattr("jinx_pipeline.llm.post.seconds_to_wait", lambda _: 0.02)

    def script(*_):
        return Said("no", status=429) if server.under_way > 8 else Said("yes", seconds=0.02)

    with serving(script) as server:
        client = Client(tmp_path)
        replies = client.ask_all(service(server, concurrency=200), [request(str(n)) for n in range(400)])
        assert texts(replies) == ["yes"] * 400
        (pace,) = client._paces.values()
        assert pace.limit < 32
        refused = len(server.bodies) - 400
        assert refused < 800


def test_a_service_that_slows_down_gets_fewer_requests_before_they_time_out(tmp_path):
    """Each request takes longer, the more there are."""
    with serving(lambda *_: Said("yes", seconds=0.02 * server.under_way)) as server:
        client = Client(tmp_path)
        replies = client.ask_all(service(server, concurrency=400, seconds=4), [request(str(n)) for n in range(600)])
        assert texts(replies) == ["yes"] * 600
        assert 100 < server.most < 300
        # While this machine stands still, all that are under way are late at once, and are sent again.
        assert len(server.bodies) < 600 + 2 * server.most


def test_a_forked_process_asks_for_itself(tmp_path):
    with serving() as server:
        client_module.client_of(tmp_path).ask_all(service(server), [request("parent")])
        child = os.fork()
        if not child:
            try:
                replies = client_module.client_of(tmp_path).ask_all(
                    service(server), [request("parent"), request("child")]
                )
                os._exit(0 if texts(replies) == ["A good text."] * 2 else 1)
            except BaseException:  # noqa: BLE001 - the child must not run the rest of the tests
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert len(server.bodies) == 2
        assert len(list(tmp_path.iterdir())) == 2


def test_the_server_and_the_client_agree_on_digests(tmp_path):
    with serving(good) as server:
        Client(tmp_path).ask_all(service(server), [request("ä", temperature=0.5)])
        (line,) = next(tmp_path.iterdir()).read_text("utf-8").splitlines()
        record = json.loads(line)
        assert record["key"] == digest(server.bodies[0])
        assert record["answer"] == completion("A good text.")
        assert (record["operator"], record["model"], record["tokens"]) == ("test", "m", [100, 20])
