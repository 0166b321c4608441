"""Recipes in YAML: what they say, and every mistake with its place."""

import pytest

from jinx_pipeline.plan_page import describe
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.read import read_recipe, recipe_of
from jinx_pipeline.recipe.yaml_text import MAX_BYTES
from jinx_pipeline.run import Run

GOOD = """\
dataset: {path: in.jinx, text: "messages[*].content", images: image}
process:
  - text_length_filter: {min_len: 10}
  - clean_links_mapper
export: {path: out, shard_size: 1GB}
seed: 7
"""


def test_a_recipe_says_what_to_do(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(GOOD)
    recipe = read_recipe(path, workers=3)
    assert [source.path for source in recipe.sources] == ["in.jinx"]
    assert (recipe.roles.text, recipe.roles.images, recipe.roles.videos) == ("messages[*].content", "image", "videos")
    assert [step.operator.name for step in recipe.steps] == ["text_length_filter", "clean_links_mapper"]
    assert recipe.steps[0].operator.parameters["min_len"] == 10
    assert recipe.export is not None
    assert (recipe.export.path, recipe.export.kind, recipe.export.shard_size) == ("out", "jinx", "1GB")
    assert (recipe.options.seed, recipe.options.workers) == (7, 3)


@pytest.mark.parametrize(
    ("path", "kind"), [("a.jsonl", "jsonl"), ("a.parquet", "parquet"), ("a.tar", "webdataset"), ("a.jinx", "jinx")]
)
def test_the_suffix_of_the_output_says_its_format(path, kind):
    export = recipe_of({"dataset": "in.jinx", "export": path}).export
    assert export is not None
    assert export.kind == kind


# A million values in seven lines; they count at the line of the anchor.
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcde", "bcdef", strict=True)
)

# Each is wrong in one way: the text, the line, and what the message holds.
WRONG = [
    ("dataset: in.jinx\nproces: []\n", 2, "did you mean 'process'"),
    ("process: []\n", 1, "no dataset"),
    ("- a\n- b\n", 1, "a recipe is a mapping"),
    ("dataset: 7\n", 1, "a path, or a mapping"),
    ("dataset: a\nprocess:\n  - text_length_filter: {min_len: 010}\n", 3, "YAML reads 010 as the number 8; write 8"),
    ("dataset: a\nrow_seconds: 1:30\n", 2, "YAML reads 1:30 as the number 90; write 90"),
    ("dataset:\n  pth: in.jinx\n", 2, "did you mean 'path'"),
    ("dataset: {path: 3}\n", 1, "a path, not 3"),
    ("dataset: {path: a, sources: [b]}\n", 1, "either path, or sources"),
    ("dataset: {sources: []}\n", 1, "a list of sources"),
    ("dataset: {sources: [{path: a, wieght: 2}]}\n", 1, "did you mean 'weight'"),
    ("dataset: {sources: [{path: a, weight: much}]}\n", 1, "weight is float"),
    ("dataset: {path: a, text: 'messages[*'}\n", 1, "messages"),
    ("dataset: a\nprocess: text_length_filter\n", 2, "a list of operators"),
    ("dataset: a\nprocess:\n  - text_lenght_filter\n", 3, "did you mean 'text_length_filter'"),
    ("dataset: a\nprocess:\n  - text_length_filter:\n      min_lan: 3\n", 4, "did you mean 'min_len'"),
    ("dataset: a\nprocess:\n  - text_length_filter:\n      max_len: 5\n      min_len: few\n", 5, "min_len"),
    ("dataset: a\nprocess:\n  - text_length_filter: 3\n", 3, "are a mapping"),
    ("dataset: a\nprocess:\n  - {a: 1, b: 2}\n", 3, "an operator: its name"),
    ("dataset: a\nprocess:\n  - [text_length_filter]\n", 3, "an operator: its name"),
    ("dataset: a\nprocess:\n  -\n", 3, "an operator: its name"),
    ("dataset: a\nexport: {kind: view}\n", 2, "export has no path"),
    ("dataset: a\nexport: {path: b, kind: vew}\n", 2, "did you mean 'view'"),
    ("dataset: a\nexport: {path: b, shard_size: big}\n", 2, "is not a size"),
    ("dataset: a\nexport: {path: b, keep_stat: false}\n", 2, "did you mean 'keep_stats'"),
    ("dataset: a\nexport: [b]\n", 2, "a path, or a mapping with path"),
    ("dataset: a\nworkers: some\n", 2, "workers is int or None"),
    ("dataset: a\nmemory: lots\n", 2, "is not a size"),
    ("dataset: a\nseed: 1.5\n", 2, "seed is int"),
    ("dataset: a\nreorder: 3\n", 2, "reorder is bool"),
    ("dataset: a\ncustom_operators: {a: 1}\n", 2, "custom_operators"),
    ("dataset: a\nseed: 1\nseed: 2\n", 3, "the key 'seed' appears twice"),
    ("x-a: &a {n: 1}\ndataset: {<<: *a, path: b, path: c}\n", 2, "the key 'path' appears twice"),
    ("dataset: [unclosed\n", 2, "not YAML"),
    ("dataset: a\n\tseed: 1\n", 2, "not YAML"),
    ("dataset: !!python/object/apply:os.system [ls]\n", 1, "plain data only"),
    ("dataset: !!python/name:os.system\n", 1, "plain data only"),
    ("dataset: *missing\n", 1, "not YAML"),
    ("dataset: a\nseed: \0\n", 2, "not YAML: the character '\\x00' is not allowed"),
    ("dataset: a\nexport: {path: o.parquet, kind: view}\n", 2, "a saved view is one file, whose name ends in .jinx"),
    ("dataset: a\nexport: {path: o, kind: view}\n", 2, "a saved view is one file"),
    ("dataset: a\nexport: {path: o.jinx, kind: jsonl}\n", 2, "the name of jsonl ends in .jsonl"),
    ("dataset: a\nworkers: 0\n", 2, "workers is at least 1"),
    ("dataset: a\nprocess: [text_length_filter: {min_len: 9, max_len: 3}]\n", 2, "no value lies between"),
    ("dataset: a\nprocess: [character_repetition_filter: {min_ratio: .nan}]\n", 2, "float from 0 to 1, not NaN"),
    ("dataset: a\nexport: out.csv\n", 2, "out.csv: .csv is not written; write .jinx"),
    ("dataset: a\nexport:\n  path: out.jsonl.gz\n", 3, ".gz is not written"),
    ("? [a, b]\n: c\n", 1, "a key is a name"),
    ("", 0, "empty"),
    (BOMB, 1, "values"),
    ("dataset: " + "[" * 100 + "]" * 100 + "\n", 1, "deep"),
    ("---\ndataset: a\n---\ndataset: b\n", 3, "not YAML"),
]


