from __future__ import annotations

import pytest

from checks import prose


def plain(count: int) -> str:
    return "/// Number of keys.\nint keys;\n" * count


@pytest.mark.parametrize("path, text, line", [
    ("lib/A.cpp", "int a;\n/// What the\n/// tile holds.\nint b;\n", 2),
    ("lib/A.h", "struct A {\n  // Of a row's\n  int b;\n};\n", 2),
    ("dialects/A.td", "// Those that share a list.\ndef A;\n", 1),
    ("python/a.py", "x = 1\n# How often\n# it runs.\ny = 2\n", 2),
    ("python/a.py", "def f():\n    \"\"\"The same of a row.\"\"\"\n", 2),
    ("python/a.py", "x = 1\n\"\"\"How many there are.\"\"\"\n", 2),
    ("python/a.py", "x = 1  # Where rows end.\n", 1),
])
def test_headless_comment(tree, path: str, text: str, line: int) -> None:
    (problem,) = prose.check(tree({path: text}))
    assert (problem.path, problem.line) == (path, line)
    assert "1 of 1 comments" in problem.message


@pytest.mark.parametrize("sentence", [
    "Tiles are those of the row.", "A row has what is left.", "It is a list, of which two end.",
    "A tile whose rows end.", "A program has memory of its own.",
    "A list:\none of those\nthat end."])
def test_headless_sentence(tree, sentence: str) -> None:
    (problem,) = prose.check(tree({"docs/A.md": f"# Whose\n\n{sentence}\n"}))
    assert (problem.path, problem.line) == ("docs/A.md", 3)


def test_sentences_are_counted(tree) -> None:
    text = "One. Two ends here!\nThree, v1.5 and so on.\n\n- Four\n- Five has those of a row\n"
    (problem,) = prose.check(tree({"docs/A.md": text}))
    assert problem.line == 5
    assert "1 of 4 sentences" in problem.message    # "One." is a word


def test_code_and_tables_are_no_sentences(tree) -> None:
    text = ("Plain.\n```sh\necho what is\n```\n| those of | whose |\n<!-- of\nwhich -->\n"
            "The message `what is` says \"of its own\" ([x](whose.md)).\n")
    assert prose.check(tree({"docs/A.md": text})) == []


def test_directives_and_strings_are_no_comments(tree) -> None:
    assert prose.check(tree({"test/A.cpp": "// RUN: nsacc\n", "lib/B.cpp": "//===- As is -===//\n",
                             "a.py": "x = '''\n# What is here.\n'''\n", "b.py": "# What (\nx = (\n",
                             "c.py": "x = 1  # noqa: What it says\n"})) == []


def test_share_within_the_limit(tree) -> None:
    share = "/// What is left.\nint rest;\n"
    assert prose.check(tree({"lib/A.cpp": plain(99) + share})) == []
    assert len(prose.check(tree({"lib/A.cpp": plain(1) + share}))) == 1


def test_only_the_first_faults_are_shown(tree) -> None:
    text = "/// What is left.\nint rest;\n" * 30
    problems = prose.check(tree({"lib/A.cpp": text}))
    assert len(problems) == prose.SHOWN
    assert "30 of 30" in problems[0].message
