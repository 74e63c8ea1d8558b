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

/// The schedule of an op that has one.
inline nsatile::ScheduleAttr getSchedule(mlir::Operation *op) {
  return op->getAttrOfType<nsatile::ScheduleAttr>(
      nsatile::NSATileDialect::getScheduleAttrName());
}

/// States that programs over parts of the keys leave of an attention: for each
/// part the state of every query row. Each tensor of the state has a buffer,
/// [splits, batch, token, head], with channels behind for the accumulator.
/// Parts of a selection are the blocks of a list, side by side: [batch, head,
/// token x top, group], or a slice of these (StateSlices).
struct PartialStates {
  llvm::SmallVector<mlir::Value> buffers; ///< in the plan
  mlir::OpFoldResult splits;              ///< a number, or a value of the plan
  mlir::Value selection = {};
  /// Whether matrices stand in memory in f16, with a scale for each row behind
  /// them (ScaledF16.h).
  bool areScaled = false;
};

/// List entries of each block, for each head with lists and each batch row
/// (ragged rows are one). In the plan, i32. Blocks are a batch row's or, of
/// ragged rows, all. Where tokens are cut into slices (StateSlices), each slice
/// has all blocks, slices stand behind each other, and `chunks` and `tiles`
/// count for one slice.
struct InvertedLists {
  /// [rows, heads, blocks x chunks + 1]: a block has entries [starts[block x
  /// chunks], starts[(block + 1) x chunks]).
  mlir::Value starts;
  /// [rows, heads, token x top + 1]: a token's number in its batch row times
  /// top plus a place in its list, ascending. The last is never written.
  mlir::Value entries;
  /// [rows, heads, tiles, fields]: fields of tiles of entries, in the order of
  /// tiles of ragged rows (QueryGrid.h). All fields that a program looks up
  /// stand together.
  enum TileField { Block, FirstEntry, EndEntry, FirstToken, EndToken };
  static constexpr int64_t numTileFields = EndToken + 1;
  mlir::Value fieldsOfTiles;
  mlir::Value chunks, tiles; ///< numbers of the plan
};

/// Blocks in the lists (TileLists) of each query tile (getTileIndices) and key
/// head, ascending, with the lists that have each block, and the number of
/// blocks. In the plan, as ListCode::unite writes them.
struct UnionLists {
  mlir::Value blocks;  ///< [tiles, heads, width], i32
  mlir::Value members; ///< [tiles, heads, width, words], i32
  mlir::Value counts;  ///< [tiles, heads, 1], i32
};

/// The launch plan of one kernel while programs are added to it. Buffers stand
/// for tensors of the kernel: inputs, results, and materialized tensors.
class PlanBuilder {
public:
  /// `multiprocessors` is the device's number of them; 0 where it has none.
  PlanBuilder(nsa::KernelOp kernel, mlir::OpBuilder builder,
              int64_t multiprocessors);

  nsa::KernelOp getKernel() { return kernel; }
  mlir::Location getLoc() { return kernel.getLoc(); }
  mlir::OpBuilder &getBuilder() { return builder; }
  int64_t getMultiprocessors() const { return multiprocessors; }

  /// Size of a dimension, if it is a constant or the kernel was specialized for
  /// it.
  std::optional<int64_t> getStaticSize(mlir::Attribute dim);
  /// The size of a dimension in the plan. For ragged dimensions it is the
  /// packed size, for pooled ragged ones an upper bound of that.
  mlir::Value getSize(mlir::Attribute dim);

  bool isMaterialized(mlir::Value tensor) { return buffers.count(tensor); }
  /// The buffer of an input or a materialized tensor, in the plan.
  mlir::Value getBuffer(mlir::Value tensor) { return buffers.lookup(tensor); }
  /// The size of a buffer's dimension, in the plan.
  mlir::Value getBufferSize(mlir::Value buffer, int64_t dim);
  /// The buffer of a result.
  mlir::Value getResultBuffer(unsigned index);
  /// Binds `tensor` to the contents of `buffer`.
  void bind(mlir::Value tensor, mlir::Value buffer);
  /// Creates workspace for a tensor or for the indices of a selection.
  mlir::Value createBuffer(mlir::Value tensor);
  /// Creates workspace for a tensor, and binds the tensor to it.
  mlir::Value allocate(mlir::Value tensor);
  /// Creates a second number for each log-sum-exp: see Normalizer
  /// (Evaluator.h).
  void addResidual(mlir::Value lse) { residuals[lse] = createBuffer(lse); }
  /// Null where a log-sum-exp has no second number.
  mlir::Value getResidual(mlir::Value lse) { return residuals.lookup(lse); }
  /// Creates workspace for an attention's output in f16, and for the scales
  /// of its rows: see ScaledF16.h.
  mlir::Value createScaledF16(mlir::Value output);
  /// Scales of a tensor that its buffer has in f16; null for others.
  mlir::Value getScale(mlir::Value tensor) { return scales.lookup(tensor); }
  /// Creates workspace of the given type, with dynamic sizes `sizes`.
  mlir::Value allocate(mlir::MemRefType type, mlir::ValueRange sizes);

