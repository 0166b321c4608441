"""Operators on images and traces next to Data-Juicer's: results, and CPU time of the operator code.

python -m bench.operators.images --save docs/benchmarks
"""

import argparse
import os
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from bench.about import about_run, publish, save_directory
from bench.campaign import commit, machine
from bench.environments import python_of, versions
from bench.operators.images import measure

_TARGET, _SHARED, _SECONDS = 10, 1.15, 10
_FIVE = """\
Five filters that decode images take {ratio:.2f} times the time of one (target: at most {shared}).
`image_near_deduplicator` on {hashes:,} given hashes: {hashing} (target: at most {seconds} s)."""
_HOW_COMPARED = """\
Images are JPEG (grey, CMYK, turned by EXIF), PNG (palette, alpha, 16 bits), WebP and GIF."""
# Of the operators on media, traces, personal data and LaTeX, those whose results are compared neither here nor on the
# page of videos and sounds.
_NOT_COMPARED = {
    "Its random numbers are others than theirs; tests check that the same seed gives the same result": [
        "audio_add_gaussian_noise_mapper",
        "image_blur_mapper",
        "nlpaug_en_mapper",
        "nlpcda_zh_mapper",
    ],
    "It makes media, encoded with other settings than theirs; tests decode them and compare them with what was drawn": [
        "audio_ffmpeg_wrapped_mapper",
        "image_face_blur_mapper",
        "video_face_blur_mapper",
        "video_ffmpeg_wrapped_mapper",
        "video_remove_watermark_mapper",
        "video_resize_aspect_ratio_mapper",
        "video_resize_resolution_mapper",
        "video_undistort_mapper",
    ],
    "It makes clips or frames; theirs repeats the frame at each cut, or needs the program FFmpeg; tests read the "
    "number in each frame": [
        "video_extract_frames_mapper",
        "video_split_by_duration_mapper",
        "video_split_by_key_frame_mapper",
        "video_split_by_scene_mapper",
    ],
    "Theirs needs a package that is not in its environment (`torchcodec`, `imagededup`, `dlib`)": [
        "audio_duration_filter",
        "image_deduplicator",
        "video_face_ratio_filter",
    ],
    "It needs a network; tests have a server of their own": [
        "download_file_mapper",
        "s3_download_file_mapper",
        "s3_upload_file_mapper",
    ],
    "Its results are other ones on purpose, as its documentation says": [
        "pii_redaction_mapper",
        "video_deduplicator",
    ],
    "Its parameter is code or an archive of the user; tests state the result": [
        "image_ohem_selector",
        "latex_merge_tex_mapper",
    ],
}


def page(results: dict[str, Any]) -> str:
    """The page as Markdown."""
    pairs = [(name, results["theirs"][name], seconds) for name, seconds in results["ours"].items()]
    rows = [
        f"| `{name}` | {theirs:.3f} | {ours:.3f} | {theirs / ours:.0f} | {_TARGET} |" for name, theirs, ours in pairs
    ]
    one, five = (results["decoding"][count] for count in ("1", "5"))
    hashing = "left out" if results["hashing"] is None else f"{results['hashing']:.1f} s"
    parts = [
        "# Operators on images and traces",
        about_run(results["about"]),
        "## Speed",
        "CPU seconds of the operator code in one process, on JPEG files of 1280 x 960 pixels; of ours the least of 3.",
        "\n".join(["| filter | theirs, s | ours, s | times as fast | target |", "|---|--:|--:|--:|--:|", *rows]),
        _FIVE.format(ratio=five / one, shared=_SHARED, hashes=results["hashes"], hashing=hashing, seconds=_SECONDS),
        "## Results next to Data-Juicer's",
        _HOW_COMPARED,
        _table(results["compared"]),
        "Not compared here or in [Operators on videos and sounds](operators-videos.md):",
        _not_compared(),
    ]
    return "\n\n".join(parts) + "\n"


def _table(outcomes: list[dict[str, Any]]) -> str:
    rows = ["| operator | samples | different | why |", "|---|--:|--:|---|"]
    for outcome in outcomes:
        reasons = " ".join(f"{what} ({count})" for what, count in outcome["reasons"].items())
        unexplained = f" **Not explained: {len(outcome['unexplained'])}.**" if outcome["unexplained"] else ""
        rows.append(f"| `{outcome['case']}` | {outcome['samples']} | {outcome['different']} | {reasons}{unexplained} |")
    return "\n".join(rows)


def _not_compared() -> str:
    rows = ["| operators | why |", "|---|---|"]
    rows += [f"| {', '.join(f'`{name}`' for name in names)} | {why}. |" for why, names in _NOT_COMPARED.items()]
    return "\n".join(rows)


def main() -> None:
    """Command line; ends with an error where a difference has no reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=300, help="of each kind, for the comparison of results")
    parser.add_argument("--photographs", type=int, default=100, help="for the speed of filters")
    parser.add_argument("--hashes", type=int, default=1_000_000, help="for near-deduplication; 0: none")
    parser.add_argument("--save", type=save_directory, help="directory for images.json and images.md")
    options = parser.parse_args()
    started, load = time.monotonic(), os.getloadavg()[0]
    results = measure.run(options.samples, options.photographs, options.hashes)
    theirs = versions(
        python_of(measure.ENVIRONMENT), ("py-data-juicer", "numpy", "datasets", "pillow", "opencv-python-headless")
    )
    results["about"] = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "command": f"python -m bench.operators.images --samples {options.samples} --photographs"
        f" {options.photographs} --hashes {options.hashes}",
        "machine": machine(),
        "load": load,
        "versions": {**theirs, "jinx-data": version("jinx-data")},
        "seconds": round(time.monotonic() - started),
    }
    publish("images", results, page(results), options.save)
    unexplained = sum(len(outcome["unexplained"]) for outcome in results["compared"])
    if unexplained:
        sys.exit(f"{unexplained} differences have no reason")


if __name__ == "__main__":
    main()
