"""Options that are wrong are refused where they are given, in recipes, on the command line and in Python."""

import json

import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.cli.program import run
from jinx_pipeline.recipe.read import recipe_of
from pipeline.made import write_input


@pytest.fixture
def flow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_input(tmp_path / "in.jinx", 20)
    (tmp_path / "recipe.yaml").write_text(
        "dataset: in.jinx\nprocess: [{text_length_filter: {max_len: 60}}]\nexport: out.jinx\nworkers: 1\n"
    )
    return jp.Dataset.load("in.jinx").process("clean_links_mapper")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shard_size": "x"}, "shard_size is for a directory"),
        ({"shard_size": "1GB", "kind": "view"}, "shard_size is for a directory"),
        ({"keep_stats": "no"}, "keep_stats is bool, not 'no'"),
        ({"overwrite": "no"}, "overwrite is bool, not 'no'"),
        ({"progress": "loud"}, "progress is one of auto, plain, none, not 'loud'"),
        ({"stop_after_bad": -1}, "stop_after_bad is at least 0"),
        ({"kind": "vew"}, "kind is one of .*, not 'vew'; did you mean 'view'"),
        ({"engine": "local", "ray_address": "x:1"}, "ray_address is for the engine ray"),
    ],
)
def test_options_of_export(flow, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        flow.export("out.jinx", **options)


@pytest.mark.parametrize("size", ["x", 0, -1])
def test_the_size_of_shards_is_a_size(flow, size):
    with pytest.raises(ValueError, match="size"):
        flow.export("out", shard_size=size)


def test_a_role_is_a_path(flow):
    with pytest.raises(TypeError, match=r"text is str, a column or a path, not 3 \(int\)"):
        jp.Dataset.load("in.jinx", text=3)  # type: ignore[arg-type]


def test_options_of_a_recipe(flow):
    with pytest.raises(jp.RecipeError, match="shard_size is for a directory"):
        recipe_of({"dataset": "in.jinx", "export": {"path": "out.jinx", "kind": "view", "shard_size": "1GB"}})
    with pytest.raises(jp.RecipeError, match=r"--engine ray"):
        recipe_of({"dataset": "in.jinx"}, engine="local", ray_address="x:1")


def test_seeds_have_64_bits(flow):
    with pytest.raises(ValueError, match=r"seed is at most 2\*\*64 - 1, not 18446744073709551616"):
        flow.process(jp.ops.Shuffle()).export("out", seed=1 << 64)
    assert flow.process(jp.ops.Shuffle()).export("out", seed=(1 << 64) - 1).ok


def test_a_trial_prints_json(flow, capsys):
    assert run(["run", "recipe.yaml", "--limit", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows_in"] == 5
    assert [operator["operator"] for operator in found["operators"]] == ["text_length_filter"]
    assert "work_dir" not in found


def test_a_trial_says_why_a_row_was_dropped(flow, capsys):
    assert run(["run", "recipe.yaml", "--limit", "20"]) == 0
    assert "(text_len is 6" in capsys.readouterr().out


def test_an_imported_recipe_never_replaces_its_source(flow, tmp_path, capsys):
    theirs = tmp_path / "theirs.yaml"
    theirs.write_text("dataset_path: in.jinx\nnp: 4\nprocess: [text_length_filter]\n")
    assert run(["import-recipe", "theirs.yaml", "theirs.yaml", "--overwrite"]) == 2
    assert "is also an input" in capsys.readouterr().err
    assert run(["import-recipe", "theirs.yaml", "ours.yaml"]) == 0
    said = capsys.readouterr().err
    assert "ours.yaml: 1 operator, 0 remarks\n" in said
    assert "workers: 4\n" in (tmp_path / "ours.yaml").read_text()


def test_an_imported_lambda_is_refused_until_it_is_written(flow, tmp_path, capsys):
    step = {"python_lambda_mapper": {"lambda_str": "lambda s: s"}}
    (tmp_path / "theirs.yaml").write_text(
        json.dumps({"dataset_path": "in.jinx", "open_tracer": True, "export_path": "o.jinx", "process": [step]})
    )
    assert run(["import-recipe", "theirs.yaml", "ours.yaml"]) == 0
    said = capsys.readouterr().err
    assert "note: trace: 10: so many examples of changed and dropped rows (open_tracer)\n" in said
    for command in ("plan", "run"):
        assert run([command, "ours.yaml"]) == 2
        said = capsys.readouterr().err
        assert "process[0].python_file_mapper" in said
        assert "process in ours_lambda_0.py only raises NotImplementedError; write the function" in said
    written = (tmp_path / "ours_lambda_0.py").read_text().replace("raise NotImplementedError", "return sample")
    (tmp_path / "ours_lambda_0.py").write_text(written)
    assert run(["plan", "ours.yaml"]) == 0


def test_numbers_have_no_limits_unless_given():
    rows = [{"n": n} for n in (1e19, -1e19, float("inf"), 3)]
    assert jp.create("specified_numeric_field_filter", field_key="n")(rows) == rows


def test_somebody_elses_sidecar_is_kept(flow, tmp_path):
    foreign = tmp_path / "fb.binx"
    foreign.write_text("mine")
    for write in (lambda: flow.export("fb.jinx"), lambda: jinx.Writer("fb.jinx"), lambda: jinx.convert([], "fb.jinx")):
        with pytest.raises(FileExistsError, match=r"fb\.binx exists, and is not a sidecar of JINX"):
            write()
    assert foreign.read_text() == "mine"
    # What a killed writer leaves is no obstacle.
    foreign.write_bytes((tmp_path / "in.binx").read_bytes())
    assert flow.export("fb.jinx", workers=1).rows_out == 20


def test_all_mistakes_of_an_operator_are_reported():
    wrong = {"min_len": "70", "maxlen": 3, "max_len": "x"}
    with pytest.raises(jp.RecipeError) as found:
        recipe_of({"dataset": "in.jinx", "process": [{"text_length_filter": wrong}]})
    assert len(found.value.problems) == 3


def test_a_threshold_that_is_no_number_is_named_with_its_line(flow, tmp_path, capsys):
    process = "- stopwords_filter:\n    lang: en\n    min_ratio: .nan\n- flagged_words_filter: {max_ratio: 45}\n"
    (tmp_path / "nan.yaml").write_text(f"dataset: in.jinx\nprocess:\n{process}export: out.jinx\n")
    assert run(["run", "nan.yaml"]) == 2
    said = capsys.readouterr().err
    assert "nan.yaml, line 5: process[0].stopwords_filter.min_ratio: " in said
    assert "the parameter 'min_ratio' is float from 0 to 1, not NaN" in said
    assert "line 6: process[1].flagged_words_filter.max_ratio: " in said
    assert "is float from 0 to 1, not 45 (int)" in said
    assert not (tmp_path / "out.jinx").exists()


def test_an_operator_that_keeps_nothing_is_named(flow, tmp_path, capsys):
    (tmp_path / "all.yaml").write_text(
        "dataset: in.jinx\nprocess: [text_length_filter: {min_len: 100000}]\nexport: out.jinx\nworkers: 1\n"
    )
    assert run(["run", "all.yaml"]) == 0
    assert "text_length_filter kept none of 20 samples; check its parameters" in capsys.readouterr().err
    assert run(["run", "all.yaml", "--limit", "5"]) == 0
    assert "text_length_filter kept none of 5 samples" in capsys.readouterr().err


def test_parameters_of_a_check_are_a_mapping():
    with pytest.raises(jp.RecipeError, match=r"write required_columns: \{columns: \.\.\.\}"):
        recipe_of({"dataset": "in.jinx", "validators": [{"required_columns": ["text"]}]})


@pytest.mark.parametrize("name", ["webb-en", "web_en"])
def test_the_nearest_shipped_recipe_is_named(flow, capsys, name):
    assert run(["run", name, "--in", "in.jinx", "--out", "out.jinx"]) == 2
    assert "did you mean 'web-en'?" in capsys.readouterr().err


def test_missing_columns_and_statistics(flow, tmp_path, capsys):
    jinx.convert([{"a.b": "x"}], "dots.jinx")
    with pytest.raises(jp.RecipeError, match=r"""a name with a dot is quoted: '"a\.b"'"""):
        jp.Dataset.load("dots.jinx", text="a").process("clean_links_mapper").export("out.jinx")
    assert run(["run", "recipe.yaml", "--from-stats", "nope.jinx"]) == 2
    assert "nope.jinx: no such file" in capsys.readouterr().err


def test_a_parameter_without_a_limit_says_so(capsys):
    assert run(["ops", "text_length_filter"]) == 0
    assert "max_len: int, default no limit" in capsys.readouterr().out
