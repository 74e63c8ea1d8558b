//===- Choose.cpp - Choice of a kernel's schedules ------------------------===//

#include "Chooser.h"
#include "NSA/Analysis/Rounding.h"
#include "mlir/IR/Builders.h"
#include "nsacc/Schedule/ResultSlices.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;
using nsatile::LoopOrder;

//===----------------------------------------------------------------------===//
// Given settings
//===----------------------------------------------------------------------===//

static constexpr int64_t kOwn = static_cast<int64_t>(nsatile::ProgramUse::Own);
/// Reason of an op that was given its own program.
static constexpr llvm::StringLiteral kGiven = "given";
static constexpr llvm::StringLiteral kRanked =
    "many pooled keys take tiles of their own, and a selection reads its "
    "log-sum-exps";
static constexpr llvm::StringLiteral kBand =
    "a wide band of keys, which takes tiles of its own";

/// Whether a result has columns over the keys of ragged rows. There are as many
/// as the longest row has, which isn't known when memory is set aside.
static bool hasRaggedColumns(Value result) {
  auto type = dyn_cast<NamedTensorType>(result.getType());
  return type && type.isRagged() &&
         isa<PooledDimAttr, BlocksDimAttr>(type.getDims().back());
}

/// Whether blocks of an importance, or of arithmetic with one, are results or
/// operands of arithmetic. The program of these computes the importance, too.
static bool hasComputedBlocks(Operation *op) {
  // Visits each op once, however many ways lead to it.
  llvm::SetVector<Operation *> made;
  made.insert(op);
  for (size_t i = 0; i < made.size(); ++i)
    for (Operation *user : made[i]->getUsers()) {
      if (isa<MapOp>(user))
        made.insert(user);
      else if (isa<BlocksOp>(user) &&
               !llvm::all_of(user->getUsers(), llvm::IsaPred<TopKOp>))
        return true;
    }
  return false;
}

/// Whether a kernel has too many attentions for one program of a CPU. The time
/// to compile it, on one thread, grows faster than its length. GPUs refuse
/// programs of so many.
bool Chooser::hasManyAttends() {
  constexpr int64_t most = 16;
  return !goal.device && llvm::count_if(ops, [](const ScheduledOp &op) {
                           return op.kind == OpKind::Attend;
                         }) > most;
}

/// Whether an attention goes over a band of so many keys that wide tiles in its
/// own program take less time than its readers spend on it, though its result
/// goes through memory. Measured on an H200 beside a selection, a window of
/// 512, 65536 tokens: 13.5 and 21.9 ms instead of 13.8 and 22.6 ms.
static bool isWideBand(Operation *op) {
  constexpr int64_t leastReach = 511;
  auto attend = dyn_cast<AttendOp>(op);
  if (!attend || attend.getSelection() || !isRoundedToBF16(attend))
    return false;
  MaskInfo mask = analyzeMask(attend);
  return isPlain(attend, mask) && isBand(mask) && getReach(mask) >= leastReach;
}

/// Whether the given settings let a call be cut, so that few of the results
/// stand in memory at a time.
bool Chooser::cutsResult(AttendOp ranking) {
  auto find = [&](Operation *op, Field field) -> const Setting * {
    for (const ScheduledOp &each : ops)
      if (each.op == op)
        return settings.find(each.name, field);
    return nullptr;
  };
  auto isOwn = [&](Operation *op) {
    const Setting *given = find(op, Field::Program);
    return op == ranking.getOperation() || (given && given->value == kOwn);
  };
  auto isKeyMajor = [&](AttendOp op) {
    const Setting *given = find(op, Field::Order);
    return given && static_cast<LoopOrder>(given->value) == LoopOrder::KeyMajor;
  };
  return llvm::is_contained(
      findResultSlices(kernel, {isOwn, isKeyMajor}).attends, ranking);
}

