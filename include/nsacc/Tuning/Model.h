//===- Model.h - Estimated run times of programs ----------------*- C++ -*-===//
//
// Predicts times from the work of a kernel's programs and the rates that a
// device was measured to have. It ranks schedules; docs/Rationale/Tuning.md
// says how well.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_TUNING_MODEL_H
#define NSACC_TUNING_MODEL_H

#include "nsacc/Schedule/Choose.h"
#include "nsacc/Support/Quantity.h"
#include "nsacc/Tensor/Signature.h"

namespace nsacc::tuning {

/// What a device does in a second, as far as it was measured, else as its maker
/// says (docs/Rationale/Tuning.md).
struct Rates {
  /// Units that work side by side: multiprocessors, or cores of a CPU.
  double units = 1;
  /// Cycles in a second under load.
  double clock = 1e9;
  /// Of one unit in a cycle: operations of products in 16 bits, exponentials,
  /// lanes of other instructions, and bytes from the shared cache.
  double products = 1, exponentials = 1, lanes = 1, cacheBytes = 1;
  /// Bytes from memory in a second, of all units.
  double memoryBytes = 1e9;
  /// Seconds of a launch beside another one's end.
  double launch = 0;
  /// Whether they are such a device's, as it was measured: nothing is faster
  /// then.
  bool areMeasured = false;

  /// Of all units in a second.
  double getProducts() const { return products * (units * clock); }
  double getExponentials() const { return exponentials * (units * clock); }

  /// `threads` are those that runs on a CPU have; 0: one for each core.
  static Rates get(const schedule::Goal &goal, unsigned threads = 0);
};

/// Sizes of one call, by dimension.
class CallSizes {
public:
  CallSizes(nsa::KernelOp kernel, const DimSizes &sizes)
      : kernel(kernel), sizes(sizes) {}

  /// 1 where nothing tells it.
  double get(mlir::Attribute dim) const;
  /// Tokens of one batch row, on average.
  double getLength(mlir::Attribute tokens) const;
  /// Tokens of one batch row that pooled keys stand for, on average.
  double countTokens(nsa::PooledDimAttr pooled) const;
  double getBatch(const QueryDims &dims) const;
  std::optional<int64_t> find(llvm::StringRef name) const;
  const DimSizes &getSizes() const { return sizes; }
  nsa::KernelOp getKernel() const { return kernel; }

private:
  double countEntries(nsa::PooledDimAttr pooled, double tokens) const;
  double countRaggedEntries(nsa::PooledDimAttr pooled) const;

  nsa::KernelOp kernel;
  const DimSizes &sizes;
};

/// How well a number of visible pairs is known: counted; estimated, from pairs
/// that were drawn or from rows of an average length; or no more than the most
/// that a run may show, or that bounds leave where next to no pairs were found.
enum class Certainty { Exact, About, AtMost };

/// "exact", "about", "at_most"
llvm::StringRef getName(Certainty certainty);

/// The work of an op, whatever its tiles are.
struct Work {
  /// Pairs of a query's row and a key that are visible.
  Quantity pairs;
  /// Operations of products over these.
  Quantity operations;
  /// Those that need an exponential.
  double exponentials = 0;
  /// Bytes of inputs, read once, and of results.
  double bytes = 0;
  Certainty certainty = Certainty::Exact;
  /// What every run has of these, whatever its tables and selections hide.
  double leastExponentials = 0, leastOperations = 0, leastBytes = 0;

  /// Adds pairs and what is done for them; which tensors are the same is for
  /// others to say.
  void addProducts(const Work &other);

  struct Floors {
    double products = 0, exponentials = 0, memory = 0;
    double getHighest() const {
      return std::max({products, exponentials, memory});
    }
  };
  /// Seconds that all of this work takes, whatever the schedule.
  Floors getFloors(const Rates &rates) const;
  /// Seconds that no run is below.
  double getLeastFloor(const Rates &rates) const;
};

/// Seconds that the work of a whole kernel takes at a device's rates, whatever
/// the schedule: what reports of explaining and of tuning call its floor.
struct Floor {
  Floor() = default;
  Floor(const Work &work, const Rates &rates);

  /// "220 us, which no schedule is below"
  std::string describe() const;

  double seconds = 0;
  Certainty certainty = Certainty::Exact;
  /// Whether nothing is below it, where the work is exact.
  bool areRatesMeasured = false;
};

/// Cycles of one unit for a step of a tile: products of a tile of queries and
/// one of keys, and the softmax between them.
struct StepCycles {
  /// Each as if nothing else was done: products, scalar code of pairs, copies
  /// from the shared cache, and what sums are rescaled by.
  double products = 0, scores = 0, loads = 0, rescale = 0;
  /// Of all together.
  double all = 0;
  /// How much of the shorter one of products and scores isn't hidden.
  double exposed = 1;
  /// Of registers that a thread lacks, which are stored and loaded.
  double spills = 0;
};

/// Bytes of a tensor; 0 of other types.
double countBytes(mlir::Type type, const CallSizes &sizes);

/// Whether a tensor is the op's keys or values, of which those that no query
/// sees needn't be read, and not its queries as well.
bool isOfKeys(nsa::ScoringOpInterface op, mlir::Value tensor);

/// ModelOptions::budget of a floor that is shown: a tenth of a second or so.
constexpr int64_t kFloorBudget = 1 << 22;

struct ModelOptions {
  /// How much neighbours agree on what they select: 0 for lists that are drawn
  /// independently, 1 for equal ones.
  double agreement = 0;
  /// About so many queries or pairs of each op are looked at one by one where
  /// there is no closed form for the number of visible pairs. A few are enough
  /// to rank schedules.
  int64_t budget = 1 << 12;
  /// Of runs on a CPU; 0: one for each core.
  unsigned threads = 0;
};

/// Seconds of each op with its chosen schedule, in the order of `choice.ops`,
/// and what is below them.
struct Prediction {
  struct Op {
    double seconds = 0;
    /// Products of an importance count here, whichever program computes it;
    /// those of the top-k that reads it are the same.
    Work work;
    /// Which share of its keys and values some query sees.
    double seenKeys = 1;
    /// Of ops in tiles over keys: a step, what comes with each tile, and how
    /// many there are of each; 0 for others.
    StepCycles step;
    double tileCycles = 0, tiles = 0, steps = 0;
    /// From the cache that units share, with the tiles of the schedule.
    double cacheBytes = 0;
  };
  std::vector<Op> ops;
  double seconds = 0;
  /// Of the whole kernel: its inputs and results are read or written once, and
  /// nothing else is.
  Work work;
  /// Seconds that no run is below, whatever it hides: where the search for a
  /// faster schedule ends.
  double leastSeconds = 0;
};

Prediction predict(nsa::KernelOp kernel, const schedule::Goal &goal,
                   const schedule::KernelChoice &choice, const DimSizes &sizes,
                   const ModelOptions &options = {});

} // namespace nsacc::tuning

#endif // NSACC_TUNING_MODEL_H
