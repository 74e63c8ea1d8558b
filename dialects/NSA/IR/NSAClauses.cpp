//===- NSAClauses.cpp - Regions of scalar code of nsa ops -----------------===//

#include "NSA/IR/NSAClauses.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace nsacc::nsa;

StringRef nsacc::nsa::getClauseName(Clause clause) {
  switch (clause) {
  case Clause::Scale:
    return "scale";
  case Clause::Mask:
    return "mask";
  case Clause::Score:
    return "score";
  case Clause::Weight:
    return "weight";
  case Clause::Normalize:
    return "normalize";
  case Clause::Sink:
    return "sink";
  }
  llvm_unreachable("unknown clause");
}

SmallVector<Type> nsacc::nsa::getClauseArgumentTypes(Clause clause,
                                                     MLIRContext *context) {
  Type real = Float32Type::get(context);
  Type position = IndexType::get(context);
  switch (clause) {
  case Clause::Scale:
    return {};
  case Clause::Mask: // b, h, t, i, j
    return SmallVector<Type>(5, position);
  case Clause::Score:
  case Clause::Weight: // s, b, h, t, i, j
    return {real, position, position, position, position, position};
  case Clause::Normalize: // sum, visible, b, h, t, i
    return {real, position, position, position, position, position};
  case Clause::Sink: // b, h, t, i
    return SmallVector<Type>(4, position);
  }
  llvm_unreachable("unknown clause");
}

Type nsacc::nsa::getClauseResultType(Clause clause, MLIRContext *context) {
  if (clause == Clause::Mask)
    return IntegerType::get(context, 1);
  return Float32Type::get(context);
}
