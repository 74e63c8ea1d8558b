//===- SharedCopy.h - Tiles on their way into shared memory -----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDCOPY_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDCOPY_H

#include "ProgramValues.h"
#include "SharedMemory.h"
#include "ThreadMap.h"
#include "TileAccess.h"

namespace nsacc {

/// What a copy reads.
struct CopySource {
  /// What `nsatile.load` and `nsatile.producer_load` say.
  template <typename OpTy>
  CopySource(OpTy op, mlir::RankedTensorType type, const ListedRows &rows = {})
      : buffer(op.getBuffer()), offsets(op.getOffsets()),
        limits(op.getLimits()), dims(op.getDims()),
        steps(op.getSteps().value_or(llvm::ArrayRef<int64_t>())), type(type),
        rows(rows) {}

  mlir::Value buffer;
  mlir::ValueRange offsets, limits;
  llvm::ArrayRef<int64_t> dims, steps;
  mlir::RankedTensorType type;
  ListedRows rows;
};

/// All threads copy a tile from a buffer to shared memory, and zeros to what is
/// beyond it. True where copies may be under way then.
bool copyToShared(CodeBuilder &b, const ThreadMap &threads,
                  const ProgramValues &program, SharedMemory &shared,
                  const CopySource &source, const SharedTile &tile);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDCOPY_H
