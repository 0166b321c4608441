"""The cost of making samples and touching columns, on a small file in the page cache."""

from typing import Any

import pytest

import jinx

SAMPLES = 2000
IMAGE = bytes(range(256)) * 184


def _messages(index: int) -> list[dict[str, Any]]:
    words = "a small red square beside the old tree " * 3
    roles = ("user", "assistant") * 3
    return [{"role": role, "content": [{"type": "text", "text": f"{index} {words}"}]} for role in roles]


@pytest.fixture(scope="module")
def ds(tmp_path_factory: pytest.TempPathFactory) -> jinx.Dataset:
    """2,000 samples of 47 kB of image and 1.2 kB of the rest."""
    path = tmp_path_factory.mktemp("micro") / "data.jinx"
    with jinx.Writer(str(path), compression=None) as writer:
        for index in range(SAMPLES):
            writer.write(
                {
                    "id": f"llava-{index:07d}",
                    "image": index.to_bytes(4, "big") + IMAGE,
                    "messages": _messages(index),
                    "source": "coco/train2017",
                    "width": 640,
                    "height": 480,
                    "score": index / SAMPLES,
                }
            )
    return jinx.open(str(path))


def bench_make_samples(benchmark: Any, ds: jinx.Dataset) -> None:
    """Iterate and touch nothing."""
    benchmark(lambda: sum(1 for _ in ds))


def bench_make_sample_at_index(benchmark: Any, ds: jinx.Dataset) -> None:
    """One sample by position."""
    benchmark(ds.__getitem__, SAMPLES // 2)


@pytest.mark.parametrize("field", ["id", "score", "messages", "image"])
def bench_touch_field(benchmark: Any, ds: jinx.Dataset, field: str) -> None:
    """One column of every sample."""
    benchmark(lambda: sum(sample[field] is not None for sample in ds))


def bench_count_messages(benchmark: Any, ds: jinx.Dataset) -> None:
    """The number of messages without building them."""
    benchmark(lambda: sum(sample.length("messages") for sample in ds))


def bench_touch_all_fields(benchmark: Any, ds: jinx.Dataset) -> None:
    """Every column of every sample, in order."""
    benchmark(lambda: sum(len(dict(sample)) for sample in ds))


def bench_take(benchmark: Any, ds: jinx.Dataset) -> None:
    """Sixty-four samples in one call, all columns."""
    order = [index * 997 % SAMPLES for index in range(64)]
    benchmark(lambda: sum(len(dict(sample)) for sample in ds.take(order)))


def bench_lengths(benchmark: Any, ds: jinx.Dataset) -> None:
    """The column of lengths."""
    benchmark(ds.lengths, "messages")
