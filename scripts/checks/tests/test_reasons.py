from __future__ import annotations

from checks import reasons

CODE = '''put(Field::Tokens, 4, "few queries, whose rows "  // comment
    "fill one product");
llvm_unreachable("a case that can not happen");
put(Field::Keys, 64, "three short words");
'''


def test_shown(tree) -> None:
    root = tree({"lib/Schedule/A.cpp": CODE, "test/a.test": "# CHECK: whose rows fill one\n"})
    assert reasons.check(root) == []


def test_shown_in_a_string_of_two_lines(tree) -> None:
    root = tree({"lib/Schedule/A.cpp": CODE, "test/A.cpp": '"queries, whose "\n  "rows fill"'})
    assert reasons.check(root) == []


def test_not_shown(tree) -> None:
    (problem,) = reasons.check(tree({"lib/Schedule/A.cpp": CODE, "test/a.test": "rows fill one"}))
    assert problem.line == 1
    assert problem.message == ("no test shows the reason "
                               "'few queries, whose rows fill one product'")
