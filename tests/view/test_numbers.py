"""Columns as codes and as orders: read from shards part by part, compared with plain lists."""

import math
from pathlib import Path
from typing import Any

import pytest

import jinx
from jinx import _core
from jinx._viewer.charts import MISSING

EDGES = [10.0, 300.0]


def code(value: float | None) -> int:
    return MISSING if value is None or math.isnan(value) else sum(edge <= value for edge in EDGES)


def check(ds: Any, name: str, values: list[Any]) -> None:
    """The codes and all pages of a column are those of a list."""
    numbers = _core.ViewNumbers.read(ds, [name], "value")
    assert numbers is not None
    assert len(numbers) == len(values)
    assert list(numbers.codes(EDGES)) == [code(value) for value in values]
    present = [value for value in values if code(value) != MISSING]
    limits, missing, _ = numbers.range()
    assert limits == (min(present), max(present))
    assert missing == len(values) - len(present)
    chosen = [i for i in range(len(values)) if i % 3]
    for samples in (None, sum(1 << i for i in chosen).to_bytes(-(-len(values) // 8), "little")):
        own = range(len(values)) if samples is None else chosen
        for descending in (False, True):
            sign = -1 if descending else 1
            order = sorted(own, key=lambda i: (1, 0) if code(values[i]) == MISSING else (0, sign * values[i]))
            pages = _core.SortedPages(numbers, samples, descending)
            # From the end, so that pages are sorted one by one.
            for start in reversed(range(0, len(order), 70)):
                page = pages.page(start, 70, numbers)
                found = [int.from_bytes(page[at : at + 4], "little") for at in range(0, len(page), 4)]
                assert found == order[start : start + 70]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Shards whose indexes have different integer types, and values that are missing; one has no samples."""
    folder = tmp_path_factory.mktemp("shards")
    samples: list[dict[str, Any]] = []
    for shard, (scale, count) in enumerate(((1, 150), (70_000, 90), (1, 0), (-3, 200))):
        with jinx.Writer(folder / f"part-{shard}.jinx") as writer:
            for i in range(count):
                sample = {"n": i * scale % 1_000_003, "x": math.sin(i + shard) * 400, "one": 7}
                if (i + shard) % 11 == 0:
                    del sample["x"]
                writer.write(sample)
                samples.append(sample)
    return folder, samples


def of(samples: list[dict[str, Any]], name: str) -> list[Any]:
    return [sample.get(name) for sample in samples]


@pytest.mark.parametrize("name", ["n", "x", "one"])
def test_columns_of_shards(shards: tuple[Path, list[dict[str, Any]]], name: str) -> None:
    folder, samples = shards
    check(jinx.open(folder), name, of(samples, name))


@pytest.mark.parametrize("name", ["n", "x"])
def test_columns_of_selections(shards: tuple[Path, list[dict[str, Any]]], name: str) -> None:
    folder, samples = shards
    ds = jinx.open(folder)
    check(ds[20:400:3], name, of(samples, name)[20:400:3])
    check(ds[::-1], name, of(samples, name)[::-1])
    check(ds.filter("n > 100"), name, [s.get(name) for s in samples if s["n"] > 100])
    twice = [5, 5, 160, 161, 161, 300]
    check(ds.select(twice), name, [samples[i].get(name) for i in twice])


@pytest.mark.parametrize("name", ["n", "x", "own"])
def test_columns_of_saved_views(shards: tuple[Path, list[dict[str, Any]]], tmp_path: Path, name: str) -> None:
    folder, samples = shards
    ds = jinx.open(folder)
    own = [(i * 37) % 500 for i in range(len(samples))]
    values = own if name == "own" else of(samples, name)
    ds.with_columns({"own": own}).save(tmp_path / "same.jinx")
    check(jinx.open(tmp_path / "same.jinx"), name, values)
    ds.with_columns({"own": own})[::-2].save(tmp_path / "some.jinx")
    check(jinx.open(tmp_path / "some.jinx"), name, values[::-2])


@pytest.mark.parametrize("name", ["n", "x"])
def test_columns_of_joined_datasets_and_of_rows(
    shards: tuple[Path, list[dict[str, Any]]], tmp_path: Path, name: str
) -> None:
    folder, samples = shards
    ds = jinx.open(folder)
    lines = tmp_path / "a.jsonl"
    jinx.convert(folder, lines)
    check(jinx.open(lines), name, of(samples, name))
    check(jinx.concat([ds, ds[:50]]), name, [*of(samples, name), *of(samples, name)[:50]])
    check(jinx.concat([ds, jinx.open(folder / "part-1.jinx")]), name, of(samples, name) + of(samples[150:240], name))


def test_integers_that_only_the_rows_have(tmp_path: Path) -> None:
    # In the rows of JSON lines, more than one block of each width.
    scales = (1, 300, 90_000, 2**45, 0.25)
    values = [None if i % 1000 == 7 else i % 251 * scales[i // 70_000] for i in range(70_000 * len(scales))]
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(f'{{"n": {"null" if value is None else value}}}\n' for value in values))
    numbers = _core.ViewNumbers.read(jinx.open(lines), ["n"], "value")
    assert numbers is not None
    assert list(numbers.codes(EDGES)) == [code(value) for value in values]
    pages = _core.SortedPages(numbers, None, True)
    order = sorted(range(len(values)), key=lambda i: (values[i] is None, -(values[i] or 0)))
    for start in (349_000, 200_000, 0):
        page = pages.page(start, 1000, numbers)
        assert page is not None
        assert [int.from_bytes(page[at : at + 4], "little") for at in range(0, len(page), 4)] == order[
            start : start + 1000
        ]


def test_bits_that_do_not_fit_the_samples_are_refused(shards: tuple[Path, list[dict[str, Any]]]) -> None:
    ds = jinx.open(shards[0])
    numbers = _core.ViewNumbers.read(ds, ["n"], "value")
    assert numbers is not None
    for bits in (b"", b"\1" * 54, b"\1" * 56):
        with pytest.raises(jinx.InvalidError, match="do not select from 440 samples"):
            _core.SortedPages(numbers, bits, False)
        with pytest.raises(jinx.InvalidError, match="do not select from 440 samples"):
            _core.view_counts([], bits, 440)
        with pytest.raises(jinx.InvalidError, match="do not select from 440 samples"):
            _core.view_kept([], bits, 440)
