//===- RegisterAccess.h - Tiles between memory and registers ----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_REGISTERACCESS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_REGISTERACCESS_H

#include "NSATile/IR/NSATileOps.h"
#include "ProgramValues.h"
#include "ThreadMap.h"

namespace nsacc {

/// All functions write two variants, chosen at run time: vectors if the tile
/// is within its limits and aligned, else elements that are tested one by one.
/// The caller has to synchronize.
llvm::SmallVector<mlir::Value> loadRegisters(CodeBuilder &b, ThreadMap &threads,
                                             ProgramValues &program,
                                             nsatile::LoadOp op);
void storeRegisters(CodeBuilder &b, ThreadMap &threads, ProgramValues &program,
                    mlir::Value tile, nsatile::AtOp at);
/// Adds the registers' elements to memory, each at once.
void addRegisters(CodeBuilder &b, ThreadMap &threads, ProgramValues &program,
                  mlir::Value tile, nsatile::AtOp at);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_REGISTERACCESS_H
