"""The memory that workers may use: of the machine, and of the groups that a container or batch system makes."""

import os
import subprocess
import sys

import psutil
import pytest

from jinx_pipeline.worker import memory
from jinx_pipeline.worker.memory_cgroup import MemoryLimit, memory_limits

# What the kernel says on 64 bits where version 1 has no limit.
NO_LIMIT = 9_223_372_036_854_771_712


def v2(folder, limit, used=0, cached=0):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon {used}\ninactive_file {cached}\n")


def v1(folder, limit, used=0, cached=0):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.limit_in_bytes").write_text(f"{limit}\n")
    (folder / "memory.usage_in_bytes").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"cache 5\ninactive_file 1\ntotal_inactive_file {cached}\n")


def process(folder, groups, *mounts):
    """A directory of `/proc` of a process in these groups, with mounts of (kind, root, place, options)."""
    folder.mkdir()
    (folder / "cgroup").write_text("".join(f"{group}\n" for group in groups))
    lines = [
        f"{31 + at} 23 0:28 {root} {place} rw,relatime shared:9 - {kind} cgroup rw,{options}\n"
        for at, (kind, root, place, options) in enumerate(mounts)
    ]
    (folder / "mountinfo").write_text("22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n" + "".join(lines))
    return folder


def test_the_tightest_of_nested_groups_counts(tmp_path):
    """A job of SLURM without a namespace of its own: the limit is that of the job, not of the step in it."""
    top = tmp_path / "cgroup"
    v2(top / "system.slice/slurmd.scope/job_7/step_0/task_0", "max")
    v2(top / "system.slice/slurmd.scope/job_7/step_0", 9000)
    v2(top / "system.slice/slurmd.scope/job_7", 5000, used=3000, cached=500)
    v2(top / "system.slice", 99_000)
    mount = ("cgroup2", "/", top, "nsdelegate")
    where = process(tmp_path / "7", ["0::/system.slice/slurmd.scope/job_7/step_0/task_0"], mount)
    assert memory_limits(where) == [MemoryLimit(9000, 9000), MemoryLimit(5000, 2500), MemoryLimit(99_000, 99_000)]


def test_a_container_with_a_namespace(tmp_path):
    v2(tmp_path / "cgroup", 4000, used=5000)
    where = process(tmp_path / "7", ["0::/"], ("cgroup2", "/", tmp_path / "cgroup", "nsdelegate"))
    assert memory_limits(where) == [MemoryLimit(4000, 0)]


def test_version_1(tmp_path):
    place = tmp_path / "memory"
    v1(place / "job/step", NO_LIMIT)
    v1(place / "job", 7000, used=1000, cached=400)
    where = process(
        tmp_path / "7",
        ["9:memory,hugetlb:/job/step", "4:cpu:/other", "0::/elsewhere"],
        ("cgroup", "/", tmp_path / "cpu", "cpu"),
        ("cgroup", "/", place, "hugetlb,memory"),
    )
    assert [limit.limit for limit in memory_limits(where)] == [NO_LIMIT, 7000]
    assert memory_limits(where)[1].free == 6400


@pytest.mark.parametrize("group", ["/docker/abc", "/docker/abc/inner", "/somewhere/else"])
def test_a_container_that_sees_the_path_of_the_host(tmp_path, group):
    """Version 1 and Docker: the mount begins at the container's group, whatever the path says."""
    v1(tmp_path / "memory", 3000)
    mount = ("cgroup", "/docker/abc", tmp_path / "memory", "memory")
    where = process(tmp_path / "7", [f"9:memory:{group}"], mount)
    assert [limit.limit for limit in memory_limits(where)] == [3000]


def test_without_groups_the_machine_counts(tmp_path, monkeypatch):
    assert memory_limits(tmp_path) == []
    monkeypatch.setattr(memory, "memory_limits", list)
    assert memory.usable_memory() == psutil.virtual_memory().total
    monkeypatch.setattr(memory, "memory_limits", lambda: [MemoryLimit(NO_LIMIT, NO_LIMIT), MemoryLimit(10, 3)])
    assert (memory.usable_memory(), memory.free_memory()) == (10, 3)


def test_this_machine():
    assert 0 < memory.free_memory() <= memory.usable_memory() <= psutil.virtual_memory().total


def test_private_memory_is_without_mapped_files(tmp_path):
    (tmp_path / "file").write_bytes(bytes(50_000_000))
    code = (
        "import mmap, sys; file = open(sys.argv[1], 'r+b'); held = mmap.mmap(file.fileno(), 0); sum(held[::4096]); "
        "print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "file"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        used = memory.private_bytes(child.pid)
        child.communicate(b"\n")
    assert 0 < used < 40_000_000
    assert memory.private_bytes(child.pid) == 0
    assert memory.private_bytes(os.getpid()) > 1_000_000
