//===- ProgramRun.cpp - How often a call runs a program's code ------------===//

#include "ProgramRun.h"
#include "nsacc/Tuning/KeyBounds.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;
using namespace nsacc::tuning;

/// Most points of a grid, and steps of a loop around others, that are looked
/// at.
static constexpr int64_t kMostPoints = 128, kMostSteps = 4;

double ListFacts::countVisited(double lists) const {
  double own = 1 + (lists - 1) * (1 - agreement);
  return blocks * (1 - std::pow(1 - top / blocks, own));
}

double ListFacts::getFilledShare() const {
  double visited = countVisited(std::max(queries, 1.0));
  double filled = visited * std::ceil(queries * top / visited / tokens);
  return std::min(filled / (queries * top / tokens + blocks), 1.0);
}

/// The load of the rows of a product, which code in between may have split or
/// cast.
static LoadOp findLoad(Value tile) {
  while (Operation *op = tile.getDefiningOp()) {
    if (auto load = dyn_cast<LoadOp>(op))
      return load;
    if (op->getNumOperands() != 1)
      break;
    tile = op->getOperand(0);
  }
  return {};
}

ProgramRun::ProgramRun(ProgramOp program, ScalarValues &values,
                       const ProductCode &target,
                       std::optional<ListFacts> lists)
    : program(program), values(values), target(target), lists(lists) {
  program.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      hasListedRows |= load.getAt().isListed();
    if (auto dot = dyn_cast<DotOp>(op); dot && !queries)
      queries = findLoad(dot.getLhs());
    auto fold = dyn_cast<FoldOp>(op);
    if (fold && !fold->getParentOfType<FoldOp>())
      folds.push_back({fold, 0, {}});
  });
}

/// Sizes of a grid in the dimensions that matter to a program; 1 in others. The
/// first point and the last one tell, and are among the shortest and the
/// longest where masks are causal.
ProgramRun::Grid ProgramRun::findSizes(const Grid &grid) {
  values.dimsRead = {};
  for (const Grid &corner :
       {Grid{0, 0, 0}, {grid[0] - 1, grid[1] - 1, grid[2] - 1}}) {
    values.setPoint(corner);
    runPoint(0);
  }
  Grid sizes = {1, 1, 1};
  int64_t different = 1;
  for (unsigned dim = 0; dim < 3; ++dim)
    if (auto more = llvm::checkedMul(different, grid[dim]);
        values.dimsRead[dim] && more) {
      sizes[dim] = grid[dim];
      different = *more;
    }
  return sizes;
}

void ProgramRun::run(const Grid &grid) {
  double all = 1;
  for (int64_t size : grid)
    all *= static_cast<double>(std::max<int64_t>(size, 0));
  if (all == 0)
    return;
  // A number for everything that only a run knows, but bounds of inverted
  // lists.
  if (lists && !hasListedRows)
    values.assumed = std::llround(lists->countVisited(lists->lists));
  Grid sizes = findSizes(grid);
  int64_t different = sizes[0] * sizes[1] * sizes[2];
  double times = all / static_cast<double>(different);
  for (auto [number, count] : spread(different, kMostPoints)) {
    values.setPoint({number % sizes[0], number / sizes[0] % sizes[1],
                     number / sizes[0] / sizes[1]});
    runPoint(times * static_cast<double>(count));
  }
  values.assumed.reset();
  for (const auto &[block, own] : runs)
    (own.fold < 0 ? rest : folds[own.fold].cost)
        .add(countCode(*block, target), own.times);
}

/// The part of a tile's rows that exist.
double ProgramRun::countRows() {
  if (!queries || hasListedRows)
    return 1;
  auto type = cast<RankedTensorType>(queries.getTile().getType());
  AtOp at = queries.getAt();
  double share = 1;
  for (unsigned dim = 0; dim + 1 < type.getRank(); ++dim) {
    auto first = values.get(at.getOffsets()[at.getDims()[dim]]),
         limit = values.get(at.getLimits()[dim]);
    if (!first || !limit)
      continue;
    auto size = static_cast<double>(type.getDimSize(dim));
    share *= std::clamp(static_cast<double>(*limit - *first), 0.0, size) / size;
  }
  return share;
}

void ProgramRun::runPoint(double count) {
  double share = countRows();
  if (share == 0)
    return;
  point = &looked.emplace_back();
  point->count = count;
  point->steps.assign(folds.size(), 0);
  if (hasListedRows && lists)
    point->count *= lists->getFilledShare();
  points += point->count;
  rows += point->count * share;
  visit(program.getBody().front(), 1);
}

ArrayRef<Operation *> ProgramRun::getNested(Block &block) {
  auto [found, isNew] = nested.try_emplace(&block);
  if (isNew)
    for (Operation &op : block)
      if (isa<FoldOp, scf::ForOp, scf::IfOp>(op))
        found->second.push_back(&op);
  return found->second;
}

void ProgramRun::visit(Block &block, double times) {
  Runs &own = runs[&block];
  own.fold = current;
  own.times += times * point->count;
  // A copy: visiting fills the map.
  SmallVector<Operation *> ops(getNested(block));
  for (Operation *op : ops) {
    if (auto fold = dyn_cast<FoldOp>(op))
      visitFold(fold, times);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      visitLoop(loop, times);
    else
      visitBranch(cast<scf::IfOp>(op), times);
  }
}

