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


def in_rows(dtype: str, place: Path, indexed: list[str] | None = None) -> jinx.Dataset:
    with jinx.Writer(place / "rows.jinx", only_indexed=indexed) as writer:
        writer.write_many({"n": n, "q": value} for n, value in enumerate(VALUES.astype(dtype)))
    return jinx.open(place / "rows.jinx")


def in_rows_without_index(dtype: str, place: Path) -> jinx.Dataset:
    return in_rows(dtype, place, ["n"])


def below_a_view(dtype: str, place: Path) -> jinx.Dataset:
    """The condition needs a column of the base and one of the view."""
    dataset = in_rows(dtype, place)
    numbers = dataset.column("n").tolist()
    dataset.drop_columns(["n"]).with_columns({"n": np.array(numbers)}).save(place / "view.jinx")
    return jinx.open(place / "view.jinx")


def in_parts(dtype: str, place: Path) -> jinx.Dataset:
    rows = in_rows(dtype, place)
    return jinx.Dataset.concat([rows[:8], rows[8:]])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("make", [in_mds, in_memory, in_a_view, in_rows, in_rows_without_index, below_a_view, in_parts])
def test_a_filter_finds_what_numpy_finds(make, dtype, tmp_path):
    dataset = make(dtype, tmp_path)
    values = VALUES.astype(dtype)
    for text, condition in CONDITIONS.items():
        expected = np.flatnonzero(condition(values)).tolist()
        assert dataset.filter(text).column("n").tolist() == expected, text
        assert dataset[::-1].filter(text).column("n").tolist() == expected[::-1], text


@pytest.mark.parametrize("indexed", [["n"], None])
def test_rows_of_several_types_are_compared_one_by_one(tmp_path, indexed):
    values = [np.float32(0.1), 0.1, np.float16(0.1), None, 1, np.float32(0.1)] * 5
    with jinx.Writer(tmp_path / "rows.jinx", only_indexed=indexed) as writer:
        writer.write_many({"n": n, "q": value, "d": {"q": value}} for n, value in enumerate(values))
    dataset = jinx.open(tmp_path / "rows.jinx")
    assert type(dataset[0]["q"]) is np.float32
    for path in ("q", "d.q"):
        for text, condition in {
            "== 0.1": lambda q: q == 0.1,
            "> 0.1": lambda q: q > 0.1,
            "< 2": lambda q: q < 2,
        }.items():
            expected = [n for n, value in enumerate(values) if value is not None and condition(value)]
            assert dataset.filter(f"{path} {text}").column("n").tolist() == expected, (path, text)
        empty = [n for n, value in enumerate(values) if value is None]
        assert dataset.filter(f"{path} is None").column("n").tolist() == empty
