"""Runs with input, working directory and output in a bucket: the bytes of a disk, whatever dies or fails."""

import contextlib
import json
import os
import random
import signal
import threading
import time

import pytest
from tests.bucket import KEY, SECRET, served

import jinx
from pipeline.engines.bucket_runs import Place, ended, refused, write_input
from pipeline.made import worker_pids

pytestmark = pytest.mark.timeout(240)

DOCUMENTS = 600
LONG_ENOUGH = """
from jinx_pipeline import Filter, register


@register("long_enough_filter")
class LongEnough(Filter):
    stats = {"n_letters": "int64"}
    reads = ("text",)

    def compute_stats(self, batch, ctx):
        return {"n_letters": [len(text) for text in batch.column("text")]}

    def keep(self, stats):
        return stats["n_letters"].to_numpy() >= 300
"""
FAILING = """
from jinx_pipeline import Filter, register


@register("failing_filter")
class FailingFilter(Filter):
    stats = {"n_failing": "int64"}
    reads = ("id",)

    def compute_stats(self, batch, ctx):
        if 7 in batch.column("id"):
            raise OSError("it fails")
        return {"n_failing": list(batch.column("id"))}

    def keep(self, stats):
        return stats["n_failing"].to_numpy() >= 0
"""
MAP = [{"text_length_filter": {"min_len": 100}}]
ROUNDS = 8 if os.environ.get("JINX_SOAK") else 1


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_input(folder, DOCUMENTS)
    return folder / "in"


@pytest.fixture
def place(tmp_path, data):
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "in").symlink_to(data)
    with served(tmp_path / "bucket") as bucket:
        yield Place(bucket, tmp_path)


def shards(folder):
    return [file.read_bytes() for file in sorted(folder.glob("*.jinx"))]


def test_a_run_in_a_bucket_gives_the_bytes_of_a_disk_for_any_number_of_workers(place, data):
    on_disk = {"dataset": {"path": str(data)}, "export": {"path": str(place.folder / "disk")}}
    place.run("disk", **on_disk, work_dir=str(place.folder / "disk.work"))
    place.run("one", workers=1)
    place.run("four", workers=4)
    assert place.digest("one") == place.digest("four")
    assert shards(place.bucket.directory / "one") == shards(place.folder / "disk")
    manifest = json.loads((place.bucket.directory / "one" / "jinx.json").read_bytes())
    assert [shard["name"] for shard in manifest["shards"]] == sorted(place.digest("one"))[1:]
    # Nothing is left on this machine, and no part in the bucket.
    assert not [path for path in (place.folder / "scratch").rglob("*") if path.is_file()]
    assert not list((place.bucket.directory / "one.work").glob("runs/*/parts/rows-*/*"))


def test_branches_that_come_together_give_the_bytes_of_a_disk(place, data):
    def recipe(source, out):
        nodes = {
            "texts": {"source": source},
            "long": {"operators": [{"text_length_filter": {"min_len": 300}}]},
            "short": {"operators": [{"text_length_filter": {"min_len": 0, "max_len": 299}}]},
            "out": {"sink": {"path": out, "shard_size": "20kB"}},
        }
        flows = [{"from": "texts", "to": ["long", "short"]}, {"from": ["long", "short"], "to": "out"}]
        return {"nodes": nodes, "flows": flows}

    place.run("bucket", workers=2, **recipe(place.bucket.url("in"), place.bucket.url("bucket")))
    on_disk = recipe(str(data), str(place.folder / "disk"))
    place.run("disk", **on_disk, work_dir=str(place.folder / "disk.work"))
    written, expected = place.bucket.directory / "bucket", place.folder / "disk"
    assert sorted(shards(written)) == sorted(shards(expected))
    rows = [row["id"] for row in jinx.open(written).to_list()]
    assert rows == [row["id"] for row in jinx.open(expected).to_list()]
    assert sorted(rows) == list(range(DOCUMENTS))
    assert rows != sorted(rows)
    assert not list((place.bucket.directory / "bucket.work").glob("runs/*/parts/rows-*/*"))


def test_a_finished_run_is_not_run_again_and_an_output_that_is_there_is_refused(place):
    place.run(process=MAP)
    place.bucket.forget()
    assert "resumed" in ended(place.start(process=MAP))
    assert not [request for request in place.bucket.requests if "/parts/" in request.key and request.method == "PUT"]
    assert "exists" in refused(place.start("out", process=MAP, work_dir=place.bucket.url("other")))
    before = place.digest()
    place.run(
        "out", "--overwrite", process=[{"text_length_filter": {"min_len": 300}}], work_dir=place.bucket.url("other")
    )
    assert place.digest().keys() != before.keys()
    assert len(place.digest()) == 2


