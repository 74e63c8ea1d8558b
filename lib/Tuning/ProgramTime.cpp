//===- ProgramTime.cpp - Estimated time of a program ----------------------===//

#include "ProgramTime.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::tuning;
using schedule::Field;

namespace {

/// Tiles of a program, and the way they run.
struct Tiles {
  /// Rows of the largest product; 0: the program has none.
  double rows = 0;
  double warps = 0;
  /// Number of groups of warps that work on a tile, and of tiles of a unit at a
  /// time.
  double groups = 1, together = 1;
  bool isSpecialized = false;
};

class ProgramTimer {
public:
  ProgramTimer(nsatile::ProgramOp program, const ProgramRun &run,
               const ProductCode &target, const Rates &rates)
      : program(program), run(run), target(target), rates(rates),
        tiles(getTiles()) {}

  ProgramTime get();

private:
  Tiles getTiles();
  double getRowShare(const ProgramRun::Fold &fold);
  StepCycles getStepCycles(const ProgramRun::Fold &fold);
  double getTileCycles();
  double getWaitCycles();
  double schedule(double all, double longest);

  nsatile::ProgramOp program;
  const ProgramRun &run;
  const ProductCode &target;
  const Rates &rates;
  Tiles tiles;
};

} // namespace

Tiles ProgramTimer::getTiles() {
  std::optional<nsatile::ScheduleAttr> schedule = program.getSchedule();
  auto get = [&](Field field) {
    return schedule ? static_cast<double>(schedule->get(field)) : 0;
  };
  Tiles tiles;
  for (const ProgramRun::Fold &fold : run.folds)
    tiles.rows = std::max(tiles.rows, fold.cost.rows);
  tiles.warps = get(Field::Warps);
  if (target.isCPU)
    return tiles;
  double warps = tiles.warps;
  tiles.isSpecialized = target.hasWarpgroups && warps >= 4 &&
                        static_cast<int64_t>(warps) % 4 == 0;
  tiles.groups = tiles.isSpecialized ? warps / 4
                 : warps > 0         ? std::max(warps / 4, 0.5)
                                     : std::max(tiles.rows / 64, 0.5);
  tiles.together = std::max(get(Field::BlocksPerSM), 1.0);
  // Without roles, the number of blocks is limited by shared memory and
  // registers: about two fit.
  if (!tiles.isSpecialized)
    tiles.together = std::max(1.0, 2 / tiles.groups);
  return tiles;
}

/// Fraction of the shorter of products and softmax that isn't hidden behind the
/// longer one, by the number of groups of warps in a unit.
static double getExposed(const Tiles &tiles) {
  double groups = tiles.groups * tiles.together;
  if (!tiles.isSpecialized)
    return groups >= 2 ? 0.6 : 0.9;
  return groups >= 3 ? 0.28 : groups >= 2 ? 0.34 : 0.6;
}

/// The part of a step's rows that are computed. CPUs don't compute rows behind
/// the end of the last tile, apart from the rest of a block of registers.
double ProgramTimer::getRowShare(const ProgramRun::Fold &fold) {
  constexpr double unit = 4;
  double rows = fold.cost.rows;
  if (!target.isCPU || rows == 0 ||
      fold.op->getParentOp() != program.getOperation())
    return 1;
  double there = run.rows / run.points * rows;
  return std::min(std::ceil(there / unit) * unit / rows, 1.0);
}

