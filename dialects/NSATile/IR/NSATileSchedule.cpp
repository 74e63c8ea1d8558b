//===- NSATileSchedule.cpp - Schedules of ops and programs ----------------===//

#include "NSATile/IR/NSATileDialect.h"
#include "NSATile/IR/NSATileOps.h"
#include <algorithm>

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr int64_t kMost = 1 << 16;

LogicalResult ScheduleAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, LoopOrder order,
    int64_t tokens, int64_t keys, int64_t splits, int64_t mergeTokens,
    int64_t mergeHeads, int64_t chunk, int64_t part, int64_t channels,
    ProgramUse, SelectMethod, Halo, int64_t warps, int64_t blocksPerSM,
    int64_t stages, int64_t queryStages, Switch, int64_t columnsInRegisters,
    SoftmaxOrder, Rescale, GridOrder, Switch, int64_t exactTokens,
    int64_t exactKeys) {
  if (tokens < 1)
    return emitError() << "expected a query tile of at least 1 token, found "
                       << tokens;
  if (keys < 1)
    return emitError() << "expected a key tile of at least 1 key, found "
                       << keys;
  if (int64_t largest =
          std::max({tokens, keys, splits, mergeTokens, stages, queryStages});
      largest > kMost)
    return emitError() << "expected no more than " << kMost
                       << " tokens, keys, splits and stages, found " << largest;
  bool countsSplits =
      order == LoopOrder::QueryMajor || order == LoopOrder::Union;
  if (splits < 0 || (splits == 0 && !countsSplits))
    return emitError() << "expected at least 1 split of the keys, or under "
                          "order query_major or union 0 for as many as keep "
                          "the device busy, found "
                       << splits;
  if (splits > 1 && order == LoopOrder::BlockMajor)
    return emitError() << "expected no split of the keys under order "
                          "block_major, found "
                       << splits;
  if (mergeTokens < 0)
    return emitError() << "expected at least 1 token of the program that "
                          "merges, or 0 for as many as others have, found "
                       << mergeTokens;
  if (mergeHeads < 0)
    return emitError() << "expected at least 1 query head of the program that "
                          "merges, or 0 for all of a key head, found "
                       << mergeHeads;
  if (chunk < 0)
    return emitError() << "expected at least 1 MiB of states, or 0 for all of "
                          "them, found "
                       << chunk;
  if (part < 0 || (part > 0 && tokens % part != 0))
    return emitError() << "expected a part that divides the " << tokens
                       << " tokens, or 0 for the whole tile, found " << part;
  if (channels < 0)
    return emitError() << "expected at least 1 channel of values, or 0 for "
                          "all, found "
                       << channels;
  if (warps < 0 || warps > 32)
    return emitError() << "expected 1 to 32 warps, or 0 for the compiler's "
                          "choice, found "
                       << warps;
  if (blocksPerSM < 1 || blocksPerSM > 32)
    return emitError() << "expected 1 to 32 blocks on a multiprocessor, found "
                       << blocksPerSM;
  if (stages < 1)
    return emitError() << "expected at least 1 stage, found " << stages;
  if (queryStages < 0)
    return emitError() << "expected at least 1 stage of query tiles, or 0 for "
                          "the compiler's choice, found "
                       << queryStages;
  if (columnsInRegisters < -1)
    return emitError() << "expected 0 or more columns in registers, or -1 for "
                          "the compiler's choice, found "
                       << columnsInRegisters;
  if (exactTokens < 0 || (exactTokens > 0 && tokens % exactTokens != 0))
    return emitError() << "expected tokens of the exact program that divide "
                          "the "
                       << tokens << " tokens, or 0 for none, found "
                       << exactTokens;
  if ((exactTokens > 0) != (exactKeys > 0))
    return emitError() << "expected both tokens and keys of the exact program, "
                          "or neither, found "
                       << exactTokens << " and " << exactKeys;
  return success();
}

/// It is rarely run: lists of its own tiles aren't worth a program.
ScheduleAttr ScheduleAttr::getExact() const {
  LoopOrder order =
      getOrder() == LoopOrder::Union ? LoopOrder::QueryMajor : getOrder();
  return get(getContext(), order, getExactTokens(), getExactKeys(),
             /*splits=*/1, /*merge_tokens=*/0, /*merge_heads=*/0, getChunk(),
             /*part=*/0, getChannels(), getProgram(), getMethod(), getHalo(),
             /*warps=*/0, /*blocks_per_sm=*/1, getStages(), /*query_stages=*/0,
             Switch::Auto,
             /*columns_in_registers=*/-1, SoftmaxOrder::Auto, Rescale::Auto,
             GridOrder::Auto, getPeel(),
             /*exact_tokens=*/0, /*exact_keys=*/0);
}

ScheduleAttr ScheduleAttr::getMerging() const {
  int64_t tokens = getMergeTokens() > 0 ? getMergeTokens() : getTokens();
  return get(getContext(), getOrder(), tokens, getKeys(), getSplits(),
             getMergeTokens(), getMergeHeads(), getChunk(), /*part=*/0,
             /*channels=*/0, getProgram(), getMethod(), getHalo(),
             /*warps=*/0,
             /*blocks_per_sm=*/1, getStages(), /*query_stages=*/0, Switch::Auto,
             /*columns_in_registers=*/-1, SoftmaxOrder::Auto, Rescale::Auto,
             GridOrder::Auto, Switch::Auto, /*exact_tokens=*/0,
             /*exact_keys=*/0);
}

ScheduleAttr ScheduleAttr::inProgram(ScheduleAttr program) const {
  bool hasExact = program.getExactTokens() > 0 && getExactKeys() > 0;
  return get(
      getContext(), getOrder(), program.getTokens(), getKeys(), getSplits(),
      getMergeTokens(), getMergeHeads(), getChunk(), program.getPart(),
      program.getChannels(), getProgram(), getMethod(), getHalo(),
      program.getWarps(), program.getBlocksPerSm(), program.getStages(),
      program.getQueryStages(), program.getPingPong(),
      program.getColumnsInRegisters(), program.getSoftmax(),
      program.getRescale(), program.getGrid(), program.getPeel(),
      hasExact ? program.getExactTokens() : 0, hasExact ? getExactKeys() : 0);
}

LogicalResult
PoolScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         int64_t windows) {
  if (windows < 1 || windows > kMost)
    return emitError() << "expected 1 to " << kMost << " windows, found "
                       << windows;
  return success();
}

LogicalResult
MapScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        int64_t rows, int64_t columns, ProgramUse) {
  if (std::min(rows, columns) < 1 || std::max(rows, columns) > kMost)
    return emitError() << "expected a tile of 1 to " << kMost
                       << " rows and columns, found " << rows << " by "
                       << columns;
  return success();
}
