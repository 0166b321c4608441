"""Recipes with nodes and flows are run: the right rows, once, in the same bytes for any workers, kills and resumes."""

import json
import os
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.publish.publication import Publication
from jinx_pipeline.recipe.read import read_recipe, recipe_of
from jinx_pipeline.replay import recipe_in
from pipeline.execute.graph_recipes import BROKEN, OUTPUTS, listed, row, write_data
from pipeline.made import Killer, digest, records_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """The digests of all outputs after a run with one worker."""
    folder = tmp_path_factory.mktemp("calm")
    recipe = write_data(folder)
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = jp.Run(read_recipe(recipe, workers=1))()
    finally:
        os.chdir(before)
    assert result.ok
    return {name: digest(folder / name) for name in OUTPUTS}


def digests(folder=Path()):
    return {name: digest(folder / name) for name in OUTPUTS}


def numbers(path):
    return [sample["n"] for sample in jinx.open(path).to_list()]


def test_every_form_at_once(folder):
    result = jp.Run(read_recipe("recipe.yaml", workers=2))()
    assert result.ok
    assert [output.path for output in result.outputs] == list(OUTPUTS)
    samples = {n: row(n, "word") for n in range(60)} | {n: row(n, "book") for n in range(100, 140)}
    cleaned, rejected = numbers("cleaned.jinx"), numbers("rejected")
    assert result.source_rows[:3] == [61, 30, 5]
    assert numbers("numbers.jinx") == sorted(cleaned)
    texts = [sample["text"] for sample in jinx.open("rejected").to_list()]
    words = pq.read_table("words.parquet").column("text").to_pylist()
    assert words == [word for text in texts for word in text.split()]
    assert sorted(cleaned + rejected)[:60] == list(range(60))
    assert len(cleaned) + len(rejected) == 90
    # A link is no word any more, and leaves a space.
    assert all(len(samples[n]["text"].replace("https://example.org/x", "").split()) >= 3 for n in cleaned)
    assert numbers("few.jsonl") == rejected
    assert numbers("many.jinx") == []
    assert numbers("broken.jinx") == [BROKEN]
    assert [row[0] for row in listed(folder)] == sorted(cleaned)
    good = jinx.open("good.jinx").to_list()
    scored = [sample for sample in good if "score" in sample]
    assert [sample["score"] for sample in scored] == [
        n * n if n < 5 else None for n in (int(sample["id"][1:]) for sample in scored)
    ]
    # Three parts of what was deduplicated and joined, and one part of what was rejected.
    texts = [sample["text"] for sample in jinx.open("cleaned.jinx").to_list()]
    assert len(scored) == len(set(texts))
    assert len(good) - len(scored) == round(len(scored) / 3)
    assert {sample["n"] for sample in good if "score" not in sample} <= set(rejected)


@pytest.mark.timeout(120)
def test_the_bytes_are_the_same_for_any_workers_and_kills(folder, calm):
    with Killer(3, folder / "cleaned.jinx.work") as killer:
        jp.Run(read_recipe("recipe.yaml", workers=4))()
    assert killer.killed
    assert digests() == calm


@pytest.mark.timeout(120)
def test_a_run_that_ends_anywhere_is_resumed_from_its_working_directory(folder, calm, monkeypatch):
    recipe = read_recipe("recipe.yaml", workers=2)
    stops = 0
    while True:
        run = jp.Run(recipe)
        until = len(committed(folder / "cleaned.jinx.work")) + 8
        monkeypatch.setattr(run, "_raise_if_cancelled", partial(stop_at, run, folder / "cleaned.jinx.work", until))
        try:
            run()
            break
        except StoppedError:
            stops += 1
        # The recipe file and its parameters are not needed any more.
        recipe = recipe_in(folder / "cleaned.jinx.work", workers=2)
    assert stops > 3
    assert digests() == calm
    blocks = [(record["node"], record["block"], record["first"]) for record in committed(folder / "cleaned.jinx.work")]
    assert len(blocks) == len(set(blocks))


def stop_at(run, work_dir, blocks):
    if len(committed(work_dir)) >= blocks:
        run.cancel()
    type(run)._raise_if_cancelled(run)


def committed(work_dir):
    try:
        return records_of(work_dir, "committed")
    except OSError:
        return []


