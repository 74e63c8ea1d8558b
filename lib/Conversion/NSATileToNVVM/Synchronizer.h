//===- Synchronizer.h - Barriers between accesses ---------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SYNCHRONIZER_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SYNCHRONIZER_H

#include "CopyGroups.h"
#include "SharedMemory.h"
#include "ThreadMap.h"

namespace nsacc {

/// Puts a barrier before an access only if it meets another one since the last
/// barrier, of the same bytes or buffer, one of both a write.
class Synchronizer {
public:
  Synchronizer(CodeBuilder &b, const ThreadMap &threads, CopyGroups &copies)
      : b(b), threads(threads), copies(copies) {}

  /// All threads of the scope wait for each other.
  void barrier();
  void beforeRead(const SharedTile &tile);
  void beforeWrite(const SharedTile &tile);
  void beforeGlobal(mlir::Value buffer, bool isWrite);

  struct SharedAccess {
    int64_t begin, end;
    bool isWrite;
    bool operator==(const SharedAccess &) const = default;
  };
  struct GlobalAccess {
    mlir::Value buffer;
    bool isWrite;
    bool operator==(const GlobalAccess &) const = default;
  };
  /// True where threads have to meet before the access, which the caller sees
  /// to.
  bool mustMeetBefore(const SharedAccess &access);
  void add(const SharedAccess &access);

  /// Each once; of global memory, those of buffers that the program both reads
  /// and writes.
  struct Accesses {
    std::vector<SharedAccess> shared;
    std::vector<GlobalAccess> global;

    bool meet(const SharedAccess &access) const;
    bool meet(const GlobalAccess &access) const;
    void insert(const Accesses &other);
  };
  /// Accesses since the last barrier.
  struct Pending : Accesses {
    /// All ways here from the begin of a loop's body pass a barrier.
    bool hasMet = true;
  };
  const Pending &getPending() const { return pending; }
  /// Code of another branch is written from here on.
  void setPending(Pending next) { pending = std::move(next); }
  /// Another way comes here, with these.
  void join(const Pending &other);

  /// What is known of the loop around, while the code of a loop's body is
  /// written.
  struct Round {
    Accesses opening;
    bool hasMet;
  };
  Round beginRound();
  /// Threads meet at the body's end if what this round left is met by the next
  /// one's accesses in front of its first barrier.
  void endRound(Round outer);
  /// What follows is another point of the grid, which neither reads nor writes
  /// what this one did.
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
