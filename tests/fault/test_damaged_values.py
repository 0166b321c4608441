"""A stored value that was damaged is an error with file, sample and field, whichever way it is read by default."""

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import jinx
from jinx.errors import CorruptFileError
from jinx.mds import BulkReader, MDSWriter, RamReader

COUNT = 12
BAD = 7
FIELDS = ("image", "packed", "array", "text", "deep", "listed")


def sample(index: int) -> dict[str, Any]:
    """Values in the sidecar: as they are, compressed, array, text, inside a dict and a list."""
    draw = Random(index)
    return {
        "id": index,
        "image": draw.randbytes(90_000),
        "packed": b"packed %d" % index * 900,
        "array": np.frombuffer(draw.randbytes(4_000), np.int16),
        "text": f"{index}é" * 20_000,
        "deep": {"inner": {"blob": draw.randbytes(900)}},
        "listed": [draw.randbytes(300), draw.randbytes(300)],
    }


def pointers(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and {"offset", "length"} <= value.keys():
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from pointers(inner)


def damage(main: Path, row: int, field: str) -> None:
    """Flip one bit in the last value of `field` in a row."""
    members = json.loads(main.read_bytes().split(b"\n")[row])
    stored = next(value for key, value in members.items() if key.split(".")[0] == field)
    pointer = list(pointers(stored))[-1]
    with main.with_suffix(".binx").open("r+b") as file:
        file.seek(pointer["offset"] + pointer["length"] - 9)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 4]))


