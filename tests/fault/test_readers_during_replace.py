"""Readers next to a writer that replaces: always one whole version, and an open dataset stays what it was."""

import subprocess
import sys

import pytest

import jinx
from fault.reading import VERSIONS
from fault.rows import digest, files_in, files_of, rows
from fault.writing import CASES


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["replace pair", "replace view", "replace directory"])
def test_readers_see_one_whole_version(name, directory, soak, child_environment, record_property):
    case = CASES[name]
    path = directory / "target" / case.file
    case.prepare(path, 0)
    command = [sys.executable, "-m", "fault.reading", str(path)]
    pipe = subprocess.PIPE
    readers = [subprocess.Popen(command, env=child_environment, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    for reader in readers:
        assert reader.stdout.readline() == "ready\n"
    rounds = 10_000 if soak else 100
    for number in range(1, rounds + 1):
        case.write(path, number % VERSIONS)
    for reader in readers:
        said, _ = reader.communicate("")
        openings, *wrong = said.splitlines()
        record_property("openings", openings)
        assert reader.returncode == 0
        assert wrong == []
        assert int(openings) > 20
    assert files_in(path.parent) == files_of(path)


@pytest.mark.parametrize("io", ["mmap", "pread"])
@pytest.mark.parametrize("name", ["replace pair", "replace view", "replace directory"])
@pytest.mark.parametrize("touched", [False, True])
def test_an_open_dataset_reads_the_old_version_to_the_end(name, io, touched, directory):
    case = CASES[name]
    path = directory / "target" / case.file
    before = case.prepare(path, 1)
    dataset = jinx.open(path, io=io)
    if touched:
        assert dataset[0]["id"] == "1-0"
    for version in (2, 3):
        case.write(path, version)
    assert digest(dataset) == digest(before)
    assert digest(jinx.open(path)) == digest(rows(3))
