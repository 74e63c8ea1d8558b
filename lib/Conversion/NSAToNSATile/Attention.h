//===- Attention.h - The loops of one attention -----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_ATTENTION_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_ATTENTION_H

#include "AttendTiles.h"
#include "QueryProgram.h"

namespace nsacc {

/// The loops of one attention. The state that they carry is, per row, for
/// softmax (max, sum, accumulator), for other weights (accumulator, and, if a
/// normaliser asks for them, the sum of weights, the number of visible keys and
/// the number of those whose score isn't -inf).
class Attention {
public:
  using State = llvm::SmallVector<mlir::Value>;

  Attention(ProgramBuilder &program, const QueryTile &tile, nsa::AttendOp op,
            nsatile::ScheduleAttr schedule, bool onlyLse);

  AttendTiles run();
  /// The same from what key-major programs left.
  AttendTiles merge(const PartialStates &partial);
  /// Of values, also where a tile has some of them.
  int64_t getChannels() const { return allChannels; }
  /// One tile of keys of a key-major program: loads, changes and stores the
  /// state of `split`.
  void updatePartial(const PartialStates &partial, mlir::Value split,
                     mlir::Value unit);
  void storeState(const PartialStates &partial, mlir::Value split,
                  mlir::ValueRange state);
  /// What the rows make of one part of the keys.
  State foldPart(const KeyPart &part);
  /// What they make of a block of the selection; of nothing where none of them
  /// exist.
  State foldBlock(mlir::Value block, mlir::Value exists);
  /// A state as it stands in memory: sums of bf16 values as halves, with a
  /// scale for each row behind them.
  State packState(mlir::ValueRange state);

  State getInitialState(int64_t rows);

private:
  State fold(const QueryRows &rows);
  State foldKeys(const QueryRows &rows);
  State foldParts(const QueryRows &rows);
  State foldSelected(const QueryRows &rows);
  State foldBlocks(const QueryRows &rows);
  State foldUnion(const QueryRows &rows, const UnionLists &lists);
  /// A fold over the tiles of a domain, from `initial` on; empty: from no key.
  /// `words` are those of an entry of a list with members.
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
  /// Rows that share a selection: those of a token, or a single one.
  int64_t getUnitRows();
  mlir::Value getToken(mlir::Value unit);
  mlir::Value getExistingTokens();
  /// Units of existing tokens.
  mlir::Value countUnits();
  State
  forEachUnit(mlir::ValueRange initial,
              llvm::function_ref<State(mlir::Value, mlir::ValueRange)> body);
  /// What `then` makes of the state, if the condition holds.
  State when(mlir::Value condition, mlir::ValueRange state,
             llvm::function_ref<State()> then);
  /// The tiles of selected blocks.
  KeyTiling getBlockTiling();
  /// Pieces of a block that parts of a list may begin with.
  int64_t getPieces(int64_t keys);
  State insertState(mlir::ValueRange part, mlir::ValueRange whole,
                    mlir::Value firstRow);
  /// Which units of the tile selected a block: 1 or 0, tensor<U x f32>.
  mlir::Value getSelectingUnits(mlir::Value selection, mlir::Value block);
  /// The same of some units, whose entries these are.
  mlir::Value compareEntries(mlir::Value selection, mlir::Value block);
  /// Whether any of what getSelectingUnits gave is 1, and which are, tensor<U x
  /// i1>.
  mlir::Value isAny(mlir::Value selecting);
  mlir::Value isSet(mlir::Value selecting);

  /// Of a softmax's rows: maximum, sum, accumulator.
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
  /// Of values, and those of them that the tile has.
  int64_t allChannels, channels;
  /// None: all keys.
  std::optional<KeyPart> part;
};

/// Buffers for what programs over parts of the keys leave, with so many
/// channels where a state has some.
PartialStates allocatePartialStates(PlanBuilder &plan, const QueryDims &dims,
                                    mlir::OpFoldResult splits,
                                    llvm::ArrayRef<mlir::Value> state,
                                    int64_t channels);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_ATTENTION_H
