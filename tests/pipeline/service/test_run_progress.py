"""The progress of a run, read from its events as they are written."""

import json

from jinx_pipeline.service.run_progress import RunProgress
from jinx_pipeline.service.types import Progress


def lines(*events: dict) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def test_progress_follows_the_events(tmp_path):
    path = tmp_path / "events.jsonl"
    progress = RunProgress(path)
    assert progress.now() is None
    block = {"kind": "block", "rows": 10, "rows_out": 4}
    path.write_text(
        lines({"kind": "blocks", "rows": 100}, block, {"kind": "bad_row"}, {"kind": "ready"}) + '{"kind": "bl'
    )
    assert progress.now() == Progress(100, 10, 4, 1)
    with path.open("a") as file:
        file.write('ock", "rows": 5, "rows_out": 5}\n')
    assert progress.now() == progress.now() == Progress(100, 15, 9, 1)
    path.write_text(lines({"kind": "blocks", "rows": 7}))  # started over
    assert progress.now() == Progress(7, 0, 0, 0)
