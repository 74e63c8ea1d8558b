"""The lit tests of a tree, and their RUN lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from checks.tree import files, read

_SUFFIXES = (".mlir", ".nsa", ".test")
_NOT_LIT = {"Inputs", "unittests", "fuzz", "Python", "Wheel"}
_RUN = re.compile(r"RUN:[ \t]*(.*)")


def lit_files(root: Path) -> Iterator[Path]:
    for path in files(root, "test", suffixes=_SUFFIXES):
        if not _NOT_LIT & set(path.relative_to(root).parts):
            yield path


def run_lines(path: Path) -> list[str]:
    return _RUN.findall(read(path))
