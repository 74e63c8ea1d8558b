//===- Attention.h - The loops of one attention -----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_ATTENTION_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_ATTENTION_H

#include "AttendTiles.h"
#include "QueryProgram.h"

namespace nsacc {

/// The loops of one attention. They carry a state for each row. For softmax, it
/// is (max, sum, accumulator). For other weights, it is the accumulator and, if
/// a normaliser asks for them, the sum of weights, the number of visible keys
/// and the number of keys with a score other than -inf.
class Attention {
public:
  using State = llvm::SmallVector<mlir::Value>;

  Attention(ProgramBuilder &program, const QueryTile &tile, nsa::AttendOp op,
            nsatile::ScheduleAttr schedule, bool onlyLse);

  AttendTiles run();
  /// Computes the results from the states that other programs left.
  AttendTiles merge(const PartialStates &partial);
  /// All channels of values, also where the tile has a slice of them.
  int64_t getChannels() const { return allChannels; }
  /// Computes one tile of keys of a key-major program: loads, changes and
  /// stores the state of `split`.
  void updatePartial(const PartialStates &partial, mlir::Value split,
                     mlir::Value unit);
  void storeState(const PartialStates &partial, mlir::Value split,
                  mlir::ValueRange state);
  /// The rows' state after one part of the keys.
  State foldPart(const KeyPart &part);
  /// The rows' state after a block of the selection; the initial state if
  /// `exists` is false.
  State foldBlock(mlir::Value block, mlir::Value exists);
  /// Brings a state to its form in memory: sums of bf16 values are halves, with
  /// a scale for each row behind them.
  State packState(mlir::ValueRange state);

  State getInitialState(int64_t rows);

private:
  State fold(const QueryRows &rows);
  State foldKeys(const QueryRows &rows);
  State foldParts(const QueryRows &rows);
  State foldSelected(const QueryRows &rows);
  State foldBlocks(const QueryRows &rows);
  State foldUnion(const QueryRows &rows, const UnionLists &lists);
  /// A fold over the tiles of a domain, from `initial` on. An empty `initial`
  /// is the state without any key. `words` are the words of an entry of a list
  /// with members.
  using GetKeys =
      llvm::function_ref<KeyTile(mlir::Value number, mlir::ValueRange words)>;
  State foldTiles(const QueryRows &rows, const nsatile::FoldDomain &domain,
                  mlir::ValueRange initial, GetKeys getKeys);
  void yieldScores(const QueryRows &rows, const KeyTile &keys);
  State stepWeights(const QueryRows &rows, const KeyTile &keys,
                    mlir::ValueRange state);
  AttendTiles finish(const QueryRows &rows, mlir::ValueRange state);
  AttendTiles finishSoftmax(const QueryRows &rows, mlir::ValueRange state);
  mlir::Value finishWeights(const QueryRows &rows, mlir::ValueRange state);
  State loadState(const PartialStates &partial, mlir::Value split);
  State loadEntry(const PartialStates &partial, mlir::Value entry);
  State mergeStates(mlir::ValueRange lhs, mlir::ValueRange rhs);
  /// Merges the states of splits [first, end) with `state`, `count` at a time.
  State mergeSplits(const PartialStates &partial, mlir::ValueRange state,
                    mlir::Value first, mlir::Value end, int64_t count);

  nsa::SelectionType getSelectionType() {
    return mlir::cast<nsa::SelectionType>(op.getSelection().getType());
  }
  bool selectsPerQueryHead() {
    return isPerQueryHead(getSelectionType(), tile.dims, tile.group);
  }
  /// Number of rows that share a selection: a token's rows, or a single one.
  int64_t getUnitRows();
  mlir::Value getToken(mlir::Value unit);
  mlir::Value getExistingTokens();
  /// Number of units of existing tokens.
  mlir::Value countUnits();
  State
  forEachUnit(mlir::ValueRange initial,
              llvm::function_ref<State(mlir::Value, mlir::ValueRange)> body);
  /// Returns the state that `then` computes if the condition holds, else
  /// `state`.
  State when(mlir::Value condition, mlir::ValueRange state,
             llvm::function_ref<State()> then);
  /// Tiles of selected blocks.
  KeyTiling getBlockTiling();
  /// Number of pieces of a block at which parts of a list may begin.
  int64_t getPieces(int64_t keys);
  State insertState(mlir::ValueRange part, mlir::ValueRange whole,
                    mlir::Value firstRow);
  /// Marks the tile's units that selected a block: 1 or 0, tensor<U x f32>.
  mlir::Value getSelectingUnits(mlir::Value selection, mlir::Value block);
  /// Marks units by their entries, given in `selection`.
  mlir::Value compareEntries(mlir::Value selection, mlir::Value block);
  /// Whether any of the units is marked, and whether each is, tensor<U x i1>.
  mlir::Value isAny(mlir::Value selecting);
  mlir::Value isSet(mlir::Value selecting);

  /// Types of a softmax's state: maximum, sum, accumulator.
  llvm::SmallVector<mlir::Type> getStateTypes(int64_t rows);
  mlir::Value accumulate(mlir::Value weights, mlir::Value scores,
                         const KeyTile &keys, mlir::Value acc);
  mlir::Value loadValues(const KeyTile &keys);
  mlir::Value takesPart(mlir::Value scores);
  bool isNormalized() { return !op.getNormalize().empty(); }

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const QueryTile &tile;
  nsa::AttendOp op;
  nsatile::ScheduleAttr schedule;
  bool onlyLse;
  Scorer scorer;
  /// Channels of values, and channels that the tile has.
  int64_t allChannels, channels;
  /// None for all keys.
  std::optional<KeyPart> part;
};

/// Allocates buffers for the states that programs over parts of the keys leave.
/// States with channels have `channels` of them.
PartialStates allocatePartialStates(PlanBuilder &plan, const QueryDims &dims,
                                    mlir::OpFoldResult splits,
                                    llvm::ArrayRef<mlir::Value> state,
                                    int64_t channels);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_ATTENTION_H
