//===- Kernel.h - A kernel that is being written ----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_KERNEL_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_KERNEL_H

#include "NSATile/IR/NSATileOps.h"
#include "SharedTiles.h"

namespace nsacc {

/// What a program says of all of its code, and the target of all programs.
struct KernelFacts {
  /// Some warps fill circular buffers with bulk copies, the others compute.
  bool isWarpSpecialized = false;
  /// All products have operands of 16 bits, those that left what it merges,
  /// too.
  bool multipliesIn16Bits = false;
  /// Of a multiprocessor, which warp-specialized programs divide up.
  int64_t numRegisters = 0;

  static KernelFacts get(nsatile::ProgramOp program, int64_t numRegisters);
};

/// Parameters that aren't the program's own; null where there are none.
struct HostParameters {
  mlir::Value failureRecord, tileCounter, raised, firstZ;
  llvm::DenseMap<mlir::Attribute, mlir::Value> tensorMaps;
};

/// The parts that emitters work with. Each emitter takes references to those
/// that it uses, and to no others.
struct Kernel {
  /// Code goes to the end of `entry`.
  Kernel(mlir::Block *entry, nsatile::ProgramOp program, int64_t sharedLimit,
         int64_t numRegisters)
      : b(program.getLoc(), entry, entry->end()),
        facts(KernelFacts::get(program, numRegisters)), shared(b, sharedLimit) {
  }
  Kernel(const Kernel &) = delete;

  CodeBuilder b;
  const KernelFacts facts;
  HostParameters host;
  ThreadMap threads{b};
  ProgramValues program;
  SharedMemory shared;
  CopyGroups copies{b};
  Synchronizer sync{b, threads, copies};
  SharedTiles sharedTiles{b, threads, program, shared, sync};
  /// Bulk copies of results may be under way.
  bool hasBulkStores = false;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_KERNEL_H
