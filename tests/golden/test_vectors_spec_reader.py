"""Every vector of the specification through the second reader."""

import pytest

from golden.tagged import difference, untag
from golden.vectors import BAD, GOOD, VECTORS
from jinx._reference import reader

CAUSES = {
    "corrupt": reader.CorruptFileError,
    "truncated": reader.TruncatedFileError,
    "limit": reader.LimitError,
    "unsupported": reader.UnsupportedError,
    "mismatch": reader.MismatchError,
}


@pytest.mark.parametrize("entry", GOOD, ids=lambda entry: entry["name"])
def test_good_vector_gives_its_rows_and_columns(entry):
    pairs = reader.open_pairs(VECTORS / entry["path"])
    rows = [(pair, i) for pair in pairs for i in range(pair.count)]
    want = [untag(row) for row in entry["expect"]["rows"]]
    assert len(rows) == len(want)
    for (pair, i), row in zip(rows, want, strict=True):
        assert difference(pair[i], row) is None
    columns = [[c["path"], c["kind"], untag(c["values"])] for c in entry["expect"].get("columns", [])]
    entries = pairs[0].footer["columns"] if columns else []
    got = [[c["path"], c["kind"], pairs[0].column(c)] for c in entries]
    assert difference(got, columns) is None


@pytest.mark.parametrize("entry", BAD, ids=lambda entry: entry["name"])
def test_bad_vector_fails_where_and_as_it_says(entry):
    expect = entry["expect"]
    error = CAUSES[expect["error"]]
    if expect["at"] == "open":
        with pytest.raises(error):
            reader.open_pairs(VECTORS / entry["path"])
        return
    try:
        pairs = reader.open_pairs(VECTORS / entry["path"])
    except error:
        assert expect["at"] == "row", "the other rows must stay readable"
        return
    rows = [(pair, i) for pair in pairs for i in range(pair.count)]
    for i, row in expect.get("good", {}).items():
        pair, local = rows[int(i)]
        assert difference(pair[local], untag(row)) is None
    pair, local = rows[expect["row"]]
    with pytest.raises(error):
        _ = pair[local]