def test_there_are_forty_of_them():
    assert len(WRONG) >= 40


@pytest.mark.parametrize(("text", "line", "message"), WRONG)
def test_a_mistake_is_reported_with_its_place(tmp_path, text, line, message):
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(RecipeError) as caught:
        read_recipe(path)
    assert message in str(caught.value)
    assert line in {place.line for place, _ in caught.value.problems}
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["process: &a [*a]\n", "dataset: &a\n  path: a\n  text: [*a]\n"])
def test_an_alias_inside_its_anchor_is_one_short_line(tmp_path, text):
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(RecipeError) as caught:
        read_recipe(path)
    assert len(str(caught.value)) < len(str(path)) + 100
    assert str(caught.value).startswith(f"{path}")


def test_keys_that_begin_with_x_hold_anchors(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(
        "x-lengths: &lengths {min_len: 7}\nx-any: [1, {a: b}]\ndataset: in.jinx\n"
        "process:\n- text_length_filter: *lengths\n- text_length_filter: {<<: *lengths, max_len: 9}\n"
    )
    steps = read_recipe(path).steps
    assert [step.operator.parameters["min_len"] for step in steps] == [7, 7]
    path.write_text("x_lengths: 1\ndataset: in.jinx\n")
    with pytest.raises(RecipeError, match="a recipe has no 'x_lengths'"):
        read_recipe(path)


def test_a_mapping_overrides_what_it_merges(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(
        "x-lengths: &lengths {min_len: 7, max_len: 8}\nx-more: &more {max_len: 12}\ndataset: in.jinx\nprocess:\n"
        "- text_length_filter: &own {<<: *lengths, max_len: 9}\n- text_length_filter: *own\n"
        "- text_length_filter: {max_len: 10, <<: *own}\n- text_length_filter: {<<: [*more, *own]}\n"
        "- text_length_filter:\n    <<: *own\n    max_len: 11\n- text_length_filter: {<<: {max_len: 1}, max_len: 20}\n"
    )
    parameters = [step.operator.parameters for step in read_recipe(path).steps]
    assert [given["max_len"] for given in parameters] == [9, 9, 10, 12, 11, 20]
    assert [given["min_len"] for given in parameters[:5]] == [7] * 5


def test_all_mistakes_are_reported_together(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("process:\n  - text_lenght_filter\n  - clean_links_maper\nexprt: out\n")
    with pytest.raises(RecipeError) as caught:
        read_recipe(path)
    assert len(caught.value.problems) == 4
    assert "process[1].clean_links_maper" in str(caught.value)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(RecipeError, match="larger than"):
        read_recipe(path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_bytes(b"dataset: \xff\xfe\n")
    with pytest.raises(RecipeError, match="not UTF-8 at byte 9"):
        read_recipe(path)


def test_a_fused_operator_is_read_as_its_operators():
    inner = ["clean_links_mapper", {"fused_sequential_batch_op": {"fused_op_list": [{"text_length": {"min_len": 3}}]}}]
    data = {"dataset": "in.jinx", "process": [{"general_fused_op": {"batch_size": 1, "fused_op_list": inner}}]}
    assert [step.operator.name for step in recipe_of(data).steps] == ["clean_links_mapper", "text_length_filter"]
    with pytest.raises(RecipeError, match="no fused_op_list"):
        recipe_of({"dataset": "in.jinx", "process": [{"general_fused_op": {}}]})


def test_a_missing_input_is_named_where_the_recipe_names_it(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(f"dataset:\n  path: {tmp_path}/missing.jinx\nexport: {tmp_path}/out.jinx\n")
    recipe = read_recipe(path)
    for call in (lambda: describe(recipe), Run(recipe)):
        with pytest.raises(FileNotFoundError, match=r"recipe\.yaml, line 2: dataset\.path: .*missing\.jinx"):
            call()


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("weight: -1", r"dataset\.sources\[0\].*weight is a number of at least 0, not -1"),
        ("weight: .nan", "weight is float, not NaN"),
        ("weight: .inf", "weight is a number of at least 0, not inf"),
        ("max_samples: -1", "max_samples is at least 1, not -1"),
    ],
)
def test_a_share_that_cannot_be_is_refused_in_its_place(tmp_path, source, what):
    path = tmp_path / "recipe.yaml"
    path.write_text(f"dataset:\n  sources:\n    - {{path: a.jinx, {source}}}\nexport: out.jinx\n")
    with pytest.raises(RecipeError, match=what):
        read_recipe(path)
