from __future__ import annotations

from checks import spec_rules

SOURCE = "dialects/NSA/IR/NSAVerifyPool.cpp"
TEST = "test/Dialect/NSA/pool-invalid.mlir"
VERIFIER = 'return op.emitOpError("expected a stride that "\n    "divides ") << length;\n'
EXPECTATION = "// expected-error @below {{expected a stride that divides 6}}\n"


def rule(label: str = "P1", words: str = "expected a stride that divides", source: str = SOURCE,
         test: str = TEST) -> str:
    return f"- [{label}] The stride divides\n  the length. (`{source}`: \"{words}\"; `{test}`)\n"


def repository(tree, page: str):
    return tree({"docs/spec.md": page, SOURCE: VERIFIER, TEST: EXPECTATION})


def test_tied_rule(tree) -> None:
    assert spec_rules.check(repository(tree, "Text.\n\n" + rule())) == []


def test_rule_without_a_tie(tree) -> None:
    page = rule() + "- [P2] Something else.\n"
    (problem,) = spec_rules.check(repository(tree, page))
    assert (problem.line, "[P2] names no source file" in problem.message) == (3, True)


def test_words_that_are_nowhere(tree) -> None:
    page = rule() + rule("P2", words="expected a length")
    problems = spec_rules.check(repository(tree, page))
    assert [problem.message for problem in problems] == [
        f"[P2]: {SOURCE} has no message 'expected a length'",
        f"[P2]: {TEST} has no message 'expected a length'"]


def test_files_that_are_not_there(tree) -> None:
    page = rule() + rule("P2", source="dialects/A.cpp", test="test/a.mlir")
    messages = [problem.message for problem in spec_rules.check(repository(tree, page))]
    assert messages == ["[P2]: there is no dialects/A.cpp", "[P2]: there is no test/a.mlir"]


def test_wrong_numbers(tree) -> None:
    (problem,) = spec_rules.check(repository(tree, rule() + rule("P3")))
    assert problem.message == "[P3] should be [P2]"


def test_message_without_a_rule(tree) -> None:
    (problem,) = spec_rules.check(repository(tree, "No rules.\n"))
    assert problem.path == SOURCE
    assert "expected a stride that divides" in problem.message


def test_missing_page(tree) -> None:
    assert len(spec_rules.check(tree({SOURCE: VERIFIER}))) == 1
