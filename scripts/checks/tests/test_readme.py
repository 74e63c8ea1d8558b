from __future__ import annotations

from checks import readme


def block(language: str, code: str, before: str = "") -> str:
    return f"Text.\n\n{before}\n```{language}\n{code}\n```\n"


def test_failing_command(tree) -> None:
    root = tree({"README.md": block("sh", "true") + block("sh", "echo first; false\necho second")})
    (problem,) = readme.check(root)
    assert problem.line == 10
    assert "exit code 1" in problem.message
    assert "first" in problem.message and "second" not in problem.message


def test_failing_python(tree) -> None:
    (problem,) = readme.check(tree({"README.md": block("python", "import nsacc_missing")}))
    assert "ModuleNotFoundError" in problem.message


def test_marked_exception_is_not_run(tree) -> None:
    text = block("sh", "false", before="<!-- not run: takes minutes -->")
    assert readme.check(tree({"README.md": text})) == []


def test_exception_needs_a_reason(tree) -> None:
    text = block("sh", "false", before="<!-- not run: -->")
    assert len(readme.check(tree({"README.md": text}))) == 1


def test_commands_leave_nothing_behind(tree) -> None:
    root = tree({"README.md": block("sh", "cat README.md > out.txt")})
    assert readme.check(root) == []
    assert not (root / "out.txt").exists()


def test_missing_readme(tree) -> None:
    assert len(readme.check(tree({"docs/a.md": "\n"}))) == 1