/// Counts the tiles of ranges that may overlap; none if a bound isn't known.
static std::optional<double> countTiles(ScalarValues &values,
                                        ArrayRef<TileRange> ranges,
                                        Value TileRange::*first,
                                        Value TileRange::*end) {
  KeyRanges found;
  for (const TileRange &range : ranges) {
    if (!(range.*first))
      continue;
    auto from = values.get(range.*first), to = values.get(range.*end);
    if (!from || !to)
      return std::nullopt;
    found.push_back({*from, *to});
  }
  normalize(found);
  double tiles = 0;
  for (auto [from, to] : found)
    tiles += static_cast<double>(to - from);
  return tiles;
}

ProgramRun::Steps ProgramRun::countSteps(FoldOp fold) {
  FoldDomain domain = fold.getDomain();
  Steps steps;
  auto all = countTiles(values, domain.ranges, &TileRange::first,
                        &TileRange::end),
       full = countTiles(values, domain.ranges, &TileRange::fullFirst,
                         &TileRange::fullEnd);
  if (domain.at) {
    steps.all = 1;
  } else if (domain.list) {
    auto type = cast<MemRefType>(domain.list.getType());
    std::optional<int64_t> count;
    if (domain.count)
      count = values.get(domain.count);
    else if (!type.isDynamicDim(type.getRank() - 1))
      count = type.getShape().back() * domain.parts;
    steps.all = static_cast<double>(count.value_or(1));
    if (!domain.ranges.empty() && all)
      steps.all = std::min(steps.all, *all);
  } else {
    steps.all = all ? *all : lists ? lists->parts : 1;
  }
  steps.partial = steps.all;
  if (all && full && *all > 0)
    steps.partial *= 1 - std::min(*full / *all, 1.0);
  return steps;
}

void ProgramRun::visitFold(FoldOp fold, double times) {
  Steps steps = countSteps(fold);
  if (steps.all <= 0)
    return;
  int outer = current;
  if (outer < 0) {
    current = static_cast<int>(
        llvm::find_if(folds,
                      [&](const Fold &each) { return each.op == fold; }) -
        folds.begin());
    folds[current].steps += times * steps.all * point->count;
    point->steps[current] += times * steps.all;
  }
  partial[fold.getPartial()] = steps.partial / steps.all;
  auto ranges = fold.getDomain().ranges;
  auto first = ranges.empty() ? 0 : values.get(ranges.front().first);
  visitSteps(fold.getBody().front(), fold.getTile(), first.value_or(0), 1,
             steps.all, times);
  current = outer;
}

void ProgramRun::visitLoop(scf::ForOp loop, double times) {
  auto first = values.get(loop.getLowerBound()),
       end = values.get(loop.getUpperBound()),
       step = values.get(loop.getStep());
  double steps = 1;
  if (first && end && step && *step > 0)
    steps = std::ceil(static_cast<double>(std::max<int64_t>(*end - *first, 0)) /
                      static_cast<double>(*step));
  if (steps == 0)
    return;
  if (current < 0)
    otherSteps += times * steps * point->count;
  visitSteps(*loop.getBody(), loop.getInductionVar(), first.value_or(0),
             step.value_or(1), steps, times);
}

void ProgramRun::visitSteps(Block &body, Value index, int64_t first,
                            int64_t step, double steps, double times) {
  bool mayDiffer = llvm::any_of(getNested(body), [&](Operation *op) {
    auto branch = dyn_cast<scf::IfOp>(op);
    return !branch || !partial.contains(branch.getCondition());
  });
  if (!mayDiffer)
    return visit(body, times * steps);
  auto whole = static_cast<int64_t>(std::ceil(steps));
  size_t before = values.countComputed();
  for (auto [number, count] : spread(whole, kMostSteps)) {
    values.forgetFrom(before);
    values.set(index, first + number * step);
    visit(body, times * static_cast<double>(count) * steps /
                    static_cast<double>(whole));
  }
}

void ProgramRun::visitBranch(scf::IfOp branch, double times) {
  Value condition = branch.getCondition();
  double share = 1;
  bool isOfData = false;
  if (auto found = partial.find(condition); found != partial.end()) {
    share = found->second;
  } else if (auto known = values.get(condition)) {
    share = *known ? 1 : 0;
  } else if (!branch.getThenRegion().getOps<AssertOp>().empty()) {
    share = 0;
  } else if (lists) {
    // A tile skips blocks that none of its lists has, and a row of it those
    // that its own list doesn't have.
    isOfData = true;
    double ofTile = lists->countVisited(lists->lists) / lists->blocks;
    share = dataBranches == 0 ? ofTile : lists->top / lists->blocks / ofTile;
  }
  dataBranches += isOfData;
  if (share > 0)
    visit(branch.getThenRegion().front(), times * share);
  if (share < 1 && !branch.getElseRegion().empty())
    visit(branch.getElseRegion().front(), times * (1 - share));
  dataBranches -= isOfData;
}
