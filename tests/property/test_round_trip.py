"""Whatever Python writes comes back equal, type by type."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jinx
from property.values import NAMES, VALUES, same

SAMPLES = st.lists(st.dictionaries(NAMES, VALUES, max_size=5), max_size=4)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(samples=SAMPLES, sidecar=st.booleans(), compression=st.sampled_from([None, "zstd"]), eager=st.booleans())
def test_everything_comes_back(samples, sidecar, compression, eager):
    with TemporaryDirectory() as directory:
        path = Path(directory) / "a.jinx"
        with jinx.Writer(path, sidecar=sidecar, compression=compression) as writer:
            writer.write_many(samples)
        ds = jinx.open(path, lazy=not eager, verify="full")
        assert len(ds) == len(samples)
        for got, expected in zip(ds, samples, strict=True):
            assert same(dict(got), expected), (dict(got), expected)
        assert jinx.verify(path) == []
