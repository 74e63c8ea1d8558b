//===- Synchronizer.h - Who waits for whom ----------------------*- C++ -*-===//

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
  /// True where threads have to meet before the access.
  bool mustWait(const SharedAccess &access) const;
  void add(const SharedAccess &access);

  /// Accesses since the last barrier, each once; of global memory, those of
  /// buffers that the program both reads and writes.
  struct Pending {
    std::vector<SharedAccess> shared;
    std::vector<GlobalAccess> global;
  };
  const Pending &getPending() const { return pending; }
  /// Code of another branch is written from here on.
  void setPending(Pending next) { pending = std::move(next); }
  /// Another way comes here, with these.
  void join(const Pending &other);

private:
  void before(const SharedAccess &access);

  CodeBuilder &b;
  const ThreadMap &threads;
  CopyGroups &copies;
  Pending pending;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SYNCHRONIZER_H
