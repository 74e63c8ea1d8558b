//===- KeyTiling.h - Tiles of keys ------------------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_KEYTILING_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_KEYTILING_H

#include "IndexMath.h"
#include "NSATile/IR/NSATileOps.h"

namespace nsacc {

/// Keys that one step scores: every `step`-th one from `first` on.
struct KeyTile {
  mlir::Value first;
  int64_t count;
  int64_t step = 1;
  /// Whether the mask or the end of the sequence may hide a pair, i1. Null
  /// where they may.
  mlir::Value partial = {};
  /// Whether the tile may have keys before 0, which no row sees.
  bool mayBeNegative = false;
  /// Keys from here on aren't part of the tile. Null where all are.
  mlir::Value end = {};
  /// Rows that look at the tile, tensor<R x i1>. Null where all do.
  mlir::Value rows = {};
  /// The tile's keys and values, where several steps share them.
  mlir::Value keys = {}, values = {};
  /// Size of the block that has all keys of the tile; 0 if it isn't known.
  int64_t block = 0;
};

/// Keys of the tiles of a fold.
struct KeyTiling {
  /// Keys of a tile.
  int64_t width = 0;
  /// The first key of tile 0.
  mlir::Value origin = {};
  /// Keys of a block. Each block begins with a new tile. 0 for no blocks.
  int64_t block = 0;
  /// Tiles of a block.
  int64_t parts = 1;

  /// Blocks in tiles of about `keys` keys.
  static KeyTiling ofBlocks(int64_t block, int64_t keys);

  KeyTile getTile(IndexMath m, mlir::Value number) const;
  /// The number of tiles that end at or before a key.
  mlir::Value getTileBefore(IndexMath m, mlir::Value key) const;
  /// The first tile that begins at or behind a key.
  mlir::Value getTileBehind(IndexMath m, mlir::Value key) const;
};

/// Cuts the ranges to tiles [low, high).
llvm::SmallVector<nsatile::TileRange>
clampRanges(IndexMath m, llvm::ArrayRef<nsatile::TileRange> ranges,
            mlir::Value low, mlir::Value high);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_KEYTILING_H
