"""One field of all samples: from a stored column where there is one, else by scanning the rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from jinx import _core
from jinx.errors import InvalidError, MismatchError, UnsupportedError
from jinx.nearest import unknown_field, unknown_member

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_SCANNED_FOR_NAMES = 1000
_DTYPE_KINDS: dict[type[Any], str] = {bool: "b", int: "iu", float: "f"}
_SCALAR_KINDS = {"null", "bool", "int", "float", "str"}
_ABSENT = object()


def lookup(sample: Any, path: Sequence[str], default: Any = None) -> Any:
    """The value at a path of member names; `default` when a step is missing."""
    value = sample
    for name in path:
        try:
            value = value[name]
        except (KeyError, TypeError, IndexError):
            return default
    return value


def packed(values: list[Any]) -> Any:
    """An ndarray when all values are bools, ints or floats that one dtype holds exactly, else the list."""
    kinds: set[type[Any]] = {type(value) for value in values}
    if kinds in ({bool}, {int}, {float}):
        import numpy as np

        try:
            array = np.array(values)
        except OverflowError:
            return values
        # numpy makes floats of integers that are both negative and beyond int64.
        return array if array.dtype.kind in _DTYPE_KINDS[kinds.pop()] else values
    return values


class Columns(_core.Reader):
    """Reading by field."""

    @property
    def column_names(self) -> list[str]:
        """The top-level fields, in the order in which they were first seen."""
        if self._transforms:
            first: Any = self[0] if len(self) else {}
            return list(first) if isinstance(first, Mapping) else []  # pyright: ignore[reportUnknownArgumentType]
        if self._fields is not None:
            return list(self._fields)
        return self._stored_names()

    @property
    def num_rows(self) -> int:
        """The number of samples, as `len(ds)`."""
        return len(self)

    def take(self, indices: Any, fields: str | Iterable[str] | None = None) -> list[Any]:
        """The samples at `indices`, in that order, read in one call: media by several threads at once.

        Args:
            indices: Ints; negative ones count from the end.
            fields: Read and decode only these now; all if not given. The others stay lazy.

        Raises:
            IndexError: An index is out of range.
            KeyError: A field does not exist.
        """
        if fields is None:
            return super().take(indices)
        names = [fields] if isinstance(fields, str) else list(fields)
        samples = super().take(indices, names)
        # A sample may lack what others have, so the names are asked for only then.
        if samples and not self._transforms and not all(name in samples[0] for name in names):
            known = self.column_names
            for name in names:
                if known and name not in known:
                    raise KeyError(unknown_field(name, known))
        return samples

    def column(self, name: str) -> Any:
        """One field of every sample; `ds["score"]` is the same.

        Numbers and bools come as an ndarray of shape (len(ds),) when every sample has one; everything else comes as a
        list, with None where a sample has no value. A stored column is read without opening a row.

        Args:
            name: A top-level field, or a dotted path into nested dicts (`"meta.width"`); an exact top-level name wins.
                A name that holds dots itself stands in double quotes (`'meta."a.b"'`), a quote in it is doubled.

        Raises:
            KeyError: No sample has this field.
        """
        path = self._path(name)
        found = self._from_column(path, "value")
        if found is not None:
            values, present = found
            if present is None or isinstance(values, list):
                return values  # pyright: ignore[reportUnknownVariableType]
            return [value if there else None for value, there in zip(values.tolist(), present.tolist(), strict=True)]
        if not (self._transforms or self._decoded(path)) and self._is_scalar(path):
            try:
                values, there = self._scan(path, "value")
            except (InvalidError, MismatchError):  # integers over 64 bits, or a list or dict after all
                pass
            else:
                self._require(path, there=there)
                return packed(values)
        return packed(self._gather(path))

    def lengths(self, name: str) -> "npt.NDArray[np.int64]":
        """How long one field is in every sample, as int64 of shape (len(ds),), without decoding it.

        Elements of a list or dict, characters of a text, bytes of a binary value; 0 where a sample has no value. Where
        there is no column and the length stands in the stored value itself, `verify="full"` reads all of the value.

        Raises:
            KeyError: No sample has this field.
            TypeError: A value has no length.
        """
        import numpy as np

        values, present = self._lengths(self._path(name))
        return values if present is None else np.where(present, values, 0)

    def _lengths(self, path: list[str]) -> "tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]":
        import numpy as np

        found = self._from_column(path, "length")
        if found is not None and not isinstance(found[0], list):
            return found[0].astype(np.int64, copy=False), found[1]
        if self._transforms:
            scanned = [length_of(value) for value in self._gather(path)]
        else:
            try:
                scanned, there = self._scan(path, "length")
            except UnsupportedError:  # tensors: only torch knows
                scanned = [length_of(value) for value in self._gather(path)]
            except MismatchError as error:
                raise TypeError(str(error)) from None
            else:
                self._require(path, there=there)
        values = np.array([0 if value is None else value for value in scanned], dtype=np.int64)
        if None not in scanned:
            return values, None
        return values, np.array([value is not None for value in scanned], dtype=np.bool_)

    def _path(self, name: str) -> list[str]:
        """The components of a field's name."""
        known = self.column_names
        if name in known:
            return [name]
        path = _core.parse_path(name)
        if path[0] in known or self._transforms or (not known and len(self)):
            return path
        raise KeyError(unknown_field(name, known) if len(path) == 1 else unknown_member(path, 0, known))

    def _gather(self, path: list[str]) -> list[Any]:
        """The value at a path of every sample, as Python sees it."""
        values = [lookup(sample, path, _ABSENT) for sample in self._only(path[0])]
        self._require(path, there=any(value is not _ABSENT for value in values))
        return [None if value is _ABSENT else value for value in values]

    def _require(self, path: list[str], *, there: bool) -> None:
        """A nested path that no sample has is a mistake, as a top-level name is.

        Args:
            path: The path.
            there: Whether a sample of this view has it.

        Raises:
            KeyError: No sample of the files has it.
        """
        if there or len(path) == 1:
            return
        whole = self if self._transforms else self._derive(indices=None)._only(path[0])
        if not len(whole) or (whole is not self and whole._has(path)):
            return
        members = [names for sample in whole[:_SCANNED_FOR_NAMES] if (names := _members(sample, path))]
        depth = max(map(len, members), default=1)
        known = dict.fromkeys(name for names in members if len(names) == depth for name in names[-1])
        if path[depth] in known:  # what it leads to is no dict anywhere
            depth, known = depth + 1, {}
        raise KeyError(unknown_member(path, depth, known))

    def _has(self, path: list[str]) -> bool:
        """Whether any sample has something at a path."""
        try:
            return self._scan(path, "length")[1]
        except (MismatchError, UnsupportedError):  # something without a length
            return True

    def _only(self, field: str) -> Self:
        """The samples with what `field` needs; a transform may need every field."""
        return self if self._transforms else self._derive(fields=[field])

    def _decoded(self, path: Sequence[str]) -> bool:
        return bool(self._decoders) and path[0] in (self._decoders or {})

    def _is_scalar(self, path: Sequence[str]) -> bool:
        """Whether the values may all be numbers, bools and texts, as far as the footers tell."""
        for entry in self._field_stats():
            if list(entry["path"]) == list(path):
                return not entry.get("coded") and not entry.get("media") and set(entry["kinds"]) <= _SCALAR_KINDS
        return True

    def _stored_names(self) -> list[str]:
        """Top-level names over all shards, selected or not."""
        names = self._field_names()
        if names or not self._base_len():
            return names
        # Files without field statistics (1.0, plain JSON lines): the first rows tell.
        everything = self._derive(indices=None, fields=None, transforms=[])
        seen: dict[str, None] = {}
        for index in range(min(len(everything), _SCANNED_FOR_NAMES)):
            seen.update(dict.fromkeys(everything[index]))
        return list(seen)

    def _from_column(self, path: list[str], kind: Literal["value", "length"]) -> "tuple[Any, Any] | None":
        """(values, presence or None) of a stored column in view order; utf8 values are a list of str or None."""
        if self._transforms:
            return None
        stored = self._column(path, kind)
        if stored is None:
            return None
        import numpy as np

        dtype, data, validity, offsets = stored
        rows = None if self._indices is None else np.frombuffer(self._indices, dtype="<u8").astype(np.int64)
        present = None
        if validity is not None:
            bits = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")
            present = bits[: self._base_len()].astype(np.bool_)
            present = present if rows is None else present[rows]
            present = None if present.all() else present
        if dtype == "utf8":
            return texts(data, offsets or b"", rows, present), present
        values = np.frombuffer(data, dtype=np.dtype(dtype).newbyteorder("<") if dtype != "bool" else np.bool_)
        return (values if rows is None else values[rows]), present


def texts(data: bytes | bytearray, offsets: bytes, rows: Any, present: Any) -> list[str | None]:
    """The texts of a utf8 column, for the given rows (all when None)."""
    import numpy as np

    bounds = np.frombuffer(offsets, dtype="<u8").astype(np.int64)
    starts, stops = bounds[:-1], bounds[1:]
    if rows is not None:
        starts, stops = starts[rows], stops[rows]
    values: list[str | None] = [
        data[start:stop].decode("utf-8") for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    if present is None:
        return values
    return [value if there else None for value, there in zip(values, present.tolist(), strict=True)]


def _members(sample: Any, path: Sequence[str]) -> list[list[str]]:
    """The names of the dicts on a path below the top, as far as the path leads."""
    found: list[list[str]] = []
    value = sample
    for name in path[:-1]:
        value = lookup(value, [name])
        if not isinstance(value, Mapping):
            break
        found.append([str(member) for member in value])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return found


def length_of(value: Any) -> int | None:
    """`len(value)`, or None for None.

    Raises:
        TypeError: The value has no length.
    """
    return None if value is None else len(value)
