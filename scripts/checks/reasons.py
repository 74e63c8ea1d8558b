"""Each reason that lib/Schedule gives for a choice is shown by a test.

A reason is a string of at least five words. A test shows it if four of its words stand there one
after another: the rest may be a value, or be cut into several lines."""

from __future__ import annotations

import re
from pathlib import Path

from checks.tree import Problem, files, line_of, name, read

WORDS, SHOWN = 5, 4

_COMMENT = re.compile(r"//.*")
_STRING = r'"((?:[^"\\\n]|\\.)*)"'
_STRINGS = re.compile(rf"(llvm_unreachable\(\s*)?{_STRING}(?:\s*{_STRING})*")


def _reasons(text: str) -> list[tuple[int, list[str]]]:
    """Offsets and words of the reasons in a source file."""
    text = _COMMENT.sub(lambda comment: " " * len(comment.group()), text)
    found = []
    for match in _STRINGS.finditer(text):
        words = "".join(re.findall(_STRING, match.group())).split()
        if not match.group(1) and len(words) >= WORDS:
            found.append((match.start(), words))
    return found


def check(root: Path) -> list[Problem]:
    # Strings of unit tests may be cut into several lines.
    tests = " ".join(" ".join(re.sub(r'"\s*\n\s*"', "", read(path)).split()) for path in
                     files(root, "test", suffixes=(".cpp", ".mlir", ".nsa", ".py", ".test")))
    problems = []
    for path in files(root, "lib/Schedule", suffixes=(".cpp",)):
        for offset, words in _reasons(text := read(path)):
            if not any(" ".join(words[first:first + SHOWN]).strip(" ,;:()") in tests
                       for first in range(len(words) - SHOWN + 1)):
                problems.append(Problem(name(root, path), line_of(text, offset),
                                        f"no test shows the reason '{' '.join(words)}'"))
    return problems
