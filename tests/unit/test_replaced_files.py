"""Files that another process replaces or extends under an open dataset: no row of theirs is shown, saved or written."""

import json
import os
import pickle
import shutil
import string
from collections.abc import Callable
from pathlib import Path

import pytest

import jinx
from jinx._dataset.stored_bytes import stored_bytes
from jinx._rewrite.positions_file import Origin, write_positions

ROWS = [{"id": f"{i:03}", "score": i * 7 % 10} for i in range(10)]
GOOD = [row for row in ROWS if row["score"] > 5]


def write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    new = path.with_suffix(".new")
    new.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    new.rename(path)


def lines(path: Path, vectors: Path, is_new: bool) -> Path:
    """The same rows in another order have lines of the same length."""
    path = path.with_suffix(".jsonl")
    write_lines(path, ROWS[::-1] if is_new else ROWS)
    return path


def old_pair(path: Path, vectors: Path, is_new: bool) -> Path:
    """JINX 1.0; with one other digit, everything lies where it was."""
    path, data = path.with_suffix(".jinx"), (vectors / "1_0" / "plain.jinx").read_bytes()
    assert data.count(b'"int":-5') == 1
    new = path.with_suffix(".new")
    new.write_bytes(data.replace(b'"int":-5', b'"int":-7') if is_new else data)
    new.rename(path)
    return path


def pair(path: Path, vectors: Path, is_new: bool) -> Path:
    path = path.with_suffix(".jinx")
    with jinx.Writer(path, overwrite=True) as writer:
        writer.write_many(ROWS[::-1] if is_new else ROWS)
    return path


Source = Callable[[Path, Path, bool], Path]
SOURCES = [lines, old_pair, pair]


@pytest.fixture(params=SOURCES, ids=["JSON lines", "1.0", "1.1"])
def source(request: pytest.FixtureRequest) -> Source:
    return request.param


def test_what_was_opened_stays_and_is_found_again_only_if_it_is_still_there(source, tmp_path, vectors):
    path = source(tmp_path / "a", vectors, False)
    view = jinx.open(path).select([0, 0])
    before = view.to_list()
    text = pickle.dumps(view)
    assert pickle.loads(text).to_list() == before
    source(tmp_path / "a", vectors, True)
    assert view.to_list() == before
    with pytest.raises(jinx.MismatchError, match=path.name):
        pickle.loads(text).to_list()
    both = jinx.concat([view, view])  # it shares the files that are open
    assert both.to_list() == before * 2
    with pytest.raises(jinx.MismatchError, match=path.name):
        pickle.loads(pickle.dumps(both)).to_list()
    out = tmp_path / "out.jinx"
    for write in (jinx.select, jinx.dedup, jinx.concat):
        with pytest.raises(jinx.MismatchError, match=path.name):
            write([view] if write is jinx.concat else view, out)
        assert not out.exists()
    jinx.shuffle(view, out)  # it reads the files that are open
    assert jinx.open(out).to_list() == before


def test_a_view_is_not_saved_over_a_file_that_was_replaced(source, tmp_path, vectors):
    path, saved = source(tmp_path / "a", vectors, False), tmp_path / "v.jinx"
    view = jinx.open(path).select([0])
    source(tmp_path / "a", vectors, True)
    try:
        view.save(saved)
    except jinx.MismatchError as error:
        assert path.name in str(error)  # noqa: PT017 - a pair with an id may be saved, and is refused when it is opened
        assert not saved.exists()
    else:
        assert source is pair
        with pytest.raises(jinx.MismatchError, match="expected id"):
            jinx.open(saved)


