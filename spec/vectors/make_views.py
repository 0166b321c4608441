"""Makes the saved views, good and bad, over datasets of the other vectors: `python spec/vectors/make_views.py`."""

import base64
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import xxhash
from tagging import HERE, tag, update
from write_1_1 import View, Writer, manifest, x, zst

OUT = HERE / "views"
ENTRIES: list[dict] = []
NOISE = random.Random(21).randbytes(150)
MTIME_NS = 10**18
LINES = [
    (b'{"$jinx":1,"n":0,"raw":{"$bytes":"AAEC"},"f":{"$float":"-inf"},"d":{"$dict":{"$bytes":"AA=="}},"l":[{"$float":"nan"}]}\n',
     {"n": 0, "raw": b"\0\1\2", "f": float("-inf"), "d": {"$bytes": "AA=="}, "l": [float("nan")]}),
    (b"\n  \n", None),
    (b'{"n": 1, "raw": {"$bytes": "AA=="}, "v1.0.raw": "as it is"}  \n', {"n": 1, "raw": {"$bytes": "AA=="}, "v1.0.raw": "as it is"}),
    (b'{"n":2}', {"n": 2}),
]  # fmt: skip
KNOWN = {entry["name"]: entry["expect"]["rows"] for entry in json.loads((HERE / "vectors.json").read_text("utf-8"))["vectors"]
         if "rows" in entry["expect"]}  # fmt: skip


def digest(data: bytes) -> str:
    """xxh3-128 as text."""
    return xxhash.xxh3_128(data).hexdigest()


def footer_of(path: Path) -> tuple[bytes, dict]:
    """The bytes from the footer on, and the footer."""
    data = path.read_bytes()
    end = data[int(data.split()[-1]) :]
    return end, json.loads(end[: end.rstrip().rfind(b"\n")])


def entry_of(name: str, kind: str, id_: str, samples: int, **more: object) -> dict:
    """A base's entry. `name` is its path from the directory of the vectors."""
    return {"path": f"../{name}", "hint": f"/moved/{name}", "kind": kind, "id": id_, "num_samples": samples, **more}


def pair(name: str) -> dict:
    """A pair as base, of either version."""
    end, footer = footer_of(HERE / name)
    return entry_of(name, "pair", footer.get("id") or digest(end), footer["num_samples"])


def directory(name: str, shards: int) -> dict:
    """The first shards of a directory as base."""
    first = json.loads((HERE / name / "jinx.json").read_bytes())["shards"][:shards]
    listed = orjson.dumps([[shard["name"], shard["samples"], shard["id"]] for shard in first])
    return entry_of(name, "directory", digest(listed), sum(shard["samples"] for shard in first), shards=shards)


def lines(*, markers: bool = False) -> tuple[dict, list[int]]:
    """Plain JSON lines as base, with the offsets of its lines."""
    data = b"".join(line for line, _ in LINES)
    starts = np.cumsum([0, *(len(line) for line, _ in LINES)]).tolist()
    offsets = [start for start, (_, row) in zip(starts, LINES, strict=False) if row] + [len(data)]
    more = {"content": digest(data), **({"markers": True} if markers else {})}
    return entry_of("views/lines.jsonl", "jsonl", f"{len(data)}-{MTIME_NS}", len(offsets) - 1, **more), offsets


def rows_of(base: dict) -> list[dict]:
    """The samples of a base, tagged."""
    if base["kind"] == "jsonl":
        return [tag(row) for _, row in LINES if row]
    return KNOWN[base["hint"].removeprefix("/moved/").removesuffix(".jinx")][: base["num_samples"]]


def saved(bases: list, positions: list[int] | None = None, drop: tuple[str, ...] = ()) -> View:
    """A view; a base of JSON lines is a tuple of its entry and its offsets."""
    both = [base if isinstance(base, tuple) else (base, None) for base in bases]
    return View([entry for entry, _ in both], [offsets for _, offsets in both], positions, list(drop))