  /// The schedule of an op in the programs that are built now: its own, or the
  /// exact one.
  nsatile::ScheduleAttr getSchedule(mlir::Operation *op) const {
    nsatile::ScheduleAttr schedule = nsacc::getSchedule(op);
    return buildsExact ? schedule.getExact() : schedule;
  }
  /// Builds a program of an op. If the program looks at pairs and the op's
  /// schedule has an exact program, builds it again under the exact schedules;
  /// that one repairs rows whose results aren't finite.
  llvm::FailureOr<nsatile::ProgramOp> buildWithExact(
      mlir::Operation *op,
      llvm::function_ref<llvm::FailureOr<nsatile::ProgramOp>()> build);

  /// Null for an attention that is computed where it is used.
  const PartialStates *getPartialStates(mlir::Operation *op) {
    auto *found = partialStates.find(op);
    return found == partialStates.end() ? nullptr : &found->second;
  }
  void setPartialStates(mlir::Operation *op, PartialStates states) {
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
  /// The slices in a loop over which a value of the kernel is computed; null
  /// for no loop.
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

  /// The inverted lists of a selection in tiles of `tile` entries; null where
  /// there are none.
  const InvertedLists *getInvertedLists(mlir::Value selection, int64_t tile) {
    auto *found = invertedLists.find({selection, tile});
    return found == invertedLists.end() ? nullptr : &found->second;
  }
  void setInvertedLists(mlir::Value selection, int64_t tile,
                        InvertedLists lists) {
    invertedLists[{selection, tile}] = lists;
  }

  /// A ragged dimension, tokens of a tile, and number of tiles that rows have
  /// to spare.
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
  /// The dimension of this name, ragged where the kernel's is.
  nsa::NamedDimAttr getNamedDim(llvm::StringRef name);
  /// Offsets of the batch rows in a ragged dimension, also of pooled keys.
  mlir::Value getOffsets(mlir::Attribute raggedDim);
  /// Number of batch rows of a ragged dimension of tokens.
  mlir::Value getNumRows(llvm::StringRef dim);
  /// Arithmetic at the end of the plan.
  IndexMath math() { return IndexMath(builder, getLoc()); }

  /// The name of an op with a schedule: the program's, or one that says what
  /// the op is.
  mlir::StringAttr getName(mlir::Operation *op);

  /// Ends the plan.
  void finish();

  /// The name of an input, a result, a size or a tensor in memory; null for
  /// other values of the plan.
  mlir::StringAttr findName(mlir::Value value);

  /// A name for the next program: "nsa_pool_0".
  std::string nameProgram(llvm::StringRef what);
  /// Creates a program in front of the plan.
  nsatile::ProgramOp createProgram(mlir::Location loc, llvm::StringRef what,
                                   nsatile::ScheduleAttr schedule);

private:
  /// Creates workspace of these dimensions. It has a slice's tokens if `tensor`
  /// is in slices.
  mlir::Value createBuffer(llvm::ArrayRef<mlir::Attribute> dims,
                           mlir::Type elementType, mlir::Value tensor);
  /// Type of a buffer, in which elements along the caller's last dimension are
  /// neighbours.
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
  llvm::DenseMap<mlir::Value, mlir::Value> residuals, scales;
  llvm::MapVector<mlir::Attribute, mlir::Value> sizes, pooledOffsets;
  llvm::MapVector<mlir::Operation *, PartialStates> partialStates;
  std::optional<StateSlices> stateSlices, resultSlices;
  schedule::ResultSlices slicedResults;
  llvm::MapVector<std::pair<mlir::Value, int64_t>, UnionLists> unionLists;
  llvm::MapVector<std::pair<mlir::Value, int64_t>, InvertedLists> invertedLists;
  llvm::MapVector<TileKey, mlir::Value> rowsOfTiles;
  llvm::DenseMap<mlir::Operation *, mlir::StringAttr> names;
  unsigned programs = 0;
  bool buildsExact = false;
};

/// One program while it is written. It gets arguments as they are asked for.
class ProgramBuilder {
public:
  /// Creates a program that computes the code at `loc` in the kernel's text.
  ProgramBuilder(PlanBuilder &plan, mlir::Location loc, llvm::StringRef what,
                 nsatile::ScheduleAttr schedule = {});

  PlanBuilder &getPlan() { return plan; }
  nsatile::ProgramOp getProgram() { return program; }
  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() { return program.getLoc(); }

  /// The program's argument for a value of the plan.
  mlir::Value import(mlir::Value planValue);
  /// The program's value for a number, which may be a value of the plan.
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

  /// Names the ops of the kernel that the program computes in tiles of their
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

/// "[{1}, {3}, {2}]": an element of a tensor in a message. Its indices are the
/// message's values from `first` on, in the order of dimensions that the source
/// declares.
std::string describeElement(mlir::Value tensor, unsigned first);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_PLANBUILDER_H
