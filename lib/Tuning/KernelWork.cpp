//===- KernelWork.cpp - Work of kernels, whatever their schedules ---------===//

#include "KernelWork.h"
#include "PairCount.h"
#include "nsacc/Schedule/QueryShape.h"
#include "nsacc/Support/Units.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::tuning;

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

//===----------------------------------------------------------------------===//
// Work of ops
//===----------------------------------------------------------------------===//

/// Whether each pair takes an exponential, or a function of the same cost: a
/// softmax's pairs do, and pairs whose weights are computed by such a function.
static bool hasExponentials(ScoringOpInterface op) {
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

/// Number of channels of a tensor; 0 if there is none.
static double countChannels(Value tensor, const CallSizes &sizes) {
  return tensor ? sizes.get(
                      cast<NamedTensorType>(tensor.getType()).getDims().back())
                : 0;
}

/// The work on a number of pairs, and the bytes of the tensors that an op
/// reads and writes.
static Work getWork(ScoringOpInterface op, const PairCount &count,
                    const CallSizes &sizes) {
  double each = 2 * (countChannels(op.getQuery(), sizes) +
                     countChannels(op.getValue(), sizes));
  Work work;
  work.pairs = count.pairs;
  work.operations = count.pairs * Quantity::ofReal(each);
  work.certainty = count.certainty;
  if (hasExponentials(op)) {
    work.exponentials = count.pairs;
    work.leastExponentials = count.least;
  }
  work.leastOperations = each * count.least;
  llvm::SmallSetVector<Value, 4> operands(op->operand_begin(),
                                          op->operand_end());
  for (Value tensor : operands)
    work.bytes += countBytes(tensor.getType(), sizes) *
                  (isOfKeys(op, tensor) ? count.seenKeys : 1);
  // Results have the queries' type, whatever type sums are kept in.
  Type type = cast<NamedTensorType>(op.getQuery().getType()).getElementType();
  for (Value tensor : op->getResults())
    if (!tensor.use_empty())
      work.bytes += countElements(tensor.getType(), sizes) *
                    std::max(1u, type.getIntOrFloatBitWidth() / 8);
  return work;
}

namespace {

/// Adds up the work of a kernel's ops.
class WorkCounter {
public:
  WorkCounter(const CallSizes &sizes, int64_t budget)
      : sizes(sizes), budget(budget) {}

  OpWork count(Operation *op);
  void addBytes(KernelOp kernel, Work &work) const;

private:
  /// Fractions of a tensor that attentions and importances read: for all of
  /// this work, and for every run.
  struct Shares {
    double most = 0, least = 0;
  };

  const CallSizes &sizes;
  int64_t budget;
  llvm::DenseMap<Value, Shares> sharesRead;
};

} // namespace

OpWork WorkCounter::count(Operation *op) {
  OpWork found;
  auto scoring = dyn_cast<ScoringOpInterface>(op);
  if (!scoring) {
    for (Value value : op->getOperands())
      found.work.bytes += countBytes(value.getType(), sizes);
    for (Value value : op->getResults())
      found.work.bytes += countBytes(value.getType(), sizes);
    return found;
  }
  PairCount count = countPairs(scoring, sizes, budget);
  found.work = getWork(scoring, count, sizes);
  found.seenKeys = count.seenKeys;
  for (Value tensor : op->getOperands()) {
    Shares &shares = sharesRead[tensor];
    bool isOfKeys = tuning::isOfKeys(scoring, tensor);
    shares.most = std::max(shares.most, isOfKeys ? count.seenKeys : 1);
    shares.least = std::max(shares.least, isOfKeys ? count.leastSeenKeys
                                          : count.least > 0 ? 1
                                                            : 0);
  }
  return found;
}

void WorkCounter::addBytes(KernelOp kernel, Work &work) const {
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

KernelWork tuning::countWork(KernelOp kernel, ArrayRef<Operation *> ops,
                             const CallSizes &sizes, int64_t budget) {
  KernelWork found;
  WorkCounter counter(sizes, budget);
  for (Operation *op : ops) {
    found.ops.push_back(counter.count(op));
    found.all.addProducts(found.ops.back().work);
  }
  counter.addBytes(kernel, found.all);
  return found;
}