def test_lines_that_only_their_time_tells_apart(tmp_path, vectors):
    """A file of the same size and ends, changed in place in its middle."""
    path = tmp_path / "a.jsonl"
    rows = [{"id": i, "text": "x" * 1000} for i in range(4000)]
    write_lines(path, rows)
    view = jinx.open(path).select([2000])
    text = pickle.dumps(view)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"y")
    os.utime(path, ns=(1, 1))
    with pytest.raises(jinx.MismatchError, match="changed or replaced"):
        pickle.loads(text).to_list()
    with pytest.raises(jinx.MismatchError, match="changed or replaced"):
        view.save(tmp_path / "v.jinx")


def test_a_copy_with_the_time_of_the_original_is_told_apart_by_its_ends(tmp_path, vectors):
    path = lines(tmp_path / "a", vectors, False)
    text, status = pickle.dumps(jinx.open(path).filter("score > 5")), path.stat()
    assert pickle.loads(text).to_list() == GOOD
    lines(tmp_path / "a", vectors, True)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(jinx.MismatchError, match=r"a\.jsonl"):
        pickle.loads(text).to_list()


def test_lines_that_are_added_are_not_shown_and_not_pickled_over(tmp_path, vectors):
    path = lines(tmp_path / "a", vectors, False)
    view = jinx.open(path).filter("score > 5")
    text = pickle.dumps(view)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(ROWS[0]) + "\n")
    assert view.to_list() == GOOD
    with pytest.raises(jinx.MismatchError, match=r"a\.jsonl"):
        pickle.loads(text).to_list()
    with pytest.raises(jinx.MismatchError, match=r"a\.jsonl"):
        view.save(tmp_path / "v.jinx")
    assert len(jinx.open(path)) == len(ROWS) + 1


def test_concat_never_shifts_positions_to_a_file_of_another_length(tmp_path, vectors):
    first, second = pair(tmp_path / "a", vectors, False), pair(tmp_path / "b", vectors, False)
    parts = [jinx.open(first).select([5]), jinx.open(second).select([1])]
    assert jinx.concat(parts).to_list() == [ROWS[5], ROWS[1]]
    with jinx.Writer(first, overwrite=True) as writer:
        writer.write_many(ROWS * 2)
    assert jinx.concat(parts).to_list() == [ROWS[5], ROWS[1]]
    with pytest.raises(jinx.MismatchError, match=r"a\.jinx"):
        pickle.loads(pickle.dumps(jinx.concat(parts))).to_list()


def test_concat_of_a_split_shows_what_was_opened(tmp_path):
    path = tmp_path / "shards"
    for number, rows in enumerate((ROWS, ROWS[::-1])):
        with jinx.Writer(path, overwrite=True, split="train", shard_size=100) as writer:
            writer.write_many(rows)
        if number == 0:
            parts = [jinx.open(path, split="train")[:2], jinx.open(path, split="train")[4:5]]
        assert jinx.concat(parts).to_list() == [ROWS[0], ROWS[1], ROWS[4]]
    with pytest.raises(jinx.MismatchError, match="changed since they were first opened"):
        pickle.loads(pickle.dumps(jinx.concat(parts)))


def test_mds_of_equal_sizes_is_told_apart_by_the_time_of_its_index(tmp_path):
    def write(ids: list[str]) -> None:
        shutil.rmtree(tmp_path / "mds", ignore_errors=True)
        with jinx.mds.MDSWriter(out=str(tmp_path / "mds"), columns={"id": "str"}) as writer:
            for id_ in ids:
                writer.write({"id": id_})

    for new in (["b", "a"], ["bb", "aa"]):
        write(["a", "b"])
        view = jinx.open(tmp_path / "mds").select([1])
        text = pickle.dumps(view)
        assert pickle.loads(text).to_list() == jinx.concat([view]).to_list() == [{"id": "b"}]
        write(new)
        for again in (lambda text=text: pickle.loads(text), lambda view=view: jinx.concat([view, view])):
            with pytest.raises(jinx.MismatchError, match="changed since they were first opened"):
                again()
        with pytest.raises(jinx.MismatchError, match="changed since they were first opened"):
            jinx.select(view, tmp_path / "out.jinx")
        with pytest.raises(jinx.MismatchError, match=r"index\.json: the directory was changed or replaced"):
            view.save(tmp_path / "v.jinx")


