"""Makes the saved views with typed columns, good and bad: `python spec/vectors/make_typed.py`."""

import math
import shutil
from collections.abc import Callable

import numpy as np
from make_views import HERE, OWN, digest, pair, rows_of, saved, write
from tagging import tag, update
from write_1_1 import INTS, View, Writer, x

OUT = HERE / "typed"
ENTRIES: list[dict] = []
INF, NAN = math.inf, math.nan


def typed(positions: list[int], columns: dict[str, tuple[str, list]], *, deep: bool = False) -> View:
    """A view of columns.jinx with typed columns."""
    base = pair("1_1/columns.jinx")
    base["path"] = ("../" if deep else "") + base["path"]
    view = saved([base], positions)
    view.typed = columns
    return view


def value_of(dtype: str, value: object) -> object:
    """What a reader returns for a value."""
    if dtype.startswith("datetime64") and value is not None:
        return time_of(*dtype.split(" "), ticks=value)
    return np.array(value, dtype) if isinstance(value, list) else value


def time_of(dtype: str, zone: str | None = None, *, ticks: int) -> str:
    """The text of a time whose year has four digits, as numpy writes it, and of the few others by hand."""
    if (dtype, ticks) in FAR:
        return FAR[dtype, ticks]
    shift = {"+05:30": 19800, "-0800": -28800}.get(zone or "", 0)
    unit = dtype[11:-1]
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    text = str(np.datetime64(ticks + shift * per_second, unit))
    return text + ({"+05:30": "+05:30", "-0800": "-08:00"}.get(zone, "Z") if zone else "")


# 64-bit seconds reach years that numpy does not write in this form.
FAR = {
    ("datetime64[s]", 253402300800): "+10000-01-01T00:00:00",
    ("datetime64[s]", -62167219201): "-0001-12-31T23:59:59",
    ("datetime64[s]", -62167219200): "0000-01-01T00:00:00",
}


def good(name: str, about: str, columns: dict[str, tuple[str, list]], own: list[dict] = (), **options: object) -> None:
    """A view that is read."""
    count = len(next(iter(columns.values()))[1])
    positions = [(5 * i + 2) % 9 for i in range(count)]
    view = typed(positions, columns)
    write(OUT / f"{name}.jinx", view, list(own), **options)
    base = rows_of(view.bases[0])
    hidden = {*columns, *(name for row in own for name in row)}
    rows = []
    for i, at in enumerate(positions):
        row = {name: value for name, value in base[at].items() if name not in hidden} | (tag(own[i]) if own else {})
        rows.append(row | {name: tag(value_of(dtype, values[i])) for name, (dtype, values) in columns.items()})
    ENTRIES.append({"name": f"typed/{name}", "about": about, "path": f"typed/{name}.jinx", "expect": {"rows": rows}})


def good_views() -> None:
    """Every type."""
    limits = {name: [int(np.iinfo(code).min), int(np.iinfo(code).max), 0] for name, code in INTS.items()}
    good("integers", "the limits of every integer type; no narrowest type", {name: (name, values) for name, values in limits.items()})
    floats = {"h": ("float16", [0.5, -0.0, 65504.0]), "f": ("float32", [NAN, INF, 2.0**-149]), "d": ("float64", [-INF, 0.1, 5e-324])}
    good("floats", "floats of three types, not all of them finite", floats)
    good("bools", "bools, and one that replaces a column of the base", {"flag": ("bool", [True, False, True]), "b": ("bool", [False, False, True])})
    texts = {"t": ("utf8", ["", "a \u00e9 \U0001f600", "line\nbreak"])}
    good("strings", "strings", texts)
    label = {"label": ("utf8 codes", ["cat", "dog", "cat", None, "", "\u00e9", "dog"])}
    good("codes", "strings with codes, one of them missing", label)
    good("codes_pointers", "codes in the sidecar", label | {"n": ("int8", [1, None, 3, 4, 5, 6, 7])}, pointers=True, chunk=8)
    good("codes_none", "codes without a value", {"label": ("utf8 codes", [None, None, None])})
    wide = [f"s{i}" for i in range(130)]
    good("codes_wide", "more strings than int8 tells apart", {"label": ("utf8 codes", [*wide, "s129", None])})
    now = 1_700_000_000
    times = {f"t{unit}": (f"datetime64[{unit}]", [now * 10**power, -1, None]) for unit, power in (("s", 0), ("ms", 3), ("us", 6), ("ns", 9))}
    good("times", "times of every unit", times)
    zoned = {name: (f"datetime64[ms] {zone}", [now * 1000 + 7, -1, 0]) for name, zone in (("utc", "UTC"), ("plus", "+05:30"), ("minus", "-0800"), ("city", "Europe/Berlin"))}
    good("times_zones", "instants in time zones", zoned)
    good("times_far", "years without four digits, and the year 0", {"t": ("datetime64[s]", [253402300800, -62167219201, -62167219200])})
    missing = {"n": ("int8", [None, 5, None]), "f": ("float32", [1.5, None, 2.5]), "t": ("utf8", [None, "", "x"]), "v": ("int8", [[1, 2], None, [3, 4]])}
    good("missing", "missing values", missing)
    vectors = {"h": ("float16", [[0.5, 1.5, -2.0]] * 3), "one": ("float32", [[1.0], [2.0], [NAN]]), "i": ("int8", [[1, -1], [127, -128], [0, 0]])}
    good("vectors", "vectors of floats and integers, also of one number", vectors)
    good("with_rows", "members of rows come first", vectors | texts, OWN)
    good("pointers", "all arrays in the sidecar", missing | vectors, OWN, pointers=True)
    good("chunks", "arrays in chunks of 8 bytes", vectors, pointers=True, chunk=8)
    good("without_sidecar", "everything inline", missing, sidecar=False)


