"""Questions in Label Studio: a stub of the server, and the real one."""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.annotation.label_studio import (
    LabelStudioError,
    answers_of_export,
    label_config,
    label_studio_at,
    task_data,
)
from jinx_pipeline.annotation.wait import WaitingError
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.operators.api.annotation import Form, HumanAnswer
from pipeline.annotation.label_studio import REFRESH, Stub

CHOICES = Form("choices", "Is it good?", ("good", "bad"), ("text",))
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", REFRESH)
    with Stub() as running:
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "in.jinx"
    with jinx.Writer(path) as writer:
        for i in range(150):
            writer.write({"n": i, "text": f"text {i} <b>&"})
    return path


def waiting(run: Any) -> WaitingError:
    with pytest.raises(WaitingError) as caught:
        run()
    return caught.value


def test_a_run_waits_for_label_studio(stub: Stub, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", f"{stub.url}/hook")
    operator = jp.create(
        "human_annotation_mapper", choices=["good", "bad"], columns=["text"], label_studio=stub.url, webhook="env:HOOK"
    )
    run = lambda: Dataset.load(str(data)).process(operator).export(tmp_path / "out.jinx", workers=1)  # noqa: E731
    # A server that fails in the middle gets the other tasks later. So does a webhook.
    stub.most_imports = 100
    with pytest.raises(LabelStudioError, match="500"):
        run()
    stub.most_imports, stub.has_hook = None, False
    with pytest.warns(UserWarning, match="the webhook got no message: it answers 401"):
        waiting(run)
    stub.has_hook = True
    error = waiting(run)
    assert error.waiting == 150
    assert f"{stub.url}/projects/1/data" in str(error)
    assert [task["data"] for task in stub.tasks[:2]] == [{"jinx_task": n, "text": f"text {n} <b>&"} for n in range(2)]
    assert len(stub.tasks) == 150
    assert '<Choice value="good"/>' in stub.projects[0]["label_config"]
    for task in range(150):
        stub.annotate(task, {"choices": ["good" if task % 3 else "bad"]})
    stub.annotate(7, {}, is_skipped=True)
    # The access token has expired since.
    stub.accesses += 1
    run()
    assert jinx.open(tmp_path / "out.jinx")["answer"] == ["good" if n % 3 else "bad" for n in range(150)]
    assert len(stub.projects) == 1
    assert [message["event"] for message in stub.messages] == ["waiting", "answered"]
    assert stub.messages[0]["text"] == "human_annotation_mapper waits for 150 answers"


def test_what_is_wrong_with_a_server_is_said(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", "legacy")
    with pytest.raises(LabelStudioError, match="refuses the token in LABEL_STUDIO_TOKEN"):
        label_studio_at(stub.url).count_tasks(1)
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", "x.y.z")
    with pytest.raises(LabelStudioError, match="refuses the token"):
        label_studio_at(stub.url).count_tasks(1)
    with pytest.raises(LabelStudioError, match="does not answer"):
        label_studio_at("http://127.0.0.1:1").count_tasks(1)
    monkeypatch.delenv("LABEL_STUDIO_TOKEN")
    with pytest.raises(LabelStudioError, match="set LABEL_STUDIO_TOKEN"):
        label_studio_at(stub.url)
    assert "x.y.z" not in repr(label_studio_at.__doc__)


def test_labeling_interfaces() -> None:
    from xml.etree import ElementTree as ET

    sample = {"image": PNG, 'odd "name': "<x>", "meta": {"a": 1}, "large": PNG + b"\0" * (3 << 20)}
    data = task_data(4, sample, Form("text"))
    assert data["jinx_task"] == 4
    assert data["image"].startswith("data:image/png;base64,")
    assert (data["odd__name"], data["meta"]) == ("<x>", '{"a": 1}')
    assert data["large"] == "(3,145,766 bytes)"
    for form, control in (
        (Form("text", "What?"), "TextArea"),
        (Form("rating", "How?", ("1", "2", "3")), "Rating"),
        (Form("tags", 'A "tag" & more?', ("a", "<b>")), "Choices"),
        (Form("choices", "", ("a", "b"), ("image", "meta")), "Choices"),
        (Form("pair", "", ("left", "right", "tie"), ("image", "meta", "large")), "Pairwise"),
    ):
        tree = ET.fromstring(label_config(form, task_data(0, sample, form)))
        (element,) = tree.findall(control)
        assert element.get("name") == "answer"
        shown = [child for child in tree if child.get("value", "").startswith("$")]
        assert {child.get("value", "")[1:] for child in shown} <= data.keys()
        assert set(element.get("toName", "").split(",")) <= {child.get("name") for child in shown}
        assert any(child.tag == "Image" for child in shown)


def test_answers_in_exports() -> None:
    def task(*results: Any) -> list[dict[str, Any]]:
        annotations = [{"completed_by": {"id": 3, "email": "a@b.c"}, "result": list(results)}]
        return [{"id": 1, "data": {"jinx_task": 5, "text": "x"}, "annotations": annotations}]

    def found(exported: Any, form: Form) -> list[tuple[int, HumanAnswer]]:
        return list(answers_of_export(exported, form))

    def result(value: dict[str, Any], name: str = "answer") -> dict[str, Any]:
        return {"from_name": name, "value": value}

    by = lambda value: [(5, HumanAnswer("a@b.c", value))]  # noqa: E731
    assert found(task(result({"choices": ["good"]}), result({"choices": ["x"]}, "other")), CHOICES) == by("good")
    assert found(task(result({"rating": 2})), Form("rating", "", ("1", "2"))) == by(2)
    assert found(task(result({"rating": 9})), Form("rating", "", ("1", "2"))) == []
    assert found(task(result({"choices": ["a", "b"]})), Form("tags", "", ("a", "b"))) == by(["a", "b"])
    assert found(task(result({"text": ["one", "two"]})), Form("text")) == by("one\ntwo")
    pair = Form("pair", "", ("left", "right", "tie"), ("a", "b"))
    assert found(task(result({"selected": "left"}, "pw")), pair) == by("left")
    # JSON_MIN.
    assert found([{"jinx_task": 5, "answer": "good", "annotator": 3}], CHOICES) == [(5, HumanAnswer("user 3", "good"))]
    tags = {"jinx_task": 5, "answer": {"choices": ["a", "b"]}, "annotator": 3}
    assert found([tags], Form("tags", "", ("a", "b"))) == [(5, HumanAnswer("user 3", ["a", "b"]))]
    for wrong in ({}, ["x"], [{"data": {"text": "x"}, "annotations": []}]):
        with pytest.raises(LabelStudioError):
            found(wrong, CHOICES)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_real_server(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set `LABEL_STUDIO` to the program, from an environment of its own: its requirements do not fit others."""
    program = os.environ.get("LABEL_STUDIO")
    if not program:
        pytest.skip("LABEL_STUDIO does not name the program")
    token, port = "0123456789abcdef0123456789abcdef01234567", 18_231
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "LABEL_STUDIO_BASE_DATA_DIR": str(tmp_path / "server"), "LATEST_VERSION_CHECK": "no"}
    account = ["--username", "a@example.org", "--password", "pw-of-a-test", "--user-token", token]
    command = [program, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port), *account]
    with (tmp_path / "server.log").open("w") as log:
        server = subprocess.Popen([*command, "--enable-legacy-api-token"], env=environment, stdout=log, stderr=log)
        try:
            _wait_for(url, server)
            _annotate_all(url, token, data, tmp_path, monkeypatch)
        finally:
            server.terminate()
            server.wait(60)


def _wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    limit = time.monotonic() + 600
    while time.monotonic() < limit and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            time.sleep(1)
    pytest.fail("the server does not start")


def _annotate_all(url: str, token: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", token)
    operator = jp.create("human_annotation_mapper", choices=["good", "bad"], columns=["text"], label_studio=url)
    run = lambda: Dataset.load(str(data)).process(operator).export(tmp_path / "out.jinx", workers=1)  # noqa: E731
    assert waiting(run).waiting == 150

    def ask(path: str, value: Any = None) -> Any:
        headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        body = None if value is None else json.dumps(value).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{url}{path}", body, headers), timeout=60) as answer:
            return json.loads(answer.read())

    project = ask("/api/projects/")["results"][0]["id"]
    tasks = ask(f"/api/tasks/?project={project}&page_size=1000")["tasks"]
    assert len(tasks) == 150
    for task in tasks:
        good = "good" if task["data"]["jinx_task"] % 3 else "bad"
        result = {"from_name": "answer", "to_name": "text", "type": "choices", "value": {"choices": [good]}}
        ask(f"/api/tasks/{task['id']}/annotations/", {"result": [result]})
    run()
    assert jinx.open(tmp_path / "out.jinx")["answer"] == ["good" if n % 3 else "bad" for n in range(150)]