@pytest.fixture(scope="module", params=FIELDS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A pair of which one value is damaged, and that value's field."""
    path = tmp_path_factory.mktemp("damaged") / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many(map(sample, range(COUNT)))
    damage(path, BAD, request.param)
    return path, request.param


@pytest.fixture(scope="module")
def image_case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damaged") / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many(map(sample, range(COUNT)))
    damage(path, BAD, "image")
    return path


def whole(one: Any) -> Any:
    return one.to_dict() if isinstance(one, jinx.LazyDict) else one


WAYS: dict[str, Callable[[jinx.Dataset, str], Any]] = {
    "touch": lambda ds, field: whole(ds[BAD][field]),
    "get": lambda ds, field: whole(ds[BAD].get(field)),
    "values": lambda ds, field: [whole(value) for value in ds[BAD].values()],
    "to_dict": lambda ds, field: ds[BAD].to_dict(),
    "dict": lambda ds, field: {**ds[BAD].materialize()},
    "pickled sample": lambda ds, field: pickle.loads(pickle.dumps(ds[BAD])).to_dict(),
    "pickled": lambda ds, field: whole(pickle.loads(pickle.dumps(ds))[BAD][field]),
    "iterate a field": lambda ds, field: [whole(one[field]) for one in ds],
    "iterate all": lambda ds, field: [one.to_dict() for one in ds],
    "slice": lambda ds, field: [whole(one[field]) for one in ds[BAD:]],
    "select": lambda ds, field: [whole(one[field]) for one in ds.select([BAD, 0])],
    "shuffle": lambda ds, field: [whole(one[field]) for one in ds.shuffle(1)],
    "shard": lambda ds, field: [whole(one[field]) for one in ds.shard(num_shards=COUNT, index=BAD)],
    "map": lambda ds, field: ds.with_transform(lambda one: whole(one[field]))[BAD],
    "filter": lambda ds, field: ds.filter(lambda one: whole(one[field]) is not None),
    "columns": lambda ds, field: ds.select_columns([field])[BAD].to_dict(),
    "take": lambda ds, field: ds.take([0, BAD]),
    "take many": lambda ds, field: ds.take(list(range(COUNT)) * 4),
    "take a field": lambda ds, field: ds.take([BAD, 1], columns=[field]),
    "getitems": lambda ds, field: [whole(one[field]) for one in ds.__getitems__([3, BAD])],
    "batches": lambda ds, field: list(ds.iter_batches(4)),
    "column": lambda ds, field: ds[field],
    "to_list": lambda ds, field: ds.to_list(),
    "to_arrow": lambda ds, field: ds.select_columns(["id", field]).to_arrow(),
    "arrow batches": lambda ds, field: list(ds.select_columns(["id", field]).iter_batches(4, format="arrow")),
    "to_pandas": lambda ds, field: ds.select_columns([field]).to_pandas(),
}


@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_read_names_sample_and_field(case: tuple[Path, str], way: str, io: Any) -> None:
    path, field = case
    dataset = jinx.open(path, io=io)
    with pytest.raises(CorruptFileError, match=rf"a\.jinx: sample {BAD}, column '{field}.*checksum") as raised:
        WAYS[way](dataset, field)
    assert raised.value.sample == BAD
    assert raised.value.column.startswith(field)
    assert dataset[0]["id"] == 0


@pytest.mark.parametrize("read", [lambda ds: ds[BAD], list, lambda ds: ds.take([BAD])])
def test_eager_samples_are_checked_too(case: tuple[Path, str], read: Callable[[jinx.Dataset], Any]) -> None:
    path, field = case
    with pytest.raises(CorruptFileError, match=rf"a\.jinx: sample {BAD}, column '{field}.*checksum"):
        read(jinx.open(path, lazy=False))


def test_every_other_sample_stays_readable(case: tuple[Path, str]) -> None:
    path, field = case
    dataset = jinx.open(path)
    for index in (*range(BAD), *range(BAD + 1, COUNT)):
        assert repr(dataset[index].to_dict()) == repr(sample(index))
    others = [name for name in dataset[BAD] if name != field]
    assert repr({name: whole(dataset[BAD][name]) for name in others}) == repr(
        {name: value for name, value in sample(BAD).items() if name != field}
    )


def test_rows_and_none_still_give_what_is_there(image_case: Path) -> None:
    for verify in ("rows", "none"):
        found = jinx.open(image_case, verify=verify)[BAD]["image"]
        wanted = sample(BAD)["image"]
        assert [at for at in range(len(wanted)) if found[at] != wanted[at]] == [len(wanted) - 9]


@pytest.mark.parametrize("target", ["b.jinx", "b.jsonl", "b.parquet", "b.msgpack", "b.tar", "b.mds"])
@pytest.mark.parametrize("threads", [1, 4])
def test_no_conversion_launders_it(image_case: Path, tmp_path: Path, target: str, threads: int) -> None:
    for source in (image_case, jinx.open(image_case)):
        with pytest.raises(CorruptFileError, match=rf"sample {BAD}, column 'image'.*checksum"):
            jinx.convert(source, tmp_path / target, columns=["id", "image"], threads=threads)
        assert not (tmp_path / target).exists()


def test_the_command_line_ends_with_1(image_case: Path, tmp_path: Path) -> None:
    for words in (
        ["cat", image_case],
        ["head", image_case],
        ["get", image_case, BAD, "image"],
        ["extract", image_case, tmp_path / "images", "--column", "image"],
        ["convert", image_case, tmp_path / "b.jinx"],
    ):
        done = subprocess.run([sys.executable, "-m", "jinx", *map(str, words)], capture_output=True, check=False)
        assert done.returncode == 1
        assert f"sample {BAD}, column 'image'" in done.stderr.decode()


def read_in_worker(dataset: jinx.Dataset) -> str:
    try:
        return repr(dataset[BAD]["image"])
    except CorruptFileError as error:
        return str(error)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_check_too(image_case: Path, method: str) -> None:
    with multiprocessing.get_context(method).Pool(1) as pool:
        told = pool.apply(read_in_worker, [jinx.open(image_case)])
    assert f"sample {BAD}, column 'image'" in told


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_loaders_check_too(image_case: Path, num_workers: int) -> None:
    data = pytest.importorskip("torch.utils.data")
    from jinx.torch import Loader, collate

    dataset = jinx.open(image_case).select_columns(["id", "image"])
    with pytest.raises(CorruptFileError, match=rf"sample {BAD}, column 'image'"):
        list(Loader(dataset, batch_size=4, num_workers=num_workers))
    skipping = Loader(dataset, batch_size=4, num_workers=num_workers, on_error="skip")
    assert sum(len(batch["id"]) for batch in skipping) == COUNT - 1
    assert [index for index, _ in skipping.skipped] == [BAD]
    with pytest.raises(CorruptFileError, match=rf"sample {BAD}, column 'image'"):
        list(data.DataLoader(dataset, batch_size=4, num_workers=num_workers, collate_fn=collate))  # pyright: ignore[reportArgumentType]


def test_lengths_come_from_sound_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many(map(sample, range(COUNT)))
    damage(path, BAD, "packed")
    damage(path, BAD, "array")
    bad = jinx.open(path)[BAD]
    for field in ("packed", "array"):
        with pytest.raises(CorruptFileError, match="checksum"):
            bad.length(field)
    assert jinx.open(path, verify="rows")[BAD].length("array") == 2_000


@pytest.mark.parametrize("shards", [1, 4])
def test_a_damaged_index_never_gives_another_row(tmp_path: Path, shards: int) -> None:
    """Each row is held against its own checksum, so that opening need not read the index whole."""
    directory = tmp_path / "d"
    with jinx.Writer(directory, shard_size=400_000 * 8 // shards) as writer:
        writer.write_many({"id": index} for index in range(9_000))
        writer.write_many({"id": index, "blob": bytes([index % 256]) * 400} for index in range(9_000, 9_100))
    for side in sorted(directory.glob("*.binx")):
        main = side.with_suffix(".jinx")
        footer = json.loads(main.read_bytes().rstrip().rsplit(b"\n", 2)[1])
        index = next(value for key, value in footer.items() if key.startswith("index."))
        with side.open("r+b") as file:
            file.seek(index["offset"] + 8 * 100)
            entries = file.read(16)
            file.seek(-16, os.SEEK_CUR)
            file.write(entries[8:] + entries[:8])
    dataset = jinx.open(directory)
    wrong = 0
    for index in range(len(dataset)):
        try:
            assert dataset[index]["id"] == index
        except CorruptFileError:
            wrong += 1
    assert wrong
    assert jinx.verify(directory)


COMPRESSIONS = ["zstd", "gz", "br", "snappy"]


def write_mds(directory: Path, compression: str | None, hashes: list[str]) -> Path:
    columns = {"id": "int", "data": "bytes"}
    with MDSWriter(columns=columns, out=directory, compression=compression, hashes=hashes, size_limit="8kb") as writer:
        for index in range(60):
            writer.write({"id": index, "data": bytes([index]) * 500})
    return directory


def forge(directory: Path, *, zip_hashes: bool = True) -> str:
    """Compress other samples in the place of the second shard, so that only a hash can tell."""
    index = json.loads((directory / "index.json").read_text())
    other = write_mds(directory.with_name("other"), index["shards"][1]["compression"], ["xxh64"])
    shard, wrong = index["shards"][1], json.loads((other / "index.json").read_text())["shards"][2]
    assert wrong["samples"] == shard["samples"]
    name = shard["zip_data"]["basename"]
    (directory / name).write_bytes((other / wrong["zip_data"]["basename"]).read_bytes())
    shard["zip_data"]["bytes"] = wrong["zip_data"]["bytes"]
    if not zip_hashes:
        shard["zip_data"]["hashes"] = {}
    (directory / "index.json").write_text(json.dumps(index))
    return name


@pytest.mark.parametrize("zip_hashes", [True, False])
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_mds_shards_that_are_decoded_are_held_against_their_hashes(
    tmp_path: Path, compression: str, *, zip_hashes: bool
) -> None:
    directory = write_mds(tmp_path / "d", compression, ["xxh64"])
    name = forge(directory, zip_hashes=zip_hashes)
    second = json.loads((directory / "index.json").read_text())["shards"][0]["samples"]
    opened: list[jinx.Dataset] = [
        jinx.open(directory),
        RamReader(directory),
        BulkReader(directory),
        pickle.loads(pickle.dumps(jinx.open(directory))),
    ]
    for dataset in opened:
        for read in (
            lambda ds: ds[second]["id"],
            lambda ds: [one["id"] for one in ds],
            lambda ds: ds.take([0, second]),
            lambda ds: list(ds.iter_batches(8)),
            lambda ds: ds["id"],
            lambda ds: ds.to_arrow(),
        ):
            with pytest.raises(CorruptFileError, match=rf"{name}: xxh64 is"):
                read(dataset)
        assert dataset[0]["id"] == 0
    with pytest.raises(CorruptFileError, match="xxh64"):
        jinx.convert(directory, tmp_path / "b.jinx")
    assert jinx.open(directory, verify="rows")[second]["id"] != second


def test_mds_shards_that_are_not_decoded_are_checked_on_request(tmp_path: Path) -> None:
    directory = write_mds(tmp_path / "d", None, ["sha1"])
    path = directory / "shard.00000.mds"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    assert jinx.open(directory)[0]["id"] == 0
    with pytest.raises(CorruptFileError, match=r"shard\.00000\.mds: sha1 is"):
        RamReader(directory, hashes=True)[0]["id"]
    with pytest.raises(CorruptFileError, match="sha1"):
        jinx.convert(directory, tmp_path / "b.jinx")
    assert jinx.verify(directory)


def test_mds_decoded_before_are_checked_on_request(tmp_path: Path) -> None:
    directory = write_mds(tmp_path / "d", "zstd", ["sha1"])
    cache = tmp_path / "cache"
    assert RamReader(directory, cache=cache)[0]["id"] == 0
    (decoded,) = cache.rglob("shard.00000.mds")
    decoded.write_bytes(decoded.read_bytes()[:-1] + b"\xff")
    with pytest.raises(CorruptFileError, match="sha1"):
        RamReader(directory, cache=cache, hashes=True)[0]["id"]


def test_mds_levels_have_the_same_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'none', 'rows' or 'full'"):
        jinx.open(write_mds(tmp_path / "d", None, []), verify="all")  # pyright: ignore[reportArgumentType]
