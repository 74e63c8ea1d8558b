"""The numbered rules of docs/spec.md match the compiler's checks and the tests.

A rule reads

    - [A3] Text. (`dialects/NSA/IR/NSAVerify….cpp`: "words of the message"; `test/…-invalid.mlir`)

Its message stands in the source file and is expected by the test. Messages of a td file are made by
MLIR, so only the test is checked. Labels are unique and count up, and every message of the
verifiers of dialects/NSA/IR belongs to a rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from checks.tree import Problem, files, line_of, name, read

PAGE = "docs/spec.md"

_RULE = re.compile(r"^- \[([A-Z]+)(\d+)\] ((?:.|\n(?!- |\n))*)", re.MULTILINE)
_TIE = re.compile(r"\(`([^`]+)`: \"([^\"]+)\"; `([^`]+)`\)")
_JOINT = re.compile(r'"\s*"')
_MESSAGE = re.compile(r"\bemit(?:OpError|Error)\(\s*(\"(?:[^\"\\]|\\.)*\")")


@dataclass(frozen=True)
class Rule:
    letter: str
    number: int
    line: int
    source: str
    words: str
    test: str

    @property
    def label(self) -> str:
        return f"[{self.letter}{self.number}]"


def check(root: Path) -> list[Problem]:
    if not (root / PAGE).is_file():
        return [Problem(PAGE, 1, "there is no specification")]
    text = read(root / PAGE)
    problems: list[Problem] = []
    rules = []
    for match in _RULE.finditer(text):
        tie = _TIE.search(" ".join(match.group(3).split()))
        line = line_of(text, match.start())
        if not tie:
            problems.append(Problem(PAGE, line, f"[{match.group(1)}{match.group(2)}] names no "
                                                "source file, message and test"))
            continue
        rules.append(Rule(match.group(1), int(match.group(2)), line, *tie.groups()))
    problems += _misnumbered(rules)
    for rule in rules:
        problems += _untied(root, rule)
    return problems + _without_rule(root, rules)


def _misnumbered(rules: list[Rule]) -> list[Problem]:
    problems, last = [], {}
    for rule in rules:
        expected = last.get(rule.letter, 0) + 1
        if rule.number != expected:
            problems.append(Problem(PAGE, rule.line, f"{rule.label} should be "
                                                     f"[{rule.letter}{expected}]"))
        last[rule.letter] = rule.number
    return problems


def _untied(root: Path, rule: Rule) -> list[Problem]:
    problems = []
    for path, has in ((rule.source, _says), (rule.test, _expects)):
        if not (root / path).is_file():
            problems.append(Problem(PAGE, rule.line, f"{rule.label}: there is no {path}"))
        elif not has(root / path, rule.words):
            problems.append(Problem(PAGE, rule.line,
                                    f"{rule.label}: {path} has no message {rule.words!r}"))
    return problems


def _says(source: Path, words: str) -> bool:
    return source.suffix == ".td" or words in _joined(source)


def _expects(test: Path, words: str) -> bool:
    return words in _joined(test)


def _joined(path: Path) -> str:
    """Adjacent string literals are one."""
    return _JOINT.sub("", read(path)).replace('\\"', '"')


def _without_rule(root: Path, rules: list[Rule]) -> list[Problem]:
    """Messages of verifiers that no rule names by their fixed beginning."""
    problems = []
    for path in files(root, "dialects/NSA/IR", suffixes=(".cpp",)):
        source = name(root, path)
        if not path.name.startswith("NSAVerify"):
            continue
        joined = _joined(path)
        for match in _MESSAGE.finditer(joined):
            statement = joined[match.start():joined.find(";\n", match.start())]
            if not any(rule.words in statement for rule in rules if rule.source == source):
                problems.append(Problem(source, 1, f"no rule of {PAGE} has the message "
                                                   f"{match.group(1)}"))
    return problems
