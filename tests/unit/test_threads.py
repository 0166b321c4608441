"""How many threads the core starts in a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jinx

READ_AND_LIST = """
import sys, time, jinx
from pathlib import Path
ds = jinx.open(sys.argv[1])
ds.column("text")
sum(len(sample["blob"]) for sample in ds.take(range(64)))
def names():
    found = {task.joinpath("comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
    return sorted(name for name in found if name.startswith("jinx"))
# A thread has its name when it first runs, which may take a while on a busy machine.
end = time.monotonic() + 50
while sys.argv[2] and not names() and time.monotonic() < end:
    time.sleep(0.01)
print(*names())
"""


@pytest.mark.skipif(sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="needs /proc and two cores")
@pytest.mark.parametrize(("most", "helpers"), [("1", ""), ("0", "jinx-shared"), ("many", "jinx-shared")])
def test_the_variable_of_rust_libraries_bounds_the_threads(tmp_path: Path, most: str, helpers: str) -> None:
    path = tmp_path / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"text": f"text {i}", "blob": bytes(100_000)} for i in range(200))
    done = subprocess.run(
        [sys.executable, "-c", READ_AND_LIST, str(path), helpers],
        env={**os.environ, "RAYON_NUM_THREADS": most},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == helpers


ALL_WORK = """
import sys
import numpy as np
import jinx

source, out = sys.argv[1:]
ds = jinx.open(source)
assert len(ds.column("text")) == len(ds)
assert len(ds.filter("n % 2 == 0")) == len(ds) // 2
assert jinx.verify(source) == []
jinx.sort(source, out + "/sorted.jinx", by="text")
jinx.sort(source, out + "/by_number.jinx", by="-n")
jinx.shuffle(source, out + "/shuffled.jinx", seed=1)
jinx.shuffle(source, out + "/two_passes.jinx", seed=1, memory=200_000)
jinx.shuffle(source, out + "/directory", seed=1, memory=200_000)
jinx.shuffle(source + ".jsonl", out + "/lines.jinx", seed=1, memory=200_000)
with jinx.Writer(out + "/written.jinx") as writer:
    writer.write_many(ds.take(range(4000)))
jinx.pack(np.arange(1, 200_000) % 500, 512, window=512).save(out + "/plan.jinx")
"""
# A thread with a stack of this size is refused by every system.
REFUSED = str(1 << 46)


def test_work_is_done_where_the_system_refuses_threads(tmp_path: Path) -> None:
    source = tmp_path / "a.jinx"
    with jinx.Writer(source) as writer:
        writer.write_many({"n": i, "text": f"text {i * 7919 % 20_000}"} for i in range(20_000))
    jinx.convert(source, f"{source}.jsonl")
    found: list[dict[str, bytes]] = []
    for name, refusal in ("all", {}), ("none", {"RUST_MIN_STACK": REFUSED}):
        out = tmp_path / name
        out.mkdir()
        command = [sys.executable, "-c", ALL_WORK, str(source), str(out)]
        done = subprocess.run(command, check=False, env={**os.environ, **refusal}, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        files = sorted(path for path in out.rglob("*") if path.is_file())
        found.append({str(path.relative_to(out)): path.read_bytes() for path in files})
    assert found[0] == found[1]


LOAD = """
import sys, jinx
from jinx.torch import Loader
loader = Loader(jinx.open(sys.argv[1]), 10, num_workers=1024, prefetch_factor=1, collate_fn=list)
print(sum(map(len, loader)))
"""


def test_no_more_threads_are_asked_for_after_one_was_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many({"n": i} for i in range(100))
    command = [sys.executable, "-c", LOAD, str(tmp_path / "a.jinx")]
    environment = {**os.environ, "RUST_MIN_STACK": REFUSED}
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "100\n"


@pytest.mark.parametrize("number", [1025, 10**9, 10**30])
def test_numbers_that_would_take_every_thread_of_the_system_are_refused(tmp_path: Path, number: int) -> None:
    path = tmp_path / "a.jinx"
    with jinx.Writer(path, indexed=["num_tokens"]) as writer:
        writer.write_many({"num_tokens": 2} for _ in range(10))
    (tmp_path / "mine.py").write_text("def f(sample):\n    return 1\n", "utf-8")
    code = f"{tmp_path / 'mine.py'}:f"
    with pytest.raises(ValueError, match=f"^workers={number} is more than 1,024"):
        jinx.sort(path, tmp_path / "out.jinx", code=code, workers=number)
    with pytest.raises(ValueError, match=f"^workers={number} is more than 1,024"):
        jinx.annotate(path, tmp_path / "out.jinx", function=len, workers=number)
    torch = pytest.importorskip("jinx.torch")
    ds = jinx.open(path)
    for make in (
        lambda: torch.Loader(ds, num_workers=number),
        lambda: torch.ElasticLoader(ds, 2, num_workers=number),
        lambda: torch.PackedDataLoader(ds, {"max_length": 4}, encode=len, num_workers=number),
    ):
        with pytest.raises(ValueError, match=f"^num_workers={number} is more than 1,024"):
            make()


def test_a_conversion_without_any_thread_says_which_limit_to_raise(tmp_path: Path) -> None:
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write({"n": 1})
    command = [sys.executable, "-m", "jinx", "convert", "a.jinx", "b.jsonl"]
    environment = {**os.environ, "RUST_MIN_STACK": REFUSED}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the system refuses another thread; raise its limits (ulimit -u" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "b.jsonl").exists()


ITERATE = """
import os, sys, jinx
def read():
    return sum(len(sample["blob"]) for sample in jinx.open(sys.argv[1]))
read()  # the number of cores is looked at once
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
try:
    # New threads run on the same core, without this priority: hardly ever.
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
except PermissionError:
    sys.exit(77)
most = 0
for number in range(600):
    read()
    most = max(most, len(os.listdir("/proc/self/task")))
print(most)
"""


@pytest.mark.skipif(sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="needs /proc and two cores")
def test_threads_of_iterations_do_not_pile_up_where_they_hardly_run(tmp_path: Path) -> None:
    path = tmp_path / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"blob": bytes(70_000)} for _ in range(40))
    done = subprocess.run([sys.executable, "-c", ITERATE, str(path)], check=False, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("needs the right to set priorities")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 300