def test_forms_of_outputs_and_places_are_mixed_freely(place):
    place.run("a", process=MAP, export={"path": place.bucket.url("a.jinx")})
    place.run("b", process=MAP, export={"path": place.bucket.url("b.jsonl")}, work_dir=str(place.folder / "b.work"))
    place.run("c", process=MAP, export={"path": str(place.folder / "c")})
    place.run("d", process=MAP, dataset={"path": place.bucket.url("b.jsonl")})
    bucket = place.bucket.directory
    rows = jinx.open(place.folder / "c").to_list()
    assert rows == jinx.open(bucket / "a.jinx").to_list() == jinx.open(bucket / "d").to_list()
    assert rows == list(map(json.loads, (bucket / "b.jsonl").read_text().splitlines()))
    assert "a view is saved on a disk" in refused(
        place.start("e", process=MAP, export={"path": place.bucket.url("e.jinx"), "kind": "view"})
    )


def test_of_two_drivers_at_once_one_is_refused(place):
    place.bucket.delay = 0.05
    first = place.start()
    while place.log_objects() < 2:
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGSTOP)  # so that it does not end before the others are refused
    assert "another process runs this pipeline" in refused(place.start())
    assert "another run writes this output" in refused(place.start("other", export={"path": place.bucket.url("out")}))
    os.kill(first.pid, signal.SIGCONT)
    ended(first)
    assert not list(place.bucket.directory.glob("**/lock"))


def test_a_store_that_refuses_for_a_while_is_waited_for(place):
    place.run("calm")
    until = []

    def refuse(handler, request):
        if place.log_objects() < 4 or (until and time.monotonic() > until[0]):
            return False
        until[:] = until or [time.monotonic() + 6]
        handler.refuse(request, 503, "SlowDown")
        return True

    place.bucket.faults.append(refuse)
    place.run("out", workers=2)
    assert until
    assert place.digest("out") == place.digest("calm")


def test_credentials_that_are_lost_stop_the_run_with_one_error_and_it_is_resumed(place):
    place.run("calm")

    def refuse(handler, request):
        if place.log_objects() < 4:
            return False
        handler.refuse(request, 403, "ExpiredToken")
        return True

    place.bucket.faults.append(refuse)
    place.environment["JINX_STORE_PATIENCE"] = "1"
    error = refused(place.start("out"))
    assert place.bucket.name in error
    assert "Traceback" not in error
    place.bucket.faults.clear()
    assert "resumed" in ended(place.start("out"))
    assert place.digest("out") == place.digest("calm")


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_no_file_and_no_message_of_a_run_shows_a_secret(place, is_on_disk):
    """Neither while all goes well nor after failures: logs, events, reports, plans, parts, caches, outputs."""
    place.environment |= {"AWS_SESSION_TOKEN": "session-0123456789", "JINX_STORE_PATIENCE": "1"}
    (place.folder / "recipes").mkdir(exist_ok=True)
    (place.folder / "recipes" / "failing.py").write_text(FAILING)
    words = ["--report", str(place.folder / "report.html"), "--metrics", str(place.folder / "counts"), "--trace", "3"]
    words += ["--max-bad-rows", str(DOCUMENTS)]
    more = {
        "process": [*MAP, {"failing_filter": {}}],
        "custom_operators": [str(place.folder / "recipes" / "failing.py")],
    }
    if is_on_disk:
        more["work_dir"] = str(place.folder / "work")

    def refuse(handler, request):
        if request.method not in {"PUT", "POST"} or not request.key.startswith("out"):
            return False
        refused_keys.append(request.key)
        handler.refuse(request, 403, "ExpiredToken")
        return True

    refused_keys: list[str] = []
    place.bucket.faults.append(refuse)
    said = refused(place.start("out", *words, **more))
    place.bucket.faults.clear()
    said += ended(place.start("out", *words, **more))
    assert refused_keys
    files = [file for file in place.folder.rglob("*") if file.is_file()]
    assert {"events.jsonl", "report.html", "counts", "jinx.json"} <= {file.name for file in files}
    for secret in (SECRET, KEY, "session-0123456789", "Signature="):
        assert secret not in said
        assert [file for file in files if secret.encode() in file.read_bytes()] == []


def stopped_in_the_middle(place, out="out", **recipe):
    """Kill a run when at least two of its blocks are in its log; returns the parts of these."""
    killed = threading.Event()

    def hold(handler, request):
        """More does not come into the log, so that the run cannot end before."""
        if request.method != "PUT" or "/log.jsonl/" not in request.key or len(committed_parts(place, out)) < 2:
            return False
        killed.wait(120)
        handler.close_connection = True
        return True

    place.bucket.faults.append(hold)
    driver = place.start(out, **recipe)
    while len(parts := committed_parts(place, out)) < 2:
        assert driver.poll() is None
        time.sleep(0.02)
    driver.kill()
    driver.communicate()
    killed.set()
    place.bucket.faults.remove(hold)
    return parts


