"""The same images and conversations as JINX with lengths, as litdata's chunks and as Mosaic Data Shards.

Runs in the environment of the loaders: `python -m bench.packing.feed_stores FOLDER SAMPLES`.
"""

import json
import sys
from pathlib import Path

COLUMNS = ["image", "messages"]
IMAGE_RULE = "fixed:64"


def make(folder: Path, samples: int) -> None:
    """Draw the data, make a tokenizer of its words, and write each store."""
    import draw
    import jinx
    import train_vlm
    from bench.peers.litdata import PEERS as LITDATA
    from bench.peers.streaming import PEERS as STREAMING

    source = folder / "in.parquet"
    draw.write_parquet(source, samples=samples, processes=draw.available_cores())
    jinx.convert(source, folder / "train.jinx")
    train_vlm.make_tokenizer(folder / "model", jinx.open(folder / "train.jinx"))
    jinx.annotate(folder / "train.jinx", folder / "lengths.jinx", tokenizer=folder / "model", image_rule=IMAGE_RULE)
    LITDATA[0].write(source, folder)
    STREAMING[0].write(source, folder)


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps({"samples": int(sys.argv[2])}))
