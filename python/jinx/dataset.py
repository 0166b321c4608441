"""The dataset: samples by position, views over them, and what is known about them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, overload

from jinx.decode import DecodeSpec, decoders_for, media_in, media_paths
from jinx.errors import MismatchError
from jinx.nearest import FROM_ELSEWHERE, unknown_field
from jinx.summary import describe, type_summary
from jinx.tables import Tables

if TYPE_CHECKING:
    from torch.utils.data import Dataset as TorchDataset

    # Torch knows its datasets by their base class, not by what they can do; only type checkers see this one.
    class Base(Tables, TorchDataset[Any]):
        """A dataset that PyTorch takes."""


else:
    Base = Tables


class Dataset(Base):
    """Samples in files, read when they are touched. `jinx.open` makes it; views share the files.

    `ds[42]` is a sample; `ds[10:20]`, `ds[[3, 1, 2]]` and `ds[mask]` are views; `ds["score"]` is a column. A dataset
    may be pickled and used in processes (forked or spawned) and threads.
    """

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: int) -> Any: ...
        @overload
        def __getitem__(self, key: slice) -> Self: ...
        @overload
        def __getitem__(self, key: Any) -> Any: ...
        def __getitem__(self, key: Any) -> Any: ...

    def decode(self, spec: DecodeSpec) -> Self:
        """The samples with their media decoded when touched.

        Args:
            spec: True decodes every field that is known as an image (to a PIL image) or as audio; where the writer
                named no such field, those whose first value begins as such a file. A dict names fields and kinds,
                `{"image": "pil" | "numpy" | "audio"}`; False or None gives the stored bytes.

        Raises:
            KeyError: A field does not exist.
        """
        if isinstance(spec, Mapping):
            known = self.column_names
            for name in spec:
                if known and name not in known:
                    raise KeyError(unknown_field(name, known))
        media = media_paths(self._field_stats())
        if spec is True and not media and len(self):
            media = media_in(self._derive(decoders=None, transforms=())[0])
        return self._derive(decoders=decoders_for(spec, media) or None)

    @property
    def path(self) -> str:
        """The file as it was named, or the folder and number of the shards."""
        paths = self._shard_names
        if len(paths) == 1:
            return paths[0]
        import os

        folders = {os.path.dirname(path) for path in paths}  # noqa: PTH120 - text in, text out
        where = folders.pop() if len(folders) == 1 else os.path.commonpath(list(folders))
        return f"{where or '.'} ({len(paths)} shards)"

    @property
    def fields(self) -> dict[str, str]:
        """What each top-level field holds, e.g. `{"image": "bytes (image/jpeg)", "score": "float or None"}`."""
        stats = {entry["path"][0]: entry for entry in self._field_stats() if len(entry["path"]) == 1}
        if self._transforms or not stats:
            names = self.column_names
            first: Any = self[0] if names else {}
            return {name: type(first.get(name)).__name__ for name in names}
        return {name: type_summary(stats[name]) for name in self.column_names if name in stats}

    def info(self) -> dict[str, Any]:
        """What is known about the files: samples, sizes in bytes, fields, columns, checksums. `jinx info` prints it."""
        return describe(self)

    @classmethod
    def concat(cls, datasets: Iterable[Self]) -> Self:
        """One dataset of the samples of several, in order; views among them stay views.

        Raises:
            ValueError: None was given, or they differ in options, fields, decoders or functions applied.
        """
        parts = list(datasets)
        if not parts:
            raise ValueError("nothing to concatenate: no dataset was given")
        first = parts[0]
        for part in parts[1:]:
            for what, one, other in (
                ("options", _comparable(first), _comparable(part)),
                ("select_columns", first._fields, part._fields),
                ("map", first._transforms, part._transforms),
                ("decode", set(first._decoders or {}), set(part._decoders or {})),
            ):
                if one != other:
                    raise ValueError(f"these datasets differ in {what}; concatenate first, then apply it to the result")
        joined = cls([path for part in parts for path in part._shard_paths], **_comparable(first))
        indices = None
        if any(part._indices is not None for part in parts):
            indices = _joined_indices(parts)
        return joined._derive(
            indices=indices, fields=first._fields, transforms=first._transforms, decoders=first._decoders
        )

    def __add__(self, other: Self) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride] - torch's gives another class
        """`one + other` is `Dataset.concat([one, other])`."""
        if not isinstance(other, Dataset):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return self.concat([self, other])

    if not TYPE_CHECKING:  # which would take any name for a good one

        def __getattr__(self, name: str) -> Any:
            """Never a value: says what to write for a name that is another library's."""
            advice = f"; use {FROM_ELSEWHERE[name]}" if name in FROM_ELSEWHERE else ""
            raise AttributeError(f"a Dataset has no attribute {name!r}{advice}", name=name, obj=self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing: the files are closed when the last view and sample over them are gone."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """By paths, options and view; samples and ids of the files are compared when they are opened again."""
        state = {
            "identities": self._identities(),
            "samples": self._base_len(),
            "indices": self._indices,
            "fields": self._fields,
            "transforms": self._transforms,
            "decoders": self._decoders,
        }
        return _reopen, (type(self), self._shard_paths, _comparable(self), state)

    def __repr__(self) -> str:
        from jinx.notebook import dataset_text

        return dataset_text(self)

    def _repr_html_(self) -> str:
        from jinx.notebook import dataset_html

        return dataset_html(self)

    def _ipython_key_completions_(self) -> list[str]:
        return self.column_names


def concat(datasets: Iterable[Dataset]) -> Dataset:
    """One dataset of the samples of several, in order; see `Dataset.concat`."""
    return Dataset.concat(datasets)


def _comparable(dataset: Dataset) -> dict[str, Any]:
    return {name: value for name, value in dataset._options.items() if name != "expected"}  # pyright: ignore[reportPrivateUsage]


def _joined_indices(parts: Sequence[Dataset]) -> bytes:
    import numpy as np

    joined: list[Any] = []
    offset = 0
    for part in parts:
        view = part._indices  # pyright: ignore[reportPrivateUsage]
        own = np.arange(len(part), dtype="<u8") if view is None else np.frombuffer(view, dtype="<u8")
        joined.append(own + np.uint64(offset))
        offset += part._base_len()  # pyright: ignore[reportPrivateUsage]
    return np.concatenate(joined).astype("<u8").tobytes()


def _reopen(kind: type[Dataset], paths: list[str], options: dict[str, Any], state: dict[str, Any]) -> Dataset:
    """Open a pickled dataset again; it must be the one that was pickled."""
    identities = state["identities"]
    # Which shards count depends on the split, so with one they are all opened now; otherwise each at first access.
    expected = identities if options.get("split") is None else None
    opened = kind(paths, **options, expected=expected)
    if opened._base_len() != state["samples"] or (expected is None and opened._identities() != identities):  # pyright: ignore[reportPrivateUsage]
        raise MismatchError(f"{opened.path}: the files changed since this dataset was pickled; open them again")
    return opened._derive(  # pyright: ignore[reportPrivateUsage]
        indices=state["indices"], fields=state["fields"], transforms=state["transforms"], decoders=state["decoders"]
    )
