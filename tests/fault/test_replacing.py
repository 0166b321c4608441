"""Files that change between any two operations: the rows that were there when they were opened, or one error."""

import multiprocessing
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

import pytest

import jinx
from fault.replacing import World
from fault.versions import KINDS, Templates

# Each has three of the kinds of files.
WORLDS, WORLDS_OF_SOAK = 20, 2000
STEPS = 500
# Files that say which they are never show anything else.
UNDETECTED = {f"undetected, {name}" for name in KINDS if not KINDS[name].has_ids}


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """The datasets that are put in the place of one another."""
    return Templates(tmp_path_factory.mktemp("versions"))


@pytest.fixture(scope="module")
def process() -> Iterator[Executor]:
    """Another process, which loads pickles."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.mark.slow
@pytest.mark.timeout(2 * 3600)
def test_what_was_opened_is_shown_or_refused(directory, templates, process, soak, record_property):
    """10,000 steps in CI; `docs/reliability.md` says which changes are not detected."""
    counts = Counter[str]()
    for seed in range(WORLDS_OF_SOAK if soak else WORLDS):
        root = directory / str(seed)
        root.mkdir()
        world = World(root, templates, seed, process)
        for _ in range(STEPS):
            world.step()
        world.close()
        counts += world.counts
    record_property("counts", dict(counts))
    assert {name for name in counts if name.startswith("undetected")} <= UNDETECTED
    # It does not pass because everything is refused, or because nothing changes.
    assert counts["right"] > 2000
    assert counts["MismatchError"] > 500


@pytest.mark.parametrize("name", ["JSON lines", "JINX 1.0", "MDS"])
def test_a_saved_view_does_not_know_files_without_ids_from_others_of_the_same_sizes(name, directory, templates):
    """Of the same time, too, if they are JSON lines. `verify` reads these; `spec/views.md` says so."""
    path, view = directory / f"base{KINDS[name].suffix}", directory / "view.jinx"
    before = templates.copy(name, 0, 0, path)
    status = path.stat()
    jinx.open(path).select([1]).save(view)
    assert jinx.open(view)[0]["id"] == before.rows[1]["id"]
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    after = templates.copy(name, 1, 0, path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert jinx.open(view)[0]["id"] == after.rows[1]["id"] != before.rows[1]["id"]
    assert bool(jinx.verify(view)) == (name == "JSON lines")


@pytest.mark.parametrize("name", ["JSON lines", "JINX 1.0", "MDS"])
def test_what_is_changed_in_place_in_files_without_checksums_is_shown(name, directory, templates):
    path = directory / f"base{KINDS[name].suffix}"
    rows = templates.copy(name, 0, 0, path).rows
    dataset = jinx.open(path)
    dataset.to_list()
    for file in path.iterdir() if path.is_dir() else [path]:
        data = file.read_bytes()
        with file.open("r+b") as opened:
            opened.write(data.replace(rows[0]["id"].encode(), b"x" * len(rows[0]["id"])))
    assert [row["id"] for row in dataset] == ["x" * len(rows[0]["id"]), *(row["id"] for row in rows[1:])]


def test_a_shard_of_mds_that_takes_the_place_of_another_is_shown(directory, templates):
    """Its index is the same file; it lists sizes and, if they were asked for, hashes that only `verify` compares."""
    path = directory / "base"
    templates.copy("MDS", 0, 0, path)
    other, there = templates.get("MDS", 1, 0)
    dataset = jinx.open(path)
    shutil.copyfile(there / "shard.00000.mds", directory / "new")
    (directory / "new").replace(path / "shard.00000.mds")
    assert dataset[0]["id"] == other.rows[0]["id"]
