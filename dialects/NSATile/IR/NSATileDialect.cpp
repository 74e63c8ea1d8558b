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
