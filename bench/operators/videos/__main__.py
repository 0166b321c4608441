"""Operators on videos and sounds next to Data-Juicer's: statistics, and CPU time of the operator code.

python -m bench.operators.videos --save docs/benchmarks
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.about import about_run, publish, save_directory
from bench.campaign import commit, machine
from bench.environments import ROOT, python_of, versions
from bench.operators.videos import media
from bench.operators.videos.theirs import FILTERS

ENVIRONMENT = "datajuicer-media"
TARGETS = dict.fromkeys(FILTERS, 20) | {
    "video_motion_score_filter": 3,
    "video_split_by_key_frame_mapper": 20,
    "video_extract_frames_mapper": 2,
    "video_extract_frames_mapper, 3 uniform": 2,
    "audio_nmf_snr_filter": 3,
}
REASONS = {
    "rotation": "Theirs takes the size before the rotation, ours as the video is shown.",
    "error": "Theirs fails (`TypeError`) where the header has no duration of the picture.",
    "pairs": "Theirs also compares the first frame with the second, whatever the sampling.",
    "iterations": "The descent of NMF stops by rounding at another step: less than 0.1 dB.",
}
HOW = """\
CPU seconds of the operator code in one process, on a 10 s video of 1280 x 720 pixels with 30 frames a second and a key
frame every 250, and on 20 s of noisy sound at 16 kHz; the least of 10, of 2 for the two that take theirs seconds.
Filters compute statistics without deciding what is kept, ours those of headers on batches of 16. Theirs reads
durations with `video_backend: av`. BLAS has one thread. Frames are extracted with default parameters, which take
the key frames, and at three times. For these, 134 of the 300 frames must be decoded, because wanted ones are predicted
from them: four fifths of our time, which no program that uses FFmpeg can save. Theirs decodes 200."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def reason(name: str, file: str, theirs: Any, ours: dict[str, list[float]]) -> str | None:
    """The key of the reason why statistics differ; None: there is none."""
    if isinstance(theirs, str):
        return "error" if name == "video_duration_filter" else None
    if file.startswith("rotated") and name in {"video_resolution_filter", "video_aspect_ratio_filter"}:
        return "rotation"
    if name == "audio_nmf_snr_filter" and abs(theirs["audio_nmf_snr"][0] - ours["audio_nmf_snr"][0]) < 0.1:  # noqa: PLR2004 - dB
        return "iterations"
    return "pairs" if name == "video_motion_score_filter" else None


def are_equal(theirs: Any, ours: dict[str, list[float]]) -> bool:
    """Whether statistics are equal but for rounding."""
    return isinstance(theirs, dict) and all(
        abs(value - other) <= 1e-4 * max(1, abs(other))
        for name, values in ours.items()
        for value, other in zip(values, theirs[name], strict=True)
    )


def compared(theirs: dict[str, Any], ours: dict[str, Any]) -> list[dict[str, Any]]:
    """For each filter the number of files, of differences, and the reasons with their numbers."""
    rows: list[dict[str, Any]] = []
    for name, files in ours.items():
        other = {file: stats for file, stats in files.items() if not are_equal(theirs[name][file], stats)}
        found = [reason(name, file, theirs[name][file], stats) for file, stats in other.items()]
        counts = {key: found.count(key) for key in dict.fromkeys(found)}
        rows.append({"filter": name, "files": len(files), "different": len(other), "reasons": counts})
    return rows


def page(results: dict[str, Any]) -> str:
    """The page as Markdown."""
    speed = ["| operator | theirs, s | ours, s | times as fast | target | reached |", "|---|--:|--:|--:|--:|---|"]
    for name, seconds in results["ours"].items():
        other, target = results["theirs"][name], TARGETS[name]
        reached = "yes" if other / seconds >= target else "no"
        speed.append(f"| `{name}` | {other:.4f} | {seconds:.4f} | {other / seconds:.1f} | {target} | {reached} |")
    same = ["| filter | files | different | why |", "|---|--:|--:|---|"]
    for row in results["compared"]:
        why = " ".join(f"{REASONS.get(key, '**not explained**')} ({count})" for key, count in row["reasons"].items())
        same.append(f"| `{row['filter']}` | {row['files']} | {row['different']} | {why} |")
    title = "# Operators on videos and sounds"
    parts = [title, about_run(results["about"]), "## Speed", HOW, "\n".join(speed)]
    return "\n\n".join([*parts, "## Statistics next to Data-Juicer's", "\n".join(same)]) + "\n"


def _measured(python: Path, side: str, directory: Path) -> dict[str, Any]:
    """Statistics and CPU times of a side, measured in a process of its own."""
    answer = directory / f"{side}.json"
    command = [python, "-m", f"bench.operators.videos.{side}", directory, answer]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} if side == "theirs" else {}
    subprocess.run(command, cwd=ROOT, env=os.environ | ONE_THREAD, check=True, **quiet)
    return json.loads(answer.read_text(encoding="utf-8"))


def main() -> None:
    """Command line; ends with an error where a difference has no reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=150, help="videos, and sounds, besides one of each kind")
    parser.add_argument("--save", type=save_directory, help="directory for operators-videos.json and .md")
    options = parser.parse_args()
    started, load, python = time.monotonic(), os.getloadavg()[0], python_of(ENVIRONMENT)
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        media.make(directory, options.files)
        theirs = _measured(python, "theirs", directory)
        ours = _measured(Path(sys.executable), "ours", directory)
    results = {
        "about": {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "command": f"python -m bench.operators.videos --files {options.files}",
            "machine": machine(),
            "load": load,
            "versions": {**versions(python, ("py-data-juicer", "av")), "jinx-data": version("jinx-data")},
            "seconds": round(time.monotonic() - started),
        },
        "theirs": theirs["times"],
        "ours": ours["times"],
        "compared": compared(theirs["results"], ours["results"]),
    }
    publish("operators-videos", results, page(results), options.save)
    unexplained = sum(row["reasons"].get(None, 0) for row in results["compared"])
    if unexplained:
        sys.exit(f"{unexplained} differences have no reason")


if __name__ == "__main__":
    main()
