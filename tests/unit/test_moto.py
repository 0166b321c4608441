"""A second S3 server, which is not ours: moto's. `JINX_MOTO_PYTHON` names an interpreter that has `moto[s3,server]`."""

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import jinx
import samples
from jinx._cli.program import run
from jinx._object_store import ObjectStore
from jinx.errors import MismatchError

PYTHON = os.environ.get("JINX_MOTO_PYTHON")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="JINX_MOTO_PYTHON is not set")
BUCKET = "s3://jinx"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server with an empty bucket."""
    command = [str(PYTHON), "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        try:
            line = next(line for line in server.stdout if "Running on" in line)
            address = line.split()[-1]
            for _ in range(50):
                try:
                    request = urllib.request.Request(f"{address}/jinx", method="PUT")
                    urllib.request.urlopen(request, timeout=10).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield address
        finally:
            server.kill()


@pytest.fixture(autouse=True)
def _environment(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"AWS_ENDPOINT_URL": address, "AWS_REGION": "us-east-1", "JINX_CACHE": "off"}
    variables |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_single_objects(tmp_path: Path) -> None:
    objects, url = ObjectStore(), f"{BUCKET}/state/a 1%.json"
    tag = objects.put_if_absent(url, b"one")
    with pytest.raises(FileExistsError):
        objects.put_if_absent(url, b"two")
    newer = objects.put_if_match(url, b"two", tag)
    with pytest.raises(MismatchError):
        objects.put_if_match(url, b"three", tag)
    assert objects.get(url) == (b"two", newer)
    assert objects.head(url).size == 3
    assert objects.get_range(url, 1, 3, tag=newer) == b"wo"
    (tmp_path / "long").write_bytes(os.urandom(20 << 20))
    objects.put_file(f"{BUCKET}/state/long", tmp_path / "long")
    objects.get_file(f"{BUCKET}/state/long", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "long").read_bytes()
    assert [found.url for found in objects.list(f"{BUCKET}/state")] == [url, f"{BUCKET}/state/long"]
    objects.delete(url, f"{BUCKET}/state/long", f"{BUCKET}/state/nothing")
    assert objects.list(f"{BUCKET}/state") == []


def test_datasets(tmp_path: Path) -> None:
    """Writing, reading, views, verifying, moving and removing against a server that is not ours."""
    url = f"{BUCKET}/data/a.jinx"
    with jinx.Writer(url) as writer:
        writer.write_many(samples.sample(i) for i in range(50))
    dataset = jinx.open(url)
    expected = [samples.plain(samples.sample(i)) for i in range(50)]
    assert samples.plain(list(dataset)) == expected
    assert jinx.verify(url) == []
    dataset.filter("n > 40").save(f"{BUCKET}/data/view.jinx")
    assert samples.plain(list(jinx.open(f"{BUCKET}/data/view.jinx"))) == expected[41:]
    jinx.convert(dataset, f"{BUCKET}/shards", shard_size=3_000)
    assert samples.plain(list(jinx.open(f"{BUCKET}/shards"))) == expected
    assert run(["mv", f"{BUCKET}/shards", f"{BUCKET}/moved"]) == 0
    assert jinx.verify(f"{BUCKET}/moved") == []
    with jinx.Writer(url, overwrite=True) as writer:
        writer.write({"n": 1})
    assert run(["clean", f"{BUCKET}/data", "--older-than", "0"]) == 0
    assert samples.plain(list(jinx.open(url))) == [{"n": 1}]
    assert run(["rm", url, f"{BUCKET}/data/view.jinx", f"{BUCKET}/moved"]) == 0
    assert not [found.url for found in ObjectStore().list(BUCKET) if "/state/" not in found.url]
