"""The exchange: looks read the bytes of the keys and no more, and any division decides the same."""

import random
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import jinx
import jinx_pipeline as jp
from jinx_pipeline import kernels
from jinx_pipeline.dataset import Dataset
from jinx_pipeline.dedup.near_hashes import block_masks, near_groups
from jinx_pipeline.exchange import chunks, division, key_file
from jinx_pipeline.exchange.division import divide
from jinx_pipeline.exchange.key_file import KeyFiles
from jinx_pipeline.global_ops import key_tasks

SAMPLES = 24_000
OPERATORS = {
    "document_deduplicator": {},
    "document_minhash_deduplicator": {"num_permutations": 16, "num_bands": 3},
    "document_minhash_deduplicator_with_uid": {"num_permutations": 16, "num_bands": 2, "uid_field": "id"},
    "document_simhash_deduplicator": {"num_blocks": 3, "hamming_distance": 1},
    "document_line_deduplicator": {"frequency_threshold": 2},
    "key_value_grouper": {"group_by_keys": ["n"]},
    "frequency_specified_field_selector": {"field_key": "n", "top_ratio": 0.3},
    "tags_specified_field_selector": {"field_key": "kind", "target_tags": ["a", "b"]},
    "sort": {"by": ["n", "-text"]},
    "topk_specified_field_selector": {"field_key": "text", "top_ratio": 0.4},
    "range_specified_field_selector": {"field_key": "n", "lower_rank": 10, "upper_percentile": 0.7},
    "join": {"on": "n", "columns": ["title"], "how": "inner"},
}


def made_samples():
    rng = random.Random(2)
    words = [f"w{number}" for number in range(400)]
    for at in range(SAMPLES):
        text = "\n".join(" ".join(rng.choices(words, k=3)) for _ in range(2))
        yield {"id": -at, "n": rng.randrange(9000), "text": text, "kind": rng.choice("abc")}


@pytest.fixture(scope="module")
def batch():
    return jp.Batch(list(made_samples()))


