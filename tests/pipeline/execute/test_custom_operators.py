"""Operators of files in graphs: they read what flows to their node, and what they drop flows on."""

import pytest

import jinx
import jinx_pipeline as jp

OPERATORS = """
import numpy as np
import pyarrow as pa
import jinx_pipeline as jp

@jp.register("NAME_shout_mapper", modality="text")
class Shout(jp.TextMapper):
    "Writes texts in capitals."

    def edit(self, texts, ctx):
        return [text.upper() for text in texts.to_pylist()]

@jp.register("NAME_even_filter")
class Even(jp.Filter):
    "Keeps even numbers."

    stats = {"n_odd": "int64"}

    def compute_stats(self, batch, ctx):
        return {"n_odd": np.array([n % 2 for n in batch.column("n")])}

    def keep(self, stats):
        return stats["n_odd"].to_numpy() == 0

@jp.register("NAME_whole_selector")
class Whole(jp.Selector):
    "Keeps all samples."

    reads = ("n",)

    def select(self, columns, count, ctx):
        return range(count)

@jp.register("NAME_tags_mapper")
class Tags(jp.Mapper):
    "Adds a list of tags."

    def process(self, batch, ctx):
        return {"tags": [[n // 2] for n in batch.column("n")]}

@jp.register("NAME_tags_deduplicator")
class TagsDeduplicator(jp.Deduplicator):
    "Keeps the first sample of each list of tags, which it edits, and fails on one sample."

    def signatures(self, batch, ctx):
        tags = batch.column("tags")
        for of_sample in tags:
            of_sample.append("seen")
        if 5 in batch.column("n"):
            raise ValueError("not this one")
        return pa.table({"tags": [str(of_sample) for of_sample in tags]})

    def duplicates(self, signatures):
        values = [value for table in signatures for value in table["tags"].to_pylist()]
        first = [values.index(value) for value in values]
        kept = np.array(first) == np.arange(len(values))
        return kept, np.where(kept, -1, first)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, start in (("a", 0), ("b", 100)):
        with jinx.Writer(tmp_path / f"{name}.jinx") as writer:
            writer.write_many([{"n": n, "text": f"{name} {n}"} for n in range(start, start + 20)])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder, name, nodes, flows):
    """Run a graph with operators that no test has loaded before."""
    (folder / "operators.py").write_text(OPERATORS.replace("NAME", name))
    (folder / "recipe.yaml").write_text(
        f"nodes:\n  a: {{source: a.jinx}}\n  b: {{source: b.jinx}}\n{nodes}flows:\n{flows}"
        "custom_operators: [operators.py]\nblock_rows: 7\nworkers: 1\nwork_dir: work\n"
    )
    return jp.Run(jp.read_recipe("recipe.yaml"))()


def numbers(path):
    return [sample["n"] for sample in jinx.open(path).to_list()]


def test_an_operator_of_a_file_reads_all_flows_to_its_node(folder):
    # The operator has a number of steps before it that it does not read.
    nodes = """\
  turned: {operators: [sort: {by: -n}]}
  mixed: {sink: mixed.jinx}
  loud: {operators: [reading_shout_mapper], after: [turned]}
  all: {sink: all.jinx}
"""
    flows = """\
  - {from: a, to: turned}
  - {from: turned, to: mixed, weight: 2}
  - {from: b, to: mixed, weight: 1}
  - {from: [turned, b], to: loud}
  - {from: loud, to: all}
"""
    run(folder, "reading", nodes, flows)
    assert numbers("all.jinx") == [*range(19, -1, -1), *range(100, 120)]
    assert {sample["text"] for sample in jinx.open("all.jinx").to_list()} == {
        *(f"A {n}" for n in range(20)),
        *(f"B {n}" for n in range(100, 120)),
    }
    assert len(numbers("mixed.jinx")) == 30


def test_what_a_filter_of_a_file_drops_flows_on_with_what_other_filters_drop(folder):
    nodes = """\
  chosen:
    operators:
      - text_length_filter: {min_len: 4}
      - choosing_shout_mapper
      - choosing_even_filter
      - choosing_whole_selector
  good: {sink: good.jinx}
  rest: {sink: rest.jinx, when: {rows: chosen.dropped, at_least: 25}}
  bad: {sink: bad.jinx}
"""
    flows = """\
  - {from: [a, b], to: chosen}
  - {from: chosen, to: good}
  - {from: chosen.dropped, to: rest}
  - {from: chosen.failed, to: bad}
"""
    run(folder, "choosing", nodes, flows)
    good = [n for n in (*range(10, 20), *range(100, 120)) if n % 2 == 0]
    assert numbers("good.jinx") == good
    assert sorted(numbers("rest.jinx")) == sorted({*range(20), *range(100, 120)} - set(good))
    assert numbers("bad.jinx") == []


def test_a_mapper_of_a_file_drops_nothing(folder):
    nodes = "  loud: {operators: [loud_shout_mapper]}\n  rest: {sink: rest.jinx}\n  all: {sink: all.jinx}\n"
    flows = "  - {from: [a, b], to: loud}\n  - {from: loud, to: all}\n  - {from: loud.dropped, to: rest}\n"
    with pytest.raises(jp.RecipeError, match="'dropped'"):
        run(folder, "loud", nodes, flows)


def test_a_deduplicator_that_edits_values_for_its_signatures_does_not_change_samples(folder):
    nodes = """\
  unique: {operators: [editing_tags_mapper, editing_tags_deduplicator]}
  out: {sink: out.jinx}
"""
    flows = """\
  - {from: [a, b], to: unique}
  - {from: unique, to: out}
max_bad_rows: 1
"""
    result = run(folder, "editing", nodes, flows)

    assert [row.error for row in result.bad_rows] == ["ValueError: not this one"]
    expected = [(n, [n // 2]) for n in (*range(0, 20, 2), *range(100, 120, 2))]
    assert [(sample["n"], sample["tags"]) for sample in jinx.open("out.jinx").to_list()] == expected
