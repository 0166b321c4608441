"""The digest of a large file, which is not read again while nothing says that the file has changed."""

import json
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from jinx_pipeline.runlog.work_dir import publish_text

# A file that was changed so recently may be changed once more without its times saying so.
_SETTLED_SECONDS: Final = 2.0


@dataclass(frozen=True)
class FileDigest:
    """What a file holds.

    Attributes:
        size: Its bytes.
        sha256: Their SHA-256, in hex.
    """

    size: int
    sha256: str


def file_digest(path: str, folder: Path) -> FileDigest:
    """The digest of a file; it is read if it is not the file of the last call, or was touched since.

    The system sets the time of the last change of status itself, so that a file which takes the place of another with
    its size and its time of modification is told from it.

    Args:
        path: The file.
        folder: Where digests are kept.
    """
    kept = folder / f"{sha256(str(Path(path).absolute()).encode(errors='surrogateescape')).hexdigest()[:16]}.digest"
    state = _state(path)
    try:
        record = json.loads(kept.read_text("utf-8"))
        if record["state"] == state:
            return FileDigest(state["size"], record["sha256"])
    except (OSError, ValueError, LookupError, TypeError):
        pass  # nothing is known
    digest = head_digest(path, state["size"])
    changed_at = max(state["modified"], state["changed"]) / 1e9
    if _state(path) == state and time.time() - changed_at > _SETTLED_SECONDS:
        folder.mkdir(parents=True, exist_ok=True)
        publish_text(kept, json.dumps({"state": state, "sha256": digest}))
    return FileDigest(state["size"], digest)


def head_digest(path: str, size: int) -> str:
    """The SHA-256 of the first bytes of a file."""
    digest = sha256()
    with Path(path).open("rb") as file:
        while size > 0 and (data := file.read(min(size, 1 << 20))):
            digest.update(data)
            size -= len(data)
    return digest.hexdigest()


def _state(path: str) -> dict[str, int]:
    found = Path(path).stat()
    return {
        "device": found.st_dev,
        "file": found.st_ino,
        "size": found.st_size,
        "modified": found.st_mtime_ns,
        "changed": found.st_ctime_ns,
    }
