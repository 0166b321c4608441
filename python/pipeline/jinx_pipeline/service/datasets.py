"""The datasets of a service, opened once and kept open."""

import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import jinx
from jinx.errors import JinxError
from jinx_pipeline.service.errors import ServiceError, not_found
from jinx_pipeline.service.roots import Roots

_MAX_OPEN: Final = 16


class Datasets:
    """The datasets in some directories; the least recently used ones are closed.

    Args:
        roots: The directories.
    """

    def __init__(self, roots: Roots) -> None:
        self.roots = roots
        self._open: OrderedDict[tuple[str, int, int], Any] = OrderedDict()
        self._lock = threading.Lock()

    def shown(self, name: str) -> Any:
        """A dataset by name, as the viewer shows it.

        Raises:
            ServiceError: There is no such dataset, or it cannot be opened.
        """
        from jinx._viewer.shown import ShownDataset

        path = self.roots.existing(name)
        status = path.stat()
        key = (str(path), status.st_mtime_ns, status.st_ino)
        with self._lock:
            if key not in self._open:
                self._open[key] = ShownDataset(self._dataset(name, path), name)
                while len(self._open) > _MAX_OPEN:
                    self._open.popitem(last=False)
            self._open.move_to_end(key)
            return self._open[key]

    def _dataset(self, name: str, path: Path) -> Any:
        try:
            dataset = jinx.open(path)
        except (JinxError, OSError, ValueError, TypeError) as error:
            raise ServiceError(422, "unreadable", self.roots.hidden(f"{name}: {error}")) from None
        if has_base_outside(path, self.roots):
            raise not_found(f"{name} does not exist")
        return dataset


def has_base_outside(path: str | Path, roots: Roots) -> bool:
    """Whether a saved view shows files outside the roots."""
    with suppress(JinxError, OSError, ValueError, TypeError, AttributeError):
        return any(not roots.holds(base.path) for base in jinx.open(path).info().bases)
    return False