def test_a_directory_that_grew_is_joined_as_it_was_opened(tmp_path, vectors):
    path = tmp_path / "shards"
    with jinx.Writer(path, shard_size=100) as writer:
        writer.write_many(ROWS)
    before, other = jinx.open(path), jinx.open(pair(tmp_path / "b", vectors, False)).select([1])
    with jinx.Writer(path, append=True) as writer:
        writer.write_many(ROWS)
    assert jinx.concat([before, other]).to_list() == [*ROWS, ROWS[1]]


def test_positions_name_the_content_of_a_file_without_an_id(tmp_path, vectors):
    """A copy is the same dataset, whenever it was made; a file with lines of the same length is not."""
    for source in (lines, old_pair):
        path = source(tmp_path / "a", vectors, False)
        write_positions(tmp_path / "p.npy", [0], Origin.of(jinx.open(path)))
        os.utime(path, ns=(1, 1))
        assert jinx.select(path, tmp_path / "out.jinx", tmp_path / "p.npy", overwrite=True).samples == 1
        source(tmp_path / "a", vectors, True)
        with pytest.raises(jinx.MismatchError, match="positions are of another dataset"):
            jinx.select(path, tmp_path / "out.jinx", tmp_path / "p.npy", overwrite=True)


@pytest.mark.parametrize("new", ["equal", "longer", "gone"])
def test_no_shard_of_another_mds_is_read_for_the_first_time(tmp_path, new):
    def write(names: list[str]) -> None:
        shutil.rmtree(tmp_path / "mds", ignore_errors=True)
        jinx.convert([{"id": name} for name in names], tmp_path / "mds", output_format="mds", shard_size=100)

    write([f"a{i}" for i in range(20)])
    dataset = jinx.open(tmp_path / "mds")
    dataset.save(tmp_path / "view.jinx")
    view = jinx.open(tmp_path / "view.jinx")
    first = dataset[0]["id"]
    if new == "gone":
        shutil.rmtree(tmp_path / "mds")
    else:
        write([f"{'b' if new == 'equal' else 'longer'}{i}" for i in range(20)])
    assert (first, dataset[0]["id"]) == ("a0", "a0")
    for read in (lambda: dataset[19]["id"], view.to_list, lambda: dataset.sort("-id")):
        with pytest.raises(FileNotFoundError if new == "gone" else jinx.MismatchError, match=r"index\.json"):
            read()


@pytest.mark.parametrize("change", ["gone", "smaller"])
def test_the_room_for_a_copy_is_that_of_the_files_that_are_open(source, change, tmp_path, vectors):
    path, out = source(tmp_path / "a", vectors, False), tmp_path / "out.jinx"
    dataset = jinx.open(path)
    before, needed = dataset.to_list(), stored_bytes(dataset)
    files = [path, path.with_suffix(".binx")]
    assert needed == sum(file.stat().st_size for file in files if file.exists())
    path.unlink()
    if change == "smaller":
        path.write_bytes(b"")
    assert stored_bytes(dataset) == needed
    jinx.shuffle(dataset, out, seed=1)
    assert sorted(map(str, jinx.open(out).to_list())) == sorted(map(str, before))


def test_what_is_read_of_a_replaced_mds_is_refused_with_its_own_error(tmp_path):
    def write(count: int) -> None:
        shutil.rmtree(tmp_path / "mds", ignore_errors=True)
        jinx.convert(({"id": "x" * 10} for _ in range(count)), tmp_path / "mds", output_format="mds")

    write(3)
    dataset = jinx.open(tmp_path / "mds")
    write(5)
    # `info` read the index of the other one, and `lengths` took the error for one of a value.
    for read in (dataset.info, lambda: dataset.lengths("id"), lambda: stored_bytes(dataset)):
        with pytest.raises(jinx.MismatchError, match=r"index\.json: the directory was changed or replaced"):
            read()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["view", "mds"])
