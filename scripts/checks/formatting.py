"""C and C++ are formatted by clang-format, Python passes ruff's style rules, and text files end in
one newline without blanks before it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from checks.tree import Problem, files, line_of, name, read

_CONFIGURATION = Path(__file__).resolve().parents[2] / "pyproject.toml"
_CLANG_FORMAT = ("clang-format-22", "clang-format")
_SOURCES = (".c", ".cpp", ".h")
_TEXTS = _SOURCES + (".td", ".py", ".pyi", ".sh", ".cmake", ".txt", ".md", ".toml", ".json",
                     ".html")
_DIAGNOSTIC = re.compile(r"^(.*?):(\d+):\d+: error: (.*?)(?: \[.*\])?$", re.MULTILINE)
_RUFF = re.compile(r"^(.*?):(\d+):\d+: (.*)$", re.MULTILINE)
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


def check(root: Path) -> list[Problem]:
    return _check_blanks(root) + _check_clang_format(root) + _check_ruff(root)


def _check_blanks(root: Path) -> list[Problem]:
    problems = []
    for path in files(root, suffixes=_TEXTS):
        text, relative = read(path), name(root, path)
        for match in _TRAILING.finditer(text):
            problems.append(Problem(relative, line_of(text, match.start()), "blanks end the line"))
        if text and not re.search(r"[^\n]\n\Z", text):
            problems.append(Problem(relative, text.count("\n") + 1,
                                    "the file must end in exactly one newline"))
    return problems


def _check_clang_format(root: Path) -> list[Problem]:
    sources = [str(path) for path in files(root, suffixes=_SOURCES)]
    if not sources:
        return []
    tool = next(filter(None, map(shutil.which, _CLANG_FORMAT)), None)
    if tool is None:
        return [Problem(".clang-format", 1, "clang-format was not found: run scripts/setup")]
    command = [tool, "--dry-run", "-Werror", "--style=LLVM", *sources]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True)
    problems = [Problem(name(root, Path(file)), int(line), message)
                for file, line, message in _DIAGNOSTIC.findall(run.stderr)]
    if run.returncode != 0 and not problems:
        problems.append(Problem(".clang-format", 1, run.stderr.strip()))
    return problems


def _check_ruff(root: Path) -> list[Problem]:
    scripts = [str(path) for path in files(root, suffixes=(".py", ".pyi"))]
    if not scripts:
        return []
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=concise",
               "--config", str(_CONFIGURATION), *scripts]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True)
    problems = [Problem(path, int(line), message)
                for path, line, message in _RUFF.findall(run.stdout)]
    if run.returncode != 0 and not problems:
        problems.append(Problem("pyproject.toml", 1, run.stderr.strip()))
    return problems
