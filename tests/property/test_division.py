"""`/` in expressions gives the float that Python's division of integers gives."""

import tempfile
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

import jinx

LARGEST = 2**127 - 1
# Of any number of bits, and close to powers of two, where rounding changes.
INTEGERS = st.one_of(
    st.integers(-LARGEST - 1, LARGEST),
    st.builds(lambda bits, value: value >> bits, st.integers(0, 126), st.integers(-LARGEST - 1, LARGEST)),
    st.builds(lambda bits, near: 2**bits + near, st.integers(0, 126), st.integers(-3, 3)),
)


@given(st.lists(st.tuples(INTEGERS, INTEGERS), min_size=1, max_size=50))
def test_quotients_are_those_of_python(pairs):
    pairs = [pair for pair in pairs if pair[1]]
    assume(pairs)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.jinx"
        with jinx.Writer(path) as writer:
            for a, b in pairs:
                writer.write({"a": a, "b": b, "quotient": a / b})
        dataset = jinx.open(path)
        assert len(dataset.filter("a / b == quotient")) == len(pairs)
