"""Every vector of the specification through the second reader."""

import json
from pathlib import Path

import pytest

from golden.tagged import difference, untag
from spec_reader import folder, syntax

VECTORS = Path(__file__).resolve().parents[2] / "spec" / "vectors"
ENTRIES = json.loads((VECTORS / "vectors.json").read_text(encoding="utf-8"))["vectors"]
GOOD = [entry for entry in ENTRIES if "error" not in entry["expect"]]
BAD = [entry for entry in ENTRIES if "error" in entry["expect"]]
CAUSES = {
    "corrupt": syntax.CorruptFileError,
    "truncated": syntax.TruncatedFileError,
    "limit": syntax.LimitError,
    "unsupported": syntax.UnsupportedError,
    "mismatch": syntax.MismatchError,
}


@pytest.mark.parametrize("entry", GOOD, ids=lambda entry: entry["name"])
def test_good_vector_gives_its_rows_and_columns(entry):
    dataset = folder.Dataset(VECTORS / entry["path"])
    want = [untag(row) for row in entry["expect"]["rows"]]
    assert len(dataset) == len(want)
    for i, row in enumerate(want):
        assert difference(dataset[i], row) is None
    columns = [(tuple(c["path"]), c["kind"], untag(c["values"])) for c in entry["expect"].get("columns", [])]
    got = [(tuple(path), kind, values) for path, kind, values in dataset.columns()]
    assert difference([list(c) for c in got if columns], [list(c) for c in columns]) is None


@pytest.mark.parametrize("entry", BAD, ids=lambda entry: entry["name"])
def test_bad_vector_fails_where_and_as_it_says(entry):
    expect = entry["expect"]
    error = CAUSES[expect["error"]]
    if expect["at"] == "open":
        with pytest.raises(error):
            folder.Dataset(VECTORS / entry["path"])
        return
    try:
        dataset = folder.Dataset(VECTORS / entry["path"])
    except error:
        assert expect["at"] == "row", "the other rows must stay readable"
        return
    for i, row in expect.get("good", {}).items():
        assert difference(dataset[int(i)], untag(row)) is None
    with pytest.raises(error):
        _ = dataset[expect["row"]]
