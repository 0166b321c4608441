"""What Streaming expects of a shard's reader, beyond the samples."""

import json
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import pytest
from streaming.base.format.mds.reader import MDSReader as TheirReader

import jinx.mds
from documented import undocumented
from drop_in.shards import differences, write_small
from jinx.errors import CorruptFileError, TruncatedFileError
from jinx.mds import MDSReader
from jinx.mds import _streaming as ours


def readers(directory: Path, number: int = 0) -> tuple[MDSReader, Any]:
    info = json.loads((directory / "index.json").read_text())["shards"][number]
    return MDSReader.from_json(str(directory), None, info), TheirReader.from_json(str(directory), None, info)


def child(reader: MDSReader, queue: Any) -> None:
    queue.put([reader[i]["id"] for i in range(len(reader))])


def test_everything_public_has_a_docstring() -> None:
    assert undocumented(jinx.mds, jinx.mds.__all__) == []


def test_sizes_and_attributes_are_the_same(tmp_path: Path) -> None:
    directory = write_small(tmp_path / "d", compression="zstd", hashes=["md5"])
    own, other = readers(directory)
    for name in ("dirname", "split", "compression", "hashes", "samples", "size_limit", "raw_data", "zip_data"):
        assert getattr(own, name) == getattr(other, name), name
    for name in ("column_names", "column_encodings", "column_sizes", "file_pairs", "size"):
        assert getattr(own, name) == getattr(other, name), name
    assert own.get_max_size() == other.get_max_size()
    assert own.get_raw_size() == other.get_raw_size()
    assert own.get_zip_size() == other.get_zip_size()
    for keep in (False, True):
        assert own.get_persistent_size(keep) == other.get_persistent_size(keep)


def test_a_missing_file_is_file_not_found_and_found_when_it_comes(tmp_path: Path) -> None:
    own, _ = readers(write_small(tmp_path / "d"))
    path = tmp_path / "d" / "shard.00000.mds"
    data = path.read_bytes()
    path.unlink()
    with pytest.raises(FileNotFoundError):
        own[0]
    path.write_bytes(data)
    assert own[0]["id"] == 0
    path.unlink()
    with pytest.raises(FileNotFoundError):
        own[0]


def test_eviction_frees_the_file_and_the_next_sample_is_file_not_found(tmp_path: Path) -> None:
    own, _ = readers(write_small(tmp_path / "d"))
    assert own[1]["id"] == 1
    assert own.evict() == own.raw_data.bytes
    assert own.evict() == 0
    with pytest.raises(FileNotFoundError):
        own[1]


def test_files_removed_by_others_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "_SWEEP_EVERY", 1)
    directory = write_small(tmp_path / "d")
    first, _ = readers(directory, 0)
    second, _ = readers(directory, 1)
    assert first[0]["id"] == 0
    shard = directory / "shard.00000.mds"
    assert any(name.startswith(str(shard)) for name in held())
    shard.unlink()
    assert second[0]["id"] == len(first)
    assert not any(name.startswith(str(shard)) for name in held())  # of a removed file, the name has a suffix


def held() -> list[str]:
    """The files that this process has open."""
    links = list(Path("/proc/self/fd").iterdir())
    return [str(link.readlink()) for link in links if link.is_symlink()]


def test_open_files_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "_MAX_OPEN", 3)
    directory = write_small(tmp_path / "d")
    count = len(json.loads((directory / "index.json").read_text())["shards"])
    opened = [readers(directory, number)[0] for number in range(count)]
    ids = [sample["id"] for _ in range(2) for reader in opened for sample in reader]
    assert ids == list(range(200)) * 2
    assert count > 3 >= sum(str(directory) in name for name in held())


def test_a_replaced_file_is_read_anew(tmp_path: Path) -> None:
    own, _ = readers(write_small(tmp_path / "d"))
    assert own[0]["text"] == "text 0"
    path = tmp_path / "d" / "shard.00000.mds"
    changed = path.read_bytes().replace(b"text 0", b"TEXT 0")
    path.with_suffix(".new").write_bytes(changed)
    path.with_suffix(".new").rename(path)
    assert own[0]["text"] == "TEXT 0"


def test_pickling_and_processes(tmp_path: Path) -> None:
    own, other = readers(write_small(tmp_path / "d"))
    assert own[0]["id"] == 0
    again = pickle.loads(pickle.dumps(own))
    assert differences(list(again), list(other)) == []
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(own, queue))
        process.start()
        assert queue.get(timeout=50) == list(range(len(own)))
        process.join()


@pytest.mark.parametrize("keep_zip", [False, True])
@pytest.mark.parametrize("present", [(), ("raw",), ("zip",), ("raw", "zip")])
def test_set_up_local(tmp_path: Path, keep_zip: bool, present: tuple[str, ...]) -> None:
    found: list[Any] = []
    for name in ("ours", "theirs"):
        directory = write_small(tmp_path / name, compression="gz")
        reader = readers(directory)[0 if name == "ours" else 1]
        files = {"raw": directory / reader.raw_data.basename, "zip": directory / reader.zip_data.basename}
        files["raw"].write_bytes(bytes(reader.raw_data.bytes))
        for kind in {"raw", "zip"} - set(present):
            files[kind].unlink()
        listing = {str(file) for file in directory.iterdir()}
        size = reader.set_up_local(listing, keep_zip)
        found.append((size, {kind for kind, file in files.items() if file.exists()}))
    if present == ("raw", "zip") and not keep_zip:
        # Streaming removes the raw file although it says that it keeps it.
        assert found[0] == (found[1][0], {"raw"})
    else:
        assert found[0] == found[1]


def test_truncated_and_wrong_shards_are_named(tmp_path: Path) -> None:
    directory = write_small(tmp_path / "d")
    path = directory / "shard.00000.mds"
    data = path.read_bytes()
    own, _ = readers(directory)
    path.write_bytes(data[:-3])
    with pytest.raises(TruncatedFileError, match=r"shard\.00000\.mds"):
        own[0]
    path.write_bytes(b"\xff" * len(data))
    with pytest.raises(CorruptFileError, match=r"shard\.00000\.mds"):
        own[0]
    assert readers(directory, 1)[0][0]["id"] > 0
