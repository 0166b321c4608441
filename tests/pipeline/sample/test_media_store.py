"""Media in stores: named by content, on disk before their address is known."""

import io
from pathlib import Path

import pytest

from jinx_pipeline.sample import media_store
from jinx_pipeline.sample.media_store import MediaStore


def test_equal_media_are_stored_once(tmp_path):
    store = MediaStore("clips", str(tmp_path))
    first, same = store.put(b"one", ".mp4"), store.put(io.BytesIO(b"one"), ".mp4")
    other = store.put(b"two", ".mp4")
    assert first == same != other
    assert first.startswith("clips/")
    assert [(tmp_path / path).read_bytes() for path in (first, other)] == [b"one", b"two"]
    assert [medium.path for medium in store.media()] == sorted(str(tmp_path / path) for path in (first, other))


def test_a_store_of_the_working_directory_has_paths_from_there(tmp_path):
    path = MediaStore(str(tmp_path / "clips")).put(b"one", ".wav")
    assert Path(path).is_absolute()
    assert Path(path).read_bytes() == b"one"


def test_a_medium_and_its_name_are_on_disk_before_its_address_is_known(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(
        media_store.os, "fsync", lambda handle: synced.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
    )
    monkeypatch.setattr(media_store, "sync_folder", lambda folder: synced.append(str(folder)))
    path = MediaStore(str(tmp_path)).put(b"one", ".mp4")
    assert synced[0].endswith(".part")
    assert synced[1:] == [str(Path(path).parent), str(tmp_path)]


def test_what_a_failed_writer_leaves_is_removed_and_what_a_dead_one_leaves_is_listed(tmp_path):
    class Failing(io.BytesIO):
        def read(self, size=-1):
            raise OSError(28, "No space left on device")

    store = MediaStore(str(tmp_path))
    with pytest.raises(OSError, match="No space"):
        store.put(Failing(), ".mp4")
    assert not list(store.media())
    (tmp_path / ".dead.part").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("not of the store")
    assert [Path(medium.path).name for medium in store.media()] == [".dead.part"]


def test_a_url_is_refused():
    with pytest.raises(ValueError, match="in a directory, or below s3://"):
        MediaStore("https://host/clips")
