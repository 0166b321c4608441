"""Opens, gets and closes very often and prints what that left behind: `python -m fault.reopening PATH OPENS GETS`."""

import gc
import json
import os
import sys
from pathlib import Path

import jinx

WARM = 2000


def resident() -> int:
    """Bytes of memory that are this process's own."""
    fields = Path("/proc/self/statm").read_text().split()
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


def handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def maps() -> int:
    return sum(".binx" in line or ".jinx" in line for line in Path("/proc/self/maps").read_text().splitlines())


def main(path: Path, opens: int, gets: int) -> None:
    before = handles(), maps()
    for number in range(opens):
        dataset = jinx.open(path, io="mmap" if number % 2 else "pread")
        if number % 10 == 0:
            assert dataset[0]["id"] == "1-0"
    del dataset
    gc.collect()
    left = handles() - before[0], maps() - before[1]
    dataset = jinx.open(path)
    count = len(dataset)
    for number in range(WARM):
        dict(dataset[number % count])
    start = resident()
    for number in range(gets):
        sample = dataset[number % count]
        assert sample["version"] == 1
        sample["blob"]
    gc.collect()
    print(json.dumps({"handles": left[0], "maps": left[1], "grown": resident() - start}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
