"""Media in a bucket: read whole or by range, only where they may be read, and in one state."""

import io
import os

import pytest
from PIL import Image
from tests.bucket import served

import jinx_pipeline as jp
from jinx_pipeline.sample.bucket_media import opened_object
from jinx_pipeline.sample.media import Media, MediaError
from jinx_pipeline.sample.media_files import recorded_media, state_of
from jinx_pipeline.sample.media_store import MediaStore
from jinx_pipeline.sample.validators import MediaExist
from jinx_pipeline.store import mirror


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    (tmp_path / "bucket").mkdir()
    with served(tmp_path / "bucket") as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(mirror, "PATIENCE_SECONDS", 1.0)
        mirror.object_store.cache_clear()
        yield server
    mirror.object_store.cache_clear()


@pytest.fixture
def photo(bucket):
    out = io.BytesIO()
    Image.new("RGB", (40, 30), (200, 9, 90)).save(out, "PNG")
    (bucket.directory / "in" / "a").mkdir(parents=True)
    (bucket.directory / "in" / "a" / "photo 1.png").write_bytes(out.getvalue())
    return out.getvalue()


def refusing(code):
    """A fault: every request is refused."""
    return lambda handler, request: handler.refuse(request, 403, code) or True


def medium(bucket, value, **roles):
    return Media(value, jp.Roles(**{"media_root": bucket.url("in"), **roles}))


def test_relative_paths_start_at_a_root_in_a_bucket(bucket, photo):
    for value in ("a/photo 1.png", bucket.url("in/a/photo 1.png"), {"path": "a/photo 1.png"}):
        found = medium(bucket, value)
        assert found.file is None
        assert found.size == len(photo)
        assert found.dimensions == (40, 30)
        assert found.bytes == photo


def test_a_bucket_may_be_read_if_the_user_names_it(bucket, photo):
    url = bucket.url("in/a/photo 1.png")
    named = f"s3://{bucket.name}"
    assert medium(bucket, url, media_root=None, url_hosts=(named,)).bytes == photo
    assert medium(bucket, url, media_root="/data", url_hosts=(f"{named}/in/",)).bytes == photo
    for roles in ({"media_root": None}, {"media_root": "/data", "media_outside": True}, {"url_hosts": ("s3://other",)}):
        other = {"media_root": bucket.url("elsewhere"), **roles}
        with pytest.raises(MediaError, match=rf"add '{named}' to url_hosts"):
            _ = medium(bucket, url, **other).bytes
    assert not any(request.key.startswith("elsewhere") for request in bucket.requests)


@pytest.mark.parametrize(
    "value", ["../secret.png", "a/../../secret.png", "s3://{}/in/../secret.png", "s3://{}2/in/x.png"]
)
def test_paths_lead_out_of_no_root(bucket, photo, value):
    (bucket.directory / "secret.png").write_bytes(photo)
    found = medium(bucket, value.format(bucket.name))
    for read in (lambda: found.bytes, lambda: found.size, found.stream, lambda: found.file):
        with pytest.raises(MediaError, match="neither below the media root"):
            read()


def test_files_of_this_machine_are_not_below_a_root_in_a_bucket(bucket, photo, tmp_path):
    (tmp_path / "photo.png").write_bytes(photo)
    with pytest.raises(MediaError, match="leads out of the media root s3://"):
        _ = medium(bucket, str(tmp_path / "photo.png")).bytes
    assert medium(bucket, str(tmp_path / "photo.png"), media_outside=True).bytes == photo


def test_streams_read_what_is_asked_for(bucket):
    data = os.urandom(3_000_000)
    (bucket.directory / "in").mkdir()
    (bucket.directory / "in" / "long.bin").write_bytes(data)
    found = medium(bucket, "long.bin")
    bucket.forget()
    with found.stream() as stream:
        assert stream.read(1000) == data[:1000]
        assert stream.seek(-10, io.SEEK_END) == len(data) - 10
        assert stream.read() == data[-10:]
        assert stream.seek(1_000_000) == stream.tell() == 1_000_000
        assert stream.read(10) == data[1_000_000:1_000_010]
        with pytest.raises(ValueError, match="before the beginning"):
            stream.seek(-1)
    assert bucket.sent() < 1_000_000
    with found.stream() as stream:
        assert stream.read() == data


