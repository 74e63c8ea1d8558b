from __future__ import annotations

import pytest

from checks import file_length, formatting, machine_words, module_names


def test_file_of_801_lines(tree) -> None:
    root = tree({"lib/Long.cpp": "\n" * 801, "lib/Limit.h": "\n" * 500})
    (problem,) = file_length.check(root)
    assert problem.path == "lib/Long.cpp"
    assert "801 lines" in problem.message


def test_file_of_800_lines_warns(tree) -> None:
    root = tree({"lib/Long.cpp": "\n" * 800})
    with pytest.warns(UserWarning, match="lib/Long.cpp has 800 lines"):
        assert file_length.check(root) == []


def test_two_modules_of_a_name(tree) -> None:
    root = tree({"test/A/test_x.py": "", "test/B/test_x.py": "", "test/A/conftest.py": "",
                 "test/B/conftest.py": "", "test/C/__init__.py": "", "test/C/test_x.py": ""})
    (problem,) = module_names.check(root)
    assert problem.path == "test/B/test_x.py"
    assert "test/A/test_x.py" in problem.message


@pytest.mark.parametrize("folder", ["work", "root", "home"])
def test_private_path(tree, folder: str) -> None:
    root = tree({"docs/Guide.md": f"One.\nLook in `/{folder}/someone/nsacc`.\n"})
    (problem,) = machine_words.check(root)
    assert (problem.path, problem.line) == ("docs/Guide.md", 2)


def test_index_host(tree) -> None:
    host = ".".join(["https://files", "pythonhosted", "org"])
    (problem,) = machine_words.check(tree({"scripts/get": f"curl {host}/x\n"}))
    assert "package index" in problem.message


def test_paths_that_any_machine_has(tree) -> None:
    root = tree({"docs/Guide.md": "/usr/bin/python3, $HOME/work/x, lib/root/a, work/home.\n"})
    assert machine_words.check(root) == []


def test_unformatted_source(tree) -> None:
    root = tree({"lib/A.cpp": "int  main( ) {return 0;}\n"})
    problems = formatting.check(root)
    assert problems
    assert {problem.path for problem in problems} == {"lib/A.cpp"}


def test_formatted_source(tree) -> None:
    assert formatting.check(tree({"lib/A.cpp": "int main() { return 0; }\n"})) == []


@pytest.mark.parametrize("text", ["end", "end\n\n", "blank \nend\n", "tab\t\nend\n"])
def test_blanks(tree, text: str) -> None:
    assert len(formatting.check(tree({"docs/A.md": text}))) == 1


def test_python_style(tree) -> None:
    root = tree({"python/a.py": "import os\nx = 1\n"})
    problems = formatting.check(root)
    assert {problem.path for problem in problems} == {"python/a.py"}
    assert any("F401" in problem.message for problem in problems)
