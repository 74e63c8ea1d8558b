//===- NSADialect.cpp - The nsa dialect -----------------------------------===//

#include "NSA/IR/NSADialect.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/FoldInterfaces.h"

using namespace mlir;
using namespace nsacc::nsa;

namespace {
struct NSAFoldInterface : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;

  /// Constants stay in the scalar code that uses them: a kernel's body has
  /// none.
  bool shouldMaterializeInto(Region *) const final { return true; }
};
} // namespace

#include "NSA/IR/NSADialect.cpp.inc"

void NSADialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "NSA/IR/NSAOps.cpp.inc"
      >();
  addInterfaces<NSAFoldInterface>();
}
