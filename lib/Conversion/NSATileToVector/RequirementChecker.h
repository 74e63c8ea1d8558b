//===- RequirementChecker.h - Conditions that a run depends on --*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETOVECTOR_REQUIREMENTCHECKER_H
#define NSACC_LIB_CONVERSION_NSATILETOVECTOR_REQUIREMENTCHECKER_H

#include "TileEmitter.h"

namespace nsacc {

/// Tests requirements of one shape, all in one loop that only notes whether
/// they hold. Another one, which no run that goes well comes to, tells which
/// don't, and where.
class RequirementChecker {
public:
  /// Writes what stands before the loop.
  RequirementChecker(TileEmitter &emitter,
                     llvm::SmallVector<nsatile::RequireOp> given);

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
  llvm::SmallVector<nsatile::RequireOp> requirements;
  mlir::Value allHold, values;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETOVECTOR_REQUIREMENTCHECKER_H
