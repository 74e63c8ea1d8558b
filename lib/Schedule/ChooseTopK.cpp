//===- ChooseTopK.cpp - Tiles for selections ------------------------------===//

#include "Chooser.h"
#include "NSATile/IR/WarpRoles.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

namespace {

/// Number of windows that neighbouring blocks share, or the reason that none of
/// them is carried.
struct SharedWindows {
  int64_t shared;
  llvm::StringLiteral reason;
};

/// Chooses the schedule of a selection.
class TopKChooser : OpChooser {
public:
  TopKChooser(Chooser &chooser, OpChoice &choice)
      : OpChooser(chooser, choice), op(cast<TopKOp>(choice.op)),
        group(getGroup()), tiling(chooser.tile(chooser.getScope(op, group))) {}

  llvm::Error run();

private:
  /// Query heads per key head of the attentions that blocks are scored for.
  int64_t getGroup();
  void chooseMethod();
  void chooseTokens();
  void chooseBlocks();
  llvm::Error chooseSplits();
  SharedWindows findSharedWindows();
  llvm::Error chooseHalo();
  void chooseWarps();
  const Program &getProgram() const;
  int64_t getKeys();

  TopKOp op;
  int64_t group;
  Tiling tiling;
  bool usesThreshold = false;
};

} // namespace

int64_t TopKChooser::getGroup() {
  FoundShape found =
      findQueryShape(kernel, op.getImportance(), [](Value value) {
        auto made = value.getDefiningOp<ScheduleOpInterface>();
        return !value.getDefiningOp() || (made && made.isShared());
      });
  return found.shape ? found.shape->group : 1;
}

void TopKChooser::chooseMethod() {
  using nsatile::SelectMethod;
  // On a GPU, with 512 to 65536 scores a row, a threshold takes 0.06 to 0.9
  // times as long as sorting for 128 blocks, and 1.1 to 4 times as long for 64
  // where rows are many. Longer sorted lists spill. On a CPU, with 1024 to
  // 200000 scores, it is as fast for 128 blocks and 90 times as fast for 2048.
  int64_t mostSorted = goal.device ? 64 : 128;
  auto type = op.getResult().getType();
  bool isLong = static_cast<int64_t>(type.getTop()) > mostSorted;
  // A given halo=carry asks for sorted lists.
  const Setting *halo = find(Field::Halo);
  bool carries = halo && !halo->op.empty() &&
                 halo->value == static_cast<int64_t>(nsatile::Halo::Carry);
  // Given splits ask for the method that can go over parts of the blocks.
  const Setting *splits = find(Field::Splits);
  bool isSplit = splits && !splits->op.empty() && splits->value > 1;
  bool areFew = goal.queries == Queries::Few && goal.device && !carries;
  put(Field::Method,
      static_cast<int64_t>(isLong || areFew || isSplit ? SelectMethod::Threshold
                                                       : SelectMethod::Sort),
      !isLong && isSplit  ? "sorted lists aren't split"
      : !isLong && areFew ? "few query tiles leave multiprocessors idle, which "
                            "can go over parts of the blocks"
      : !isLong           ? "sorted lists of few blocks stay near"
      : goal.device ? "a threshold takes less time for so many"
                    : "each block that gets into a sorted list moves others");
  usesThreshold = choice.get(Field::Method) ==
                  static_cast<int64_t>(SelectMethod::Threshold);
}

/// Whether the scores were computed before, and stand in memory in rows.
static bool readsRows(TopKOp op) { return findImportances(op).empty(); }

/// Number of candidate lists that a program has room for beside its tiles. Each
/// list is twice as long as the selection. Programs that read rows wait for
/// memory, so three of them share a multiprocessor.
static int64_t countLists(TopKOp op) {
  constexpr int64_t keyBytes = 8;
  int64_t bytes = readsRows(op) ? 64 << 10 : 128 << 10;
  int64_t top = op.getResult().getType().getTop();
  return std::max<int64_t>(
      1, llvm::bit_floor<uint64_t>(bytes / (2 * top * keyBytes)));
}