def write(path: Path, view: View, own: list[dict], columns: tuple = (), close: dict | None = None, **options: object) -> dict:
    """Writes the files of a view; returns its footer."""
    writer = Writer(path, **options)
    for row in own:
        writer.write(row)
    for wanted in columns:
        writer.column(*wanted)
    return writer.close(view=view, **(close or {}))


def entry(name: str, about: str, expect: dict, view: View) -> None:
    """Adds one vector to the list."""
    times = {"mtime_ns": {"views/lines.jsonl": MTIME_NS}} if any(view.lines) else {}
    ENTRIES.append({"name": f"views/{name}", "about": about, "path": f"views/{name}.jinx", **times, "expect": expect})


def good(name: str, about: str, view: View, own: list[dict] = (), columns: tuple = (), **options: object) -> None:
    """A view that is read."""
    write(OUT / f"{name}.jinx", view, list(own), columns, **options)
    together = [row for base in view.bases for row in rows_of(base)]
    shown = [together[at] for at in (range(len(together)) if view.positions is None else view.positions)]
    hidden = {*view.drop, *(name for row in own for name in row)}
    rows = [{name: value for name, value in row.items() if name not in hidden} for row in shown]
    expect: dict = {"rows": [row | (tag(own[i]) if own else {}) for i, row in enumerate(rows)]}
    if columns:
        expect["columns"] = [{"path": list(path), "kind": "value", "values": tag([row[path[0]] for row in own])} for path, *_ in columns]
    entry(name, about, expect, view)


LOCATIONS = [
    ("none", "a path", "/data/columns.jinx"),
    ("empty", "no character", ""),
    ("upper", "an upper-case scheme", "S3://bucket/columns.jinx"),
    ("user", "user info", "https://me:secret@host/columns.jinx"),
    ("query", "a query", "https://host/columns.jinx?sig=secret"),
    ("fragment", "a fragment", "https://host/columns.jinx#1"),
    ("dots", "a component ..", "https://host/a/../columns.jinx"),
    ("escape", "an incomplete escape", "https://host/columns%2.jinx"),
    ("nul", "a NUL", "file:///columns%00.jinx"),
    ("blank", "a blank", "s3://bucket/columns 1.jinx"),
    ("backslash", "a backslash", "s3://bucket/a\\columns.jinx"),
    ("host", "no host", "s3:///columns.jinx"),
    ("file_host", "a host of a file", "file://host/columns.jinx"),
    ("control", "a control character", "s3://bucket/\x1b[2J"),
    ("reordered", "a mark that reorders text", "s3://bucket/a\u202exnij"),
    ("long", "more than 4096 bytes", "s3://bucket/" + "a/" * 2048),
    ("unknown_user", "user info with another scheme", "ftp://me:secret@host/columns.jinx"),
]
OWN = [{"q": 1.5, "caption": "first", "mask": NOISE}, {"q": None, "caption": "second", "mask": b"small"}, {"q": 2.0, "caption": "third", "mask": None}]


def good_views() -> None:
    """Every kind of base and every form of view."""
    columns, media, old = pair("1_1/columns.jinx"), pair("1_1/media.jinx"), pair("1_0/sidecar.jinx")
    nine = [{"s": f"new {i}", "model.pt": np.arange(i)} for i in range(9)]
    good("pair", "some samples in another order, one twice, with columns of its own", saved([columns], [8, 0, 0]), OWN, ((("q",), "value"),))
    good("pair_all", "no positions: all samples in their order; an own column replaces one of the base", saved([columns], drop=("b", "n")), nine)
    good("arrays_in_sidecar", "index, hashes and positions by pointer", saved([columns], [3, 1, 4]), OWN, ((("q",), "value"),), pointers=True)
    located = columns | {"location": "s3://bucket/data/columns%20of%20all.jinx", "version": '"33a64df5"'}
    good("located", "also at a URL, which is not needed", saved([located], [8, 0, 0]))
    good("chunks", "positions in chunks of 16 bytes", saved([columns], [3, 1, 4, 1, 5]), pointers=True, chunk=16)
    good("without_sidecar", "everything inline", saved([columns], [3, 1, 4]), OWN, sidecar=False)
    good("rowless", "positions only", saved([columns], [2, 1]))
    good("rowless_sidecar", "positions only, by pointer", saved([columns], [2, 1]), pointers=True)
    good("rowless_all", "nothing but dropped columns, one of which the base does not have", saved([columns], drop=("u64", "nowhere")))
    good("no_samples", "a view of nothing", saved([columns], []))
    good("media", "media of the base stay media", saved([media], [0, 2, 1], ("doc",)), OWN)
    good("old", "a base of 1.0 is read by its own rules", saved([old], [1, 0]), [{"v.raw": "plain"}, {"v.raw": b"coded"}])
    good("directory", "a directory", saved([directory("1_1/folder", 2)], [3, 0, 2]), OWN)
    good("directory_grown", "the first shard of a directory that has two now", saved([directory("1_1/folder", 1)]))
    good("several", "bases of several kinds, one of them twice", saved([columns, old, directory("1_1/folder", 2), columns], [0, 9, 13, 20, 8]))
    good("lines", "plain JSON lines, of which some hold markers", saved([lines()], [2, 0, 1]), OWN)
    good("lines_all", "plain JSON lines, their offsets by pointer", saved([lines()], drop=("raw",)), pointers=True)


