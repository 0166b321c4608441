"""Checks the names of outputs: valid, not in use, and not an input."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

from jinx._core import Reader

_SIDECAR = b"\x89BINX\r\n\x1a"  # the first bytes of a sidecar


def output_name(out: str | os.PathLike[str]) -> str:
    """The name of an output as a string.

    Raises:
        TypeError: The name is not a path.
        ValueError: The name is empty, or is that of a sidecar.
    """
    name = _valid_name(out)
    if name.lower().endswith(".binx"):
        raise ValueError(f"{name}: this is the name of a sidecar, which belongs to a .jinx file; choose another name")
    return name


def _valid_name(out: str | os.PathLike[str]) -> str:
    if not isinstance(out, str | bytes | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"an output is named by a path, not by {out!r}")
    name = os.fsdecode(out)
    if not name:
        raise ValueError("the output has an empty name; give the name of a file or directory")
    return writable_name(name)


def writable_name(name: str) -> str:
    """The name of an output as a string, which the file system can store.

    Raises:
        ValueError: The name has lone surrogates, except those that represent undecodable bytes.
    """
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise ValueError(f"the output {name!a} has lone surrogates, which no name of a file has") from None
    return name


def positions_name(out: str | os.PathLike[str]) -> str:
    """The name of a file of positions as a string.

    Raises:
        ValueError: The name is empty, or is that of a file of a dataset.
    """
    return other_file_name(out, "positions are a .npy, .json or text file")


def other_file_name(out: str | os.PathLike[str], kind: str) -> str:
    """The name of an output that is no dataset, as a string.

    Args:
        out: The output.
        kind: What it is, for the message.

    Raises:
        ValueError: The name is empty, or is that of a file of a dataset.
    """
    name = _valid_name(out)
    if name.lower().endswith((".jinx", ".binx")) or PurePath(name).name == "jinx.json":
        raise ValueError(f"{name}: {kind}, and this is the name of a dataset's file")
    return name


def refuse_stdout(out: str) -> None:
    """Refuse standard output (`-`) for outputs that cannot be streamed.

    Raises:
        ValueError: The output is `-`.
    """
    if out == "-":
        raise ValueError("JINX may take two files and cannot go to standard output; give it a name")


def refuse_existing(path: str) -> None:
    """Refuse an existing output, which is replaced only when the caller asks for it.

    Raises:
        FileExistsError: The output exists, or a foreign file has the name of its sidecar.
    """
    advice = "replace it with overwrite=True (--overwrite), or choose another name"
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists; {advice}")
    sidecar = f"{path.removesuffix('jinx')}binx"
    # A sidecar without its main file is left over from a killed process; any other file belongs to the user.
    if path.endswith(".jinx") and os.path.lexists(sidecar) and not _is_sidecar(sidecar):
        raise FileExistsError(f"{sidecar} exists, and is not a sidecar of JINX; {advice}")


def _is_sidecar(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - str in, str out
            return file.read(len(_SIDECAR)) == _SIDECAR
    except OSError:
        return False


def refuse_input(out: str, inputs: Iterable[str]) -> None:
    """Refuse an output that is also an input, or a directory that holds one.

    Raises:
        ValueError: The output is an input, or holds one.
    """
    target, target_status = os.path.realpath(out), _status(out)
    for path in _with_sidecars(inputs):
        real, input_status = os.path.realpath(path), _status(path)
        # This also detects two paths to the same file.
        is_same = (
            target_status is not None and input_status is not None and os.path.samestat(target_status, input_status)
        )
        if is_same or target == real:
            raise ValueError(f"{out} is also an input, which is never changed; choose another name")
        if real.startswith(os.path.join(target, "")):  # noqa: PTH118 - str in, str out
            is_shard = os.path.exists(os.path.join(out, "jinx.json"))  # noqa: PTH110, PTH118 - str in, str out
            relation = "is also an input" if is_shard else f"holds the input {path}"
            raise ValueError(f"{out} {relation}, which is never changed; choose another name")


def _with_sidecars(paths: Iterable[str]) -> Iterator[str]:
    for path in map(os.fspath, paths):
        yield path
        if path.endswith(".jinx"):
            yield path.removesuffix("jinx") + "binx"


def refuse_within(out: str, sources: Any) -> None:
    """Refuse an output that would become part of an input the next time that input is read.

    A directory stands for the files in it and below, without hidden ones, and a pattern stands for its matches. A
    dataset that is open stands for the directory whose files it shows.

    Args:
        out: The output, a file or a directory.
        sources: A path or pattern, a dataset, or a sequence of these; other inputs have no files.

    Raises:
        ValueError: The output would become part of an input.
    """
    if out == "-":
        return
    target = os.path.realpath(os.path.dirname(os.path.abspath(out)))  # noqa: PTH100, PTH120
    target = os.path.join(target, os.path.basename(os.path.abspath(out)))  # noqa: PTH100, PTH118, PTH119
    several = isinstance(sources, Sequence) and not isinstance(sources, str | bytes)
    given: Sequence[Any] = sources if several else [sources]  # pyright: ignore[reportUnknownVariableType]
    for source in given:
        if isinstance(source, Reader):
            # A directory with a manifest consists only of the listed shards.
            folders = {os.path.dirname(path) for path in source._shard_paths}  # noqa: PTH120
            for folder in sorted(folders):
                if os.path.exists(os.path.join(folder, "jinx.json")):  # noqa: PTH110, PTH118
                    _refuse_in_directory(out, target, folder)
        # An empty name does not mean the current directory; opening it reports the error.
        elif isinstance(source, str | bytes | os.PathLike) and os.fspath(source):
            _refuse_in_named(out, target, os.fsdecode(source))  # pyright: ignore[reportUnknownArgumentType] - any kind of path


def _refuse_in_named(out: str, target: str, source: str) -> None:
    if "://" in source:
        return
    is_pattern = any(wildcard in source for wildcard in "*?[") and not os.path.lexists(source)
    # An existing file that matches the pattern is itself an input.
    is_hidden = os.path.basename(target).startswith(".")  # noqa: PTH119
    if is_pattern and not is_hidden and not os.path.lexists(out) and PurePath(target).match(_real_pattern(source)):
        raise ValueError(f"{out} would be one of the inputs {source}; write it elsewhere")
    if os.path.isdir(source):  # noqa: PTH112
        _refuse_in_directory(out, target, source)


def _real_pattern(pattern: str) -> str:
    """A pattern relative to the real directory, unless the directory is also a pattern."""
    folder, name = os.path.split(os.path.abspath(pattern))  # noqa: PTH100
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118


def _refuse_in_directory(out: str, target: str, directory: str) -> None:
    inside = os.path.join(os.path.realpath(directory), "")  # noqa: PTH118
    is_hidden = any(part.startswith(".") for part in PurePath(target.removeprefix(inside)).parts)
    if target.startswith(inside) and not is_hidden:
        raise ValueError(f"{out} lies in {directory}, an input, which is never changed; write it elsewhere")


def separate_file(file: str | os.PathLike[str], out: str, *, overwrite: bool) -> str:
    """The name of a file of positions, which is a second output.

    Args:
        file: The file of positions.
        out: The first output.
        overwrite: Whether the file may be there.

    Raises:
        FileExistsError: The file exists.
        ValueError: The file is the first output, its sidecar or a file in it, or has the name of a dataset.
    """
    name = _valid_name(file)
    refuse_other_output(name, out)
    positions_name(name)
    if not overwrite:
        refuse_existing(name)
    return name


def refuse_other_output(name: str, out: str) -> None:
    """Refuse a second output that has the name of the first one.

    Raises:
        ValueError: The file is the first output, its sidecar or a file in it.
    """
    real = os.path.realpath(name)
    if any(real == os.path.realpath(path) for path in _with_sidecars([out])):
        raise ValueError(f"{name} is the other output too; choose another name")
    if real.startswith(os.path.join(os.path.realpath(out), "")):  # noqa: PTH118 - str in, str out
        raise ValueError(f"{name} lies in {out}, the other output, which holds nothing else; write it elsewhere")


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - str in, str out
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
