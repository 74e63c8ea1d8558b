//===- PlanBuilder.h - Launch plans and programs under way ------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_PLANBUILDER_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_PLANBUILDER_H

#include "IndexMath.h"
#include "NSA/IR/NSAOps.h"
#include "NSATile/IR/NSATileOps.h"
#include "StateSlices.h"
#include "mlir/IR/Builders.h"
#include "nsacc/Schedule/ResultSlices.h"
#include "llvm/ADT/MapVector.h"
#include <optional>

namespace nsacc {

/// Number of windows of computed pooled keys over `tokens` tokens.
mlir::Value getNumWindows(const IndexMath &math, nsa::PooledDimAttr pooled,
                          mlir::Value tokens);

/// How an attention, an importance or a top-k is tiled.
inline nsatile::ScheduleAttr getSchedule(mlir::Operation *op) {
  return op->getAttrOfType<nsatile::ScheduleAttr>(
      nsatile::NSATileDialect::getScheduleAttrName());
}

/// What programs over parts of the keys leave of an attention: for each part
/// the state of every query row. A buffer for each tensor of the state,
/// [splits, batch, token, head] with channels behind for the accumulator. Of a
/// selection, parts are the blocks of a list, side by side: [batch, head, token
/// x top, group], or those of a slice (StateSlices).
struct PartialStates {
  llvm::SmallVector<mlir::Value> buffers; ///< in the plan
  mlir::OpFoldResult splits;              ///< a number, or a value of the plan
  mlir::Value selection = {};
};

/// For each head with lists, and each batch row (but not of ragged ones), which
/// list entries each block has. In the plan, i32. Blocks are those of a batch
/// row or, of ragged ones, of all; where tokens are cut into slices
/// (StateSlices), each slice has them, one behind the other, and chunks and
/// tiles are those of a slice.
struct InvertedLists {
  /// [rows, heads, blocks x chunks + 1]: those of a block are entries
  /// [starts[block x chunks], starts[(block + 1) x chunks]).
  mlir::Value starts;
  /// [rows, heads, token x top + 1]: a token's number in its batch row times
  /// top plus a place in its list, ascending. The last is never written.
  mlir::Value entries;
  /// [rows, heads, tiles, fields]: of tiles of entries, which stand as those of
  /// ragged rows (QueryGrid.h). All that a program looks up stands together.
  enum TileField { Block, FirstEntry, EndEntry, FirstToken, EndToken };
  static constexpr int64_t numTileFields = EndToken + 1;
  mlir::Value fieldsOfTiles;
  mlir::Value chunks, tiles; ///< numbers of the plan
};

/// For each query tile (getTileIndices) and key head, the blocks that the
/// tile's lists (TileLists) have, ascending, with the lists that have each, and
/// their number. In the plan, as nsatile.unite writes them.
struct UnionLists {
  mlir::Value blocks;  ///< [tiles, heads, width], i32
  mlir::Value members; ///< [tiles, heads, width, words], i32
  mlir::Value counts;  ///< [tiles, heads, 1], i32
};

/// The launch plan of one kernel while programs are added to it. Buffers stand
/// for tensors of the kernel: inputs, results, and what was materialized.
class PlanBuilder {
public:
  /// `multiprocessors` are those of the device; 0 where it has none.
  PlanBuilder(nsa::KernelOp kernel, mlir::OpBuilder builder,
              int64_t multiprocessors);

  nsa::KernelOp getKernel() { return kernel; }
  mlir::Location getLoc() { return kernel.getLoc(); }
  mlir::OpBuilder &getBuilder() { return builder; }
  int64_t getMultiprocessors() const { return multiprocessors; }

  /// The size of a dimension that the kernel was specialized for.
  std::optional<int64_t> getStaticSize(mlir::Attribute dim);
  /// The size of a dimension in the plan; for ragged ones the packed size, for
  /// pooled ragged ones an upper bound of it.
  mlir::Value getSize(mlir::Attribute dim);