@pytest.fixture(scope="module")
def titles(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "titles.jinx"
    with jinx.Writer(path) as writer:
        writer.write_many({"n": n, "title": f"title {n}"} for n in random.Random(3).sample(range(12_000), 10_000))
    return str(path)


@pytest.fixture(params=OPERATORS)
def operator(request, titles):
    path = {"path": titles} if request.param == "join" else {}
    return jp.create(request.param, **OPERATORS[request.param], **path)


def blocks_of(table: pa.Table, count: int) -> list[pa.Table]:
    bounds = [len(table) * at // count for at in range(count + 1)]
    return [table.slice(first, stop - first) for first, stop in pairwise(bounds)]


class Counted:
    """What looks have read."""

    def __init__(self, monkeypatch, operator):
        self.read = self.opens = 0
        self.looks: list[tuple[int, int, int]] = []
        self.sizes: set[int] = set()
        read_exactly, look = key_file._OpenKeyFile._read_exactly, type(operator).look

        def counted(file, offset, size):
            self.read += size
            self.opens += offset == 0
            return read_exactly(file, offset, size)

        def look_counted(operator, keys, number):
            self.read = self.opens = 0
            decided = look(operator, keys, number)
            self.looks.append((self.read, self.opens, len(keys.files) + len(keys.other)))
            self.sizes.add(sum(keys.files.sizes() + keys.other.sizes()))
            return decided

        monkeypatch.setattr(key_file._OpenKeyFile, "_read_exactly", counted)
        monkeypatch.setattr(type(operator), "look", look_counted)


def summary(decision) -> dict:
    """All that a decision says."""
    repeats = sorted(pair for table in decision.repeats for pair in zip(*table.to_pydict().values(), strict=True))
    keys = decision.keys.array() if isinstance(decision.keys, chunks.Chunks) else decision.keys
    bounds = decision.bounds
    return {
        "order": decision.order.array().tolist(),
        "bounds": None if bounds is None else bounds.array().tolist(),
        "repeats": repeats,
        "keys": None if keys is None else keys.tolist(),
        "counts": decision.counts,
    }


def test_looks_read_the_keys_once_and_any_division_decides_the_same(operator, batch, tmp_path, monkeypatch):
    ctx = jp.Context()
    signatures, other = operator.signatures(batch, ctx), operator.signatures_of_other(ctx)
    expected = summary(operator.decided([signatures], str(tmp_path), other))
    assert len(expected["order"]) > 100
    counted = Counted(monkeypatch, operator)
    for count in (1, 3, 40):
        for most in (1_000_000, 9_000, 4_000):
            counted.looks.clear()
            counted.sizes.clear()
            tables = blocks_of(signatures, count)
            assert summary(operator.decided(tables, str(tmp_path), other, memory=256 * most)) == expected
            # 40 files that 18 looks open.
            (size,) = counted.sizes
            assert sum(read for read, _, _ in counted.looks) <= 1.05 * size
            assert all(opens == files for _, opens, files in counted.looks)
            if most < SAMPLES and not operator.name.startswith("tags"):
                assert len(counted.looks) > 1


def test_merged_files_and_short_chunks_decide_the_same(operator, batch, tmp_path, monkeypatch):
    ctx = jp.Context()
    signatures, other = operator.signatures(batch, ctx), operator.signatures_of_other(ctx)
    expected = summary(operator.decided([signatures], str(tmp_path), other))
    monkeypatch.setattr(chunks, "CHUNK", 1_999)
    monkeypatch.setattr(division, "_MANY_OPENS", 1)
    monkeypatch.setattr(division, "_FEW_BYTES", 1 << 40)
    monkeypatch.setattr(division, "_MERGED_FILES", 7)
    counted = Counted(monkeypatch, operator)
    assert summary(operator.decided(blocks_of(signatures, 40), str(tmp_path), other, memory=256 * 5_000)) == expected
    (size,) = counted.sizes
    assert sum(read for read, _, _ in counted.looks) <= 1.05 * size
    assert all(opens == files < 41 for _, opens, files in counted.looks)


def test_partitions_that_grew_are_split(batch, tmp_path, monkeypatch):
    """Where a sample has more keys than expected, a look takes no more than it has memory for."""
    operator = jp.create("document_line_deduplicator", frequency_threshold=2)
    monkeypatch.setattr(type(operator), "keys_per_sample", 1)
    sizes = []
    look = type(operator).look

    def measured(one, keys, number):
        sizes.append(sum(len(table) for _, table in keys.read(number)))
        return look(one, keys, number)

    monkeypatch.setattr(type(operator), "look", measured)
    tables = blocks_of(operator.signatures(batch, jp.Context()), 5)
    operator.decided(tables, str(tmp_path), memory=256 * 30_000)
    assert len(sizes) == 2
    assert max(sizes) < 1.1 * 30_000


def test_files_are_merged_where_looks_would_read_little_of_many(tmp_path, monkeypatch):
    operator = jp.create("document_deduplicator")
    table = operator.signatures(jp.Batch([{"text": str(at)} for at in range(300)]), jp.Context())
    made = []

    def remembered(files, *given, **more):
        made.append(divide(files, *given, **more))
        return made[-1]

    monkeypatch.setattr("jinx_pipeline.operators.api.key_exchange.divide", remembered)
    monkeypatch.setattr(division, "_MANY_OPENS", 300)
    for most in (100, 10):
        operator.decided(blocks_of(table, 30), str(tmp_path), memory=256 * most)
    assert [(item.looks, item.split) for item in made] == [(3, 1), (30, 1)]
    assert made[0].runs == ()
    # As many keys as a look takes.
    assert made[1].runs == tuple(range(31))
    assert divide(KeyFiles(), KeyFiles(), kinds=1, partitions=1, max_keys=1).looks == 1


@pytest.mark.parametrize(("blocks", "distance"), [(6, 4), (5, 4), (3, 1), (1, 0), (8, 3)])
def test_near_hashes_are_those_of_the_kernel(blocks, distance):
    rng = np.random.default_rng(blocks)
    seeds = rng.integers(0, 1 << 63, 40, dtype=np.uint64)
    hashes = rng.choice(seeds, 900)
    for _ in range(3):
        hashes ^= np.uint64(1) << rng.integers(0, 64, 900, dtype=np.uint64)
    hashes = np.unique(hashes)
    clusters = kernels.Clusters(len(hashes))
    for mask in block_masks(blocks, distance):
        roots = near_groups(hashes, mask, distance)
        clusters.join_equal(
            np.concatenate([roots, roots]).astype(np.uint64), np.concatenate([roots, np.arange(len(roots))])
        )
    assert clusters.roots().tolist() == kernels.near_simhashes(hashes, distance, blocks).tolist()


def test_simhash_refuses_too_many_keys():
    with pytest.raises(jp.ParameterError, match="60 blocks for a distance of 30 need too many keys"):
        jp.create("document_simhash_deduplicator", num_blocks=60, hamming_distance=30)


@pytest.mark.parametrize("is_missing", [False, True])
def test_a_key_file_that_is_lost_stops_a_run_with_its_name(batch, tmp_path, monkeypatch, is_missing):
    with jinx.Writer(tmp_path / "in.jinx") as writer:
        writer.write_many(batch.take(np.arange(300)).to_samples())
    key_files = key_tasks.key_files

    def damaged(parts):
        files = key_files(parts)
        if is_missing and parts:
            files.sources[1].unlink()
        elif parts:
            files.sources[1].write_bytes(files.sources[1].read_bytes()[:-5])
        return files

    monkeypatch.setattr(key_tasks, "key_files", damaged)
    flow = Dataset.load(tmp_path / "in.jinx").process(jp.create("document_deduplicator"))
    problem = "is missing" if is_missing else "is damaged: it ends before"
    with pytest.raises((jp.StoppedError, ValueError), match=rf"\.signatures: .* {problem}.*start over with restart"):
        flow.export(tmp_path / "out", workers=1, block_rows=100)
    monkeypatch.undo()
    assert not (tmp_path / "out").exists()
    assert flow.export(tmp_path / "out", workers=1, block_rows=100, restart=True).ok
