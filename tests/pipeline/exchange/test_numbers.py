"""Numbers between Arrow and numpy, without pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import jinx
from jinx_pipeline.exchange.numbers import numbers_of, table_of

DRIVER = """
import sys
import jinx_pipeline as jp
names = ("document_minhash_deduplicator", "document_deduplicator", "document_line_deduplicator")
steps = [jp.create(name) for name in names]
result = jp.Dataset.load(sys.argv[1]).process(steps).export(sys.argv[2], workers=1)
print(result.rows_out, "pandas" in sys.modules)
"""


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.uint32, np.float64])
def test_arrays_come_back_from_tables(kind):
    first, second = table_of({"a": np.arange(5, dtype=kind)}), table_of({"a": np.arange(9, dtype=kind)[::-2]})
    assert first.equals(pa.table({"a": np.arange(5, dtype=kind)}))
    assert numbers_of(second, "a").tolist() == [8, 6, 4, 2, 0]
    for table, expected in (
        (pa.concat_tables([first, second]), [0, 1, 2, 3, 4, 8, 6, 4, 2, 0]),
        (first.slice(1, 3), [1, 2, 3]),
        (pa.concat_tables([first.slice(5), second.slice(2)]), [4, 2, 0]),
        (first.slice(5), []),
        (table_of({"a": np.empty(0, kind)}), []),
    ):
        numbers = numbers_of(table, "a")
        assert (numbers.tolist(), numbers.dtype) == (expected, np.dtype(kind))


def test_the_driver_of_deduplicators_does_not_import_pandas(tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"text": f"a text about {n % 30} things, and more\n{n % 20}"} for n in range(100))
    command = [sys.executable, "-c", DRIVER, tmp_path / "in.jinx", tmp_path / "out.jinx"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split()[1:] == ["False"], done.stderr
