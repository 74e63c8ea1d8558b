//===- AssertionChecker.h - Conditions that a run depends on ----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETOVECTOR_ASSERTIONCHECKER_H
#define NSACC_LIB_CONVERSION_NSATILETOVECTOR_ASSERTIONCHECKER_H

#include "TileEmitter.h"

namespace nsacc {

/// Tests assertions of one shape, all in one loop that only notes whether
/// they hold. Another one, which no run that goes well comes to, tells which
/// don't, and where.
class AssertionChecker {
public:
  /// Writes what stands before the loop.
  AssertionChecker(TileEmitter &emitter,
                   llvm::SmallVector<nsatile::AssertOp> given);

  /// Within the loop.
  void check(VectorReader &reader, int64_t width);
  /// Behind it.
  void report(llvm::ArrayRef<int64_t> shape);

private:
  void reportAt(mlir::ValueRange point);
  void unless(mlir::Value condition, mlir::Location loc,
              llvm::function_ref<void()> body);

  TileEmitter &emitter;
  mlir::OpBuilder &builder;
  llvm::SmallVector<nsatile::AssertOp> assertions;
  mlir::Value allHold, values;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETOVECTOR_ASSERTIONCHECKER_H
