"""sort and shuffle as steps of recipes: the same for any number of workers, kills and kinds of output."""

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.recipe.read import read_recipe
from pipeline.made import Killer, digest, loaded_operators, rows_of, write_input


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx", 200)


@pytest.fixture
def options():
    return {"block_rows": 30, "custom_operators": (str(loaded_operators()),)}


def chain(data, seconds=0.0):
    steps = [
        jp.create("slow_filter", seconds=seconds),
        jp.ops.Sort(by=["-len(text)", "__dj__stats__.n_rest"]),
        jp.create("fragile_mapper"),
        jp.ops.Shuffle(seed=3),
    ]
    return Dataset.load(data).process(steps)


def expected(data):
    kept = [sample for sample in jinx.open(data).to_list() if sample["n"] % 3]
    kept.sort(key=lambda sample: (-len(sample["text"]), sample["n"] % 3))
    return jp.ops.Shuffle(seed=3)(kept)


def test_orders_follow_each_other(data, options, tmp_path):
    result = chain(data).export(tmp_path / "out", workers=2, **options)
    rows = rows_of(tmp_path / "out")
    assert [row["n"] for row in rows] == [sample["n"] for sample in expected(data)]
    assert all(row["twice"] == 2 * row["n"] and row["image"][:50] == bytes([row["n"] % 256]) * 50 for row in rows)
    assert [(operator.operator, operator.rows_in, operator.rows_out) for operator in result.operators] == [
        ("slow_filter", 200, 133),
        ("sort", 133, 133),
        ("fragile_mapper", 133, 133),
        ("shuffle", 133, 133),
    ]


def test_a_view_changes_positions_alone(data, options, tmp_path):
    chain(data).export(tmp_path / "view.jinx", kind="view", workers=2, **options)
    assert [row["n"] for row in rows_of(tmp_path / "view.jinx")] == [sample["n"] for sample in expected(data)]
    view = jinx.open(tmp_path / "view.jinx")
    assert view.info().bases[0].path == str(data)
    assert set(view.info().own_columns) == {"twice", "__dj__stats__"}


@pytest.mark.slow
def test_workers_and_kills_make_no_difference(data, options, tmp_path):
    chain(data).export(tmp_path / "calm", workers=1, **options)
    with Killer(2, tmp_path / "out.work") as killer:
        chain(data, seconds=0.005).export(tmp_path / "out", workers=4, **options)
    assert killer.killed == 2
    assert digest(tmp_path / "out") == digest(tmp_path / "calm")


def test_in_a_recipe(data, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"dataset: {{path: {data}}}\n"
        "process:\n"
        "  - sort: {by: [len(text), -n], missing: drop}\n"
        "  - shuffle: {seed: 9}\n"
        f"export: {{path: {tmp_path / 'out.jinx'}}}\n"
    )
    jp.Run(read_recipe(recipe))()
    rows = jinx.open(data).to_list()
    rows.sort(key=lambda sample: (len(sample["text"]), -sample["n"]))
    assert rows_of(tmp_path / "out.jinx") == jp.ops.Shuffle(seed=9)(rows)


def test_keys_that_do_not_fit_stop_the_run(options, tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        for n in range(100):
            writer.write({"n": n, "key": "a" if n == 77 else [n] if n == 5 else n})
    flow = Dataset.load(tmp_path / "in.jinx")
    with pytest.raises(ValueError, match="'key' is a number in sample 0 and a string in sample 76"):
        flow.process(jp.ops.Sort(by="key")).export(tmp_path / "out", workers=1, **options)
    assert not (tmp_path / "out").exists()
    result = flow.process(jp.ops.Sort(by="-n")).export(tmp_path / "ok", workers=1, **options)
    assert result.ok
    with pytest.raises(jp.RecipeError, match="sort reads the column 'm', which the input does not have"):
        flow.process(jp.ops.Sort(by="m")).export(tmp_path / "no", workers=1, **options)
