"""No source file is longer than 800 lines; files above 500 lines are reported as warnings."""

from __future__ import annotations

import warnings
from pathlib import Path

from checks.tree import Problem, files, name, read

LIMIT = 800
NOTICE = 500

_SUFFIXES = (".c", ".cpp", ".h", ".td", ".py", ".pyi", ".sh", ".cmake", ".txt", ".mlir", ".nsa",
             ".test", ".ts", ".js")


def check(root: Path) -> list[Problem]:
    problems = []
    for path in files(root, suffixes=_SUFFIXES):
        length = read(path).count("\n")
        relative = name(root, path)
        if length > LIMIT:
            problems.append(Problem(relative, LIMIT + 1,
                                    f"{length} lines: split the file, {LIMIT} is the most"))
        elif length > NOTICE:
            warnings.warn(f"{relative} has {length} lines", stacklevel=2)
    return problems
