"""Packages that tests change by hand: their body, and a file of it (docs/Package.md)."""

import hashlib
import struct

HEAD_BYTES = 40
NIL = b"\xc0"
PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
          0x27D4EB2F165667C5)


def read_body(path):
    with open(path, "rb") as file:
        return file.read()[HEAD_BYTES:]


def write_file(path, body, is_sealed=True):
    """Its checksum is right, and unless told otherwise its seals are, too."""
    if is_sealed:
        body = _seal(body)
    with open(path, "wb") as file:
        file.write(make_file(body))


def make_file(body):
    """With a head that is right."""
    head = b"nsacc-package".ljust(16, b"\0") + struct.pack("<QQ", 12, len(body))
    return head + struct.pack("<Q", _checksum(body, _checksum(head))) + body


def find_code(body):
    """Where code and seals of images are: [(path, begin, end)]."""
    spans = []
    _Reader(body, spans).read(())
    return spans


def _rotate(word, bits):
    return (word << bits | word >> 64 - bits) % 2**64


def _mix(lane, word):
    return _rotate((lane + word * PRIMES[1]) % 2**64, 31) * PRIMES[0] % 2**64


def _checksum(data, seed=0):
    """XXH64."""
    whole = len(data) // 32 * 32
    if whole:
        lanes = [seed + PRIMES[0] + PRIMES[1], seed + PRIMES[1], seed, seed - PRIMES[0]]
        for index, (word,) in enumerate(struct.iter_unpack("<Q", data[:whole])):
            lanes[index % 4] = _mix(lanes[index % 4], word)
        value = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18)))
        for lane in lanes:
            value = ((value % 2**64 ^ _mix(0, lane)) * PRIMES[0] + PRIMES[3]) % 2**64
    else:
        value = seed + PRIMES[4]
    value = (value + len(data)) % 2**64
    words = len(data) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[whole:words]):
        value = (_rotate(value ^ _mix(0, word), 27) * PRIMES[0] + PRIMES[3]) % 2**64
    rest = data[words:]
    if len(rest) >= 4:
        value ^= int.from_bytes(rest[:4], "little") * PRIMES[0] % 2**64
        value = (_rotate(value, 23) * PRIMES[1] + PRIMES[2]) % 2**64
        rest = rest[4:]
    for byte in rest:
        value = _rotate(value ^ byte * PRIMES[4] % 2**64, 11) * PRIMES[0] % 2**64
    value = (value ^ value >> 33) * PRIMES[1] % 2**64
    value = (value ^ value >> 29) * PRIMES[2] % 2**64
    return value ^ value >> 32


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
