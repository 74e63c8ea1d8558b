//===- Synchronizer.h - Barriers between accesses ---------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SYNCHRONIZER_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SYNCHRONIZER_H

#include "CopyGroups.h"
#include "SharedMemory.h"
#include "ThreadMap.h"

namespace nsacc {

/// Puts a barrier before an access only if it conflicts with an access since
/// the last barrier: one of the same bytes or buffer, if either of the two is a
/// write.
class Synchronizer {
public:
  Synchronizer(CodeBuilder &b, const ThreadMap &threads, CopyGroups &copies)
      : b(b), threads(threads), copies(copies) {}

  /// Lets all threads of the scope wait for each other.
  void barrier();
  void beforeRead(const SharedTile &tile);
  void beforeWrite(const SharedTile &tile);
  /// With `unordered`, an op whose own accesses need no order.
  void beforeGlobal(mlir::Value buffer, bool isWrite,
                    mlir::Operation *unordered = nullptr);
  /// Makes threads meet now if an access would make them meet.
  void meetBeforeGlobal(mlir::Value buffer, bool isWrite);

  struct SharedAccess {
    int64_t begin, end;
    bool isWrite;
    bool operator==(const SharedAccess &) const = default;
  };
  struct GlobalAccess {
    mlir::Value buffer;
    bool isWrite;
    mlir::Operation *unordered = nullptr;
    bool operator==(const GlobalAccess &) const = default;
  };
  /// Whether threads have to meet before the access. The caller then makes them
  /// meet.
  bool mustMeetBefore(const SharedAccess &access);
  void add(const SharedAccess &access);

  /// Each access once. Global accesses are listed only for buffers that the
  /// program both reads and writes.
  struct Accesses {
    std::vector<SharedAccess> shared;
    std::vector<GlobalAccess> global;

    bool meet(const SharedAccess &access) const;
    bool meet(const GlobalAccess &access) const;
    void insert(const Accesses &other);
  };
  /// Accesses since the last barrier.
  struct Pending : Accesses {
    /// Whether all ways here from the begin of a loop's body pass a barrier.
    bool hasMet = true;
  };
  const Pending &getPending() const { return pending; }
  /// Continues with the code of another branch.
  void setPending(Pending next) { pending = std::move(next); }
  /// Joins another way that comes here with these accesses.
  void join(const Pending &other);

  /// Facts about the outer loop, kept while an inner loop's body is written.
  struct Round {
    Accesses opening;
    bool hasMet;
  };
  Round beginRound();
  /// Makes threads meet at the body's end if the accesses that this round
  /// leaves conflict with accesses in front of the next round's first barrier.
  void endRound(Round outer);
  /// Forgets global accesses: the following code is for another point of the
  /// grid, which neither reads nor writes what this one did.
  void forgetGlobal() { pending.global.clear(); }

private:
  void before(const SharedAccess &access);

  CodeBuilder &b;
  const ThreadMap &threads;
  CopyGroups &copies;
  Pending pending;
  /// Accesses of the innermost loop's body in front of its first barrier.
  Accesses opening;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SYNCHRONIZER_H
