"""What a worker of another machine leaves when it dies."""

import subprocess
import sys

import pytest

from jinx_pipeline.worker import activity
from jinx_pipeline.worker.crash_note import CrashNote, CrashReporter, read_crash_note

WORKER = """
import os, sys, time
from jinx_pipeline.worker.crash_note import CrashReporter
teller = CrashReporter()
way, part = sys.argv[1:]
if way == "hungry":
    from jinx_pipeline.worker.memory import private_bytes
    teller.die_above(private_bytes(os.getpid()) + 50_000_000)
teller.begin(part, writes_each=way != "unaware")
teller.busy_with("words_num_filter")
if way == "hungry":
    held = b"x" * 100_000_000
    time.sleep(60)
if way == "late":
    teller.die_after(0.1)
    teller.busy_with("words_num_filter", 2)
    time.sleep(60)
if way != "alive":
    os._exit(3)
teller.busy_with("")
"""


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("dies", CrashNote("words_num_filter")),
        ("unaware", CrashNote()),
        ("hungry", CrashNote("words_num_filter", is_over_limit=True)),
        (
            "late",
            CrashNote("words_num_filter", late="no row was finished for 0.2 s (row_seconds=0.1 for each of 2 rows)"),
        ),
        ("alive", CrashNote()),
    ],
)
def test_the_driver_hears_what_a_worker_was_busy_with(tmp_path, way, words):
    part = str(tmp_path / "0.0.1.jinx")
    done = subprocess.run([sys.executable, "-c", WORKER, way, part], capture_output=True, text=True, check=False)
    assert done.returncode == {"hungry": -9, "late": -9, "alive": 0}.get(way, 3), done.stderr
    assert read_crash_note(part) == words
    assert bool(list(tmp_path.iterdir())) == (words != CrashNote())


def test_a_limit_below_what_a_worker_takes_to_start_is_refused():
    code = """
from jinx_pipeline.engines.ray.actor import RayActor, RunSettings
actor = RayActor(threads=1, sees_gpus=False)
print(actor._load(RunSettings("run", ".", [], (), False, 1000, None)))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith("a worker takes ")
    assert said.endswith(" bytes before its first task, more than memory=1,000\n")


def test_words_that_end_in_the_middle_are_none(tmp_path):
    (tmp_path / "a.jinx.last-words").write_text('{"operator": "wor')
    assert read_crash_note(str(tmp_path / "a.jinx")) == CrashNote()
    assert read_crash_note("") == CrashNote()


def test_the_time_of_an_operator_begins_with_it_and_a_standstill_counts_in_part(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(activity, "monotonic", lambda: now[0])
    reporter = CrashReporter()
    reporter.begin(str(tmp_path / "a.jinx"), writes_each=False)
    reporter.busy_with("first", 1)
    now[0] += 0.9
    reporter.busy_with("second", 1)
    now[0] += 0.2
    assert not reporter._is_late(0.5)
    now[0] += 60
    assert reporter._is_late(1.1)
    assert not reporter._is_late(1.3)