def test_what_cannot_be_read_is_named(bucket, photo):
    for read in (lambda found: found.bytes, lambda found: found.size, lambda found: found.stream()):
        with pytest.raises(MediaError, match=r"in/none\.png: there is no such object"):
            read(medium(bucket, "none.png"))
    bucket.faults.append(refusing("AccessDenied"))
    for read in (lambda found: found.bytes, lambda found: found.size):
        with pytest.raises(MediaError, match=r"photo 1\.png: the store does not allow"):
            read(medium(bucket, "a/photo 1.png"))
    bucket.faults[:] = [refusing("ExpiredToken")]
    with pytest.raises(mirror.StoreError, match="ExpiredToken"):  # all rows: the run stops, and can be resumed
        _ = medium(bucket, "a/photo 1.png").bytes


def test_an_object_that_is_replaced_while_it_is_read_is_refused(bucket):
    path = bucket.directory / "in" / "long.bin"
    path.parent.mkdir()
    path.write_bytes(bytes(1_000_000))
    with medium(bucket, "long.bin").stream() as stream:
        assert stream.read(10) == bytes(10)
        path.write_bytes(b"\1" * 1_000_000)
        stream.seek(900_000)
        with pytest.raises(mirror.ObjectError, match="was replaced while it was read"):
            stream.read(10)


def test_the_states_of_objects_are_recorded(bucket, photo):
    url = bucket.url("in/a/photo 1.png")
    with recorded_media() as states:
        _ = medium(bucket, "a/photo 1.png").bytes
    with recorded_media() as again, medium(bucket, "a/photo 1.png").stream():
        pass
    assert states == again == {url: state_of(url)}
    (bucket.directory / "in" / "a" / "photo 1.png").write_bytes(photo + b"\0")
    assert state_of(url) != states[url]
    (bucket.directory / "in" / "a" / "photo 1.png").unlink()
    with pytest.raises(OSError, match="there is no such object"):
        state_of(url)


def test_a_validator_asks_for_objects(bucket, photo):
    check = MediaExist(roles=("images",))
    roles = jp.Roles(media_root=bucket.url("in"))
    assert list(check.problems({"images": ["a/photo 1.png"]}, roles)) == []
    (problem,) = check.problems({"images": ["a/photo 2.png"]}, roles)
    assert "photo 2.png: there is no such object" in problem


def test_media_are_stored_in_a_bucket_by_their_content(bucket):
    root = bucket.url("made")
    store = MediaStore("clips", root)
    first, same = store.put(b"one", ".mp4"), store.put(io.BytesIO(b"one"), ".mp4")
    whole = MediaStore(f"{root}/clips/").put(b"two", ".mp4")
    assert first == same
    assert first.startswith("clips/")
    assert whole.startswith(f"{root}/clips/")
    assert medium(bucket, first, media_root=root).bytes == b"one"
    assert [request.method for request in bucket.requests].count("PUT") == 2
    (bucket.directory / "made" / "clips" / "notes.txt").write_text("not of the store")
    found = {one.path: one for one in store.media()}
    assert sorted(found) == sorted([f"{root}/{first}", whole])
    store.remove(found[whole])
    assert [one.path for one in store.media()] == [f"{root}/{first}"]


def test_a_store_that_fails_ends_the_run(bucket):
    bucket.faults.append(refusing("ExpiredToken"))
    with pytest.raises(OSError, match=r"access denied .* has failed for") as caught:
        MediaStore(bucket.url("clips")).put(b"one", ".mp4")
    assert caught.value.concerns_all_rows


def test_an_object_is_read_in_the_state_that_is_known(bucket):
    (bucket.directory / "x").write_bytes(b"0123456789")
    info = mirror.object_store().head(bucket.url("x"))
    other = info._replace(tag='"another"')
    with opened_object(other) as stream, pytest.raises(mirror.ObjectError, match="was replaced"):
        stream.read()