def directory_of_views(name: str, parts: list[tuple[View, list[dict]]], expect: dict, about: str, *, plain: tuple[str, ...] = (),
                       edit: Callable[[dict], None] | None = None) -> None:  # fmt: skip
    """A directory whose shards are views; `plain`: shards that are ordinary pairs instead."""
    shards = []
    for i, (view, own) in enumerate(parts):
        shard = f"shard-{i:05d}.jinx"
        if shard in plain:
            writer = Writer(OUT / name / shard)
            for row in own:
                writer.write(row)
            shards.append((shard, writer.close()))
        else:
            shards.append((shard, write(OUT / name / shard, view, own)))

    def edited(table: dict) -> None:
        table["features_required"] = ["view"]
        if edit:
            edit(table)

    manifest(OUT / name, shards, edited)
    ENTRIES.append({"name": f"views/{name}", "about": about, "path": f"views/{name}", "expect": expect})


def directories() -> None:
    """Views that are directories."""
    columns, old = pair("1_1/columns.jinx"), pair("1_0/sidecar.jinx")
    for base in (columns, old):
        base["path"] = f"../{base['path']}"
    together = rows_of(columns) + rows_of(old)
    parts = [(saved([columns, old], [8, 0, 9], ("url", "q")), OWN), (saved([columns, old], [0, 8], ("url", "q")), []), (saved([columns, old], [], ("q",)), [])]
    own = [tag(row) for row in OWN] + [{}, {}]
    rows = [{name: value for name, value in together[at].items() if name not in ("url", "q", *row)} | row for at, row in zip((8, 0, 9, 0, 8), own, strict=True)]
    directory_of_views("shards", parts, {"rows": rows}, "three shards: with columns of its own, without, and without samples")

    columns["path"] = f"../{columns['path']}"
    parts = [(saved([columns], [2]), [{"a": 1}]), (saved([columns], [1]), [{"a": 2}])]
    refused = {"error": "unsupported", "at": "row"}
    directory_of_views("bad/shard_is_no_view", parts, {**refused, "row": 1}, "an ordinary pair among views", plain=("shard-00001.jinx",))
    directory_of_views("bad/shard_is_a_view", parts, {**refused, "row": 0}, "views that the manifest does not announce", edit=lambda table: table.update(features_required=[]))


