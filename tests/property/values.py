"""Values of every kind that can be stored, and when two are the same."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(
        ["", ".", "..", "a.b", "model.pt", "v1.0.raw", "x.bin", "raw", ".raw", "a..b", "index.npy", "a.str.zst.bin"]
    ),
)
DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(),
    hnp.floating_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.complex_number_dtypes(),
)
SCALARS = st.one_of(
    hnp.boolean_dtypes(), hnp.integer_dtypes(endianness="<"), hnp.floating_dtypes(endianness="<", sizes=(16, 32, 64))
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(1 << 2000), 1 << 2000),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.binary(max_size=300),
    st.builds(lambda byte, count: bytes([byte]) * count, st.integers(0, 255), st.integers(0, 5000)),
    hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)),
    SCALARS.flatmap(hnp.from_dtype),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Equal in type and value, the sign of zero and being NaN included; which NaN it was is not kept."""
    if type(one) is not type(other):
        return False
    if isinstance(other, float | np.floating):
        return bool(np.isnan(one) and np.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    if isinstance(other, np.ndarray | np.generic):
        alike = one.dtype == other.dtype and one.shape == other.shape
        return alike and np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()
    if isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(other, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in other)
    return one == other
