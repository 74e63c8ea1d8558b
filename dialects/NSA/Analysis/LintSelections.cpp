//===- LintSelections.cpp - Selections that are most likely a mistake -----===//

#include "NSA/Analysis/LintChecks.h"
#include "NSA/Analysis/ScalarTrial.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace nsacc::nsa;

static PooledDimAttr getWindows(ImportanceOp importance) {
  auto key = cast<NamedTensorType>(importance.getKey().getType());
  return cast<PooledDimAttr>(key.getDims()[key.getRank() - 3]);
}

/// Whether an importance excludes windows that begin after a query.
static bool isCausal(ImportanceOp importance) {
  constexpr int64_t queries[] = {3 << 14, 100'003}, near = 1, far = 1 << 20,
                    count = 32;
  if (importance.getMask().empty())
    return false;
  MaskTrial mask(importance.getMask(), /*place=*/0);
  for (int64_t query : queries)
    for (int64_t distance : {near, far})
      for (int64_t key = 0; key < count; ++key)
        if (mask.isVisible(query,
                           findKey(getWindows(importance), query, distance) +
                               key) != false)
          return false;
  return true;
}

/// Whether it includes a window that holds `query` and the next token.
static bool showsOwn(ImportanceOp importance, int64_t query) {
  PooledDimAttr windows = getWindows(importance);
  int64_t window = (query - windows.getFirstStart()) / windows.getStride();
  int64_t end =
      windows.getFirstStart() + window * windows.getStride() + windows.getLen();
  return end > query + 1 &&
         MaskTrial(importance.getMask(), /*place=*/0)
                 .isVisible(query, window + windows.getMemory()) == true;
}

/// Whether an importance includes windows soon after a query, and long after
/// it.
static bool countsLater(ImportanceOp importance) {
  constexpr int64_t query = 3 << 14, near = 1, far = 1 << 14;
  MaskTrial mask(importance.getMask(), /*place=*/0);
  return llvm::all_of(ArrayRef{near, far}, [&](int64_t distance) {
    return mask.isVisible(
               query, findKey(getWindows(importance), query, distance)) == true;
  });
}

/// Whether an importance includes a window that holds tokens on both sides of a
/// query, and so decides about a block that isn't kept anyway.
static bool countsRest(ImportanceOp importance, TopKOp topk, int64_t query) {
  PooledDimAttr windows = getWindows(importance);
  int64_t block = cast<SelectionType>(topk.getType()).getBlock(),
          own = query / block, kept = topk.getLast();
  MaskTrial mask(importance.getMask(), /*place=*/0),
      chosen(topk.getMask(), /*place=*/0);
  auto isDecided = [&](int64_t at) {
    bool isKept = at <= own && at > own - kept;
    return !isKept && chosen.isVisible(query, at) == true;
  };
  int64_t last = (query - windows.getFirstStart()) / windows.getStride() +
                 windows.getMemory();
  for (int64_t window = last; window >= windows.getMemory(); --window) {
    int64_t end = windows.getEnd(window);
    if (end <= query + 1)
      return false;
    int64_t first = windows.getStart(window) / block;
    if (mask.isVisible(query, window) == true &&
        llvm::any_of(llvm::seq_inclusive(first, (end - 1) / block), isDecided))
      return true;
  }
  return false;
}

/// Warns of a causal attention's selection that depends on later tokens.
static void checkGistFuture(AttendOp attend, TopKOp topk, Location place,
                            LintReport &report) {
  SmallVector<ImportanceOp> importances = findImportances(topk);
  if (importances.empty())
    return;
  constexpr int64_t query = 3 << 14, odd = 100'003, far = 1 << 14;
  MaskTrial shown(attend.getMask(), /*place=*/0),
      chosen(topk.getMask(), /*place=*/0);
  bool isCausal = shown.isVisible(query, query) == true &&
                  shown.isVisible(query, query + 1) == false &&
                  shown.isVisible(query, query + far) == false;
  if (!isCausal)
    return;
  int64_t block = cast<SelectionType>(topk.getType()).getBlock();
  std::string base = getWindows(importances.front()).getBase().str();
  if (llvm::all_of(importances, countsLater)) {
    if (chosen.isVisible(query, (query + far) / block) == true)
      report
          .warning(place, "the importance of this selection counts keys after "
                          "a query, though the attention's mask hides them: "
                          "later tokens choose the blocks")
          .note("give the attend of the importance a mask, too: 'where end(j) "
                "<= i'; if later keys are meant to choose, 'where start(j) < " +
                base + "'");
    return;
  }
  if (llvm::none_of(importances, [&](ImportanceOp importance) {
        return countsRest(importance, topk, query) ||
               countsRest(importance, topk, odd);
      }))
    return;
  report
      .warning(place, "the importance of this selection counts windows that "
                      "hold tokens after a query, though the attention's mask "
                      "hides them: later tokens choose the blocks")
      .note("'where end(j) <= i' counts windows behind the query, and 'keep "
            "last 1' its own block; if later tokens are meant to choose, add "
            "'and start(j) < " +
            base + "'");
}

/// Warns of a causal selection that shows later tokens of a query's block.
static void checkOwnBlock(AttendOp attend, TopKOp topk, Location place,
                          LintReport &report) {
  int64_t block = cast<SelectionType>(topk.getType()).getBlock();
  SmallVector<ImportanceOp> importances = findImportances(topk);
  if (block < 2 || importances.empty() || !llvm::all_of(importances, isCausal))
    return;
  MaskTrial shown(attend.getMask(), /*place=*/0),
      chosen(topk.getMask(), /*place=*/0);
  // The first query of a distant block, and the first query of all.
  int64_t far = (3 << 14) / block * block;
  auto isLeak = [&](int64_t query) {
    return shown.isVisible(query, query + 1) == true &&
           chosen.isVisible(query, query / block) != false;
  };
  bool showsFar =
      isLeak(far) &&
      (topk.getLast() > 0 ||
       llvm::any_of(importances, [&](auto one) { return showsOwn(one, far); }));
  if (!showsFar && !(topk.getFirst() > 0 && isLeak(0)))
    return;
  report
      .warning(place,
               "this selection holds a query's own block, whose later tokens "
               "it sees, too, though the importance is causal")
      .note("add 'where j <= i'; if later tokens are meant, 'where j < " +
            toString(SequenceDims(attend.getKey()).tokens) + "'");
}

void nsacc::nsa::lintSelection(AttendOp attend, LintReport &report) {
  Value selection = attend.getSelection();
  if (!selection)
    return;
  Location place = getOperandPlace(attend, 0, selection);
  for (Value part : getParts(selection))
    if (auto topk = part.getDefiningOp<TopKOp>()) {
      checkOwnBlock(attend, topk, place, report);
      checkGistFuture(attend, topk, place, report);
    }
}
