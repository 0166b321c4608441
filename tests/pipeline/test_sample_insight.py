"""What operators do to the statistics of samples, between the nodes of lists and graphs."""

import random

import pytest
from click.testing import CliRunner

import jinx
from jinx_pipeline.cli.program import pipeline
from jinx_pipeline.recipe.read import read_recipe, recipe_of
from jinx_pipeline.sample_insight import insight
from pipeline.execute.graph_recipes import write_data

pytestmark = pytest.mark.timeout(300)
LINK = " https://example.org/" + "a" * 300


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dice = random.Random(1)
    with jinx.Writer("in.jinx") as writer:
        for n in range(300):
            text = " ".join(dice.choices(["alpha", "beta", "gamma"], k=dice.randint(2, 60)))
            writer.write({"n": n, "group": n % 90, "text": text + (LINK if n % 2 else ""), "image": "none.png"})
        writer.write_many({"n": n, "group": n, "text": "the same text", "image": "none.png"} for n in range(60))
    return tmp_path


def list_of(*operators, **options):
    return recipe_of({"dataset": "in.jinx", "process": [*operators], "export": "out.jinx", **options})


def changes_of(found):
    return {(change.operator, change.statistic): change for change in found.changes}


def test_mappers_filters_and_deduplicators_change_statistics(folder):
    recipe = list_of("clean_links_mapper", "document_deduplicator", {"words_num_filter": {"min_num": 20}})
    before = sorted(folder.iterdir())
    found = insight(recipe, 1000)
    assert sorted(folder.iterdir()) == before
    assert found.samples == 360
    changes = changes_of(found)
    # A mapper: all values after it with all before it. Each second of 300 texts loses its link.
    cleaned = changes["clean_links_mapper", "text_len"]
    assert (cleaned.kept, cleaned.dropped) == (360, 360)
    assert cleaned.mean_before - cleaned.mean_after == pytest.approx(len(LINK) * 150 / 360, abs=1)
    assert cleaned.effect < -0.5
    assert cleaned.p_mean < 1e-6
    # A deduplicator: what it keeps with what it drops, which are short texts.
    unique = changes["document_deduplicator", "text_len"]
    assert (unique.kept, unique.dropped) == (301, 59)
    assert unique.effect > 1
    # A filter: the same.
    long = changes["words_num_filter", "num_words"]
    kept = sum(len(sample["text"].replace(LINK, "").split()) >= 20 for sample in jinx.open("in.jinx").to_list())
    assert (long.kept, long.dropped) == (kept, 301 - kept)
    assert long.effect > 1


def test_an_operator_that_changes_nothing_shows_no_change(folder):
    changes = changes_of(insight(list_of("clean_email_mapper"), 200))
    assert not changes


def test_a_filter_that_fails_on_samples_measures_the_others(folder):
    """No image is there: its filter measures nothing, and hides nothing that others measure."""
    images = {"dataset": {"path": "in.jinx", "images": "image"}, "max_bad_rows": 1000}
    recipe = list_of({"words_num_filter": {"min_num": 20}}, {"image_shape_filter": {"min_width": 3}}, **images)
    changes = changes_of(insight(recipe, 200))
    assert ("words_num_filter", "num_words") in changes
    assert not [name for _, name in changes if name.startswith("image_")]


def test_two_statistics_of_one_name(folder):
    other = {"words_num_filter": {"tokenization": True, "lang": "zh", "min_num": 1}}
    found = insight(list_of({"words_num_filter": {"min_num": 20}}, other), 400)
    assert {statistic for _, statistic in changes_of(found)} >= {"num_words", "num_words (2)"}


def test_groups_are_compared_with_the_samples_that_are_made_of_them(folder):
    columns = {"n": "count", "text": "concat:text"}
    recipe = list_of({"key_value_grouper": {"group_by_keys": ["group"]}}, {"field_aggregator": {"columns": columns}})
    changes = changes_of(insight(recipe, 400))
    joined = changes["field_aggregator", "text_len"]
    assert (joined.kept, joined.dropped) == (90, 360)
    assert joined.mean_after == pytest.approx(4 * joined.mean_before + 3)


def test_a_graph_with_every_feature(tmp_path, monkeypatch):
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    found = insight(read_recipe("recipe.yaml"), 1000)
    # The samples of the queries count, too.
    assert found.samples >= 91
    changes = changes_of(found)
    assert changes["words_num_filter", "num_words"].effect > 1
    assert changes["clean_links_mapper", "text_len"].effect < 0
    assert changes["text_chunk_mapper", "num_words"].mean_after < changes["text_chunk_mapper", "num_words"].mean_before
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


TAGS = '''
from jinx_pipeline import Filter, register

@register("first_word_filter")
class FirstWordFilter(Filter):
    """Keeps all."""

    stats = {"first_word": "string"}
    reads = ("text",)

    def compute_stats(self, batch, ctx):
        return {"first_word": [text.split()[0] for text in batch.text.to_pylist()]}

    def keep(self, stats):
        import numpy as np

        return np.array([word != "the" for word in stats["first_word"].to_pylist()])
'''


def test_the_report_of_a_run_has_insight_and_clouds(folder):
    (folder / "operators.py").write_text(TAGS)
    (folder / "recipe.yaml").write_text(
        """\
custom_operators: [operators.py]
nodes:
  all: {source: in.jinx}
  clean: {operators: [clean_links_mapper, first_word_filter]}
  out: {sink: out.jinx}
  rest: {sink: rest.jinx}
flows:
  - {from: all, to: clean}
  - {from: clean, to: out}
  - {from: clean.dropped, to: rest}
"""
    )
    words = ["run", "recipe.yaml", "--report", "r.html", "--insight", "500", "--graph", "run.mmd"]
    done = CliRunner().invoke(pipeline, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    page = (folder / "r.html").read_text("utf-8")
    assert "What the operators change" in page
    assert "Measured on 360 samples" in page
    assert "<td>clean_<wbr>links_<wbr>mapper</td>" in page
    assert "<h3>first_word</h3>" in page
    # What the filter drops counts, too.
    assert ">the</text>" in page
    graph = (folder / "run.mmd").read_text("utf-8")
    assert '-->|"300"|' in graph
    assert '-->|"dropped, 60"|' in graph
    assert " s" in graph


def test_a_report_is_written_even_if_insight_fails(folder, monkeypatch):
    recipe = "dataset: in.jinx\nprocess: [clean_links_mapper]\nexport: out.jinx\n"
    (folder / "recipe.yaml").write_text(recipe)

    def fail(*_, **__):
        raise RuntimeError("no machine has\na GPU")

    monkeypatch.setattr("jinx_pipeline.sample_insight.insight", fail)
    done = CliRunner().invoke(pipeline, ["run", "recipe.yaml", "--report", "r.html", "--insight", "5"])
    assert done.exit_code == 0
    assert "without insight: no machine has a GPU" in done.output
    assert "<h2>Graph</h2>" in (folder / "r.html").read_text("utf-8")


def test_insight_is_a_part_of_the_report(folder):
    done = CliRunner().invoke(pipeline, ["run", "recipe.yaml", "--insight", "10"])
    assert done.exit_code == 2
    assert "--report" in done.output
    done = CliRunner().invoke(pipeline, ["run", "recipe.yaml", "--graph", "run.png"])
    assert "ends in .svg or .mmd" in done.output


def test_a_recipe_without_operators(folder):
    found = insight(recipe_of({"dataset": "in.jinx", "export": "out.jinx"}), 5)
    assert (found.samples, found.changes, found.tags) == (0, [], {})
