//===- OverlapProducts.h - Products of a step that run together -*- C++ -*-===//

#ifndef NSACC_NSATILE_TRANSFORMS_OVERLAPPRODUCTS_H
#define NSACC_NSATILE_TRANSFORMS_OVERLAPPRODUCTS_H

#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace nsacc::nsatile {

/// How many products of a loop's step each op has to wait for, one after the
/// other. Products of a level need none of each other.
class ProductLevels {
public:
  explicit ProductLevels(mlir::Block &body);

  /// Products that can be in flight, by level.
  llvm::ArrayRef<llvm::SmallVector<DotOp>> getGroups() const { return groups; }
  bool isProduct(mlir::Operation *op) const { return products.contains(op); }
  /// False for what has its place by the products around it.
  bool isOfLevel(mlir::Operation *op, int64_t level) const {
    auto found = levels.find(op);
    return found != levels.end() && found->second == level;
  }
  /// Why no two products of the step can be in flight together; empty where
  /// some can.
  llvm::StringRef explainNoOverlap(mlir::Block &body) const;

private:
  llvm::DenseMap<mlir::Operation *, int64_t> levels;
  llvm::SmallPtrSet<mlir::Operation *, 8> products;
  llvm::SmallVector<llvm::SmallVector<DotOp>> groups;
};

/// Starts the products of each level of a loop's step together once their
/// operands are there, waits for each where its result is read, and gives tiles
/// back behind their last reader. An error where no products can overlap.
mlir::LogicalResult overlapProducts(mlir::Operation *loop);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_TRANSFORMS_OVERLAPPRODUCTS_H
