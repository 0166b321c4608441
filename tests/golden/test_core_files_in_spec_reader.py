"""What the library writes, the second reader reads back equal."""

import numpy as np
import pytest

import jinx
from golden.tagged import difference
from jinx._reference import reader

WORDS = "the quick brown fox "
SAMPLES = [
    {"id": 1, "text": WORDS, "raw": bytes(range(256)), "zeros": bytes(500), "array": np.arange(60.0).reshape(3, 20)},
    {"id": -(2**70), "model.pt": b"x" * 100, "a.": 1, "list": [b"y" * 99, b"z", float("nan"), {"k.l": b""}], "": b"n"},
    {"np": np.int8(5), "f4": np.float32(0.1), "f8": np.float64(0.1), "flag": np.bool_(True), "inf": float("-inf")},
    {"long": WORDS * 2000, "none": None, "nested": {"deep": {"a.b": [[np.arange(3)]]}}, "floats": [1.0, -0.0, 1e16]},
    {},
]


@pytest.mark.parametrize("sidecar", [True, False])
def test_samples_come_back(tmp_path, sidecar):
    path = tmp_path / "data.jinx"
    with jinx.Writer(str(path), sidecar=sidecar) as writer:
        for sample in SAMPLES:
            writer.write(sample)
    [pair] = reader.open_pairs(path)
    assert pair.count == len(SAMPLES)
    for i, sample in enumerate(SAMPLES):
        assert difference(pair[i], sample) is None


def test_index_and_columns_in_the_sidecar_come_back(tmp_path):
    path = tmp_path / "data.jinx"
    with jinx.Writer(str(path)) as writer:
        for i in range(9000):
            writer.write(
                {"i": i, "score": i / 7, "even": i % 2 == 0, "tags": ["t"] * (i % 5), "maybe": i if i % 3 else None}
            )
    [pair] = reader.open_pairs(path)
    columns = {(*entry["path"], entry["kind"]): pair.column(entry) for entry in pair.footer["columns"]}
    assert columns["i", "value"] == list(range(9000))
    assert columns["score", "value"] == [i / 7 for i in range(9000)]
    assert columns["even", "value"] == [i % 2 == 0 for i in range(9000)]
    assert columns["tags", "length"] == [i % 5 for i in range(9000)]
    assert columns["maybe", "value"] == [i if i % 3 else None for i in range(9000)]
    assert pair[8999]["i"] == 8999


def test_arrays_in_chunks_come_back(tmp_path):
    path, shuffled = tmp_path / "data.jinx", tmp_path / "shuffled.jinx"
    count = 140_000
    with jinx.Writer(str(path)) as writer:
        writer.write_many({"n": i << 30} for i in range(count))
    jinx.shuffle(path, shuffled, seed=1)
    for name in (path, shuffled):
        [pair] = reader.open_pairs(name)
        [column] = pair.footer["columns"]
        for array in (pair.footer["index.npy.bin"], pair.footer["line_hash"], column["data"]):
            assert array["chunk"] == 1 << 20
            assert array["xs"]["length"] == 16
        values = pair.column(column)
        assert sorted(values) == [i << 30 for i in range(count)]
        assert pair[count - 1]["n"] == values[-1]


def test_a_directory_comes_back(tmp_path):
    path = tmp_path / "data"
    with jinx.Writer(str(path), shard_size=4096) as writer:
        for i in range(300):
            writer.write({"i": i, "text": WORDS * 3})
    pairs = reader.open_pairs(path)
    assert len(pairs) > 1
    assert [pair[i]["i"] for pair in pairs for i in range(pair.count)] == list(range(300))
