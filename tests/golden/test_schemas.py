"""What we write fits the JSON Schemas of the specification."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import jinx
from golden.vectors import GOOD, VECTORS

VIEWS = [entry for entry in GOOD if entry["name"].startswith("views/")]
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


def test_footers_of_saved_views_fit_their_schema(tmp_path: Path) -> None:
    with jinx.Writer(tmp_path / "shards", shard_size="1kB") as writer:
        writer.write_many({"i": i, "b": b"x" * 100} for i in range(9000))
    (tmp_path / "lines.jsonl").write_text('{"i": 1}\n', "utf-8")
    shards, lines = jinx.open(tmp_path / "shards"), jinx.open(tmp_path / "lines.jsonl")
    views = {
        "rowless": shards[5:2],
        "long": shards[::-1].with_columns({"q": list(range(9000))}),
        "several": jinx.concat([lines, shards]).drop_columns("b"),
    }
    for name, view in views.items():
        view.save(tmp_path / f"{name}.jinx")
        check(footer_of(tmp_path / f"{name}.jinx"), "footer.schema.json")


def test_views_among_the_vectors_fit_their_schema() -> None:
    """Bad ones may fit it: a schema does not know what is in arrays and bases."""
    for path in [VECTORS / entry["path"] for entry in VIEWS]:
        for main in sorted(path.glob("*.jinx")) if path.is_dir() else [path]:
            check(footer_of(main), "footer.schema.json")
        if path.is_dir():
            check(json.loads((path / "jinx.json").read_text()), "manifest.schema.json")


def test_manifests_fit_their_schema(tmp_path: Path) -> None:
    directory = tmp_path / "set"
    with jinx.Writer(directory, shard_size="1kB") as writer:
        writer.write_many({"i": i, "b": b"x" * 100} for i in range(50))
    manifest = json.loads((directory / "jinx.json").read_text())
    assert len(manifest["shards"]) > 1
    check(manifest, "manifest.schema.json")
