"""Random nested rows in both directions."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import jinx
from compat import reference
from compat.same import difference

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="."), max_size=12)
JSON_SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
DTYPES = st.sampled_from(["int8", "uint64", "float32", ">f8", "bool", "<U3", "S2", "complex128", "datetime64[s]"])
BLOBS = st.binary(max_size=300) | npst.arrays(DTYPES, npst.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=4))
NUMPY_SCALARS = st.sampled_from(["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]).flatmap(
    lambda dtype: npst.from_dtype(np.dtype(dtype)).map(np.dtype(dtype).type)
) | st.floats(width=32, allow_nan=False, allow_infinity=False).map(np.float32)
# Texts in lists keep their suffixes in no 1.0 file, so lists hold numbers, lists and dicts.
MEMBERS = st.deferred(lambda: JSON_SCALARS | TEXT | BLOBS | NUMPY_SCALARS | LISTS | DICTS)
LISTS = st.deferred(lambda: st.lists(JSON_SCALARS | LISTS | DICTS, max_size=4))
DICTS = st.deferred(lambda: st.dictionaries(NAMES, MEMBERS, max_size=4))
ROWS = st.lists(st.dictionaries(NAMES, MEMBERS, max_size=6), max_size=4)
THEIR_OPTIONS = st.fixed_dictionaries(
    {
        "encoding": st.sampled_from(["a85", "b64"]),
        "compression": st.sampled_from([None, *reference.CODECS]),
        "index_compression": st.sampled_from([None, "zst", "br"]),
        "compress_threshold": st.sampled_from([1, 64]),
        "binary_threshold": st.sampled_from([None, 0, 50]),
    }
)
OUR_OPTIONS = st.fixed_dictionaries(
    {
        "sidecar": st.booleans(),
        "compression": st.sampled_from([None, "zstd"]),
        "binary_threshold": st.sampled_from([0, 64]),
        "compress_threshold": st.sampled_from([0, 128]),
    }
)


@given(samples=ROWS, options=THEIR_OPTIONS)
def test_it_writes_we_read(samples, options):
    with tempfile.TemporaryDirectory() as directory:
        path = reference.write(Path(directory) / "data.jinx", samples, **options)
        for io in ("mmap", "pread"):
            got = [sample.to_dict() for sample in jinx.open(path, io=io)]
            assert difference(got, samples) is None
        for lazy, mmap in reference.MODES:
            assert difference(reference.read(path, lazy=lazy, mmap=mmap), samples, ordered=not lazy) is None


@given(samples=ROWS, options=OUR_OPTIONS)
def test_we_write_it_reads(samples, options):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "data.jinx"
        with jinx.Writer(path, **options) as writer:
            writer.write_many(samples)
        assert difference([sample.to_dict() for sample in jinx.open(path)], samples) is None
        for lazy, mmap in reference.MODES:
            assert difference(reference.read(path, lazy=lazy, mmap=mmap), samples, ordered=not lazy) is None
