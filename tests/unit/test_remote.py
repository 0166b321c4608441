"""Datasets in buckets: the same samples as local ones, by ranges, in few requests."""

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import bucket
import jinx
import samples
from jinx._cli.program import run
from jinx.errors import MismatchError, UnsupportedError

COUNT = 400
IMAGE = 30_000


def large(i: int) -> dict[str, object]:
    """A sample with an image of its own."""
    return {**samples.sample(i), "image": b"\xff\xd8\xff" + np.random.default_rng(i).bytes(IMAGE)}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bucket")
    (root / "a").mkdir()
    samples.write(root / "a" / "small.jinx")
    with jinx.Writer(root / "large.jinx") as writer:
        writer.write_many(large(i) for i in range(COUNT))
    with jinx.Writer(root / "shards", shard_size=20_000) as writer:
        writer.write_many(samples.sample(i) for i in range(50))
    (root / "unlisted").mkdir()
    for i in (2, 10, 1):
        samples.write(root / "unlisted" / f"part-{i}.jinx", 3 + i)
    return root


@pytest.fixture
def store(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[bucket.Bucket]:
    with bucket.served(root) as store:
        for name, value in {**store.environment, "JINX_CACHE": "off"}.items():
            monkeypatch.setenv(name, value)
        yield store


def same(left: object, right: object) -> bool:
    return samples.plain(list(left)) == samples.plain(list(right))  # type: ignore[call-overload]


def test_a_value_of_a_typed_column_keeps_no_thread_from_running(store, root):
    """The server of this process answers only if other threads run while the value is fetched."""
    vectors = np.arange(COUNT * 5_000, dtype=np.float32).reshape(COUNT, 5_000)
    jinx.open(root / "large.jinx").with_columns({"vector": vectors}).save(root / "vectors.jinx")
    view = jinx.open(store.url("vectors.jinx"), base=store.url("large.jinx"))
    assert (view[COUNT // 2]["vector"] == vectors[COUNT // 2]).all()


def test_a_path_for_shards_here_and_in_a_bucket(store, root):
    joined = jinx.open(root / "large.jinx") + jinx.open(store.url("shards"))
    assert joined.info().samples == COUNT + 50
    assert joined.path.endswith(" shards in 2 places")


@pytest.mark.parametrize("name", ["a/small.jinx", "large.jinx", "shards", "unlisted"])
def test_a_dataset_in_a_bucket_is_the_same(store, root, name):
    local, remote = jinx.open(root / name), jinx.open(store.url(name))
    assert len(remote) == len(local)
    assert remote.column_names == local.column_names
    assert same(remote, local)
    assert same(remote[5:17:3], local[5:17:3])
    assert samples.plain(remote[-1]) == samples.plain(local[-1])
    assert same(remote.take([3, 9, 3, 0]), local.take([3, 9, 3, 0]))
    assert same(remote.filter("n > 20"), local.filter("n > 20"))
    assert same(remote.shuffle(7), local.shuffle(7))
    assert same(remote.sort("-n").select_columns(["n"]), local.sort("-n").select_columns(["n"]))
    assert remote.column("n").tolist() == local.column("n").tolist()
    assert remote.info().samples == local.info().samples


def test_opening_and_a_sample_take_few_requests(store):
    dataset = jinx.open(store.url("large.jinx"))
    # The ends of both files and the header of the sidecar, at the same time.
    assert len(store.requests) == 3
    store.forget()
    assert dataset[17]["n"] == 17
    assert not store.requests, "the rows are in the end of the main file"
    assert len(dataset[17]["image"]) == IMAGE + 3
    [request] = store.requests
    assert request.range is not None
    assert request.sent == IMAGE + 3
    store.forget()
    # Neighbours are one request.
    taken = dataset.take(range(200, 210))
    assert [len(sample["image"]) for sample in taken] == [IMAGE + 3] * 10
    assert len(store.requests) <= 2
    assert store.sent() < 12 * IMAGE


def test_iterating_reads_each_byte_about_once(store, root):
    total = sum(path.stat().st_size for path in root.glob("large.*"))
    for sample in jinx.open(store.url("large.jinx")):
        assert len(sample["image"]) == IMAGE + 3
    assert store.sent() < 1.3 * total
    assert len(store.requests) < 40


def test_a_web_server_is_enough(store, root):
    store.is_open = True
    assert same(jinx.open(store.http_url("large.jinx"))[:5], jinx.open(root / "large.jinx")[:5])
    assert same(jinx.open(store.http_url("shards")), jinx.open(root / "shards"))
    with pytest.raises(UnsupportedError, match="do not list"):
        jinx.open(store.http_url("unlisted"))


def test_files_may_be_named_by_url(root):
    assert same(jinx.open((root / "large.jinx").as_uri())[:3], jinx.open(root / "large.jinx")[:3])
    with pytest.raises(ValueError, match="names a path of this machine"):
        jinx.open("file://host/a.jinx")


def test_commands_read_urls(store, root, capfdbinary):
    for arguments in (["head", "-3"], ["cat", "--no-binary"], ["info", "--json"]):
        outputs = []
        for path in (str(root / "a" / "small.jinx"), store.url("a/small.jinx")):
            assert run([*arguments, path]) == 0
            outputs.append(capfdbinary.readouterr().out)
        if arguments[0] == "info":
            outputs = [{**json.loads(output), "path": ""} for output in outputs]
        assert outputs[0] == outputs[1]
    store.forget()
    assert run(["info", store.url("large.jinx")]) == 0
    assert len(store.requests) <= 4


def test_pickles_and_processes(store, root):
    dataset = jinx.open(store.url("large.jinx"), storage={"retries": 3}).shuffle(1)
    text = pickle.dumps(dataset)
    assert bucket.SECRET.encode() not in text
    assert same(pickle.loads(text)[:3], dataset[:3])
    program = "import pickle, sys; print(len(pickle.load(sys.stdin.buffer)[3]['image']))"
    done = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, timeout=60, check=True)
    assert int(done.stdout) == IMAGE + 3


def test_a_forked_process_reads_on(store):
    dataset = jinx.open(store.url("large.jinx"))
    expected = dataset[3]["image"]
    for _ in range(3):
        child = os.fork()
        if child == 0:
            is_right = dataset[3]["image"] == expected and len(dataset.take([50, 7])) == 2
            os._exit(0 if is_right else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert dataset[90]["n"] == 90


def test_threads_share_what_is_read(store):
    dataset, found = jinx.open(store.url("large.jinx")), []
    store.forget()
    threads = [threading.Thread(target=lambda: found.append(dataset[11]["image"])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(store.requests) == 1


def test_views_over_buckets(store, root, tmp_path):
    view = tmp_path / "view.jinx"
    jinx.open(store.url("large.jinx")).filter("n >= 390").with_columns({"double": lambda s: 2 * s["n"]}).save(view)
    with pytest.raises(UnsupportedError, match="opens no URL that you do not name"):
        jinx.open(view)
    opened = jinx.open(view, base=store.url("large.jinx"))
    assert [sample["double"] for sample in opened] == [2 * n for n in range(390, 400)]
    assert len(opened[0]["image"]) == IMAGE + 3
    with pytest.raises(MismatchError):
        jinx.open(view, base=store.url("a/small.jinx"))
    # A directory is one base, and is opened as a whole.
    with jinx.Writer(root / "several", shard_size=2000) as writer:
        for n in range(100):
            writer.write({"n": n, "text": 80 * "x"})
    jinx.open(store.url("several")).filter("n % 10 == 3").save(tmp_path / "some.jinx")
    [base] = jinx.open(tmp_path / "some.jinx", base=store.url("several")).info().bases
    assert (base.kind, base.location, base.samples) == ("directory", store.url("several"), 100)
    assert jinx.open(tmp_path / "some.jinx", base=root / "several").column("n").tolist() == list(range(3, 100, 10))
    # A view in the bucket, beside its base.
    jinx.open(root / "large.jinx")[:7].save(root / "a" / "view.jinx", overwrite=True)
    assert same(jinx.open(store.url("a/view.jinx")), jinx.open(root / "large.jinx")[:7])


def test_what_is_missing_or_refused_is_one_clear_error(store, monkeypatch):
    for name in ("nothing.jinx", "a/nothing.jinx"):
        with pytest.raises(FileNotFoundError, match=f"{store.url(name)}: there is no such object"):
            jinx.open(store.url(name))
    with pytest.raises(MismatchError, match=r"there is no \.jinx file"):
        jinx.open(store.url("empty"))
    with pytest.raises(ValueError, match="user info is refused") as caught:
        jinx.open("https://user:hunter2@host/a.jinx")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ValueError, match="is a secret"):
        jinx.open(store.url("large.jinx"), storage={"aws_secret_access_key": "x"})
    with pytest.raises(ValueError, match='has no option "regoin"'):
        jinx.open(store.url("large.jinx"), storage={"regoin": "x"})
    with pytest.raises(ValueError, match="is not encrypted"):
        jinx.open("http://example.com/a.jinx")
    with pytest.raises(UnsupportedError, match="this kind of URL cannot be opened"):
        jinx.open("ftp://host/a.jinx")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(PermissionError, match="403 Forbidden SignatureDoesNotMatch, request R77"):
        jinx.open(store.url("large.jinx"), storage={"region": bucket.REGION})


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def hub(handler: bucket.Handler, request: bucket.Request) -> bool:
    """The Hub: the commit of a revision, and files behind a redirect, for those who have the token."""
    path = handler.path[1:]
    if path.startswith(("api/", "datasets/")):
        if handler.headers.get("Authorization") != "Bearer hf_hunter2":
            handler.refuse(request, 401, "Unauthorized")
        elif path == "api/datasets/user/repo/revision/main":
            handler.answer(request, 200, json.dumps({"sha": COMMIT}).encode())
        elif path.startswith(f"datasets/user/repo/resolve/{COMMIT}/"):
            handler.answer(request, 302, Location=f"/{handler.bucket.name}/{path.split('/', 5)[5]}")
        else:
            handler.refuse(request, 404, "NotFound")
        return True
    return False


def test_datasets_on_the_hub_are_pinned_to_a_commit(store, root, monkeypatch):
    store.faults.append(hub)
    store.is_open = True
    monkeypatch.setenv("HF_ENDPOINT", f"http://{store.address}")
    monkeypatch.setenv("HF_TOKEN", "hf_hunter2")
    dataset = jinx.open("hf://datasets/user/repo/large.jinx")
    assert same(dataset[:4], jinx.open(root / "large.jinx")[:4])
    assert COMMIT in dataset.path
    assert b"hunter2" not in pickle.dumps(dataset)
    assert same(jinx.open("hf://datasets/user/repo@main/shards"), jinx.open(root / "shards"))
    with pytest.raises(FileNotFoundError, match="no such dataset or revision"):
        jinx.open("hf://datasets/user/repo@other/large.jinx")
    with pytest.raises(ValueError, match="name a file of a dataset"):
        jinx.open("hf://user/repo")
    monkeypatch.setenv("HF_TOKEN", "wrong")
    with pytest.raises(PermissionError, match="HF_TOKEN") as caught:
        jinx.open("hf://datasets/user/repo/large.jinx")
    assert "wrong" not in str(caught.value)


@pytest.fixture
def empty(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    with bucket.served(tmp_path / "empty") as store:
        for name, value in {**store.environment, "JINX_CACHE": "off"}.items():
            monkeypatch.setenv(name, value)
        yield store


def test_datasets_are_copied_to_and_from_buckets(empty, root, tmp_path):
    assert run(["cp", str(root / "large.jinx"), empty.url("b/copy.jinx")]) == 0
    # What names the other file goes last; a long file goes in parts.
    puts = [request.key for request in empty.requests if request.method == "PUT"]
    assert puts == ["b/copy.binx", "b/copy.binx", "b/copy.jinx"]
    assert same(jinx.open(empty.url("b/copy.jinx")), jinx.open(root / "large.jinx"))
    assert run(["cp", empty.url("b/copy.jinx"), str(tmp_path / "back.jinx")]) == 0
    assert same(jinx.open(tmp_path / "back.jinx"), jinx.open(root / "large.jinx"))
    assert run(["cp", str(root / "shards"), empty.url("b/")]) == 0
    assert same(jinx.open(empty.url("b/shards")), jinx.open(root / "shards"))
    assert run(["cp", empty.url("b/shards"), str(tmp_path / "back")]) == 0
    assert same(jinx.open(tmp_path / "back"), jinx.open(root / "shards"))


def test_replacing_a_dataset_in_a_bucket_does_not_change_it_for_its_readers(empty, root):
    url = empty.url("a.jinx")
    jinx.convert(root / "large.jinx", url)
    reader = jinx.open(url)
    with pytest.raises(FileExistsError, match="--overwrite"):
        jinx.convert(root / "a" / "small.jinx", url)
    result = jinx.convert(root / "a" / "small.jinx", url, overwrite=True)
    assert (result.path, result.samples) == (url, 50)
    assert same(jinx.open(url), jinx.open(root / "a" / "small.jinx"))
    # Its sidecar is still there.
    assert len(reader[3]["image"]) == IMAGE + 3
    jinx.convert(jinx.open(url)[:5], empty.url("shards"))
    jinx.convert(jinx.open(url)[:7], empty.url("shards"), overwrite=True)
    assert len(jinx.open(empty.url("shards"))) == 7
    with pytest.raises(ValueError, match="only JINX is written at URLs"):
        jinx.convert(url, empty.url("a.parquet"))


def test_an_upload_that_fails_leaves_nothing_that_can_be_opened(empty, root):
    def fail(handler: bucket.Handler, request: bucket.Request) -> bool:
        if request.method != "PUT" or not request.key.endswith(".jinx"):
            return False
        handler.refuse(request, 403, "AccessDenied")
        return True

    empty.faults.append(fail)
    with pytest.raises(PermissionError):
        jinx.convert(root / "a" / "small.jinx", empty.url("a.jinx"))
    with pytest.raises(FileNotFoundError):
        jinx.open(empty.url("a.jinx"))
    empty.faults.clear()
    jinx.convert(root / "a" / "small.jinx", empty.url("a.jinx"))
    assert len(jinx.open(empty.url("a.jinx"))) == 50
    assert not empty.uploads


def test_shuffling_by_blocks_reads_each_piece_once(store, root):
    local, remote = jinx.open(root / "large.jinx"), jinx.open(store.url("large.jinx"))
    order = [sample["n"] for sample in local.shuffle(3, blocks=True)]
    assert sorted(order) == list(range(COUNT))
    assert order != sorted(order)
    assert order == [sample["n"] for sample in remote.shuffle(3, blocks=True)]
    assert order != [sample["n"] for sample in local.shuffle(4, blocks=True)]
    assert [sample["n"] for sample in local.shuffle(3, blocks=True)] == order
    assert len(local[:0].shuffle(3, blocks=True)) == 0


def test_prefetching_fills_the_cache(store, root, tmp_path):
    dataset = jinx.open(store.url("large.jinx"), cache=tmp_path / "cache")
    before = dataset.io_stats()
    assert dataset.prefetch() == sum(path.stat().st_size for path in root.glob("large.*"))
    after = dataset.io_stats()
    assert after["fetched_bytes"] - before["fetched_bytes"] >= COUNT * IMAGE
    assert after["requests"] > before["requests"]
    assert jinx.open(root / "large.jinx").prefetch() == 0


def test_many_shards_are_opened_when_they_are_read(store, root, tmp_path):
    with jinx.Writer(root / "many", shard_size=1_500) as writer:
        writer.write_many(samples.sample(i) for i in range(60))
    count = len(list((root / "many").glob("*.jinx")))
    assert count > 16
    store.forget()
    remote = jinx.open(store.url("many"))
    assert len(store.requests) == 1
    assert same(remote[50:52], jinx.open(root / "many")[50:52])
    assert same(remote, jinx.open(root / "many"))


def test_no_request_is_for_a_sidecar_that_the_manifest_denies(store, root):
    with jinx.Writer(root / "texts", shard_size=3_000_000) as writer:
        writer.write_many({"n": i, "text": f"{i} " + "word " * 200} for i in range(10_000))
    shards = sorted(path.name for path in (root / "texts").glob("*.jinx"))
    assert len(shards) > 2
    dataset = jinx.open(store.url("texts"))
    assert sorted(request.key for request in store.requests) == [
        "texts/jinx.json",
        *(f"texts/{name}" for name in shards),
    ]
    store.forget()
    # Many values of a column that no index has are read in pieces, and not one by one.
    local = jinx.open(root / "texts")
    assert dataset[1000:2500].column("text") == local[1000:2500].column("text")
    assert len(store.requests) <= 2
    assert dataset.column("text") == local.column("text")
    assert len(store.requests) <= 2 * len(shards)
