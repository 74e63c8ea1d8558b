//===- Model.cpp - Estimated run times of programs ------------------------===//

#include "nsacc/Tuning/Model.h"
#include "PairCount.h"
#include "TileSteps.h"
#include "nsacc/Schedule/PartCounts.h"
#include "nsacc/Schedule/ScalarCost.h"
#include "nsacc/Support/Units.h"
#include "nsacc/Tuning/KeyBounds.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;
using namespace nsacc::tuning;
using nsatile::LoopOrder;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::optional<int64_t> CallSizes::find(StringRef name) const {
  auto found = sizes.sizes.find(name);
  return found == sizes.sizes.end() ? std::nullopt
                                    : std::optional(found->second);
}

double CallSizes::get(Attribute dim) const {
  if (!dim)
    return 1;
  if (auto size = getStaticSize(kernel, dim))
    return static_cast<double>(*size);
  if (auto named = dyn_cast<NamedDimAttr>(dim))
    return static_cast<double>(find(named.getName()).value_or(1));
  if (auto pooled = dyn_cast<PooledDimAttr>(dim))
    return pooled.getRagged() && !pooled.isDeclared()
               ? countRaggedEntries(pooled)
               : countEntries(pooled, static_cast<double>(
                                          find(pooled.getBase()).value_or(1)));
  if (auto blocks = dyn_cast<BlocksDimAttr>(dim))
    return std::ceil(static_cast<double>(find(blocks.getBase()).value_or(1)) /
                     static_cast<double>(blocks.getBlock()));
  return 1;
}

double CallSizes::countEntries(PooledDimAttr pooled, double tokens) const {
  if (pooled.isDeclared())
    return static_cast<double>(find(pooled.getCount().getValue()).value_or(1));
  return static_cast<double>(
      pooled.getNumEntries(static_cast<int64_t>(std::max(tokens, 0.0))));
}

/// Number of windows of all batch rows, each with its own windows.
double CallSizes::countRaggedEntries(PooledDimAttr pooled) const {
  auto rows = sizes.offsets.find(pooled.getBase());
  if (rows == sizes.offsets.end())
    return countEntries(pooled, countTokens(pooled)) *
           static_cast<double>(sizes.batchRows.value_or(1));
  double entries = 0;
  for (size_t row = 1; row < rows->second.size(); ++row)
    entries += countEntries(
        pooled, static_cast<double>(rows->second[row] - rows->second[row - 1]));
  return entries;
}

double CallSizes::getLength(Attribute tokens) const {
  double rows = std::max(1.0, static_cast<double>(sizes.batchRows.value_or(1)));
  if (auto named = dyn_cast<NamedDimAttr>(tokens); named && named.getRagged())
    return std::max(get(tokens) / rows, 0.0);
  auto pooled = dyn_cast<PooledDimAttr>(tokens);
  if (!pooled || !pooled.getRagged())
    return std::max(get(tokens), 0.0);
  if (pooled.isDeclared())
    return get(tokens) / rows;
  return countEntries(pooled, countTokens(pooled));
}

double CallSizes::countTokens(PooledDimAttr pooled) const {
  auto all = static_cast<double>(find(pooled.getBase()).value_or(1));
  if (!pooled.getRagged())
    return all;
  return all / std::max(1.0, static_cast<double>(sizes.batchRows.value_or(1)));
}

