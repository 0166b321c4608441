"""What datasets in object stores have in addition: cached chunks on this machine, and counts of what was read."""

from jinx import _core
from jinx._dataset.browsing import Browsing


class RemoteReading(Browsing):
    """Methods of `Dataset` for data in object stores."""

    def prefetch(self) -> int:
        """Read all files at URLs once, so that they are in the cache on this machine as far as it has room.

        Returns:
            The number of bytes; 0 for files of this machine.
        """
        return sum(root.fetch_all() for root in self._root_files())

    def io_stats(self) -> dict[str, int]:
        """What this process has read from object stores, for all datasets together.

        Returns:
            `requests` sent, repeated ones included; `failures` among them; `fetched_bytes` from stores, `cached_bytes`
            from the cache on disk, and `read_bytes` that readers asked for.
        """
        return _core.io_statistics()
