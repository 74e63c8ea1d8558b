//===- NSATileOps.h - Operations of the nsatile dialect ---------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_NSATILEOPS_H
#define NSACC_NSATILE_IR_NSATILEOPS_H

#include "NSATile/IR/NSATileDialect.h"
#include "NSATile/IR/ScheduleFields.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpAsmSupport.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "NSATile/IR/NSATileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "NSATile/IR/NSATileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "NSATile/IR/NSATileTypes.h.inc"

namespace nsacc::nsatile {

/// Tiles [first, end), of which [fullFirst, fullEnd) are full.
struct TileRange {
  mlir::Value first, end, fullFirst, fullEnd;

  /// Whether any tile may be full.
  bool hasFull() const { return fullFirst != fullEnd; }
  /// Whether tiles come before, or behind, the full ones.
  bool hasHead() const { return first != fullFirst; }
  bool hasTail() const { return fullEnd != end; }
  /// Writes code that says whether a tile of the range isn't full.
  mlir::Value isPartial(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value tile) const;
};

/// The tiles that a fold goes over, as `nsatile.fold` describes them: those of
/// `ranges`, or one tile (`at`), or the entries of a row of a list.
struct FoldDomain {
  llvm::SmallVector<TileRange> ranges;
  mlir::Value at = {}, list = {}, count = {}, first = {}, members = {};
  llvm::SmallVector<mlir::Value> indices = {};
  /// Tiles of an entry of a list, or of `at`.
  int64_t parts = 1;

  bool isRanges() const { return !at && !list; }
  /// Of each entry of a list.
  int64_t getNumWords() const;
  /// Whether a fold each is written for the ranges, which has a copy of the
  /// body, or three where full tiles have loops of their own; else they share
  /// one, with a copy for full tiles and one for others.
  bool hasFoldForEachRange() const { return ranges.size() <= 3; }
};

} // namespace nsacc::nsatile

#define GET_OP_CLASSES
#include "NSATile/IR/NSATileOps.h.inc"

#endif // NSACC_NSATILE_IR_NSATILEOPS_H
