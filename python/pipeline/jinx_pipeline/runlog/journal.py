"""The journal: one JSON line for each piece of finished work; what is not in it did not happen."""

import json
import os
from pathlib import Path
from typing import Any, Self

from jinx_pipeline.store.sync import sync_folder


class Journal:
    """An append-only file of records.

    A line that a crash has cut short is removed when the journal is opened again.

    Its first record names the run, so that nothing is believed of another run's work.

    Args:
        path: The file; it is made if need be.
        run: The id of the run that it belongs to.

    Attributes:
        path: The file.
        records: What it held when it was opened, after the first one.

    Raises:
        ValueError: A line before the last one is damaged, or it belongs to another run.
    """

    def __init__(self, path: Path, run: str) -> None:
        self.path = path
        self.records: list[dict[str, Any]] = []
        intact = 0
        data = path.read_bytes() if path.exists() else b""
        for number, line in enumerate(data.splitlines(keepends=True), start=1):
            if not line.endswith(b"\n"):
                break
            try:
                self.records.append(json.loads(line))
            except ValueError:
                if b"\0" in line:
                    break  # the machine ended before the last records were on the disk
                raise ValueError(
                    f"{path}, line {number}: damaged; remove {path.parent} to start over, or restore the file"
                ) from None
            intact += len(line)
        self._file = path.open("ab")
        self._taken_over_at = 0
        # Records of a process that was killed may not be on the disk yet.
        self._is_synced = not data
        if intact < len(data):
            self._file.truncate(intact)
        sync_folder(path.parent)
        if not self.records:
            self.append({"kind": "run", "run": run})
            self.sync()
        elif self.records.pop(0) != {"kind": "run", "run": run}:
            self._file.close()
            raise ValueError(
                f"{path} belongs to another run than plan.json next to it; remove {path.parent} to start over"
            )

    def append(self, record: dict[str, Any]) -> None:
        """Add a record; from then on it survives the end of this process, and after `sync` that of the machine."""
        self._file.write(
            json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace") + b"\n"
        )
        self._file.flush()
        self._is_synced = False

    def take_over(self, driver: str) -> None:
        """Record which process runs it from here on."""
        self.append({"kind": "driver", "driver": driver})
        self._taken_over_at = self._file.tell()
        self.sync()

    def refuse_other_driver(self) -> None:
        """Refuse to go on where another process runs it by now; on some network disks, locks do not prevent that.

        Raises:
            RuntimeError: Another one does.
        """
        with self.path.open("rb") as file:
            file.seek(self._taken_over_at)
            if any(line.startswith(b'{"kind":"driver"') for line in file):
                raise RuntimeError(f"{self.path.parent}: another process has taken over this run; leave it to that one")

    def sync(self) -> None:
        """Wait until all records are on the disk.

        Raises:
            OSError: They cannot be written; what the disk holds then is not known, so all later calls do nothing.
        """
        if not self._is_synced:
            # Of a second call the system would say that all went well.
            self._is_synced = True
            os.fdatasync(self._file.fileno())

    def close(self) -> None:
        """Close the file; all records are on the disk then."""
        try:
            self.sync()
        finally:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
