"""Checks the VS Code extension: valid JSON, files that exist, every keyword in the grammar, and
commands on its page that can be run."""

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


def check_page(source: Path, package: dict) -> list[str]:
    """The page builds the server, and says that the extension needs no building."""
    extension = source / "utils/editors/vscode"
    page = (extension / "README.md").read_text()
    presets = json.loads((source / "CMakePresets.json").read_text())["configurePresets"]
    problems = [f"package.json: '{key}' means that something is built"
                for key in ("dependencies", "devDependencies", "scripts") if key in package]
    required = set(re.findall(r'require\("(.+?)"\)', (extension / package["main"]).read_text()))
    for name in sorted(required - {"vscode", "child_process"}):
        problems.append(f"{package['main']}: needs '{name}', which isn't there without installing")
    preset = re.search(r"cmake --preset (\S+) && ninja -C build/(\S+) (\S+)", page)
    if not preset or preset[1] != preset[2] or not (source / "tools" / preset[3]).is_dir():
        problems.append("README.md: no command that builds the server")
    elif preset[1] not in {each["name"] for each in presets}:
        problems.append(f"README.md: no preset '{preset[1]}'")
    setting = re.search(r"setting `(.+?)`", page)
    if not setting or setting[1] not in package["contributes"]["configuration"]["properties"]:
        problems.append("README.md: names a setting that package.json doesn't have")
    return problems


def check(source: Path) -> list[str]:
    extension = source / "utils/editors/vscode"
    package = json.loads((extension / "package.json").read_text())
    contributes = package["contributes"]
    json.loads((extension / contributes["languages"][0]["configuration"]).read_text())
    grammar = json.loads((extension / contributes["grammars"][0]["path"]).read_text())
    problems = check_page(source, package)
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
