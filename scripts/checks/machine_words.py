"""Nothing in the repository names this machine's folders or a package index's host."""

from __future__ import annotations

import re
from pathlib import Path

from checks.tree import Problem, files, line_of, name, read

# An absolute path of somebody's machine: it starts a word, and its first folder is private.
_PRIVATE_PATH = re.compile(r"(?<![\w./$}*~-])/(?:work|root|home|Users)/[\w.-]+")
_INDEX_HOST = re.compile(
    r"\b(?:pypi|pythonhosted|npmjs|debian|crates)\.(?:org|com|io)\b", re.IGNORECASE)


def check(root: Path) -> list[Problem]:
    problems = []
    for path in files(root):
        text = read(path)
        for pattern, what in ((_PRIVATE_PATH, "a path of one machine"),
                              (_INDEX_HOST, "a package index's host")):
            for match in pattern.finditer(text):
                problems.append(Problem(name(root, path), line_of(text, match.start()),
                                        f"names {what}: {match.group(0)}"))
    return problems
