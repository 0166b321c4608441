"""Workers that have what operators need: pools, their sizes, their memory, and what a recipe may say of an operator."""

import json

import pytest

import jinx_pipeline as jp
from jinx_pipeline.engines import engine
from jinx_pipeline.engines.local.room import Machine, Room, Workforce
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.read import recipe_of
from jinx_pipeline.recipe.write import as_data, from_data
from pipeline.made import digest, write_input

GB = 10**9


def pools(*needs):
    return {item.pool: item for item in (Resources(), *needs)}


def workforce(*needs, cores=8, gpus=(), memory=64 * GB, **more):
    return Workforce(Machine(cores, tuple(gpus), memory), pools(*needs), **more)


@pytest.mark.parametrize(
    ("needs", "name", "shown"),
    [
        (Resources(), "cpu", "1 CPU"),
        (Resources(gpus=1), "gpu", "1 CPU, 1 GPU"),
        (Resources(gpus=0.5, memory=8 * GB), "0.5gpu-8GB", "1 CPU, 0.5 GPUs, 8.0 GB of memory"),
        (Resources(cpus=4, memory=2 << 30), "4cpu-2GiB", "4 CPUs, 2.1 GB of memory"),
        (Resources(cpus=0.5, memory=7), "0.5cpu-7B", "0.5 CPUs, 7 B of memory"),
    ],
)
def test_a_pool_is_called_after_what_its_workers_have(needs, name, shown):
    assert (needs.pool, str(needs)) == (name, shown)


def test_an_operator_with_much_memory_does_not_make_all_workers_large():
    force = workforce(Resources(memory=32 * GB))
    assert force.counts() == {"cpu": 8, "cpu-32GB": 1}
    limits = force.memory()
    assert limits["cpu-32GB"] >= 32 * GB
    assert limits["cpu"] < 5 * GB
    assert 8 * limits["cpu"] + limits["cpu-32GB"] <= 64 * GB
    assert workforce(Resources(memory=20 * GB), workers=4).counts() == {"cpu": 4, "cpu-20GB": 3}
    # Two that do not fit at a time take turns.
    assert workforce(Resources(memory=40 * GB), Resources(memory=50 * GB)).counts() == {
        "cpu": 1,
        "cpu-40GB": 1,
        "cpu-50GB": 1,
    }


def test_a_worker_with_several_cores_leaves_room_for_fewer():
    assert workforce(Resources(cpus=3), Resources(cpus=0.5)).counts() == {"cpu": 8, "3cpu": 2, "0.5cpu": 16}
    assert workforce(limit=GB).memory() == {"cpu": GB}


def test_shares_of_gpus_spread_over_all_and_pools_take_turns():
    force = workforce(Resources(gpus=0.4), Resources(gpus=0.5), gpus=("0", "1"))
    assert force.counts() == {"cpu": 8, "0.4gpu": 2, "0.5gpu": 2}
    assert workforce(Resources(gpus=0.25), gpus=("0",)).counts()["0.25gpu"] == 4
    assert workforce(Resources(gpus=2), Resources(gpus=1), gpus=("0", "1")).counts() == {"cpu": 8, "2gpu": 1, "gpu": 1}
    room = Room(("0", "1"), 10)
    half, other = room.take(Resources(gpus=0.5)), room.take(Resources(gpus=0.5))
    assert half is not None
    assert other is not None
    assert {*half.gpus, *other.gpus} == {"0", "1"}
    assert room.take(Resources(gpus=1)) is None
    room.give_back(half)
    whole = room.take(Resources(gpus=1, memory=10))
    assert whole is not None
    assert whole.gpus == half.gpus
    assert room.take(Resources(memory=1)) is None


def test_a_machine_says_what_it_has():
    machine = Machine(2, (), 8 * GB)
    assert machine.lacks(Resources(cpus=2, memory=8 * GB)) is None
    for needs in (Resources(cpus=3), Resources(gpus=0.1), Resources(memory=9 * GB)):
        assert machine.lacks(needs) == "this machine has 2 CPUs, 8.0 GB of memory for workers"


def test_what_no_machine_has_is_refused_with_all_operators_before_anything_starts(tmp_path):
    flow = jp.Dataset.load(write_input(tmp_path / "in.jinx"))
    flow = flow.process([jp.ops.TextLengthFilter()], resources={"gpus": 40}).process("clean_links_mapper")
    flow = flow.process({"words_num_filter": {"resources": {"memory": "900TB"}}})
    with pytest.raises(RecipeError) as refused:
        flow.export(tmp_path / "out.jinx")
    first, second = str(refused.value).splitlines()
    assert "process[0]: text_length_filter needs 1 CPU, 40 GPUs; this machine has" in first
    assert "process[2]: words_num_filter needs 1 CPU, 900.0 TB of memory; this machine has" in second
    assert not (tmp_path / "out.jinx").exists()
    with pytest.raises(RecipeError, match=r"a worker may use 1\.0 GB \(memory\): set memory to more"):
        jp.Dataset.load(tmp_path / "in.jinx").process("clean_links_mapper", resources={"memory": "2GB"}).export(
            tmp_path / "out.jinx", memory="1GB"
        )


