"""Checks the VS Code extension: valid JSON, files that exist, every keyword in the grammar."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path


def words_of(grammar: dict) -> set[str]:
    """The words that stand as alternatives in the grammar's patterns."""
    words: set[str] = set()
    for match in re.finditer(r'"match": "((?:[^"\\\\]|\\\\.)*)"', json.dumps(grammar)):
        for group in re.findall(r"\(([A-Za-z0-9_|]+)\)", match.group(1)):
            words.update(group.split("|"))
    return words


def check(source: Path) -> list[str]:
    extension = source / "utils/editors/vscode"
    package = json.loads((extension / "package.json").read_text())
    contributes = package["contributes"]
    json.loads((extension / contributes["languages"][0]["configuration"]).read_text())
    grammar = json.loads((extension / contributes["grammars"][0]["path"]).read_text())
    problems = []
    if not (extension / package["main"]).is_file():
        problems.append(f"package.json: no file {package['main']}")
    included = set(re.findall(r'"include": "#(\w+)"', json.dumps(grammar)))
    for name in included ^ set(grammar["repository"]):
        problems.append(f"grammar: '{name}' is either not defined or not included")
    tokens = (source / "lib/Frontend/Tokens.def").read_text()
    keywords = re.findall(r"^(?:KEYWORD|RESERVED)\((\w+)\)", tokens, re.MULTILINE)
    if len(keywords) < 20:
        problems.append("Tokens.def: found no keywords; has its form changed?")
    for keyword in sorted(set(keywords) - words_of(grammar)):
        problems.append(f"grammar: keyword '{keyword}' is missing")
    return problems


if __name__ == "__main__":
    found = check(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
