"""The shipped recipes for images and for traces of agents, each run on data made here with 1 and 4 workers."""

import json

import pytest
from click.testing import CliRunner

import jinx
from jinx_pipeline.cli.program import pipeline
from pipeline.made import digest
from pipeline.operators.images import encoded, hostile, photo

SENTENCE = "A harbour with old boats below a castle, painted by a sailor in the winter of a remarkable year"
WORDS = SENTENCE.split()
HALF = hostile()["half a jpeg"]


def caption(seed: int) -> str:
    return " ".join(WORDS[seed:] + WORDS[:seed]) + "."


def image_text() -> tuple[list[dict], int]:
    """Good samples, then bad ones; and how many are bad because they cannot be read."""
    good = [{"text": caption(seed), "images": [encoded(photo(96, 80, seed), "JPEG")]} for seed in range(6)]
    bad = [
        {"text": "#### |||| ****", "images": good[0]["images"]},
        {"text": "buy " * 300, "images": good[0]["images"]},
        {"text": caption(7), "images": [encoded(photo(20, 20, 20))]},
        {"text": caption(8), "images": [encoded(photo(900, 80, 21))]},
        {"text": caption(9), "images": good[1]["images"]},
        {"text": caption(9), "images": []},
        {"text": caption(9), "images": [HALF]},
        {"text": caption(9), "images": [b"no image" * 20]},
    ]
    return good + bad[:5] + bad[6:], 2


def llava() -> tuple[list[dict], int]:
    samples, broken = image_text()
    return [
        {
            "image": sample["images"][0],
            "conversations": [
                {"from": "human", "value": "<image>\nDescribe"},
                {"from": "gpt", "value": sample["text"]},
            ],
        }
        for at, sample in enumerate(samples)
        if at != 10  # with consider_text, another caption makes it another sample
    ], broken


def agent_traces() -> tuple[list[dict], int]:
    def trace(seed: int, result: str, times: int = 1) -> dict:
        call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"q": "me@example.org"}'}}
        turns = [{"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "content": result}]
        messages = [{"role": "user", "content": caption(seed)}, *(turns * times)]
        messages.append({"role": "assistant", "content": "It is found, write to me@example.org or call +49 30 901820."})
        return {"messages": messages, "usage": {"prompt_tokens": 10, "completion_tokens": seed}}

    good = [trace(seed, "three results") for seed in range(6)]
    return [*good, good[2], trace(7, "Error: no such tool", 3), {"messages": [{"role": "user", "content": "Hi"}]}], 0


MADE = {"agent-traces": agent_traces, "image-text": image_text, "llava-pretrain": llava}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MADE))
def test_a_recipe_keeps_what_is_good(tmp_path, name):
    pytest.importorskip("ftfy")
    samples, broken = MADE[name]()
    source = tmp_path / "in.jinx"
    with jinx.Writer(source) as writer:
        writer.write_many({"id": at, **sample} for at, sample in enumerate(samples))
    outputs = {workers: tmp_path / workers / "out.jinx" for workers in ("1", "4")}
    for workers, out in outputs.items():
        out.parent.mkdir()
        command = ["run", name, "--in", str(source), "--out", str(out), "--workers", workers, "--progress", "none"]
        done = CliRunner().invoke(pipeline, command)
        assert done.exit_code == 0, done.output
    assert digest(outputs["1"]) == digest(outputs["4"])
    with jinx.open(outputs["1"], lazy=False) as dataset:
        kept = list(dataset)
    assert [sample["id"] for sample in kept] == list(range(6))
    assert f"{broken} row" in done.output or not broken
    texts = json.dumps([{**sample, "images": None, "image": None} for sample in kept])
    assert "me@example.org" not in texts
    if name == "agent-traces":
        facts = kept[3]["__dj__meta__"]
        assert facts["primary_tool_type"] == "search"
        assert (facts["tool_success_count"], facts["total_tokens"], facts["agent_bad_case_tier"]) == (1, 13, "none")
        assert facts["pii_counts"] == {"email": 2, "phone": 1}
        assert kept[3]["query"] == caption(3)
