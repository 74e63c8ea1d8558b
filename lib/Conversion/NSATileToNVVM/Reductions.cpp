//===- Reductions.cpp - Sums and maxima of registers ----------------------===//

#include "Reductions.h"
#include "Instructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

Value nsacc::combine(CodeBuilder &b, ReduceKind kind, Value lhs, Value rhs,
                     bool ignoresNaN) {
  if (kind == ReduceKind::Sum)
    return b.make<arith::AddFOp>(lhs, rhs);
  // The hardware has both; upstream lowers arith's maxima to comparisons.
  if (ignoresNaN)
    return b.make<LLVM::MaxNumOp>(lhs, rhs);
  return b.make<LLVM::MaximumOp>(lhs, rhs);
}

float nsacc::getNeutral(ReduceKind kind) {
  return kind == ReduceKind::Sum ? -0.0f
                                 : -std::numeric_limits<float>::infinity();
}

Value nsacc::combineAll(CodeBuilder &b, ReduceKind kind, ArrayRef<Value> values,
                        bool ignoresNaN) {
  if (values.empty())
    return b.f32(getNeutral(kind));
  constexpr size_t numChains = 4;
  SmallVector<Value, numChains> chains(values.take_front(numChains));
  for (size_t i = numChains; i < values.size(); ++i)
    chains[i % numChains] =
        combine(b, kind, chains[i % numChains], values[i], ignoresNaN);
  while (chains.size() > 1) {
    Value last = chains.pop_back_val();
    size_t other = chains.size() == 1 ? 0 : chains.size() - 2;
    chains[other] = combine(b, kind, chains[other], last, ignoresNaN);
  }
  return chains.front();
}

Value nsacc::addUpMarks(CodeBuilder &b, ArrayRef<Value> values) {
  SmallVector<Value> sums(4, b.f32(0));
  for (auto [index, value] : llvm::enumerate(values)) {
    Value &sum = sums[index % sums.size()];
    sum = b.fma(value, b.f32(0), sum);
  }
  return combineAll(b, ReduceKind::Sum, sums);
}

Value nsacc::combineRow(CodeBuilder &b, ReduceKind kind, Value value,
                        bool ignoresNaN) {
  for (int64_t mask : {1, 2})
    value =
        combine(b, kind, value, nvvm::shuffleXor(b, value, mask), ignoresNaN);
  return value;
}
