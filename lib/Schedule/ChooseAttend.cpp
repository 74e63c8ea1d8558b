//===- ChooseAttend.cpp - Schedules of attentions -------------------------===//

#include "Chooser.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;
using nsatile::LoopOrder;

namespace {

/// Chooses the schedule of an op that sums values over keys.
class AttendChooser : OpChooser {
public:
  AttendChooser(Chooser &chooser, OpChoice &choice)
      : OpChooser(chooser, choice), op(cast<ScoringOpInterface>(choice.op)),
        group(getQueryShape(kernel, op).group),
        scope(chooser.getScope(op, chooseHeads())), tiling(chooser.tile(scope)),
        order(chooser.getOrder(op)) {}

  llvm::Error run();

private:
  /// Chooses the query heads of a tile and returns their number.
  int64_t chooseHeads();
  llvm::Error chooseOrder();
  llvm::Error chooseSplits();
  void chooseMergeHeads();
  void chooseChannels();
  void choosePeel();
  void chooseExact();

  ScoringOpInterface op;
  /// Query heads of a key head; the scope has those of a tile.
  int64_t group;
  Scope scope;
  Tiling tiling;
  LoopOrder order;
};

} // namespace

/// Number of a pair's instructions beside which products and masks take little
/// time.
static constexpr int64_t kLongPair = 256;

/// Chooses whether the copies of a step are apart. Each copy has the scalar
/// code of all of a thread's pairs.
void AttendChooser::choosePeel() {
  int64_t count = countPairInstructions(scope);
  put(Field::Peel,
      static_cast<int64_t>(count < kLongPair ? nsatile::Switch::Auto
                                             : nsatile::Switch::Off),
      count < kLongPair
          ? Twine("products overlap, and masks are apart")
          : "a pair's scalar code is long (" + Twine(count) + " instructions)");
}

/// Chooses smaller tiles of the same rows. Registers hold them along with the
/// values that products need to check each pair. Tokens that walk their blocks
/// one by one have another state beside the tile's.
void AttendChooser::chooseExact() {
  int64_t tokens = choice.get(Field::Tokens);
  bool walks = chooser.getOrder(scope) == LoopOrder::Union;
  bool isWide = walks && hasWideLists(op);
  bool cutsLists = walks && choice.get(Field::Splits) != 1;
  put(Field::ExactTokens,
      cutsLists || isWide ? tokens : kPartRows / scope.group,
      cutsLists ? "parts of a list are of one tile"
      : isWide  ? "a list that is so wide is united for one tile"
                : "64 rows, with what looks at each pair, fit the registers");
  choice.lowerToDivisor(Field::ExactTokens, tokens);
  bool isLong = countPairInstructions(scope) >= kLongPair;
  put(Field::ExactKeys,
      std::min<int64_t>(choice.get(Field::Keys), walks || isLong ? 16 : 32),
      walks    ? "walks of single tokens have a state beside the tile's"
      : isLong ? "a pair's scalar code is long"
               : "fits the registers with what looks at each pair");
}

/// Chooses the number of splits, and how their states are merged. Few queries
/// leave most of a GPU idle, so their keys are split. Merging tiles have few
/// rows, whose loads are short.
llvm::Error AttendChooser::chooseSplits() {
  bool walksRanges = order == LoopOrder::QueryMajor && !op.getSelection();
  bool walksList = order == LoopOrder::Union && op.getSelection();
  bool hasParts = walksRanges || walksList;
  bool areFew = goal.queries == Queries::Few && goal.device && hasParts;
  put(Field::Splits, areFew ? 0 : 1,
      areFew ? "few query tiles leave multiprocessors idle"
             : "the keys in one");
  const Setting *splits = find(Field::Splits);
  int64_t count = choice.get(Field::Splits);
  bool isInverted = order == LoopOrder::KeyMajor && op.getSelection();
  bool isSplit =
      hasParts || (order == LoopOrder::KeyMajor && !op.getSelection());
  if (count > 1 && !isSplit && !splits->op.empty())
    return settings.explain(
        splits->column, "'" + choice.name +
                            "' walks the blocks of a selection with order=" +
                            stringifyLoopOrder(order) + ", which aren't split");
  if (!isSplit)
    choice.set(Field::Splits, 1, "the blocks of a selection aren't split");
  else if (count == 0 && !goal.device)
    choice.set(Field::Splits, 1, "a CPU's threads take query tiles");
  else if (count == 0 && !hasParts)
    choice.set(Field::Splits, 1, "key_major isn't split by sizes");
  // Rows of sums in f16, 128 channels wide, that a warp loads at once.
  constexpr int64_t mergedRows = 16, listedRows = 2;
  bool merges = isInverted || (choice.get(Field::Splits) != 1 && hasParts);
  if (merges || order == LoopOrder::KeyMajor)
    put(Field::MergeTokens,
        !merges  ? 0
        : areFew ? 1
                 : toTokens(isInverted ? listedRows : mergedRows, group),
        merges ? "few rows, whose states are loaded at once"
               : "as many as the tile of its readers has");
  constexpr int64_t chunk = 2048;
  if (isInverted)
    put(Field::Chunk, chunk,
        "enough states to keep a device busy; more take memory for nothing");
  return llvm::Error::success();
}

