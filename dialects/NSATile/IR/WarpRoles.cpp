//===- WarpRoles.cpp - Warps that load and warps that compute -------------===//

#include "WarpRoles.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace nsacc::nsatile;

RoleRegisters RoleRegisters::get(int64_t consumerGroups, int64_t registers) {
  // What instructions can name, and what is handed on at a time.
  constexpr int64_t most = 255, unit = 8;
  // Enough for one thread that starts copies.
  constexpr int64_t producer = 24;
  int64_t groups = consumerGroups + 1;
  int64_t atStart = registers / (groups * kGroupThreads);
  if (atStart >= most)
    return {most, most};
  // A block starts with the same number for all threads.
  int64_t total = groups * llvm::alignDown(atStart, unit);
  int64_t consumer = llvm::alignDown(
      std::min((total - producer) / consumerGroups, most), unit);
  return {total - consumerGroups * consumer, consumer};
}