static int64_t countSortedLists(TopKOp op, int64_t tokens, int64_t group) {
  SmallVector<ImportanceOp> found = findImportances(op);
  bool isPerQueryHead = llvm::any_of(found, [](ImportanceOp importance) {
    return importance.getHeads() == HeadReduction::None;
  });
  return tokens / static_cast<int64_t>(op.getShareTokens()) *
         (isPerQueryHead ? group : 1);
}

/// Whether a tile's lists are few and short enough for the lanes of its warps.
static bool sortsInLanes(TopKOp op, int64_t tokens, int64_t group) {
  constexpr int64_t lanes = 32, mostLists = 2 * nsatile::kGroupWarps;
  return static_cast<int64_t>(op.getResult().getType().getTop()) <= lanes &&
         countSortedLists(op, tokens, group) <= mostLists;
}

/// Blocks that a topk with sorted lists takes at a time, and its programs that
/// share a multiprocessor.
struct SortedLists {
  int64_t blocks, blocksPerSM;
  StringLiteral reason;
};

/// Lanes that hold lists take two candidates each, and need few registers.
/// Measured on an H200, 16 of 1024 blocks, 65536 tokens of 64 heads on 4, len
/// 32: 7.7 ms, where three thread blocks with one candidate for each lane take
/// 10.1 ms.
static SortedLists getSortedLists(TopKOp op, int64_t tokens, int64_t group) {
  constexpr int64_t lanes = 32;
  if (sortsInLanes(op, tokens, group))
    return {2 * lanes, 4, "each lane has two candidates for a sorted list"};
  return {32, 3, "scores and lists of more need too many registers"};
}

/// Chooses the tokens of a tile. Selecting gains nothing from a wide tile. Rows
/// that choose together are in one tile.
void TopKChooser::chooseTokens() {
  // A union's tile may have few rows, since its lists are long.
  int64_t rows = usesThreshold ? kPartRows : tiling.rows;
  const Setting *named = find(Field::Tokens);
  const Setting *all = settings.findForAll(Field::Tokens);
  int64_t tokens =
      getPartTokens(all ? all->value : toTokens(rows, group), group);
  // A tile with too many tokens is refused where a target's limits are known.
  int64_t most = getInfo(Field::Tokens).most,
          share = std::min<int64_t>(op.getShareTokens(), most),
          listed = countLists(op) * share;
  if (named && !named->op.empty())
    put(Field::Tokens, named->value, "given");
  else if (usesThreshold && listed < tokens)
    choice.set(Field::Tokens, listed,
               "as many as lists of candidates have room");
  else
    choice.set(Field::Tokens, tokens,
               "at most 64 rows: selecting gains nothing from more");
  if (choice.get(Field::Tokens) % share != 0)
    choice.set(
        Field::Tokens,
        std::min<int64_t>(llvm::alignTo(choice.get(Field::Tokens), share),
                          llvm::alignDown(most, share)),
        Twine(share) + " tokens share a selection");
}

/// Called after the tokens are chosen.
void TopKChooser::chooseBlocks() {
  const Setting *keys = settings.findForAll(Field::Keys);
  if (keys)
    return put(Field::Blocks, keys->value, "as many as an attend has keys");
  if (usesThreshold && readsRows(op)) {
    constexpr int64_t elements = 2048, least = 64, most = 1024;
    int64_t lists = choice.get(Field::Tokens) / op.getShareTokens();
    return put(Field::Blocks,
               std::clamp<int64_t>(llvm::bit_floor<uint64_t>(
                                       elements / std::max<int64_t>(1, lists)),
                                   least, most),
               "long rows of memory, as few are loaded at a time");
  }
  SortedLists lists = getSortedLists(op, choice.get(Field::Tokens), group);
  bool areMore = goal.device && goal.device->code.hasWarpgroupProducts &&
                 tiling.keys > lists.blocks && !usesThreshold;
  put(Field::Blocks, areMore ? lists.blocks : tiling.keys,
      areMore ? StringRef(lists.reason) : "as many as an attend has keys");
}

