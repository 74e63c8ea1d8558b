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
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "NSATile/IR/NSATileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "NSATile/IR/NSATileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "NSATile/IR/NSATileTypes.h.inc"

namespace nsacc::nsatile {

/// Tiles [first, end). Tiles [fullFirst, fullEnd) among them are full.
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

/// The tiles that a fold goes over, as `nsatile.fold` describes them: the tiles
/// of `ranges`, one tile (`at`), or the entries of a list's row.
struct FoldDomain {
  llvm::SmallVector<TileRange> ranges;
  mlir::Value at = {}, list = {}, count = {}, first = {}, members = {};
  llvm::SmallVector<mlir::Value> indices = {};
  /// Number of tiles of a list's entry, or of `at`.
  int64_t parts = 1;

  bool isRanges() const { return !at && !list; }
  /// Number of words of each entry of a list.
  int64_t getNumWords() const;
  /// Whether each range gets its own fold. Such a fold has one copy of the
  /// body, or three if full tiles get separate loops. Otherwise the ranges
  /// share one fold, with a copy for full tiles and one for others.
  bool hasFoldForEachRange() const { return ranges.size() <= 3; }
};

/// The place of a tile in a buffer, as `nsatile.at` describes it.
struct TilePlace {
  llvm::SmallVector<mlir::Value> offsets = {}, limits = {};
  llvm::SmallVector<int64_t> dims = {}, shape = {};
  /// None: 1 in each dimension.
  llvm::SmallVector<int64_t> steps = {};
  mlir::Value list = {};
  llvm::SmallVector<mlir::Value> entry = {};
  int64_t divisor = 1;
};

} // namespace nsacc::nsatile

#define GET_OP_CLASSES
#include "NSATile/IR/NSATileOps.h.inc"

namespace nsacc::nsatile {

/// Loads the tile at a place of a buffer.
mlir::Value loadTile(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value buffer, const TilePlace &place);
/// Stores a tile, whose shape the place needn't have.
void storeTile(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tile,
               mlir::Value buffer, TilePlace place);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_NSATILEOPS_H
