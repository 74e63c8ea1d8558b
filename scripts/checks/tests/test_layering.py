from __future__ import annotations

import pytest

from checks import layering


@pytest.mark.parametrize(
    ("path", "include"),
    [
        ("lib/Support/Version.cpp", "nsacc/Tensor/Tensor.h"),
        ("lib/Tensor/Tensor.cpp", "nsacc/GPU/Device.h"),
        ("lib/Frontend/Parser.cpp", "nsacc/Interpreter/Interpreter.h"),
        ("lib/Interpreter/Interpreter.cpp", "nsacc/Frontend/Frontend.h"),
        ("include/nsacc/Frontend/Frontend.h", "nsacc/Pipelines/Phases.h"),
        ("dialects/NSA/IR/NSAOps.cpp", "nsacc/Frontend/Frontend.h"),
        ("lib/Pipelines/Phases.cpp", "nsacc-c/nsacc.h"),
        ("include/nsacc-rt/nsacc_rt.h", "nsacc-c/nsacc.h"),
        ("python/src/Module.cpp", "nsacc/Frontend/Frontend.h"),
    ],
)
def test_include_against_the_order(tree, path: str, include: str) -> None:
    root = tree({path: f'// A comment.\n#include "{include}"\n'})
    (problem,) = layering.check(root)
    assert (problem.path, problem.line) == (path, 2)
    assert include in problem.message


def test_includes_along_the_order(tree) -> None:
    root = tree({
        "dialects/NSA/IR/NSAOps.h": '#include "nsacc/Support/Version.h"\n',
        "dialects/NSA/Transforms/Fuse.cpp": '#include "NSA/IR/NSAOps.h"\n',
        "lib/Frontend/Parser.cpp": '#include "NSA/IR/NSAOps.h"\n#include "mlir/IR/Builders.h"\n',
        "lib/CAPI/CAPI.cpp": '#include "nsacc-c/nsacc.h"\n#include "nsacc/Pipelines/Phases.h"\n',
        "python/src/Module.cpp": "#include <nsacc-c/nsacc.h>\n",
        "include/nsacc-rt/nsacc_rt.h": '#include "nsacc-c/dtype.h"\n',
        "lib/RT/Plan.cpp": '#include "nsacc/DType.h"\n',
    })
    assert layering.check(root) == []


def test_ir_includes_its_transforms(tree) -> None:
    root = tree({"dialects/NSA/IR/NSAOps.cpp": '#include "NSA/Transforms/Passes.h"\n'})
    (problem,) = layering.check(root)
    assert "IR <- Analysis <- Transforms" in problem.message


def test_runtime_uses_mlir(tree) -> None:
    root = tree({
        "lib/Tensor/Tensor.cpp": '#include "mlir/IR/Types.h"\n',
        "lib/Tensor/CMakeLists.txt":
            "add_nsacc_library(NSACCTensor Tensor.cpp\n  LINK_LIBS PUBLIC\n  MLIRIR)\n",
    })
    assert [problem.path for problem in layering.check(root)] == [
        "lib/Tensor/Tensor.cpp", "lib/Tensor/CMakeLists.txt"]


def test_library_against_the_order(tree) -> None:
    root = tree({
        "lib/Frontend/CMakeLists.txt":
            "add_nsacc_library(NSACCFrontend\n  Parser.cpp\n\n  LINK_LIBS PUBLIC\n"
            "  NSACCPipelines # for phases\n)\n",
        "lib/Pipelines/CMakeLists.txt":
            "add_nsacc_library(NSACCPipelines\n  Phases.cpp\n\n  LINK_LIBS PUBLIC\n"
            "  NSACCFrontend)\n",
    })
    (problem,) = layering.check(root)
    assert problem.path == "lib/Frontend/CMakeLists.txt"
    assert "link NSACCPipelines" in problem.message


def test_unknown_folder(tree) -> None:
    root = tree({"lib/Extra/Extra.cpp": '#include "nsacc/Support/Version.h"\n'})
    (problem,) = layering.check(root)
    assert "add it to ALLOWED" in problem.message


def test_devices_have_no_ir(tree) -> None:
    root = tree({"lib/GPU/Device.cpp": '#include "llvm/ADT/ArrayRef.h"\n'
                                       '#include "mlir/IR/Attributes.h"\n'})
    (problem,) = layering.check(root)
    assert "GPU must not use mlir/IR/Attributes.h" in problem.message
