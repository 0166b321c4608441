"""Ways that copying and saving take because they are faster: what they write is what the general way writes."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jinx

ROWS = 300
# More than one block.
MANY = 33_500


def pair(path: Path) -> tuple[bytes, bytes]:
    sidecar = path.with_suffix(".binx")
    return path.read_bytes(), sidecar.read_bytes() if sidecar.exists() else b""


def written(path: Path, rows: Any, **options: Any) -> jinx.Dataset:
    path.parent.mkdir(exist_ok=True)
    with jinx.Writer(path, **options) as writer:
        writer.write_many(rows)
    return jinx.open(path)


# Rows without media are copied as their lines.


def row(n: int) -> dict[str, Any]:
    draw = random.Random(n)
    plain: dict[str, Any] = {
        "id": f"s{n}",
        "text": 'é"\\\n' * draw.randrange(40),
        "n": draw.randrange(-(2**63), 2**64),
        "small": n % 7,
        "score": draw.choice([n / 7, None, 1e300, -0.0]),
        "flag": n % 2 == 0,
        "messages": [{"role": "user", "content": "x" * n}, [], {}] * (n % 3),
        "meta": {"width": n, "deep": {"a": [None, True, 1.5]}},
    }
    return {name: value for name, value in plain.items() if n % 5 or name != "flag"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"indexed": ["meta.width", "id"]},
        {"only_indexed": ["small"]},
        {"sidecar": False},
        {"threads": 1},
        {"shard_size": "20kB"},
    ],
    ids=str,
)
@pytest.mark.parametrize("order", [None, [299, 0, 7, 7, 3]], ids=["all", "some"])
def test_plain_rows_are_copied_as_they_would_be_written(options, order, tmp_path):
    source = written(tmp_path / "source.jinx", (row(n) for n in range(ROWS)))
    out = "set" if "shard_size" in options else "set.jinx"
    again = written(tmp_path / "again" / out, (row(n) for n in (range(ROWS) if order is None else order)), **options)
    (tmp_path / "copied").mkdir()
    with jinx.Writer(tmp_path / "copied" / out, **options) as writer:
        writer.copy(source, order)
    assert jinx.verify(tmp_path / "copied" / out) == []
    names = sorted(path.relative_to(tmp_path / "again") for path in (tmp_path / "again").rglob("*.*inx"))
    for name in names:
        assert (tmp_path / "copied" / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name
    assert len(jinx.open(tmp_path / "copied" / out)) == len(again)


def test_a_view_of_some_columns_is_not_copied_as_lines(tmp_path):
    source = written(tmp_path / "source.jinx", (row(n) for n in range(9)))
    with jinx.Writer(tmp_path / "copy.jinx") as writer:
        writer.copy(source.select_columns(["id", "n"]))
    assert [sorted(sample) for sample in jinx.open(tmp_path / "copy.jinx")] == [["id", "n"]] * 9


# Values of the sidecar are moved by one thread, or by several.


def blobs(path: Path, count: int) -> jinx.Dataset:
    draw = random.Random(count)
    rows = ({"n": n, "image": draw.randbytes(draw.randrange(9_000, 60_000))} for n in range(count))
    return written(path, rows, compression=None)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_copied_values_do_not_depend_on_threads(threads, reverse, tmp_path):
    source = blobs(tmp_path / "source.jinx", 90)
    source = source[::-1] if reverse else source
    written(tmp_path / "again" / "set.jinx", (dict(sample) for sample in source), compression=None)
    (tmp_path / "copied").mkdir()
    with jinx.Writer(tmp_path / "copied" / "set.jinx", compression=None, threads=threads) as writer:
        writer.copy(source)
    assert pair(tmp_path / "copied" / "set.jinx") == pair(tmp_path / "again" / "set.jinx")
    assert jinx.verify(tmp_path / "copied" / "set.jinx") == []


@pytest.mark.parametrize("reverse", [False, True])
def test_a_damaged_value_costs_what_follows_in_the_call_and_nothing_else(reverse, tmp_path):
    blobs(tmp_path / "source.jinx", 60)
    side = tmp_path / "source.binx"
    bytes_ = bytearray(side.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    side.write_bytes(bytes_)
    source = jinx.open(tmp_path / "source.jinx")
    source = source[::-1] if reverse else source
    with jinx.Writer(tmp_path / "copy.jinx") as writer:
        with pytest.raises(jinx.CorruptFileError, match="checksum does not match"):
            writer.copy(source)
        done = writer.samples
        writer.copy(source, range(done + 1, 60))
    assert 0 < done < 59
    copy = jinx.open(tmp_path / "copy.jinx")
    numbers = source["n"].tolist()
    assert copy["n"].tolist() == numbers[:done] + numbers[done + 1 :]
    assert jinx.verify(tmp_path / "copy.jinx") == []


# Numbers that a view adds are stored as arrays.


NAMES = ["floats", "float32", "not finite", "masked", "wide", "bools", "dotted", "every kind"]


def columns() -> dict[str, Any]:
    draw = np.random.Generator(np.random.PCG64(1))
    floats = draw.random(MANY) * 10.0 ** draw.integers(-300, 300, MANY)
    odd = floats.copy()
    odd[[5, 33_000, MANY - 1]] = [np.nan, np.inf, -np.inf]
    masked = np.ma.MaskedArray(floats, mask=draw.random(MANY) < 0.5)
    every = {f"{kind}": draw.integers(-128 if kind[0] == "i" else 0, 127, MANY).astype(kind) for kind in
             ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")}  # fmt: skip
    all_columns: dict[str, Any] = {
        "floats": {"score": floats},
        "float32": {"score": draw.random(MANY, dtype=np.float32)},
        "not finite": {"score": odd},
        "masked": {"score": masked, "all": np.ma.MaskedArray(floats, mask=True)},
        "wide": {"n": draw.integers(0, 2**64, MANY, dtype=np.uint64), "i": draw.integers(-(2**63), 2**63, MANY)},
        "bools": {"flag": floats > 1, 'quoted "name"\n': floats > 2},
        "dotted": {"a.b": floats, "plain": floats},
        "every kind": every,
    }
    assert list(all_columns) == NAMES
    return all_columns


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> jinx.Dataset:
    return written(tmp_path_factory.mktemp("numbers") / "base.jinx", ({"n": n} for n in range(MANY)))


@pytest.mark.parametrize(("name", "shuffled"), [*((name, False) for name in NAMES), ("masked", True)])
def test_numbers_are_saved_as_any_values(name, shuffled, base, tmp_path):
    for place, as_given in (("arrays", True), ("lists", False)):
        added = {key: values if as_given else values.tolist() for key, values in columns()[name].items()}
        view = base.with_columns(added)
        (tmp_path / place).mkdir()
        (view.shuffle(seed=1) if shuffled else view).save(tmp_path / place / "view.jinx")
    arrays, lists = (jinx.open(tmp_path / place / "view.jinx") for place in ("arrays", "lists"))
    assert arrays.column_names == lists.column_names
    for i in [*range(0, MANY, 997), MANY - 1]:
        assert repr(arrays[i].to_dict()) == repr(lists[i].to_dict())
    assert name != "masked" or jinx.verify(tmp_path / "arrays" / "view.jinx") == []
