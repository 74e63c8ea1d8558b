//===- SharedCopy.h - Tiles on their way into shared memory -----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDCOPY_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDCOPY_H

#include "ProgramValues.h"
#include "SharedMemory.h"
#include "ThreadMap.h"
#include "TileAccess.h"

namespace nsacc {

/// Source of a copy.
struct CopySource {
  /// The source of an `nsatile.load` or `nsatile.producer_load`.
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

/// Lets all threads copy a tile from a buffer to shared memory, with zeros for
/// elements beyond the limits. Returns whether copies may be under way.
bool copyToShared(CodeBuilder &b, const ThreadMap &threads,
                  const ProgramValues &program, SharedMemory &shared,
                  const CopySource &source, const SharedTile &tile);
/// Lets all threads copy a vector of f32 likewise, word by word: it may begin
/// anywhere in memory. Copies may be under way.
void copyVectorToShared(CodeBuilder &b, const ThreadMap &threads,
                        const ProgramValues &program, SharedMemory &shared,
                        const CopySource &source, const SharedTile &tile);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDCOPY_H
