//===- InterpreterTestUtil.cpp - Runs kernels given as text ---------------===//

#include "InterpreterTestUtil.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <random>

using namespace nsacc;
using namespace nsacc::interpreter;

Kernel::Kernel(const std::string &source) {
  context.loadDialect<mlir::arith::ArithDialect, mlir::math::MathDialect,
                      nsa::NSADialect>();
  module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module)
    throw std::runtime_error("the test's program doesn't parse");
  kernel = *module->getOps<nsa::KernelOp>().begin();
}

std::vector<Tensor> Kernel::run(llvm::ArrayRef<Tensor> inputs,
                                unsigned threads) {
  return run(inputs, Options{.threads = threads, .keepF64 = true});
}

std::vector<Tensor> Kernel::run(llvm::ArrayRef<Tensor> inputs,
                                const Options &options) {
  auto results = interpreter::run(kernel, inputs, options);
  if (!results)
    throw std::runtime_error(llvm::toString(results.takeError()));
  return std::move(*results);
}

std::string Kernel::fail(llvm::ArrayRef<Tensor> inputs, unsigned threads) {
  auto results = interpreter::run(kernel, inputs, {.threads = threads});
  return results ? "no error" : llvm::toString(results.takeError());
}

Tensor nsacc::interpreter::makeReals(llvm::ArrayRef<int64_t> shape,
                                     llvm::ArrayRef<double> values,
                                     DType dtype) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  EXPECT_EQ(tensor.getNumElements(), int64_t(values.size()));
  tensor.setReals(values);
  return tensor;
}

Tensor nsacc::interpreter::makeIntegers(llvm::ArrayRef<int64_t> shape,
                                        llvm::ArrayRef<int64_t> values,
                                        DType dtype) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  EXPECT_EQ(tensor.getNumElements(), int64_t(values.size()));
  tensor.setIntegers(values);
  return tensor;
}

Tensor nsacc::interpreter::makeRandom(llvm::ArrayRef<int64_t> shape,
                                      unsigned seed, DType dtype) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  std::mt19937_64 generator(seed);
  std::vector<double> values(tensor.getNumElements());
  for (double &value : values)
    value = std::ldexp(double(generator() >> 11), -52) - 1;
  tensor.setReals(values);
  return tensor;
}

void nsacc::interpreter::expectReals(const Tensor &tensor,
                                     llvm::ArrayRef<double> expected,
                                     double tolerance) {
  std::vector<double> found = tensor.toReals();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t index = 0; index != found.size(); ++index) {
    if (std::isnan(expected[index]))
      EXPECT_TRUE(std::isnan(found[index]))
          << "element " << index << " is " << found[index];
    else if (std::isinf(expected[index]))
      EXPECT_EQ(found[index], expected[index]) << "element " << index;
    else
      EXPECT_NEAR(found[index], expected[index], tolerance)
          << "element " << index;
  }
}

void nsacc::interpreter::expectIntegers(const Tensor &tensor,
                                        llvm::ArrayRef<int64_t> expected) {
  EXPECT_EQ(llvm::ArrayRef<int64_t>(tensor.toIntegers()), expected);
}
