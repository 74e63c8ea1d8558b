"""Python modules of test folders that aren't packages have unique names. pytest imports such a
module by its file's name alone, so one run can't have two of a name."""

from __future__ import annotations

from pathlib import Path

from checks.tree import Problem, files, name


def check(root: Path) -> list[Problem]:
    problems = []
    first: dict[str, Path] = {}
    for path in files(root, "test", suffixes=[".py"]):
        if path.stem == "conftest" or not path.stem.isidentifier():
            continue
        if (path.parent / "__init__.py").exists():
            continue
        other = first.setdefault(path.name, path)
        if other is not path:
            problems.append(Problem(name(root, path), 1, f"{name(root, other)} has the same name: "
                                    "pytest imports only one module of a name"))
    return problems
