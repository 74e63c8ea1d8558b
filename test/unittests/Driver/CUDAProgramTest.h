//===- CUDAProgramTest.h - Programs on GPUs of a fake driver ----*- C++ -*-===//
//
// Code is compiled by a stand-in, whose kernels have the right parameters and
// no body: what is tested is everything round them.
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

  /// Sets `program`.
  void compile(const char *text, const char *target,
               PackageCompiler compiler = compileStandIn,
               std::string schedule = "");
  void compileWith(const char *text, const char *target,
                   CompilationStarter starter, std::string schedule = "");
  std::vector<Tensor> makeInputs(DimSizes sizes);
  static DimSizes makeSizes();
  /// Memory of a device, which is the host's here, instead of the tensors'.
  static void moveTo(int device, std::vector<Tensor> &tensors);
  /// What a run says is wrong.
  std::string fail(llvm::ArrayRef<Tensor> inputs);

  std::unique_ptr<CompiledProgram> program;
  /// Of programs that are compiled from here on; their target and schedule are
  /// what `compile` says.
  CompileOptions options;
};

} // namespace nsacc

#endif // NSACC_TEST_UNITTESTS_DRIVER_CUDAPROGRAMTEST_H