def test_a_recipe_says_what_an_operator_needs():
    recipe = recipe_of(
        {
            "dataset": "in.jinx",
            "process": [
                {"text_length_filter": {"min_len": 3, "resources": {"cpus": 2, "memory": "8GB"}, "batch_rows": 64}},
                {"image_text_similarity_filter": {"hf_clip": "clip", "resources": {"gpus": 0.5}}},
            ],
        }
    )
    first, second = recipe.steps
    assert (first.resources, first.batch_rows) == (Resources(cpus=2, memory=8 * GB), 64)
    assert second.resources == Resources(gpus=0.5, memory=2 << 30)  # the memory that it declares
    assert from_data(as_data(recipe)).steps[0].resources == first.resources
    assert from_data(as_data(recipe)).digest == recipe.digest


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"resources": {"gpu": 1}}, "resources has no 'gpu'; did you mean 'gpus'"),
        ({"resources": {"gpus": "many"}}, "resources.gpus is a number of at least 0, not 'many'"),
        ({"resources": {"cpus": 0}}, "resources.cpus is a number above 0"),
        ({"resources": {"memory": -1}}, "resources.memory is a number of at least 0, not -1"),
        ({"resources": {"memory": "much"}}, "'much' is not a size"),
        ({"resources": 3}, "resources is a mapping with cpus, gpus and memory, not 3"),
        ({"batch_rows": 0}, "batch_rows is a whole number of at least 1, not 0"),
        ({"batch_rows": "all"}, "batch_rows is a whole number of at least 1, not 'all'"),
    ],
)
def test_what_makes_no_sense_is_one_mistake_of_the_recipe(given, message):
    with pytest.raises(RecipeError) as refused:
        recipe_of({"dataset": "in.jinx", "process": [{"text_length_filter": {"min_len": 1, **given}}]})
    (line,) = str(refused.value).splitlines()
    assert f"text_length_filter: {message}" in line
    with pytest.raises(ValueError, match=r"resources|batch_rows|is not a size"):
        jp.Dataset.load("in.jinx").process("text_length_filter", **given)


@pytest.mark.timeout(120)
def test_stages_run_in_workers_of_their_pools_with_the_same_bytes(tmp_path, monkeypatch):
    """GPUs in name: a worker sees its own alone, and two pools that want the only one take turns."""
    data = write_input(tmp_path / "in.jinx")

    def seen(sample):
        import os

        return {**sample, "gpus": os.environ["CUDA_VISIBLE_DEVICES"], "threads": os.environ["RAYON_NUM_THREADS"]}

    monkeypatch.setattr(engine, "visible_gpus", lambda: ["7"])
    monkeypatch.setattr("jinx_pipeline.engines.driver._STARVED_SECONDS", 0.5)
    monkeypatch.setattr(engine, "usable_cores", lambda: 2)
    flow = (
        jp.Dataset.load(data)
        .process(seen, resources={"gpus": 1})
        .process("clean_links_mapper", resources={"gpus": 0.5})
        .process("words_num_filter", resources={"cpus": 2})
    )
    assert flow.export(tmp_path / "out", block_rows=30, workers=1).ok
    events = [json.loads(line) for line in (tmp_path / "out.work" / "events.jsonl").read_text().splitlines()]
    workers = {
        event["node"].rpartition("-")[0]: event["worker"].rpartition("-")[0]
        for event in events
        if event["kind"] == "block"
    }
    assert workers == {"seen": "gpu", "clean_links_mapper": "0.5gpu", "words_num_filter": "2cpu"}
    samples = jp.Dataset.load(tmp_path / "out").head(1)
    assert (samples[0]["gpus"], samples[0]["threads"]) == ("7", "1")
    plain = jp.Dataset.load(data).process([seen, "clean_links_mapper", "words_num_filter"])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    assert plain.export(tmp_path / "plain", block_rows=30, workers=1).rows_out > 0
    again = flow.export(tmp_path / "again", block_rows=30, workers=1)
    assert again.ok
    assert digest(tmp_path / "again") == digest(tmp_path / "out")


def test_plan_shows_the_pools(tmp_path):
    data = write_input(tmp_path / "in.jinx")
    recipe = recipe_of(
        {
            "dataset": str(data),
            "process": ["clean_links_mapper", {"text_length_filter": {"resources": {"memory": "3GB"}}}],
            "export": str(tmp_path / "out.jinx"),
            "workers": 2,
        }
    )
    facts = describe(recipe)
    assert list(facts["pools"]) == ["cpu", "cpu-3GB"]
    lines = [line for line in facts["lines"] if line.startswith("pool ")]
    assert len(lines) == 2
    assert "cpu-3GB: 2 workers with 1 CPU, 3.0 GB of memory and up to " in lines[1]
    assert any("text_length_filter  [cpu-3GB, batches of" in line for line in facts["lines"])
