//===- Unread.cpp - Settings that change nothing --------------------------===//

#include "NSA/Transforms/Passes.h"
#include "NSATile/IR/WarpRoles.h"
#include "mlir/IR/Diagnostics.h"
#include "nsacc/Schedule/Choose.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

/// Whether a field is about code with producers and warpgroups.
static bool isOfWarpgroups(Field field) {
  return llvm::is_contained({Field::BlocksPerSM, Field::QueryStages,
                             Field::PingPong, Field::ColumnsInRegisters,
                             Field::Rescale, Field::Grid},
                            field);
}

/// Whether a program without an attention, which is cut into rows and columns,
/// computes the op.
static bool hasMapProgram(Operation *op, const ProgramCut &cut) {
  return llvm::any_of(cut.getPrograms(), [&](const Program &program) {
    return program.what == "map" && program.ops.contains(op);
  });
}

static bool hasSelection(const OpChoice &op) {
  auto scoring = dyn_cast<ScoringOpInterface>(op.op);
  return scoring && scoring.getSelection();
}

/// Reason that the op's program has no producer. Empty where it may have one,
/// which depends on sizes that aren't known yet.
static std::string explainNoProducer(const OpChoice &op, bool isSized) {
  if (op.has(Field::Order) &&
      static_cast<nsatile::LoopOrder>(op.get(Field::Order)) ==
          nsatile::LoopOrder::KeyMajor &&
      !hasSelection(op))
    return "order=key_major has no warps that load for others";
  int64_t warps = op.get(Field::Warps);
  if (warps % nsatile::kGroupWarps != 0)
    return std::to_string(warps) +
           " warps are no warpgroups: expected a multiple of 4";
  auto isGiven = [&](Field field) {
    return StringRef(op.fields[static_cast<size_t>(field)]->reason)
        .starts_with("given");
  };
  bool isOpen = isSized || isGiven(Field::Warps) || isGiven(Field::Tokens) ||
                isGiven(Field::Part);
  return warps == 0 && isOpen
             ? "warps=auto, as where tokens or parts are given, has no warps "
               "that load for others: expected warps=4, or another multiple"
             : "";
}

/// Selection of the only programs that compute an op; null where other programs
/// do, or none.
static TopKOp findSelection(Operation *op, const ProgramCut &cut) {
  TopKOp found;
  for (const Program &program : cut.getPrograms()) {
    if (!program.ops.contains(op))
      continue;
    if (program.what != "select")
      return {};
    for (Operation *each : program.ops)
      if (auto topk = dyn_cast<TopKOp>(each))
        found = topk;
  }
  return found;
}

/// Whether the blocks of a selection leave states.
static bool hasInvertedStates(const OpChoice &op) {
  return op.has(Field::Order) && hasSelection(op) &&
         static_cast<nsatile::LoopOrder>(op.get(Field::Order)) ==
             nsatile::LoopOrder::KeyMajor;
}

