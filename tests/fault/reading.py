"""A reader in a loop next to a writer: `python -m fault.reading PATH`; ends when its input does.

Prints the number of openings, and each time that was not one whole version or not the version that was opened.
"""

import select
import sys
from pathlib import Path

import jinx
from fault.rows import digest, rows

VERSIONS = 4


def main(path: Path) -> None:
    known = {digest(rows(version)): version for version in range(VERSIONS)}
    held = jinx.open(path)
    first = held[0]["version"]
    print("ready", flush=True)
    openings = 0
    wrong: list[str] = []
    while not select.select([sys.stdin], [], [], 0)[0]:
        openings += 1
        try:
            if digest(jinx.open(path, io="mmap" if openings % 2 else "pread", verify="full")) not in known:
                wrong.append("a mix of versions")
        except (jinx.JinxError, OSError) as error:
            wrong.append(f"{type(error).__name__}: {error}")
    try:
        if known.get(digest(held)) != first:
            wrong.append("the open dataset became another one")
    except (jinx.JinxError, OSError) as error:
        wrong.append(f"the open dataset: {type(error).__name__}: {error}")
    print(openings, *wrong[:20], sep="\n", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