def committed_parts(place, out):
    found = []
    for file in (place.bucket.directory / f"{out}.work").glob("runs/*/log.jsonl/*"):
        with contextlib.suppress(FileNotFoundError):
            records = map(json.loads, file.read_bytes().splitlines())
            names = [record["receipt"]["part"] for record in records if record["kind"] == "committed"]
            found += [file.parents[1] / "parts" / name for name in names if name is not None]
    return found


def test_lists_that_are_late_lose_no_row_and_have_none_twice(place):
    """New objects are missing in them, and removed ones are still there."""
    place.run("calm")
    place.bucket.list_delay = 4.0
    place.run("whole", workers=2)
    assert place.digest("whole") == place.digest("calm")
    stopped_in_the_middle(place)
    until = time.monotonic() + 60
    while (again := place.start()).wait():  # it may be refused until the store shows what there is, and says so
        error = refused(again)
        assert "Traceback" not in error
        assert place.bucket.name in error
        assert time.monotonic() < until
        time.sleep(1)
    assert "resumed" in ended(again)
    assert place.digest() == place.digest("calm")


def test_a_part_of_another_run_under_our_name_is_replaced_by_ours(place):
    place.run("calm")
    written = []

    def write(handler, request):
        if request.method == "PUT" and "/parts/" in request.key and not handler.path_of(request.key).exists():
            handler.path_of(request.key).parent.mkdir(parents=True, exist_ok=True)
            handler.path_of(request.key).write_bytes(b"rows of another run")
            written.append(request.key)
        return False

    place.bucket.faults.append(write)
    place.run("out", workers=2)
    assert written
    assert place.digest("out") == place.digest("calm")


def test_a_part_of_another_run_that_took_the_place_of_ours_stops_the_run_until_it_is_restored(place):
    first, second, *_ = stopped_in_the_middle(place, block_rows=50)
    ours = second.read_bytes()
    second.write_bytes(first.read_bytes())
    error = refused(place.start(block_rows=50))
    assert f"{second.name} is not the part that this run has written; restore it" in error
    assert place.bucket.url("out.work/runs") in error
    assert not (place.bucket.directory / "out").exists()
    second.write_bytes(ours)
    assert "resumed" in ended(place.start(block_rows=50))
    place.run("calm", block_rows=50)
    assert place.digest() == place.digest("calm")


def test_a_bucket_without_conditional_writes_is_refused(place):
    def ignore(handler, request):
        if handler.headers.get("If-None-Match") == "*":
            handler.path_of(request.key).unlink(missing_ok=True)
        return False

    place.bucket.faults.append(ignore)
    assert "does not support conditional writes" in refused(place.start())
    assert not list(place.bucket.directory.glob("out*/**/*.jinx"))


@pytest.mark.slow
@pytest.mark.timeout(300 + 300 * ROUNDS)
def test_kills_of_workers_and_drivers_change_no_byte(place):
    place.run("calm")
    objects = place.log_objects("calm")
    for number in range(ROUNDS):
        dice = random.Random(number)
        out = f"out-{number}"
        for share in sorted(dice.random() for _ in range(2)):
            driver = place.start(out, workers=dice.choice((1, 4)))
            while driver.poll() is None and place.log_objects(out) < objects * share:
                if dice.random() < 0.05 and (pids := worker_pids(driver.pid)):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(dice.choice(pids), signal.SIGKILL)
                time.sleep(0.02)
            driver.send_signal(signal.SIGKILL)
            driver.communicate()
        place.run(out, workers=dice.choice((1, 2, 4)))
        assert place.digest(out) == place.digest("calm")


def test_recipes_includes_and_files_of_operators_lie_in_the_bucket(place):
    (place.bucket.directory / "recipes" / "parts").mkdir(parents=True)
    (place.bucket.directory / "recipes" / "parts" / "operators.py").write_text(LONG_ENOUGH)
    included = {"process": [{"long_enough_filter": {}}]}
    (place.bucket.directory / "recipes" / "long.yaml").write_text(json.dumps(included))
    recipe = {
        "custom_operators": [place.bucket.url("recipes/parts/operators.py")],
        "nodes": {
            "read": {"source": {"path": place.bucket.url("in")}},
            "long": {"include": "parts/../long.yaml"},
            "write": {"sink": {"path": place.bucket.url("out")}},
        },
        "flows": [{"from": "read", "to": "long"}, {"from": "long", "to": "write"}],
    }
    (place.bucket.directory / "recipes" / "graph.yaml").write_text(json.dumps(recipe))
    ended(place.command("run", place.bucket.url("recipes/graph.yaml"), "--work-dir", place.bucket.url("out.work")))
    texts = jinx.open(str(place.bucket.directory / "out")).to_arrow().column("text").to_pylist()
    assert len(texts) > 100
    assert min(map(len, texts)) >= 300
    refusal = refused(place.command("plan", place.bucket.url("recipes/none.yaml")))
    assert "recipes/none.yaml" in refusal
    assert "Traceback" not in refusal
