//===- NSADialect.cpp - The nsa dialect -----------------------------------===//

#include "NSA/IR/NSADialect.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace nsacc::nsa;

#include "NSA/IR/NSADialect.cpp.inc"

void NSADialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "NSA/IR/NSAOps.cpp.inc"
      >();
}
