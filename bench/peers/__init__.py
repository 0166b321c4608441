"""The systems by name, in the order of the tables."""

from importlib import import_module

from bench.peers.peer import Peer

MODULES = (
    "ref",
    "jinx",
    "copy",
    "mldataforge",
    "streaming",
    "datasets",
    "parquet",
    "lance",
    "array_record",
    "litdata",
    "webdataset",
    "msgpack",
    "jsonl",
    "paper",
    "jinx_mds",
)


def every() -> dict[str, Peer]:
    """All systems; nothing heavy is imported."""
    return {peer.name: peer for module in MODULES for peer in import_module(f"bench.peers.{module}").PEERS}
