"""The command lines and Python programs that README.md shows can be run as they stand.

A ```sh block runs in one shell, a ```python block in one interpreter, both in a scratch folder
that looks like the repository. `<!-- not run: REASON -->` on the line before a block leaves it
out. The development build stands in for the release build.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from checks.tree import Problem, line_of, read

TIMEOUT_SECONDS = 300

_BLOCK = re.compile(r"^([^\n]*)\n```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: \S.*-->")


@dataclass(frozen=True)
class Block:
    line: int
    language: str
    code: str


def check(root: Path) -> list[Problem]:
    problems = []
    readme = root / "README.md"
    if not readme.is_file():
        return [Problem("README.md", 1, "there is no README.md")]
    with tempfile.TemporaryDirectory() as scratch:
        _mirror(root, Path(scratch))
        for block in blocks(read(readme)):
            failure = _run(root, Path(scratch), block)
            if failure:
                problems.append(Problem("README.md", block.line, failure))
    return problems


def blocks(text: str) -> list[Block]:
    """The blocks to run, without those marked as exceptions."""
    found = []
    for match in _BLOCK.finditer("\n" + text):
        if not _NOT_RUN.search(match.group(1)):
            found.append(Block(line_of(text, max(match.start(2) - 1, 0)), match.group(2),
                               match.group(3)))
    return found


def _mirror(root: Path, scratch: Path) -> None:
    """Links the repository's top level into `scratch`, so that runs leave nothing behind."""
    for entry in root.iterdir():
        if entry.name != ".git":
            (scratch / entry.name).symlink_to(entry)


def _run(root: Path, scratch: Path, block: Block) -> str | None:
    python = root / ".venv" / "bin" / "python"
    build = root / "build" / "dev"
    environment = dict(os.environ)
    environment["PATH"] = f"{build / 'bin'}:{python.parent}:{environment['PATH']}"
    environment["PYTHONPATH"] = str(build / "python")
    code = block.code.replace("build/release/", "build/dev/")
    command = (["bash", "-euo", "pipefail", "-c", code] if block.language == "sh"
               else [str(python) if python.exists() else "python3", "-c", code])
    try:
        run = subprocess.run(command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"the {block.language} block took more than {TIMEOUT_SECONDS} s"
    if run.returncode == 0:
        return None
    return (f"the {block.language} block failed with exit code {run.returncode}:\n"
            f"{run.stdout[-2000:]}")