  bool isMaterialized(mlir::Value tensor) { return buffers.count(tensor); }
  /// The buffer of an input or a materialized tensor, in the plan.
  mlir::Value getBuffer(mlir::Value tensor) { return buffers.lookup(tensor); }
  /// The size of a buffer's dimension, in the plan.
  mlir::Value getBufferSize(mlir::Value buffer, int64_t dim);
  /// The buffer of a result.
  mlir::Value getResultBuffer(unsigned index);
  /// Lets `tensor` be what stands in `buffer`.
  void bind(mlir::Value tensor, mlir::Value buffer);
  /// Workspace for a tensor or for the indices of a selection.
  mlir::Value createBuffer(mlir::Value tensor);
  /// The same, and binds the tensor to it.
  mlir::Value allocate(mlir::Value tensor);
  /// A second number for each log-sum-exp: see Normalizer (Evaluator.h).
  void addRest(mlir::Value lse) { rests[lse] = createBuffer(lse); }
  /// Null where there is none.
  mlir::Value getRest(mlir::Value lse) { return rests.lookup(lse); }
  /// Workspace for an attention's output as halves, and for their scales: see
  /// Halves.h.
  mlir::Value createHalves(nsa::AttendOp op);
  /// Of a tensor whose buffer has halves; null for others.
  mlir::Value getScale(mlir::Value tensor) { return scales.lookup(tensor); }
  /// Workspace of the given type, whose dynamic sizes stand in `sizes`.
  mlir::Value allocate(mlir::MemRefType type, mlir::ValueRange sizes);

  /// Null for an attention that is computed where it is used.
  const PartialStates *getPartialStates(nsa::AttendOp op) {
    auto *found = partialStates.find(op);
    return found == partialStates.end() ? nullptr : &found->second;
  }
  void setPartialStates(nsa::AttendOp op, PartialStates states) {
    partialStates[op] = std::move(states);
  }

  /// The slices of the plan's states; null where all stand in memory.
  StateSlices *getStateSlices() {
    return stateSlices && stateSlices->repeat ? &*stateSlices : nullptr;
  }
  void setStateSlices(StateSlices made) { stateSlices = made; }

  /// Computes `found.values` in a loop over slices.
  void setResultSlices(schedule::ResultSlices found, StateSlices made) {
    slicedResults = std::move(found);
    resultSlices = made;
  }
  /// The slices in whose loop a value of the kernel is computed; null: in none.
  StateSlices *findResultSlices(mlir::Value value) {
    return slicedResults.values.contains(value) ? &*resultSlices : nullptr;
  }
  /// Whether the buffer of a tensor has the tokens of a slice.
  bool isSliced(mlir::Value tensor) {
    return llvm::is_contained(slicedResults.attends, tensor.getDefiningOp());
  }

  /// The lists of query tiles of `tokens` tokens; null where there are none.
  const UnionLists *getUnionLists(mlir::Value selection, int64_t tokens) {
    auto *found = unionLists.find({selection, tokens});
    return found == unionLists.end() ? nullptr : &found->second;
  }
  void setUnionLists(mlir::Value selection, int64_t tokens, UnionLists lists) {
    unionLists[{selection, tokens}] = lists;
  }

  /// The inverted lists of a selection in tiles of so many; null where there
  /// are none.
  const InvertedLists *getInvertedLists(mlir::Value selection, int64_t tile) {
    auto *found = invertedLists.find({selection, tile});
    return found == invertedLists.end() ? nullptr : &found->second;
  }
  void setInvertedLists(mlir::Value selection, int64_t tile,
                        InvertedLists lists) {
    invertedLists[{selection, tile}] = lists;
  }

  /// A ragged dimension, tokens of a tile, and tiles that rows have to spare.
  using TileKey = std::pair<mlir::Attribute, std::pair<int64_t, int64_t>>;
  /// The batch row of each tile (QueryGrid.h), [tiles], i32; null where no
  /// program has written them.
  mlir::Value getRowsOfTiles(const TileKey &key) {
    return rowsOfTiles.lookup(key);
  }
  void setRowsOfTiles(const TileKey &key, mlir::Value rows) {
    rowsOfTiles[key] = rows;
  }

  /// The offsets input of a ragged dimension; null for others.
  mlir::Value getOffsetsInput(llvm::StringRef dim);
  bool isRagged(llvm::StringRef dim) { return bool(getOffsetsInput(dim)); }
  /// The dimension of that name, ragged where the kernel's is.
  nsa::NamedDimAttr getNamedDim(llvm::StringRef name);
  /// Offsets of the batch rows in a ragged dimension, also of pooled keys.
  mlir::Value getOffsets(mlir::Attribute raggedDim);
  /// Number of batch rows of a ragged dimension of tokens.
  mlir::Value getNumRows(llvm::StringRef dim);
  /// Arithmetic at the end of the plan.
  IndexMath math() { return IndexMath(builder, getLoc()); }

