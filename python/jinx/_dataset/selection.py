"""Views that select, order or divide samples: an array of positions over the same files, without a copy."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from jinx import _core
from jinx._arguments import encodable, whole_number
from jinx._core import Reader
from jinx._dataset.columns import column, column_names, from_index, measured_lengths, packed, parse_name
from jinx._dataset.expression import matching
from jinx._dataset.positions import positions, scalar
from jinx._dataset.sort_order import Key, parse_key, stable_order
from jinx._suggest import unknown_column
from jinx._unpickle import open_again
from jinx.errors import InvalidError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

D = TypeVar("D", bound=Reader)
Remainder = Literal["drop", "pad"] | None
_SEED_BITS = 32
_DIFFER = "these datasets differ in {}; concatenate first, then apply it to the result"
# The number of bytes fetched at once from an object store, and the number of blocks whose samples are mixed.
_BLOCK_BYTES = 8 << 20
_MIXED_BLOCKS = 32


def at(dataset: D, chosen: "npt.NDArray[np.int64]") -> D:
    """The view with only these positions of the given view."""
    import numpy as np

    base = dataset._indices
    over_files = chosen if base is None else np.frombuffer(base, dtype="<u8")[chosen]
    return dataset._derive(indices=np.ascontiguousarray(over_files, dtype="<u8").tobytes())


def index(dataset: Reader, key: Any) -> Any:
    """`ds[key]` for any key except an int: a column, some columns, or a view."""
    if isinstance(key, str):
        return column(dataset, key)
    position = scalar(key)
    if position is not None:
        return dataset[position]
    if isinstance(key, list) and key and all(isinstance(name, str) for name in key):  # pyright: ignore[reportUnknownVariableType]
        return select_columns(dataset, key)  # pyright: ignore[reportUnknownArgumentType]
    if key is None or isinstance(key, float | bytes):
        kind = type(key).__name__
        raise TypeError(f"a dataset is indexed by an int, slice, list of ints, mask or column name, not by {kind}")
    return at(dataset, positions(key, len(dataset)))


def require_columns(dataset: Reader, names: Iterable[str]) -> None:
    """Refuse names that no sample has.

    Raises:
        KeyError: A column does not exist; the nearest one is named.
    """
    names_shown = column_names(dataset)
    for name in names:
        if name not in names_shown and (names_shown or dataset._hides(name)):
            raise KeyError(unknown_column(name, names_shown))


def select_columns(dataset: D, columns: str | Iterable[str]) -> D:
    """See `Dataset.select_columns`."""
    chosen = [columns] if isinstance(columns, str) else list(dict.fromkeys(columns))
    if dataset._transforms:
        from jinx._dataset.transforms import KeepColumns

        return dataset._derive(transforms=[*dataset._transforms, KeepColumns(tuple(chosen))])
    require_columns(dataset, chosen)
    return dataset._derive(columns=chosen)


def drop_columns(dataset: D, columns: str | Iterable[str]) -> D:
    """See `Dataset.drop_columns`."""
    dropped = {columns} if isinstance(columns, str) else set(columns)
    all_names = column_names(dataset)
    for name in dropped:
        if name not in all_names:
            raise KeyError(unknown_column(name, all_names))
    return select_columns(dataset, [name for name in all_names if name not in dropped])


def merge_into_samples(
    dataset: D, function: Callable[[Any], Mapping[str, Any] | None], remove_columns: str | Iterable[str]
) -> D:
    """See `Dataset.map`."""
    from jinx._dataset.transforms import MergeIntoSample

    removed = [remove_columns] if isinstance(remove_columns, str) else list(remove_columns)
    if removed:
        require_columns(dataset, removed)
    return dataset._derive(transforms=[*dataset._transforms, MergeIntoSample(function, tuple(removed))])


def shuffle(dataset: D, seed: int | None, *, blocks: bool = False) -> D:
    """See `Dataset.shuffle`."""
    import numpy as np

    if seed is None:
        import secrets

        seed = secrets.randbits(_SEED_BITS)
    else:
        seed = operator.index(seed)
    generator = np.random.Generator(np.random.PCG64(seed))
    order = block_order(dataset, generator).positions if blocks else generator.permutation(len(dataset))
    shuffled = at(dataset, order)
    shuffled.__dict__["_seed"] = seed
    return shuffled


class BlockOrder(NamedTuple):
    """Blocks of consecutive samples in random order; samples are mixed within a few blocks at a time.

    Attributes:
        positions: All samples; int64 of shape (n,).
        starts: The first sample of each block; int64 of shape (blocks,).
        size: Samples of a block.
        mixed: Blocks whose samples are mixed.
    """

    positions: "npt.NDArray[np.int64]"
    starts: "npt.NDArray[np.int64]"
    size: int
    mixed: int


def block_order(dataset: Reader, generator: "np.random.Generator") -> BlockOrder:
    """A random order in which neighbouring samples are still read together."""
    import numpy as np

    from jinx._dataset.stored_bytes import stored_bytes

    count = len(dataset)
    size = max(1, _BLOCK_BYTES * count // max(1, stored_bytes(dataset)))
    starts = generator.permutation(-(-count // size)).astype(np.int64) * size
    order = (starts[:, None] + np.arange(size)).ravel() if count else starts
    order = order[order < count]
    for first in range(0, count, size * _MIXED_BLOCKS):
        generator.shuffle(order[first : first + size * _MIXED_BLOCKS])
    return BlockOrder(order, starts, size, _MIXED_BLOCKS)


def sort(dataset: D, key: Key | Sequence[Key], *, reverse: bool) -> D:
    """See `Dataset.sort`."""
    if isinstance(key, list | tuple) and key:
        # Sort by the last key first. Each sort keeps the order of equal samples, so the first key decides.
        for sort_key in reversed(cast("Sequence[Key]", key)):
            dataset = sort(dataset, sort_key, reverse=reverse)
        return dataset
    if not isinstance(key, str):
        if not callable(key):  # pyright: ignore[reportUnknownArgumentType]
            kind = type(key).__name__  # pyright: ignore[reportUnknownArgumentType]
            raise TypeError(
                f"sort by a column, a path, len(PATH), a function of a sample or several of these, not by {kind}; "
                "for an order of your own: ds.select(positions)"
            )
        return _sorted_by_values(dataset, [key(sample) for sample in dataset], descending=reverse)
    name, by_length, descending = parse_key(key, column_names(dataset))
    path = parse_name(dataset, name)
    if by_length:
        values, present = measured_lengths(dataset, path)
    else:
        values, present = from_index(dataset, path, "value") or (column(dataset, name), None)
    return at(dataset, stable_order(values, present, descending=descending != reverse))


def _sorted_by_values(dataset: D, values: list[Any], *, descending: bool) -> D:
    import numpy as np

    columns = [values]
    if {type(value) for value in values} == {tuple} and len(set(map(len, values))) == 1:
        # Sort by each element of the tuples, like by several keys: a missing element comes last only in the sort by
        # that element.
        columns = [list(column) for column in zip(*values, strict=True)]
    order = np.arange(len(dataset))
    for keys in reversed(columns):
        chosen = [keys[i] for i in order.tolist()]
        order = order[stable_order(packed(chosen), None, descending=descending)]
    return at(dataset, order)


def keep(dataset: D, condition: Any) -> D:
    """See `Dataset.filter`."""
    if isinstance(condition, str):
        return matching(dataset, condition)
    if callable(condition):
        mask = [bool(condition(sample)) for sample in dataset]
        return at(dataset, positions([position for position, kept in enumerate(mask) if kept], len(dataset)))
    import numpy as np

    mask = cast("Any", condition if isinstance(condition, np.ma.MaskedArray) else np.asarray(condition))
    if mask.shape == (0,):  # an empty list has no type
        mask = mask.astype(np.bool_)
    if mask.dtype != np.bool_:
        raise TypeError(f"filter takes an expression, a function or a boolean mask, not {mask.dtype} values")
    return at(dataset, positions(mask, len(dataset)))


def containing(dataset: D, word: str) -> D:
    """See `Dataset.search`."""
    if dataset._transforms:
        raise InvalidError("map and with_transform change the samples; search first")
    import numpy as np

    word = encodable("the word", word)
    hits = _core.view_search(dataset, word, 0, len(dataset), len(dataset))
    return at(dataset, np.array(hits, dtype=np.int64))


def shard(dataset: D, num_shards: int, index: int, remainder: Remainder) -> D:
    """See `Dataset.shard`."""
    num_shards, index = whole_number("num_shards", num_shards, least=1), whole_number("index", index, least=0)
    if index >= num_shards:
        raise ValueError(f"shard {index} of {num_shards} does not exist; shards count from 0")
    if remainder not in {None, "drop", "pad"}:
        raise ValueError(f"remainder={remainder!r} is not known; use 'drop', 'pad' or None")
    import numpy as np

    total = len(dataset)
    if remainder is None:
        size, larger = divmod(total, num_shards)
        start = index * size + min(index, larger)
        return at(dataset, np.arange(start, start + size + (index < larger)))
    size = total // num_shards if remainder == "drop" else -(-total // num_shards)
    chosen = np.arange(index * size, (index + 1) * size)
    return at(dataset, chosen % total if total else chosen)


def split(dataset: D, fraction: float, seed: int | None) -> tuple[D, D]:
    """See `Dataset.split`."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction={fraction} is not between 0 and 1")
    import numpy as np

    total = len(dataset)
    order = np.arange(total) if seed is None else np.random.Generator(np.random.PCG64(seed)).permutation(total)
    size = round(total * fraction)
    return at(dataset, np.sort(order[:size])), at(dataset, np.sort(order[size:]))


