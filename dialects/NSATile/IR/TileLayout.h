//===- TileLayout.h - Elements in a thread's registers ----------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_TILELAYOUT_H
#define NSACC_NSATILE_IR_TILELAYOUT_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include <array>
#include <optional>
#include <vector>

namespace nsacc::nsatile {

/// Dimensions of the affine expressions for coordinates.
enum class ThreadDim : unsigned {
  Warp,    ///< thread / 32
  Group,   ///< thread mod 32 / 4
  InGroup, ///< thread mod 4
  Thread,  ///< thread
};
constexpr unsigned kNumThreadDims = 4;

/// The registers of a tile in any of the register layouts, and the coordinates
/// of the elements in them.
class TileLayout {
public:
  using Coordinates = llvm::SmallVector<mlir::AffineExpr, 3>;
  /// A condition that holds if `expr` is below `bound`.
  struct Condition {
    mlir::AffineExpr expr;
    int64_t bound;
  };

  /// None for tiles without a layout and for tiles in shared memory.
  static std::optional<TileLayout> get(mlir::RankedTensorType tile);
  static std::optional<TileLayout> get(llvm::ArrayRef<int64_t> shape,
                                       mlir::Attribute layout);

  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getNumThreads() const { return threads; }
  int64_t getNumRegisters() const { return registers.size(); }

  /// Coordinates of a register's element: affine expressions in `ThreadDim`s,
  /// with a constant summand last.
  llvm::ArrayRef<mlir::AffineExpr> getCoordinates(int64_t index) const {
    return registers[index].coordinates;
  }
  /// Conditions of a register. For threads that don't meet all of them, it is
  /// padding.
  llvm::ArrayRef<Condition> getConditions(int64_t index) const {
    return registers[index].conditions;
  }
  /// Whether the register is padding in every thread.
  bool isPadding(int64_t index) const;
  /// The element that a thread holds in a register; none if it is padding.
  std::optional<llvm::SmallVector<int64_t, 3>> getElement(int64_t thread,
                                                          int64_t index) const;
  /// Dimensions of threads along which all threads hold copies.
  llvm::SmallVector<ThreadDim, 3> getCopies() const;

  /// The layout of a tile of `layout` without dimension `dim`. Slices are
  /// nested so that the last dimension is taken away first.
  static mlir::Attribute getSlice(mlir::Attribute layout, int64_t dim);
  /// The layout of a tile of `shape` whose elements stay where they are when it
  /// is reshaped to `result`.
  static mlir::Attribute getReshaped(llvm::ArrayRef<int64_t> shape,
                                     mlir::Attribute layout,
                                     llvm::ArrayRef<int64_t> result);

private:
  struct Register {
    Coordinates coordinates;
    llvm::SmallVector<Condition, 2> conditions;
  };

  explicit TileLayout(llvm::ArrayRef<int64_t> shape) : shape(shape) {}
  bool read(mlir::Attribute layout);
  void readMma(int64_t warps, mlir::MLIRContext *context);
  void readBlocked(int64_t threads, int64_t vector, mlir::MLIRContext *context);
  bool readSlice(int64_t dim, mlir::Attribute of);
  bool readReshape(llvm::ArrayRef<int64_t> as, mlir::Attribute of);
  void addCondition(Register &reg, mlir::AffineExpr expr, int64_t bound) const;

  /// Sizes of dimensions that a slice takes away needn't be known.
  llvm::SmallVector<int64_t, 3> shape;
  /// Sizes of the dimensions of threads.
  std::array<int64_t, kNumThreadDims> sizes = {1, 1, 1, 1};
  int64_t threads = 0;
  std::vector<Register> registers;
};

/// The least and the greatest value where dimensions are 0 … size - 1.
std::pair<int64_t, int64_t> getRange(mlir::AffineExpr expr,
                                     llvm::ArrayRef<int64_t> sizes);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_TILELAYOUT_H
