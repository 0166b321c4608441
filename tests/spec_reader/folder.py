"""A path as one sequence of samples: a pair, or a folder of pairs."""

import re
from pathlib import Path

from spec_reader.reader import Pair
from spec_reader.syntax import (
    MismatchError,
    TruncatedFileError,
    check_digest,
    check_name,
    member,
    need,
    parse_object,
    version_of,
)


class Dataset:
    """A pair or a folder; `dataset[i]` is a sample."""

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        manifest = path / "jinx.json"
        if not path.is_dir():
            self.pairs = [Pair(path)]
        elif manifest.exists():
            self.pairs = self._listed(path, manifest.read_bytes())
        else:
            names = [p.name for p in path.glob("shard-*.jinx")]
            names.sort(key=natural)
            need(names, "no shards", MismatchError)
            self.pairs = [Pair(path / name) for name in names]

    def _listed(self, folder: Path, data: bytes) -> list[Pair]:
        need(data.endswith(b"\n"), "manifest is cut")
        table = parse_object(data[:-1], "manifest")
        need(table.get("format") == "jinx", "not a manifest")
        version_of(table)
        check_digest(data[:-1], table, required=True)
        shards, pairs = member(table, "shards", list), []
        for shard in shards:
            check_name(shard.get("name"))
        need(sum(member(shard, "samples", int) for shard in shards) == table.get("num_samples"), "num_samples")
        for shard in shards:
            path = folder / shard["name"]
            need(path.exists(), f"shard {path} is missing", MismatchError)
            need(path.stat().st_size >= shard["bytes"], "shard is cut", TruncatedFileError)
            pair = Pair(path)
            known = (shard["bytes"], shard["samples"], shard["id"], shard["sidecar_bytes"])
            sidecar = pair.footer.get("sidecar") or {"length": 0}
            need(
                known == (len(pair.data), len(pair), pair.footer.get("id"), sidecar["length"]),
                "shard is not the listed one",
                MismatchError,
            )
            pairs.append(pair)
        return pairs

    def __len__(self) -> int:
        return sum(map(len, self.pairs))

    def __getitem__(self, i: int) -> dict:
        for pair in self.pairs:
            if i < len(pair):
                return pair[i]
            i -= len(pair)
        raise IndexError(i)

    def columns(self) -> list[tuple[list[str], str, list]]:
        """(path, kind, values) of every column of the first pair."""
        return [
            (c["path"], c["kind"], pair.column(c)) for pair in self.pairs[:1] for c in pair.footer.get("columns", [])
        ]


def natural(name: str) -> tuple:
    parts = re.split("([0-9]+)", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts], name
