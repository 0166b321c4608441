"""Opens the inputs of `concat`, `select`, `split`, `dedup` and `compact`, of any formats, as one dataset."""

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from jinx import _core
from jinx._convert.convert import convert
from jinx._convert.formats import CODECS
from jinx._convert.inputs import Inputs, find_inputs, is_paths, paths_of
from jinx._dataset.dataset import Dataset
from jinx._dataset.expression import matching
from jinx._dataset.reopen_with import reopen_with
from jinx._directories import has_manifest
from jinx._disk_space import require_space, unpacked_bytes
from jinx._open import open
from jinx._outputs import refuse_input, refuse_within
from jinx._rewrite.options import RewriteOptions
from jinx._scratch import scratch_directory


@contextmanager
def opened(source: Any, out: str, options: RewriteOptions, split: str | None = None) -> Generator[Dataset]:
    """The samples of a source, or the samples that an expression selects.

    Files that cannot be read in place, such as Parquet, are first converted to a hidden directory next to the output,
    which is removed at the end.

    Args:
        source: A dataset, a path or pattern, or a list of these, of any formats.
        out: The output, which must not be one of the inputs.
        options: `where`, `view` and `input_format` count here.
        split: Only this split of inputs that have several.

    Raises:
        ValueError: The output is an input, or a view is requested and an input cannot be read in place.
        TypeError: Functions were applied to a dataset.
    """
    where = options.get("where")
    refuse_within(out, source)
    parts = _parts(source, options.get("input_format"), split)
    for part in parts:
        refuse_input(out, part._shard_paths if isinstance(part, Dataset) else part.files)
    foreign = [part for part in parts if isinstance(part, Inputs)]
    if foreign and options.get("view"):
        first = foreign[0]
        raise ValueError(
            f"{first.files[0]}: a view shows files that are read in place, which {first.format} is not; run: jinx "
            f"convert {first.files[0]} {_stem(first.files[0])}.jinx"
        )
    if foreign and split is not None:
        raise ValueError("splits are told apart in JINX and MDS; convert the input first: jinx convert IN OUT")
    if not foreign:
        yield _as_one([part for part in parts if isinstance(part, Dataset)], out, where)
        return
    # The data takes space twice: as a JINX file next to the output, and in the output itself.
    require_space(out, 2 * unpacked_bytes(file for part in foreign for file in part.files))
    directory, name = os.path.split(os.path.abspath(out))  # noqa: PTH100
    with scratch_directory(directory, f"{name}.inputs") as work:
        datasets = [
            part if isinstance(part, Dataset) else _converted(part, os.path.join(work, f"{i}.jinx"))  # noqa: PTH118
            for i, part in enumerate(parts)
        ]
        yield _as_one(datasets, out, where)


def _parts(source: Any, input_format: str | None, split: str | None) -> list[Dataset | Inputs]:
    """The inputs as datasets, and runs of consecutive files in another format."""
    is_one = isinstance(source, Dataset | Mapping) or is_paths(source) or not isinstance(source, Iterable)
    sources: list[Any] = [source] if is_one else list(cast("Iterable[Any]", source))
    parts: list[Dataset | Inputs] = []
    for item in sources:
        if isinstance(item, Dataset):
            if item._transforms:
                raise TypeError(
                    "samples are taken as they are stored, without the functions given to map or with_transform; write "
                    "them first: jinx.convert(ds, 'new.jinx')"
                )
            parts.append(reopen_with(item, verify="full"))
            continue
        if not is_paths(item):
            raise TypeError(
                f"inputs are datasets and paths, not {type(item).__name__}; write samples first: "
                "jinx.convert(samples, 'new.jinx')"
            )
        for path in paths_of(item):
            dataset = openable(path, split, input_format)
            part = find_inputs([path], input_format) if dataset is None else dataset
            last = parts[-1] if parts else None
            if isinstance(part, Inputs) and isinstance(last, Inputs) and part.format == last.format:
                parts[-1] = Inputs([*last.files, *part.files], part.format)
            else:
                parts.append(part)
    if not parts:
        raise ValueError("there is no input: the list is empty")
    return parts


def openable(path: str, split: str | None, input_format: str | None) -> Dataset | None:
    """The dataset at a path, if its format can be read in place.

    Raises:
        FileNotFoundError: There is nothing at the path.
    """
    inputs = find_inputs([path], input_format)
    if inputs.format in {"jinx", "mds"}:
        # If the format is given, files of other formats in the directory are ignored.
        is_chosen = input_format == "jinx" and os.path.isdir(path) and not has_manifest(path)  # noqa: PTH112
        return open(inputs.files if is_chosen else path, split=split)
    if inputs.format == "jsonl" and all(map(_is_plain, inputs.files)):
        return open(inputs.files, split=split)
    return None


def _is_plain(file: str) -> bool:
    """Whether a file of JSON lines is read in place: it is neither compressed nor a JSON array."""
    return not file.lower().endswith(CODECS) and file != "-" and _core.sniff(file)[0] != "a JSON array"


def _converted(inputs: Inputs, out: str) -> Dataset:
    convert(inputs.files, out, input_format=inputs.format)  # pyright: ignore[reportArgumentType] - a format's name
    return open(out)


def _as_one(datasets: Sequence[Dataset], out: str, where: str | None) -> Dataset:
    whole = datasets[0] if len(datasets) == 1 else Dataset.concat(datasets)
    refuse_input(out, files_of(whole))
    return whole if where is None else matching(whole, where)


def files_of(dataset: Dataset) -> list[str]:
    """The main files with the samples of a dataset, including files below views."""
    return [path for root in dataset._root_files() for path in root.paths]


def _stem(path: str) -> str:
    return os.path.basename(path).split(".")[0] or "in"  # noqa: PTH119
