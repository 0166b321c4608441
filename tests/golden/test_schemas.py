"""What we write fits the JSON Schemas of the specification."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import jinx

SPEC = Path(__file__).parents[2] / "spec"


def footer_of(path: Path) -> object:
    """The footer's JSON, found as `spec/jinx.md` says."""
    data = path.read_bytes()
    offset = int(data[:-1].rpartition(b"\n")[2])
    return json.loads(data[offset : data.rindex(b"\n", 0, -1)])


def check(instance: object, schema: str) -> None:
    jsonschema.Draft202012Validator(json.loads((SPEC / schema).read_text())).validate(instance)


@pytest.mark.parametrize("sidecar", [True, False])
@pytest.mark.parametrize("rows", [0, 3, 9000])
def test_footers_fit_their_schema(tmp_path: Path, rows: int, sidecar: bool) -> None:
    path = tmp_path / "a.jinx"
    with jinx.Writer(path, sidecar=sidecar, indexed=["meta.source"], meta={"about": "a test"}) as writer:
        for i in range(rows):
            writer.write(
                {"i": i, "a.b": b"x" * i, "array": np.arange(3), "meta": {"source": str(i)}, "f": float("nan")}
            )
    check(footer_of(path), "footer.schema.json")


def test_manifests_fit_their_schema(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    with jinx.Writer(folder, shard_size="1kB") as writer:
        writer.write_many({"i": i, "b": b"x" * 100} for i in range(50))
    manifest = json.loads((folder / "jinx.json").read_text())
    assert len(manifest["shards"]) > 1
    check(manifest, "manifest.schema.json")
