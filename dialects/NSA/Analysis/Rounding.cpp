//===- Rounding.cpp - What results keep of values -------------------------===//

#include "NSA/Analysis/Rounding.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static Type getElementType(Value tensor) {
  return cast<NamedTensorType>(tensor.getType()).getElementType();
}

static bool areUsesRounded(Value tensor) {
  return llvm::all_of(tensor.getUsers(), [](Operation *user) {
    return isa<MapOp, MergeOp>(user) &&
           llvm::all_of(user->getResults(), [](Value result) {
             return getElementType(result).isBF16() || areUsesRounded(result);
           });
  });
}

bool nsa::isRoundedToBF16(AttendOp op) {
  return getElementType(op.getValue()).isBF16() &&
         areUsesRounded(op.getOutput());
}
