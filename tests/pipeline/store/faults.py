"""A log on a disk that fails at a call, before it, after it, or in its middle."""

import errno


class FaultLog:
    """A log that fails at its call number `at`, and from then on at all others.

    Args:
        log: What it really is.
        at: The number of the call, from 0.
        how: `before` it did anything, `after` it did all, or `half`: an added line is cut in its middle.
    """

    CALLS = ("begin", "lines", "open", "append", "sync", "size")

    def __init__(self, log, at, how) -> None:
        self.name, self.sync_seconds = log.name, log.sync_seconds
        self._log = log
        self._left = at
        self._how = how
        for name in self.CALLS:
            setattr(self, name, self._failing(name, getattr(log, name)))
        self.lines_at = log.lines_at
        self.close = log.close

    @property
    def has_failed(self) -> bool:
        return self._left < 0

    def _failing(self, name, real):
        def call(*arguments):
            self._left -= 1
            if self._left >= 0:
                return real(*arguments)
            if self._left == -1 and self._how == "after":
                real(*arguments)
            if self._left == -1 and self._how == "half" and name == "append":
                real(arguments[0][: len(arguments[0]) // 2])
            raise OSError(errno.EIO, "Input/output error")

        return call
