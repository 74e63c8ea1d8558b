//===- CUDAProgramTest.h - Programs on GPUs of a fake driver ----*- C++ -*-===//
//
// A stand-in compiles code: its kernels have the right parameters and no body.
// The tests cover everything around the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_TEST_UNITTESTS_DRIVER_CUDAPROGRAMTEST_H
#define NSACC_TEST_UNITTESTS_DRIVER_CUDAPROGRAMTEST_H

#include "FakeCUDA.h"
#include "Targets.h"
#include "nsacc/Tensor/RandomInputs.h"
#include <gtest/gtest.h>

namespace nsacc {

/// Causal attention of f32.
extern const char *const kFlash;

/// Compiles for a GPU at once.
using PackageCompiler = std::function<llvm::Expected<rt::Package>(
    mlir::ModuleOp, const cuda::Options &)>;

/// Packs kernels without a body.
llvm::Expected<rt::Package> compileStandIn(mlir::ModuleOp module,
                                           const cuda::Options &options);

class CUDAProgramTest : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Compiles `text` and sets `program`.
  void compile(const char *text, const char *target,
               PackageCompiler compiler = compileStandIn,
               std::string schedule = "");
  void compileWith(const char *text, const char *target,
                   CompilationStarter starter, std::string schedule = "");
  std::vector<Tensor> makeInputs(DimSizes sizes);
  static DimSizes makeSizes();
  /// Moves tensors to a device's memory, which is on the host here.
  static void moveTo(int device, std::vector<Tensor> &tensors);
  /// The error of a run.
  std::string fail(llvm::ArrayRef<Tensor> inputs);

  std::unique_ptr<CompiledProgram> program;
  /// Options of programs that are compiled from now on; `compile` sets the
  /// target and schedule.
  CompileOptions options;
};

} // namespace nsacc

#endif // NSACC_TEST_UNITTESTS_DRIVER_CUDAPROGRAMTEST_H
