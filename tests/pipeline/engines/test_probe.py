"""The probe: what it measures, what follows from it, and that none of it shows in the output."""

import json
from dataclasses import asdict, replace

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines import engine
from jinx_pipeline.engines.local import probe
from jinx_pipeline.engines.ray.engine import _OnRay
from jinx_pipeline.operators.api.operator_kinds import FusedOp
from jinx_pipeline.operators.api.resources import Resources
from jinx_pipeline.operators.script.function_op import function_operator
from jinx_pipeline.plan.graph_builder import graph_of
from jinx_pipeline.plan.probe import Findings, Measured, measured_bytes, pools_of, probed_places
from jinx_pipeline.plan.source import Source
from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.model import Export, Options, Recipe, SourceSpec, Step
from jinx_pipeline.sample.roles import Roles
from jinx_pipeline.worker.probe_work import read_findings
from pipeline.made import digest, loaded_operators, records_of, write_input

MB = 1_000_000


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx", 300)


@pytest.fixture
def probed_always(monkeypatch):
    monkeypatch.setattr(probe, "MIN_ROWS", 1)


def recipe(data, *operators, **options) -> Recipe:
    files = (str(loaded_operators()),)
    steps = tuple(Step(operator) for operator in operators)
    return Recipe((SourceSpec(str(data)),), Roles(), steps, options=Options(custom_operators=files, **options))


def probed(what: Recipe) -> Findings:
    return probe.run_probe(what, Source((what.sources[0].path,)), 300)


def test_each_operator_is_measured(data, probed_always):
    loaded_operators()
    greedy = jp.create("greedy_mapper", row_megabytes=1, held_megabytes=100)
    found = probed(recipe(data, jp.ops.TextLengthFilter(), greedy, jp.ops.DocumentDeduplicator()))
    assert set(found.operators) == {0, 1}
    light, heavy = found.operators[0], found.operators[1]
    assert heavy.row_bytes > 0.8 * MB > 8 * light.row_bytes
    assert heavy.held_bytes > 80 * MB
    assert found.start_bytes > 10 * MB
    assert light.rows_per_second > heavy.rows_per_second > 0


def test_freed_memory_that_a_worker_keeps_hides_no_need(data, probed_always):
    loaded_operators()
    greedy = [jp.create("greedy_mapper", row_megabytes=megabytes) for megabytes in (12, 12)]
    found = probed(recipe(data, *greedy))
    assert all(operator.row_bytes > 10 * MB for operator in found.operators.values())


def test_a_row_that_ends_the_process_costs_one_measurement(data, probed_always):
    loaded_operators()
    killer = jp.create("fragile_mapper", kills=tuple(range(300)))
    raising = jp.create("fragile_mapper", raises=tuple(range(300)))
    found = probed(recipe(data, jp.ops.TextLengthFilter(), killer, raising, jp.ops.WordsNumFilter()))
    assert set(found.operators) == {0, 3}


def test_what_would_exceed_the_memory_limit_is_not_measured(data, probed_always):
    loaded_operators()
    hungry = jp.create("hungry_mapper", rows=tuple(range(300)), megabytes=400)
    found = probed(recipe(data, jp.ops.TextLengthFilter(), hungry, memory="300MB"))
    assert set(found.operators) == {0}


def test_an_operator_that_takes_too_long_costs_its_own_measurement(data, probed_always, monkeypatch):
    loaded_operators()
    monkeypatch.setattr(probe, "_OPERATOR_SECONDS", 12.0)
    what = recipe(data, jp.ops.TextLengthFilter(), jp.create("slow_filter", seconds=600), jp.ops.WordsNumFilter())
    assert set(probed(what).operators) == {0, 2}


def test_what_was_measured_before_the_time_was_up_is_kept(data, probed_always, monkeypatch, tmp_path):
    real = probe._answer

    def too_late(workers, worker, request, until):
        real(workers, worker, request, until)

    monkeypatch.setattr(probe, "_answer", too_late)
    found = probed(recipe(data, jp.ops.TextLengthFilter(), jp.ops.WordsNumFilter()))
    assert set(found.operators) == {0, 1}
    assert found.start_bytes > 0
    part = tmp_path / "part.jsonl"
    assert read_findings(part) == Findings()
    line = json.dumps({"operators": {"3": asdict(Measured(1.0, 2, 3))}, "start_bytes": 4})
    part.write_text(f"{line}\n{line[:20]}")
    assert read_findings(part) == Findings({3: Measured(1.0, 2, 3)}, 4)


