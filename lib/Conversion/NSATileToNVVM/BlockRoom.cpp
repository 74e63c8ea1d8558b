//===- BlockRoom.cpp - Room of a block ------------------------------------===//

#include "BlockRoom.h"
#include "NSATile/IR/BlocksPerSM.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/WarpRoles.h"
#include "NamedBarriers.h"
#include "ProgramValues.h"
#include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// "'cmp', 'slc'", or "this code" if no op has a name.
static std::string listOps(ProgramOp program) {
  std::vector<std::string> names;
  if (auto ops = program->getAttrOfType<ArrayAttr>(kOpsAttrName))
    for (auto op : ops.getAsRange<StringAttr>())
      names.push_back(("'" + op.getValue() + "'").str());
  return names.empty() ? "this code" : llvm::join(names, ", ");
}

/// The users' name for the schedule's `keys`.
static StringRef getKeysField(ProgramOp program) {
  // Lists are sorted, merged or gathered.
  WalkResult selects = program.walk([](Operation *op) {
    return isa<TopOp, ExchangeOp, OfferOp>(op) ? WalkResult::interrupt()
                                               : WalkResult::advance();
  });
  return selects.wasInterrupted() ? "blocks" : "keys";
}

/// "tokens=48, keys=128, warps=12"
static std::string describeTiles(ProgramOp program, int64_t warps) {
  ScheduleAttr schedule = program.getScheduleAttr();
  return ("tokens=" + Twine(schedule.getTokens()) + ", " +
          getKeysField(program) + "=" + Twine(schedule.getTileColumns()) +
          ", warps=" + Twine(warps))
      .str();
}

namespace {

/// Registers that products name at once: a thread's part of their columns, and
/// the registers that ptxas adds for addresses and a left operand. ptxas
/// reports this number if registers are missing (C7602).
struct NamedRegisters {
  static constexpr int64_t kAdded = 30;
  /// Most registers of a product with a carried sum, and of one without, whose
  /// result is scores.
  int64_t sums = 0, scores = 0;

  static NamedRegisters get(WarpSpecializeOp specialized) {
    NamedRegisters named;
    specialized.getConsumers().walk([&](DotAsyncOp dot) {
      auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
      bool isInMemory = isShared(lhs) && !dot.getHead();
      constexpr int64_t columnsOfRegister = 2, leftOperand = 4;
      int64_t columns = dot.getResult().getType().getTile().getDimSize(1);
      int64_t &most = dot.getAcc() ? named.sums : named.scores;
      most = std::max(most, columns / columnsOfRegister + kAdded -
                                (isInMemory ? leftOperand : 0));
    });
    return named;
  }
  int64_t getMost() const { return std::max(sums, scores); }
};

} // namespace

/// Registers of each thread of the consumers and the producer, before the
/// producer hands some on.
static int64_t countAtStart(int64_t groups, int64_t registers) {
  return llvm::alignDown(registers / ((groups + 1) * kGroupThreads), 8);
}

/// Whether the producer has registers to hand on, and keeps as many as it
/// needs.
static bool canMove(int64_t groups, int64_t registers, int64_t leastProducer) {
  // The least number that setmaxnreg takes.
  constexpr int64_t least = 24;
  if (countAtStart(groups, registers) < least)
    return false;
  RoleRegisters counts = RoleRegisters::get(groups, registers, leastProducer);
  return counts.producer >= least && counts.consumer >= counts.producer;
}

static LogicalResult checkRegisters(ProgramOp program,
                                    WarpSpecializeOp specialized,
                                    int64_t registers) {
  int64_t warps = specialized.getWarps(), groups = warps / kGroupWarps,
          blocks = getBlocksPerSM(program),
          least = RoleRegisters::getLeastProducer(specialized);
  NamedRegisters named = NamedRegisters::get(specialized);
  auto fits = [&](int64_t groups, int64_t blocks) {
    return countAtStart(groups, registers / blocks) >= named.getMost() &&
           canMove(groups, registers / blocks, least);
  };
  if (groups == 0 || fits(groups, blocks))
    return success();
  int64_t atStart = countAtStart(groups, registers / blocks);
  std::vector<std::string> ways;
  auto addMost = [&](StringRef field, int64_t from, int64_t unit, auto fits) {
    while (from > 0 && !fits(from))
      --from;
    if (from > 0)
      ways.push_back((field + "=" + Twine(from * unit)).str());
  };
  addMost("blocks_per_sm", blocks - 1, 1,
          [&](int64_t fewer) { return fits(groups, fewer); });
  addMost("warps", groups - 1, kGroupWarps,
          [&](int64_t fewer) { return fits(fewer, blocks); });
  constexpr int64_t step = 16;
  int64_t keys = llvm::alignDown(
      std::max<int64_t>(2 * (atStart - NamedRegisters::kAdded), 0), step);
  bool isFewer = keys < program.getScheduleAttr().getTileColumns();
  if (named.sums <= atStart && keys > 0 && named.scores > atStart && isFewer)
    ways.push_back((getKeysField(program) + "=" + Twine(keys)).str());
  InFlightDiagnostic error = program.emitError("the program of ")
                             << listOps(program) << " has too few registers: "
                             << "with " << describeTiles(program, warps)
                             << ", blocks_per_sm=" << blocks
                             << " and a warpgroup that loads, a thread has "
                             << atStart;
  if (atStart < named.getMost())
    error << ", and its products take " << named.getMost();
  else
    error << ", of which the warpgroup that loads needs more than its part";
  error.attachNote() << (ways.empty() ? "fewer channels need fewer"
                                      : llvm::join(ways, " or ") + " fits");
  return error;
}

LogicalResult nsacc::checkRoom(ProgramOp program, int64_t threads,
                               int64_t registers, bool movesRegisters) {
  constexpr int64_t mostThreads = 1024;
  auto found = program.getBody().front().getOps<WarpSpecializeOp>();
  if (threads > mostThreads) {
    int64_t loading = found.empty() ? 0 : kProducerThreads / kWarpSize;
    return program.emitError("a block has at most ")
           << mostThreads / kWarpSize << " warps, and the program of "
           << listOps(program) << " has warps=" << threads / kWarpSize - loading
           << " beside " << loading << " that load tiles: at most warps="
           << mostThreads / kWarpSize - loading << " fits";
  }
  // Products of single warps spill what has no room, and nothing moves.
  return found.empty() || !movesRegisters
             ? success()
             : checkRegisters(program, *found.begin(), registers);
}
