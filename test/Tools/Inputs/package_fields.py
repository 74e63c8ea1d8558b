"""Writes a package again with texts of it replaced: package_fields.py IN OUT OLD=NEW... Old and new
texts have equal lengths, which MessagePack keeps in front of them; NEW may have \\xNN in it."""

import sys

from package_seal import read_body, write_file

source, target, *changes = sys.argv[1:]
body = read_body(source)
for change in changes:
    old, new = (text.encode().decode("unicode_escape").encode("latin-1")
                for text in change.split("=", 1))
    assert len(old) == len(new) and old in body, change
    # The length in front tells a text from a part of another one.
    body = body.replace(bytes([0xA0 + len(old)]) + old, bytes([0xA0 + len(new)]) + new)
write_file(target, body)
