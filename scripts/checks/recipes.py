"""Recipes of the developer guide name the files that an earlier addition of their kind took.

A recipe is a part of the page that begins with `<!-- like: NAME -->`: a regular expression of the
earlier addition. Each file that the part names has to contain it, and each source that contains it
has to be named.
"""

from __future__ import annotations

import re
from pathlib import Path

from checks.tree import Problem, files, line_of, name, read

PAGE = "docs/DeveloperGuide.md"

_RECIPE = re.compile(r"^## (?P<title>.+)\n\n<!-- like: (?P<like>.+) -->\n"
                     r"(?P<text>(?:(?!## ).*\n)*)", re.MULTILINE)
_FILE = re.compile(r"`([\w.]+/[\w./]+\.\w+)`")


def check(root: Path) -> list[Problem]:
    page = read(root / PAGE) if (root / PAGE).is_file() else ""
    recipes = list(_RECIPE.finditer(page))
    if not recipes:
        return [Problem(PAGE, 1, "there is no part with '<!-- like: NAME -->'")]
    return [Problem(PAGE, line_of(page, recipe.start()), f"{recipe['title']}: {message}")
            for recipe in recipes for message in _compare(root, recipe)]


def _compare(root: Path, recipe: re.Match[str]) -> list[str]:
    like, named = re.compile(recipe["like"]), set(_FILE.findall(recipe["text"]))
    messages = []
    for word in sorted(named):
        if not (root / word).is_file():
            messages.append(f"there is no {word}")
        elif not like.search(read(root / word)):
            messages.append(f"{word} has no '{like.pattern}'")
    sources = files(root, "dialects", "lib", "include", "tools", "python",
                    suffixes=(".cpp", ".h", ".def", ".py"))
    return messages + [f"it doesn't name {name(root, path)}, which has '{like.pattern}'"
                       for path in sources
                       if like.search(read(path)) and name(root, path) not in named]
