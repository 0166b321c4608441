"""Filters on the metadata of many image samples with a view as output, and filters that decode each image once."""

import io
import mmap
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

import jinx
import jinx_pipeline as jp
from bench.pipeline.program import measured

_IMAGE = np.random.default_rng(1).bytes(200)


def samples(folder: Path, count: int) -> Path:
    """Samples with metadata and an image each, made at first need."""
    path = folder / f"images-{count}.jinx"
    if not path.exists():
        dice = np.random.default_rng(0)
        sizes = dice.integers(100, 2000, (count, 2)).tolist()
        scores = dice.random(count).round(4).tolist()
        with jinx.Writer(path, indexed=["width", "height", "score"]) as writer:
            writer.write_many(
                {"id": at, "width": width, "height": height, "score": score, "image": _IMAGE}
                for at, ((width, height), score) in enumerate(zip(sizes, scores, strict=True))
            )
    return path


_VIEW = """
import sys
import jinx_pipeline as jp
ops = [
    jp.ops.SpecifiedNumericFieldFilter(field_key="width", min_value=256),
    jp.ops.SpecifiedNumericFieldFilter(field_key="height", min_value=256),
    jp.ops.SpecifiedNumericFieldFilter(field_key="score", min_value=0.3),
]
flow = jp.Dataset.load(sys.argv[1], images="image").process(ops)
result = flow.export(sys.argv[2], kind="view", overwrite=True, restart=True, workers=2)
print(result.rows_out, len(result.bad_rows))
"""


def view(folder: Path, small: int, large: int) -> dict[str, Any]:
    """Three metadata filters over few and over many samples: the marginal cost, and what was read of the images."""
    found: dict[str, Any] = {"small": small, "large": large}
    for name, count in (("small", small), ("large", large)):
        path = samples(folder, count)
        out = folder / "view.jinx"
        _without_images(path)
        done = measured([sys.executable, "-c", _VIEW, str(path), str(out)])
        if done.code or done.output.split()[-1] != "0":
            raise RuntimeError(done.output)
        found[f"{name}_cpu"] = done.cpu
        found[f"{name}_memory"] = done.memory
        found["kept"] = int(done.output.split()[-2])
        shutil.rmtree(f"{out}.work", ignore_errors=True)
    found["rate"] = (large - small) / (found["large_cpu"] - found["small_cpu"])
    return found


def _without_images(path: Path) -> None:
    """Zeros in place of all images: a filter that read one would fail, for its checksum is another."""
    with path.with_suffix(".binx").open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        at, stop = data.find(_IMAGE), data.rfind(_IMAGE) + len(_IMAGE)
        while 0 <= at < stop:
            size = min(stop - at, 1 << 20)
            data[at : at + size] = bytes(size)
            at += size


class _Counted:
    """Counts how often Pillow decodes an image."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Self:
        from PIL.ImageFile import ImageFile

        self._load = load = ImageFile.load

        def counted(image: ImageFile) -> Any:
            self.count += bool(image.tile)
            return load(image)

        ImageFile.load = counted  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        from PIL.ImageFile import ImageFile

        ImageFile.load = self._load  # type: ignore[method-assign]


class _Pixel(jp.Filter):
    """Looks at a pixel; each place is another statistic, as with five filters of five kinds."""

    place: int = 0

    batch_size = 64
    stats: ClassVar[dict[str, str]] = {"pixel": "float64"}

    @property
    def reads(self) -> tuple[str, ...]:
        return ("images",)

    def compute_stats(self, batch: Any, ctx: Any) -> Any:
        del ctx
        return {"pixel": [media[0].image().getpixel((self.place, 0))[0] for media in batch.media("images")]}

    def keep(self, stats: Any) -> Any:
        return np.ones(len(stats["pixel"]), dtype=np.bool_)


def decoding(count: int, rounds: int = 5) -> dict[str, Any]:
    """Five filters that look at pixels, over JPEG images, against one such filter and against Pillow alone."""
    from PIL import Image

    dice = np.random.default_rng(0)
    jpegs: list[bytes] = []
    for _ in range(count):
        out = io.BytesIO()
        coarse = Image.fromarray(dice.integers(0, 256, (40, 60, 3), dtype=np.uint8))
        coarse.resize((600, 400)).save(out, "jpeg", quality=85)
        jpegs.append(out.getvalue())
    times: dict[str, list[float]] = {"pillow": [], "one": [], "five": []}
    rows = [{"images": [jpeg]} for jpeg in jpegs]
    decodes = _Counted()
    for _ in range(rounds):
        started = time.process_time()
        for jpeg in jpegs:
            Image.open(io.BytesIO(jpeg)).load()
        times["pillow"].append(time.process_time() - started)
        for name, filters in (("one", 1), ("five", 5)):
            fused = jp.FusedOp(operators=[_Pixel(place=at) for at in range(filters)])
            with decodes:
                started = time.process_time()
                kept = fused(rows)
                times[name].append(time.process_time() - started)
            if len(kept) != count:
                raise RuntimeError(f"{len(kept)} of {count} images passed filters that keep all")
    median = {name: statistics.median(values) for name, values in times.items()}
    return {
        "images": count,
        **median,
        "ratio_one": median["five"] / median["one"],
        "ratio_pillow": median["five"] / median["pillow"],
        "decodes_per_image": decodes.count / (2 * rounds * count),
    }
