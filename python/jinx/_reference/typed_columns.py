"""Typed columns of views, written only from spec/views.md, section 7."""

import re
from collections.abc import Callable
from datetime import date, timedelta
from itertools import pairwise

import numpy as np

MAX_VECTOR, MAX_ENTRIES = 1 << 20, 1 << 31
INTS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64"]
TIMES = ["datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ns]"]
OWN_ONLY = {"width", "nulls", "zone", "entries", "codes"}  # entries that no column of an index has


def check(entry: dict, need: Callable[..., None]) -> None:
    """Checks the members of an entry of `own`; its arrays are checked when they are read."""
    need(all(isinstance(entry.get(name), kind) for name, kind in (("dtype", str), ("path", list))), "dtype or path")
    need([entry.get("kind"), *map(type, entry["path"])] == ["value", str], "path of an own column")
    dtype = entry["dtype"]
    for name, most, kinds in (("width", MAX_VECTOR, [*INTS, *FLOATS]), ("entries", MAX_ENTRIES, ["utf8"])):
        if name in entry:
            need(type(entry[name]) is int and 1 <= entry[name] <= most and dtype in kinds, name)
    need(dtype in [*INTS, *FLOATS, *TIMES, "bool", "utf8"], "dtype of an own column")
    need(("offsets" in entry) == (dtype == "utf8"), "offsets of an own column")
    need(("codes" in entry) == ("entries" in entry), "codes of an own column")
    if "zone" in entry:
        need(isinstance(entry["zone"], str) and re.fullmatch("[!-~]{1,64}", entry["zone"]) and dtype in TIMES, "zone")


def values_of(entry: dict, count: int, array: Callable[[dict, str], list], need: Callable[..., None]) -> list:
    """All values of a column of `count` rows, including missing ones; `array` reads an array."""
    dtype = entry["dtype"]
    if dtype in TIMES:
        return [time_text(ticks, dtype, entry.get("zone")) for ticks in array(entry["data"], "<i8")]
    if dtype != "utf8":
        numbers = array(entry["data"], dtype)
        return list(np.array(numbers, dtype).reshape(-1, entry["width"])) if "width" in entry else numbers
    text, cuts = bytes(array(entry["data"], "u1")), array(entry["offsets"], "<u8")
    need(cuts and cuts[0] == 0 and cuts == sorted(cuts) and cuts[-1] == len(text), "offsets of a column")
    need(len(cuts) == entry.get("entries", count) + 1, "strings of a column")
    values = [text[start:end].decode() for start, end in pairwise(cuts)]
    if "codes" in entry:
        codes = array(entry["codes"], code_type(len(values)))
        need(len(codes) == count and 0 <= min(codes) <= max(codes) < len(values), "codes of a column")
        values = [values[code] for code in codes]
    return values


def code_type(entries: int) -> str:
    """The type of the codes for this many strings."""
    return "i1" if entries <= 1 << 7 else "<i2" if entries <= 1 << 15 else "<i4"


def time_text(ticks: int, dtype: str, zone: str | None) -> str:
    """A time in the form in which samples contain it."""
    digits = 3 * TIMES.index(dtype)
    seconds, fraction = divmod(ticks, 10**digits)
    end, offset = "Z" if zone else "", 0
    if local := re.fullmatch(r"([+-])(\d\d)(?::?([0-5]\d))?", zone or "", re.ASCII):
        minutes = int(local[2]) * 60 + int(local[3] or 0)
        offset = (-60 if local[1] == "-" else 60) * minutes
        if offset and -(2**63) <= seconds + offset < 2**63:
            end = f"{local[1]}{minutes // 60:02}:{minutes % 60:02}"
        else:
            offset = 0
    days, clock = divmod(seconds + offset, 86_400)
    cycles, days = divmod(days - 10_957, 146_097)  # 400 years, counted from 2000-01-01, after which dates repeat
    day = date(2000, 1, 1) + timedelta(days)
    year = day.year + 400 * cycles
    sign = "" if 0 <= year <= 9999 else "-" if year < 0 else "+"
    text = f"{sign}{abs(year):04}-{day.month:02}-{day.day:02}T{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}"
    return text + (f".{fraction:0{digits}}" if digits else "") + end
