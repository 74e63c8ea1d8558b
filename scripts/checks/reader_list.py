"""The tables under "Where to look" of the developer guide name files and symbols that exist.

In its second column a word with a slash is a file; the words behind it, up to the next file, are
symbols of that file.
"""

from __future__ import annotations

import re
from pathlib import Path

from checks.tree import Problem, line_of, read

PAGE = "docs/DeveloperGuide.md"
HEADING = "## Where to look\n"

_ROW = re.compile(r"^\| *(.+?) *\| *(.+?) *\|$", re.MULTILINE)
_HEAD = re.compile(r"\| looking for \||\| --- \|")
_WORD = re.compile(r"`([^`]+)`")


def check(root: Path) -> list[Problem]:
    text = read(root / PAGE) if (root / PAGE).is_file() else ""
    start = text.find(HEADING)
    if start < 0:
        return [Problem(PAGE, 1, f"there is no part {HEADING.strip()!r}")]
    end = text.find("\n## ", start + len(HEADING))
    rows = [row for row in _ROW.finditer(text, start, end if end >= 0 else len(text))
            if not _HEAD.match(row.group(0))]
    if not rows:
        return [Problem(PAGE, line_of(text, start), "the list has no rows")]
    return [Problem(PAGE, line_of(text, row.start()), f"{row.group(1)}: {message}")
            for row in rows for message in _missing(root, row.group(2))]


def _missing(root: Path, places: str) -> list[str]:
    messages, path, named = [], None, False
    for word in _WORD.findall(places):
        if "/" in word:
            path, named = root / word, True
            if not path.is_file():
                messages.append(f"there is no {word}")
                path = None
        elif path and not re.search(rf"\b{re.escape(word)}\b", read(path)):
            messages.append(f"{path.relative_to(root)} has no {word!r}")
    return messages if named else ["no file is named"]
