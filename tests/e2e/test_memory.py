"""Private memory does not grow with the data: a conversion and a pass over all fields, at a small size."""

from pathlib import Path

import pytest

from bench.memory import convert, iterate, write_parquet

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")

SIZE = 400_000_000
BOUND = 200_000_000


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "in.parquet"
    write_parquet(path, SIZE)
    return path


def test_conversion_and_iteration(source):
    out = source.with_name("out.jinx")
    assert convert(source, out).private < BOUND
    done = iterate(out)
    assert done.private < BOUND // 4
    assert int(done.output) == SIZE // 48_000
    assert convert(out, source.with_name("back.parquet")).private < BOUND


def test_it_does_not_grow(source, tmp_path):
    write_parquet(tmp_path / "half.parquet", SIZE // 2)
    half, whole = convert(tmp_path / "half.parquet", tmp_path / "a.jinx"), convert(source, tmp_path / "b.jinx")
    assert whole.private < half.private + SIZE // 8
