"""Writes the media samples as MLDataForge does, in the environment that has it.

python -m bench.order.old PLACE COUNT
"""

import sys
from pathlib import Path

from bench.order.rows import media_rows

# As the reader of bench/peers/mldataforge.py has it.
SIDECAR_BYTES = 1 << 14


def main() -> None:
    """Write one file without compression and one with zstd."""
    from mldataforge.utils import save_jinx

    place, count = Path(sys.argv[1]), int(sys.argv[2])
    for name in ("none", "zstd"):
        (place / f"old-{name}").mkdir()
        out = str(place / f"old-{name}" / "in.jinx")
        save_jinx(media_rows(count), out, compression=name, binary_threshold=SIDECAR_BYTES)


if __name__ == "__main__":
    main()