def bad_views() -> None:
    """One damage each."""
    columns = pair("1_1/columns.jinx")
    two = [{"a": 1}, {"a": 2}]

    def bad(name: str, error: str, about: str, *, view: View | None = None, own: list[dict] = two, base: dict | None = None,
            put: dict | None = None, at: str = "open", row: int = 1, close: dict | None = None, **options: object) -> None:  # fmt: skip
        view = view or saved([columns | (base or {})], [2, 1])
        view.bases = [{key: value for key, value in each.items() if value is not None} for each in view.bases]
        edit = {"edit": lambda footer: footer | put} if put else {}
        write(OUT / "bad" / f"{name}.jinx", view, own, close={**edit, **(close or {})}, **options)
        expect: dict = {"error": error, "at": at}
        if at != "open":
            expect["row"] = row
        if at == "value":
            expect["good"] = {"0": rows_of(view.bases[0])[view.positions[0]] | tag(own[0])}
        entry(f"bad/{name}", about, expect, view)

    # Paths count from the directory of the view, which is one deeper than that of the good ones.
    columns["path"] = f"../{columns['path']}"
    for name, about, put in (
        ("base_missing", "nothing is there", {"path": "nowhere.jinx"}),
        ("base_other", "another dataset is there", {"path": "../../1_1/names.jinx"}),
        ("base_id", "another id", {"id": "0" * 32}),
        ("base_samples", "another number of samples", {"num_samples": 8}),
        ("base_as_directory", "a pair that is listed as a directory", {"kind": "directory", "shards": 1}),
    ):
        bad(name, "mismatch", about, base=put)
    first = saved([columns], [1, 0])
    write(OUT / "bad" / "beneath.jinx", first, [])
    id_ = footer_of(OUT / "bad" / "beneath.jinx")[1]["id"]
    bad("base_is_view", "mismatch", "a base is never a view", base={"path": "beneath.jinx", "id": id_, "num_samples": 2}, view=None)
    grown = directory("1_1/folder", 2)
    bad("directory_shrunk", "mismatch", "more shards than there are", view=saved([grown | {"path": "../../1_1/folder", "shards": 3}], [2, 1]))
    for name, about, put in (
        ("kind_unknown", "another kind", {"kind": "parquet"}),
        ("path_missing", "no path", {"path": None}),
        ("path_empty", "an empty path", {"path": ""}),
        ("path_absolute", "an absolute path", {"path": "/etc/hosts"}),
        ("path_nul", "a NUL", {"path": "a\0b.jinx"}),
        ("path_escape", "a control character", {"path": "a\x1b[2Jb.jinx"}),
        ("path_reordered", "a mark that reorders text", {"path": "a\u202exnij"}),
        ("path_long", "more than 4096 bytes", {"path": "a/" * 2048 + "b"}),
        ("hint_relative", "a hint that is not absolute", {"hint": "a.jinx"}),
        ("places_none", "neither paths nor a location", {"path": None, "hint": None}),
        ("path_alone", "no hint", {"hint": None}),
        ("version_alone", "no location", {"version": "1"}),
        ("version_blank", "a blank", {"location": "s3://bucket/a.jinx", "version": "a b"}),
        ("version_empty", "no character", {"location": "s3://bucket/a.jinx", "version": ""}),
        *((f"location_{name}", about, {"location": url}) for name, about, url in LOCATIONS),
        ("id_short", "31 digits", {"id": "0" * 31}),
        ("id_upper", "upper case", {"id": "A" * 32}),
        ("samples_negative", "a negative number", {"num_samples": -1}),
        ("shards_of_pair", "a member of another kind", {"shards": 1}),
        ("directory_without_shards", "a member of the kind is missing", {"kind": "directory"}),
        ("lines_without_index", "members of the kind are missing", {"kind": "jsonl", "id": "5-5"}),
        ("markers_of_pair", "a member of another kind", {"markers": True}),
    ):
        bad(name, "corrupt", about, base=put)
    array = {"data": base64.b64encode(zst(bytes(8))).decode(), "length": 8, "x": x(bytes(8))}
    for name, about, put in (
        ("rows_wrong", "neither 0 nor num_samples", {"rows": 1}),
        ("rows_missing", "no rows", {"rows": None}),
        ("bases_none", "no base", {"base": []}),
        ("base_object", "not a list", {"base": columns}),
        ("positions_short", "fewer than samples", {"positions": array}),
        ("positions_missing", "a part of the base without positions", {"positions": None}),
        ("drop_twice", "one name twice", {"drop": ["b", "b"]}),
        ("drop_text", "not a list", {"drop": "b"}),
        ("num_samples", "more samples than rows and positions", {"num_samples": 3}),
        ("key_without_view", "the index of an ordinary file", None),
        ("rows_unindexed", "lines in a view that has no rows", {"rows": 0}),
    ):
        index = Writer(OUT / "x.jinx").text(zst(np.array([0, 8, 16], "<u8").tobytes()))
        own_index = {"index.npy.zst": index}

        def edit(footer: dict, put: dict | None = put) -> dict:
            if put is None:
                return own_index | {key: value for key, value in footer.items() if not key.startswith("index.")}
            return footer | put

        bad(name, "corrupt", about, close={"edit": edit})
    remote = {"path": None, "hint": None, "location": "s3://bucket/columns.jinx", "version": "1"}
    bad("location_remote", "unsupported", "only in an object store, which the readers here do not read", base=remote, at="row", row=0)
    bad("location_scheme", "unsupported", "another scheme", base={"location": "ftp://host/columns.jinx"})
    base, offsets = lines()
    bad("lines_without_version", "corrupt", "remote lines, which nothing identifies", view=saved([(base | remote | {"version": None}, offsets)], [2, 1]))
    huge = [columns | {"num_samples": 2**64 - 1}, columns | {"num_samples": 1}]
    bad("bases_overflow", "corrupt", "2^64 samples", view=saved(huge, [2, 1]))
    bad("feature_missing", "unsupported", "the key of a view without the feature", put={"features_required": []})
    bad("feature_unknown", "unsupported", "one more feature", put={"features_required": ["view", "other"]})
    bad("position_past_end", "corrupt", "a sample that the base does not have", view=saved([columns], [2, 9]), at="value")
    bad("position_huge", "corrupt", "2^64-1", view=saved([columns], [2, 2**64 - 1]), at="value", pointers=True)

    def flipped(body: bytes) -> bytes:
        at = body.index(np.array([2, 1], "<u8").tobytes())
        return body[:at] + b"\1" + body[at + 1 :]

    bad("positions_changed", "corrupt", "a position that the checksum does not cover", at="row", row=0, close={"side": flipped}, pointers=True)
    chunked = {"own": [], "view": saved([columns], [2, 1, 0]), "pointers": True, "chunk": 8, "row": 0}
    bad("chunk_changed", "corrupt", "a position that neither its chunk's checksum nor that of the whole covers", at="row", close={"side": flipped}, **chunked)

    def with_x_of(flip: bool) -> dict:
        data = np.array([3 if flip else 2, 1, 0], "<u8").tobytes()
        sums = np.array([xxhash.xxh3_64_intdigest(data[at : at + 8]) for at in (0, 8, 16)], "<u8").tobytes()
        return {"x": x(data), "xs": Writer.inline(sums)}

    def wrong(**members: object) -> dict:
        return {"edit": lambda footer: footer | {"positions": footer["positions"] | members}}

    other = with_x_of(flip=True)
    bad("chunk_other", "corrupt", "x is right, the checksum of a chunk is not", at="row", close=wrong(xs=other["xs"]), **chunked)
    broken = other["xs"] | {"x": "0" * 16}
    bad("chunk_xs_x", "corrupt", "the checksums of chunks do not match their own", at="row", close=wrong(xs=broken), **chunked)
    bad("row_changed", "corrupt", "an own column", at="row", close={"hashes": lambda data: data[:8] + bytes(8)})
    base, offsets = lines()
    base["path"] = "../lines.jsonl"
    bad("lines_id", "mismatch", "another time of the last change", view=saved([(base | {"id": base["id"] + "0"}, offsets)], [2, 1]))
    bad("lines_index_short", "corrupt", "fewer offsets than lines", view=saved([(base, offsets[1:])], [2, 1]))
    inside = [offsets[0], offsets[1] + 3, *offsets[2:]]
    bad("lines_inside", "corrupt", "an offset inside a line", view=saved([(base, inside)], [2, 1]), at="value")


def main() -> None:
    """Makes all files."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    (OUT / "lines.jsonl").write_bytes(b"".join(line for line, _ in LINES))
    good_views()
    bad_views()
    directories()
    update("views/", ENTRIES)


if __name__ == "__main__":
    main()
