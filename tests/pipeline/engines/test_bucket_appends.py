"""Inputs that grow and outputs that are appended to, with everything in a bucket."""

import random
import shutil
import signal
import time

import pytest
from tests.bucket import served

import jinx
from pipeline.engines.bucket_runs import Place, ended, write_input

MAP = [{"text_length_filter": {"min_len": 100}}]
NEAR = [*MAP, {"document_minhash_deduplicator": {}}, {"words_num_filter": {}}]


@pytest.fixture
def place(tmp_path):
    (tmp_path / "bucket").mkdir()
    write_input(tmp_path / "bucket", 400)
    with served(tmp_path / "bucket") as bucket:
        yield Place(bucket, tmp_path)


def add_shards(folder, number, count):
    """Add documents of which some repeat earlier ones."""
    dice, before = random.Random(number), jinx.open(folder).column("text")
    fresh = folder.with_name("fresh")
    with jinx.Writer(fresh) as writer:
        for n in range(count):
            text = dice.choice(before) if n % 3 else " ".join(f"{number}w{dice.randrange(10**6)}" for _ in range(60))
            writer.write({"id": 10_000 * number + n, "text": text})
    whole = folder.with_name("whole")
    whole.mkdir()
    for part, source in enumerate((folder, fresh)):
        shutil.move(source, whole / f".part-{part:05}-of-00002")
    jinx.merge(whole)
    whole.rename(folder)


def rows(place, out):
    return jinx.open(place.bucket.directory / out).to_list()


def test_a_grown_input_costs_its_new_blocks_also_for_near_duplicates(place):
    place.run(process=NEAR)
    before = place.digest()
    add_shards(place.bucket.directory / "in", 1, 100)
    place.bucket.forget()
    place.run(process=NEAR)
    # Parts of the one new block, before and after the decision.
    written = {r.key.partition("/parts/")[2] for r in place.bucket.requests if r.method == "PUT" and "/parts/" in r.key}
    assert {name.partition("-b")[2][:6] for name in written if name.startswith("rows")} <= {"000003", "000004"}
    assert before.items() - {("jinx.json", before["jinx.json"])} <= place.digest().items()
    place.run("fresh", process=NEAR)
    assert rows(place, "out") == rows(place, "fresh")


def test_kills_of_a_driver_that_appends_leave_the_old_or_the_new_version(place):
    write_input(place.folder, 150)
    shutil.copytree(place.folder / "in", place.bucket.directory / "out")
    old = rows(place, "out")
    recipe = {"process": MAP, "work_dir": place.bucket.url("new.work")}
    place.run("alone", process=MAP)
    new = [*old, *({**row} for row in rows(place, "alone"))]
    for seconds in (1.5, 2.5, 3.5):
        driver = place.start("out", "--append", **recipe)
        time.sleep(seconds)
        driver.kill()
        driver.communicate()
        assert len(rows(place, "out")) in {len(old), len(new)}
    ended(place.start("out", "--append", **recipe))
    assert [row["id"] for row in rows(place, "out")] == [row["id"] for row in new]
    assert "resumed" in ended(place.start("out", "--append", **recipe))
    assert len(rows(place, "out")) == len(new)


KILLED = """
import os, signal, sys
from jinx_pipeline.cli.program import run
from jinx_pipeline.runlog.ledger import Ledger

record, name = Ledger.record, sys.argv[1]

def killed(self, what):
    if type(what).__name__ == name:
        os.kill(os.getpid(), signal.SIGKILL)
    record(self, what)

Ledger.record = killed
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.parametrize("record", ["Built", "Published"])
def test_a_driver_that_was_killed_appends_once_after_what_others_have_appended(place, record):
    write_input(place.folder, 150)
    shutil.copytree(place.folder / "in", place.bucket.directory / "out")
    old = [row["id"] for row in rows(place, "out")]
    recipe = {"process": MAP, "work_dir": place.bucket.url("new.work")}
    place.run("alone", process=MAP)
    new = [row["id"] for row in rows(place, "alone")]
    driver = place.start("out", "--append", code=(KILLED, record), **recipe)
    driver.communicate()
    assert driver.returncode == -signal.SIGKILL
    ended(place.start("out", "--append", process=MAP[:0], work_dir=place.bucket.url("other.work")))
    others = list(range(400))
    ended(place.start("out", "--append", **recipe))
    expected = [*others, *new] if record == "Built" else [*new, *others]
    assert [row["id"] for row in rows(place, "out")] == [*old, *expected]
    assert not jinx.verify(place.bucket.directory / "out")
    assert "resumed" in ended(place.start("out", "--append", **recipe))
