//===- TileLoop.h - Loops whose steps are tiles -----------------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_TILELOOP_H
#define NSACC_NSATILE_IR_TILELOOP_H

#include "NSATile/IR/NSATileOps.h"
#include "mlir/IR/IRMapping.h"

namespace nsacc::nsatile {

/// A fold over one range, or a `scf.for`: the loops that pipelines are made of.
/// Passes that turn one loop into another needn't know its kind.
class TileLoop {
public:
  /// Null for other ops.
  explicit TileLoop(mlir::Operation *op = nullptr);

  explicit operator bool() const { return op != nullptr; }
  bool operator==(TileLoop other) const { return op == other.op; }
  mlir::Operation *getOperation() const { return op; }
  mlir::Operation *operator->() const { return op; }
  mlir::LoopLikeOpInterface getInterface() const {
    return mlir::cast<mlir::LoopLikeOpInterface>(op);
  }
  mlir::Location getLoc() const { return op->getLoc(); }
  mlir::Block *getBody() const { return &op->getRegion(0).front(); }

  mlir::Value getIndex() const;
  mlir::Value getFirst() const;
  mlir::Value getEnd() const;
  /// Difference between the numbers of two steps. Writes the number if the loop
  /// has no value for it.
  mlir::Value getStep(mlir::OpBuilder &builder) const;
  bool hasUnitStep() const;
  mlir::OperandRange getInits() const { return getInterface().getInits(); }
  mlir::Block::BlockArgListType getCarried() const {
    return getInterface().getRegionIterArgs();
  }
  mlir::OperandRange getYielded() const {
    return getBody()->getTerminator()->getOperands();
  }

  /// Whether `value` can be computed for another step: by scalar code, from the
  /// step's number and from values that are defined outside of the loop.
  bool isKnownAhead(mlir::Value value) const;

  /// Copies the scalar code of `value`, which has to be known ahead, for the
  /// step that `step` maps the step's number to. Values that `step` maps are
  /// there already.
  mlir::Value copyFor(mlir::OpBuilder &builder, mlir::Value value,
                      mlir::IRMapping &step) const;

  /// Maps the step's arguments to those of step `index`, for copies of the
  /// body.
  void mapStep(mlir::OpBuilder &builder, mlir::IRMapping &mapping,
               mlir::Value index) const;

  /// Callback that writes a body and returns the values that the loop carries
  /// on.
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::IRMapping &, mlir::Value index,
      mlir::ValueRange carried)>;
  /// Creates a loop of the same kind over `first` to `end`, which are steps of
  /// this loop. `body` gets a mapping from this loop's step to the new loop's.
  mlir::Operation *createOver(mlir::OpBuilder &builder, mlir::Value first,
                              mlir::Value end, mlir::ValueRange inits,
                              Body body) const;
  /// Creates a loop of the same steps with the bounds that `mapping` gives, for
  /// code that carries nothing and needn't know which tiles are full.
  mlir::Operation *createBare(mlir::OpBuilder &builder,
                              const mlir::IRMapping &mapping, Body body) const;

  /// Removes steps before `first` and from `end` on. Both have to be steps of
  /// the loop, or its end.
  void shrink(mlir::OpBuilder &builder, mlir::Value first,
              mlir::Value end) const;

private:
  mlir::Operation *create(mlir::OpBuilder &builder, const TileRange &range,
                          mlir::Value step, mlir::ValueRange inits,
                          Body body) const;

  mlir::Operation *op = nullptr;
};

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_TILELOOP_H
