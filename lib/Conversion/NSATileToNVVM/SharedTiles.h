//===- SharedTiles.h - Tiles in shared memory -------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDTILES_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDTILES_H

#include "ProgramValues.h"
#include "Synchronizer.h"

namespace nsacc {

/// The places of the program's tiles, and tiles' ways between registers and
/// shared memory.
class SharedTiles {
public:
  SharedTiles(CodeBuilder &b, ThreadMap &threads, ProgramValues &program,
              SharedMemory &shared, Synchronizer &sync)
      : b(b), threads(threads), program(program), shared(shared), sync(sync) {}

  SharedTile get(mlir::Value tile) const { return places.find(tile)->second; }
  void set(mlir::Value tile, SharedTile place) { places[tile] = place; }

  SharedTile allocate(mlir::RankedTensorType tile);
  void release(const SharedTile &tile);
  /// Gives places back that no later op of the block reads. Uses in nested
  /// regions count as those of the op of this block that they stand in.
  void releaseDead(mlir::Operation *op);

  void write(const SharedTile &tile, mlir::RankedTensorType type,
             llvm::ArrayRef<mlir::Value> values);
  /// A tile, or the part of one that begins at `offsets`.
  llvm::SmallVector<mlir::Value> read(const SharedTile &tile,
                                      mlir::RankedTensorType type,
                                      llvm::ArrayRef<mlir::Value> offsets = {});
  /// A copy of a register tile in shared memory, written and ready to be read.
  SharedTile spill(mlir::Value tile);

private:
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  Synchronizer &sync;
  llvm::MapVector<mlir::Value, SharedTile> places;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDTILES_H
