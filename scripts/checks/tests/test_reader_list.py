from __future__ import annotations

import pytest

from checks import reader_list

HEAD = "# Guide\n\n## Where to look\n\n| looking for | begins in |\n| --- | --- |\n"
SOURCE = {"lib/A.cpp": "void find() {}\n", "lib/B.cpp": "class Seeker;\n"}


def page(*rows: str, end: str = "") -> dict[str, str]:
    return {reader_list.PAGE: HEAD + "".join(f"| {row} |\n" for row in rows) + end}


def test_what_exists(tree) -> None:
    rows = page("sums | `lib/A.cpp`: `find`; then `lib/B.cpp`: `Seeker`", "the rest | `lib/A.cpp`")
    assert reader_list.check(tree(SOURCE | rows)) == []


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ("`lib/C.cpp`: `find`", "sums: there is no lib/C.cpp"),
        ("`lib/A.cpp`: `find`, `Seeker`", "sums: lib/A.cpp has no 'Seeker'"),
        ("`lib/A.cpp`; `lib/B.cpp`: `find`", "sums: lib/B.cpp has no 'find'"),
        ("`lib/A.cpp`: `fin`", "sums: lib/A.cpp has no 'fin'"),
        ("`find`", "sums: no file is named"),
    ],
)
def test_what_does_not(tree, places: str, message: str) -> None:
    (problem,) = reader_list.check(tree(SOURCE | page(f"sums | {places}")))
    assert (problem.line, problem.message) == (7, message)


def test_several_tables(tree) -> None:
    second = "\n### More\n\n| looking for | begins in |\n| --- | --- |\n| c | `lib/C.cpp` |\n"
    (problem,) = reader_list.check(tree(SOURCE | page("sums | `lib/A.cpp`", end=second)))
    assert problem.message == "c: there is no lib/C.cpp"


def test_other_tables_are_left_alone(tree) -> None:
    after = "\n## More\n\n| a | b |\n| --- | --- |\n| c | `lib/C.cpp` |\n"
    assert reader_list.check(tree(SOURCE | page("sums | `lib/A.cpp`", end=after))) == []


@pytest.mark.parametrize("text", ["# Guide\n", HEAD])
def test_missing_list(tree, text: str) -> None:
    assert len(reader_list.check(tree({reader_list.PAGE: text}))) == 1
