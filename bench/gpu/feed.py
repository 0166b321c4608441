"""Does the loader keep a GPU fed? `python -m bench.gpu.feed DATA.jinx [--step-ms 50] [--batch 64]`.

For torch's DataLoader over JINX with several workers and, where this version has it, for `jinx.torch.Loader`: batches
of raw image bytes go to pinned memory and from there to the GPU on a stream of their own, while the GPU multiplies
matrices for about `--step-ms` a batch, as a training step would. Printed for each, a JSON object a line: samples a
second, MB a second into the GPU, and the share of the time in which the GPU had nothing to do.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import jinx

_SIDE = 4096


def main() -> None:
    """Measure every loader there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--column", default="image", help="the column whose bytes go to the GPU (default: image)")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--step-ms", type=float, default=50, help="how long the GPU works on a batch")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 2, 8, 16])
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        sys.exit("bench: no GPU here: torch.cuda.is_available() is False")
    ds = jinx.open(options.path).select_columns([options.column])
    step = _step(options.step_ms / 1e3)
    for workers in options.workers:
        for name, loader in _loaders(ds, options.batch, workers).items():
            figures = _feed(loader, options.column, options.batches, step)
            print(json.dumps({"loader": name, "workers": workers, **figures}), flush=True)


def _loaders(ds: Any, batch: int, workers: int) -> dict[str, Iterable[list[Any]]]:
    import torch.utils.data

    import jinx.torch

    found: dict[str, Iterable[list[Any]]] = {
        "torch DataLoader": torch.utils.data.DataLoader(ds, batch_size=batch, num_workers=workers, collate_fn=list)
    }
    own = getattr(jinx.torch, "Loader", None)
    if own is not None and workers:
        found["jinx.torch.Loader"] = own(ds, batch_size=batch, num_workers=workers, collate_fn=list)
    return found


def _step(seconds: float) -> Callable[[], None]:
    """Work that keeps the GPU busy for about that long, without the host waiting."""
    import torch

    left = torch.randn(_SIDE, _SIDE, device="cuda", dtype=torch.bfloat16)
    right = torch.randn_like(left)
    for _ in range(3):
        left @ right
    torch.cuda.synchronize()
    before = time.perf_counter()
    for _ in range(20):
        left @ right
    torch.cuda.synchronize()
    times = max(round(seconds / ((time.perf_counter() - before) / 20)), 1)

    def work() -> None:
        for _ in range(times):
            left @ right

    return work


def _feed(loader: Iterable[list[Any]], field: str, batches: int, step: Callable[[], None]) -> dict[str, float]:
    import torch

    copies = torch.cuda.Stream()
    events: list[tuple[Any, Any]] = []
    samples = moved = 0
    started = time.perf_counter()
    for number, batch in enumerate(loader):
        if number == batches:
            break
        data = torch.frombuffer(bytearray(b"".join(sample[field] for sample in batch)), dtype=torch.uint8).pin_memory()
        with torch.cuda.stream(copies):
            there = data.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(copies)
        there.record_stream(torch.cuda.current_stream())
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        step()
        end.record()
        events.append((begin, end))
        samples, moved = samples + len(batch), moved + data.numel()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - started
    busy = sum(begin.elapsed_time(end) for begin, end in events) / 1e3
    return {"samples_s": samples / seconds, "mb_s": moved / seconds / 1e6, "gpu_idle": 1 - busy / seconds}


if __name__ == "__main__":
    main()
