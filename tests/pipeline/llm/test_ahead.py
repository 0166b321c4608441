"""Requests are made while others are under way: each waits for the other to have begun."""

import threading
from io import BytesIO

import pytest
from PIL import Image

import jinx_pipeline as jp
from jinx_pipeline.llm.client import Client, Request
from jinx_pipeline.llm.service import Service, Settings, chat_url
from jinx_pipeline.operators.llm.image_captioning_from_gpt4v_mapper import ImageCaptioningFromGpt4vMapper
from jinx_pipeline.sample.media import MediaError
from pipeline.llm.model_server import Said, serving

pytest.importorskip("aiohttp", reason="needs the extra llm")

COUNT = 40
MEANWHILE_SECONDS = 30


@pytest.fixture
def asked():
    return threading.Event()


@pytest.fixture
def last_is_made():
    return threading.Event()


@pytest.fixture
def server(asked, last_is_made):
    def script(body, times):
        asked.set()
        assert last_is_made.wait(MEANWHILE_SECONDS), "the last request is not made before the first is answered"
        return Said("fine")

    with serving(script) as server:
        yield server


def service(server) -> Service:
    return Service("m", chat_url(server.url), Settings())


def body(text: str) -> dict:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def requests(asked, last_is_made):
    for number in range(COUNT):
        if number == COUNT - 1:
            last_is_made.set()
            assert asked.wait(MEANWHILE_SECONDS), "no request is sent before the last is made"
        yield Request(body(f"number {number % 30}"))


@pytest.mark.parametrize("is_kept", [False, True])
def test_requests_are_sent_while_others_are_made(is_kept, server, asked, last_is_made, tmp_path):
    client = Client(tmp_path if is_kept else None)
    replies = client.ask_all(service(server), requests(asked, last_is_made))
    assert [reply.text for reply in replies] == ["fine"] * COUNT
    assert len(server.bodies) == 30  # equal ones are sent once
    again = client.ask_all(service(server), requests(asked, last_is_made))
    assert [(reply.text, reply.was_kept) for reply in again] == [("fine", True)] * COUNT
    assert len(server.bodies) == 30


def test_nothing_to_ask_starts_no_request(server, tmp_path):
    assert Client(tmp_path).ask_all(service(server), iter(())) == []


def image(number: int) -> bytes:
    out = BytesIO()
    Image.new("RGB", (8, 8), (number, 0, 0)).save(out, "PNG")
    return out.getvalue()


def samples() -> list[dict]:
    return [{"text": "", "images": [image(number)]} for number in range(COUNT)]


def captioner(server, *, url_of, monkeypatch) -> jp.Operator:
    original = ImageCaptioningFromGpt4vMapper.url_of
    monkeypatch.setattr(
        ImageCaptioningFromGpt4vMapper,
        "url_of",
        lambda operator, medium: (url_of(medium), original(operator, medium))[1],
    )
    return jp.create("image_captioning_from_gpt4v_mapper", api_endpoint=server.url, keep_original_sample=False)


def test_images_are_decoded_while_others_are_shown(server, asked, last_is_made, monkeypatch):
    def url_of(medium):
        if medium.bytes == image(COUNT - 1):
            last_is_made.set()
            assert asked.wait(MEANWHILE_SECONDS), "no image is shown before the last is decoded"

    operator = captioner(server, url_of=url_of, monkeypatch=monkeypatch)
    assert len(operator(samples())) == COUNT
    assert len(server.bodies) == COUNT


def test_answers_are_kept_if_a_later_image_is_damaged(server, last_is_made, monkeypatch, tmp_path):
    last_is_made.set()
    operator = captioner(server, url_of=lambda medium: None, monkeypatch=monkeypatch)
    damaged = [*samples()[:-1], {"text": "", "images": [b"no image"]}]
    ctx = jp.Context(answers_dir=tmp_path)
    with pytest.raises(MediaError, match="not an image"):
        operator(damaged, ctx=ctx)
    assert len(server.bodies) == ctx.counts["requests"] == COUNT - 1
    assert len(operator(damaged[:-1], ctx=ctx)) == COUNT - 1
    assert len(server.bodies) == COUNT - 1
