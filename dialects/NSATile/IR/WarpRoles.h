//===- WarpRoles.h - Warps that load and warps that compute -----*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_WARPROLES_H
#define NSACC_NSATILE_IR_WARPROLES_H

#include <cstdint>

namespace nsacc::nsatile {

class WarpSpecializeOp;

constexpr int64_t kWarpSize = 32;
/// A warpgroup multiplies together; 16 rows are each warp's.
constexpr int64_t kGroupWarps = 4;
constexpr int64_t kGroupThreads = kGroupWarps * kWarpSize;
constexpr int64_t kGroupRows = 16 * kGroupWarps;

/// Of a thread of the producer and of the consumers, when the producer's
/// warpgroup has handed the consumers' what it doesn't need.
struct RoleRegisters {
  int64_t producer, consumer;

  /// What one thread needs that only starts copies, and one that also reads
  /// which tiles from lists.
  static constexpr int64_t kCopies = 24, kLists = 40;

  /// Which of these the producer needs.
  static int64_t getLeastProducer(WarpSpecializeOp specialized);
  /// For a block that has so many registers.
  static RoleRegisters get(int64_t consumerGroups, int64_t registers,
                           int64_t leastProducer = kCopies);
  /// For one of the program's blocks on a multiprocessor that has `registers`.
  static RoleRegisters get(WarpSpecializeOp specialized, int64_t registers);
  /// False where all threads have as many as there can be from the start.
  bool areMoved() const { return producer != consumer; }
};

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_WARPROLES_H
