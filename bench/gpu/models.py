"""Do operators keep a GPU busy? `python -m bench.gpu.models [--samples 4096] [--batch 256] [--threads 16]`.

For CLIP ViT-L/14 with random weights: `image_embedding_mapper` over a JINX dataset in one process, and a loop by hand
for the same images. Printed for each, a JSON object: images a second, and the share of the time in which the GPU worked
(its utilization, as `nvidia-smi` tells it), for the operator with its target. It ends with 1 if the target was missed.
`--device cpu --tiny` tries it without a GPU.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import jinx
import jinx_pipeline as jp
from bench.models import loops
from bench.models.made import samples, save_models

_EVERY_MS = 100
_TARGET = 90.0
"""The utilization that the operator is to reach, in percent."""


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads that decode and resize images")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="a tiny model, to try the benchmark")
    options = parser.parse_args()
    import torch

    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("bench: no GPU here: torch.cuda.is_available() is False")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        made = save_models(folder / "models", is_tiny=options.tiny, clip_size="large", only=["clip"])
        rows = samples(folder / "images", options.samples)
        with jinx.Writer(folder / "in.jinx") as writer:
            writer.write_many(rows)
        model = jp.Model(path=str(made.clip), dtype=options.dtype, device=options.device, max_items=options.batch)
        embed = jp.create("image_embedding_mapper", hf_clip=model)
        ctx, roles = jp.Context(device=options.device, threads=options.threads), jp.Roles(media_outside=True)
        loop = loops.clip(made, options.device, options.batch)
        embed(jinx.open(folder / "in.jinx")[:8], ctx=ctx, roles=roles)
        loop(rows[:8])
        has_gpu, found = options.device.startswith("cuda"), dict[str, dict[str, Any]]()
        for name, call in (
            ("jinx", lambda: embed(jinx.open(folder / "in.jinx"), ctx=ctx, roles=roles)),
            ("loop", lambda: loop(rows)),
        ):
            found[name] = _measured(call, len(rows), has_gpu=has_gpu)
            target = {"target": _TARGET} if name == "jinx" and has_gpu else {}
            print(json.dumps({"what": name, **found[name], **target}), flush=True)
        sys.exit(int(has_gpu and found["jinx"]["utilization"] < _TARGET))


def _measured(call: Callable[[], Any], count: int, *, has_gpu: bool) -> dict[str, Any]:
    """Images a second, and the mean utilization of the first GPU while the call runs."""
    command = [
        "nvidia-smi",
        "--id=0",
        "--query-gpu=utilization.gpu",
        "--format=csv,noheader,nounits",
        f"-lms={_EVERY_MS}",
    ]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True) if has_gpu else None
    try:
        started = time.perf_counter()
        call()
        seconds = time.perf_counter() - started
    finally:
        told = "" if watcher is None else _told(watcher)
    shares = [int(line) for line in told.splitlines() if line.strip().isdigit()]
    return {
        "images_per_second": round(count / seconds, 1),
        "utilization": round(mean(shares or [0]), 1) if has_gpu else None,
    }


def _told(watcher: "subprocess.Popen[str]") -> str:
    """What a program has printed until now, which is ended."""
    watcher.terminate()
    told, _ = watcher.communicate()
    return told


if __name__ == "__main__":
    main()