def test_what_changes_no_plan_is_not_probed(data):
    def places(*operators, **options):
        return probed_places(recipe(data, *operators, **options))

    length, words = jp.ops.TextLengthFilter(), jp.ops.WordsNumFilter()
    assert places(length) == [0]
    assert places(length, engine="ray") == []
    assert places(length, engine="ray", memory="1GB") == [0]
    assert places(length, words, engine="ray") == [0, 1]
    assert places(length, words, engine="ray", reorder=False) == []


def test_on_ray_nothing_is_probed_after_the_last_filter_that_could_be_moved(data):
    loaded_operators()
    length, words, mapper = jp.ops.TextLengthFilter(), jp.ops.WordsNumFilter(), jp.create("greedy_mapper")

    def places(*operators):
        return probed_places(recipe(data, *operators, engine="ray"))

    assert places(mapper, length, words, mapper, mapper) == [0, 1, 2]
    assert places(length, mapper, words, mapper) == []
    assert places(length, words, mapper, length) == [0, 1]
    assert places(length, jp.ops.DocumentDeduplicator(), words) == []


def test_the_probe_for_ray_takes_no_more_memory_than_is_free_here(monkeypatch):
    monkeypatch.setattr(probe, "free_memory", lambda: 1000 * MB)
    assert probe._memory(Options(engine="ray")) == 900 * MB
    assert probe._memory(Options(engine="ray", memory="20GB")) == 900 * MB
    assert probe._memory(Options(engine="ray", memory="300MB")) == 300 * MB
    assert probe._memory(Options(memory="20GB")) == 20_000 * MB


def test_free_memory_is_some_of_this_machine():
    assert 0 < probe.free_memory() < 10**15


def test_a_short_input_and_code_of_a_script_are_not_probed(data, monkeypatch):
    assert probed(recipe(data, jp.ops.TextLengthFilter())) == Findings()
    monkeypatch.setattr(probe, "MIN_ROWS", 1)
    assert probed(recipe(data, function_operator(print))) == Findings()


def test_filters_whose_statistics_are_known_are_not_measured_again(data, probed_always):
    what = recipe(data, jp.ops.TextLengthFilter(), jp.ops.WordsNumFilter())
    known = replace(what, known_stats={"text_len": what.steps[0].operator.stats_digest})
    assert set(probed(known).operators) == {1}


def test_batches_and_workers_fit_into_memory(monkeypatch):
    what = recipe("in.jinx", jp.ops.TextLengthFilter(), jp.ops.WordsNumFilter())
    found = Findings({0: Measured(10.0, MB, 0), 1: Measured(10.0, MB, 500 * MB)}, 36 * MB)
    for limits, rows in (
        ({}, 1000),
        ({"cpu": 10_000 * MB}, 1000),
        ({"cpu": 1700 * MB}, 250),
        ({"cpu": 1 * MB}, 15),
        ({"gpu": 1}, 1000),
    ):
        (node,) = graph_of(what, found, limits).of_kind("map")
        assert node.batch_rows == rows
    # 36 + 500 + 64 for changed texts + twice 8 rows
    assert measured_bytes(what, found) == {"cpu": 632 * MB}
    monkeypatch.setattr(engine, "usable_cores", lambda: 16)
    monkeypatch.setattr(engine, "visible_gpus", list)
    monkeypatch.setattr(engine, "usable_memory", lambda: 4000 * MB)
    for options, cores, memory in (
        (Options(), 5, 720 * MB),
        (Options(workers=16), 16, 225 * MB),
        (Options(memory="1GB"), 16, 1000 * MB),
    ):
        with engine.opened_engine(options) as one:
            fitted = one.fitted(pools_of(what), {"cpu": 632 * MB})
            assert (fitted.counts(), fitted.memory()) == ({"cpu": cores}, {"cpu": memory})