double CallSizes::getBatch(const QueryDims &dims) const {
  if (dims.batch)
    return get(dims.batch);
  return static_cast<double>(sizes.batchRows.value_or(1));
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

llvm::StringRef tuning::getName(Certainty certainty) {
  static constexpr llvm::StringLiteral names[] = {"exact", "about", "at_most"};
  return names[static_cast<size_t>(certainty)];
}

void Work::addProducts(const Work &other) {
  pairs += other.pairs;
  exponentials += other.exponentials;
  operations += other.operations;
  certainty = std::max(certainty, other.certainty);
  leastExponentials += other.leastExponentials;
  leastOperations += other.leastOperations;
}

static Work::Floors getFloorsOf(double exponentials, double operations,
                                double bytes, const Rates &rates) {
  double cycles = rates.units * rates.clock;
  return {operations / rates.products / cycles,
          exponentials / rates.exponentials / cycles,
          bytes / rates.memoryBytes};
}

Work::Floors Work::getFloors(const Rates &rates) const {
  return getFloorsOf(exponentials, operations, bytes, rates);
}

double Work::getLeastFloor(const Rates &rates) const {
  return getFloorsOf(leastExponentials, leastOperations, leastBytes, rates)
      .getHighest();
}

Floor::Floor(const Work &work, const Rates &rates)
    : seconds(work.getFloors(rates).getHighest()), certainty(work.certainty),
      areRatesMeasured(rates.areMeasured) {}

std::string Floor::describe() const {
  std::string text = spellSeconds(seconds);
  std::string none = areRatesMeasured ? ", which no schedule is below"
                                      : ", at rates that weren't measured";
  switch (certainty) {
  case Certainty::Exact:
    return text + none;
  case Certainty::About:
    return "about " + text + none +
           ", as far as the estimate of visible pairs is right";
  case Certainty::AtMost:
    return text + " with as many visible pairs as there may be" +
           (areRatesMeasured ? ": no schedule is below it then" : none) +
           "; a run that shows fewer may be faster";
  }
  llvm_unreachable("unknown certainty");
}

static double countElements(Type type, const CallSizes &sizes) {
  auto tensor = dyn_cast<NamedTensorType>(type);
  if (!tensor)
    return 0;
  double elements = 1;
  for (Attribute dim : tensor.getDims())
    elements *= sizes.get(dim);
  return elements;
}

double tuning::countBytes(Type type, const CallSizes &sizes) {
  auto tensor = dyn_cast<NamedTensorType>(type);
  if (!tensor)
    return 0;
  return countElements(type, sizes) *
         std::max(1u, tensor.getElementType().getIntOrFloatBitWidth() / 8);
}

bool tuning::isOfKeys(ScoringOpInterface op, Value tensor) {
  return tensor != op.getQuery() &&
         (tensor == op.getKey() || tensor == op.getValue());
}

namespace {

/// The tiles of one program and the way they run.
struct Tiles {
  double rows = 64, keys = 64;
  /// Number of groups of warps that work on a tile, and of tiles of a unit at a
  /// time.
  double groups = 1, together = 1;
  /// Number of rows of a product: a warpgroup's, a warp's, or any number.
  double rowUnit = 1;
  bool isSpecialized = false;
  bool isCPU = false;
};

struct Scoring;

/// Predicts the programs of one kernel.
class Predictor {
public:
  Predictor(KernelOp kernel, const Goal &goal, const KernelChoice &choice,
            const DimSizes &sizes, const ModelOptions &options)
      : kernel(kernel), goal(goal), choice(choice), sizes(kernel, sizes),
        options(options), rates(Rates::get(goal, options.threads)) {}

  Prediction run();

private:
  Prediction::Op predictScoring(const OpChoice &op);
  Prediction::Op predictSelected(const OpChoice &op);
  Prediction::Op predictTopK(const OpChoice &op);
  Prediction::Op predictMemory(const OpChoice &op);

  Tiles getTiles(const OpChoice &op, double group, Field keys) const;
  StepCycles getStepCycles(const Tiles &tiles, double keyChannels,
                           double valueChannels, double instructions,
                           double bytes) const;
  double getTileCycles(const Tiles &tiles, double keyChannels,
                       double valueChannels, double bytes) const;
  void addWork(Prediction::Op &op, const Scoring &size,
               ScoringOpInterface scoring);
  void setSteps(Prediction::Op &op, const StepCycles &step, double tileCycles,
                double tiles, double steps) const;
  /// Number of parts that the keys of this number of query tiles are cut into.
  double countSplits(const OpChoice &op, const Scoring &size,
                     double tiles) const;
  /// Seconds of merging these parts.
  double mergeSplits(const Scoring &size, double splits) const;
  /// Seconds of this number of tiles, in all batch rows and heads.
  double schedule(double tiles, double steps, double mostSteps,
                  double stepCycles, double tileCycles, double together) const;

  KernelOp kernel;
  const Goal &goal;
  const KernelChoice &choice;
  /// Fractions of a tensor that attentions and importances read: for all of
  /// this work, and for every run.
  struct Shares {
    double most = 0, least = 0;
  };
  void addKernelBytes(Work &work);

  CallSizes sizes;
  ModelOptions options;
  Rates rates;
  llvm::DenseMap<Value, Shares> sharesRead;
};

/// Whether each pair takes an exponential, or a function of the same cost: a
/// softmax's pairs do, and pairs whose weights are computed by such a function.
bool hasExponentials(ScoringOpInterface op) {
  if (op.takesExponentials())
    return true;
  return op.getWeight()
      .walk([](Operation *each) {
        return each->getName().getDialectNamespace() == "math"
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// A scoring op's sizes.
struct Scoring {
  Scoring(KernelOp kernel, ScoringOpInterface op, const CallSizes &sizes)
      : shape(getQueryShape(kernel, op)) {
    auto query = cast<NamedTensorType>(op.getQuery().getType());
    keyChannels = sizes.get(query.getDims().back());
    bytes = std::max(1u, query.getElementType().getIntOrFloatBitWidth() / 8);
    if (Value values = op.getValue())
      valueChannels =
          sizes.get(cast<NamedTensorType>(values.getType()).getDims().back());
    batch = sizes.getBatch(shape.dims);
    heads = sizes.get(shape.dims.head);
    queries = sizes.getLength(shape.dims.token);
    group = static_cast<double>(shape.group);
    instructions = static_cast<double>(countPairInstructions(op));
    hasExponentials = ::hasExponentials(op);
    llvm::SmallSetVector<Value, 4> operands(op->operand_begin(),
                                            op->operand_end());
    for (Value tensor : operands)
      (isOfKeys(op, tensor) ? keyMemory : memory) +=
          countBytes(tensor.getType(), sizes);
    // Results have the queries' type, whatever type sums are kept in.
    for (Value tensor : op->getResults())
      if (!tensor.use_empty())
        memory += countElements(tensor.getType(), sizes) * bytes;
  }

  QueryShape shape;
  double keyChannels = 0, valueChannels = 0, bytes = 2, batch = 1, heads = 1,
         queries = 1, group = 1, instructions = 0;
  /// Bytes of keys and values, and of all other tensors.
  double keyMemory = 0, memory = 0;

  /// Whether each pair takes an exponential.
  bool hasExponentials = true;

  double getKeyHeads() const { return heads / std::max(group, 1.0); }
  Work getWork(const PairCount &count) const {
    double each = 2 * (keyChannels + valueChannels);
    Work work;
    work.pairs = count.pairs;
    work.operations = count.pairs * Quantity::ofReal(each);
    work.bytes = memory + keyMemory * count.seenKeys;
    work.certainty = count.certainty;
    if (hasExponentials) {
      work.exponentials = count.pairs;
      work.leastExponentials = count.least;
    }
    work.leastOperations = each * count.least;
    return work;
  }
};

} // namespace

Tiles Predictor::getTiles(const OpChoice &op, double group, Field keys) const {
  auto get = [&](Field field, int64_t otherwise) {
    const auto &found = op.fields[static_cast<size_t>(field)];
    return static_cast<double>(found ? found->value : otherwise);
  };
  Tiles tiles;
  tiles.rows = get(Field::Tokens, 64) * group;
  tiles.keys = std::max(get(keys, 64), 1.0);
  tiles.isCPU = !goal.device;
  if (tiles.isCPU)
    return tiles;
  double warps = get(Field::Warps, 0);
  bool hasGroups = goal.device->code.hasWarpgroupProducts;
  tiles.isSpecialized =
      hasGroups && warps >= 4 && static_cast<int64_t>(warps) % 4 == 0;
  tiles.rowUnit = hasGroups && tiles.rows > 32 ? 64 : 16;
  tiles.rows = std::ceil(tiles.rows / tiles.rowUnit) * tiles.rowUnit;
  tiles.groups = tiles.isSpecialized ? warps / 4
                 : warps > 0         ? std::max(warps / 4, 0.5)
                                     : std::max(tiles.rows / 64, 0.5);
  tiles.together = std::max(get(Field::BlocksPerSM, 1), 1.0);
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

StepCycles Predictor::getStepCycles(const Tiles &tiles, double keyChannels,
                                    double valueChannels, double instructions,
                                    double bytes) const {
  constexpr double softmax = 3, barriers = 150;
  double pairs = tiles.rows * tiles.keys;
  double products =
      2 * (keyChannels + valueChannels) * pairs / rates.products * bytes / 2;
  double scores =
      pairs * (1 / rates.exponentials + (softmax + instructions) / rates.lanes);
  double loads =
      tiles.keys * (keyChannels + valueChannels) * bytes / rates.cacheBytes;
  if (tiles.isCPU) {
    // Bytes of a tile's state and a step's keys and values, which a core's
    // caches should hold.
    double kept = 4 * tiles.rows * (valueChannels + tiles.keys) +
                  4 * tiles.keys * (keyChannels + valueChannels);
    double slow = kept > (1 << 20) ? 1.4 : kept > (256 << 10) ? 1.1 : 1;
    double rescale = tiles.rows * (valueChannels / rates.lanes + 12);
    StepCycles step = {
        slow * 2 * products / bytes, slow * scores, loads / 4, rescale, 0, 1};
    step.all = step.products + step.scores + rescale + step.loads + 200;
    return step;
  }
  double rescale = tiles.rows * valueChannels / rates.lanes;
  double hidden = tiles.groups * tiles.together >= 2 ? 0.5 : 1;
  StepCycles step = {products, scores,
                     loads,    hidden * (rescale + barriers),
                     0,        getExposed(tiles)};
  double cycles = std::max(products, scores) +
                  step.exposed * std::min(products, scores) + step.rescale;
  // Registers that a thread lacks are stored and loaded in each step.
  if (tiles.isSpecialized) {
    double all = 65536 / tiles.together / 128;
    double each = std::min(240.0, (all - 40) / tiles.groups);
    double rowsEach = tiles.rows / tiles.groups / 64;
    double needed = rowsEach * (valueChannels / 2 + tiles.keys * 3 / 4) + 28;
    if (needed > each) {
      step.spills = cycles * (needed - each) / 64;
      cycles += step.spills;
    }
  }
  step.all = std::max(cycles, loads);
  return step;
}

double Predictor::getTileCycles(const Tiles &tiles, double keyChannels,
                                double valueChannels, double bytes) const {
  if (tiles.isCPU)
    return 500 + tiles.rows * (keyChannels + valueChannels) / rates.lanes;
  double traffic = tiles.rows * (keyChannels + valueChannels) * bytes;
  double latency = tiles.isSpecialized ? 1200 : 2000;
  return traffic / rates.cacheBytes + latency / tiles.together;
}

double Predictor::schedule(double tiles, double steps, double mostSteps,
                           double stepCycles, double tileCycles,
                           double together) const {
  double all = steps * stepCycles + tiles * tileCycles;
  double waves = std::ceil(tiles / (rates.units * together));
  double longest = (mostSteps * stepCycles + tileCycles) *
                   std::min(together, std::max(tiles / rates.units, 1.0));
  // The last tiles of a wave wait for each other.
  double average = tiles > 0 ? all / tiles : 0;
  double even = waves > 4 ? all / rates.units + average * together / 2
                          : waves * average * together;
  return std::max(std::max(even, all / rates.units), longest) / rates.clock +
         rates.launch;
}

void Predictor::setSteps(Prediction::Op &op, const StepCycles &step,
                         double tileCycles, double tiles, double steps) const {
  op.step = step;
  op.tileCycles = tileCycles;
  op.tiles = tiles;
  op.steps = steps;
  op.cacheBytes = steps * step.loads * rates.cacheBytes;
}

void Predictor::addWork(Prediction::Op &op, const Scoring &size,
                        ScoringOpInterface scoring) {
  PairCount count = countPairs(scoring, sizes, options.budget);
  Work work = size.getWork(count);
  op.work.addProducts(work);
  op.work.bytes += work.bytes;
  op.seenKeys = count.seenKeys;
  for (Value tensor : scoring->getOperands()) {
    Shares &shares = sharesRead[tensor];
    bool isOfKeys = tuning::isOfKeys(scoring, tensor);
    shares.most = std::max(shares.most, isOfKeys ? count.seenKeys : 1);
    shares.least = std::max(shares.least, isOfKeys ? count.leastSeenKeys
                                          : count.least > 0 ? 1
                                                            : 0);
  }
}

void Predictor::addKernelBytes(Work &work) {
  for (Value input : kernel.getBody().getArguments()) {
    if (input.use_empty())
      continue;
    double bytes = countBytes(input.getType(), sizes);
    // All bytes that ops other than attentions and importances read count,
    // though these ops may need fewer.
    auto shares = sharesRead.find(input);
    bool isShared = shares != sharesRead.end() &&
                    llvm::all_of(input.getUsers(), [](Operation *user) {
                      return isa<ScoringOpInterface>(user);
                    });
    work.bytes += isShared ? bytes * shares->second.most : bytes;
    if (shares != sharesRead.end())
      work.leastBytes += bytes * shares->second.least;
  }
  for (Value result : kernel.getBody().front().getTerminator()->getOperands()) {
    work.bytes += countBytes(result.getType(), sizes);
    work.leastBytes += countBytes(result.getType(), sizes);
  }
}

/// Average number of rows of a tile. CPUs don't compute rows behind the end of
/// the last tile, apart from the rest of a block of registers.
static double countLiveRows(ScoringOpInterface op, const CallSizes &sizes,
                            double tokens, double group) {
  constexpr double unit = 4;
  double queries = countTiles(op, sizes, 1);
  double tiles = std::max(countTiles(op, sizes, tokens), 1.0);
  return std::ceil(queries / tiles * group / unit) * unit;
}

double Predictor::countSplits(const OpChoice &op, const Scoring &size,
                              double tiles) const {
  const auto &given = op.fields[static_cast<size_t>(Field::Splits)];
  if (!given)
    return 1;
  if (given->value > 0)
    return static_cast<double>(given->value);
  if (!goal.device)
    return 1;
  auto scoring = cast<ScoringOpInterface>(op.op);
  schedule::NumberMath m;
  int64_t walked = schedule::countWalkedKeys(
      m, scoring, size.shape, op.get(Field::Tokens), [&](Attribute dim) {
        return static_cast<int64_t>(std::ceil(sizes.get(dim)));
      });
  int64_t blocks =
      static_cast<int64_t>(rates.units) * op.get(Field::BlocksPerSM);
  return static_cast<double>(
      schedule::countSplits(m, static_cast<int64_t>(std::ceil(tiles)), walked,
                            op.get(Field::Keys), blocks));
}

double Predictor::mergeSplits(const Scoring &size, double splits) const {
  if (splits == 1)
    return 0;
  return rates.launch + 2 * splits * size.batch * size.heads * size.queries *
                            (size.valueChannels + 2) * 4 / rates.memoryBytes;
}

Prediction::Op Predictor::predictScoring(const OpChoice &op) {
  auto scoring = cast<ScoringOpInterface>(op.op);
  if (scoring.getValue() && scoring.getSelection())
    return predictSelected(op);
  Scoring size(kernel, scoring, sizes);
  int64_t heads = op.has(Field::Heads) ? op.get(Field::Heads) : 0;
  double group = heads > 0 ? static_cast<double>(heads) : size.group;
  Tiles tiles = getTiles(op, group, Field::Keys);
  double tokens = static_cast<double>(op.get(Field::Tokens));
  if (tiles.isCPU)
    tiles.rows =
        std::min(tiles.rows, countLiveRows(scoring, sizes, tokens, group));
  TileSteps seen = countSteps(scoring, sizes, tokens, tiles.keys);
  // Tiles of a key head's other heads walk the same keys.
  seen.tiles *= size.group / group;
  seen.steps *= size.group / group;
  double splits = countSplits(op, size, seen.tiles);
  StepCycles step = getStepCycles(tiles, size.keyChannels, size.valueChannels,
                                  size.instructions, size.bytes);
  double tile =
      getTileCycles(tiles, size.keyChannels, size.valueChannels, size.bytes);
  Prediction::Op found;
  addWork(found, size, scoring);
  found.seconds = schedule(seen.tiles * splits, seen.steps,
                           std::ceil(seen.mostSteps / splits), step.all, tile,
                           tiles.together);
  setSteps(found, step, tile, seen.tiles * splits, seen.steps);
  found.seconds += mergeSplits(size, splits);
  found.seconds =
      std::max(found.seconds, found.work.getFloors(rates).getHighest());
  return found;
}

Prediction::Op Predictor::predictSelected(const OpChoice &op) {
  auto scoring = cast<ScoringOpInterface>(op.op);
  Scoring size(kernel, scoring, sizes);
  auto type = cast<SelectionType>(scoring.getSelection().getType());
  double block = static_cast<double>(type.getBlock());
  double blocks = std::max(1.0, std::ceil(countKeys(scoring, sizes) / block));
  double top = std::min(static_cast<double>(type.getTop()), blocks);
  Tiles tiles = getTiles(op, size.group, Field::Keys);
  tiles.keys = std::min(tiles.keys, block);
  // A few queries don't fill a tile.
  double tokens = std::min(static_cast<double>(op.get(Field::Tokens)),
                           std::max(std::ceil(size.queries), 1.0));
  auto order = static_cast<LoopOrder>(op.get(Field::Order));
  // Number of blocks that this number of neighbours selects together.
  auto countVisited = [&](double queries) {
    double lists = 1 + (queries - 1) * (1 - options.agreement);
    return blocks * (1 - std::pow(1 - top / blocks, lists));
  };
  // Number of queries of a block that has any.
  double shared = countVisited(std::max(size.queries, 1.0)),
         queriesOfBlock = size.queries * top / shared;
  if (tiles.isCPU) {
    double live = order == LoopOrder::BlockMajor
                      ? std::ceil(queriesOfBlock) * size.group
                      : countLiveRows(scoring, sizes, tokens, size.group);
    tiles.rows = std::min(tiles.rows, live);
  }
  double heads = size.batch * size.getKeyHeads();
  Prediction::Op found;
  addWork(found, size, scoring);
  StepCycles each = getStepCycles(tiles, size.keyChannels, size.valueChannels,
                                  size.instructions + 2, size.bytes);
  double step = each.all;
  double tile =
      getTileCycles(tiles, size.keyChannels, size.valueChannels, size.bytes);
  double stepsOfBlock = std::ceil(block / tiles.keys);
  // Average number of tiles of a batch row.
  double tileCount =
      countTiles(scoring, sizes, tokens) / std::max(size.batch, 1.0);
  switch (order) {
  case LoopOrder::Union: {
    double steps = countVisited(tokens) * stepsOfBlock;
    double count = heads * tileCount, splits = countSplits(op, size, count);
    setSteps(found, each, tile, count * splits, count * steps);
    found.seconds =
        schedule(count * splits, count * steps, std::ceil(steps / splits), step,
                 tile, tiles.together) +
        mergeSplits(size, splits) + 2 * rates.launch;
    break;
  }
  case LoopOrder::QueryMajor:
    setSteps(found, each, tile, heads * size.queries,
             heads * size.queries * top * stepsOfBlock);
    found.seconds = schedule(heads * size.queries,
                             heads * size.queries * top * stepsOfBlock,
                             top * stepsOfBlock, step, tile, tiles.together);
    break;
  case LoopOrder::KeyMajor:
  case LoopOrder::BlockMajor: {
    double count = heads * shared * std::ceil(queriesOfBlock / tokens);
    setSteps(found, each, tile, count, count * stepsOfBlock);
    double states = size.batch * size.heads * size.queries * top *
                    (size.valueChannels + 2) * size.bytes;
    found.seconds = schedule(count, count * stepsOfBlock, stepsOfBlock, step,
                             tile, tiles.together);
    if (goal.device)
      found.seconds += 2 * states / rates.memoryBytes + 5 * rates.launch;
    else
      // A CPU's tiles check for every block whether one of their lists has it.
      found.seconds += heads * tileCount * blocks * (250 + tokens * top / 2) /
                       rates.units / rates.clock;
    break;
  }
  }
  found.seconds =
      std::max(found.seconds, found.work.getFloors(rates).getHighest());
  return found;
}

Prediction::Op Predictor::predictTopK(const OpChoice &op) {
  auto topk = cast<TopKOp>(op.op);
  Prediction::Op found;
  double top = static_cast<double>(topk.getTop());
  for (ImportanceOp importance : findImportances(topk)) {
    auto scoring = cast<ScoringOpInterface>(importance.getOperation());
    Scoring size(kernel, scoring, sizes);
    double blockKeys = 1;
    auto dims = cast<NamedTensorType>(importance.getKey().getType()).getDims();
    double keys = countKeys(scoring, sizes);
    double blocks = std::max(
        1.0, sizes.get(cast<NamedTensorType>(topk->getOperand(0).getType())
                           .getDims()
                           .back()));
    (void)dims;
    blockKeys = std::max(1.0, keys / blocks);
    Tiles tiles = getTiles(op, size.group, Field::Blocks);
    tiles.keys = std::max(1.0, tiles.keys * blockKeys);
    double tokens = static_cast<double>(op.get(Field::Tokens));
    TileSteps seen = countSteps(scoring, sizes, tokens, tiles.keys);
    // A list is merged with each tile's blocks; few blocks pass a threshold.
    bool usesThreshold = op.get(Field::Method) == 1;
    double width = tiles.keys / blockKeys + top;
    double merge = tokens * width *
                   (usesThreshold ? 4 : std::pow(std::log2(2 * width), 2) / 2) /
                   rates.lanes;
    StepCycles each = getStepCycles(tiles, size.keyChannels, 0,
                                    size.instructions + 4, size.bytes);
    double step = each.all + merge;
    each.scores += merge;
    each.all = step;
    addWork(found, size, scoring);
    setSteps(found, each, getTileCycles(tiles, size.keyChannels, 0, size.bytes),
             seen.tiles, seen.steps);
    found.seconds += schedule(
        seen.tiles, seen.steps, seen.mostSteps, step,
        getTileCycles(tiles, size.keyChannels, 0, size.bytes), tiles.together);
  }
  if (found.seconds == 0)
    return predictMemory(op);
  found.seconds =
      std::max(found.seconds, found.work.getFloors(rates).getHighest());
  // Its products count with the importances.
  Work own;
  own.bytes = found.work.bytes;
  found.work = own;
  return found;
}

/// Predicts ops that are bound by memory.
Prediction::Op Predictor::predictMemory(const OpChoice &op) {
  Prediction::Op found;
  for (Value value : op.op->getOperands())
    found.work.bytes += countBytes(value.getType(), sizes);
  for (Value value : op.op->getResults())
    found.work.bytes += countBytes(value.getType(), sizes);
  bool isOwn =
      op.get(Field::Program) == static_cast<int64_t>(nsatile::ProgramUse::Own);
  found.seconds = (isOwn ? found.work.bytes / rates.memoryBytes : 0) +
                  (isOwn ? rates.launch : 0);
  return found;
}

Prediction Predictor::run() {
  Prediction all;
  for (const OpChoice &op : choice.ops) {
    Operation *computed = op.op;
    Prediction::Op found = isa<ScoringOpInterface>(computed)
                               ? predictScoring(op)
                           : isa<TopKOp>(computed) ? predictTopK(op)
                                                   : predictMemory(op);
    // If a top-k reads an importance, its program computes the importance.
    bool isOfTopK =
        isa<ImportanceOp>(computed) &&
        llvm::none_of(choice.cut.getPrograms(), [&](const Program &program) {
          return program.what == "importance" && program.ops.contains(op.op);
        });
    if (isOfTopK)
      found.seconds = 0;
    all.seconds += found.seconds;
    all.work.addProducts(found.work);
    all.ops.push_back(found);
  }
  addKernelBytes(all.work);
  all.leastSeconds = all.work.getLeastFloor(rates);
  return all;
}

Prediction tuning::predict(KernelOp kernel, const Goal &goal,
                           const KernelChoice &choice, const DimSizes &sizes,
                           const ModelOptions &options) {
  return Predictor(kernel, goal, choice, sizes, options).run();
}
