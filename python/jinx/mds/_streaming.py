"""A reader of MDS shards for mosaicml-streaming 0.13, instead of its own; see `rust/jinx-py/src/mds/shard.rs`.

```python
from streaming.base.format import _readers
from jinx.mds import MDSReader

_readers["mds"] = MDSReader
```
`patch_streaming()` does the same. Streaming must be installed: `pip install 'jinx-data[streaming]'`.
"""

import os
from collections import OrderedDict
from typing import Any

from jinx import _core
from jinx._optional import require

_format = require("streaming.base.format", extra="streaming", what="reading shards for Streaming")
_own = require("streaming.base.format.mds.reader", extra="streaming", what="reading shards for Streaming")

_SAMPLE = "sample::"
_MAX_OPEN = 64
"""Shards that one process keeps open. A file that another process evicts is freed when its last reader closes it."""
_SWEEP_EVERY = 256
"""After this many changes from one shard to another, shards whose files were removed are closed."""

_open: "OrderedDict[int, _core.MdsShard]" = OrderedDict()
_turns = 0


def _note(shard: _core.MdsShard) -> None:
    """Record the use of a shard; close the least recently used one, and sometimes shards whose files are gone."""
    global _turns  # noqa: PLW0603 - the limit applies to the whole process
    key = id(shard)
    if key in _open:
        _open.move_to_end(key)
    else:
        _open[key] = shard
        while len(_open) > _MAX_OPEN:
            _open.popitem(last=False)[1].close()
    _turns += 1
    if _turns % _SWEEP_EVERY == 0:
        for other in list(_open.values()):
            if other.is_stale():
                other.close()


class MDSReader(_own.MDSReader):
    """Reads the samples of one shard: uncompressed, or with samples compressed one by one (`sample::zstd`).

    It is created, validated, prepared, evicted and pickled like Streaming's own reader, and gives the same samples.
    Files stay open between samples, so that only the sample itself is read. A missing file raises FileNotFoundError,
    and Streaming then fetches it; a replaced file is opened again.
    """

    dirname: str
    split: str
    compression: str | None
    samples: int
    raw_data: Any
    zip_data: Any
    column_names: list[str]
    column_encodings: list[str]
    column_sizes: list[int | None]
    _shard: _core.MdsShard | None = None
    _last: "list[MDSReader | None]" = [None]  # noqa: RUF012 - one for the process: the reader that was used last

    def __init__(self, dirname: str, split: str | None, *args: Any, **options: Any) -> None:
        compression = options.get("compression")
        self._sample_compression = compression if compression and compression.startswith(_SAMPLE) else None
        if self._sample_compression:
            # Streaming treats such a shard as uncompressed, so there is nothing to prepare.
            options["compression"] = None
        base: Any = super()
        base.__init__(dirname, split, *args, **options)

    def _handle(self) -> _core.MdsShard:
        shard = self._shard
        if shard is None:
            shard = self._shard = _core.MdsShard(
                os.path.join(self.dirname, self.split, self.raw_data.basename),  # noqa: PTH118
                names=self.column_names,
                encodings=self.column_encodings,
                sizes=self.column_sizes,
                compression=self._sample_compression,
                samples=self.samples,
                bytes=self.raw_data.bytes,
            )
        if self._last[0] is not self:
            self._last[0] = self
            _note(shard)
        return shard

    def __getitem__(self, at: Any) -> Any:
        """A sample, or a list of samples for slices, lists and arrays, as for Streaming's `Array`."""
        if type(at) is int and at >= 0:
            return self._handle().get(at)
        base: Any = super()
        return base.__getitem__(at)

    def get_item(self, idx: int) -> dict[str, Any]:
        """The sample at `idx`, decoded.

        Raises:
            FileNotFoundError: The file is missing.
            IndexError: The shard has no such sample.
        """
        return self._handle().get(int(idx))

    def get_sample_data(self, idx: int) -> bytes:
        """The sample's bytes; see `get_item`."""
        return self._handle().data(int(idx))

    def decode_sample(self, data: bytes) -> dict[str, Any]:
        """A sample's bytes as a dict."""
        return self._handle().decode(data)

    def set_up_local(self, listing: set[str], safe_keep_zip: bool) -> int:  # noqa: FBT001 - Streaming's own signature
        """Make the local files consistent; returns the bytes that are present.

        If both forms are present and the compressed one need not be kept, it is removed. (Streaming removes the raw
        form, and then treats it as present.)
        """
        if self.compression and self.zip_data and not safe_keep_zip:
            directory = os.path.join(self.dirname, self.split)  # noqa: PTH118
            raw, packed = (os.path.join(directory, info.basename) for info in (self.raw_data, self.zip_data))  # noqa: PTH118
            if raw in listing and packed in listing:
                evict: Any = self._evict_zip
                evict()
                listing = listing - {packed}
        base: Any = super()
        return base.set_up_local(listing, safe_keep_zip)

    def evict(self) -> int:
        """Remove the shard's files; returns the bytes that were freed."""
        if self._shard is not None:
            self._shard.close()
        base: Any = super()
        return base.evict()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("_shard", None)
        return state


def patch_streaming() -> None:
    """Let Streaming read MDS shards with `MDSReader`, in this process and the processes that it forks."""
    _format._readers["mds"] = MDSReader


def unpatch_streaming() -> None:
    """Let Streaming read MDS shards with its own reader again."""
    _format._readers["mds"] = _own.MDSReader


unpatch = unpatch_streaming
