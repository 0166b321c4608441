"""What all operators have: checked parameters, digests, names, and calls without a pipeline."""

import math
import os
import pickle
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.operators import names, operator_class
from jinx_pipeline.operators.api import registry
from jinx_pipeline.operators.api.parameters import describe, fitted, hints_of

SAMPLES = [{"id": 1, "text": "a text of some length"}, {"id": 2, "text": "short"}, {"id": 3, "text": "é" * 12}]


@pytest.fixture
def dataset(tmp_path):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        for sample in SAMPLES:
            writer.write(sample)
    return jinx.open(tmp_path / "in.jinx")


def long_ones():
    return jp.create("text_length_filter", min_len=10)


def test_a_misspelt_parameter_names_operator_and_nearest_name():
    with pytest.raises(
        jp.ParameterError, match=r"text_length_filter: no parameter 'min_length'; did you mean 'min_len'\?"
    ):
        jp.create("text_length_filter", min_length=3)


def test_a_value_of_another_type_names_the_parameter():
    with pytest.raises(jp.ParameterError, match="text_length_filter: the parameter 'min_len' is int, not 'x'"):
        jp.create("text_length_filter", min_len="x")
    with pytest.raises(jp.ParameterError, match="not True"):
        jp.create("text_length_filter", min_len=True)


def test_a_whole_float_is_an_int():
    assert jp.create("text_length_filter", max_len=1e6).max_len == 1_000_000


def test_an_unknown_operator_names_the_nearest():
    with pytest.raises(jp.UnknownOperatorError, match="did you mean 'text_length_filter'"):
        jp.create("text_len_filter")


def test_a_name_may_lack_its_kind_where_that_is_clear():
    assert jp.create("text_length", min_len=3).name == "text_length_filter"
    with pytest.raises(jp.UnknownOperatorError, match="did you mean 'text_length_filter'"):
        jp.create("text_lenght")


def test_a_short_name_of_two_operators_is_refused(monkeypatch):
    monkeypatch.setitem(registry._REGISTERED, "clean_links_filter", jp.Filter)
    with pytest.raises(jp.UnknownOperatorError, match=r"several .*: clean_links_mapper, clean_links_filter"):
        jp.create("clean_links")


def test_operators_are_classes_too():
    assert jp.ops.TextLengthFilter(min_len=3)([{"text": "yes"}, {"text": "no"}]) == [{"text": "yes"}]
    assert "TextLengthFilter" in dir(jp.ops)
    with pytest.raises(AttributeError, match="did you mean"):
        jp.ops.TextLenFilter  # noqa: B018


def test_digests_follow_class_and_parameters():
    assert long_ones().digest == long_ones().digest
    assert long_ones().digest != jp.create("text_length_filter", min_len=11).digest
    assert long_ones().stats_digest == jp.create("text_length_filter", min_len=11).stats_digest


def test_operators_pickle():
    operator = pickle.loads(pickle.dumps(long_ones()))
    assert operator.parameters == long_ones().parameters


def test_a_list():
    assert [sample["id"] for sample in long_ones()(SAMPLES)] == [1, 3]
    marked = long_ones()(SAMPLES, keep_stats=True, drop=False)
    assert [sample["__dj__stats__"] for sample in marked] == [{"text_len": 21}, {"text_len": 5}, {"text_len": 12}]
    assert "__dj__stats__" not in SAMPLES[0]


@pytest.mark.parametrize(
    "name", ["text_length_filter", "clean_links_mapper", "image_shape_filter", "image_deduplicator"]
)
def test_no_samples_give_none(name):
    assert jp.create(name)([]) == []


def test_a_long_list_is_taken_in_parts(monkeypatch):
    cls = type(jp.create("image_shape_filter"))
    sizes = []
    compute = cls.compute_stats

    def counted(self, batch, ctx):
        sizes.append(len(batch))
        return compute(self, batch, ctx)

    monkeypatch.setattr(cls, "compute_stats", counted)
    samples = [{"images": []}] * 150
    assert jp.create("image_shape_filter", any_or_all="all")(samples) == samples
    assert sizes == [64, 64, 22]
    repeated = [{"text": str(number % 1500)} for number in range(2500)]
    assert len(jp.create("document_deduplicator")(repeated)) == 1500


def test_a_jinx_dataset_gives_a_view(dataset):
    view = long_ones()(dataset, keep_stats=True)
    assert isinstance(view, jinx.Dataset)
    assert list(view["id"]) == [1, 3]
    assert view[1]["__dj__stats__"] == {"text_len": 12}


def test_a_changed_column_hides_the_stored_one(dataset):
    view = jp.create("clean_links_mapper")(dataset.with_columns({"text": ["a www.a.com", "b", "c ftp://x"]}))
    assert view["text"] == ["a ", "b", "c "]
    assert view[0]["id"] == 1
    mapped = dataset.map(lambda sample: {"text": sample["text"] + " www.a.com"})
    assert jp.create("clean_links_mapper")(mapped)[1] == {"id": 2, "text": "short "}


def test_arrow_tables_and_batches():
    table = pa.Table.from_pylist(SAMPLES, pa.schema({"id": pa.int32(), "text": pa.string()}))
    kept = long_ones()(table)
    assert kept.schema.field("id").type == pa.int32()
    assert kept.column("id").to_pylist() == [1, 3]
    batch = long_ones()(table.to_batches()[0], keep_stats=True)
    assert isinstance(batch, pa.RecordBatch)
    assert batch.column("__dj__stats__").to_pylist() == [{"text_len": 21}, {"text_len": 12}]
    assert long_ones()(table.slice(1, 1)).schema.names == ["id", "text"]


