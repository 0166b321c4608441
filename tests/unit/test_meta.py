"""`meta`: what is given comes back, to the last bit, wherever the footer's text goes."""

import json
import math
import random
import struct
import sys

import pytest

import jinx
from jinx._cli.program import run

SEED = random.Random(7)
FLOATS = list(filter(math.isfinite, struct.unpack("<2000d", SEED.randbytes(16_000))))
EDGES = [0.1, -0.0, 5e-324, 1e22, 1e-05, sys.float_info.max, sys.float_info.min]
INTS = [2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30 + 1, -(10**300) - 1]
META = {"floats": FLOATS + EDGES, "ints": INTS, "é\n": {"deep": [[{"x": None, "y": True, "z": "\u2028"}]], "": ""}}


def exact(meta):
    """Values with their types and bits: 1 == 1.0 == True and 0.0 == -0.0 otherwise."""
    return json.dumps(meta)


def meta_of(path):
    return jinx.open(path).info().meta


def write(path, **options):
    with jinx.Writer(path, meta=META, **options) as writer:
        writer.write_many({"id": i, "data": bytes(100)} for i in range(50))
    return path


def test_a_pair_gives_meta_back(tmp_path):
    path = write(tmp_path / "a.jinx")
    assert exact(meta_of(path)) == exact(META)
    assert jinx.verify(path) == []
    [footer] = [line for line in path.read_bytes().splitlines() if line.startswith(b'{"index.')]
    assert exact(json.loads(footer)["meta"]) == exact(META)


def test_conversion_repair_and_copies_keep_it(tmp_path):
    path = write(tmp_path / "a.jinx")
    jinx.convert(path, tmp_path / "b.jinx", limit=10)
    jinx.convert(path, tmp_path / "given.jinx", meta=META)
    jinx.convert([path, tmp_path / "b.jinx"], tmp_path / "both.jinx")
    jinx.convert([{"a": 1}], tmp_path / "objects.jinx", meta=META)
    jinx.repair(path, tmp_path / "repaired.jinx")
    assert run(["cp", str(path), str(tmp_path / "copy.jinx")]) == 0
    for name in ("b", "given", "both", "objects", "repaired", "copy"):
        assert exact(meta_of(tmp_path / f"{name}.jinx")) == exact(META), name


def test_directories_keep_it_in_manifest_and_shards(tmp_path):
    directory = write(tmp_path / "out", shard_size=2000)
    with jinx.Writer(directory, append=True) as writer:
        writer.write({"id": 50})
    for part in range(2):
        write(tmp_path / "parts", part=(part, 2))
    jinx.merge(tmp_path / "parts")
    for found in (directory, tmp_path / "parts"):
        manifest = json.loads((found / "jinx.json").read_text(encoding="utf-8"))
        assert exact(manifest["meta"]) == exact(META)
        assert exact(meta_of(found)) == exact(META)
        assert jinx.verify(found) == []


def test_of_several_inputs_stays_what_they_agree_on(tmp_path):
    for name, meta in (("a", {"x": 0.1 + 0.2, "y": 2**70, "z": 1}), ("b", {"z": 2, "y": 2**70, "x": 0.1 + 0.2})):
        with jinx.Writer(tmp_path / f"{name}.jinx", meta=meta) as writer:
            writer.write({"id": name})
    jinx.convert([tmp_path / "a.jinx", tmp_path / "b.jinx"], tmp_path / "c.jinx")
    assert meta_of(tmp_path / "c.jinx") == {"x": 0.1 + 0.2, "y": 2**70}


@pytest.mark.parametrize(
    ("meta", "what"),
    [
        ({"a": float("nan")}, "not JSON compliant"),
        ({"a": [{1: 2}]}, r"the name 1 is of type int"),
        ({"a": b"x"}, "bytes"),
        ({"a": "\ud800"}, "surrogate"),
        ({"a": 10**400}, "number out of range"),
    ],
)
def test_what_would_not_come_back_is_refused(tmp_path, meta, what):
    out, lines = tmp_path / "a.jinx", tmp_path / "a.jsonl"
    lines.write_text('{"a":1}\n')
    with pytest.raises((TypeError, ValueError), match=what):
        jinx.Writer(out, meta=meta)
    for source in ([{"a": 1}], lines):
        with pytest.raises((TypeError, ValueError), match=what):
            jinx.convert(source, out, meta=meta)
    assert not out.exists()


def test_nesting_is_refused_where_a_reader_would_refuse_it(tmp_path):
    def nested(depth):
        value = []
        for _ in range(depth - 1):
            value = [value]
        return {"a": value}

    with pytest.raises(ValueError, match="nest"):
        jinx.Writer(tmp_path / "a.jinx", meta=nested(126))
    with jinx.Writer(tmp_path / "a.jinx", meta=nested(125)) as writer:
        writer.write({"id": 1})
    assert meta_of(tmp_path / "a.jinx") == nested(125)


@pytest.mark.parametrize("meta", [[], [("a", 1)], "", 3])
def test_meta_is_a_dict(tmp_path, meta):
    with pytest.raises(TypeError, match=f"meta must be a dict, not {type(meta).__name__}"):
        jinx.Writer(tmp_path / "a.jinx", meta=meta)
    with pytest.raises(TypeError, match="meta must be a dict"):
        jinx.convert([{"n": 1}], tmp_path / "a.jinx", meta=meta)
    assert list(tmp_path.iterdir()) == []
