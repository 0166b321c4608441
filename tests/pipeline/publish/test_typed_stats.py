"""Statistics of a view as typed columns: the same values by the same names, in fewer bytes."""

import numpy as np
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline.dataset import Dataset

COUNT = 400
NUMBERS = ("text_len", "num_words", "alnum_ratio")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The same run with statistics in rows, and with typed ones."""
    place = tmp_path_factory.mktemp("typed")
    with jinx.Writer(place / "in.jinx") as writer:
        writer.write_many({"text": "word " * (i % 50 + 1), "n": i} for i in range(COUNT))
    flow = Dataset.load(place / "in.jinx").process(
        [
            jp.create("text_length_filter", min_len=20),
            jp.create("words_num_filter", min_num=3),
            jp.create("alphanumeric_filter", min_ratio=0.1),
        ]
    )
    for typed in (False, True):
        flow.export(place / f"{typed}.jinx", kind="view", typed_stats=typed, workers=1, block_rows=70)
    return place / "False.jinx", place / "True.jinx"


def test_the_same_values_by_the_same_names(outputs):
    rows, typed = (jinx.open(path) for path in outputs)
    assert typed.column("n").tolist() == rows.column("n").tolist()
    for name in NUMBERS:
        path = f"__dj__stats__.{name}"
        assert typed.column(path).dtype == rows.column(path).dtype
        assert typed.column(path).tolist() == rows.column(path).tolist()
        assert [sample[path] for sample in typed] == [sample["__dj__stats__"][name] for sample in rows]
        middle = float(np.median(rows.column(path)))
        assert (
            typed.filter(f"{path} > {middle}").column("n").tolist()
            == rows.filter(f"{path} > {middle}").column("n").tolist()
        )
        assert typed.sort(path).column("n").tolist() == rows.sort(path).column("n").tolist()


def test_they_take_fewer_bytes(outputs):
    rows, typed = (
        sum(path.with_suffix(s).stat().st_size for s in (".jinx", ".binx") if path.with_suffix(s).exists())
        for path in outputs
    )
    assert typed < rows / 2


def test_statistics_that_are_no_numbers_stay(outputs):
    rows, typed = (jinx.open(path) for path in outputs)
    names = {name for sample in rows for name in sample["__dj__stats__"]}
    assert {name for name in names if f"__dj__stats__.{name}" in typed.column_names} == names
    assert "__dj__stats__" not in typed.column_names
    # The filter computes it for other settings only.
    assert typed[0]["__dj__stats__.alpha_token_ratio"] is None is rows[0]["__dj__stats__"]["alpha_token_ratio"]


def test_other_outputs_refuse_it(tmp_path):
    for options in ({"kind": "jinx"}, {"kind": "view", "keep_stats": False}):
        with pytest.raises(ValueError, match="typed_stats is for the statistics of a view"):
            jp.Export(str(tmp_path / "o.jinx"), typed_stats=True, **options)
