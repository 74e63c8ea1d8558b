"""Every error message of a dialect's verifiers, parsers and folds is expected by some test.

Decided from the text: the string literals of an `emitOpError(...) << ...` statement are the fixed
parts of a message. A test expects the message when its text holds the longest part, or is a piece
of it. Statements without a literal of two words or more are left to review.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from checks.lit_files import lit_files
from checks.tree import Problem, files, line_of, name, read

_EMIT = re.compile(r"\bemit(?:OpError|Error|OptionalError)\s*\(")
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_EXPECTED = re.compile(r"expected-error(?:-re)?[^{\n]*(?=\{\{)")
_BRACES = re.compile(r"\{\{|\}\}")
_CHECKED = re.compile(r"\w[\w-]*:.*?\berror: (.*)")
_HOLE = "\0"


def check(root: Path) -> list[Problem]:
    expected = [text for path in lit_files(root) for text in _expectations(read(path))]
    problems = []
    for path in files(root, "dialects", suffixes=(".cpp", ".h")):
        text = read(path)
        for offset, message in _messages(text):
            if not any(_fits(message, wanted) for wanted in expected):
                problems.append(Problem(name(root, path), line_of(text, offset),
                                        f"no test expects the error {message!r}"))
    return problems


def _messages(text: str) -> Iterator[tuple[int, str]]:
    """Yields the offset and the longest fixed part of each message that `text` emits."""
    for match in _EMIT.finditer(text):
        statement = _statement(text, match.end())
        # Adjacent literals are one string; text between others is known at run time only.
        joined = re.sub(r'"\s*"', "", statement)
        parts = [part.replace('\\"', '"').replace("\\n", "\n").strip()
                 for part in _LITERAL.findall(joined)]
        longest = max(parts, key=len, default="")
        if len(longest.split()) >= 2:
            yield match.start(), longest


def _statement(text: str, start: int) -> str:
    """The source from `start` to the statement's semicolon, outside literals."""
    position = start
    while position < len(text):
        literal = _LITERAL.match(text, position)
        if literal:
            position = literal.end()
        elif text[position] == ";":
            break
        else:
            position += 1
    return text[start:position]


def _expectations(text: str) -> Iterator[str]:
    wanted = [_braced(text, match.end()) for match in _EXPECTED.finditer(text)]
    wanted += [match.group(1) for match in _CHECKED.finditer(text)]
    for expectation in wanted:
        # Regular expressions inside an expectation stand for any text.
        yield re.sub(r"\{\{.*?\}\}|\[\[.*?\]\]", _HOLE, expectation).strip()


def _braced(text: str, start: int) -> str:
    """The text between the `{{` at `start` and its `}}`; the expectation may hold more."""
    depth = 0
    for brace in _BRACES.finditer(text, start):
        depth += 1 if brace.group() == "{{" else -1
        if depth == 0:
            return text[start + 2:brace.start()]
    return ""


def _fits(message: str, wanted: str) -> bool:
    pieces = [piece.strip() for piece in wanted.split(_HOLE)]
    return message in wanted or any(len(piece.split()) >= 3 and piece in message
                                    for piece in pieces)
