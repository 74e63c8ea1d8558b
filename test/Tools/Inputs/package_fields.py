"""Writes a package again with texts of it replaced: package_fields.py IN OUT OLD=NEW... Old and new
texts have equal lengths, which MessagePack keeps in front of them; NEW may have \\xNN in it."""

import struct
import sys

HEAD_BYTES = 40


def checksum(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


source, target, *changes = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read()
head, body = data[:HEAD_BYTES - 8], data[HEAD_BYTES:]
for change in changes:
    old, new = (text.encode().decode("unicode_escape").encode("latin-1")
                for text in change.split("=", 1))
    assert len(old) == len(new) and old in body, change
    # The length in front tells a text from a part of another one.
    body = body.replace(bytes([0xA0 + len(old)]) + old, bytes([0xA0 + len(new)]) + new)
with open(target, "wb") as file:
    file.write(head + struct.pack("<Q", checksum(head + body)) + body)
