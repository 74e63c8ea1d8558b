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

/// The states of an inverted selection (PartialStates) are computed and merged
/// in slices of batch rows, key heads and tokens, in a loop of the plan, so
/// that those of one slice stand in memory at a time. So are results of
/// attentions with programs of their own (schedule::ResultSlices), in slices of
/// batch rows and tokens.
struct StateSlices {
  /// Tokens of a chunk of lists; a slice of states has whole ones.
  static constexpr int64_t chunkTokens = 1024;

  /// Null where all states stand in memory: there is one slice.
  nsatile::RepeatOp repeat = {};
  /// Whether a program merges states in the loop.
  bool isMerged = false;

  /// Of a slice, at most; numbers of the plan. Ragged rows aren't cut, but
  /// their heads are: `rows`, `chunks` and what says where they begin are null.
  /// Of results, heads aren't cut: what says something of them is null.
  mlir::Value rows = {}, heads = {}, queryHeads = {}, chunks = {}, tokens;
  /// Slices of the tokens of a batch row; null for ragged ones.
  mlir::Value tokenSlices = {};

  /// Where a slice begins: numbers of the loop.
  mlir::Value firstRow = {}, firstHead = {}, firstQueryHead = {},
              tokenSlice = {}, firstToken = {};
  /// The batch rows and, of results, the tokens of each from there on.
  mlir::Value rowsLeft = {}, tokensLeft = {};

  /// Bytes of a slice, but for one that can't be cut: of one batch row, one key
  /// head and `leastTokens`, a multiple of the tiles' tokens.
  int64_t mostBytes, leastTokens = chunkTokens;
  /// Tokens of a key head whose states have so many bytes, in the plan.
  mlir::arith::ConstantOp mostTokens;

  /// Tells how large the states of a key head's token are.
  void setBytes(int64_t bytesOfToken);
};

/// Slices of `mostBytes` for all tokens of `shape`. With each of them, a query
/// tile begins, whichever of `tileTokens` it has.
StateSlices createSlices(PlanBuilder &plan, const QueryShape &shape,
                         int64_t mostBytes, llvm::ArrayRef<int64_t> tileTokens);

/// Slices of at most `mostTokens` tokens of all their batch rows together, but
/// for one that can't be cut: of one batch row, and as many tokens as all of
/// `tileTokens` divide.
StateSlices createResultSlices(PlanBuilder &plan, const QueryDims &dims,
                               int64_t mostTokens,
                               llvm::ArrayRef<int64_t> tileTokens);

/// Launches a program in the loop, for each of the slice's batch rows `z` times
/// along z (null: once).
void launch(ProgramBuilder &program, StateSlices &slices, mlir::Value x,
            mlir::Value y, mlir::Value z);

/// A number of the loop.
mlir::Value computeInLoop(PlanBuilder &plan, const StateSlices &slices,
                          llvm::function_ref<mlir::Value(IndexMath)> compute);

/// Whether the next program, with tiles of so many tokens, may merge the states
/// in the loop: what was launched behind the loop, it may need to read.
bool canMergeNext(const StateSlices &slices, int64_t tileTokens);

/// All states stand in memory at once.
void joinSlices(PlanBuilder &plan, StateSlices &slices);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_STATESLICES_H
