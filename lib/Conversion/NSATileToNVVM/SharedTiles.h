//===- SharedTiles.h - Tiles in shared memory -------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDTILES_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDTILES_H

#include "ProgramValues.h"
#include "Synchronizer.h"

namespace nsacc {

/// The places of the program's tiles, and moves of tiles between registers and
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
  /// Releases places that no later op of the block reads. A use in a nested
  /// region counts as a use by the op of this block that contains it.
  void releaseDead(mlir::Operation *op);

  void write(const SharedTile &tile, mlir::RankedTensorType type,
             llvm::ArrayRef<mlir::Value> values);
  /// Reads a tile, or the part of one that begins at `offsets`.
  llvm::SmallVector<mlir::Value> read(const SharedTile &tile,
                                      mlir::RankedTensorType type,
                                      llvm::ArrayRef<mlir::Value> offsets = {});
  /// Copies a register tile to shared memory, ready to be read.
  SharedTile spill(mlir::Value tile);

private:
  llvm::SmallVector<mlir::Value> readVector(const SharedTile &tile,
                                            mlir::RankedTensorType type);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  Synchronizer &sync;
  llvm::MapVector<mlir::Value, SharedTile> places;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDTILES_H
