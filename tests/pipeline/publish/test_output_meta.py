"""What an output says of the recipe, the versions and the inputs that it was made of."""

import json
import os
import shutil
from hashlib import sha256

import pytest

import jinx
import jinx_pipeline as jp
from jinx._saved_views.meta import counted
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.operators.api.registry import forget_operators
from jinx_pipeline.run_plan import versions
from pipeline.made import digest

MEMBER = "jinx_pipeline"


@pytest.fixture
def data(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx", meta={"licence": "CC0", "share": 0.1}) as writer:
        writer.write_many({"n": n, "text": f"text number {n}"} for n in range(100))
    return tmp_path / "in.jinx"


def flow(data, most=50):
    return Dataset.load(data).process(jp.ops.TextLengthFilter(max_len=most))


def metas(out):
    """Of each file, and of the manifest of a directory."""
    opened = jinx.open(out)
    files = [json.loads(opened._footer(file)).get("meta") for file in range(len(opened._shard_names))]
    return [*files, json.loads((out / "jinx.json").read_bytes())["meta"]] if out.is_dir() else files


@pytest.mark.parametrize(("name", "kind"), [("out", None), ("out.jinx", None), ("out.jinx", "view")])
def test_the_meta_of_an_output_names_what_it_was_made_of(data, tmp_path, name, kind):
    out = tmp_path / name
    flow(data).export(out, kind=kind, workers=1, block_rows=30)
    view = kind == "view"
    found = [jinx.open(out).info().meta] if view else metas(out)
    assert all(item == found[0] for item in found)
    (input_id,) = jinx.open(data).info().ids
    made_of = found[0][MEMBER]
    assert made_of == {
        "recipe": {"name": None, "digest": made_of["recipe"]["digest"], "operators": ["text_length_filter"]},
        "versions": versions(),
        "inputs": [{"format": "jinx", "samples": 100, "id": input_id}],
    }
    # A view finds in its base what that says.
    assert {**found[0], MEMBER: 0} == ({MEMBER: 0} if view else {"licence": "CC0", "share": 0.1, MEMBER: 0})


@pytest.mark.parametrize("name", ["out", "out.jinx"])
def test_the_same_recipe_gives_the_same_bytes_wherever_and_whenever_it_runs(data, tmp_path, name):
    flow(data).export(tmp_path / name, workers=1, block_rows=30)
    other = tmp_path / "elsewhere"
    other.mkdir()
    shutil.copy(data, other / "named.jinx")
    os.utime(other / "named.jinx", (1, 1))
    blocks = {"block_rows": 30} if name == "out" else {"block_rows": 7}
    flow(other / "named.jinx").export(other / name, workers=2, work_dir=str(other / "w"), trace=3, **blocks)
    assert digest(other / name) == digest(tmp_path / name)
    flow(data, most=49).export(tmp_path / f"other-{name}", workers=1, block_rows=30)
    assert metas(tmp_path / f"other-{name}")[0] != metas(tmp_path / name)[0]


OPERATORS = """
import jinx_pipeline as jp

SIGN = "!"

@jp.register("signing_mapper", modality="text")
class SigningMapper(jp.TextMapper):
    \"\"\"Ends each text with a sign.\"\"\"

    def edit(self, texts, ctx):
        return [text + SIGN for text in texts.to_pylist()]
"""


def test_a_file_of_operators_counts_by_its_content_wherever_it_is(data, tmp_path):
    made = {}
    for name, code in (("one", OPERATORS), ("two", OPERATORS), ("three", OPERATORS.replace('"!"', '"?"'))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "mine.py").write_text(code)
        jp.load_file(folder / "mine.py")
        signing = jp.create("signing_mapper")
        Dataset.load(data).process(signing).export(folder / "out.jinx", custom_operators=[str(folder / "mine.py")])
        forget_operators(type(signing).__module__.__eq__)
        made[name] = digest(folder / "out.jinx"), metas(folder / "out.jinx")[0][MEMBER]["recipe"]["digest"]
    assert made["one"] == made["two"]
    assert made["one"][1] != made["three"][1]


def test_a_converted_input_is_told_by_what_it_holds(tmp_path):
    rows = [{"n": n, "text": "x"} for n in range(10)]
    jinx.convert(rows, tmp_path / "in.parquet")
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("in.parquet", "in.jsonl"):
        seen = []
        for stamp in (1, 2):
            os.utime(tmp_path / name, (stamp, stamp))
            out = tmp_path / f"{name}-{stamp}.jinx"
            flow(tmp_path / name).export(out, workers=1)
            seen.append(jinx.open(out).info().meta[MEMBER]["inputs"])
        assert seen[0] == seen[1]
    (told,) = seen[0]
    data = (tmp_path / "in.jsonl").read_bytes()
    assert told == {"format": "jsonl", "samples": 10, "bytes": len(data), "sha256": sha256(data).hexdigest()}


def test_shards_that_are_added_say_of_which_input(tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_text("".join(json.dumps({"text": f"the row number {n}"}) + "\n" for n in range(20)))
    flow(source).export(out, workers=1, block_rows=10)
    with source.open("a") as file:
        file.writelines(json.dumps({"text": f"the row number {n}"}) + "\n" for n in range(20, 30))
    flow(source).export(out, workers=1, block_rows=10)
    first, last = metas(out)[0][MEMBER], metas(out)[-2][MEMBER]
    assert [item["inputs"][0]["samples"] for item in (first, last)] == [20, 30]
    assert first["recipe"] == last["recipe"]


def test_an_output_of_an_output_names_the_last_recipe(data, tmp_path):
    flow(data).export(tmp_path / "a.jinx", workers=1)
    flow(tmp_path / "a.jinx", most=40).export(tmp_path / "b.jinx", workers=1)
    first, second = (jinx.open(tmp_path / name) for name in ("a.jinx", "b.jinx"))
    assert second.info().meta[MEMBER]["inputs"][0]["id"] == first.info().ids[0]
    assert second.info().meta["licence"] == "CC0"


def test_samples_of_groups_keep_no_meta_of_the_input(data, tmp_path):
    Dataset.load(data).process("naive_grouper").export(tmp_path / "out.jinx", workers=1)
    assert list(jinx.open(tmp_path / "out.jinx").info().meta) == [MEMBER]


def test_a_view_without_samples_has_it_too(data, tmp_path):
    flow(data, most=10).export(tmp_path / "none.jinx", kind="view", workers=1)
    assert jinx.open(tmp_path / "none.jinx").info().meta[MEMBER]["recipe"]["operators"] == ["text_length_filter"]


def count(sample):
    return len(sample["text"])


@pytest.mark.parametrize(
    ("name", "kind"), [("out", None), ("out.jinx", None), ("out.jinx", "view"), ("out.parquet", None)]
)
def test_lengths_are_of_the_texts_that_were_counted(tmp_path, name, kind):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": n, "text": f"text\u00a0number {n}"} for n in range(40))
    jinx.annotate(tmp_path / "in.jinx", tmp_path / "lengths.jinx", function=count, workers=0)
    flow(tmp_path / "lengths.jinx").export(tmp_path / f"kept-{name}", kind=kind, workers=1, block_rows=30)
    edited = Dataset.load(tmp_path / "lengths.jinx").process("whitespace_normalization_mapper")
    edited.export(tmp_path / name, kind=kind, workers=1, block_rows=30)
    outputs = [tmp_path / f"kept-{name}", tmp_path / name]
    if name.endswith(".parquet"):
        for number, path in enumerate(outputs):
            outputs[number] = path.with_suffix(".jinx")
            jinx.convert(path, outputs[number])
    opened = [jinx.open(path) for path in outputs]
    assert jinx.pack(opened[0], 32).stats().tokens == sum(map(len, opened[0]["text"]))
    assert [way.settings["function"]["name"] for way in counted(opened[0]) if way.settings] == ["count"]
    assert "\u00a0" not in opened[1][0]["text"]
    with pytest.raises(jinx.MismatchError, match="were counted before 'text' got other values"):
        jinx.pack(opened[1], 32)
