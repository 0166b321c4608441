"""Our statistics and CPU times.

python -m bench.operators.videos.ours DIRECTORY RESULTS.json
"""

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from bench.operators.videos.theirs import FILTERS, MAPPERS, ROUNDS, STATS, timed
from jinx_pipeline import Batch, Context, create

_HEADERS = {"video_resolution_filter", "video_aspect_ratio_filter", "video_duration_filter"}
_SIZE = "audio_size_filter"
_BATCH = 16


def main() -> None:
    """All files of a directory."""
    directory = Path(sys.argv[1])
    results: dict[str, Any] = {}
    times: dict[str, float] = {}
    for name in (*FILTERS, "audio_nmf_snr_filter", _SIZE):
        operator, column = create(name), "videos" if name in FILTERS else "audios"
        folder, large = ("videos", "video.mp4") if name in FILTERS else ("sounds", "sound.wav")
        results[name] = {path.name: _statistics(operator, column, path) for path in (directory / folder).iterdir()}
        if name == _SIZE:  # theirs and ours ask the file system
            continue
        count = _BATCH if name in _HEADERS else 1
        samples = [{column: [str(directory / "large" / large)]}] * count
        measure = partial(_measure, operator, samples)
        times[name] = timed(measure, 2 if "motion" in name else ROUNDS) / count
    for label, (name, place, parameters) in MAPPERS.items():
        with tempfile.TemporaryDirectory() as made:
            mapper = create(name, **parameters, **{place: made})
            sample = {"videos": [str(directory / "large" / "video.mp4")]}
            times[label] = timed(partial(mapper, [sample]), 2 if "key_frame" in name else ROUNDS)
    Path(sys.argv[2]).write_text(json.dumps({"results": results, "times": times}), encoding="utf-8")


def _statistics(operator: Any, column: str, path: Path) -> dict[str, list[float]]:
    return operator([{column: [str(path)]}], keep_stats=True, drop=False)[0][STATS]


def _measure(operator: Any, samples: list[dict[str, Any]]) -> None:
    operator.compute_stats(Batch(samples), Context())


if __name__ == "__main__":
    main()
