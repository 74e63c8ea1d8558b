//===- WarpRoles.h - Warps that load and warps that compute -----*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_WARPROLES_H
#define NSACC_NSATILE_IR_WARPROLES_H

#include <cstdint>

namespace nsacc::nsatile {

class WarpSpecializeOp;

constexpr int64_t kWarpSize = 32;
/// Number of warps of a warpgroup, which multiply together; each has 16 rows.
constexpr int64_t kGroupWarps = 4;
constexpr int64_t kGroupThreads = kGroupWarps * kWarpSize;
constexpr int64_t kGroupRows = 16 * kGroupWarps;

/// Registers of a thread of the producer and of the consumers, after the
/// producer's warpgroup has handed its spare registers to the consumers'.
struct RoleRegisters {
  int64_t producer, consumer;

  /// Registers that a thread needs if it only starts copies, and if it also
  /// reads from lists which tiles to copy.
  static constexpr int64_t kCopies = 24, kLists = 40;

  /// Least number of registers that the producer needs.
  static int64_t getLeastProducer(WarpSpecializeOp specialized);
  /// Registers for a block that has `registers` of them.
  static RoleRegisters get(int64_t consumerGroups, int64_t registers,
                           int64_t leastProducer = kCopies);
  /// Registers for one of the program's blocks on a multiprocessor that has
  /// `registers`.
  static RoleRegisters get(WarpSpecializeOp specialized, int64_t registers);
  /// False if all threads have the most possible registers from the start.
  bool areMoved() const { return producer != consumer; }
};

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_WARPROLES_H
