//===- AssertionChecker.h - Conditions that a run depends on ----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETOVECTOR_ASSERTIONCHECKER_H
#define NSACC_LIB_CONVERSION_NSATILETOVECTOR_ASSERTIONCHECKER_H

#include "TileEmitter.h"

namespace nsacc {

/// Tests assertions of one shape, all in one loop that only records whether
/// they hold. A second loop, which a successful run never reaches, reports the
/// failing ones and their elements.
class AssertionChecker {
public:
  /// Writes the code in front of the loop.
  AssertionChecker(TileEmitter &emitter,
                   llvm::SmallVector<nsatile::AssertOp> given);

  /// Writes the tests; called within the loop.
  void check(VectorReader &reader, int64_t width);
  /// Writes the second loop; called behind the first.
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