/// The reason that a setting changes nothing for an op; empty if it changes
/// something.
static std::string explainUnread(const OpChoice &op, const KernelChoice &choice,
                                 const Setting &setting, const Goal &goal) {
  const ProgramCut &cut = choice.cut;
  bool isNamed = !setting.op.empty() && !isa<TopKOp>(op.op);
  // A selection's program has blocks in place of an importance's keys.
  bool hasBlocks = setting.field == Field::Keys && isa<ImportanceOp>(op.op);
  if (isNamed && (hasBlocks || getInfo(setting.field).isOfProgram))
    if (TopKOp topk = findSelection(op.op, cut))
      for (const OpChoice &each : choice.ops)
        if (each.op == topk)
          return "the program that computes it is that of '" + each.name +
                 "': set " + (hasBlocks ? "'blocks'" : "it") + " for '" +
                 each.name + "'";
  switch (setting.field) {
  case Field::Order:
    if (op.get(Field::Order) != setting.value)
      return "no attention has a selection, whose blocks that order walks";
    return "";
  case Field::Channels:
    return op.has(Field::Channels) ? ""
                                   : "states of key_major have all channels";
  case Field::Heads:
    return op.has(Field::Heads)
               ? ""
               : "tiles that go over a selection, or leave states of "
                 "key_major, have all heads that share a key head";
  case Field::Splits:
    if (op.get(Field::Splits) != setting.value)
      return op.fields[static_cast<size_t>(Field::Splits)]->reason;
    return "";
  case Field::Halo:
    if (op.get(Field::Halo) != setting.value)
      return op.fields[static_cast<size_t>(Field::Halo)]->reason;
    return "";
  case Field::MergeTokens:
    return op.get(Field::Splits) != 1 ||
                   static_cast<nsatile::LoopOrder>(op.get(Field::Order)) ==
                       nsatile::LoopOrder::KeyMajor
               ? ""
               : "splits=1 leaves no states to merge";
  case Field::MergeHeads:
    return op.has(Field::MergeHeads)
               ? ""
               : "only states of splits are merged by heads";
  case Field::Chunk: {
    if (!op.has(Field::Chunk))
      return "only a selection's blocks under key_major, and an attention with "
             "a program of its own that tiles of its queries read, leave what "
             "stands in memory in chunks";
    bool isInverted = hasInvertedStates(op);
    return !isInverted || llvm::count_if(choice.ops, hasInvertedStates) == 1
               ? ""
               : "several attentions under key_major keep all states in memory";
  }
  case Field::Rows:
  case Field::Columns:
    return hasMapProgram(op.op, cut)
               ? ""
               : "elementwise code is part of programs of attentions, which "
                 "have tokens";
  case Field::Softmax:
  case Field::Rescale:
    if (auto scoring = dyn_cast<ScoringOpInterface>(op.op);
        scoring && !scoring.isSoftmax())
      return "no attention has a softmax";
    break;
  default:
    break;
  }
  if (goal.device && isOfWarpgroups(setting.field) &&
      !goal.device->code.hasWarpgroupProducts)
    return "code of " + goal.device->code.architecture.str() +
           " has no products of warpgroups, which sm_90a has";
  bool isSized = op.op->getParentOfType<KernelOp>()->hasAttr(kSizesAttrName);
  // Programs of other GPUs load ahead without a producer, too.
  if (goal.device && (isOfWarpgroups(setting.field) ||
                      (setting.field == Field::Stages &&
                       goal.device->code.hasWarpgroupProducts)))
    return explainNoProducer(op, isSized);
  return "";
}

/// The setting's place, if it changes nothing in any kernel.
static std::optional<Unread> findUnread(const Setting &setting,
                                        const Goal &goal,
                                        ArrayRef<KernelChoice> choices) {
  std::optional<Unread> unread;
  for (const KernelChoice &choice : choices)
    for (const OpChoice &op : choice.ops) {
      bool isMeant = setting.op.empty() || setting.op == op.name;
      if (!isMeant || !op.getInterface().has(setting.field))
        continue;
      std::string reason = explainUnread(op, choice, setting, goal);
      if (reason.empty())
        return std::nullopt;
      if (unread)
        continue;
      std::string text =
          spellField(setting.op, setting.field,
                     schedule::toString(setting.field, setting.value));
      unread = {"'" + text + "', column " + std::to_string(setting.column),
                std::move(reason), op.op->getLoc()};
    }
  return unread;
}

std::string Unread::getMessage() const {
  return "the schedule's " + setting + ", changes nothing: " + reason;
}

std::vector<Unread> schedule::findUnread(ArrayRef<KernelOp> kernels,
                                         const Goal &goal,
                                         const Settings &settings) {
  // Programs without a schedule needn't choose one for this.
  if (settings.isEmpty())
    return {};
  std::vector<KernelChoice> choices;
  for (KernelOp kernel : kernels)
    if (llvm::Expected<KernelChoice> choice = choose(kernel, goal, settings)) {
      choices.push_back(std::move(*choice));
    } else {
      llvm::consumeError(choice.takeError()); // `check` reports it
      return {};
    }
  std::vector<Unread> unread;
  for (const Setting &setting : settings.getList())
    if (!setting.isDerived)
      if (auto found = ::findUnread(setting, goal, choices))
        unread.push_back(std::move(*found));
  return unread;
}

void schedule::warnOfUnread(ModuleOp module, const Goal &goal,
                            const Settings &settings) {
  auto kernels = llvm::to_vector(module.getOps<KernelOp>());
  for (const Unread &each : findUnread(kernels, goal, settings))
    emitWarning(each.place) << each.getMessage();
}
