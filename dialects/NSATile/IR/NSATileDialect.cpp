//===- NSATileDialect.cpp - The nsatile dialect ---------------------------===//

#include "NSATile/IR/NSATileDialect.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>

using namespace mlir;
using namespace nsacc::nsatile;

#include "NSATile/IR/NSATileDialect.cpp.inc"
#include "NSATile/IR/NSATileEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "NSATile/IR/NSATileAttrs.cpp.inc"

void NSATileDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "NSATile/IR/NSATileOps.cpp.inc"
      >();
}

void NSATileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "NSATile/IR/NSATileAttrs.cpp.inc"
      >();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   LoopOrder order, int64_t tokens,
                                   int64_t keys, int64_t splits, int64_t warps,
                                   int64_t stages) {
  if (tokens < 1)
    return emitError() << "expected a query tile of at least 1 token, found "
                       << tokens;
  if (keys < 1)
    return emitError() << "expected a key tile of at least 1 key, found "
                       << keys;
  constexpr int64_t most = 1 << 16;
  if (int64_t largest = std::max({tokens, keys, splits, stages});
      largest > most)
    return emitError() << "expected no more than " << most
                       << " tokens, keys, splits and stages, found " << largest;
  if (splits < 1)
    return emitError() << "expected at least 1 split of the keys, found "
                       << splits;
  if (splits > 1 && order != LoopOrder::KeyMajor)
    return emitError() << "expected a split of the keys under order key_major, "
                          "found order "
                       << stringifyLoopOrder(order);
  if (warps < 0 || warps > 32)
    return emitError() << "expected 1 to 32 warps, or 0 for the compiler's "
                          "choice, found "
                       << warps;
  if (stages < 1)
    return emitError() << "expected at least 1 stage, found " << stages;
  return success();
}