def bad(name: str, about: str, edit: Callable[[dict], None] | None, error: str = "corrupt", at: str = "open", row: int = 0,
        columns: dict[str, tuple[str, list]] | None = None, own: list[dict] = (), **options: object) -> None:  # fmt: skip
    """One damage."""
    columns = columns or {"v": ("float32", [[1.0, 2.0], [3.0, 4.0], None]), "t": ("utf8", ["a", "bc", "d"])}
    close = {"edit": edit} if edit else {}
    close |= {key: options.pop(key) for key in ("side",) if key in options}
    write(OUT / "bad" / f"{name}.jinx", typed([2, 7, 3], columns, deep=True), list(own), close=close, **options)
    expect: dict = {"error": error, "at": at} | ({"row": row} if at != "open" else {})
    ENTRIES.append({"name": f"typed/bad/{name}", "about": about, "path": f"typed/bad/{name}.jinx", "expect": expect})


def changed(column: int, **members: object) -> Callable[[dict], None]:
    """Members of a typed column replaced; None removes one."""

    def edit(footer: dict) -> None:
        entry = footer["own"][column] | members
        footer["own"][column] = {name: value for name, value in entry.items() if value is not None}

    return edit


def footer_with(**members: object) -> Callable[[dict], None]:
    """Members of the footer replaced."""
    return lambda footer: footer.update(members)


