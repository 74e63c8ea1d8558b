from __future__ import annotations

import pytest

from checks import rejections, tested_flags, verifier_messages

PASSES = 'def Fuse : Pass<"nsa-fuse", "mlir::ModuleOp"> {}\n'


@pytest.mark.parametrize("run", ["nsacc-opt %s --nsa-fuse-more", "nsacc-opt %s --nsa", "true"])
def test_untested_pass(tree, run: str) -> None:
    root = tree({"dialects/NSA/Transforms/Passes.td": PASSES, "test/a.mlir": f"// RUN: {run}\n"})
    (problem,) = tested_flags.check(root)
    assert "-nsa-fuse is in no RUN line" in problem.message


@pytest.mark.parametrize("run", ["nsacc-opt %s --nsa-fuse | FileCheck %s",
                                 "nsacc-opt %s -pass-pipeline='any(cse,nsa-fuse)'"])
def test_tested_pass(tree, run: str) -> None:
    root = tree({"dialects/NSA/Transforms/Passes.td": PASSES, "test/a.mlir": f"// RUN: {run}\n"})
    assert tested_flags.check(root) == []


def test_untested_tool_flag(tree) -> None:
    root = tree({
        "tools/nsacc/Run.cpp": 'app.add_option("file", file);\n'
                               'app.add_flag("--check", check);\n'
                               'app.add_option_function<std::string>(\n    "-o,--output", f);\n'
                               'app.add_option("--dims", dims);\n',
        "test/a.test": "RUN: nsacc run x.nsa --dims T=1 -o -\n",
    })
    (problem,) = tested_flags.check(root)
    assert (problem.line, "--check is in no RUN line" in problem.message) == (2, True)


def test_too_few_rejections(tree) -> None:
    texts = {f"test/good{n}.mlir": "// RUN: nsacc-opt %s\n" for n in range(5)}
    (problem,) = rejections.check(tree(texts))
    assert "0 of 5" in problem.message


@pytest.mark.parametrize("run", ["nsacc-opt %s -split-input-file -verify-diagnostics",
                                 "not nsacc compile %s 2>&1 | FileCheck %s"])
def test_enough_rejections(tree, run: str) -> None:
    texts = {f"test/good{n}.mlir": "// RUN: nsacc-opt %s\n" for n in range(4)}
    assert rejections.check(tree(texts | {"test/bad.mlir": f"// RUN: {run}\n"})) == []


VERIFIER = '''
LogicalResult PoolOp::verify() {
  if (len < stride)
    return emitOpError("length ") << len << " must be at least "
                                  << "the stride " << stride;
  return success();
}
'''


@pytest.mark.parametrize("expected", ["", "// expected-error @+1 {{stride is odd and long}}",
                                      "// expected-note @+1 {{must be at least the stride}}"])
def test_unexpected_message(tree, expected: str) -> None:
    root = tree({"dialects/NSA/IR/NSAVerify.cpp": VERIFIER, "test/a.mlir": expected + "\n"})
    (problem,) = verifier_messages.check(root)
    assert problem.line == 4


@pytest.mark.parametrize("expected", [
    "// expected-error @+1 {{length 3 must be at least the stride 4}}",
    "// expected-error @below {{'nsa.pool' op length 3 must be at least the stride 4}}",
    "// expected-error-re @+1 {{length {{[0-9]+}} must be at least}}",
    "// CHECK: error: 'nsa.pool' op length 3 must be at least the stride 4",
])
def test_expected_message(tree, expected: str) -> None:
    root = tree({"dialects/NSA/IR/NSAVerify.cpp": VERIFIER, "test/a.mlir": expected + "\n"})
    assert verifier_messages.check(root) == []
