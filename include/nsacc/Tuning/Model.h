//===- Model.h - Estimated run times of programs ----------------*- C++ -*-===//
//
// Predicts times from the work of a kernel's programs and the measured rates of
// a device. It ranks schedules; docs/Rationale/Tuning.md says how well.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_TUNING_MODEL_H
#define NSACC_TUNING_MODEL_H

#include "nsacc/Schedule/Choose.h"
#include "nsacc/Support/Quantity.h"
#include "nsacc/Tensor/Signature.h"

namespace nsacc::tuning {

/// Rates of a device: measured ones, or else the maker's data
/// (docs/Rationale/Tuning.md).
struct Rates {
  /// Number of units that work side by side: multiprocessors, or cores of a
  /// CPU.
  double units = 1;
  /// Cycles in a second under load.
  double clock = 1e9;
  /// Numbers for one unit and cycle: operations of 16-bit products,
  /// exponentials, lanes of other instructions, and bytes from the shared
  /// cache.
  double products = 1, exponentials = 1, lanes = 1, cacheBytes = 1;
  /// Bytes from memory in a second, for all units together.
  double memoryBytes = 1e9;
  /// Seconds that a launch adds behind the end of another one.
  double launch = 0;
  /// Whether the rates were measured on such a device: then no run is faster.
  bool areMeasured = false;

  /// Rates of all units in a second.
  double getProducts() const { return products * (units * clock); }
  double getExponentials() const { return exponentials * (units * clock); }

  /// `threads` is the number of threads of runs on a CPU; 0: one for each core.
  static Rates get(const schedule::Goal &goal, unsigned threads = 0);
};

/// Sizes of one call, by dimension.
class CallSizes {
public:
  CallSizes(nsa::KernelOp kernel, const DimSizes &sizes)
      : kernel(kernel), sizes(sizes) {}

  /// Size of a dimension; 1 if it isn't known.
  double get(mlir::Attribute dim) const;
  /// Average number of tokens of one batch row.
  double getLength(mlir::Attribute tokens) const;
  /// Average number of tokens of one batch row that pooled keys stand for.
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

/// Certainty of a number of visible pairs. It is exact if the pairs were
/// counted. It is an estimate if pairs were drawn or rows have an average
/// length. It is an upper bound if a run decides, or if hardly any pairs were
/// found between the bounds.
enum class Certainty { Exact, About, AtMost };

/// "exact", "about", "at_most"
llvm::StringRef getName(Certainty certainty);

/// The work of an op, whatever its tiles are.
struct Work {
  /// Pairs of a query's row and a key that are visible.
  Quantity pairs;
  /// Operations of products over these pairs.
  Quantity operations;
  /// Number of pairs that need an exponential.
  double exponentials = 0;
  /// Bytes of inputs, read once, and of results.
  double bytes = 0;
  Certainty certainty = Certainty::Exact;
  /// Work that every run has at least, whatever its tables and selections hide.
  double leastExponentials = 0, leastOperations = 0, leastBytes = 0;

  /// Adds pairs and the operations on them, but no bytes: the caller knows
  /// which tensors are the same.
  void addProducts(const Work &other);

  struct Floors {
    double products = 0, exponentials = 0, memory = 0;
    double getHighest() const {
      return std::max({products, exponentials, memory});
    }
  };
  /// Seconds that all of this work takes, whatever the schedule.
  Floors getFloors(const Rates &rates) const;
  /// Seconds that every run takes at least.
  double getLeastFloor(const Rates &rates) const;
};

/// Seconds that the work of a whole kernel takes at a device's rates, whatever
/// the schedule: the floor in reports of explaining and of tuning.
struct Floor {
  Floor() = default;
  Floor(const Work &work, const Rates &rates);

  /// "220 us, which no schedule is below"
  std::string describe() const;

  double seconds = 0;
  Certainty certainty = Certainty::Exact;
  /// Whether no run with exact work is below the floor.
  bool areRatesMeasured = false;
};

/// Cycles of one unit for a step of a tile: products of a tile of queries and a
/// tile of keys, and the softmax between them.
struct StepCycles {
  /// Cycles of each part alone: products, scalar code of pairs, copies from the
  /// shared cache, and rescaling of sums.
  double products = 0, scores = 0, loads = 0, rescale = 0;
  /// Cycles of all parts together.
  double all = 0;
  /// Fraction of the shorter of products and scores that isn't hidden.
  double exposed = 1;
  /// Cycles for registers that a thread lacks, which are stored and loaded.
  double spills = 0;
};

/// Bytes of a tensor; 0 of other types.
double countBytes(mlir::Type type, const CallSizes &sizes);

/// Whether a tensor is the op's keys or values, and not its queries as well.
/// Keys and values that no query sees needn't be read.
bool isOfKeys(nsa::ScoringOpInterface op, mlir::Value tensor);

/// ModelOptions::budget of a floor that is shown: it takes about a tenth of a
/// second.
constexpr int64_t kFloorBudget = 1 << 22;

struct ModelOptions {
  /// Agreement between the selections of neighbouring tokens: 0 for lists that
  /// are drawn independently, 1 for equal lists.
  double agreement = 0;
  /// Number of queries or pairs of each op, roughly, that are examined one by
  /// one if there is no closed form for the number of visible pairs. A few are
  /// enough to rank schedules.
  int64_t budget = 1 << 12;
  /// Threads of runs on a CPU; 0: one for each core.
  unsigned threads = 0;
};

/// Seconds of each op that has a schedule, in the kernel's order, and lower
/// bounds of them.
struct Prediction {
  struct Op {
    /// The op's part of its program's time, and the time of programs that
    /// prepare or merge for it.
    double seconds = 0;
    /// Work of the op. Products of an importance count here, whichever program
    /// computes it, and not in the top-k that reads it.
    Work work;
    /// Fraction of its keys and values that some query sees.
    double seenKeys = 1;
    /// For ops with folds, of the fold with the most cycles: an average step,
    /// the additional cycles of each tile, and the numbers of tiles and steps;
    /// 0 for others.
    StepCycles step;
    double tileCycles = 0, tiles = 0, steps = 0;
    /// Bytes from the cache that units share, with the tiles of the schedule.
    double cacheBytes = 0;
  };
  std::vector<Op> ops;
  double seconds = 0;
  /// Work of the whole kernel: its inputs are read and its results written
  /// once, and no other bytes count.
  Work work;
  /// Seconds that every run takes at least, whatever it hides: the search for a
  /// faster schedule ends there.
  double leastSeconds = 0;
};

/// Converts a copy of the kernel as compiling does, with the compiler's choice
/// for other fields than the settings, and predicts the programs. Fails where
/// the settings don't hold, or the programs can't be made.
llvm::Expected<Prediction> predict(nsa::KernelOp kernel,
                                   const schedule::Goal &goal,
                                   const schedule::Settings &settings,
                                   const DimSizes &sizes,
                                   const ModelOptions &options = {});

} // namespace nsacc::tuning

#endif // NSACC_TUNING_MODEL_H