def test_a_worker_process_that_finds_other_files_says_so(kind, tmp_path):
    """It opens them again, and died of the error: torch said that it had been killed."""
    loaders = pytest.importorskip("jinx.torch", exc_type=ImportError)
    rows = [{"input_ids": [i, i], "label_mask": [True, True], "num_tokens": 2} for i in range(4)]

    def write(first: int) -> Path:
        shutil.rmtree(tmp_path / "mds", ignore_errors=True)
        if kind == "mds":
            return Path(jinx.convert(rows[first:], tmp_path / "mds", output_format="mds").path)
        jinx.convert(rows[first:], tmp_path / "a.jinx", overwrite=True)
        return tmp_path / "a.jinx"

    path = write(0)
    if kind == "view":
        path = Path(jinx.open(path).save(tmp_path / "v.jinx").path)
    dataset, plan = jinx.open(path), jinx.pack([2] * 4, 4)
    loader = loaders.PackedDataLoader(
        dataset, plan, num_workers=1, workers="processes", multiprocessing_context="spawn"
    )
    write(1)
    for work in (lambda: list(loader), lambda: jinx.annotate(dataset, tmp_path / "out.jinx", function=len, workers=1)):
        with pytest.raises(jinx.MismatchError, match=r"changed since|not the dataset"):
            work()


def packed_mds(place: Path, ids: list[str]) -> Path:
    """Shards that are compressed as files; those of all letters have the same sizes."""
    new = place / "new"
    with jinx.mds.MDSWriter(out=str(new), columns={"id": "str"}, compression="zstd", size_limit=60) as writer:
        for id_ in ids:
            writer.write({"id": id_ + string.ascii_uppercase})
    if (place / "mds").exists():
        assert (place / "mds" / "index.json").read_bytes() == (new / "index.json").read_bytes()
        (place / "mds").rename(place / "old")
    return new.rename(place / "mds")


def test_what_is_decoded_ahead_of_a_replaced_mds_is_not_shown(tmp_path):
    path = packed_mds(tmp_path, ["a", "b"])
    dataset = jinx.open(path)
    packed_mds(tmp_path, ["c", "d"])
    with pytest.raises(jinx.MismatchError, match=r"index\.json: the directory was changed or replaced"):
        [sample["id"] for sample in dataset]


@pytest.mark.parametrize("is_cached", [False, True])
def test_no_shard_of_another_mds_stays_decoded(is_cached, tmp_path):
    cache = tmp_path / "cache" if is_cached else None
    path = packed_mds(tmp_path, ["a", "b"])
    dataset = jinx.open(path, cache=cache)
    assert dataset[0]["id"][0] == "a"
    packed_mds(tmp_path, ["c", "d"])
    with pytest.raises(jinx.MismatchError, match=r"index\.json: the directory was changed or replaced"):
        dataset[1]["id"]
    other = jinx.open(path, cache=cache)
    assert [other[i]["id"][0] for i in range(2)] == ["c", "d"]
    path.rename(tmp_path / "newer")
    (tmp_path / "old").rename(path)
    again = jinx.open(path, cache=cache)
    for opened in (dataset, again):
        assert [opened[i]["id"][0] for i in range(2)] == ["a", "b"]


def test_a_damaged_index_of_a_base_is_a_problem_of_the_view(tmp_path):
    """`verify` raised it; it told of the damage in any other base."""
    path, view = packed_mds(tmp_path, ["a", "b"]), tmp_path / "view.jinx"
    jinx.open(path).save(view)
    (path / "index.json").write_text("{")
    for name in (path, view):
        [problem] = jinx.verify(name)
        assert (problem.cause, Path(problem.file)) == ("corrupt", path / "index.json")