def concat(kind: type[D], parts: Sequence[D]) -> D:
    """See `Dataset.concat`."""
    if not parts:
        raise ValueError("nothing to concatenate: no dataset was given")
    if any(part._transforms != parts[0]._transforms for part in parts):
        raise ValueError(_DIFFER.format("map or with_transform"))
    if any(part._decoders for part in parts):
        parts = _decoded_alike(parts)
    first = parts[0]
    is_alike = all((options(part), part._shown_columns) == (options(first), first._shown_columns) for part in parts)
    if not is_alike or any(part._definition is not None for part in parts):
        return _composed(parts)
    indices = _joined_indices(parts) if any(part._indices is not None for part in parts) else None
    rows = _core.join(parts)
    if rows is not None:
        return first._derive(rows=rows, indices=indices)
    # The indexes of MDS directories are read again, and must not have changed since the parts were opened.
    identities = [identity for part in parts for identity in part._identities()]
    joined = open_again(kind, [path for part in parts for path in part._shard_paths], options(first), identities)
    return joined._derive(
        indices=indices, columns=first._shown_columns, transforms=first._transforms, decoders=first._decoders
    )


def _decoded_alike(parts: Sequence[D]) -> Sequence[D]:
    """The parts, with the decoders of the first one also decoding the media of the others."""
    from jinx._dataset.decode_media import joined_decoders, kinds_of

    if any(kinds_of(part._decoders) != kinds_of(parts[0]._decoders) for part in parts):
        raise ValueError(_DIFFER.format("decode"))
    decoders = joined_decoders([part._decoders for part in parts if len(part)] or [parts[0]._decoders])
    return [parts[0]._derive(decoders=decoders), *parts[1:]]


def _composed(parts: Sequence[D]) -> D:
    """Datasets of different kinds, or with columns of their own, as one dataset."""
    from jinx._dataset.view_definition import ViewDefinition

    first = parts[0]
    definition = ViewDefinition(tuple(part._derive(transforms=[], decoders=None) for part in parts))
    return first._derive(rows=definition.rows(), definition=definition, indices=None, columns=None)


def options(dataset: Reader) -> dict[str, Any]:
    """The options of the dataset, without options that depend on its files."""
    return {name: value for name, value in dataset._options.items() if name != "expected"}


def _joined_indices(parts: Sequence[Reader]) -> bytes:
    import numpy as np

    joined: list[Any] = []
    offset = 0
    for part in parts:
        view = part._indices
        own = np.arange(len(part), dtype="<u8") if view is None else np.frombuffer(view, dtype="<u8")
        joined.append(own + np.uint64(offset))
        offset += part._base_len()
    return np.concatenate(joined).astype("<u8").tobytes()
