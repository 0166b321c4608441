"""Every single flipped bit, in every variant of the format that is written: `verify` finds it and says where."""

import json
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from write_1_0 import Writer

import jinx
from samples import sample

VARIANTS: dict[str, dict[str, Any]] = {
    "usual": {},
    "one file": {"sidecar": False},
    "not compressed": {"compression": None},
    "one file, not compressed": {"sidecar": False, "compression": None},
    "indexed strings": {"indexed": ["id", "meta.source"]},
    "described": {"meta": {"a": [1]}, "split": "train", "media": {"image": "Image"}},
}


def rows() -> list[dict[str, Any]]:
    return [sample(1), sample(2) | {"a.b": 1, "inf": float("inf"), "list": [b"x" * 100, None]}]


def pointers(line: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Top-level name, offset and end of every value of a row that is in the sidecar."""

    def below(name: str, value: Any) -> Iterator[tuple[str, int, int]]:
        if isinstance(value, dict) and {"offset", "length"} <= set(value):
            yield name, value["offset"], value["offset"] + value["length"]
        elif isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                yield from below(name, inner)

    for key, value in line.items():
        yield from below(key.split(".")[0], value)


def expected_places(path: Path) -> dict[str, list[tuple[int, int, int, str | None]]]:
    """For main file and sidecar: ranges of bytes with the sample and the field that a damage there belongs to."""
    text = path.read_bytes()
    lines = text.splitlines(keepends=True)[: len(jinx.open(path))]
    main, side, at = [], [], 0
    for number, line in enumerate(lines):
        main.append((at, at + len(line), number, None))
        side += [(start, end, number, name) for name, start, end in pointers(json.loads(line))]
        at += len(line)
    return {path.name: main, path.with_suffix(".binx").name: side}


def flips(path: Path) -> Iterator[int]:
    """Flips one bit after the other, and back again; yields the byte."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        for at in range(len(data)):
            for bit in range(8):
                data[at] ^= 1 << bit
                yield at
                data[at] ^= 1 << bit


def wrong_about(problems: list[jinx.Problem], at: int, places: list[tuple[int, int, int, str | None]]) -> str | None:
    if not problems:
        return "not found"
    for start, end, number, name in places:
        if start <= at < end:
            named = any(
                one.sample == number and (name is None or (one.column or "").startswith(name)) for one in problems
            )
            return None if named else f"sample {number}, column {name} not named: {problems}"
    return None


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", VARIANTS)
def test_every_flipped_bit_of_a_pair_is_found_and_placed(name, directory, record_property):
    path = directory / "a.jinx"
    with jinx.Writer(path, **VARIANTS[name]) as writer:
        writer.write_many(rows())
    places = expected_places(path)
    assert jinx.verify(path) == []
    count, wrong = 0, []
    for file in sorted(directory.iterdir()):
        for at in flips(file):
            count += 1
            if (problem := wrong_about(jinx.verify(path), at, places[file.name])) and len(wrong) < 10:
                wrong.append(f"{file.name}, byte {at}: {problem}")
    record_property("bits", count)
    assert wrong == []
    assert count > 8 * 1000
    assert jinx.verify(path) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_flipped_bit_of_a_directory_is_found(directory, record_property):
    path = directory / "data"
    with jinx.Writer(path, shard_size=1000) as writer:
        writer.write_many(rows())
    files = sorted(path.iterdir())
    assert len(files) == 5  # two pairs and the manifest
    count, missed = 0, []
    for file in files:
        for at in flips(file):
            count += 1
            if not jinx.verify(path) and len(missed) < 10:
                missed.append((file.name, at))
    record_property("bits", count)
    assert missed == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_flipped_bit_of_a_saved_view_is_found(directory, record_property):
    (directory / "base").mkdir()
    with jinx.Writer(directory / "base" / "a.jinx") as writer:
        writer.write_many(rows())
    (directory / "base" / "a.jsonl").write_text('{"n": 1}\n{"n": 2}\n', "utf-8")
    both = jinx.concat([jinx.open(directory / "base" / name) for name in ("a.jinx", "a.jsonl")])
    both[[3, 1, 1]].with_columns({"own": [bytes(100), 1.5, None]}).save(directory / "view.jinx")
    assert jinx.verify(directory / "view.jinx") == []
    count, missed = 0, []
    for name in ("view.jinx", "view.binx"):
        for at in flips(directory / name):
            count += 1
            if not jinx.verify(directory / "view.jinx") and len(missed) < 10:
                missed.append((name, at))
    record_property("bits", count)
    assert missed == []


def test_arrays_in_the_sidecar_are_covered_too(directory):
    path = directory / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"n": number, "text": "x" * (number % 7)} for number in range(9000))
    side = path.with_suffix(".binx")
    size = side.stat().st_size
    assert size > 2 * 64 << 10  # index and line hashes
    missed = []
    with side.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        for bit in range(0, 8 * size, 8 * size // 150):
            data[bit // 8] ^= 1 << bit % 8
            if not jinx.verify(path):
                missed.append(bit)
            data[bit // 8] ^= 1 << bit % 8
    assert missed == []
    assert jinx.verify(path) == []


def test_verify_goes_on_after_the_first_damage(directory):
    path = directory / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"n": number, "blob": bytes([number]) * 50 + bytes(range(200))} for number in range(20))
    side = bytearray(path.with_suffix(".binx").read_bytes())
    main = bytearray(path.read_bytes())
    lines = bytes(main).splitlines(keepends=True)
    for number in (3, 7, 19):
        start = sum(map(len, lines[:number]))
        main[start + lines[number].index(b'"n"') + 1] ^= 4
    for _, start, _ in [place for number in (0, 11, 18) for place in pointers(json.loads(lines[number]))]:
        side[start] ^= 1
    path.write_bytes(main)
    path.with_suffix(".binx").write_bytes(side)
    problems = jinx.verify(path)
    assert {one.sample for one in problems if one.sample is not None} == {0, 3, 7, 11, 18, 19}
    assert {one.column for one in problems if one.sample in {0, 11, 18}} == {"blob"}


def old_pair(path: Path, **options: Any) -> None:
    """A pair of 1.0, which has no checksums but those of its codecs."""
    writer = Writer(path, **options)
    for number in range(2):
        writer.write({"id": number, "text": "word " * 30, "blob": bytes(range(90)), "dict": {"a": [number, None]}})
    writer.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "options",
    [{}, {"binary_threshold": 50}, {"compression": "zst", "encoding": "b64"}, {"index_compression": "zst"}],
    ids=str,
)
def test_what_verify_calls_whole_in_an_old_file_can_be_read(options, directory, record_property):
    """A file of 1.0 has no checksum for a letter that became another one; all else is found."""
    path = directory / "a.jinx"
    old_pair(path, **options)
    assert jinx.verify(path) == []
    count, found, wrong = 0, 0, []
    for file in sorted(directory.iterdir()):
        for at in flips(file):
            count += 1
            if jinx.verify(path):
                found += 1
                continue
            try:
                rows = [dict(sample) for sample in jinx.open(path)]
            except jinx.JinxError as error:
                wrong.append((file.name, at, str(error)))
            else:
                if len(rows) != 2:
                    wrong.append((file.name, at, f"{len(rows)} rows"))
    record_property("bits", [count, found])
    assert wrong == []
    assert found > count / 20
