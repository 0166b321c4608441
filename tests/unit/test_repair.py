"""Repair: what the writer of the new file refuses is lost alone."""

import json
import os
import signal
import subprocess
import sys

import pytest

import jinx

DYING = """
import os, signal, sys, jinx

def die(samples, done, total):
    if done >= float(sys.argv[1]) * total:
        os.kill(os.getpid(), signal.SIGKILL)

jinx.shuffle("in.jinx", "out.jinx", seed=1, memory="8MB", progress=die)
"""


def test_a_row_that_the_new_writer_refuses_costs_itself(tmp_path):
    # The footer of the new file has no room for all these names; the file of a dead writer of JINX 1.0 lists none.
    rows = [{f"{i:02d}" + "x" * 1_000_000: i} for i in range(40)] + [{"n": i} for i in range(300)]
    (tmp_path / ".a.jinx.tmp").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (tmp_path / ".a.binx.tmp").write_bytes(b"x" * 16)
    done = jinx.repair(tmp_path / "a.jinx")
    assert done.out is not None
    lost = [loss["line"] for loss in done.lost]
    assert 0 < len(lost) < 40
    assert lost == sorted(lost)
    assert all("the footer" in loss["reason"] for loss in done.lost)
    assert (done.samples, done.kept) == (340, 340 - len(lost))
    kept = [row for i, row in enumerate(rows) if i not in lost]
    assert [one.to_dict() for one in jinx.open(done.out)] == kept
    assert jinx.verify(done.out) == []


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
@pytest.mark.parametrize("part", [0.4, 0.7, 0.9])
def test_no_sample_is_kept_twice_after_a_killed_rewrite(part, tmp_path):
    count = 200_000
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many({"n": i, "text": f"{i} " * 20} for i in range(count))
    dead = subprocess.run([sys.executable, "-c", DYING, str(part)], cwd=tmp_path, check=False)
    assert dead.returncode == -signal.SIGKILL
    try:
        done = jinx.repair(tmp_path / "out.jinx")
    except jinx.JinxError:
        assert part < 0.5  # nothing is at its place yet
        return
    assert done.out is not None
    kept = [sample["n"] for sample in jinx.open(done.out)]
    assert len(set(kept)) == len(kept)
    assert part < 0.5 or len(kept) > count / 10


def test_a_repaired_shard_is_no_other_shard_of_its_directory(tmp_path):
    """Its samples would appear twice."""
    folder = tmp_path / "shards"
    with jinx.Writer(folder, shard_size=1) as writer:
        writer.write_many({"n": i} for i in range(3))
    jinx.repair(folder / "shard-00001.jinx")
    (folder / "shard-00001.repaired.jinx").unlink()
    (folder / "jinx.json").unlink()
    with pytest.raises(ValueError, match="another shard"):
        jinx.repair(folder / "shard-00001.jinx")
    assert jinx.repair(folder / "shard-00001.jinx", dry_run=True).kept == 1
    jinx.repair(folder / "shard-00001.jinx", tmp_path / "shard-00001.jinx")
    assert jinx.open(folder)["n"].tolist() == [0, 1, 2]
