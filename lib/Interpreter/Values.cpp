//===- Values.cpp - Tensors and selections of a running kernel ------------===//

#include "Values.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace nsacc::interpreter;

int64_t nsacc::interpreter::getNumElements(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

TensorValue TensorValue::makeReal(llvm::ArrayRef<int64_t> shape, double fill) {
  TensorValue value;
  value.shape.assign(shape.begin(), shape.end());
  value.reals.assign(interpreter::getNumElements(shape), fill);
  return value;
}

TensorValue TensorValue::makeInteger(llvm::ArrayRef<int64_t> shape) {
  TensorValue value;
  value.shape.assign(shape.begin(), shape.end());
  value.integers.assign(interpreter::getNumElements(shape), 0);
  return value;
}

std::string
nsacc::interpreter::describePosition(int64_t position,
                                     llvm::ArrayRef<int64_t> shape,
                                     llvm::ArrayRef<int64_t> order) {
  llvm::SmallVector<int64_t> indices(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; position /= shape[dim])
    indices[dim] = position % shape[dim];
  std::string text = "[";
  for (int64_t dim : order)
    text += (text == "[" ? "" : ", ") + std::to_string(indices[dim]);
  return text + "]";
}

std::string
nsacc::interpreter::describePosition(int64_t position,
                                     llvm::ArrayRef<int64_t> shape) {
  return describePosition(
      position, shape,
      llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape.size()))));
}

llvm::Error nsacc::interpreter::makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}
