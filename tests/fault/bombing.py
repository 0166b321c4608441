"""Opens and reads files under an address limit, and prints what became of each: `python -m fault.bombing DIRECTORY`."""

import contextlib
import json
import resource
import sys
import time
from pathlib import Path

import jinx

ADDRESS_SPACE = 512 << 20


def outcome(path: Path) -> tuple[str, str]:
    """Name of the error's class and its text; `ok` where there was none."""
    try:
        dataset = jinx.open(path)
        for row in range(min(len(dataset), 10)):
            dict(dataset[row])
        for name in dataset.column_names[:10]:
            len(dataset[name])
    except Exception as error:  # noqa: BLE001 - the test says which are right
        return type(error).__name__, str(error)
    return "ok", ""


def main(directory: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    results = {}
    for path in sorted(directory.glob("*.jinx")):
        start = time.perf_counter()
        name, text = outcome(path)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        # It decodes the same once more: left out where that takes long.
        if seconds < 1:
            with contextlib.suppress(jinx.JinxError, OSError):
                jinx.verify(path)
        results[path.stem] = {
            "error": name, "text": text, "seconds": seconds, "verify_seconds": time.perf_counter() - start
        }  # fmt: skip
        # A line each, so that what came before a crash is known.
        print(json.dumps({path.stem: results[path.stem]}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
