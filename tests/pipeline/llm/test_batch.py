"""Language models by files of the Batch API: requests are written, answers are taken, and nothing is sent."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import pipeline
from jinx_pipeline.engines.driver import StoppedError
from pipeline.llm.model_server import completion, digest, sample_of

pytest.importorskip("aiohttp", reason="needs the extra llm")
pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Nobody listens there.
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    return tmp_path


def recipe(folder: Path, *steps: dict, rows: int = 30) -> str:
    texts = [f"text {number % 25}" for number in range(rows)]  # some are equal
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    data = {
        "dataset": "in.jsonl",
        "process": list(steps),
        "export": "out.jinx",
        "workers": 2,
        "block_rows": 10,
        "work_dir": "work",
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(data))
    return "recipe.yaml"


QUALITY = {"llm_quality_score_filter": {"min_score": 0.5, "model_params": {"batch": "batch"}}}
TAGS = {"text_tagging_by_prompt_mapper": {"tag_list": ["code", "prose"], "model_params": {"batch": "batch"}}}


def command(*words):
    result = CliRunner().invoke(pipeline, list(words), standalone_mode=False, catch_exceptions=False)
    return result.return_value, result.output


def requests(folder: Path) -> list[dict]:
    files = sorted((folder / "batch" / "requests").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def answer(request: dict, text: str) -> str:
    response = {"status_code": 200, "body": completion(text)}
    return json.dumps({"id": "x", "custom_id": request["custom_id"], "response": response, "error": None}) + "\n"


def fitting(request: dict) -> str:
    return json.dumps(sample_of(request["body"]["response_format"]["json_schema"]["schema"]))


def put(folder: Path, name: str, lines: list[str]) -> None:
    (folder / "batch" / "answers").mkdir(parents=True, exist_ok=True)
    (folder / "batch" / "answers" / name).write_text("".join(lines))


def test_requests_are_written_once_and_answers_make_the_output(folder):
    file = recipe(folder, {"llm_quality_score_filter": {**QUALITY["llm_quality_score_filter"], "min_score": 0.0}})
    with pytest.raises(StoppedError, match="run the command batch"):
        jp.Run(jp.read_recipe(file))()
    code, output = command("batch", file)
    assert code == 3
    assert "25 requests of 30 samples wait" in output
    asked = requests(folder)
    assert len(asked) == len({one["custom_id"] for one in asked}) == 25
    for one in asked:
        assert (one["method"], one["url"]) == ("POST", "/v1/chat/completions")
        assert one["custom_id"] == digest(one["body"])  # as the client keeps answers
    assert not Path("out.jinx").exists()

    put(folder, "one.jsonl", [answer(one, fitting(one)) for one in asked[:10]])
    code, output = command("batch", file)
    assert code == 3
    assert "10 new answers" in output
    assert {one["custom_id"] for one in requests(folder)} == {one["custom_id"] for one in asked[10:]}

    put(folder, "two.jsonl", [answer(one, fitting(one)) for one in asked[10:]])
    code, output = command("batch", file)
    assert (code, requests(folder)) == (0, [])
    assert "15 new answers" in output
    assert "no request waits: run the recipe" in output
    result = jp.Run(jp.read_recipe(file))()
    assert len(jinx.open("out.jinx")) == 30
    assert not result.bad_rows


def test_requests_of_another_recipe_are_not_replaced(folder):
    command("batch", recipe(folder, QUALITY))
    asked = requests(folder)
    other = Path(recipe(folder, TAGS)).read_text().replace("out.jinx", "other.jinx")
    Path("other.yaml").write_text(other)
    with pytest.raises(ValueError, match=r"batch: requests of the recipe that writes .*out\.jinx wait here"):
        command("batch", "other.yaml")
    assert requests(folder) == asked
    # Once they are answered, the directory is free; and a changed recipe replaces its own requests.
    command("batch", recipe(folder, QUALITY, rows=20))
    put(folder, "one.jsonl", [answer(one, fitting(one)) for one in requests(folder)])
    assert command("batch", "recipe.yaml")[0] == 0
    assert command("batch", "other.yaml")[0] == 3


def test_answers_that_do_not_fit_are_asked_for_again(folder):
    file = recipe(folder, {"llm_quality_score_filter": {"min_score": 0.0, "model_params": {"batch": "batch"}}}, rows=2)
    command("batch", file)
    first = requests(folder)
    put(folder, "bad.jsonl", [answer(one, "I like it.") for one in first])
    assert command("batch", file)[0] == 3
    again = requests(folder)
    assert len(again) == 2
    assert {len(one["body"]["messages"]) for one in again} == {4}  # with what is wrong
    put(folder, "good.jsonl", [answer(one, fitting(one)) for one in again])
    assert command("batch", file)[0] == 0


def test_a_later_operator_is_asked_when_its_samples_are_known(folder):
    file = recipe(folder, {"llm_quality_score_filter": {**QUALITY["llm_quality_score_filter"], "min_score": 0.0}}, TAGS)
    command("batch", file)
    first = requests(folder)
    assert {"tag" in json.dumps(one["body"]["response_format"]) for one in first} == {False}
    put(folder, "one.jsonl", [answer(one, fitting(one)) for one in first])
    code, _ = command("batch", file)
    later = requests(folder)
    assert (code, len(later)) == (3, 25)
    put(folder, "two.jsonl", [answer(one, json.dumps({"label": "code"})) for one in later])
    assert command("batch", file)[0] == 0
    jp.Run(jp.read_recipe(file))()
    assert len(jinx.open("out.jinx")) == 30


def test_lines_that_are_no_answers_are_told_and_left(folder):
    file = recipe(folder, QUALITY, rows=2)
    command("batch", file)
    asked = requests(folder)
    failed = {"custom_id": asked[0]["custom_id"], "response": {"status_code": 500, "body": {"error": "overloaded"}}}
    lines = ["no json\n", "{}\n", '{"custom_id": "mine"}\n', json.dumps(failed) + "\n", "[" * 10_000 + "\n", "\n"]
    put(folder, "bad.jsonl", lines)
    code, output = command("batch", file)
    assert code == 3
    assert "0 new answers" in output
    assert output.count("not taken: ") == 5
    assert "bad.jsonl, line 4" in output
    assert "overloaded" in output
    assert len(requests(folder)) == 2


def test_a_recipe_without_a_batch_is_refused(folder):
    file = recipe(folder, {"llm_quality_score_filter": {}})
    with pytest.raises(jp.RecipeError, match="no operator has batch in its model_params"):
        command("batch", file)
    with pytest.raises(jp.ParameterError, match="a batch has no budget"):
        jp.create("llm_quality_score_filter", model_params={"batch": "x", "max_requests": 3})


def test_collecting_writes_nothing_to_tables(folder):
    recipe(folder)
    parameters = {**QUALITY["llm_quality_score_filter"], "min_score": 0.0}
    sink = {"database": "kept.db", "table": "kept", "key": "text", "columns": {"text": "str"}}
    graph = {
        "nodes": {
            "in": {"source": "in.jsonl"},
            "seen": {"sink": sink},
            "good": {"operators": [{"llm_quality_score_filter": parameters}]},
            "out": {"sink": "out.jinx"},
        },
        "flows": [{"from": "in", "to": "seen"}, {"from": "seen", "to": "good"}, {"from": "good", "to": "out"}],
        "workers": 1,
    }
    Path("graph.yaml").write_text(yaml.safe_dump(graph))
    code, output = command("batch", "graph.yaml")
    assert (code, "25 requests of 30 samples wait" in output) == (3, True)
    assert not Path("kept.db").exists()


def test_samples_that_fail_otherwise_do_not_wait(folder):
    Path("half.py").write_text(
        "def process_single(sample):\n"
        "    if sample['text'] == 'text 3':\n"
        "        raise ValueError('not this one')\n"
        "    return sample\n"
    )
    file = recipe(folder, {"python_file_mapper": {"file_path": "half.py"}}, QUALITY, rows=20)
    code, output = command("batch", file)
    assert (code, "19 requests of 19 samples wait" in output) == (3, True)


def test_files_of_other_names_are_told(folder):
    file = recipe(folder, QUALITY, rows=2)
    command("batch", file)
    put(folder, "answers.json", [answer(one, fitting(one)) for one in requests(folder)])
    (folder / "batch" / "answers" / "more.jsonl").mkdir()
    code, output = command("batch", file)
    assert code == 3
    assert "not taken: answers.json: not a file of answers, which end with .jsonl" in output
    assert "not taken: more.jsonl: not a file of answers" in output
