//===- NSANames.h - Names of tensors in messages ----------------*- C++ -*-===//

#ifndef NSACC_NSA_IR_NSANAMES_H
#define NSACC_NSA_IR_NSANAMES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace nsacc::nsa {

/// `'idx'` for an argument of a kernel, or else "computed by the program", as
/// in "selection computed by the program".
std::string describeTensor(mlir::Value tensor);

/// For each dimension that the program declares, its index in the tensor's
/// type: an argument's dimensions may have another order than its type's.
llvm::SmallVector<int64_t> getDeclaredOrder(mlir::Value tensor);

} // namespace nsacc::nsa

#endif // NSACC_NSA_IR_NSANAMES_H
