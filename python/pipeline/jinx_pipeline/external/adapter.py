"""Runs an adapter in its own environment: batches come on standard input, and answers go to standard output.

This file runs in the environment of the adapter, which has pyarrow and need not have jinx. A message is its kind (one
byte), its length (eight bytes, little-endian) and its content. See `docs/how-to/external.md` for what an adapter is.

python adapter.py FILE FUNCTION
"""

import json
import os
import struct
import sys
import threading
import time
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import IO, Any, BinaryIO

BATCH, ANSWER, ROW_ERROR, FATAL, READY, LOAD = b"B", b"A", b"E", b"F", b"R", b"L"
_HEAD = struct.Struct("<cQ")


def main() -> None:
    """Answer batches until the parent closes the pipe."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the adapter prints must not mix with the answers
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Otherwise, the other modules of this directory would hide packages with the same names.
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        import pyarrow as pa

        facts = json.loads(read(requests)[1])
        call = _loaded(sys.argv[1], sys.argv[2])(facts["options"], facts["device"])
        schema: Any = pa.ipc.read_schema(pa.BufferReader(bytes.fromhex(facts["schema"])))
    except BaseException as error:  # noqa: BLE001 - reported to the parent
        write(answers, FATAL, _told(error))
        return
    write(answers, READY, b"")
    while True:
        kind, content = read(requests)
        if not kind:
            return
        try:
            columns = call(pa.ipc.open_stream(content).read_all().to_pydict())
            found = pa.table(
                {name: exact(name, columns[name], schema.field(name).type) for name in schema.names}, schema
            )
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, schema) as stream:
                stream.write_table(found)
            write(answers, ANSWER, sink.getvalue())
        except Exception as error:  # noqa: BLE001 - reported to the parent
            write(answers, ROW_ERROR, _told(error))


def read(file: BinaryIO | IO[bytes]) -> tuple[bytes, bytes]:
    """The kind and content of a message; both empty at the end."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return b"", b""
    kind, length = _HEAD.unpack(head)
    content = file.read(length)
    return (kind, content) if len(content) == length else (b"", b"")


def write(file: BinaryIO | IO[bytes], kind: bytes, content: Any) -> None:
    """Send a message."""
    file.write(_HEAD.pack(kind, len(content)))
    file.write(content)
    file.flush()


def exact(name: str, values: Any, kind: Any) -> Any:
    """The values of a column as an array, none of them changed.

    Args:
        name: The column.
        values: A value for each sample.
        kind: The type of the column.

    Raises:
        ValueError: A value is not one of the type: 1.5 for int64, 1e300 for float32.
        TypeError: It is no list, array or series of values.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, (str, bytes, dict, set, frozenset)):
        raise TypeError(f"the column {name} is {type(values).__name__}, not a list with a value for each sample")
    values = values if hasattr(values, "__len__") else list(values)
    array = pa.array(values, kind)
    if _leaf_of(kind) not in (pa.int64(), pa.float32()):
        return array
    leaf, given = array, pa.array(values)
    while pa.types.is_list(leaf.type) and pa.types.is_nested(given.type):
        leaf, given = leaf.flatten(), given.flatten()
    if not pa.types.is_floating(given.type):
        return array
    if pa.types.is_floating(leaf.type):
        is_changed = pc.and_not(pc.is_inf(leaf), pc.is_inf(given))
    else:
        is_changed = pc.not_equal(given, leaf.cast(pa.float64()))
    place = pc.index(is_changed, value=True).as_py()
    if place >= 0:
        raise ValueError(f"the column {name} has {given[place].as_py()}, which is not {leaf.type}")
    return array


def _leaf_of(kind: Any) -> Any:
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    return kind


def _loaded(path: str, name: str) -> Any:
    """The function in a file; the file's directory is on its import path."""
    spec: Any = spec_from_file_location("jinx_adapter", path)
    module = module_from_spec(spec)
    sys.modules["jinx_adapter"] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise AttributeError(f"{path} has no function {name!r}")
    return getattr(module, name)


def _told(error: BaseException) -> bytes:
    traceback.print_exc()
    return f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace")


def _end_with(parent: int) -> None:
    """End this process when the parent is gone, even if the adapter hangs."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    main()