def test_outputs_are_published_one_by_one_and_an_interrupted_publication_is_finished(folder, calm, monkeypatch):
    finish, calls = Publication.finish, []

    def fails_at_the_third(self):
        calls.append(self.export.path)
        if len(calls) == 3:
            raise StoppedError("killed")
        return finish(self)

    with monkeypatch.context() as patch:
        patch.setattr(Publication, "finish", fails_at_the_third)
        with pytest.raises(StoppedError):
            jp.Run(read_recipe("recipe.yaml"))()
    assert calls == list(OUTPUTS[:3])
    assert [name for name in OUTPUTS if Path(name).exists()] == list(OUTPUTS[:2])
    changed = Path("good.jinx").stat().st_mtime_ns
    assert jp.Run(read_recipe("recipe.yaml"))().ok
    assert Path("good.jinx").stat().st_mtime_ns == changed
    assert digests() == calm


def test_an_output_that_is_removed_is_written_again(folder, calm):
    jp.Run(read_recipe("recipe.yaml"))()
    done = len(records_of(folder / "cleaned.jinx.work", "committed"))
    Path("good.jinx").unlink()
    assert jp.Run(read_recipe("recipe.yaml"))().ok
    assert digests() == calm
    again = records_of(folder / "cleaned.jinx.work", "committed")[done:]
    assert {record["node"].rpartition("-")[0].rpartition("-")[0] for record in again} == {"pack"}
    assert len(again) == 1


def test_rows_that_the_input_gains_are_appended_to_every_output(folder):
    data = {
        "nodes": {
            "web": {"source": "grows.jsonl"},
            "long": {"operators": [{"words_num_filter": {"min_num": 3}}]},
            "kept": {"sink": "kept"},
            "dropped": {"sink": "dropped"},
        },
        "flows": [
            {"from": "web", "to": "long"},
            {"from": "long", "to": "kept"},
            {"from": "long.dropped", "to": "dropped"},
        ],
        "block_rows": 9,
    }
    write_lines("grows.jsonl", range(40))
    jp.Run(recipe_of(data))()
    first = numbers("dropped")
    write_lines("grows.jsonl", range(40, 70))
    result = jp.Run(recipe_of(data))()
    assert (result.resumed, result.rows_in, result.rows_out) == (True, 70, 70)
    assert sorted(numbers("kept") + numbers("dropped")) == list(range(70))
    assert numbers("dropped")[: len(first)] == first


def write_lines(path, rows):
    with Path(path).open("a") as file:
        file.writelines(json.dumps(row(n, "word")) + "\n" for n in rows)


def test_a_join_with_nothing_and_a_source_without_samples(folder):
    for name in ("empty.jinx", "nothing.jinx"):
        with jinx.Writer(name) as writer:
            writer.close()
    data = {
        "nodes": {
            "web": {"source": "web.jinx"},
            "empty": {"source": "empty.jinx"},
            "nothing": {"source": "nothing.jinx"},
            "both": {"join": {"on": "id", "columns": ["score"]}},
            "out": {"sink": "out.jinx"},
        },
        "flows": [
            {"from": ["web", "empty"], "to": "both.left"},
            {"from": "nothing", "to": "both.right"},
            {"from": "both", "to": "out"},
        ],
    }
    assert jp.Run(recipe_of(data))().rows_out == 61
    assert {sample["score"] for sample in jinx.open("out.jinx").to_list()} == {None}


def test_rows_of_a_grouper_and_rows_of_the_input_come_together(folder):
    data = {
        "nodes": {
            "web": {"source": "web.jinx"},
            "groups": {
                "operators": [
                    {"key_value_grouper": {"group_by_keys": ["id"]}},
                    {"field_aggregator": {"columns": {"n": "count"}}},
                ]
            },
            "out": {"sink": "out.jinx"},
        },
        "flows": [{"from": "web", "to": ["groups", "out"]}, {"from": "groups", "to": "out"}],
        "block_rows": 13,
    }
    jp.Run(recipe_of(data))()
    samples = jinx.open("out.jinx").to_list()
    assert len(samples) == 61 + 7
    assert [sample["n"] for sample in samples[:61]] == list(range(61))


def test_the_result_names_every_output(folder):
    result = jp.Run(read_recipe("recipe.yaml"))()
    facts = json.loads(json.dumps(result.to_dict()))
    assert [output["path"] for output in facts["outputs"]] == list(OUTPUTS)
    assert "gather" not in {totals["operator"] for totals in facts["operators"]}