SmallVector<ProgramCut::Own> Chooser::findOwn() {
  SmallVector<ProgramCut::Own> own;
  bool hasMany = hasManyAttends();
  AttendOp ranking;
  if (goal.device && goal.queries == Queries::Many)
    ranking = findRanking(kernel);
  // Only a cut leaves room for the results of any call (QueryCount.cpp).
  if (ranking && canCutRanking(kernel, ranking) && !cutsResult(ranking))
    ranking = {};
  for (const ScheduledOp &op : ops) {
    const Setting *given = settings.find(op.name, Field::Program);
    if (op.op->use_empty() ||
        llvm::any_of(op.op->getResults(), hasRaggedColumns) ||
        hasComputedBlocks(op.op))
      continue;
    if (given && given->value == kOwn)
      own.push_back({op.op, kGiven});
    else if (!given && hasMany && op.kind == OpKind::Attend)
      own.push_back({op.op, "more than 16 attentions in one program take long "
                            "to compile"});
    else if (!given && ranking == op.op)
      own.push_back({op.op, kRanked});
    else if (!given && ranking && isWideBand(op.op))
      own.push_back({op.op, kBand});
  }
  return own;
}

/// Fails for an op that can't be computed in its readers' programs, or in its
/// own, as given.
llvm::Error Chooser::checkProgram(const ScheduledOp &op) {
  const Setting *given = settings.find(op.name, Field::Program);
  if (!given || given->op.empty())
    return llvm::Error::success();
  if (given->value == kOwn && hasComputedBlocks(op.op))
    return settings.explain(
        given->column,
        "'" + op.name +
            "' can't have a program of its own: its blocks are a result or an "
            "operand of arithmetic, whose program computes it");
  if (given->value == kOwn) {
    if (llvm::none_of(op.op->getResults(), hasRaggedColumns))
      return llvm::Error::success();
    return settings.explain(
        given->column,
        "'" + op.name +
            "' can't have a program of its own: it has a column for each "
            "window or block of the longest ragged row, and how many that are "
            "isn't known where memory is set aside");
  }
  StringRef reason = cut.getReason(op.op);
  if (op.kind == OpKind::TopK || op.kind == OpKind::Pool)
    reason = "many query tiles read what it computes once";
  if (reason.empty())
    return llvm::Error::success();
  return settings.explain(given->column,
                          "'" + op.name +
                              "' can't be computed in the programs of its "
                              "readers: " +
                              reason);
}

/// Fails where ops that share a program are given different values of its
/// fields.
llvm::Error Chooser::checkAgreement(const ScheduledOp &op) {
  for (Operation *other : cut.getSharing(op.op))
    for (const Setting &mine : settings.getList())
      for (const Setting &theirs : settings.getList())
        if (mine.op == op.name && theirs.op == names.lookup(other) &&
            mine.op != theirs.op && mine.field == theirs.field &&
            getInfo(mine.field).isOfProgram && mine.value != theirs.value &&
            mine.column > theirs.column && !mine.isDerived && !theirs.isDerived)
          return settings.explain(
              mine.column,
              "'" + mine.op + "' shares a program with '" + theirs.op +
                  "', for which '" + getFullName(mine.field) + "' is " +
                  schedule::toString(theirs.field, theirs.value) +
                  " at column " + Twine(theirs.column) +
                  ": give both the same value, or one of them program=own");
  return llvm::Error::success();
}

const Setting *Chooser::find(const OpChoice &op, Field field) const {
  const Setting *given = settings.find(op.name, field);
  if ((given && !given->op.empty()) || !getInfo(field).isOfProgram)
    return given;
  for (Operation *other : cut.getSharing(op.op))
    if (const Setting *theirs = settings.find(names.lookup(other), field);
        theirs && !theirs->op.empty())
      return theirs;
  return given;
}