def test_workers_without_a_gpu_do_not_hold_models_of_those_with_one():
    what = recipe("in.jinx", jp.ops.TextLengthFilter(), on_gpu(), jp.ops.WordsNumFilter())
    found = Findings(
        {0: Measured(10.0, MB, 10 * MB), 1: Measured(10.0, MB, 900 * MB), 2: Measured(10.0, MB, 20 * MB)}, 36 * MB
    )
    # 36 + 30 held in the pool + 64 for changed texts + twice 250 rows
    nodes = graph_of(what, found, {"cpu": 630 * MB, "gpu-123MB": 630 * MB}).of_kind("map")
    assert [(node.pool, node.batch_rows) for node in nodes] == [("cpu", 250), ("gpu-123MB", 15), ("cpu", 250)]
    assert measured_bytes(what, found) == {"cpu": 162 * MB, "gpu-123MB": 1016 * MB}
    assert measured_bytes(
        recipe("in.jinx", jp.ops.TextLengthFilter()), replace(found, operators={0: found.operators[0]})
    )


def test_ray_is_asked_for_what_operators_declare_and_for_no_estimate():
    what = recipe("in.jinx", on_gpu())
    assert pools_of(what) == {"cpu": Resources(), "gpu-123MB": Resources(gpus=1, memory=123 * MB)}
    ray = _OnRay(Options(), None)  # pyright: ignore[reportArgumentType] - no cluster is asked
    assert ray._needs() == {"cpu": {"CPU": 1}}
    needs = ray.fitted(pools_of(what), {"cpu": 10**15})._needs()
    assert needs == {"cpu": {"CPU": 1}, "gpu-123MB": {"CPU": 1, "GPU": 1, "memory": 123 * MB}}


def test_batches_and_place_of_an_operator_that_depends_on_its_batch_are_those_of_the_recipe():
    class Padding(jp.ops.TextLengthFilter):
        batch_size = 40

        @property
        def depends_on_batch(self) -> bool:
            return True

    what = recipe("in.jinx", jp.ops.TextLengthFilter(), Padding(), jp.ops.WordsNumFilter(), jp.ops.AlphanumericFilter())
    found = Findings({place: Measured(10.0 + place, 1000 * MB, 0) for place in range(4)}, MB)
    (node,) = graph_of(what, found, {"cpu": MB}).of_kind("map")
    assert node.operators == (0, 1, 3, 2)
    assert node.batch_rows == 40
    fused = recipe("in.jinx", FusedOp(operators=[Padding()]))
    assert graph_of(fused, found, {"cpu": MB}).of_kind("map")[0].batch_rows == 1000
    clip = recipe("in.jinx", jp.create("image_text_similarity_filter", hf_clip="clip"))
    assert graph_of(clip, found, {"cpu-2GiB": MB}).of_kind("map")[0].batch_rows == 128


def on_gpu():
    class OnGpu(jp.ops.TextLengthFilter):
        resources = Resources(gpus=1, memory=123 * MB)

    return OnGpu()


def test_the_plan_keeps_what_was_measured_and_no_byte_depends_on_it(data, tmp_path, monkeypatch, probed_always):
    steps = [jp.ops.TextLengthFilter(min_len=50), jp.ops.CleanLinksMapper(), jp.ops.WordsNumFilter()]
    flow = Dataset.load(data).process(steps)
    flow.export(tmp_path / "probed", workers=2)
    plan = records_of(tmp_path / "probed.work", "header")[0]["plan"]
    assert set(plan["findings"]["operators"]) == {"0", "1", "2"}
    tight = Findings({n: Measured(10.0 - n, 1000 * MB, 0) for n in range(3)}, MB)
    monkeypatch.setattr("jinx_pipeline.run_plan.run_probe", lambda *_: tight)
    flow.export(tmp_path / "tight", workers=2)
    plan = records_of(tmp_path / "tight.work", "header")[0]["plan"]
    assert [node["batch_rows"] for node in plan["graph"]["nodes"] if node["kind"] == "map"] == [15]
    assert digest(tmp_path / "tight") == digest(tmp_path / "probed")


def test_plan_tells_what_was_measured(data, tmp_path, probed_always):
    what = replace(recipe(data, jp.ops.TextLengthFilter()), export=Export(str(tmp_path / "out.jinx")))
    facts = describe(what)
    assert facts["probe"][0]["rows_per_second"] > 0
    (line,) = [line for line in facts["lines"] if line.startswith("probe")]
    assert "text_length_filter" in line
    assert "of memory a sample" in line
    assert not list(tmp_path.iterdir())
    assert len(jinx.open(data)) == 300
