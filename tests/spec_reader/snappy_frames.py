"""The framed snappy stream in plain Python, so that the second reader needs no package for it."""

from spec_reader.syntax import CorruptFileError, TruncatedFileError, need

STREAM_START = b"\xff\x06\x00\x00sNaPpY"


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC_TABLE = _crc_table()


def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def decode_block(data: bytes) -> bytes:
    length = shift = at = 0
    while True:
        need(at < len(data) and shift <= 28, "snappy length")
        length |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            break
    out = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        if tag & 3 == 0:
            size = tag >> 2
            if size >= 60:
                more = size - 59
                size, at = int.from_bytes(data[at : at + more], "little"), at + more
            need(at + size + 1 <= len(data), "snappy literal")
            out += data[at : at + size + 1]
            at += size + 1
            continue
        wide = (0, 1, 2, 4)[tag & 3]
        need(at + wide <= len(data), "snappy copy")
        back, at = int.from_bytes(data[at : at + wide], "little"), at + wide
        size = (tag >> 2) + 1
        if tag & 3 == 1:
            back, size = back | tag >> 5 << 8, (tag >> 2 & 7) + 4
        need(0 < back <= len(out), "snappy offset")
        for _ in range(size):
            out.append(out[-back])
        need(len(out) <= length, "snappy length")
    need(len(out) == length, "snappy length")
    return bytes(out)


def decode_stream(data: bytes) -> bytes:
    need(data, "empty stream", TruncatedFileError)
    need(data.startswith(STREAM_START), "no snappy stream")
    out, at = bytearray(), 0
    while at < len(data):
        kind, size = data[at], int.from_bytes(data[at + 1 : at + 4], "little")
        chunk, at = data[at + 4 : at + 4 + size], at + 4 + size
        need(at <= len(data), "snappy stream is cut", TruncatedFileError)
        if kind in (0, 1):
            block = decode_block(chunk[4:]) if kind == 0 else chunk[4:]
            need(len(chunk) >= 4 and len(block) <= 65536, "snappy chunk")
            need(masked_crc32c(block) == int.from_bytes(chunk[:4], "little"), "snappy checksum")
            out += block
        elif 2 <= kind < 128:
            raise CorruptFileError("unknown snappy chunk")
    return bytes(out)
