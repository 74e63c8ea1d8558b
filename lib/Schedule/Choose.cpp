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
  constexpr size_t most = 16;
  return !goal.device && findAttends(kernel).size() > most;
}

/// Whether an attention goes over a band of so many keys that wide tiles in its
/// own program take less time than its readers spend on it, though its result
/// goes through memory. Measured on an H200 beside a selection, a window of
/// 512, 65536 tokens: 13.5 and 21.9 ms instead of 13.8 and 22.6 ms.
static bool isWideBand(Operation *op) {
  constexpr int64_t leastReach = 511;
  auto attend = dyn_cast<ScoringOpInterface>(op);
  if (!attend || attend.getSelection() || !isRoundedToBF16(attend))
    return false;
  MaskInfo mask = analyzeMask(attend);
  return isPlain(attend, mask) && isBand(mask) && getReach(mask) >= leastReach;
}

/// Whether the given settings let a call be cut, so that few of the results
/// stand in memory at a time.
bool Chooser::cutsResult(ScoringOpInterface ranking) {
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
  auto isKeyMajor = [&](ScoringOpInterface op) {
    const Setting *given = find(op, Field::Order);
    return given && static_cast<LoopOrder>(given->value) == LoopOrder::KeyMajor;
  };
  return llvm::is_contained(
      findResultSlices(kernel, {isOwn, isKeyMajor}).attends, ranking);
}

