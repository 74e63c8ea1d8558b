from __future__ import annotations

import pytest

from checks import recipes

SOURCES = {"lib/A.cpp": "int erf;\n", "lib/B.h": "int erf;\n", "lib/C.cpp": "int perfect;\n"}


def page(text: str, like: str = r"\berf\b") -> dict[str, str]:
    return {recipes.PAGE: f"# Guide\n\n## Add it\n\n<!-- like: {like} -->\n\n{text}\n\n## Next\n\n"
                          "`lib/C.cpp` is of another part.\n"}


def test_what_is_named(tree) -> None:
    assert recipes.check(tree(SOURCES | page("1. In `lib/A.cpp`: `find`.\n2. `lib/B.h`."))) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("`lib/A.cpp`", r"it doesn't name lib/B.h, which has '\berf\b'"),
        ("`lib/A.cpp`, `lib/B.h`, `lib/C.cpp`", r"lib/C.cpp has no '\berf\b'"),
        ("`lib/A.cpp`, `lib/B.h`, `lib/D.cpp`", "there is no lib/D.cpp"),
    ],
)
def test_what_is_not(tree, text: str, message: str) -> None:
    (problem,) = recipes.check(tree(SOURCES | page(text)))
    assert (problem.line, problem.message) == (3, f"Add it: {message}")


def test_a_page_without_recipes(tree) -> None:
    assert len(recipes.check(tree({recipes.PAGE: "# Guide\n"}))) == 1