def bad_views() -> None:
    """What contradicts the page."""
    array = Writer.inline
    for name, about, edit in (
        ("dtype_unknown", "another type", changed(0, dtype="float8")),
        ("dtype_big_endian", "a type with another byte order", changed(0, dtype=">f4")),
        ("dtype_missing", "no type", changed(0, dtype=None)),
        ("dtype_longer", "float64 in an array of float32", changed(0, dtype="float64")),
        ("kind_length", "not a value", changed(0, kind="length")),
        ("path_two", "a path of two names", changed(0, path=["v", "w"])),
        ("path_empty", "no name", changed(0, path=[])),
        ("path_null", "the elements of a list", changed(0, path=[None])),
        ("rows_short", "fewer rows than samples", changed(0, rows=2)),
        ("rows_huge", "2^63 rows", changed(0, rows=2**63)),
        ("width_zero", "vectors of no numbers", changed(0, width=0)),
        ("width_other", "vectors of another length", changed(0, width=3)),
        ("width_huge", "vectors that are too long", changed(0, width=2**62)),
        ("width_missing", "numbers in an array of vectors", changed(0, width=None)),
        ("width_text", "vectors of strings", changed(1, width=1)),
        ("data_short", "a cell is missing", changed(0, data=array(bytes(20)))),
        ("data_long", "one number too many", changed(0, data=array(bytes(28)))),
        ("data_missing", "no data", changed(0, data=None)),
        ("validity_long", "two bytes for three samples", changed(0, validity=array(b"\3\0"))),
        ("validity_missing", "'nulls' without a bitmap", changed(0, validity=None)),
        ("nulls_missing", "a bitmap without 'nulls'", changed(0, nulls=None)),
        ("nulls_zero", "no missing values, and a bitmap", changed(0, nulls=0)),
        ("nulls_many", "more missing values than samples", changed(0, nulls=4)),
        ("offsets_missing", "strings without offsets", changed(1, offsets=None)),
        ("offsets_short", "as many offsets as samples", changed(1, offsets=array(bytes(24)))),
        ("offsets_of_numbers", "numbers with offsets", changed(0, offsets=array(bytes(32)))),
        ("own_missing", "the feature without columns", lambda footer: {name: value for name, value in footer.items() if name != "own"}),
        ("own_empty", "no column", footer_with(own=[])),
        ("own_object", "not a list", footer_with(own={})),
        ("feature_missing", "columns without the feature", footer_with(features_required=["view"])),
        ("name_twice", "two columns of one name", changed(1, path=["v"])),
    ):  # fmt: skip
        bad(name, about, edit)
    coded = {"label": ("utf8 codes", ["a", "bc", None]), "t": ("datetime64[us] UTC", [1, 2, 3])}
    for name, about, edit in (
        ("codes_short", "a code is missing", changed(0, codes=array(b"\0\1"))),
        ("codes_missing", "'entries' without codes", changed(0, codes=None)),
        ("codes_wider", "codes of more bytes than the strings need", changed(0, codes=array(bytes(6)))),
        ("entries_missing", "codes without 'entries'", changed(0, entries=None)),
        ("entries_zero", "no string", changed(0, entries=0)),
        ("entries_other", "another number of strings than offsets", changed(0, entries=3)),
        ("entries_huge", "2^40 strings", changed(0, entries=2**40)),
        ("entries_of_numbers", "codes of times", changed(1, entries=2, codes=array(bytes(3)))),
        ("time_unit", "times in minutes", changed(1, dtype="datetime64[m]")),
        ("time_vectors", "vectors of times", changed(1, width=1)),
        ("zone_empty", "a time zone without a name", changed(1, zone="")),
        ("zone_blank", "a time zone with a line break", changed(1, zone="UTC\n")),
        ("zone_long", "a time zone of 65 characters", changed(1, zone="Z" * 65)),
        ("zone_of_strings", "a time zone of strings", changed(0, zone="UTC")),
    ):  # fmt: skip
        bad(name, about, edit, columns=coded)
    bad("codes_negative", "a code below 0", changed(0, codes=array(b"\0\xff\0")), at="row", columns=coded)
    bad("codes_past_end", "a code after the last string", changed(0, codes=array(b"\0\2\0")), at="row", columns=coded)
    bad("codes_text", "strings that are not UTF-8", changed(0, data=array(b"\xff\xfe\xfd")), at="row", columns=coded)
    bad("name_of_rows", "also a member of the rows", changed(1, path=["caption"]), own=OWN)
    bad("without_view", "the feature in another file", lambda footer: None, at="open")
    writer = Writer(OUT / "bad" / "without_view.jinx")
    writer.write({"a": 1})
    writer.close(features_required=["own_columns"])
    offsets = [np.array(cuts, "<u8").tobytes() for cuts in ([0, 2, 1, 4], [1, 1, 3, 4], [0, 1, 3, 5], [0, 1, 3, 3])]
    for name, about, edit in (
        ("nulls_other", "another number of missing values", changed(0, nulls=2)),
        ("validity_spare", "a bit after the last sample", changed(0, validity=array(b"\x0b"))),
        ("data_x", "a wrong checksum", changed(0, data=array(bytes(24)) | {"x": x(b"")})),
        ("offsets_descend", "an offset before the one before it", changed(1, offsets=array(offsets[0]))),
        ("offsets_first", "the first is not 0", changed(1, offsets=array(offsets[1]))),
        ("offsets_past_end", "past the end of the strings", changed(1, offsets=array(offsets[2]))),
        ("offsets_end", "bytes after the last string", changed(1, offsets=array(offsets[3]))),
        ("text_not_utf8", "not UTF-8", changed(1, data=array(b"\xff\xfe\xfd\xfc"))),
        ("text_inside", "an offset inside a character", changed(1, data=array("\u00e9\u00e9".encode()))),
        ("bool_two", "a bool that is 2", None),
    ):  # fmt: skip
        columns = {"flag": ("bool", [True, False, True])} if name == "bool_two" else None
        edit = edit or changed(0, data=array(b"\1\0\2"))
        bad(name, about, edit, at="row", columns=columns)

    def flipped(body: bytes) -> bytes:
        at = body.index(np.array([3.0, 4.0], "<f4").tobytes())
        return body[:at] + b"\1" + body[at + 1 :]

    bad("data_changed", "a number that the checksum does not cover", None, at="row", row=1, side=flipped, pointers=True)
    bad("chunk_changed", "a number that its chunk's checksum does not cover", None, at="row", row=1, side=flipped, pointers=True, chunk=8)


def main() -> None:
    """Makes all files."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    good_views()
    bad_views()
    update("typed/", ENTRIES)


if __name__ == "__main__":
    main()
