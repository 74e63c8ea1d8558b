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

/// A dimension of a tensor by its name; a number by its place among the
/// declared ones, from 0.
std::string describeDim(mlir::Value tensor, unsigned dim);

/// Which of its dimensions each one is that the program declares: those of an
/// argument may stand in another order than in its type.
llvm::SmallVector<int64_t> getDeclaredOrder(mlir::Value tensor);

} // namespace nsacc::nsa

#endif // NSACC_NSA_IR_NSANAMES_H
