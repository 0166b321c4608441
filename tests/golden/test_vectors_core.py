"""Every vector of the specification through the library."""

import numpy as np
import pytest

import jinx
from golden.tagged import difference, untag
from golden.vectors import BAD, GOOD, VECTORS
from jinx import errors

CAUSES = {
    "corrupt": errors.CorruptFileError,
    "truncated": errors.TruncatedFileError,
    "limit": errors.LimitError,
    "unsupported": errors.UnsupportedError,
    "mismatch": errors.MismatchError,
}


def open_fully_checked(entry):
    return jinx.open(str(VECTORS / entry["path"]), verify="full")


@pytest.mark.parametrize("entry", GOOD, ids=lambda entry: entry["name"])
def test_good_vector_gives_its_rows(entry):
    dataset = open_fully_checked(entry)
    want = [untag(row) for row in entry["expect"]["rows"]]
    assert len(dataset) == len(want)
    for i, row in enumerate(want):
        assert difference(dataset[i].to_dict(), row) is None
    for sample, row in zip(dataset, want, strict=True):
        assert difference({name: sample[name] for name in row}, row) is None


@pytest.mark.parametrize(
    ("entry", "column"),
    [(entry, column) for entry in GOOD for column in entry["expect"].get("columns", [])],
    ids=lambda part: part.get("name") or ".".join(part["path"]),
)
def test_column_gives_its_values(entry, column):
    dataset = open_fully_checked(entry)
    name = ".".join(column["path"])
    got = dataset.column(name) if column["kind"] == "value" else dataset.lengths(name)
    want = untag(column["values"])
    is_masked = None in want and not any(isinstance(value, str) for value in want)
    assert isinstance(got, np.ma.MaskedArray) == is_masked
    assert difference(got.tolist() if isinstance(got, np.ndarray) else got, want) is None


@pytest.mark.parametrize("entry", BAD, ids=lambda entry: entry["name"])
def test_bad_vector_fails_where_and_as_it_says(entry):
    expect = entry["expect"]
    error = CAUSES[expect["error"]]
    if expect["at"] == "open":
        with pytest.raises(error):
            open_fully_checked(entry)
        return
    try:
        dataset = open_fully_checked(entry)
    except error:
        assert expect["at"] == "row", "the other rows must stay readable"
        return
    for i, row in expect.get("good", {}).items():
        assert difference(dataset[int(i)].to_dict(), untag(row)) is None
    with pytest.raises(error):
        dataset[expect["row"]].to_dict()


@pytest.mark.parametrize("entry", BAD, ids=lambda entry: entry["name"])
def test_verify_finds_every_bad_vector(entry):
    """`jinx.verify` raises, or returns the problems it found."""
    try:
        problems = jinx.verify(str(VECTORS / entry["path"]))
    except errors.JinxError:
        return
    assert problems
