"""Files of a source tree, and problems found in them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def files(root: Path, *folders: str, suffixes: Iterable[str] = ()) -> Iterator[Path]:
    """Yields files under `root` (or its `folders`), sorted: files that git would commit, or all
    files if `root` is no git work tree."""
    wanted = tuple(suffixes)
    for path in _listing(root):
        relative = path.relative_to(root).as_posix()
        if folders and not any(relative.startswith(f"{folder}/") for folder in folders):
            continue
        if wanted and not path.name.endswith(wanted):
            continue
        yield path


def _listing(root: Path) -> list[Path]:
    if not (root / ".git").exists():
        return sorted(path for path in root.rglob("*") if path.is_file())
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
               "--exclude-standard"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    paths = (root / name for name in sorted(set(output.split("\0"))) if name)
    return [path for path in paths if path.is_file()]


def read(path: Path) -> str:
    """The text of a file; bytes that are not UTF-8 (test inputs have some) are replaced."""
    return path.read_text(encoding="utf-8", errors="replace")


def name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
