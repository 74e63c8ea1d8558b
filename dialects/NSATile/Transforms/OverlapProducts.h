//===- OverlapProducts.h - Products of a step that run together -*- C++ -*-===//

#ifndef NSACC_NSATILE_TRANSFORMS_OVERLAPPRODUCTS_H
#define NSACC_NSATILE_TRANSFORMS_OVERLAPPRODUCTS_H

#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace nsacc::nsatile {

/// For each op of a loop's step, the number of products that it has to wait
/// for, one after the other. Products of a level don't depend on each other.
class ProductLevels {
public:
  explicit ProductLevels(mlir::Block &body);

  /// Products that can be in flight, by level.
  llvm::ArrayRef<llvm::SmallVector<DotOp>> getGroups() const { return groups; }
  bool isProduct(mlir::Operation *op) const { return products.contains(op); }
  /// False for ops that are placed by the products around them.
  bool isOfLevel(mlir::Operation *op, int64_t level) const {
    auto found = levels.find(op);
    return found != levels.end() && found->second == level;
  }
  /// Reason why no two products of the step can be in flight together; empty if
  /// some can.
  llvm::StringRef explainNoOverlap(mlir::Block &body) const;

private:
  llvm::DenseMap<mlir::Operation *, int64_t> levels;
  llvm::SmallPtrSet<mlir::Operation *, 8> products;
  llvm::SmallVector<llvm::SmallVector<DotOp>> groups;
};

/// Starts the products of each level of a loop's step together once their
/// operands are there, waits for each product before its result is read, and
/// releases tiles behind their last reader. An error if no products can
/// overlap.
mlir::LogicalResult overlapProducts(mlir::Operation *loop);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_TRANSFORMS_OVERLAPPRODUCTS_H
