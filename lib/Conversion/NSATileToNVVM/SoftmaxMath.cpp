//===- SoftmaxMath.cpp - Exponentials of the streaming softmax ------------===//

#include "SoftmaxMath.h"
#include "InlinePTX.h"
#include "Instructions.h"
#include "Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

Value SoftmaxMath::isEqual(Value x, float value) {
  return b.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, b.f32(value));
}

/// 0 for an infinite maximum. If only -inf has to be right, a lower bound below
/// all useful finite scores does the same, in one instruction.
Value SoftmaxMath::getReference(Value max) {
  constexpr float least = -0x1p126f;
  if (assumesFinite && seesAll)
    return max;
  if (assumesFinite)
    return combine(b, ReduceKind::Max, max, b.f32(least), true);
  Value size = b.make<LLVM::FAbsOp>(max);
  return b.select(isEqual(size, kInfinity), b.f32(0), max);
}

Value SoftmaxMath::getShift(Value max) {
  return b.make<arith::NegFOp>(b.mul(getReference(max), b.f32(kLog2E)));
}

/// The old maximum's product is rounded like the shift: if the two maxima are
/// equal, the decay is 1. A fused product would leave the shift's rounding
/// error, which adds up over the steps.
Value SoftmaxMath::getDecay(Value old, Value max, Value shift) {
  if (assumesFinite)
    return ptx::exp2(b, b.add(b.mul(old, b.f32(kLog2E)), shift));
  Value distance = b.make<arith::SubFOp>(old, getReference(max));
  Value decay = ptx::exp2(b, b.mul(distance, b.f32(kLog2E)));
  Value isInfinite = isEqual(b.make<LLVM::FAbsOp>(max), kInfinity);
  return b.select(isInfinite, b.f32(1), decay);
}

Value nsacc::hasLarge(CodeBuilder &b, ArrayRef<Value> references, float large) {
  llvm::SmallSetVector<Value, 4> different(references.begin(),
                                           references.end());
  Value isLarge = b.make<arith::ConstantIntOp>(0, /*width=*/1);
  for (Value reference : different) {
    Value size = b.make<LLVM::FAbsOp>(reference);
    isLarge = b.make<arith::OrIOp>(
        isLarge,
        b.make<arith::CmpFOp>(arith::CmpFPredicate::OGE, size, b.f32(large)));
  }
  return nvvm::anyLane(b, isLarge);
}

SmallVector<Value> nsacc::raise(CodeBuilder &b, size_t count, Value isLarge,
                                llvm::function_ref<Value(size_t)> fuse,
                                llvm::function_ref<Value(size_t)> subtract) {
  auto raiseAll = [&](llvm::function_ref<Value(size_t)> getExponent) {
    return llvm::map_to_vector(llvm::seq(count), [&](size_t index) {
      return ptx::exp2(b, getExponent(index));
    });
  };
  if (!isLarge)
    return raiseAll(fuse);
  SmallVector<Type> types(count, b.getF32Type());
  return b.branch(
      isLarge, types, [&] { return raiseAll(subtract); },
      [&] { return raiseAll(fuse); });
}

SmallVector<SmallVector<int64_t>> nsacc::groupByRow(const TileLayout &matrix,
                                                    const TileLayout &rows) {
  SmallVector<SmallVector<int64_t>> groups(rows.getNumRegisters());
  for (int64_t index = 0; index < matrix.getNumRegisters(); ++index)
    for (int64_t row = 0; row < rows.getNumRegisters(); ++row)
      if (matrix.getCoordinates(index)[0] == rows.getCoordinates(row)[0])
        groups[row].push_back(index);
  return groups;
}
