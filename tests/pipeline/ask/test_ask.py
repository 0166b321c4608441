"""`jinx-pipeline ask` with a scripted model behind a stub of OpenAI's interface."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

import jinx
from jinx_pipeline.ask.chat_model import ChatModel, ModelError
from jinx_pipeline.ask.profile import Profile, profile_of
from jinx_pipeline.ask.proposal import offered_operators, propose
from jinx_pipeline.cli.ask import ask
from pipeline_requests import REQUESTS


class Stub:
    """A service that answers with a script: a list of answers, or a function of the request."""

    def __init__(self, script: Callable[[dict[str, Any]], Any]) -> None:
        self.requests: list[dict[str, Any]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.requests.append(body)
                answer = script(body)
                status, headers, data = answer if isinstance(answer, tuple) else (200, {}, completion(answer))
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def completion(content: Any) -> bytes:
    text = content if isinstance(content, str) else json.dumps(content)
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


@pytest.fixture
def stub():
    running: list[Stub] = []

    def start(script: Any) -> Stub:
        answers = iter(script) if isinstance(script, list) else None
        running.append(Stub(script if answers is None else lambda _: next(answers)))
        return running[-1]

    yield start
    for one in running:
        one.server.shutdown()
        one.server.server_close()


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jinx"
    with jinx.Writer(path) as writer:
        for i in range(200):
            writer.write({"id": i, "text": "word " * (i % 20) + f"\x1b[31m{i}", "score": i / 200})
    return path


PROFILE = Profile(100, {"text": "str", "image": "bytes", "audio": "bytes", "video": "bytes"}, {"text": "text"})


def steps(*given: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"steps": [{"operator": name, "parameters": parameters} for name, parameters in given]}


# What a model that has read the descriptions would add.
KNOWN: dict[str, dict[str, Any]] = {
    "random_selector": {"select_ratio": 0.5},
    "topk_specified_field_selector": {"topk": 10},
}


def first_choice(body: dict[str, Any]) -> Any:
    """The scripted model: the first operator that is offered, with as few parameters as the schema allows."""
    schema = body["response_format"]["json_schema"]["schema"]
    first = schema["properties"]["steps"]["items"]["anyOf"][0]["properties"]
    name = first["operator"]["enum"][0]
    answer = steps((name, smallest(first["parameters"]) | KNOWN.get(name, {})))
    jsonschema.validate(answer, schema)
    return answer


def smallest(schema: dict[str, Any]) -> Any:
    if "anyOf" in schema:
        return None if {"type": "null"} in schema["anyOf"] else smallest(schema["anyOf"][0])
    kind = schema.get("type")
    if kind == "object":
        return {name: smallest(one) for name, one in schema["properties"].items()}
    return {"string": "x", "integer": 1, "number": 1.0, "boolean": True, "array": ["x"]}[kind or "string"]


@pytest.mark.timeout(180)
def test_the_right_operator_is_among_the_first_three_of_a_plan_that_parses(stub, monkeypatch):
    """Of 40 requests, at least 34."""
    from jinx_pipeline.ask import proposal as module

    # Files that parameters name do not exist here.
    monkeypatch.setattr(module, "without_code", lambda recipe: recipe)
    model = ChatModel(stub(first_choice).url, "scripted")
    right = 0
    for request, wanted in REQUESTS:
        proposal = propose(request, "data.jinx", "out.jinx", PROFILE, model)
        assert proposal.recipe.steps[0].operator.name == proposal.offered[0]
        right += bool(wanted & set(proposal.offered[:3]))
    assert right >= 34


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("drop blurry images and near duplicates", ["image_sharpness_filter", "image_near_deduplicator"]),
        ("Drop short texts, and near duplicates.", ["text_length_filter", "document_minhash_deduplicator"]),
        ("remove emails and links", ["clean_email_mapper", "clean_links_mapper"]),
        ("keep english; remove faces, then resize videos", ["language_id_score_filter", "image_face_count_filter"]),
    ],
)
def test_each_wish_of_a_request_is_among_the_first(request_, wanted):
    first = [one.name for one in offered_operators(request_)[:5]]
    assert [name for name in wanted if name not in first] == [], first


def test_mistakes_go_back_to_the_model(stub):
    script = stub(
        [
            "not JSON",
            steps(("text_length_filter", {"min_length": 50})),
            steps(("text_length_filter", {"min_len": 50, "max_len": None})),
        ]
    )
    proposal = propose("drop short texts", "in.jinx", "out.jinx", PROFILE, ChatModel(script.url, "m"))
    assert (proposal.rounds, proposal.data["process"]) == (3, [{"text_length_filter": {"min_len": 50}}])
    told = [request["messages"][-1]["content"] for request in script.requests[1:]]
    assert "not JSON" in told[0]
    assert "did you mean 'min_len'" in told[1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (steps(("python_file_mapper", {"file_path": "x.py"})), "only these operators may be used"),
        (steps(("no_such_filter", {})), "only these operators may be used"),
        ({"steps": []}, "at least one step"),
        ("[" * 5000, "fits the schema"),
    ],
)
def test_endless_repair_ends_after_three_rounds(stub, answer, message):
    script = stub(lambda _: answer)
    with pytest.raises(ModelError, match=message):
        propose("drop short texts", "in.jinx", "out.jinx", PROFILE, ChatModel(script.url, "m"))
    assert len(script.requests) == 3


def test_a_busy_service_is_asked_again_and_a_broken_one_is_named(stub):
    busy = (429, {"Retry-After": "0"}, b"{}")
    answer = steps(("text_length_filter", {"min_len": 5}))
    assert propose("short texts", "i", "o.jinx", PROFILE, ChatModel(stub([busy, answer]).url, "m")).rounds == 1
    with pytest.raises(ModelError, match="status 500: broken"):
        propose("short texts", "i", "o.jinx", PROFILE, ChatModel(stub([(500, {}, b"broken")]).url, "m"))
    with pytest.raises(ModelError, match="not a chat completion"):
        propose("short texts", "i", "o.jinx", PROFILE, ChatModel(stub([(200, {}, b"{}")]).url, "m"))


def test_a_recipe_is_saved_over_nothing(stub, data, tmp_path):
    (tmp_path / "mine.yaml").write_text("mine")
    script = stub(lambda _: steps(("text_length_filter", {"min_len": 50, "max_len": None})))
    arguments = ["drop short texts", str(data), "--url", script.url, "--model", "m", "--save"]
    shown = CliRunner().invoke(ask, [*arguments, str(tmp_path / "mine.yaml")])
    assert isinstance(shown.exception, FileExistsError)
    assert (tmp_path / "mine.yaml").read_text() == "mine"
    assert script.requests == []


def test_the_command_shows_the_recipe_and_dropped_samples_and_asks(stub, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_KEY", "secret")
    script = stub(lambda _: steps(("text_length_filter", {"min_len": 50, "max_len": None})))
    arguments = ["drop short texts", str(data), "--url", script.url, "--model", "m", "--key-variable", "MY_KEY"]
    shown = CliRunner().invoke(ask, [*arguments, "--save", "r.yaml"], input="n\n")
    assert shown.exit_code == 0, shown.output
    assert "- text_length_filter:" in shown.stdout
    assert "Tried on 200 samples: 99 kept" in shown.stdout or "kept (" in shown.stdout
    assert shown.stdout.count("dropped by text_length_filter") == 5
    assert "\x1b" not in shown.stdout
    assert not (tmp_path / "asked.jinx").exists()
    sent = json.dumps(script.requests[0]["messages"])
    assert "word word" not in sent  # no text of samples
    assert jinx.open(tmp_path / "data.jinx")
    run = CliRunner().invoke(ask, [*arguments, "--out", "good.jinx"], input="y\n")
    assert run.exit_code == 0, run.output
    assert 0 < len(jinx.open(tmp_path / "good.jinx")) < 200


def test_without_a_model_the_operators_that_fit_are_listed(data, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    listed = CliRunner().invoke(ask, ["remove near duplicates", str(data)])
    assert listed.exit_code == 0
    assert "document_minhash_deduplicator: " in listed.stdout


def test_a_profile_finds_texts_and_media(tmp_path):
    path = tmp_path / "chats.jinx"
    with jinx.Writer(path) as writer:
        writer.write({"messages": [{"role": "user", "content": "hi"}], "image": b"x", "n": None})
    profile = profile_of(str(path))
    assert profile.columns == {"messages": "list of dict", "image": "bytes", "n": "None"}
    assert profile.roles == {"text": "messages[*].content", "images": "image"}
