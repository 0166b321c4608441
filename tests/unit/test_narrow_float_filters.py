"""Expressions compare float32 and float16 with their numbers as NumPy does, wherever the column is."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jinx
from jinx.mds import MDSWriter

VALUES = np.array([0.1, 0.2, 0.3, 2048.0, -0.1, 0.1, np.nan, np.inf] * 3)
CONDITIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "q == 0.1": lambda q: q == 0.1,
    "q != 0.1": lambda q: q != 0.1,
    "q > 0.1": lambda q: q > 0.1,
    "q >= 0.3": lambda q: q >= 0.3,
    "0.1 <= q < 0.3": lambda q: (q >= 0.1) & (q < 0.3),
    "q == -0.1": lambda q: q == -0.1,
    "q in (0.2, 0.3)": lambda q: (q == 0.2) | (q == 0.3),
    "-q == 0.1": lambda q: -q == 0.1,
    "q == 2049": lambda q: q == 2049,
    "q == 0.1 and n > 3": lambda q: (q == 0.1) & (np.arange(len(q)) > 3),
}


def in_mds(dtype: str, place: Path) -> jinx.Dataset:
    with MDSWriter(columns={"n": "int", "q": dtype}, out=place / "mds") as writer:
        for n, value in enumerate(VALUES.astype(dtype)):
            writer.write({"n": n, "q": value})
    return jinx.open(place / "mds")


def base(place: Path) -> jinx.Dataset:
    with jinx.Writer(place / "base.jinx") as writer:
        writer.write_many({"n": n} for n in range(len(VALUES)))
    return jinx.open(place / "base.jinx")


def in_memory(dtype: str, place: Path) -> jinx.Dataset:
    return base(place).with_columns({"q": VALUES.astype(dtype)})


def in_a_view(dtype: str, place: Path) -> jinx.Dataset:
    in_memory(dtype, place).save(place / "view.jinx")
    return jinx.open(place / "view.jinx")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("make", [in_mds, in_memory, in_a_view])
def test_a_filter_finds_what_numpy_finds(make, dtype, tmp_path):
    dataset = make(dtype, tmp_path)
    values = VALUES.astype(dtype)
    for text, condition in CONDITIONS.items():
        expected = np.flatnonzero(condition(values)).tolist()
        assert dataset.filter(text).column("n").tolist() == expected, text
        assert dataset[::-1].filter(text).column("n").tolist() == expected[::-1], text


@pytest.mark.parametrize(("indexed", "found"), [(["n"], [0]), (None, [])])
def test_numpy_scalars_in_rows(tmp_path, indexed, found):
    """As docs/how-to/filter.md says: the index has numbers as float64, and does not know that they were float32."""
    with jinx.Writer(tmp_path / "rows.jinx", only_indexed=indexed) as writer:
        writer.write_many({"n": n, "q": np.float32(value)} for n, value in enumerate((0.1, 0.5)))
    dataset = jinx.open(tmp_path / "rows.jinx")
    assert type(dataset[0]["q"]) is np.float32
    assert dataset.filter("q == 0.1").column("n").tolist() == found
    assert dataset.filter("q > 0.0999 and q < 0.1001").column("n").tolist() == [0]
    assert dataset.filter("q == 0.5").column("n").tolist() == [1]
    assert dataset.filter("q == 0.10000000149011612").column("n").tolist() == [0]
    typed = dataset.with_columns({"q": np.array([0.1, 0.5], np.float32)})
    assert typed.filter("q == 0.1").column("n").tolist() == [0]
