"""Sizes in bytes as text: parses `512MB`, and formats `15.7 kB`."""

_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _UNITS[_letter] = _UNITS[_letter + "b"] = 1000**_power
    _UNITS[_letter + "ib"] = 1024**_power

_STEP = 1000


def counted(number: int, noun: str) -> str:
    """`1 sample`, `2,000 samples`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


DEFAULT_SHARD_BYTES = 1_000_000_000


def parse_size(size: int | str) -> int:
    """Bytes of `512MB` (powers of 1000), `512MiB` (powers of 1024) or a plain number.

    Raises:
        ValueError: The string is not a size, or the size is not positive.
    """
    if isinstance(size, int):
        amount, text = float(size), ""
    else:
        text = size.strip().lower().replace("_", "")
        digits = text.rstrip("bikmgt ")
        unit = text[len(digits) :].strip()
        try:
            amount = float(digits) * _UNITS[unit]
        except (ValueError, KeyError):
            raise ValueError(f"{size!r} is not a size; write for instance 512MB, 2GiB or 100000") from None
    if not 1 <= amount < float(1 << 63):
        raise ValueError(f"a size of {size!r} is out of range; write for instance 512MB")
    return int(amount)


def natural_size(size: float) -> str:
    """Bytes in a readable unit: `812 B`, `15.7 kB`, `3.2 GB` (powers of 1000)."""
    units = ["B", "kB", "MB", "GB", "TB", "PB"]
    power = 0
    while abs(size) >= _STEP - 0.05 and power < len(units) - 1:
        size /= _STEP
        power += 1
    return f"{size:.{1 if power else 0}f} {units[power]}"


def shard_bytes(path: str, shard_size: int | str | None) -> int | None:
    """The size in bytes at which shards of `path` are closed; None for a single file."""
    if shard_size is not None:
        return parse_size(shard_size)
    return None if path.endswith(".jinx") else DEFAULT_SHARD_BYTES
