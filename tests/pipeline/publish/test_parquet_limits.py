"""An export to Parquet names what its readers would refuse, and publishes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

import jinx_pipeline as jp


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": 1, "d": json.loads("[" * 60 + "]" * 60)}, r"sample 1, column 'd': lists and dicts are nested too deep"),
        ({"id": 1, "a\0b": 1}, r"column 'a\\u\{0\}b': .*NUL in its name; rename or drop"),
    ],
    ids=["deep", "nul"],
)
def test_an_export_that_no_reader_opens_is_refused(tmp_path: Path, row: dict[str, Any], message: str):
    (tmp_path / "in.jsonl").write_text(f'{{"id":0}}\n{json.dumps(row)}\n')
    flow = jp.Dataset.load(tmp_path / "in.jsonl")
    with pytest.raises(Exception, match=message):
        flow.export(tmp_path / "out.parquet", workers=1)
    assert not (tmp_path / "out.parquet").exists()
