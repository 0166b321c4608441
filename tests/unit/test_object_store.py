"""Single objects in stores: conditional writes are exact, also when answers are lost."""

import io
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import bucket
from jinx._object_store import ObjectStore
from jinx.errors import MismatchError, UnsupportedError

FEW_RETRIES = {"retries": 2, "stall_time": 30, "retry_time": 60}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[bucket.Bucket]:
    with bucket.served(tmp_path) as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        yield store


def test_objects_are_written_read_listed_and_removed(store, tmp_path):
    objects, url = ObjectStore(), store.url("run/a 1%.json")
    assert not objects.exists(url)
    tag = objects.put(url, b"0123456789")
    state = objects.head(url)
    assert (state.url, state.size, state.tag) == (url, 10, tag)
    assert abs(state.modified - (tmp_path / "run" / "a 1%.json").stat().st_mtime) < 2
    assert objects.get(url) == (b"0123456789", tag)
    assert objects.get_range(url, 2, 5, tag=tag) == b"234"
    assert objects.get_range(url, 2, 2) == b""
    objects.put(store.url("run/b/c"), b"")
    objects.put(store.url("run2/d"), b"d")
    assert objects.get(store.url("run/b/c")).data == b""
    assert [found.url for found in objects.list(store.url("run"))] == [url, store.url("run/b/c")]
    shallow = objects.list(store.url("run/"), recursive=False)
    assert [found.url for found in shallow] == [url, store.url("run/b/")]
    assert len(objects.list(store.url())) == 3
    assert objects.list(store.url("nothing")) == []
    store.forget()
    objects.delete(url, store.url("run/b/c"), store.url("nothing"))
    assert len(store.requests) == 1
    assert [found.url for found in objects.list(store.url())] == [store.url("run2/d")]
    for call in (objects.head, objects.get):
        with pytest.raises(FileNotFoundError, match=f"{store.url('nothing')}: there is no such object"):
            call(store.url("nothing"))


def test_conditions(store):
    objects, url = ObjectStore(), store.url("lease")
    first = objects.put_if_absent(url, b"one")
    with pytest.raises(FileExistsError, match=url):
        objects.put_if_absent(url, b"one")
    second = objects.put_if_match(url, b"two", first)
    assert second != first
    for tag in (first, '"other"'):
        with pytest.raises(MismatchError, match=url):
            objects.put_if_match(url, b"three", tag)
    with pytest.raises(MismatchError):
        objects.get_range(url, 0, 1, tag=first)
    assert objects.get(url) == (b"two", second)
    objects.delete(url)
    with pytest.raises(MismatchError):
        objects.put_if_match(url, b"three", second)
    assert not objects.exists(url)
    with pytest.raises(ValueError, match="empty tag"):
        objects.put_if_match(url, b"three", "")


def test_one_of_many_succeeds(store):
    objects, url, winners = ObjectStore(), store.url("claim"), []

    def claim(name: int) -> None:
        try:
            objects.put_if_absent(url, b"%d" % name)
        except FileExistsError:
            return
        winners.append(name)

    threads = [threading.Thread(target=claim, args=(name,)) for name in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    [winner] = winners
    assert objects.get(url).data == b"%d" % winner


@pytest.mark.parametrize("answer", ["closed", "500"])
def test_a_lost_answer_changes_nothing(store, answer):
    """The object was written, but its writer does not hear of it."""
    objects, url = ObjectStore(FEW_RETRIES), store.url("claim")

    def lose(handler: bucket.Handler, request: bucket.Request) -> bool:
        if request.method != "PUT":
            return False
        store.faults.clear()
        real, handler.wfile = handler.wfile, io.BytesIO()
        handler._put(request)
        handler.flush_headers()
        handler.wfile = real
        if answer == "500":
            handler.refuse(request, 500, "InternalError")
        else:
            handler.close_connection = True
            handler.connection.close()
        return True

    store.faults.append(lose)
    tag = objects.put_if_absent(url, b"one")
    assert objects.get(url) == (b"one", tag)
    store.faults.append(lose)
    tag = objects.put_if_match(url, b"two", tag)
    assert objects.get(url) == (b"two", tag)
    with pytest.raises(FileExistsError):
        objects.put_if_absent(url, b"one")


def test_files_are_copied_to_and_from_stores(store, tmp_path_factory):
    objects, directory = ObjectStore(), tmp_path_factory.mktemp("files")
    for length in (0, 1000, (20 << 20) + 7):
        data = bytes(range(251)) * (length // 251 + 1)
        (directory / "out").write_bytes(data[:length])
        url = store.url(f"file-{length}")
        objects.put_file(url, directory / "out", replace=False)
        objects.get_file(url, directory / f"back-{length}")
        assert (directory / f"back-{length}").read_bytes() == data[:length]
        with pytest.raises(FileExistsError):
            objects.put_file(url, directory / "out", replace=False)
        objects.put_file(url, directory / "out")
        with pytest.raises(FileExistsError):
            objects.get_file(url, directory / f"back-{length}")
    assert not store.uploads
    with pytest.raises(FileNotFoundError):
        objects.get_file(store.url("nothing"), directory / "nothing")
    assert not (directory / "nothing").exists()


def test_pickles_and_what_is_refused(store, monkeypatch):
    objects = pickle.loads(pickle.dumps(ObjectStore({"region": bucket.REGION})))
    objects.put(store.url("a"), b"a")
    assert bucket.SECRET.encode() not in pickle.dumps(objects)
    store.is_open = True
    assert objects.get(store.http_url("a")).data == b"a"
    for call in (lambda: objects.put(store.http_url("b"), b""), lambda: objects.delete(store.http_url("a"))):
        with pytest.raises(UnsupportedError, match="web servers are only read"):
            call()
    store.is_open = False
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(PermissionError, match="403 Forbidden SignatureDoesNotMatch"):
        ObjectStore({"region": bucket.REGION}).put(store.url("a"), b"b")
