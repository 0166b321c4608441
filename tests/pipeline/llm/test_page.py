"""The page about language models and the recipes with them work, with a local server as the service."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import jinx
import pages
from jinx_pipeline.cli.program import pipeline
from pipeline.llm.model_server import Said, good, sample_of, serving

pytest.importorskip("aiohttp", reason="needs the extra llm")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

PAIRS = [{"query": f"What is {n}?", "response": f"It is the number {n}, which follows {n - 1}."} for n in range(20)]


@pytest.fixture
def service(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in PAIRS))
    with serving(rating(4)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def rating(stars: int):
    """The answers of a model that rates all alike, except the number 7."""

    def script(body, times):
        value = sample_of(body["response_format"]["json_schema"]["schema"])
        if "dimension_scores" not in value:
            return good(body, times)
        is_bad = "What is 7?" in body["messages"][1]["content"]
        value["dimension_scores"] = dict.fromkeys(value["dimension_scores"], 1 if is_bad else stars)
        return Said(json.dumps(value))

    return script


def run(*arguments: str) -> str:
    done = CliRunner().invoke(pipeline, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def rows(path: str) -> list[dict]:
    with jinx.open(path, lazy=False) as dataset:
        return list(dataset)


def test_the_page(service):
    page = (pages.ROOT / "docs/how-to/llm.md").read_text("utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    recipe = next(text for kind, text in blocks if kind == "text" and text.startswith("dataset:"))
    Path("recipe.yaml").write_text(recipe, "utf-8")
    commands = [line[2:].split() for kind, text in blocks if kind == "console" for line in text.splitlines()]
    outputs = [run(*words[1:]) for words in commands if words[0] == "jinx-pipeline"]
    assert len(outputs) == 3
    told = next(text for kind, text in blocks if kind == "text" and "requests" in text and "dataset" not in text)
    assert told in outputs[2]
    assert len(rows("rated.jinx")) == 19
    pairs = rows("pairs.jinx")
    assert [pair["query"] for pair in pairs] == [pair["query"] for pair in PAIRS if pair["query"] != "What is 7?"]
    assert {(pair["rejected_response"], pair["reason"]) for pair in pairs} == {("some text", "some text")}


def test_preference_pairs(service):
    run("run", "preference-pairs", "--in", "in.jsonl", "--out", "pairs.jinx", "--workers", "1")
    pairs = rows("pairs.jinx")
    assert len(pairs) == 20
    # The server's better answers are all alike, and so is its rejected answer: none is a pair, and all are counted.
    assert all(pair["__dj__meta__"]["pair_preference_mapper"]["parsed"] == "unparsed" for pair in pairs)
    assert {pair["response"] for pair in pairs} == {"some text"}
