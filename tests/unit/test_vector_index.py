"""Indexes of vectors: what they find, what they are refused for, and damaged files."""

import errno
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import jinx
from jinx import _core
from jinx._cli.program import jinx as program
from jinx._vectors import index_build, index_file, index_search
from jinx.errors import CorruptFileError, JinxError, MismatchError, UnsupportedError

COUNT, WIDTH = 2000, 8
HEAD = struct.Struct("<8sQQ32s8x")


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Vectors around 40 points."""
    random = np.random.default_rng(3)
    points = random.normal(size=(40, WIDTH))
    return points[random.integers(0, 40, COUNT)] + 0.2 * random.normal(size=(COUNT, WIDTH))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> jinx.Dataset:
    path = tmp_path_factory.mktemp("index") / "base.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"n": i} for i in range(COUNT))
    return jinx.open(path)


@pytest.fixture
def saved(base, tmp_path):
    def save(name: str = "v", **columns: object) -> jinx.Dataset:
        base.with_columns(columns).save(tmp_path / f"{name}.jinx", overwrite=True)
        return jinx.open(tmp_path / f"{name}.jinx")

    return save


@pytest.fixture
def made(saved, vectors):
    """A view with an index beside it."""
    view = saved(emb=vectors.astype(np.float32))
    view.make_vector_index("emb")
    return view


def share_found(view: jinx.Dataset, queries: np.ndarray, **options: object) -> float:
    exact = view.nearest(queries, "emb", metric=options.get("metric", "cosine")).positions
    found = view.nearest(queries, "emb", index=True, **options).positions
    return float(np.mean([len({*a} & {*b}) / len(a) for a, b in zip(exact.tolist(), found.tolist(), strict=True)]))


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
def test_recall_is_what_the_index_says(saved, vectors, *, metric, dtype):
    view = saved(emb=(vectors * 9).astype(dtype))
    index = view.make_vector_index("emb", metric=metric, recall=0.9)
    assert (index.vectors, index.lists) == (COUNT, 45)
    assert index.recall == index.recalls[index.probes] >= 0.9
    queries = (vectors * 9).astype(dtype)[::7].astype(np.float64)
    # Other queries than those that it was measured with; these find themselves, too.
    assert share_found(view, queries, metric=metric) > index.recall - 0.05
    few = view.make_vector_index("emb", metric=metric, recall=0.05, overwrite=True)
    assert few.probes == 1
    if few.recall < 0.95:
        assert share_found(view, queries, metric=metric) < 0.999


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_all_lists_find_what_an_exact_search_finds(saved, vectors, metric, monkeypatch):
    monkeypatch.setattr(index_search, "_BLOCK_BYTES", 4 * WIDTH * 7)
    monkeypatch.setattr(index_search, "_QUERIES", 3)
    monkeypatch.setattr(index_build, "_GROUP_BYTES", 4 * WIDTH * 100)
    view = saved(emb=vectors.astype(np.float32))
    lists = view.make_vector_index("emb", metric=metric).lists
    queries = vectors[:10] + 0.01
    exact = view.nearest(queries, "emb", metric=metric)
    found = view.nearest(queries, "emb", metric=metric, index=True, probes=lists)
    assert found.positions.tolist() == exact.positions.tolist()
    assert found.scores.tolist() == exact.scores.tolist()
    one = view.nearest(queries[4], "emb", metric=metric, index=True, probes=10 * lists)
    assert one.positions.tolist() == exact.positions[4].tolist()


def test_the_same_arguments_give_the_same_file(saved, vectors, tmp_path):
    view = saved(emb=vectors.astype(np.float16))
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert view.make_vector_index("emb", tmp_path / name, seed=seed, lists=20).lists == 20
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()


def test_conditions(made, vectors):
    queries = vectors[3:9]
    lists = index_file.IndexFile.open(str(Path(made._shard_paths[0]).with_suffix(".emb.ivf"))).lists
    for where in ("n >= 100", np.arange(COUNT) >= 100, lambda sample: sample["n"] >= 100):
        exact = made.nearest(queries, "emb", where=where)
        found = made.nearest(queries, "emb", where=where, index=True, probes=lists)
        assert found.positions.tolist() == exact.positions.tolist()
        some = made.nearest(queries, "emb", where=where, index=True).positions
        assert some.shape == (6, 10)
        assert (some >= 100).all()
    # Comparing few samples takes less than the index.
    few = made.nearest(queries, "emb", where="n < 12", index=True)
    assert few.positions.tolist() == made.nearest(queries, "emb", where="n < 12").positions.tolist()
    assert len(made.nearest(vectors[3], "emb", where="n < 0", index=True).positions) == 0


def test_more_lists_are_searched_until_there_are_enough(made, vectors):
    far = np.argsort(vectors @ vectors[0])[:900]
    mask = np.zeros(COUNT, np.bool_)
    mask[far] = True
    found = made.nearest(vectors[0], "emb", k=899, where=mask, index=True, probes=1)
    assert len(found.positions) == 899
    assert set(found.positions.tolist()) < set(far.tolist())
    assert len(made.nearest(vectors[0], "emb", k=5000, index=True, probes=1).positions) == COUNT


def test_selections_use_the_index_of_all(made, vectors):
    rows = np.concatenate([np.arange(COUNT)[::-1], [7, 7, 9]])
    part = made.select(rows)
    exact = part.nearest(vectors[7], "emb", k=6)
    found = part.nearest(vectors[7], "emb", k=6, index=True, probes=1000)
    assert found.positions.tolist() == exact.positions.tolist()
    assert found.positions[:3].tolist() == [COUNT - 8, COUNT, COUNT + 1]
    where = np.arange(len(rows)) < COUNT
    found = part.nearest(vectors[7], "emb", k=3, index=True, where=where)
    assert found.positions[0] == COUNT - 8
    assert (found.positions < COUNT).all()


def test_missing_vectors_are_not_found(saved, vectors):
    array = np.ma.MaskedArray(vectors.astype(np.float32))
    array[::2] = np.ma.masked
    array[1] = np.nan
    view = saved(emb=array)
    assert view.make_vector_index("emb").vectors == COUNT // 2 - 1
    found = view.nearest(vectors[3], "emb", k=COUNT, index=True)
    assert sorted(found.positions.tolist()) == list(range(3, COUNT, 2))


def test_few_and_equal_vectors(saved):
    array = np.full((COUNT, 3), np.nan, np.float32)
    array[5] = [1, 2, 3]
    index = saved(emb=array).make_vector_index("emb", lists=9)
    assert (index.vectors, index.lists, index.recall) == (1, 1, 1.0)
    view = saved(emb=np.ones((COUNT, 3), np.int8))
    assert view.make_vector_index("emb", overwrite=True, metric="l2").recall == 1
    assert view.nearest([1, 1, 1], "emb", metric="l2", index=True).scores.tolist() == [0] * 10
    view = saved(emb=np.zeros((COUNT, 3), np.float32))
    assert view.make_vector_index("emb", overwrite=True).recall == 1
    assert view.nearest([1, 1, 1], "emb", index=True).scores.tolist() == [0] * 10


def test_numbers_beyond_an_index(saved, vectors):
    with pytest.raises(ValueError, match="beyond an index"):
        saved(emb=vectors * 1e100).make_vector_index("emb")
    with pytest.raises(ValueError, match="no vector whose numbers are finite"):
        saved(emb=np.full((COUNT, 2), np.inf)).make_vector_index("emb")
    view = saved(emb=vectors.astype(np.float32))
    view.make_vector_index("emb")
    query = vectors[3] * 1e30
    exact = view.nearest(query, "emb")
    assert view.nearest(query, "emb", index=True).positions.tolist() == exact.positions.tolist()


def test_a_changed_or_another_column_is_refused(saved, vectors, tmp_path):
    view = saved(emb=vectors.astype(np.float32), other=vectors.astype(np.float32))
    path = view.make_vector_index("emb").path
    assert path == str(tmp_path / "v.emb.ivf")
    with pytest.raises(MismatchError, match=r"v\.emb\.ivf: this index is of the column 'emb', not of 'other'"):
        view.nearest(vectors[0], "other", index=path)
    with pytest.raises(MismatchError, match="for metric='cosine', not for 'l2'"):
        view.nearest(vectors[0], "emb", metric="l2", index=path)
    changed = vectors.astype(np.float32)
    changed[COUNT // 2, 0] += 1
    with pytest.raises(MismatchError, match="are not those that this index was made from; make it again"):
        saved(emb=changed).nearest(vectors[0], "emb", index=True)
    for array in (
        vectors.astype(np.float32)[:, :4],
        vectors.astype(np.float16),
        np.ma.array(changed, mask=changed > 9),
    ):
        with pytest.raises(MismatchError, match="make it again"):
            saved(emb=array).nearest(array[0], "emb", index=True)


def test_the_same_values_elsewhere_are_not_refused(saved, base, vectors, tmp_path):
    array = vectors.astype(np.float32)
    path = saved(emb=array).make_vector_index("emb").path
    wanted = jinx.open(tmp_path / "v.jinx").nearest(vectors[0], "emb", index=path).positions.tolist()
    others = [saved("w", emb=array, more=np.arange(COUNT)), base.with_columns({"emb": array})]
    others.append(jinx.open(tmp_path / "v.jinx").with_columns({"more": np.arange(COUNT)}))
    for view in others:
        for _ in range(2):
            assert view.nearest(vectors[0], "emb", index=path).positions.tolist() == wanted
    with pytest.raises(MismatchError, match="not those"):
        base.with_columns({"emb": array + 1}).nearest(vectors[0], "emb", index=path)


def test_what_is_refused(saved, base, vectors, tmp_path):
    view = saved(emb=vectors.astype(np.float32), q=np.arange(COUNT))
    with pytest.raises(FileNotFoundError, match=r"v\.emb\.ivf: no such index; make it with"):
        view.nearest(vectors[0], "emb", index=True)
    view.make_vector_index("emb")
    with pytest.raises(FileExistsError, match=r"v\.emb\.ivf exists"):
        view.make_vector_index("emb")
    for options in ({"metric": "hamming"}, {"recall": 0}, {"recall": 2}, {"lists": 0}, {"seed": -1}):
        with pytest.raises(ValueError, match=f"{next(iter(options))}"):
            view.make_vector_index("emb", tmp_path / "x.ivf", **options)
    with pytest.raises(ValueError, match="name of a dataset's file"):
        view.make_vector_index("emb", tmp_path / "v.jinx", overwrite=True)
    for options in ({"probes": 3}, {"probes": 0, "index": True}):
        with pytest.raises(ValueError, match="probes"):
            view.nearest(vectors[0], "emb", **options)
    with pytest.raises(TypeError, match="numbers and not vectors"):
        view.make_vector_index("q", tmp_path / "x.ivf")
    with pytest.raises(TypeError, match="not stored as one array"):
        base.with_columns({"emb": vectors.tolist()}).make_vector_index("emb", tmp_path / "x.ivf")
    with pytest.raises(UnsupportedError, match="not an index of vectors"):
        view.nearest(vectors[0], "emb", index=tmp_path / "v.jinx")
    assert not (tmp_path / "x.ivf").exists()


def test_an_index_replaces_no_file_of_a_dataset(saved, vectors, tmp_path):
    jinx.convert(({"n": i, "b": bytes(200)} for i in range(COUNT)), tmp_path / "own.jinx", sidecar=True)
    jinx.open(tmp_path / "own.jinx").with_columns({"emb": vectors.astype(np.float32)}).save(tmp_path / "view.jinx")
    view, before = jinx.open(tmp_path / "view.jinx"), (tmp_path / "own.binx").read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "own.jinx")
    for name in ("own.jinx", "own.binx", "other.binx", "jinx.json", "link"):
        with pytest.raises(ValueError, match=r"name of a dataset's file|also an input"):
            view.make_vector_index("emb", tmp_path / name, overwrite=True)
    assert (tmp_path / "own.binx").read_bytes() == before
    assert [sample["b"] for sample in view[:3]] == [bytes(200)] * 3


def test_an_interrupted_writer_leaves_the_old_index(made, vectors, tmp_path, monkeypatch):
    before = (tmp_path / "v.emb.ivf").read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(index_file.IndexWriter, "finish", full)
    with pytest.raises(OSError, match="No space"):
        made.make_vector_index("emb", overwrite=True, seed=5)
    assert (tmp_path / "v.emb.ivf").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"v.jinx", "v.emb.ivf"}


def test_a_replaced_index_is_opened_again(made, vectors):
    query = vectors[0]
    exact = made.nearest(query, "emb").positions.tolist()
    assert made.nearest(query, "emb", index=True, probes=99).positions.tolist() == exact
    made.make_vector_index("emb", overwrite=True, lists=3, metric="l2")
    with pytest.raises(MismatchError, match="for metric='l2'"):
        made.nearest(query, "emb", index=True)


def test_every_cut_and_many_flipped_bits_are_one_clear_error(made, vectors, tmp_path):
    path = tmp_path / "v.emb.ivf"
    whole = path.read_bytes()
    bad = tmp_path / "bad.ivf"
    damaged = [whole[:length] for length in {0, 7, 8, 63, 64, *range(0, len(whole), 1009), len(whole) - 1}]
    damaged.append(whole + b"\n")
    places = [*range(56), *range(64, len(whole), 397)]
    damaged += [whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in places]
    for data in damaged:
        bad.write_bytes(data)
        with pytest.raises((CorruptFileError, UnsupportedError), match=r"bad\.ivf: ") as raised:
            made.nearest(vectors[0], "emb", index=bad, probes=1000)
        assert "\n" not in str(raised.value)


def rewritten(whole: bytes, edit: object) -> bytes:
    """An index whose footer was edited and has the right hash."""
    _, start, _, _ = HEAD.unpack_from(whole)
    text = edit(whole[start:])
    return HEAD.pack(b"JINXIVF1", start, len(text), _core.hash_bytes(text).encode()) + whole[HEAD.size : start] + text


def with_facts(text: bytes, **facts: object) -> bytes:
    (length,) = struct.unpack_from("<Q", text)
    said = json.dumps({**json.loads(text[8 : 8 + length]), **facts}).encode()
    return struct.pack("<Q", len(said)) + said + text[8 + length :]


HOSTILE = {
    "lists": lambda text: with_facts(text, lists=1 << 40),
    "fewer lists": lambda text: with_facts(text, lists=3),
    "no lists": lambda text: with_facts(text, lists=0),
    "width": lambda text: with_facts(text, width=1 << 50),
    "another width": lambda text: with_facts(text, width=WIDTH + 1),
    "vectors": lambda text: with_facts(text, vectors=5),
    "negative": lambda text: with_facts(text, vectors=-1),
    "a bool": lambda text: with_facts(text, probes=True),
    "no probes": lambda text: with_facts(text, probes=0),
    "a column": lambda text: with_facts(text, column=3),
    "a metric": lambda text: with_facts(text, metric="hamming"),
    "recalls": lambda text: with_facts(text, recalls=[1]),
    "more": lambda text: with_facts(text, more=1),
    "a list": lambda text: struct.pack("<Q", 2) + b"[]" + text[8:],
    "deep": lambda text: struct.pack("<Q", 200_000) + b"[" * 200_000 + text,
    "no json": lambda text: struct.pack("<Q", 1 << 63) + text[8:],
    "bytes": lambda text: text[:8] + b"\xff" + text[9:],
    "short": lambda text: text[:5],
    "not finite": lambda text: _replaced(text, 0, struct.pack("<f", float("nan"))),
    "descending": lambda text: _replaced(text, 4 * WIDTH * 45 + 8, struct.pack("<Q", 1 << 60)),
    "not from zero": lambda text: _replaced(text, 4 * WIDTH * 45, struct.pack("<Q", 1)),
    "hash": lambda text: text[:-1] + b"\xff",
}


def _replaced(text: bytes, at: int, part: bytes) -> bytes:
    at += 8 + struct.unpack_from("<Q", text)[0]
    return text[:at] + part + text[at + len(part) :]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_footer_is_one_clear_error(made, vectors, tmp_path, name):
    bad = tmp_path / "bad.ivf"
    bad.write_bytes(rewritten((tmp_path / "v.emb.ivf").read_bytes(), HOSTILE[name]))
    with pytest.raises(JinxError, match=r"bad\.ivf: this index") as raised:
        made.nearest(vectors[0], "emb", index=bad)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("row", [-1, COUNT, 1 << 62])
def test_a_list_that_names_no_row_is_refused(made, vectors, tmp_path, row):
    whole = bytearray((tmp_path / "v.emb.ivf").read_bytes())
    struct.pack_into("<q", whole, 64, row)
    index = index_file.IndexFile.open(str(tmp_path / "v.emb.ivf"))
    stop = int(index_file.block_starts(index.bounds, WIDTH)[1])
    old, new = index._hashes[0].encode(), _core.hash_bytes(bytes(whole[64:stop])).encode()
    bad = tmp_path / "bad.ivf"
    bad.write_bytes(rewritten(bytes(whole), lambda text: text.replace(old, new)))
    with pytest.raises(CorruptFileError, match="list 0 names rows that the column does not have"):
        made.nearest(vectors[0], "emb", index=bad, probes=1000)


def test_places_beside_a_dataset(base, vectors, tmp_path):
    folder = tmp_path / "shards"
    base.with_columns({"emb": vectors.astype(np.float32)}).save(folder, shard_size=30_000)
    view = jinx.open(folder)
    assert len(view._shard_paths) > 1
    assert view.make_vector_index("emb").path == str(tmp_path / "shards.emb.ivf")
    found = jinx.open(folder).nearest(vectors[4], "emb", index=True, probes=1000)
    assert found.positions.tolist() == view.nearest(vectors[4], "emb").positions.tolist()
    odd = base.with_columns({"a/b": vectors.astype(np.float32)})
    with pytest.raises(ValueError, match="give its path on this machine"):
        odd.make_vector_index("a/b")
    assert odd.make_vector_index("a/b", tmp_path / "odd.ivf").recall > 0.9


def test_the_command(saved, vectors, tmp_path):
    saved(emb=vectors.astype(np.float32))
    view = str(tmp_path / "v.jinx")
    done = CliRunner().invoke(program, ["vector-index", view, "--column", "emb", "--recall", "0.9", "--lists", "30"])
    assert done.exit_code == 0, done.output
    assert "v.emb.ivf: 2,000 vectors in 30 lists" in done.output
    assert ", the default" in done.output
    assert jinx.open(view).nearest(vectors[0], "emb", index=True).positions[0] == 0
    again = CliRunner().invoke(program, ["vector-index", view, "--column", "emb"])
    assert isinstance(again.exception, FileExistsError)
