//===- InterpreterTestUtil.h - Runs kernels given as text -------*- C++ -*-===//

#ifndef NSACC_TEST_UNITTESTS_INTERPRETERTESTUTIL_H
#define NSACC_TEST_UNITTESTS_INTERPRETERTESTUTIL_H

#include "NSA/IR/NSAOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Interpreter/Interpreter.h"
#include "gtest/gtest.h"
#include <limits>

namespace nsacc::interpreter {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// The kernel of a module given as text.
class Kernel {
public:
  explicit Kernel(const std::string &source);

  /// Results with reals in fp64.
  std::vector<Tensor> run(llvm::ArrayRef<Tensor> inputs, unsigned threads = 1);
  std::vector<Tensor> run(llvm::ArrayRef<Tensor> inputs,
                          const Options &options);
  nsa::KernelOp get() const { return kernel; }
  /// The message of a run that fails.
  std::string fail(llvm::ArrayRef<Tensor> inputs, unsigned threads = 1);

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  nsa::KernelOp kernel;
};

Tensor makeReals(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values,
                 DType dtype = DType::F32);
Tensor makeIntegers(llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<int64_t> values, DType dtype = DType::I32);
/// Values in [-1, 1], the same for the same seed.
Tensor makeRandom(llvm::ArrayRef<int64_t> shape, unsigned seed,
                  DType dtype = DType::F32);

/// Equal numbers, NaN equal to NaN.
void expectReals(const Tensor &tensor, llvm::ArrayRef<double> expected,
                 double tolerance = 1e-12);
void expectIntegers(const Tensor &tensor, llvm::ArrayRef<int64_t> expected);

} // namespace nsacc::interpreter

#endif // NSACC_TEST_UNITTESTS_INTERPRETERTESTUTIL_H
