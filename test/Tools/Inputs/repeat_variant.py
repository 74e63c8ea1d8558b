"""Writes a package of one variant again, with that variant twice."""

import struct
import sys


def checksum(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


with open(sys.argv[1], "rb") as file:
    data = file.read()
# A MessagePack list of one element, the last thing in the object.
before, variant = data[40:].split(b"\xa8variants\x91")
body = before + b"\xa8variants\x92" + variant + variant
head = data[:24] + struct.pack("<Q", len(body))
with open(sys.argv[2], "wb") as file:
    file.write(head + struct.pack("<Q", checksum(head + body)) + body)
