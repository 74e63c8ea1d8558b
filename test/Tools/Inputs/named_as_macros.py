"""Writes a program whose inputs have the names of macros: named_as_macros.py MACROS PROGRAM.

MACROS is what a compiler's -dM says. The types that headers speak of are names, too."""

import re
import sys
from pathlib import Path

found = re.findall(r"^#define ([A-Za-z]\w*) ", Path(sys.argv[1]).read_text(), re.MULTILINE)
names = sorted({*found, "int32_t", "int64_t", "uint8_t", "size_t"})
assert len(names) > 60, names
inputs = ", ".join(f"{name}: f32" for name in names)
Path(sys.argv[2]).write_text(f"kernel f(x: f32[B], {inputs}) -> (y: f32[B]) {{\n"
                             f"  return x + {' + '.join(names)};\n}}\n")
