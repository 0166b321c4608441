"""Ctrl-C in a call that takes long: it is answered at once, not when the call has ended."""

import bz2
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from write_1_0 import Writer

import jinx

ZEROS = bytes(16 << 20)
# Each decodes to 640 MiB, which takes seconds, from some hundred bytes; all of them together take minutes.
MEMBERS = 40
ROWS = 60

CALLS = {
    "look at a value": "ds[0]['a']",
    "take": "ds.take([0, 1, 2])",
    "verify": "jinx.verify(path)",
    "repair": "jinx.repair(path, dry_run=True)",
    "convert": "jinx.convert(path, path + '.out.jinx')",
    "measure": "[len(value) for value in ds.take(range(4), columns=['a'])]",
    "iterate": "[dict(sample) for sample in ds]",
    "iter_batches": "list(ds.iter_batches(2))",
    "Loader": "list(Loader(ds, num_workers=1))",
    "stream": "list(jinx.stream(path))",
    "filter": "ds.filter(lambda sample: len(sample['a']) > 0)",
    "sort": "ds.sort(lambda sample: len(sample['a']))",
    "to_arrow": "ds.to_arrow()",
    "convert to JSON lines": "jinx.convert(path, path + '.out.jsonl')",
    "convert to tar": "jinx.convert(path, path + '.out.tar')",
    "convert to Parquet": "jinx.convert(path, path + '.out.parquet')",
    "convert to MDS": "jinx.convert(path, path + '.out.mds', output_format='mds')",
    "write": "write(jinx.Writer(path + '.new.jinx'), ({'n': n, 'text': 'x' * 2000} for n in itertools.count()))",
}
CODE = """
import itertools, sys, time
import jinx
if "Loader" in {call!r}:
    from jinx.torch import Loader
path = sys.argv[1]
ds = jinx.open(path)
def write(writer, rows):
    with writer:
        writer.write_many(rows)
try:
    print("started", flush=True)
    {call}
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.fixture(scope="module")
def heavy(tmp_path_factory):
    path = tmp_path_factory.mktemp("heavy") / "a.jinx"
    writer = Writer(path, binary_threshold=1)
    place = writer.store(bz2.compress(ZEROS) * MEMBERS)
    for _ in range(ROWS):
        writer.line(json.dumps({"a.raw.bz2.bin": place}).encode())
    writer.close()
    return path


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.torch) if name == "Loader" else name for name in CALLS]
)
def test_ctrl_c_is_answered_before_the_call_ends(name, heavy, child_environment, record_property):
    words = [sys.executable, "-c", CODE.format(call=CALLS[name]), str(heavy)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=child_environment, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout.readline() == "started\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        answer = process.stdout.readline()
        record_property("seconds", round(time.perf_counter() - start, 3))
        said, errors = process.communicate(timeout=100)
    assert (answer, said, process.returncode) == ("interrupted\n", "", 0), errors[-2000:]
    left = {file.name for file in heavy.parent.iterdir()} - {"a.jinx", "a.binx"}
    assert left == set()


@pytest.mark.parametrize(
    "call", ["jinx.convert(path, path + '.jsonl', overwrite=True)", "jinx.convert(path + '.jsonl', path + '.out.jinx')"]
)
def test_ctrl_c_ends_the_wait_for_the_other_end_of_a_pipe(call, tmp_path, child_environment):
    path = tmp_path / "a.jinx"
    with jinx.Writer(path) as writer:
        writer.write({"a": 1})
    os.mkfifo(f"{path}.jsonl")
    words = [sys.executable, "-c", CODE.format(call=call), str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=child_environment, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout.readline() == "started\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=50)
    assert said == "interrupted\n", errors[-2000:]