SmallVector<ProgramCut::Own> Chooser::findOwn() {
  SmallVector<ProgramCut::Own> own;
  bool hasMany = hasManyAttends();
  ScoringOpInterface ranking;
  if (goal.device && goal.queries == Queries::Many)
    ranking = findRanking(kernel);
  // Only a cut leaves room for the results of any call (QueryCount.cpp).
  if (ranking && canCutRanking(kernel, ranking) && !cutsResult(ranking))
    ranking = {};
  for (const ScheduledOp &op : ops) {
    const Setting *given = settings.find(op.name, Field::Program);
    auto scoring = dyn_cast<ScoringOpInterface>(op.op);
    if (op.op->use_empty() ||
        llvm::any_of(op.op->getResults(), hasRaggedColumns) ||
        hasComputedBlocks(op.op))
      continue;
    if (given && given->value == kOwn)
      own.push_back({op.op, kGiven});
    else if (!given && hasMany && scoring && scoring.getValue())
      own.push_back({op.op, "more than 16 attentions in one program take long "
                            "to compile"});
    else if (!given && ranking && ranking == scoring)
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
  if (op.getInterface().isShared())
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
            // The later one is to blame.
            &mine > &theirs && !mine.isDerived && !theirs.isDerived)
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
bool Chooser::inverts(ScoringOpInterface op) const {
  return op.getSelection() && goal.device->code.hasWarpgroupProducts &&
         goal.queries != Queries::Few && findLongBlocks(kernel) == op;
}

bool schedule::hasWideLists(ScoringOpInterface op) {
  return op.getSelection() &&
         cast<SelectionType>(op.getSelection().getType()).getTop() >
             kMostWalked;
}

/// Without a selection there are no blocks to walk.
LoopOrder Chooser::getOrder(ScoringOpInterface op) const {
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

static bool hasOrder(Operation *op) {
  auto scheduled = dyn_cast<ScheduleOpInterface>(op);
  return scheduled && scheduled.has(Field::Order);
}

LoopOrder Chooser::getOrder(const Scope &scope) const {
  std::optional<LoopOrder> selecting, other;
  for (ScoringOpInterface op : scope.ops) {
    if (!hasOrder(op))
      continue;
    LoopOrder order = getOrder(op);
    std::optional<LoopOrder> &found = op.getSelection() ? selecting : other;
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
    if (const Setting *blocks = findOwn(op, Field::BlocksPerSM);
        blocks && op.getValue())
      given.count = std::max(given.count, blocks->value);
    if (const Setting *warps = findOwn(op, Field::Warps))
      given.warps = std::max(given.warps, warps->value);
  }
  return fitBlocks(tileForWarpgroups(scope, order, goal.queries), scope, order,
                   given);
}

int64_t schedule::toTokens(int64_t rows, int64_t group) {
  return std::max<int64_t>(1, rows / group);
}

int64_t schedule::findDivisor(int64_t tokens, int64_t most) {
  int64_t part = std::clamp<int64_t>(most, 1, tokens);
  while (tokens % part != 0)
    --part;
  return part;
}

void OpChoice::lowerToDivisor(Field field, int64_t whole) {
  ChosenValue &chosen = *fields[static_cast<size_t>(field)];
  int64_t value = findDivisor(whole, chosen.value);
  if (value != chosen.value && StringRef(chosen.reason).starts_with(kGiven))
    chosen.reason += (": of " + Twine(chosen.value) +
                      ", the most that divide " + Twine(whole))
                         .str();
  chosen.value = value;
}

int64_t schedule::getPartTokens(int64_t tokens, int64_t group) {
  int64_t part = findDivisor(tokens, kPartRows / group);
  return part * group * 2 > kPartRows ? part : tokens;
}

std::string Chooser::explainTile(const OpChoice &choice,
                                 const Tiling &tiling) const {
  auto op = cast<ScoringOpInterface>(choice.op);
  if (!tiling.selecting || op.getSelection())
    return tiling.reason;
  return "the tile of '" + names.lookup(tiling.selecting).str() +
         "': " + tiling.reason;
}

llvm::Error Chooser::chooseTile(OpChoice &choice, const Scope &scope,
                                const Tiling &tiling) {
  std::string reason = explainTile(choice, tiling);
  put(choice, Field::Tokens, toTokens(tiling.rows, scope.group), reason);
  put(choice, Field::Keys, tiling.keys, reason);
  const Setting *part = find(choice, Field::Part);
  if (goal.device) {
    bool isOpen = find(choice, Field::Tokens) || part || tiling.warps == 0;
    put(choice, Field::Warps, isOpen ? 0 : tiling.warps,
        isOpen ? "by the rows of the program's products" : reason);
    put(choice, Field::Stages, tiling.stages,
        tiling.stages > 2 ? "tiles of few keys, so that memory has enough to do"
                          : "a step's loads run during the step before");
  }
  choosePart(choice, scope.group, goal.device ? choice.get(Field::Warps) : 0);
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

void Chooser::choosePart(OpChoice &choice, int64_t group, int64_t warps) {
  int64_t tokens = choice.get(Field::Tokens);
  int64_t part = warps > 0 ? tokens : getPartTokens(tokens, group);
  put(choice, Field::Part, part,
      warps > 0        ? "rows are distributed over the warps"
      : part == tokens ? "the tile in one"
                       : "parts of 64 rows have tighter bounds");
  choice.lowerToDivisor(Field::Part, tokens);
}

void Chooser::chooseProgram(OpChoice &choice) {
  if (choice.getInterface().isShared())
    return choice.set(Field::Program, kOwn,
                      "many query tiles read what it computes once");
  StringRef reason = cut.getReason(choice.op);
  if (!reason.empty())
    choice.set(Field::Program, kOwn, reason);
  else
    choice.set(Field::Program, 0, "its readers need no more than their tiles");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Chooses the chunks of results that others read from memory, for attentions
/// whose readers let a call be cut.
void Chooser::chooseResultChunks(MutableArrayRef<OpChoice> choices) {
  auto find = [&](Operation *op) {
    return llvm::find_if(choices,
                         [&](const OpChoice &each) { return each.op == op; });
  };
  auto isOwn = [&](Operation *op) {
    auto *found = find(op);
    return found != choices.end() && !found->getInterface().isShared() &&
           found->get(Field::Program) == kOwn;
  };
  auto isKeyMajor = [&](ScoringOpInterface op) {
    return static_cast<LoopOrder>(find(op)->get(Field::Order)) ==
           LoopOrder::KeyMajor;
  };
  constexpr int64_t chunk = 1024;
  for (ScoringOpInterface op :
       findResultSlices(kernel, {isOwn, isKeyMajor}).attends)
    put(*find(op), Field::Chunk, chunk,
        "enough tokens to keep a device busy; more take memory for nothing");
}

llvm::Expected<KernelChoice> Chooser::run() {
  std::vector<OpChoice> choices;
  for (const ScheduledOp &op : ops) {
    if (llvm::Error error = checkProgram(op))
      return std::move(error);
    if (llvm::Error error = checkAgreement(op))
      return std::move(error);
    OpChoice choice = {op, {}};
    if (llvm::Error error = choice.getInterface().choose(*this, choice))
      return std::move(error);
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
