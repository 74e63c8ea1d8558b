"""Comments begin with a noun or a verb, and relatives in documents have a noun.

Finds comments and docstrings that begin with a word such as "What" or "Those" in place of a noun,
and sentences of Markdown pages that have "those that", "what is", "of which" and the like. A few
of them are plain English, so the check limits their share over the whole tree. In C++ and
TableGen, only comments that fill their lines count.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from checks.tree import Problem, files, line_of, name, read

COMMENT_LIMIT = 0.05
SENTENCE_LIMIT = 0.04

SHOWN = 10

_HEADLESS = re.compile(
    r"(?:What|Whatever|Of|Those|That of|Where|Whose|How|As|Which|The same|For which|By which"
    r"|One that|The ones?)\b(?!-)")
_RELATIVE = re.compile(
    r"\b(?:those (?:that|of|which|whose)|what (?:is|are|was|were|has|have|stands|it|they)"
    r"|of which|whose|of (?:its|their) own)\b", re.IGNORECASE)

_SLASHES = re.compile(r"(?:^[ \t]*//(?![=-]).*\n?)+", re.MULTILINE)
_MARK = re.compile(r"^[ \t]*(?://+<?|#+:?)[ \t]*", re.MULTILINE)
_DIRECTIVE = re.compile(r"[A-Z-]+:|!|(?:clang-format|NOLINT|noqa|ruff|type:)")
_NOT_PROSE = re.compile(r"^ {0,3}```.*?^ {0,3}```|<!--.*?-->|^ *(?:\||#).*?$",
                        re.MULTILINE | re.DOTALL)
_LITERAL = re.compile(r"`[^`]*`|\"[^\"\n]*\"|\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\Z")


@dataclass(frozen=True)
class Text:
    path: str
    line: int
    words: str


def check(root: Path) -> list[Problem]:
    comments = [*_collect(root, (".cpp", ".h", ".c", ".td"), _slash_comments),
                *_collect(root, (".py", ".pyi"), _python_comments)]
    sentences = list(_collect(root, (".md",), _sentences))
    return [*_above(COMMENT_LIMIT, "comments begin without a noun or verb", comments,
                    _HEADLESS.match),
            *_above(SENTENCE_LIMIT, "sentences have a relative without a noun", sentences,
                    _RELATIVE.search)]


def _above(limit: float, fault: str, texts: list[Text],
           find: Callable[[str], re.Match[str] | None]) -> list[Problem]:
    """The first faults, where their share is above the limit."""
    found = [(text, match) for text in texts if (match := find(text.words))]
    if len(found) <= limit * len(texts):
        return []
    share = f"{len(found)} of {len(texts)} {fault}, and {limit:.0%} may"
    return [Problem(text.path, text.line, f"{match.group(0)!r}: name the thing ({share})")
            for text, match in found[:SHOWN]]


def _collect(root: Path, suffixes: tuple[str, ...],
             find: Callable[[str], Iterator[tuple[int, str]]]) -> Iterator[Text]:
    """Yields texts of two words and more."""
    for path in files(root, suffixes=suffixes):
        for line, words in find(read(path)):
            if " " in words:
                yield Text(name(root, path), line, words)


def _slash_comments(source: str) -> Iterator[tuple[int, str]]:
    for block in _SLASHES.finditer(source):
        words = _plain(block.group(0))
        if not _DIRECTIVE.match(words):
            yield line_of(source, block.start()), words


def _python_comments(source: str) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str(words))):    # Attributes have docstrings, too.
                yield node.lineno, " ".join(words.split())
    last = None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            words = _plain(token.string)
            if (line - 1, column) != last and not _DIRECTIVE.match(words):
                yield line, words
            last = (line, column)


def _sentences(page: str) -> Iterator[tuple[int, str]]:
    prose = _NOT_PROSE.sub(lambda skipped: re.sub(r"\S", " ", skipped.group(0)), page)
    start = 0
    for end in _END.finditer(prose):
        sentence = prose[start:end.start()]
        first = start + len(sentence) - len(sentence.lstrip())
        yield line_of(prose, first), " ".join(_LITERAL.sub("x", sentence).split())
        start = end.end()


def _plain(comment: str) -> str:
    return " ".join(_MARK.sub("", comment).split())
