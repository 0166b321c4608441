"""Google Cloud Storage and Azure, as far as stubs of their APIs show: reading, lists, conditional writes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bucket
import cloud_stubs
import jinx
import samples
from jinx._cli.program import run
from jinx._object_store import ObjectStore
from jinx.errors import MismatchError

STORES: dict[str, tuple[type[bucket.Handler], str]] = {
    "gs": (cloud_stubs.GoogleHandler, "gs://{name}"),
    "az": (cloud_stubs.AzureHandler, "az://{name}"),
}


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Any]]:
    """The URL of an empty bucket, and its server."""
    handler, url = STORES[request.param]
    (tmp_path / "bucket").mkdir()
    with bucket.served(tmp_path / "bucket", handler) as store:
        store.is_open = True
        address = f"http://{store.address}"
        key = {
            "gcs_base_url": address,
            "disable_oauth": True,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        }
        variables = {
            "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(key),
            "AZURE_STORAGE_ACCOUNT_NAME": "account",
            "AZURE_STORAGE_ENDPOINT": address,
            "AZURE_SKIP_SIGNATURE": "true",
            "JINX_CACHE": "off",
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield url.format(name=store.name), store


def plain(dataset: Any) -> Any:
    return samples.plain(list(dataset))


def test_datasets_are_read(place, tmp_path):
    url, store = place
    (store.directory / "in").mkdir()
    local = samples.write(store.directory / "in" / "a.jinx")
    with jinx.Writer(store.directory / "shards", shard_size=3_000) as writer:
        writer.write_many(samples.sample(i) for i in range(50))
    (store.directory / "unlisted").mkdir()
    for i in (2, 10):
        samples.write(store.directory / "unlisted" / f"part-{i}.jinx", 3)
    expected = jinx.open(local)
    for name in ("in/a.jinx", "shards"):
        dataset = jinx.open(f"{url}/{name}")
        assert plain(dataset) == plain(expected)
        assert plain(dataset.take([7, 2])) == plain(expected.take([7, 2]))
        assert plain(dataset.filter("n > 40")) == plain(expected.filter("n > 40"))
        assert jinx.verify(f"{url}/{name}") == []
    assert len(jinx.open(f"{url}/unlisted")) == 6
    with pytest.raises(FileNotFoundError):
        jinx.open(f"{url}/none.jinx")
    assert run(["head", "-1", f"{url}/in/a.jinx"]) == 0


def test_objects_are_listed(place):
    url, store = place
    for name in ("a/b/c.txt", "a/d.txt", "e.txt"):
        (store.directory / name).parent.mkdir(parents=True, exist_ok=True)
        (store.directory / name).write_text(name)
    objects = ObjectStore()
    assert [found.url for found in objects.list(f"{url}/a")] == [f"{url}/a/b/c.txt", f"{url}/a/d.txt"]
    assert [found.url for found in objects.list(f"{url}/a", recursive=False)] == [f"{url}/a/b/", f"{url}/a/d.txt"]
    assert objects.get(f"{url}/e.txt").data == b"e.txt"
    assert objects.get_range(f"{url}/e.txt", 1, 3) == b".t"
    assert objects.head(f"{url}/e.txt").size == 5


def test_writes_have_conditions(place):
    url, _ = place
    objects, name = ObjectStore(), f"{url}/state.json"
    tag = objects.put_if_absent(name, b"1")
    with pytest.raises(FileExistsError):
        objects.put_if_absent(name, b"2")
    assert objects.get(name).data == b"1"
    assert objects.get(name).tag == tag
    newer = objects.put_if_match(name, b"three", tag)
    with pytest.raises(MismatchError):
        objects.put_if_match(name, b"4", tag)
    assert objects.get(name) == (b"three", newer)


def test_datasets_are_written(place):
    url, _ = place
    with jinx.Writer(f"{url}/out.jinx") as writer:
        writer.write_many(samples.sample(i) for i in range(9))
    assert plain(jinx.open(f"{url}/out.jinx")) == samples.plain([samples.sample(i) for i in range(9)])
    with pytest.raises(FileExistsError):
        jinx.Writer(f"{url}/out.jinx")
