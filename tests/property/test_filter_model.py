"""Filters select what a model in Python selects, over every kind of file and view."""

import json
import math
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

import jinx
import jinx.mds
from jinx.errors import JinxError
from property.expressions import COLUMNS, EXPRESSIONS, ROWS, TRUE, Part, Row


def write(kind: str, directory: Path, rows: list[Row]) -> Path:
    options: dict[str, Any] = {
        "pair": {},
        "indexed paths": {"indexed": ["s", "m.n", "m.s"]},
        "no index": {"only_indexed": []},
        "directory": {"shard_size": 200, "indexed": ["m.n"]},
    }
    numbered = [{"id": index, **row} for index, row in enumerate(rows)]
    if kind == "JSON lines":
        (directory / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in numbered), "utf-8")
        return directory / "a.jsonl"
    if kind == "MDS":
        columns = {"id": "int", **dict.fromkeys(COLUMNS, "json")}
        with jinx.mds.MDSWriter(columns=columns, out=str(directory / "mds"), size_limit=500) as mds:
            for row in numbered:
                mds.write({**dict.fromkeys(COLUMNS), **row})
        return directory / "mds"
    with jinx.Writer(directory / ("shards" if kind == "directory" else "a.jinx"), **options[kind]) as writer:
        writer.write_many(numbered)
    return directory / ("shards" if kind == "directory" else "a.jinx")


def is_json(value: Any) -> bool:
    """JSON has no other floats."""
    return not isinstance(value, float) or math.isfinite(value)


def expected(part: Part, rows: list[Row], positions: list[int]) -> list[int] | None:
    """The positions that are selected; None where an answer depends on what cannot be compared."""
    answers = [part.of(row) for row in rows]
    if any(TRUE in answers[i] and len(answers[i]) > 1 for i in positions):
        return None
    return [i for i in positions if answers[i] == {TRUE}]


def ids(samples: Callable[[], Iterable[Any]]) -> tuple[list[int] | None, JinxError | None]:
    """The samples that are selected, or why it cannot be said."""
    try:
        return [sample["id"] for sample in samples()], None
    except JinxError as error:
        return None, error


KINDS = st.sampled_from(["pair", "indexed paths", "no index", "directory", "JSON lines", "MDS"])


@given(kind=KINDS, rows=ROWS, part=EXPRESSIONS, data=st.data())
def test_filters_select_what_the_model_selects(kind: str, rows: list[Row], part: Part, data: st.DataObject) -> None:
    if kind == "JSON lines":
        rows = [{name: value for name, value in row.items() if is_json(value)} for row in rows]
    if kind == "MDS":
        rows = [{**dict.fromkeys(COLUMNS), **row} for row in rows]
    # A path that no sample has is an error of its own.
    rows = [*rows, dict.fromkeys(COLUMNS) | {"m": {"n": None, "s": None, "a.b": None}}]
    with tempfile.TemporaryDirectory() as directory:
        path = write(kind, Path(directory), rows)
        ds = jinx.open(path)
        positions = data.draw(
            st.one_of(st.just(list(range(len(rows)))), st.lists(st.integers(0, len(rows) - 1), max_size=20))
        )
        view = ds if positions == list(range(len(rows))) else ds[positions]
        wanted = expected(part, rows, positions)
        event("error" if wanted is None else "some" if wanted and len(wanted) < len(positions) else "all or none")
        streamed, failure = ids(lambda: jinx.stream(path, ["id"], where=part.text))
        assert streamed == expected(part, rows, list(range(len(rows)))), (part.text, failure)
        found, failure = ids(lambda: view.filter(part.text))
        # Only of this path the values may be of another kind than the expression takes them for.
        if failure is not None and failure.sample is None and "mixed" in part.text:  # pyright: ignore[reportAttributeAccessIssue]
            return
        assert found == wanted, (part.text, failure)
