"""Writes a package of one variant again, with that variant twice."""

import sys

from package_seal import read_body, write_file

# A MessagePack list of one element, the last thing in the object.
before, variant = read_body(sys.argv[1]).split(b"\xa8variants\x91")
write_file(sys.argv[2], before + b"\xa8variants\x92" + variant + variant)
