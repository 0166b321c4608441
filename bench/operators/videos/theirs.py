"""Data-Juicer's statistics and CPU times, in its environment.

python -m bench.operators.videos.theirs DIRECTORY RESULTS.json
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.operators.theirs import STATS, register

FILTERS = {
    "video_resolution_filter": {},
    "video_aspect_ratio_filter": {},
    "video_duration_filter": {"video_backend": "av"},
    "video_motion_score_filter": {},
}
_UNIFORM = {"frame_sampling_method": "uniform", "frame_num": 3}
# How they are called on the page; the mapper, the parameter that names a directory for what it makes, and others.
MAPPERS = {
    "video_split_by_key_frame_mapper": ("video_split_by_key_frame_mapper", "save_dir", {}),
    "video_extract_frames_mapper": ("video_extract_frames_mapper", "frame_dir", {}),
    "video_extract_frames_mapper, 3 uniform": ("video_extract_frames_mapper", "frame_dir", _UNIFORM),
}
ROUNDS = 10


def statistics(operator: Any, path: str, column: str = "videos") -> Any:
    """The statistics of a medium, or what went wrong."""
    try:
        found = operator.compute_stats_single({column: [path], STATS: {}})[STATS]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is theirs and the result
        return f"error: {type(error).__name__}"
    return {name: [float(value) for value in values] for name, values in found.items()}


def mapped(operator: Any, path: str) -> None:
    """Run a mapper on a video."""
    sample = {"videos": [path], "text": "", "__dj__meta__": {}, "__dj__source_file__": [path]}
    if operator.is_batched_op():
        operator.process_batched({name: [value] for name, value in sample.items()})
    else:
        operator.process_single(sample)


def timed(call: Any, rounds: int) -> float:
    """The least CPU seconds of a call."""
    found: list[float] = []
    for _ in range(rounds):
        started = time.process_time()
        call()
        found.append(time.process_time() - started)
    return min(found)


def main() -> None:
    """All files of a directory."""
    register()
    import soundfile
    from data_juicer.ops.base_op import OPERATORS
    from data_juicer.ops.filter.audio_nmf_snr_filter import compute_nmf_snr

    directory = Path(sys.argv[1])
    results: dict[str, Any] = {}
    times: dict[str, float] = {}
    large = str(directory / "large" / "video.mp4")
    for name, parameters in FILTERS.items():
        operator = OPERATORS.modules[name](**parameters, num_proc=1)
        results[name] = {path.name: statistics(operator, str(path)) for path in (directory / "videos").iterdir()}
        times[name] = timed(lambda operator=operator: statistics(operator, large), 1 if "motion" in name else ROUNDS)

    for label, (name, place, parameters) in MAPPERS.items():
        with tempfile.TemporaryDirectory() as made:
            chosen = {**parameters, place: made, "legacy_split_by_text_token": False}
            operator = OPERATORS.modules[name](**chosen, num_proc=1)
            rounds = 2 if "key_frame" in name else ROUNDS
            times[label] = timed(lambda operator=operator: mapped(operator, large), rounds)

    size = OPERATORS.modules["audio_size_filter"](num_proc=1)
    results["audio_size_filter"] = {
        path.name: statistics(size, str(path), "audios") for path in (directory / "sounds").iterdir()
    }

    def noise(path: Path) -> float:
        # Its own way to load audio needs torchcodec.
        return float(compute_nmf_snr(soundfile.read(path, dtype="float32", always_2d=True)[0].mean(axis=1), 500))

    results["audio_nmf_snr_filter"] = {
        path.name: {"audio_nmf_snr": [noise(path)]} for path in (directory / "sounds").iterdir()
    }
    times["audio_nmf_snr_filter"] = timed(lambda: noise(directory / "large" / "sound.wav"), ROUNDS)
    Path(sys.argv[2]).write_text(json.dumps({"results": results, "times": times}), encoding="utf-8")


if __name__ == "__main__":
    main()
