"""Every pass, pipeline and command-line flag stands in some lit test's RUN line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from checks.lit_files import lit_files, run_lines
from checks.tree import Problem, files, line_of, name, read

_PASS = re.compile(r'\bdef\s+\w+\s*:\s*(?:Interface)?Pass<\s*"([^"]+)"')
_PIPELINE = re.compile(r'PassPipelineRegistration<[^;]*?>\s*\w*\s*[({]\s*"([^"]+)"')
_TOOL_FLAG = re.compile(r'\badd_(?:option|flag)\w*\s*(?:<[^;(]*>)?\(\s*"([^"]+)"')
_CL_FLAG = re.compile(r'\bcl::(?:opt|list)<[^;]*?>\s*\w+\s*[({]\s*"([^"]+)"')


def check(root: Path) -> list[Problem]:
    commands = "\n".join(line for path in lit_files(root) for line in run_lines(path))
    problems = []
    for path, line, spellings in _flags(root):
        if not any(_is_named(spelling, commands) for spelling in spellings):
            problems.append(Problem(path, line, f"{', '.join(spellings)} is in no RUN line"))
    return problems


def _flags(root: Path) -> Iterator[tuple[str, int, list[str]]]:
    """Yields each flag's place and its spellings; one of them must be tested."""
    for path in files(root, "dialects", "include", "lib", "tools", suffixes=(".td", ".h", ".cpp")):
        text, relative = read(path), name(root, path)
        for pattern in (_PASS, _PIPELINE, _CL_FLAG):
            for match in pattern.finditer(text):
                yield relative, line_of(text, match.start()), [f"-{match.group(1)}"]
        for match in _TOOL_FLAG.finditer(text):
            spellings = [flag for flag in re.split(r"[,!{}\s]+", match.group(1))
                         if flag.startswith("-")]
            if spellings:
                yield relative, line_of(text, match.start()), spellings


def _is_named(spelling: str, commands: str) -> bool:
    # A pass may also stand in a textual pipeline, without dashes.
    flag = re.escape(spelling.lstrip("-"))
    dashes = r"-" if len(spelling) == 2 else r"(?:-{1,2}|[(,\"'])"
    return re.search(rf"{dashes}{flag}(?![\w-])", commands) is not None
