"""The shipped recipes for media and for traces of agents, each run on data made here with 1 and 4 workers."""

import json
from collections import Counter

import pytest
from click.testing import CliRunner

import jinx
from jinx_pipeline.cli.program import pipeline
from pipeline.made import digest
from pipeline.recipe.media_samples import MADE, caption, write_samples


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", sorted(MADE))
def test_a_recipe_keeps_what_is_good(tmp_path, name):
    made = MADE[name]()
    source = write_samples(tmp_path / "in.jinx", made)
    outputs = {workers: tmp_path / workers / "out.jinx" for workers in ("1", "4")}
    for workers, out in outputs.items():
        out.parent.mkdir()
        command = ["run", name, "--in", str(source), "--out", str(out), "--workers", workers, "--progress", "none"]
        done = CliRunner().invoke(pipeline, command)
        assert done.exit_code == 0, done.output
    assert digest(outputs["1"]) == digest(outputs["4"])
    with jinx.open(outputs["1"], lazy=False) as dataset:
        kept = list(dataset)
    assert Counter(sample["id"] for sample in kept) == made.kept
    assert not made.broken or f"{made.broken} row" in done.output
    media = dict.fromkeys(("images", "image", "videos", "audios"))
    assert "me@example.org" not in json.dumps([{**sample, **media} for sample in kept])
    if name == "agent-traces":
        facts = kept[3]["__dj__meta__"]
        assert facts["primary_tool_type"] == "search"
        assert (facts["tool_success_count"], facts["total_tokens"], facts["agent_bad_case_tier"]) == (1, 13, "none")
        assert facts["pii_counts"] == {"email": 2, "phone": 1}
        assert kept[3]["query"] == caption(3)
