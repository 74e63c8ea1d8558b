//===- StateSlices.h - States that stand in memory in parts -----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_STATESLICES_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_STATESLICES_H

#include "IndexMath.h"
#include "NSATile/IR/NSATileOps.h"

namespace nsacc {

class PlanBuilder;
class ProgramBuilder;
struct QueryDims;
struct QueryShape;

/// Slices of batch rows, key heads and tokens, in which the states of an
/// inverted selection (PartialStates) are computed and merged. A loop of the
/// plan goes over them, so that the states of one slice stand in memory at a
/// time. Results of attentions with their own programs (schedule::ResultSlices)
/// have slices of batch rows and tokens.
struct StateSlices {
  /// Tokens of a chunk of lists. A slice of states has whole chunks.
  static constexpr int64_t chunkTokens = 1024;

  /// Null where all states stand in memory, in one slice.
  nsatile::RepeatOp repeat = {};
  /// Whether a program merges states in the loop.
  bool isMerged = false;

  /// Greatest sizes of a slice, as numbers of the plan. Ragged rows aren't cut,
  /// but their heads are: `rows`, `chunks` and the begin of rows and tokens are
  /// null. Heads aren't cut for results: all fields about them are null.
  mlir::Value rows = {}, heads = {}, queryHeads = {}, chunks = {}, tokens;
  /// Number of slices of a batch row's tokens; null for ragged rows.
  mlir::Value tokenSlices = {};

  /// Begin of a slice, as numbers of the loop.
  mlir::Value firstRow = {}, firstHead = {}, firstQueryHead = {},
              tokenSlice = {}, firstToken = {};
  /// Batch rows from there on and, for results, tokens of each from there on.
  mlir::Value rowsLeft = {}, tokensLeft = {};

  /// Most bytes of a slice, unless it can't be cut: it has one batch row, one
  /// key head and `leastTokens` tokens, a multiple of the tiles' tokens.
  int64_t mostBytes, leastTokens = chunkTokens;
  /// Tokens of a key head whose states have so many bytes, in the plan.
  mlir::arith::ConstantOp mostTokens;

  /// Sets the size of the states of a key head's token.
  void setBytes(int64_t bytesOfToken);
};

/// Slices of `mostBytes` for all tokens of `shape`. A query tile begins with
/// each slice, whichever of `tileTokens` it has.
StateSlices createSlices(PlanBuilder &plan, const QueryShape &shape,
                         int64_t mostBytes, llvm::ArrayRef<int64_t> tileTokens);

/// Slices of at most `mostTokens` tokens, added up over a slice's batch rows.
/// The smallest slice has one batch row and the least common multiple of
/// `tileTokens`, even if that is more.
StateSlices createResultSlices(PlanBuilder &plan, const QueryDims &dims,
                               int64_t mostTokens,
                               llvm::ArrayRef<int64_t> tileTokens);

/// Launches a program in the loop, `z` times along z for each of the slice's
/// batch rows. Null for once.
void launch(ProgramBuilder &program, StateSlices &slices, mlir::Value x,
            mlir::Value y, mlir::Value z);

/// Computes a number of the loop.
mlir::Value computeInLoop(PlanBuilder &plan, const StateSlices &slices,
                          llvm::function_ref<mlir::Value(IndexMath)> compute);

/// Whether the next program, with tiles of `tileTokens` tokens, may merge the
/// states in the loop. It can't if programs were launched behind the loop,
/// whose results it may read.
bool canMergeNext(const StateSlices &slices, int64_t tileTokens);

/// Keeps all states in memory at once, without a loop.
void joinSlices(PlanBuilder &plan, StateSlices &slices);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_STATESLICES_H
