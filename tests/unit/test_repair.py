"""Repair: what the writer of the new file refuses is lost alone."""

import json
import os
import signal
import subprocess
import sys

import pytest

import jinx
from jinx._cli.program import run

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


@pytest.mark.parametrize("lost_bytes", [0, 1, 2])
def test_a_changed_number_is_lost_although_the_footer_moved(tmp_path, lost_bytes):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many({"n": i, "price": 12345 + i} for i in range(10))
    whole = (tmp_path / "a.jinx").read_bytes()
    number = {0: b"12349", 1: b"1248", 2: b"128"}[lost_bytes]
    (tmp_path / "a.jinx").write_bytes(whole.replace(b"12348", number, 1)[: -2 if lost_bytes == 0 else None])
    done = jinx.repair(tmp_path / "a.jinx")
    assert (done.samples, done.kept, done.unchecked) == (10, 9, 0)
    assert [(loss["line"], loss["reason"]) for loss in done.lost] == [(3, "the line's checksum does not match")]
    assert jinx.open(done.out)["n"].tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_the_command_says_how_many_samples_had_no_checksum(tmp_path, capsys):
    with jinx.Writer(tmp_path / "a.jinx") as writer:
        writer.write_many({"n": i} for i in range(10))
    assert run(["repair", str(tmp_path / "a.jinx"), "--dry-run"]) == 0
    assert "10 samples would be kept, 0 lost" in capsys.readouterr().out
    lines = (tmp_path / "a.jinx").read_bytes().splitlines(keepends=True)
    (tmp_path / "a.jinx").write_bytes(b"".join(lines[:10]))
    assert run(["repair", str(tmp_path / "a.jinx")]) == 0
    says = "10 samples kept (10 of them could not be compared with a checksum), 0 lost"
    assert says in capsys.readouterr().out
    assert jinx.repair(tmp_path / "a.jinx", dry_run=True).unchecked == 10
