//===- PTXBuilder.h - Instructions that no dialect has ----------*- C++ -*-===//
//
// Shared memory is addressed by 32-bit integers, as instructions take it.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_CONVERSION_NSATILETONVVM_PTXBUILDER_H
#define NSACC_CONVERSION_NSATILETONVVM_PTXBUILDER_H

#include "NSATile/IR/SharedShape.h"
#include "mlir/IR/Builders.h"

namespace nsacc {

/// A matrix of 16-bit elements in shared memory, swizzled for `wgmma`: slabs of
/// 64 columns, each `slabRows` rows of 128 bytes. It stands `place` bytes, if
/// any, behind `address`.
struct SharedMatrix {
  mlir::Value address, place;
  int64_t slabRows;

  static constexpr int64_t slabColumns = nsatile::kSlabColumns;
  static constexpr int64_t rowBytes = 128;
  int64_t getSlabBytes() const { return slabRows * rowBytes; }
};

class PTXBuilder {
public:
  PTXBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value address, int64_t bytes);

  /// Inline assembly. Operands in `text` are $0, …, results first. Constraints
  /// of operands follow from types, but for those tied to result i: `ties[i]`
  /// is an operand of the same register.
  llvm::SmallVector<mlir::Value> assemble(llvm::StringRef text,
                                          mlir::TypeRange results,
                                          mlir::ValueRange operands,
                                          mlir::ValueRange ties = {},
                                          bool earlyClobber = false);

  //===-- Barriers --------------------------------------------------------===//

  void initBarrier(mlir::Value barrier, int64_t arrivals);
  void fenceBarrierInit();
  /// Waits until the phase of this parity has ended.
  void waitBarrier(mlir::Value barrier, mlir::Value parity);
  void arrive(mlir::Value barrier, mlir::Value predicate);
  void arriveAndExpect(mlir::Value barrier, int64_t bytes);
  void syncThreads(mlir::Value barrier, int64_t threads);
  void arriveThreads(mlir::Value barrier, int64_t threads);

  //===-- Launches --------------------------------------------------------===//

  /// The next launch's blocks may come; those that wait for the end of this
  /// one do so by themselves.
  void letNextLaunchStart();
  /// Waits until the launch before has ended, and what it wrote can be read.
  void waitForLaunchBefore();

  //===-- Words -----------------------------------------------------------===//

  /// The word where `predicate` isn't 0; 0 elsewhere.
  mlir::Value loadShared(mlir::Value address, mlir::Value predicate);
  void storeShared(mlir::Value address, mlir::Value word);
  /// The word in global memory before it is counted up; behind `last` comes 0.
  mlir::Value countUp(mlir::Value pointer, mlir::Value last);

  //===-- Copies ----------------------------------------------------------===//

  /// A box of the tensor that `map` describes, coordinates innermost first.
  void copyBoxToShared(mlir::Value address, mlir::Value map,
                       mlir::ValueRange coordinates, mlir::Value barrier);
  void copyBoxFromShared(mlir::Value map, mlir::ValueRange coordinates,
                         mlir::Value address);
  void commitCopies();
  /// Waits until the sources of all copies but `pending` have been read.
  void waitCopiesRead(int64_t pending);
  void waitCopies(int64_t pending);
  /// What ordinary stores wrote, bulk copies and products read.
  void fenceSharedForAsync();
  void storeMatrices(mlir::Value address, mlir::ValueRange packed);

  //===-- Products of a warpgroup -----------------------------------------===//

  /// 64 rows of a left operand.
  struct LeftRows {
    /// The first columns, in registers of two elements each; may be empty.
    mlir::ValueRange head;
    /// Where the other columns are, and from which row on.
    std::optional<SharedMatrix> matrix;
    mlir::Value row;
  };
  /// Starts acc + lhs · rhsᵀ; acc may be empty.
  llvm::SmallVector<mlir::Value>
  startProduct(const LeftRows &lhs, SharedMatrix rhs, bool transposeRhs,
               int64_t columns, int64_t inner, mlir::Type element,
               mlir::ValueRange acc, mlir::Value adds);
  /// Waits for products but the last `allow` ones; gives the accumulators.
  llvm::SmallVector<mlir::Value> waitProducts(int64_t allow,
                                              mlir::ValueRange acc);

  void setRegisters(int64_t registers, bool increase);

private:
  mlir::Value describe(SharedMatrix matrix, mlir::Value row, bool isTransposed);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace nsacc

#endif // NSACC_CONVERSION_NSATILETONVVM_PTXBUILDER_H
