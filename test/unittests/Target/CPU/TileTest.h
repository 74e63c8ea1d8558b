//===- TileTest.h - Runs tile programs in tests -----------------*- C++ -*-===//

#ifndef NSACC_UNITTESTS_TARGET_CPU_TILETEST_H
#define NSACC_UNITTESTS_TARGET_CPU_TILETEST_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"
#include "nsacc/Target/CPU/CPU.h"
#include "gtest/gtest.h"
#include <functional>
#include <map>

namespace nsacc::cpu {

/// Replacements for `$NAME` in a module's text.
using Substitutions = std::map<std::string, std::string>;

/// "[-]?…" of a tensor or memref: {2, 3} and f32 give "2x3xf32".
std::string typeOf(llvm::ArrayRef<int64_t> shape, llvm::StringRef element);

/// The widths of vectors that this machine supports, as features to compile
/// for.
std::vector<std::string> getVectorFeatures();

class TileTest : public testing::Test {
protected:
  TileTest();

  /// Replaces `$NAME`, longest names first.
  static std::string substitute(std::string text, const Substitutions &values);

  /// Compiles, or returns null after a test failure.
  std::unique_ptr<Executable> compileText(const std::string &text,
                                          Options options = {});
  /// The errors of compiling; diagnostics come first.
  std::string compileError(const std::string &text, Options options = {});
  void run(const std::string &text, llvm::ArrayRef<Tensor> tensors,
           Options options = {});

  /// Deterministic numbers between -2 and 2, rounded to the type.
  static Tensor random(DType dtype, llvm::ArrayRef<int64_t> shape,
                       unsigned seed = 0);
  static Tensor fromReals(DType dtype, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<double> values);

  static void expectNear(llvm::ArrayRef<double> found,
                         llvm::ArrayRef<double> expected, double tolerance);

  /// A pass for programs before they are compiled; null for none.
  std::function<std::unique_ptr<mlir::Pass>()> makePass;
  mlir::MLIRContext context;
};

} // namespace nsacc::cpu

#endif // NSACC_UNITTESTS_TARGET_CPU_TILETEST_H
