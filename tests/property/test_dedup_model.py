"""Deduplication against a set of Python values, over files that store the same samples in different ways."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import jinx

SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 1.5, float("nan")])
TEXTS = st.sampled_from(["", "1", "a", "ä" * 40, "long " * 200])
DATA = st.sampled_from([b"", b"1", b"a", bytes(100), bytes(range(256)), b"shrinks " * 100])
VALUES = st.recursive(
    SCALARS | TEXTS | DATA,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=4,
)
SAMPLES = st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3), min_size=1, max_size=12)
FORMS = [{}, {"sidecar": False}, {"compression": None}, {"binary_threshold": 0, "string_threshold": 10}]


def key(value: Any) -> Any:
    """Something hashable that is equal for the same values of the same types only."""
    if isinstance(value, dict):
        return ("dict", frozenset((name, key(item)) for name, item in value.items()))
    if isinstance(value, list):
        return ("list", tuple(key(item) for item in value))
    return (type(value).__name__, repr(value))


def model(samples: list[dict[str, Any]], by: str | None) -> list[int]:
    """The positions of the samples that stay."""
    seen, kept = set(), []
    for i, sample in enumerate(samples):
        if by is not None and sample.get(by) is None:
            kept.append(i)
            continue
        found = key(sample if by is None else sample[by])
        if found not in seen:
            kept.append(i)
        seen.add(found)
    return kept


@settings(max_examples=60)
@given(st.lists(st.tuples(SAMPLES, st.sampled_from(FORMS)), min_size=1, max_size=3), st.sampled_from([None, "a"]))
def test_the_first_of_equal_samples_stays(files, by):
    with TemporaryDirectory() as name:
        paths, samples = [], []
        for i, (rows, form) in enumerate(files):
            path = Path(name) / f"{i}.jinx"
            with jinx.Writer(path, threads=1, **form) as writer:
                writer.write_many(rows)
            paths.append(path)
            samples += rows
        if by is not None and not any(by in sample for sample in samples):
            return
        done = jinx.dedup(paths, Path(name) / "out.jinx", by=by, removed=Path(name) / "removed.json")
        kept = model(samples, by)
        assert (done.samples, done.duplicates) == (len(kept), len(samples) - len(kept))
        assert [key(one) for one in jinx.open(done.path).to_list()] == [key(samples[i]) for i in kept]
