//===- RegisterAccess.h - Tiles between memory and registers ----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_REGISTERACCESS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_REGISTERACCESS_H

#include "NSATile/IR/NSATileOps.h"
#include "ProgramValues.h"
#include "ThreadMap.h"

namespace nsacc {

/// Both have two ways, one of which is chosen when the kernel runs: vectors
/// where the tile is within its limits and aligned, else elements one by one,
/// each tested. Who waits for whom is the caller's business.
llvm::SmallVector<mlir::Value> loadRegisters(CodeBuilder &b, ThreadMap &threads,
                                             ProgramValues &program,
                                             nsatile::LoadOp op);
void storeRegisters(CodeBuilder &b, ThreadMap &threads, ProgramValues &program,
                    nsatile::StoreOp op);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_REGISTERACCESS_H
