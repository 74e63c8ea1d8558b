//===- Kernel.h - A kernel that is being written ----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_KERNEL_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_KERNEL_H

#include "NSATile/IR/NSATileOps.h"
#include "SharedTiles.h"

namespace nsacc {

/// Facts about all of a program's code, and about the target.
struct KernelFacts {
  /// Whether some warps fill circular buffers with bulk copies while the others
  /// compute.
  bool isWarpSpecialized = false;
  /// Whether all products have 16-bit operands, also the products that left the
  /// states which the program merges.
  bool multipliesIn16Bits = false;
  /// Number of registers of a multiprocessor, which warp-specialized programs
  /// divide up.
  int64_t numRegisters = 0;
  /// Whether warps can hand registers to others.
  bool movesRegisters = true;

  static KernelFacts get(nsatile::ProgramOp program, int64_t numRegisters,
                         bool movesRegisters);
};

/// Parameters that aren't arguments of the program; null if there are none.
struct HostParameters {
  mlir::Value failureRecord, tileCounter, raised, firstZ;
  llvm::DenseMap<mlir::Attribute, mlir::Value> tensorMaps;
};

/// The parts that emitters work with. Each emitter takes references only to the
/// parts that it uses.
struct Kernel {
  /// Code goes to the end of `entry`.
  Kernel(mlir::Block *entry, nsatile::ProgramOp program, int64_t sharedLimit,
         int64_t numRegisters, bool movesRegisters)
      : b(program.getLoc(), entry, entry->end()),
        facts(KernelFacts::get(program, numRegisters, movesRegisters)),
        shared(b, sharedLimit) {}
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
  /// Whether bulk copies of results may be under way.
  bool hasBulkStores = false;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_KERNEL_H
