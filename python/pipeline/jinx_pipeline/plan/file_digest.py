"""The digest of a large file, which is read again only if its metadata has changed."""

import json
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from jinx_pipeline.store.local_store import published

# A file that was changed more recently than this may change again without a new modification time.
_SETTLED_SECONDS: Final = 2.0


@dataclass(frozen=True)
class FileDigest:
    """The size and digest of a file's content.

    Attributes:
        size: Its size in bytes.
        sha256: Its SHA-256, in hex.
    """

    size: int
    sha256: str


def file_digest(path: str, folder: Path) -> FileDigest:
    """The digest of a file; it is read again if it was replaced or touched since the last call.

    The status change time (ctime) is set by the system, so it reveals a file that replaces another one of the same size
    and modification time.

    Args:
        path: The file.
        folder: The directory for stored digests.
    """
    stored = folder / f"{sha256(str(Path(path).absolute()).encode(errors='surrogateescape')).hexdigest()[:16]}.digest"
    state = _state(path)
    try:
        record = json.loads(stored.read_text("utf-8"))
        if record["state"] == state:
            return FileDigest(state["size"], record["sha256"])
    except (OSError, ValueError, LookupError, TypeError):
        pass  # there is no stored digest
    digest = head_digest(path, state["size"])
    changed_at = max(state["modified"], state["changed"]) / 1e9
    if _state(path) == state and time.time() - changed_at > _SETTLED_SECONDS:
        folder.mkdir(parents=True, exist_ok=True)
        # A damaged one counts as none.
        with published(stored, syncs=False) as file:
            file.write(json.dumps({"state": state, "sha256": digest}).encode())
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
    status = Path(path).stat()
    return {
        "device": status.st_dev,
        "file": status.st_ino,
        "size": status.st_size,
        "modified": status.st_mtime_ns,
        "changed": status.st_ctime_ns,
    }
