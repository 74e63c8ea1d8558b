//===- Logistic.h - Logistic functions in scalar code -----------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_LOGISTIC_H
#define NSACC_NSATILE_IR_LOGISTIC_H

#include "mlir/IR/Operation.h"

namespace nsacc::nsatile {

/// Whether an op is x / (1 + exp(-x)) or 1 / (1 + exp(-x)), of scalars or of
/// tiles. If the divisor is so large that its reciprocal isn't a normal number,
/// both are next to 0.
bool isLogistic(mlir::Operation *op);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_LOGISTIC_H
