"""Programs that do the same as `video-clips` without it: a process for each core, and Ray Data as in its documentation.

    python -m bench.graph.programs naive FOLDER WORKERS
    python -m bench.graph.programs ray FOLDER WORKERS
    python -m bench.graph.programs limit FOLDER WORKERS

All cut and measure with the same functions, store each clip in a file, and list it in SQLite.
"""

import json
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from hashlib import blake2b
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import av
import numpy as np

import jinx_pipeline as jp
from jinx_pipeline.operators.video.clips import cut
from jinx_pipeline.sample.media import Media

_COLUMNS = "source TEXT, start REAL, stop REAL, file TEXT, seconds REAL, motion REAL, PRIMARY KEY (source, start)"
Row = tuple[str, float, float, str, float, float]


def clips_of(path: str, folder: str) -> list[Row]:
    """Cut a video, store its clips, and measure them; returns a row for each."""
    splitter: Any = jp.create("video_split_by_scene_mapper", min_seconds=0.5, max_seconds=60)
    motion = jp.create("video_motion_score_filter", min_score=0, size=224)
    medium = Media(path, jp.Roles(media_root=folder))
    rows: list[Row] = []
    for clip in cut(medium, splitter.name, splitter.spans_of(medium)):
        data = clip.file if isinstance(clip.file, bytes) else clip.file.read()
        name = f"{blake2b(data, digest_size=16).hexdigest()}{clip.suffix}"
        (Path(folder) / "clips" / name).write_bytes(data)
        [marked] = motion([{"videos": [data]}], keep_stats=True, drop=False)
        score = float(marked["__dj__stats__"]["video_motion_score"][0])
        rows.append((path, clip.start, clip.stop, f"clips/{name}", clip.stop - clip.start, score))
    return rows


def list_clips(folder: str, rows: list[Row]) -> None:
    """Add rows to the table."""
    with closing(sqlite3.connect(f"{folder}/other.db", timeout=60)) as database, database:
        database.execute(f"CREATE TABLE IF NOT EXISTS clips ({_COLUMNS})")
        database.executemany("INSERT OR REPLACE INTO clips VALUES (?, ?, ?, ?, ?, ?)", rows)


def naive(folder: str, names: list[str], workers: int) -> None:
    """One task for each video, in as many processes as cores."""
    with Pool(workers) as pool:
        for rows in pool.starmap(clips_of, [(name, folder) for name in names], chunksize=1):
            list_clips(folder, rows)


def with_ray(folder: str, names: list[str], workers: int) -> None:
    """As in the documentation of Ray Data: videos and clips are blobs in blocks."""
    import ray

    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)

    def split(row: dict[str, Any]) -> list[dict[str, Any]]:
        splitter: Any = jp.create("video_split_by_scene_mapper", min_seconds=0.5, max_seconds=60)
        medium = Media(row["bytes"], jp.Roles())
        clips = cut(medium, splitter.name, splitter.spans_of(medium))
        return [
            {"source": row["path"], "start": clip.start, "stop": clip.stop, "suffix": clip.suffix, "data": data}
            for clip in clips
            for data in [clip.file if isinstance(clip.file, bytes) else clip.file.read()]
        ]

    def measure(row: dict[str, Any]) -> dict[str, Any]:
        motion = jp.create("video_motion_score_filter", min_score=0, size=224)
        [marked] = motion([{"videos": [row["data"]]}], keep_stats=True, drop=False)
        return {**row, "motion": float(marked["__dj__stats__"]["video_motion_score"][0])}

    def store(batch: dict[str, Any]) -> dict[str, Any]:
        rows: list[Row] = []
        for source, start, stop, suffix, data, motion in zip(
            *(batch[name] for name in ("source", "start", "stop", "suffix", "data", "motion")), strict=True
        ):
            name = f"{blake2b(data, digest_size=16).hexdigest()}{suffix}"
            (Path(folder) / "clips" / name).write_bytes(data)
            rows.append((source, float(start), float(stop), f"clips/{name}", float(stop - start), float(motion)))
        list_clips(folder, rows)
        return {"stored": np.array([len(rows)])}

    paths = [str(Path(folder) / name) for name in names]
    videos = ray.data.read_binary_files(paths, include_paths=True)
    videos.flat_map(split).map(measure).map_batches(store).materialize()
    ray.shutdown()


def limit(folder: str, names: list[str], workers: int) -> None:
    """Decode each video three times: for scenes, cuts and scores; encode all frames. Prints CPU seconds.

    Links to one file are measured once. All cores are busy, because two of them may be two threads of one.
    """
    paths = [Path(folder, name) for name in names]
    copies = Counter(path.stat().st_ino for path in paths)
    files = sorted({path.stat().st_ino: path for path in paths}.items(), key=lambda file: -file[1].stat().st_size)
    with Pool(workers) as pool:
        seconds = pool.map(_seconds_of, [str(path) for _, path in files], chunksize=1)
    decode, encode = (
        sum(of_file[kind] * copies[number] for (number, _), of_file in zip(files, seconds, strict=True))
        for kind in (0, 1)
    )
    print(json.dumps({"decode": decode, "encode": encode}))


def _seconds_of(path: str) -> tuple[float, float]:
    started = time.process_time()
    for _ in range(3):
        with av.open(path) as source:
            source.streams.video[0].thread_count = 1
            for _ in source.decode(video=0):
                pass
    return time.process_time() - started, _encoding_seconds(path)


def _encoding_seconds(path: str) -> float:
    """CPU time to encode all frames as clips are."""
    seconds = 0.0
    with av.open(path) as source, av.open("/dev/null", "w", format="null") as target:
        source.streams.video[0].thread_count = 1
        options = {"crf": "18", "preset": "veryfast", "threads": "1"}
        stream: Any = target.add_stream("libx264", rate=source.streams.video[0].average_rate, options=options)
        first = source.streams.video[0].codec_context
        stream.width, stream.height, stream.pix_fmt = first.width, first.height, "yuv420p"
        for frame in source.decode(video=0):
            written: Any = frame.reformat(format="yuv420p")
            written.pict_type = 0
            started = time.process_time()
            target.mux(stream.encode(written))
            seconds += time.process_time() - started
        target.mux(stream.encode(None))
    return seconds


PROGRAMS: dict[str, Callable[[str, list[str], int], None]] = {"naive": naive, "ray": with_ray, "limit": limit}


if __name__ == "__main__":
    kind, place, count = sys.argv[1:]
    (Path(place) / "clips").mkdir(exist_ok=True)
    listed = [f"videos/{path.name}" for path in sorted(Path(place, "videos").iterdir())]
    PROGRAMS[kind](place, listed, int(count))