/// The program that computes a topk.
const Program &TopKChooser::getProgram() const {
  return *llvm::find_if(
      chooser.getCut().getPrograms(), [&](const Program &program) {
        return program.what == "select" && program.ops.contains(op);
      });
}

/// Number of windows of pooled keys that a topk's blocks share with the blocks
/// in front of them, or the reason that none of them is carried.
SharedWindows TopKChooser::findSharedWindows() {
  // Each carried window adds code. Loops over many entries of a block check
  // which of them exist, which carried windows don't allow.
  constexpr int64_t most = 8, manyEntries = 1024;
  if (usesThreshold)
    return {0, "parts of the blocks are in any order"};
  if (static_cast<int64_t>(op.getShareHeads()) > group)
    return {0, "tiles of several key heads are gone over side by side"};
  SharedWindows windows = {0, "no window is of two blocks"};
  for (Operation *each : getProgram().ops) {
    auto blocks = dyn_cast<BlocksOp>(each);
    if (!blocks)
      continue;
    PooledDimAttr pooled = blocks.getPooledDim();
    int64_t block = blocks.getBlock(), stride = pooled.getStride(),
            shared = blocks.getNumSharedEntries();
    if (block % stride != 0)
      return {0, "a stride doesn't divide the blocks"};
    if (shared > 0 && pooled.getFirstStart() < 0)
      windows.reason = "windows begin in front of the first block";
    else if (shared * stride > block)
      windows.reason = "windows reach over more than two blocks";
    else if (block / stride >= manyEntries)
      windows.reason = "a block's windows may be more than there are";
    else
      windows.shared += shared;
  }
  return windows.shared <= most
             ? windows
             : SharedWindows{0, "more than 8 windows are of two blocks"};
}

/// Called after the tokens and the method are chosen.
llvm::Error TopKChooser::chooseHalo() {
  constexpr auto recompute = static_cast<int64_t>(nsatile::Halo::Recompute),
                 carry = static_cast<int64_t>(nsatile::Halo::Carry);
  SharedWindows windows = findSharedWindows();
  int64_t tokens = choice.get(Field::Tokens);
  // Lanes keep two values for each window of each list: 8 registers at most.
  constexpr int64_t mostKept = 16;
  bool haveRoom =
      !goal.device ||
      (sortsInLanes(op, tokens, group) &&
       windows.shared * countSortedLists(op, tokens, group) <= mostKept);
  put(Field::Halo, windows.shared > 0 && haveRoom ? carry : recompute,
      windows.shared == 0 ? StringRef(windows.reason)
      : haveRoom ? "a window that two blocks share is scored once"
                 : "a tile has more lists than lanes keep windows for");
  if (choice.get(Field::Halo) == recompute || windows.shared > 0)
    return llvm::Error::success();
  const Setting *given = find(Field::Halo);
  if (usesThreshold && !given->op.empty())
    return settings.explain(given->column,
                            "'" + choice.name +
                                "' goes over parts of its blocks, which have "
                                "none in front: expected method=sort");
  choice.set(Field::Halo, recompute, windows.reason);
  return llvm::Error::success();
}

/// Most keys of a step in which a topk's program attends, for a log-sum-exp; 0
/// where it doesn't attend.
int64_t TopKChooser::getKeys() {
  int64_t most = 0;
  for (Operation *each : getProgram().ops) {
    auto attend = dyn_cast<ScoringOpInterface>(each);
    if (!attend || !attend.getValue())
      continue;
    const Setting *given = chooser.findOwn(each, Field::Keys);
    most = std::max(most, given ? given->value : tiling.keys);
  }
  return most;
}

