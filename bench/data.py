"""The same rows as a JINX pair and as the Arrow file that Hugging Face `datasets` maps."""

from dataclasses import dataclass
from pathlib import Path

import datasets

import draw
import jinx


@dataclass(frozen=True)
class Files:
    """Where the same rows stand in each form."""

    parquet: Path
    jinx: Path
    arrow: Path


def make(folder: Path, samples: int) -> Files:
    """Draw `samples` rows and write every form of them into `folder`."""
    files = Files(folder / "in.parquet", folder / "in.jinx", folder / "arrow")
    draw.write_parquet(files.parquet, samples=samples, processes=draw.available_cores())
    jinx.convert(str(files.parquet), str(files.jinx), sidecar=True)
    rows = datasets.Dataset.from_parquet(str(files.parquet), cache_dir=str(folder / "cache"))
    rows.save_to_disk(str(files.arrow))
    return files
