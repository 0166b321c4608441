"""DataLoader workers only send which samples a batch contains, and the training process reads them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast, overload
from uuid import uuid4
from weakref import WeakValueDictionary

import torch.utils.data
from torch._utils import ExceptionWrapper

from jinx._dataset.dataset import Dataset
from jinx._urls import is_url

_Collate = Callable[[Sequence[Any]], Any]
# The objects of this process by key: a batch from a worker contains the key.
_known: "WeakValueDictionary[str, References]" = WeakValueDictionary()


class References(torch.utils.data.Dataset[Any]):
    """A dataset for torch's `DataLoader` whose workers send positions; the training process reads the values.

        loader = DataLoader(jinx.torch.References(ds), batch_size=64, num_workers=2, collate_fn=jinx.torch.collate)

    A worker that reads samples pickles them and sends them through a pipe, where each value is copied several times.
    Here a batch is read when the loader delivers it, in one call by all cores, as by `ds.take`: each value goes from
    the file into the object that the batch holds. With `pin_memory=True` that happens in the loader's own thread.

    Where the work is worth a process of its own, the workers do it and send values, as without this class: functions
    (`map`, `with_transform`, columns that are functions), `decode`, and files in an object store. So they do for a
    `collate_fn` of the `DataLoader` other than `jinx.torch.collate`.

    Args:
        dataset: The samples; it must stay open.
        columns: Only these columns; all if not given.
        collate_fn: Makes a batch of the list of samples, in the training process, in place of `jinx.torch.collate`.
            The `DataLoader` itself is given `jinx.torch.collate` nevertheless.

    Raises:
        KeyError: A column does not exist.
    """

    def __init__(
        self, dataset: Dataset, columns: str | Iterable[str] | None = None, *, collate_fn: _Collate | None = None
    ) -> None:
        names = [columns] if isinstance(columns, str) else None if columns is None else list(columns)
        self.dataset = dataset if names is None else dataset.select_columns(names)
        self.collate_fn = collate_fn
        self._key = uuid4().hex
        self._by_position = _is_local(self.dataset) and not _calls_functions(self.dataset)
        _known[self._key] = self

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _known.setdefault(self._key, self)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        """The sample at `index`."""
        return self.dataset[index]

    def __getitems__(self, indices: Sequence[int]) -> "Referenced":
        """The samples at `indices`; nothing is read yet."""
        return Referenced(self, list(indices))


class Referenced(Sequence[Any]):
    """The samples of a batch, read when they are first accessed; `batch` sends their positions instead."""

    def __init__(self, references: References, indices: list[int]) -> None:
        self._references = references
        self._indices = indices
        self._samples: list[Any] | None = None

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if self._samples is None:
            self._samples = self._references.dataset.take(self._indices)
        return self._samples[index]

    def batch(self, collate_fn: _Collate) -> Any:
        """What a worker sends: the batch, or the call with which the training process makes it."""
        references = self._references
        collate_fn = references.collate_fn or collate_fn
        if references._by_position and torch.utils.data.get_worker_info() is not None:
            # A user function is not sent: the training process has it already.
            return _Sent(references._key, self._indices, None if references.collate_fn else collate_fn)
        return collate_fn(self[:])


class _Sent:
    """A batch in transit: its pickle is a call that reads the batch."""

    def __init__(self, key: str, indices: list[int], collate_fn: _Collate | None) -> None:
        self._arguments = key, indices, collate_fn

    def __reduce__(self) -> tuple[Any, ...]:
        return _read, self._arguments


def _read(key: str, indices: list[int], collate_fn: _Collate | None) -> Any:
    """The batch; or its error, in the form in which a `DataLoader` raises its workers' errors and continues."""
    try:
        references = _found(key)
        make = cast("_Collate", references.collate_fn or collate_fn)
        return make(references.dataset.take(indices))
    except Exception:  # noqa: BLE001 - the loader raises it
        return ExceptionWrapper(where="the training process, which reads for DataLoader workers")


def _found(key: str) -> References:
    references = _known.get(key)
    if references is None:
        raise RuntimeError(
            "jinx.torch.References: a batch arrived in a process that has not made its dataset; read it in the process "
            "that made the DataLoader, or give the DataLoader the dataset itself"
        )
    return references


def _is_local(dataset: Dataset) -> bool:
    return not any(is_url(path) for root in dataset._root_files() for path in root.paths)


def _calls_functions(dataset: Dataset) -> bool:
    """Whether a sample depends on functions, and not only on files: Python makes some of it."""
    if dataset._transforms or dataset._decoders:
        return True
    definition = dataset._definition
    if definition is None or hasattr(definition, "files"):  # a saved view has values
        return False
    from jinx._dataset.added_columns import FunctionColumn, JoinedColumn

    own: Iterable[tuple[str, Any]] = definition.own
    joined = [values.dataset for _, values in own if isinstance(values, JoinedColumn)]
    return any(isinstance(values, FunctionColumn) for _, values in own) or any(
        map(_calls_functions, [*definition.parts, *joined])
    )
