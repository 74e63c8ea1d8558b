//===- PairFold.h - States of rows over pairs -------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_PAIRFOLD_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_PAIRFOLD_H

#include "Scorer.h"

namespace nsacc {

/// The state of some rows: one tensor for each of its parts.
using RowState = llvm::SmallVector<mlir::Value>;

/// A state of each row that folds over tiles of keys compute. A walk (KeyWalk)
/// decides which tiles, and in which order.
class PairFold {
public:
  virtual ~PairFold() = default;

  /// The state without any key.
  virtual RowState getInitialState(int64_t rows) = 0;
  /// Folds over the tiles of a domain, from `initial` on, or from the initial
  /// state if that is empty. `words` are the words of an entry of a list with
  /// members.
  using GetKeys =
      llvm::function_ref<KeyTile(mlir::Value number, mlir::ValueRange words)>;
  virtual RowState fold(const QueryRows &rows,
                        const nsatile::FoldDomain &domain,
                        mlir::ValueRange initial, GetKeys getKeys) = 0;
  /// Loads what steps read of a tile, where several steps share it.
  virtual void loadShared(KeyTile &keys) = 0;
  /// The state of two sets of keys from the states of each.
  virtual RowState merge(mlir::ValueRange lhs, mlir::ValueRange rhs) = 0;
};

/// Folds over the tiles of a domain from `initial` on with an `nsatile.fold`,
/// whose step `step` builds. The fold gives it the tile and the state.
RowState foldSteps(
    ProgramBuilder &program, const nsatile::FoldDomain &domain,
    mlir::ValueRange initial,
    llvm::function_ref<RowState(nsatile::FoldOp fold, mlir::ValueRange state)>
        step);
/// Folds over tiles of keys.
RowState
foldKeys(ProgramBuilder &program, const nsatile::FoldDomain &domain,
         mlir::ValueRange initial, PairFold::GetKeys getKeys,
         llvm::function_ref<RowState(const KeyTile &, mlir::ValueRange)> step);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_PAIRFOLD_H