def test_columns_as_ray_data_gives_them():
    columns = {"id": np.array([1, 2, 3]), "text": np.array([sample["text"] for sample in SAMPLES], dtype=object)}
    kept = long_ones()(columns, keep_stats=True)
    assert kept["id"].tolist() == [1, 3]
    assert kept["__dj__stats__"].tolist() == [{"text_len": 21}, {"text_len": 12}]


def test_a_hugging_face_dataset():
    datasets = pytest.importorskip("datasets")
    before = datasets.Dataset.from_list(SAMPLES)
    after = long_ones()(before, keep_stats=True)
    assert after["id"] == [1, 3]
    assert after[0]["__dj__stats__"] == {"text_len": 21}
    edited = jp.create("clean_links_mapper", repl="LINK")(datasets.Dataset.from_list([{"text": "at www.a.com"}]))
    assert edited["text"] == ["at LINK"]


def test_custom_operators_come_from_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import jinx_pipeline as jp\n"
        "@jp.register('even_id_filter')\n"
        "class EvenIdFilter(jp.Filter):\n"
        "    stats = {'parity': 'int64'}\n"
        "    reads = ('id',)\n"
        "    def compute_stats(self, batch, ctx):\n"
        "        return {'parity': [value % 2 for value in batch.column('id')]}\n"
        "    def keep(self, stats):\n"
        "        return stats['parity'].to_numpy() == 0\n",
        "utf-8",
    )
    assert jp.load_file(file) == ["even_id_filter"]
    assert [sample["id"] for sample in jp.create("even_id_filter")(SAMPLES)] == [2]
    assert jp.load_file(file) == ["even_id_filter"]


def test_a_file_of_operators_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file of operators"):
        jp.load_file(tmp_path / "none.py")


def test_a_digest_is_the_same_in_every_process():
    """Sets are written in an order that depends on the process; objects may be shown by their address."""
    code = """
import sys
from typing import Any
from jinx_pipeline import Mapper, register

@register("set_mapper")
class SetMapper(Mapper):
    words: frozenset[str] = frozenset({"alpha", "beta", "gamma", "delta"})
    thing: Any = None

    def process(self, batch, ctx):
        return {}

print(SetMapper(thing={"a": {3, 1, 2}}).digest)
try:
    SetMapper(thing=object()).digest
except TypeError as error:
    print(error)
"""
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
    assert "a parameter of type object has no repr that is the same in every process" in said.pop()


def numeric_parameters() -> list[tuple[str, str]]:
    classes = {name: operator_class(name) for name in names()}
    return [
        (name, field.name)
        for name, cls in classes.items()
        for field in fields(cls)
        if "float" in describe(hints_of(cls)[field.name]) and not isinstance(field.default, str)
    ]


@pytest.mark.parametrize(("name", "parameter"), numeric_parameters())
def test_no_operator_takes_nan_and_each_takes_its_default(name, parameter):
    cls = operator_class(name)
    hint = hints_of(cls)[parameter]
    default = {field.name: field.default for field in fields(cls)}[parameter]
    assert fitted(default, hint) == (default if default is None else float(default))
    with pytest.raises(TypeError, match="not NaN"):
        fitted(math.nan, hint)


@pytest.mark.parametrize(
    ("name", "parameter", "wrong"),
    [
        ("stopwords_filter", "min_ratio", 30),
        ("stopwords_filter", "min_ratio", -0.1),
        ("flagged_words_filter", "max_ratio", 4.5),
        ("alphanumeric_filter", "min_ratio", math.inf),
        ("alphanumeric_filter", "max_ratio", 90),
        ("special_characters_filter", "max_ratio", 25),
        ("character_repetition_filter", "max_ratio", 1.01),
        ("word_repetition_filter", "max_ratio", -math.inf),
        ("language_id_score_filter", "min_score", 80),
        ("specified_numeric_field_filter", "min_value", math.inf),
        ("specified_numeric_field_filter", "max_value", -math.inf),
        ("perplexity_filter", "min_ppl", math.inf),
        ("image_aspect_ratio_filter", "min_ratio", 10**400),
        ("random_selector", "select_ratio", 1.5),
        ("document_minhash_deduplicator", "jaccard_threshold", 70),
        ("video_split_by_duration_mapper", "split_duration", math.inf),
    ],
)
def test_thresholds_that_no_value_reaches_are_refused(name, parameter, wrong):
    needed = {"perplexity_filter": {"model": "en.arpa"}, "specified_numeric_field_filter": {"field_key": "n"}}
    high = {"max_ppl": math.inf} if name == "perplexity_filter" else {}
    with pytest.raises(jp.ParameterError) as found:
        jp.create(name, **needed.get(name, {}), **{**high, parameter: wrong})
    assert found.value.parameter == parameter


def test_thresholds_of_data_juicer_are_taken():
    jp.create("alphanumeric_filter", max_ratio=sys.maxsize)
    jp.create("stopwords_filter", min_ratio=0, max_ratio=1)
    jp.create("image_aspect_ratio_filter", min_ratio=0.1, max_ratio=10)
    jp.create("text_length_filter", max_len=sys.maxsize)
    jp.create("perplexity_filter", model="en.arpa", max_ppl=math.inf)
    jp.create("audio_duration_filter", max_duration=sys.float_info.max)