/// Chooses a topk's stages, warps and blocks_per_sm. Its warps follow from its
/// rows.
void TopKChooser::chooseWarps() {
  int64_t tokens = choice.get(Field::Tokens);
  put(Field::Stages, 2, "a step's loads run during the step before");
  bool fills = goal.device->code.hasWarpgroupProducts &&
               fillsWarpgroup(kernel, op, tokens, group, usesThreshold);
  auto putOwn = [&](Field field, int64_t chosen, const Twine &reason) {
    const Setting *own = find(field);
    bool isGiven = own && !own->op.empty();
    choice.set(field, isGiven ? own->value : chosen,
               isGiven ? Twine("given") : reason);
  };
  // Each list has a warp where there are fewer rows than these warps take.
  constexpr int64_t rowsOfWarp = 16;
  int64_t lists = std::max<int64_t>(1, tokens / op.getShareTokens());
  int64_t warps = std::min<int64_t>(lists, nsatile::kGroupWarps);
  bool hasFewRows =
      usesThreshold && !readsRows(op) && tokens * group < rowsOfWarp * warps;
  putOwn(Field::Warps,
         fills        ? nsatile::kGroupWarps
         : hasFewRows ? warps
                      : 0,
         fills        ? "rows fill the products of a warpgroup"
         : hasFewRows ? "a warp has a list of candidates"
                      : "by the rows of the program's products");
  // Only tiles as chosen leave room for other blocks of a multiprocessor.
  SortedLists sorted = getSortedLists(op, tokens, group);
  bool isChosen = fills && choice.get(Field::Warps) == nsatile::kGroupWarps &&
                  choice.get(Field::Blocks) <= sorted.blocks &&
                  !usesThreshold && !find(Field::Stages);
  constexpr int64_t usualBlocks = 64;
  bool hasShortLists = usesThreshold && fills && countLists(op) > 3 * lists &&
                       choice.get(Field::Blocks) <= usualBlocks;
  // A step with more keys takes twice the registers for its sums.
  constexpr int64_t usualKeys = 64;
  int64_t mostBlocks = getKeys() > usualKeys ? 2 : 32;
  putOwn(Field::BlocksPerSM,
         isChosen        ? std::min(sorted.blocksPerSM, mostBlocks)
         : hasShortLists ? 2
                         : 1,
         isChosen        ? "steps of one block run during others' exponentials "
                           "and lists"
         : hasShortLists ? "lists of two blocks have room"
                         : "a block has all registers");
}

/// Leaves the splits open where a call's sizes tell whether lists of parts are
/// worth it.
llvm::Error TopKChooser::chooseSplits() {
  bool isOpen = goal.device && usesThreshold;
  put(Field::Splits, isOpen ? 0 : 1,
      isOpen ? "few query tiles leave multiprocessors idle"
             : "the blocks in one");
  const Setting *splits = find(Field::Splits);
  int64_t count = choice.get(Field::Splits);
  if (count > 1 && !usesThreshold && !splits->op.empty())
    return settings.explain(splits->column,
                            "'" + choice.name +
                                "' sorts lists, which aren't split: expected "
                                "method=threshold");
  if (!usesThreshold)
    choice.set(Field::Splits, 1, "sorted lists aren't split");
  else if (count == 0 && !goal.device)
    choice.set(Field::Splits, 1, "a CPU's threads take query tiles");
  return llvm::Error::success();
}

llvm::Error TopKChooser::run() {
  chooseMethod();
  chooseTokens();
  chooseBlocks();
  if (llvm::Error error = chooseSplits())
    return error;
  chooser.chooseProgram(choice);
  chooser.choosePart(choice, group, /*warps=*/0);
  if (llvm::Error error = chooseHalo())
    return error;
  if (goal.device)
    chooseWarps();
  return llvm::Error::success();
}

llvm::Error schedule::chooseTopK(Chooser &chooser, OpChoice &choice) {
  return TopKChooser(chooser, choice).run();
}
