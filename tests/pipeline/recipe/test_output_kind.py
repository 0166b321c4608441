"""The kind of an output, by its name."""

import pytest

from jinx_pipeline.recipe.output_kind import kind_at, kind_of


@pytest.mark.parametrize(
    ("path", "kind", "found"),
    [
        ("b.jinx", "view", "view"),
        ("b", "view", "view"),
        ("b", "mds", "mds"),
        ("b.jinx", "mds", "jinx"),
        ("b.parquet", "view", "parquet"),
        ("b", "parquet", "jinx"),
        ("b.jsonl", "jsonl", "jsonl"),
    ],
)
def test_another_path_keeps_the_kind_that_fits_it(path, kind, found):
    assert kind_at(path, kind) == found


@pytest.mark.parametrize("path", ["b.csv", "b.jsonl.gz"])
def test_a_format_that_is_not_written_is_refused(path):
    with pytest.raises(ValueError, match="is not written"):
        kind_of(path)
