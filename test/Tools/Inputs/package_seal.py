"""Packages that tests change by hand: their body, and a file of it (docs/Package.md)."""

import hashlib
import struct

HEAD_BYTES = 40
NIL = b"\xc0"


def read_body(path):
    with open(path, "rb") as file:
        return file.read()[HEAD_BYTES:]


def write_file(path, body, is_sealed=True):
    """Its checksum is right, and unless told otherwise its seals are, too."""
    if is_sealed:
        body = _seal(body)
    head = b"nsacc-package".ljust(16, b"\0") + struct.pack("<QQ", 9, len(body))
    with open(path, "wb") as file:
        file.write(head + struct.pack("<Q", _checksum(head + body)) + body)


def find_code(body):
    """Where code and seals of images are: [(path, begin, end)]."""
    spans = []
    _Reader(body, spans).read(())
    return spans


def _checksum(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def _seal(body):
    """The digest of what is left without code, and of an image's number, as its `made_for`."""
    spans = find_code(body)
    rest = b""
    end = 0
    for _, begin, stop in spans:
        rest += body[end:begin] + NIL
        end = stop
    digest = hashlib.sha256(rest + body[end:]).digest()
    for path, _, stop in reversed(spans):
        if path[-1] == b"made_for":
            seal = hashlib.sha256(digest + str(path[1]).encode()).digest()
            body = body[:stop - len(seal)] + seal + body[stop:]
    return body


class _Reader:
    """Finds code and seals of images in MessagePack."""

    def __init__(self, data, spans):
        self.data, self.spans, self.at = data, spans, 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, count):
        return int.from_bytes(self.take(count), "big")

    def read(self, path):
        begin = self.at
        value = self.read_value(path)
        is_code = len(path) == 3 and path[2] in (b"ptx", b"cubin", b"made_for")
        is_host_code = len(path) == 4 and path[2:] == (b"host", b"bytes")
        if path[:1] == (b"images",) and (is_code or is_host_code):
            self.spans.append((path, begin, self.at))
        return value

    def read_value(self, path):
        kind = self.number(1)
        if kind < 0x80 or kind >= 0xE0 or kind in (0xC0, 0xC2, 0xC3):
            return kind
        if kind < 0x90 or kind in (0xDE, 0xDF):
            count = kind & 15 if kind < 0x90 else self.number(2 * (kind - 0xDD))
            return [self.read((*path, self.read(()))) for _ in range(count)]
        if kind < 0xA0 or kind in (0xDC, 0xDD):
            count = kind & 15 if kind < 0xA0 else self.number(2 * (kind - 0xDB))
            return [self.read((*path, index)) for index in range(count)]
        if kind < 0xC0:
            return self.take(kind & 31)
        if kind in (0xC4, 0xC5, 0xC6):
            return self.take(self.number(1 << (kind - 0xC4)))
        if kind in (0xD9, 0xDA, 0xDB):
            return self.take(self.number(1 << (kind - 0xD9)))
        return self.take({0xCA: 4, 0xCB: 8}.get(kind, 1 << (kind & 3)))