StepCycles ProgramTimer::getStepCycles(const ProgramRun::Fold &fold) {
  constexpr double barriers = 150;
  if (fold.steps <= 0)
    return {};
  const CodeCost &cost = fold.cost;
  double rowShare = getRowShare(fold), each = 1 / fold.steps,
         copied = each * cost.getCacheBytes();
  StepCycles step;
  step.products = each * rowShare * cost.products / rates.products;
  step.scores = each * rowShare *
                (cost.exponentials / rates.exponentials +
                 cost.instructions / rates.lanes);
  step.loads = copied / rates.cacheBytes;
  step.rescale = each * rowShare * cost.rescaling / rates.lanes;
  if (target.isCPU) {
    // Bytes of a tile's state and a step's keys and values, which a core's
    // caches should hold.
    double rows = rowShare * cost.rows;
    double kept = 4 * rows * (cost.channels + cost.keys) + copied;
    double slow = kept > (1 << 20) ? 1.4 : kept > (256 << 10) ? 1.1 : 1;
    step.products *= slow;
    step.scores *= slow;
    step.loads /= 4;
    step.rescale += 12 * rows;
    step.all = step.products + step.scores + step.rescale + step.loads + 200;
    return step;
  }
  step.exposed = getExposed(tiles);
  step.rescale = (tiles.groups * tiles.together >= 2 ? 0.5 : 1) *
                 (step.rescale + barriers);
  double cycles = std::max(step.products, step.scores) +
                  step.exposed * std::min(step.products, step.scores) +
                  step.rescale;
  // Registers that a thread lacks are stored and loaded in each step.
  if (tiles.isSpecialized) {
    double all = 65536 / tiles.together / 128;
    double room = std::min(240.0, (all - 40) / tiles.groups);
    double rowsEach = cost.rows / tiles.groups / 64;
    double needed = rowsEach * (cost.channels / 2 + cost.keys * 3 / 4) + 28;
    if (needed > room) {
      step.spills = cycles * (needed - room) / 64;
      cycles += step.spills;
    }
  }
  step.all = std::max(cycles, step.loads);
  return step;
}

/// Cycles of the code outside of folds.
double ProgramTimer::getTileCycles() {
  constexpr double processorTile = 500, processorStep = 20, specialized = 1200,
                   other = 2000;
  const CodeCost &rest = run.rest;
  double cycles = (rest.instructions + rest.rescaling) / rates.lanes +
                  rest.exponentials / rates.exponentials +
                  rest.products / rates.products +
                  rest.getCacheBytes() / rates.cacheBytes;
  cycles /= run.points;
  if (target.isCPU)
    return processorTile + cycles * run.rows / run.points +
           processorStep * run.otherSteps / run.points;
  if (tiles.rows > 0)
    cycles += (tiles.isSpecialized ? specialized : other) / tiles.together;
  return cycles;
}

/// Cycles in which a GPU's programs without products wait for memory and for
/// each other, in loops that have to end one step before the next.
double ProgramTimer::getWaitCycles() {
  constexpr double step = 600, ends = 2, mostResident = 16, mostWarps = 64,
                   usualWarps = 4;
  if (target.isCPU || tiles.rows > 0)
    return 0;
  double together =
      std::min(mostResident, mostWarps / std::max(tiles.warps, usualWarps));
  double waves = std::ceil(run.points / (rates.units * together));
  return waves * step * (ends + run.otherSteps / run.points);
}

/// Cycles until the last tile ends.
double ProgramTimer::schedule(double all, double longest) {
  constexpr double kUneven = 1.5;
  double together = tiles.together;
  double waves = std::ceil(run.points / (rates.units * together));
  longest *= std::min(together, std::max(run.points / rates.units, 1.0));
  // Tiles of a wave end together if they are alike: the last wave takes as long
  // as others. If they aren't, short tiles start last and fill the gaps.
  double average = all / run.points * together, whole = all / rates.units;
  double even = longest > kUneven * average ? whole + average / 4
                : waves > 4                 ? whole + average / 2
                                            : waves * average;
  return std::max({even, whole, longest});
}

ProgramTime ProgramTimer::get() {
  ProgramTime time;
  if (run.points <= 0) {
    time.steps.resize(run.folds.size());
    return time;
  }
  time.tileCycles = getTileCycles();
  double all = run.points * time.tileCycles, longest = 0;
  for (const ProgramRun::Fold &fold : run.folds) {
    time.steps.push_back(getStepCycles(fold));
    all += fold.steps * time.steps.back().all;
  }
  for (const ProgramRun::Point &point : run.looked) {
    double own = time.tileCycles;
    for (auto [steps, step] : llvm::zip_equal(point.steps, time.steps))
      own += steps * step.all;
    longest = std::max(longest, own);
  }
  time.seconds =
      std::max(schedule(all, longest), getWaitCycles()) / rates.clock;
  return time;
}

ProgramTime tuning::getTime(nsatile::ProgramOp program, const ProgramRun &run,
                            const ProductCode &target, const Rates &rates) {
  return ProgramTimer(program, run, target, rates).get();
}