/// Chooses the heads of a merging program. Programs side by side share the
/// heads of a key head. A block's registers hold the sums of 8192 elements and
/// the next states. With few queries more blocks than that are idle, and each
/// waits for one part's state after the other.
void AttendChooser::chooseMergeHeads() {
  bool isKeyMajor = order == LoopOrder::KeyMajor;
  bool isInverted = isKeyMajor && op.getSelection();
  if (isInverted || (!isKeyMajor && choice.get(Field::Splits) == 1))
    return;
  bool areFew = goal.queries == Queries::Few && goal.device;
  const int64_t elements = areFew ? 512 : 8192;
  int64_t channels = getChannels(kernel, op.getValue()).value_or(1);
  int64_t tokens = choice.get(Field::MergeTokens);
  if (tokens == 0)
    tokens = choice.get(Field::Tokens);
  put(Field::MergeHeads,
      findDivisor(group, elements / std::max<int64_t>(tokens * channels, 1)),
      areFew
          ? "few queries leave multiprocessors idle, which merge side by side"
          : "a block's registers hold the sums of no more");
  if (choice.get(Field::MergeHeads) != 0)
    choice.lowerToDivisor(Field::MergeHeads, group);
}

/// Chooses the channels of a program. A warp's registers hold the sums of its
/// 16 rows. Sums of 256 channels take half of the registers.
void AttendChooser::chooseChannels() {
  constexpr int64_t unit = 16;
  // Sums of one attention wait in registers while the next is computed.
  bool isCrowded =
      scope.findAttends().size() > 1 && goal.queries != Queries::Few;
  int64_t most = isCrowded ? 128 : 256;
  int64_t channels = getChannels(kernel, op.getValue()).value_or(0);
  bool isSliced = goal.device && channels > most;
  if (order == LoopOrder::KeyMajor ||
      (!isSliced && !chooser.find(choice, Field::Channels)))
    return;
  int64_t slices = llvm::divideCeil(channels, most);
  put(Field::Channels,
      isSliced ? llvm::alignTo(llvm::divideCeil(channels, slices), unit)
               : std::max<int64_t>(channels, 1),
      isCrowded ? "a thread's registers hold the sums of several attentions of "
                  "no more"
                : "a thread's registers hold the sums of no more");
}

int64_t AttendChooser::chooseHeads() {
  auto isWhole = [&](Operation *each) {
    auto scoring = cast<ScoringOpInterface>(each);
    return scoring.getSelection() ||
           chooser.getOrder(scoring) == LoopOrder::KeyMajor;
  };
  choice.takesAllHeads =
      isWhole(op) || llvm::any_of(chooser.getCut().getSharing(op), isWhole);
  if (!find(Field::Heads) || choice.takesAllHeads)
    return group;
  put(Field::Heads, 0, "a tile has all that share a key head");
  if (choice.get(Field::Heads) == 0)
    return group;
  choice.lowerToDivisor(Field::Heads, group);
  return choice.get(Field::Heads);
}

llvm::Error AttendChooser::chooseOrder() {
  const Setting *given = find(Field::Order);
  if (given && !given->op.empty() &&
      static_cast<LoopOrder>(given->value) != order)
    return settings.explain(
        given->column,
        "'" + choice.name + "' has no selection, whose blocks order=" +
            stringifyLoopOrder(static_cast<LoopOrder>(given->value)) +
            " walks: expected query_major or key_major");
  choice.set(Field::Order, static_cast<int64_t>(order),
             given && static_cast<LoopOrder>(given->value) == order ? "given"
             : !op.getSelection() ? "there is no selection"
             : goal.device && order == LoopOrder::KeyMajor
                 ? "neighbours together select most of few long blocks"
             : order == LoopOrder::Union
                 ? "all rows of a tile walk the blocks that any of them "
                   "selected"
                 : "tokens share the keys of blocks that they selected");
  return llvm::Error::success();
}

llvm::Error AttendChooser::run() {
  if (llvm::Error error = chooseOrder())
    return error;
  if (llvm::Error error = chooseSplits())
    return error;
  chooseChannels();
  chooser.chooseProgram(choice);
  if (llvm::Error error = chooser.chooseTile(choice, scope, tiling))
    return error;
  chooseMergeHeads();
  choice.isMeasured = tiling.isMeasured;
  if (!goal.device)
    return llvm::Error::success();
  // Two blocks have room for the chosen buffers, but maybe not for given ones.
  auto givesBuffers = [&](Operation *each) {
    const Setting *keys = chooser.findOwn(each, Field::Keys);
    return (keys && keys->spills.empty()) ||
           chooser.findOwn(each, Field::Stages) ||
           chooser.findOwn(each, Field::QueryStages);
  };
  bool isChosen =
      llvm::none_of(chooser.getCut().getSharing(op), givesBuffers) &&
      choice.get(Field::Warps) == tiling.warps && choice.get(Field::Warps) > 0;
  put(Field::BlocksPerSM, isChosen ? tiling.blocksPerSM : 1,
      isChosen && tiling.blocksPerSM > 1 ? chooser.explainTile(choice, tiling)
                                         : "a block has all registers");
  for (Field field : choice.getInterface().getFields())
    if (const FieldInfo &info = getInfo(field); !info.always.empty())
      put(field, info.otherwise, info.always);
  choosePeel();
  chooseExact();
  return llvm::Error::success();
}

llvm::Error schedule::chooseAttend(Chooser &chooser, OpChoice &choice) {
  return AttendChooser(chooser, choice).run();
}
