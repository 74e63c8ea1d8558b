//===- ChooseForCPU.cpp - How kernels are tiled on CPUs -------------------===//

#include "KernelFacts.h"
#include "nsacc/Schedule/Choose.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

/// A wide tile lets tokens share the blocks that they selected, as long as the
/// accumulators stay near.
static int64_t chooseRows(KernelOp kernel) {
  constexpr int64_t accumulatorElements = 32 << 10;
  int64_t channels = 1;
  kernel.walk([&](AttendOp op) {
    for (Value tensor : {op.getKey(), op.getValue()}) {
      auto type = cast<NamedTensorType>(tensor.getType());
      channels = std::max(channels,
                          getSize(kernel, type.getDims().back()).value_or(1));
    }
  });
  return std::max<int64_t>(accumulatorElements / channels / kPartRows, 1) *
         kPartRows;
}

Choice schedule::chooseForCPU(KernelOp kernel, int64_t group) {
  Choice choice;
  int64_t rows = kPartRows;
  choice.reason = "64 rows and 64 keys stay in the nearest cache";
  if (findSelecting(kernel)) {
    choice.order = nsatile::LoopOrder::BlockMajor;
    rows = chooseRows(kernel);
    choice.reason = "many rows share the blocks that they selected, and their "
                    "accumulators stay in a cache";
  }
  // A multiple of its parts.
  int64_t part = std::max<int64_t>(1, kPartRows / group);
  choice.tokens = std::max<int64_t>(1, rows / group / part) * part;
  return choice;
}