  /// The name of an op with a schedule.
  mlir::StringAttr getName(mlir::Operation *op) { return names.lookup(op); }

  /// Ends the plan.
  void finish();

  /// The name of an input, a result, a size or a tensor in memory; null for
  /// other values of the plan.
  mlir::StringAttr findName(mlir::Value value);

  /// A name for the next program: "nsa_pool_0".
  std::string nameProgram(llvm::StringRef what);
  /// Programs stand in front of the plan.
  nsatile::ProgramOp createProgram(mlir::Location loc, llvm::StringRef what,
                                   nsatile::ScheduleAttr schedule);

private:
  /// Workspace of that type; of a slice's tokens where it is for a tensor in
  /// slices.
  mlir::Value createBuffer(llvm::ArrayRef<mlir::Attribute> dims,
                           mlir::Type elementType, mlir::Value tensor);
  /// A buffer whose neighbours are those of the caller's last dimension.
  mlir::MemRefType getInputType(nsa::NamedTensorType type,
                                llvm::ArrayRef<int64_t> order);
  mlir::Value computeSize(mlir::Attribute dim);
  mlir::Value computePooledSize(nsa::PooledDimAttr pooled);
  mlir::Value computePooledOffsets(nsa::PooledDimAttr pooled);

  nsa::KernelOp kernel;
  mlir::OpBuilder builder;
  int64_t multiprocessors;
  nsatile::PlanOp plan;
  llvm::MapVector<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, mlir::Value> rests, scales;
  llvm::MapVector<mlir::Attribute, mlir::Value> sizes, pooledOffsets;
  llvm::MapVector<mlir::Operation *, PartialStates> partialStates;
  std::optional<StateSlices> stateSlices, resultSlices;
  schedule::ResultSlices slicedResults;
  llvm::MapVector<std::pair<mlir::Value, int64_t>, UnionLists> unionLists;
  llvm::MapVector<std::pair<mlir::Value, int64_t>, InvertedLists> invertedLists;
  llvm::MapVector<TileKey, mlir::Value> rowsOfTiles;
  llvm::DenseMap<mlir::Operation *, mlir::StringAttr> names;
  unsigned programs = 0;
};

/// One program while it is written. Arguments appear as they are asked for.
class ProgramBuilder {
public:
  /// A program that computes what `loc` says in the kernel's text.
  ProgramBuilder(PlanBuilder &plan, mlir::Location loc, llvm::StringRef what,
                 nsatile::ScheduleAttr schedule = {});

  PlanBuilder &getPlan() { return plan; }
  nsatile::ProgramOp getProgram() { return program; }
  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() { return program.getLoc(); }

  /// The program's argument for a value of the plan.
  mlir::Value import(mlir::Value planValue);
  /// The same of what may be a number.
  mlir::Value importNumber(mlir::OpFoldResult number);
  mlir::Value getBuffer(mlir::Value tensor) {
    return import(plan.getBuffer(tensor));
  }
  /// The size of a dimension; not for ragged ones, see getRow.
  mlir::Value getSize(mlir::Attribute dim);

  /// The tokens of one batch row of a ragged dimension (or of pooled keys over
  /// one): first packed index and number.
  struct Row {
    mlir::Value start, size;
  };
  Row getRow(mlir::Attribute dim, mlir::Value batchRow);

  /// Says which ops of the kernel the program computes in tiles of their
  /// schedules.
  void setOps(llvm::ArrayRef<mlir::Operation *> ops);

  /// Arithmetic at the insertion point.
  IndexMath math() { return IndexMath(builder, getLoc()); }
  mlir::Value programId(int64_t axis);

  /// Ends the program and launches it.
  void launch(mlir::Value x, mlir::Value y, mlir::Value z);

private:
  PlanBuilder &plan;
  nsatile::ProgramOp program;
  mlir::OpBuilder builder;
  llvm::MapVector<mlir::Value, mlir::Value> arguments;
};

/// "[{1}, {3}, {2}]": an element of a tensor in a message whose values from
/// `first` on are its indices, as the program declares the dimensions.
std::string describeElement(mlir::Value tensor, unsigned first);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_PLANBUILDER_H
