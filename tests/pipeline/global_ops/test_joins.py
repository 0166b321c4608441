"""join as a step of recipes."""

import json

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import run
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.engines.driver import RepairError
from jinx_pipeline.recipe.read import read_recipe
from pipeline.made import Killer, digest, loaded_operators, rows_of, write_input


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_input(tmp_path_factory.mktemp("data") / "in.jinx", 200)


@pytest.fixture(scope="module")
def captions(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "captions.jinx"
    with jinx.Writer(path) as writer:
        for n in range(300, -1, -2):
            writer.write({"key": f"s{n}", "caption": f"caption {n}", "thumbnail": bytes([n % 256]) * 100, "n": -n})
    return str(path)


@pytest.fixture
def options():
    return {"block_rows": 30, "custom_operators": (str(loaded_operators()),)}


def chain(data, captions, how="left", seconds=0.0):
    steps = [
        jp.create("slow_filter", seconds=seconds),
        jp.ops.Sort(by="-n"),
        jp.ops.Join(path=captions, on={"id": "key"}, columns=["caption", "thumbnail"], how=how),
        jp.create("fragile_mapper"),
        jp.ops.Shuffle(seed=2),
    ]
    return Dataset.load(data).process(steps)


def expected(data, how):
    kept = [
        sample for sample in jinx.open(data).to_list() if sample["n"] % 3 and (how == "left" or sample["n"] % 2 == 0)
    ]
    rows = [
        {
            "n": item["n"],
            "caption": None if item["n"] % 2 else f"caption {item['n']}",
            "thumbnail": None if item["n"] % 2 else bytes([item["n"] % 256]) * 100,
        }
        for item in reversed(kept)
    ]
    return jp.ops.Shuffle(seed=2)(rows)


@pytest.mark.parametrize("how", ["left", "inner"])
@pytest.mark.parametrize("name", ["out", "view.jinx"])
def test_columns_are_added(data, captions, options, tmp_path, how, name):  # noqa: PLR0917
    more = {"kind": "view"} if name == "view.jinx" else {}
    result = chain(data, captions, how).export(tmp_path / name, workers=2, **options, **more)
    assert result.ok
    rows = rows_of(tmp_path / name)
    assert [{name: row.get(name) for name in ("n", "caption", "thumbnail")} for row in rows] == expected(data, how)
    (figures,) = [operator for operator in result.operators if operator.operator == "join"]
    assert (figures.rows_in, figures.rows_out) == (133, len(rows))
    assert figures.counts == {"unmatched": 67}


@pytest.mark.slow
def test_workers_and_kills_make_no_difference(data, captions, options, tmp_path, monkeypatch):
    chain(data, captions).export(tmp_path / "calm", workers=1, **options)
    monkeypatch.setattr(jp.ops.Join, "most_keys", 40)
    with Killer(2, tmp_path / "out.work") as killer:
        chain(data, captions, seconds=0.005).export(tmp_path / "out", workers=4, **options)
    assert killer.killed == 2
    assert digest(tmp_path / "out") == digest(tmp_path / "calm")


def test_in_a_recipe(data, captions, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"dataset: {{path: {data}}}\n"
        "process:\n"
        f"  - join: {{path: {captions}, on: {{id: key}}, how: inner, columns: [caption]}}\n"
        f"export: {{path: {tmp_path / 'out.jinx'}}}\n"
    )
    jp.Run(read_recipe(recipe))()
    assert [row["caption"] for row in rows_of(tmp_path / "out.jinx")] == [f"caption {n}" for n in range(0, 200, 2)]


def test_what_is_refused(data, captions, options, tmp_path):
    flow = Dataset.load(data)
    with pytest.raises(jp.RecipeError, match="join adds the column 'n', which the samples have; name others"):
        flow.process(jp.ops.Join(path=captions, on={"id": "key"})).export(tmp_path / "out", **options)
    with pytest.raises(jp.RecipeError, match="join reads the column 'key', which the input does not have"):
        flow.process(jp.ops.Join(path=captions, on="key", prefix="c_")).export(tmp_path / "out", **options)
    with pytest.raises(ValueError, match=r"captions\.jinx"):
        flow.process(jp.ops.Join(path=captions, on={"id": "key"}, prefix="c_")).export(
            captions, overwrite=True, **options
        )


def without_n(sample):
    del sample["n"]
    return sample


def with_caption(sample):
    return {**sample, "caption": "mine"}


def test_a_column_that_a_function_has_made_is_never_replaced(data, captions, options, tmp_path):
    flow = Dataset.load(data)
    join = jp.ops.Join(path=captions, on={"id": "key"})
    with pytest.raises(jp.StoppedError, match="join adds the column 'caption', which the samples have; name others"):
        flow.process([without_n, with_caption, join]).export(tmp_path / "out", workers=1, **options)
    assert not (tmp_path / "out").exists()
    flow.process([without_n, join]).export(tmp_path / "free", workers=1, **options)
    assert [row["n"] for row in rows_of(tmp_path / "free")] == [None if n % 2 else -n for n in range(200)]


def test_an_unreadable_row_of_the_other_dataset(data, tmp_path, capsys):
    other, out = tmp_path / "captions.jinx", tmp_path / "out.jinx"
    with jinx.Writer(other) as writer:
        writer.write_many({"key": f"s{n}", "caption": f"caption {n}"} for n in range(100))
    whole = other.read_bytes()
    other.write_bytes(whole.replace(b'"s60"', b'"s6\0"').replace(b'"s71"', b'"s7\0"'))
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        f"dataset: {{path: {data}}}\n"
        "process:\n"
        f"  - join: {{path: {other}, on: {{id: key}}, columns: [caption]}}\n"
        f"export: {{path: {out}}}\n"
        "workers: 1\nblock_rows: 30\nstop_after_bad: 0\n"
    )
    message = r"captions\.jinx, row 60, join: .*, and 1 more like it; a join needs the keys of all rows: restore"
    for _ in range(2):
        with pytest.raises(RepairError, match=message):
            jp.Run(read_recipe(recipe))()
    assert run(["run", str(recipe), "--progress", "none"]) == 1
    assert "to resume" not in capsys.readouterr().err
    events = [json.loads(line) for line in (tmp_path / "out.jinx.work" / "events.jsonl").read_text().splitlines()]
    bad = [event for event in events if event["kind"] == "bad_row"]
    assert {(item["source"], item["operator"]) for item in bad} == {(str(other), "join")}
    other.write_bytes(whole)
    result = jp.Run(read_recipe(recipe))()
    assert result.ok
    assert result.resumed
    assert [row["caption"] for row in rows_of(out)][60:101] == [*(f"caption {n}" for n in range(60, 100)), None]
