//===- Model.h - How long programs take, without running them ---*- C++ -*-===//
//
// Predicts times from the work of a kernel's programs and the rates that a
// device was measured to have. It ranks schedules; docs/Rationale/Tuning.md
// says how well.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_TUNING_MODEL_H
#define NSACC_TUNING_MODEL_H

#include "nsacc/Schedule/Choose.h"
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

  static Rates get(const schedule::Goal &goal);
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
  double getBatch(const QueryDims &dims) const;
  std::optional<int64_t> find(llvm::StringRef name) const;

private:
  nsa::KernelOp kernel;
  const DimSizes &sizes;
};

/// The work of an op, whatever its tiles are.
struct Work {
  /// Pairs of a query's row and a key that are visible.
  double pairs = 0;
  /// Operations of products over these.
  double operations = 0;
  /// Bytes of inputs, read once, and of results.
  double bytes = 0;

  /// Seconds that no schedule is below: of products, exponentials and memory.
  double getFloor(const Rates &rates) const;
};

/// How much neighbours agree on what they select: 0 for lists that are drawn
/// independently, 1 for equal ones.
struct ModelOptions {
  double agreement = 0;
};

/// Seconds of each op with its chosen schedule, in the order of `choice.ops`,
/// and what is below them.
struct Prediction {
  struct Op {
    double seconds = 0;
    Work work;
  };
  std::vector<Op> ops;
  double seconds = 0, floor = 0;
};

Prediction predict(nsa::KernelOp kernel, const schedule::Goal &goal,
                   const schedule::KernelChoice &choice, const DimSizes &sizes,
                   const ModelOptions &options = {});

} // namespace nsacc::tuning

#endif // NSACC_TUNING_MODEL_H
