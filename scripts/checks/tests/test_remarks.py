from __future__ import annotations

import pytest

from checks import remarks

PASS = 'static constexpr PassRemarks kRemarks = {"nsatile-some-pass",\n  "Some"};\n'
RUN = "// RUN: nsacc-opt %s --nsatile-some-pass --remarks-filter\n"
PASSED = '// REMARK: [Passed] {{.*}}Remark="done"\n'
MISSED = '// REMARK: [Missed] {{.*}}Remark="not done"\n'


@pytest.fixture(autouse=True)
def one_pass(monkeypatch) -> None:
    monkeypatch.setattr(remarks, "DECLINING", ("nsatile-some-pass",))


def test_shown(tree) -> None:
    root = tree({"dialects/A.cpp": PASS, "test/a.mlir": RUN + PASSED, "test/b.mlir": RUN + MISSED})
    assert remarks.check(root) == []


@pytest.mark.parametrize(
    ("test", "kinds"),
    [(RUN + PASSED, ["Missed"]), (RUN + MISSED, ["Passed"]),
     (PASSED + MISSED, ["Passed", "Missed"])],
)
def test_not_shown(tree, test: str, kinds: list[str]) -> None:
    problems = remarks.check(tree({"dialects/A.cpp": PASS, "test/a.mlir": test}))
    assert [problem.message for problem in problems] == [
        f"no lit test of nsatile-some-pass shows a remark [{kind}]" for kind in kinds]


def test_silent_pass(tree) -> None:
    (problem,) = remarks.check(tree({"dialects/A.cpp": "int x;\n"}))
    assert problem.message == "nsatile-some-pass makes no remarks"