void Chooser::put(OpChoice &op, Field field, int64_t chosen,
                  const Twine &reason) {
  const Setting *given = find(op, field);
  if (!given)
    return op.set(field, chosen, reason);
  bool isShared = !given->op.empty() && given->op != op.name;
  op.set(field, given->value,
         given->isDerived ? given->spills.empty() ? "larger tiles have no room"
                                                  : given->spills
         : given->isModelled ? "the model of the device prefers it"
         : given->isTuned    ? "tuned"
         : isShared ? "given for '" + given->op + "', in the same program"
                    : "given");
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Ops that tiles are chosen for together. An op that was given its own
/// program, or has one as a ranking or as a wide band, is alone.
Scope Chooser::getScope(Operation *op, int64_t group) const {
  Scope scope = {kernel, {}, group};
  auto isAlone = [&](Operation *op) {
    StringRef reason = cut.getReason(op);
    return reason == kGiven || reason == kRanked || reason == kBand;
  };
  if (isAlone(op) && isa<ScoringOpInterface>(op)) {
    scope.ops.push_back(cast<ScoringOpInterface>(op));
    return scope;
  }
  for (const ScheduledOp &each : ops)
    if (auto scoring = dyn_cast<ScoringOpInterface>(each.op))
      if (!isAlone(each.op))
        scope.ops.push_back(scoring);
  return scope;
}

/// Whether each block has enough queries for products of warpgroups.
bool Chooser::inverts(AttendOp op) const {
  return op.getSelection() && goal.device->code.hasWarpgroupProducts &&
         goal.queries != Queries::Few && findLongBlocks(kernel) == op;
}

/// Whether only unions take an attention's lists.
static bool hasWideLists(AttendOp op) {
  return op.getSelection() &&
         cast<SelectionType>(op.getSelection().getType()).getTop() >
             kMostWalked;
}

/// Order of an attention's loops. Without a selection there are no blocks to
/// walk.
LoopOrder Chooser::getOrder(AttendOp op) const {
  const Setting *given = settings.find(names.lookup(op), Field::Order);
  auto order = given              ? static_cast<LoopOrder>(given->value)
               : hasWideLists(op) ? LoopOrder::Union
               : !goal.device     ? LoopOrder::BlockMajor
               : inverts(op)      ? LoopOrder::KeyMajor
                                  : LoopOrder::Union;
  if (op.getSelection() || order == LoopOrder::KeyMajor)
    return order;
  return LoopOrder::QueryMajor;
}

LoopOrder Chooser::getOrder(const Scope &scope) const {
  std::optional<LoopOrder> selecting, other;
  for (ScoringOpInterface op : scope.ops) {
    auto attend = dyn_cast<AttendOp>(op.getOperation());
    if (!attend)
      continue;
    LoopOrder order = getOrder(attend);
    std::optional<LoopOrder> &found = attend.getSelection() ? selecting : other;
    if (!found || order == LoopOrder::Union)
      found = order;
  }
  return selecting.value_or(other.value_or(LoopOrder::QueryMajor));
}

Tiling Chooser::tile(const Scope &scope) const {
  LoopOrder order = getOrder(scope);
  if (!goal.device)
    return tileForCPU(scope, order);
  if (!goal.device->code.hasWarpgroupProducts)
    return tileForWarps(scope, order, goal.queries);
  GivenBlocks given = {1, 0, goal.device->limits};
  for (ScoringOpInterface op : scope.ops) {
    StringRef name = names.lookup(op);
    if (const Setting *blocks = settings.find(name, Field::BlocksPerSM);
        blocks && isa<AttendOp>(op.getOperation()))
      given.count = std::max(given.count, blocks->value);
    if (const Setting *warps = settings.find(name, Field::Warps))
      given.warps = std::max(given.warps, warps->value);
  }
  return fitBlocks(tileForWarpgroups(scope, order, goal.queries), scope, order,
                   given);
}

int64_t schedule::toTokens(int64_t rows, int64_t group) {
  return std::max<int64_t>(1, rows / group);
}

/// Greatest divisor of `tokens` that isn't above `most`.
static int64_t divide(int64_t tokens, int64_t most) {
  int64_t part = std::clamp<int64_t>(most, 1, tokens);
  while (tokens % part != 0)
    --part;
  return part;
}

int64_t schedule::getPartTokens(int64_t tokens, int64_t group) {
  int64_t part = divide(tokens, kPartRows / group);
  return part * group * 2 > kPartRows ? part : tokens;
}

/// Chooses the fields of a tile. Warps belong to the rows that they were chosen
/// for. Parts belong to tiles whose rows aren't distributed over warps.
llvm::Error Chooser::chooseTile(OpChoice &choice, const Scope &scope,
                                const Tiling &tiling) {
  put(choice, Field::Tokens, toTokens(tiling.rows, scope.group), tiling.reason);
  put(choice, Field::Keys, tiling.keys, tiling.reason);
  const Setting *part = find(choice, Field::Part);
  if (goal.device) {
    bool isOpen = find(choice, Field::Tokens) || part || tiling.warps == 0;
    put(choice, Field::Warps, isOpen ? 0 : tiling.warps,
        isOpen ? "by the rows of the program's products" : tiling.reason);
    put(choice, Field::Stages, tiling.stages,
        tiling.stages > 2 ? "tiles of few keys, so that memory has enough to do"
                          : "a step's loads run during the step before");
  }
  choosePart(choice, scope.group);
  bool isCut = part && choice.get(Field::Part) < choice.get(Field::Tokens);
  if (goal.device && isCut && choice.get(Field::Warps) > 0)
    return settings.explain(
        part->column, "'part' cuts tiles whose rows aren't distributed over "
                      "warps, and '" +
                          choice.name +
                          "' has warps=" + Twine(choice.get(Field::Warps)) +
                          ": expected warps=auto");
  return llvm::Error::success();
}

/// Called after the warps are chosen, since parts depend on them.
void Chooser::choosePart(OpChoice &choice, int64_t group) {
  int64_t tokens = choice.get(Field::Tokens);
  bool hasWarps = goal.device && choice.kind != OpKind::TopK &&
                  choice.get(Field::Warps) > 0;
  int64_t part = hasWarps ? tokens : getPartTokens(tokens, group);
  put(choice, Field::Part, part,
      hasWarps         ? "rows are distributed over the warps"
      : part == tokens ? "the tile in one"
                       : "parts of 64 rows have tighter bounds");
  choice.fields[static_cast<size_t>(Field::Part)]->value =
      divide(tokens, choice.get(Field::Part));
}

void Chooser::chooseProgram(OpChoice &choice) {
  if (choice.kind == OpKind::TopK || choice.kind == OpKind::Pool)
    return choice.set(Field::Program, kOwn,
                      "many query tiles read what it computes once");
  StringRef reason = cut.getReason(choice.op);
  if (!reason.empty())
    choice.set(Field::Program, kOwn, reason);
  else
    choice.set(Field::Program, 0, "its readers need no more than their tiles");
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Number of a pair's instructions beside which products and masks take little
/// time.
static constexpr int64_t kLongPair = 256;

/// Chooses whether the copies of a step are apart. Each copy has the scalar
/// code of all of a thread's pairs.
void Chooser::choosePeel(OpChoice &choice, const Scope &scope) {
  int64_t count = countPairInstructions(scope);
  put(choice, Field::Peel,
      static_cast<int64_t>(count < kLongPair ? nsatile::Switch::Auto
                                             : nsatile::Switch::Off),
      count < kLongPair
          ? Twine("products overlap, and masks are apart")
          : "a pair's scalar code is long (" + Twine(count) + " instructions)");
}

/// Chooses smaller tiles of the same rows. Registers hold them along with the
/// values that products need to check each pair. Tokens that walk their blocks
/// one by one have another state beside the tile's.
void Chooser::chooseExact(OpChoice &choice, const Scope &scope) {
  int64_t tokens = choice.get(Field::Tokens);
  bool walks = getOrder(scope) == LoopOrder::Union;
  auto attend = dyn_cast<AttendOp>(choice.op);
  bool isWide = walks && attend && hasWideLists(attend);
  bool cutsLists = walks && choice.get(Field::Splits) != 1;
  put(choice, Field::ExactTokens,
      cutsLists || isWide ? tokens : kPartRows / scope.group,
      cutsLists ? "parts of a list are of one tile"
      : isWide  ? "a list that is so wide is united for one tile"
                : "64 rows, with what looks at each pair, fit the registers");
  choice.fields[static_cast<size_t>(Field::ExactTokens)]->value =
      divide(tokens, choice.get(Field::ExactTokens));
  bool isLong = countPairInstructions(scope) >= kLongPair;
  put(choice, Field::ExactKeys,
      std::min<int64_t>(choice.get(Field::Keys), walks || isLong ? 16 : 32),
      walks    ? "walks of single tokens have a state beside the tile's"
      : isLong ? "a pair's scalar code is long"
               : "fits the registers with what looks at each pair");
}

/// Chooses the number of splits, and how their states are merged. Few queries
/// leave most of a GPU idle, so their keys are split. Merging tiles have few
/// rows, whose loads are short.
llvm::Error Chooser::chooseSplits(OpChoice &choice, int64_t group) {
  auto op = cast<AttendOp>(choice.op);
  auto order = static_cast<LoopOrder>(choice.get(Field::Order));
  bool walksRanges = order == LoopOrder::QueryMajor && !op.getSelection();
  bool walksList = order == LoopOrder::Union && op.getSelection();
  bool hasParts = walksRanges || walksList;
  bool areFew = goal.queries == Queries::Few && goal.device && hasParts;
  put(choice, Field::Splits, areFew ? 0 : 1,
      areFew ? "few query tiles leave multiprocessors idle"
             : "the keys in one");
  const Setting *splits = settings.find(choice.name, Field::Splits);
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
    put(choice, Field::MergeTokens,
        !merges  ? 0
        : areFew ? 1
                 : toTokens(isInverted ? listedRows : mergedRows, group),
        merges ? "few rows, whose states are loaded at once"
               : "as many as the tile of its readers has");
  constexpr int64_t chunk = 2048;
  if (isInverted)
    put(choice, Field::Chunk, chunk,
        "enough states to keep a device busy; more take memory for nothing");
  return llvm::Error::success();
}

/// Chooses the heads of a merging program. Programs side by side share the
/// heads of a key head. A block's registers hold the sums of 8192 elements and
/// the next states. With few queries more blocks than that are idle, and each
/// waits for one part's state after the other.
void Chooser::chooseMergeHeads(OpChoice &choice, int64_t group) {
  bool isKeyMajor =
      static_cast<LoopOrder>(choice.get(Field::Order)) == LoopOrder::KeyMajor;
  bool isInverted = isKeyMajor && cast<AttendOp>(choice.op).getSelection();
  if (isInverted || (!isKeyMajor && choice.get(Field::Splits) == 1))
    return;
  bool areFew = goal.queries == Queries::Few && goal.device;
  const int64_t elements = areFew ? 512 : 8192;
  Value values = cast<AttendOp>(choice.op).getValue();
  auto type = cast<NamedTensorType>(values.getType());
  int64_t channels = getStaticSize(kernel, type.getDims().back()).value_or(1);
  int64_t tokens = choice.get(Field::MergeTokens);
  if (tokens == 0)
    tokens = choice.get(Field::Tokens);
  put(choice, Field::MergeHeads,
      divide(group, elements / std::max<int64_t>(tokens * channels, 1)),
      areFew
          ? "few queries leave multiprocessors idle, which merge side by side"
          : "a block's registers hold the sums of no more");
  int64_t &heads = choice.fields[static_cast<size_t>(Field::MergeHeads)]->value;
  if (heads > 0)
    heads = divide(group, heads);
}

/// Chooses the channels of a program. A warp's registers hold the sums of its
/// 16 rows. Sums of 256 channels take half of the registers.
void Chooser::chooseChannels(OpChoice &choice, const Scope &scope) {
  constexpr int64_t unit = 16;
  int64_t attends = llvm::count_if(scope.ops, [](ScoringOpInterface op) {
    return isa<AttendOp>(op.getOperation());
  });
  // Sums of one attention wait in registers while the next is computed.
  bool isCrowded = attends > 1 && goal.queries != Queries::Few;
  int64_t most = isCrowded ? 128 : 256;
  Value values = cast<AttendOp>(choice.op).getValue();
  auto type = cast<NamedTensorType>(values.getType());
  int64_t channels = getStaticSize(kernel, type.getDims().back()).value_or(0);
  bool isSliced = goal.device && channels > most;
  bool hasStates =
      static_cast<LoopOrder>(choice.get(Field::Order)) == LoopOrder::KeyMajor;
  if (hasStates || (!isSliced && !settings.find(choice.name, Field::Channels)))
    return;
  int64_t slices = llvm::divideCeil(channels, most);
  put(choice, Field::Channels,
      isSliced ? llvm::alignTo(llvm::divideCeil(channels, slices), unit)
               : std::max<int64_t>(channels, 1),
      isCrowded ? "a thread's registers hold the sums of several attentions of "
                  "no more"
                : "a thread's registers hold the sums of no more");
}

/// Chooses the query heads of a tile and returns their number. Lists of a
/// selection, and states of key_major, are of whole key heads.
int64_t Chooser::chooseHeads(OpChoice &choice, int64_t group) {
  bool isWhole = llvm::any_of(cut.getSharing(choice.op), [&](Operation *op) {
    auto attend = dyn_cast<AttendOp>(op);
    return isa<TopKOp>(op) ||
           (attend &&
            (attend.getSelection() || getOrder(attend) == LoopOrder::KeyMajor));
  });
  if (isWhole || !settings.find(choice.name, Field::Heads))
    return group;
  put(choice, Field::Heads, 0, "a tile has all that share a key head");
  int64_t &heads = choice.fields[static_cast<size_t>(Field::Heads)]->value;
  if (heads == 0)
    return group;
  heads = divide(group, heads);
  return heads;
}

/// Chooses the chunks of results that others read from memory, for attentions
/// whose readers let a call be cut.
void Chooser::chooseResultChunks(MutableArrayRef<OpChoice> choices) {
  auto find = [&](Operation *op) {
    return llvm::find_if(choices,
                         [&](const OpChoice &each) { return each.op == op; });
  };
  auto isOwn = [&](Operation *op) {
    auto *found = find(op);
    return found != choices.end() && isa<AttendOp, ImportanceOp, MapOp>(op) &&
           found->get(Field::Program) == kOwn;
  };
  auto isKeyMajor = [&](AttendOp op) {
    return static_cast<LoopOrder>(find(op)->get(Field::Order)) ==
           LoopOrder::KeyMajor;
  };
  constexpr int64_t chunk = 1024;
  for (AttendOp op : findResultSlices(kernel, {isOwn, isKeyMajor}).attends)
    put(*find(op), Field::Chunk, chunk,
        "enough tokens to keep a device busy; more take memory for nothing");
}

llvm::Error Chooser::chooseAttend(OpChoice &choice) {
  auto op = cast<AttendOp>(choice.op);
  auto scoring = cast<ScoringOpInterface>(choice.op);
  int64_t group = getQueryShape(kernel, scoring).group;
  Scope scope = getScope(op, chooseHeads(choice, group));
  Tiling tiling = tile(scope);
  LoopOrder order = getOrder(op);
  const Setting *given = settings.find(choice.name, Field::Order);
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
  if (llvm::Error error = chooseSplits(choice, group))
    return error;
  chooseChannels(choice, scope);
  chooseProgram(choice);
  if (llvm::Error error = chooseTile(choice, scope, tiling))
    return error;
  chooseMergeHeads(choice, group);
  choice.isMeasured = tiling.isMeasured;
  if (!goal.device)
    return llvm::Error::success();
  // Two blocks have room for the chosen buffers, but maybe not for given ones.
  bool givesBuffers = llvm::any_of(cut.getSharing(op), [&](Operation *each) {
    StringRef name = names.lookup(each);
    const Setting *keys = settings.find(name, Field::Keys);
    return (keys && keys->spills.empty()) ||
           settings.find(name, Field::Stages) ||
           settings.find(name, Field::QueryStages);
  });
  bool isChosen = !givesBuffers && choice.get(Field::Warps) == tiling.warps &&
                  choice.get(Field::Warps) > 0;
  put(choice, Field::BlocksPerSM, isChosen ? tiling.blocksPerSM : 1,
      isChosen && tiling.blocksPerSM > 1 ? Twine(tiling.reason)
                                         : "a block has all registers");
  for (const FieldInfo &info : getFields())
    if (info.isOf(choice.kind) && !info.always.empty())
      put(choice, info.field, info.otherwise, info.always);
  choosePeel(choice, scope);
  chooseExact(choice, scope);
  return llvm::Error::success();
}

llvm::Error Chooser::chooseImportance(OpChoice &choice) {
  auto op = cast<ScoringOpInterface>(choice.op);
  Scope scope = getScope(choice.op, getQueryShape(kernel, op).group);
  Tiling tiling = tile(scope);
  choice.isMeasured = tiling.isMeasured;
  chooseProgram(choice);
  return chooseTile(choice, scope, tiling);
}

/// Chooses the windows of a program. One program goes over all of a window.
void Chooser::choosePooling(OpChoice &choice) {
  constexpr int64_t most = 16, least = 4, tokens = 1024;
  auto pool = cast<PoolOp>(choice.op);
  auto dims = cast<NamedTensorType>(pool.getResult().getType()).getDims();
  const auto *pooled = llvm::find_if(dims, llvm::IsaPred<PooledDimAttr>);
  int64_t len = cast<PooledDimAttr>(*pooled).getLen();
  bool isLong = goal.device && len * most > tokens;
  put(choice, Field::Windows,
      isLong ? std::clamp(tokens / len, least, most) : most,
      isLong ? "more programs share long windows' tokens"
             : "enough for whole vectors");
}

void Chooser::chooseMap(OpChoice &choice) {
  StringRef reason = "vectors of a few rows; its time is that of memory";
  put(choice, Field::Rows, 16, reason);
  put(choice, Field::Columns, 64, reason);
  chooseProgram(choice);
}

llvm::Expected<KernelChoice> Chooser::run() {
  std::vector<OpChoice> choices;
  for (const ScheduledOp &op : ops) {
    if (llvm::Error error = checkProgram(op))
      return std::move(error);
    if (llvm::Error error = checkAgreement(op))
      return std::move(error);
    OpChoice choice = {op, {}};
    switch (op.kind) {
    case OpKind::Attend:
      if (llvm::Error error = chooseAttend(choice))
        return std::move(error);
      break;
    case OpKind::Importance:
      if (llvm::Error error = chooseImportance(choice))
        return std::move(error);
      break;
    case OpKind::TopK:
      if (llvm::Error error = chooseTopK(choice))
        return std::move(error);
      break;
    case OpKind::Pool:
      choosePooling(choice);
      chooseProgram(choice);
      break;
    case OpKind::Map:
      chooseMap(choice);
      break;
    }
    choices.push_back(std::move(choice));
  }
  chooseResultChunks(choices);
  return KernelChoice{std::move(choices), std::move(cut)};
}

llvm::Expected<KernelChoice> schedule::choose(KernelOp kernel, const Goal &goal,
                                              const Settings &settings) {
  Settings own = settings.getOf(kernel.getSymName());
  return Chooser(kernel, goal, own).run();
}
