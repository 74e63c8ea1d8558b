//===- EmitRequire.cpp - Conditions that a run depends on -----------------===//

#include "KernelEmitter.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

LogicalResult KernelEmitter::emitRequire(RequireOp op) { return reject(op); }
