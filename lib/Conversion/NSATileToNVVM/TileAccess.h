//===- TileAccess.h - Elements of a tile in a buffer ------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_TILEACCESS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_TILEACCESS_H

#include "NSATile/IR/NSATileOps.h"
#include "ProgramValues.h"
#include "ThreadMap.h"

namespace nsacc {

/// The address of an element at 32-bit indices.
mlir::Value getElementPointer(CodeBuilder &b, const Buffer &buffer,
                              mlir::ValueRange indices);

/// Elements of the tile at a place: their addresses, and whether they are
/// within the limits.
class TileAccess {
public:
  TileAccess(CodeBuilder &b, const ProgramValues &program, nsatile::AtOp at);

  /// Whether an element is within the limits; null: always.
  mlir::Value getInside(llvm::ArrayRef<IndexSum> coordinates);
  mlir::Value getInside(unsigned dim, const IndexSum &coordinate);
  /// Whether every element is within the limits; null: always.
  mlir::Value getAllInside();
  mlir::Value getPointer(llvm::ArrayRef<IndexSum> coordinates);
  /// Whether rows begin at multiples of `bytes` bytes.
  mlir::Value getAligned(int64_t bytes);
  /// Whether the rows of all tiles with this tile's last offset do. A dimension
  /// of size 1 may have any stride if tiles have one index along it.
  mlir::Value getAlwaysAligned(int64_t bytes);
  /// A pointer that is `elements` elements further.
  mlir::Value advance(mlir::Value pointer, mlir::Value elements);
  /// Forgets values that were computed in a branch: code behind it can't use
  /// them.
  void forgetNested() {
    for (Dim &dim : tileDims) {
      dim.firsts.clear();
      dim.bases.clear();
    }
    listed.clear();
  }
  bool isListed() const { return list != nullptr; }

  /// Whether elements of a row are neighbours in memory.
  bool isContiguous = false;
  mlir::Value pointer;

  struct Dim {
    mlir::Value offset, limit, stride, bound;
    int64_t step = 1;
    bool isInside = false;
    llvm::DenseMap<mlir::Value, mlir::Value> firsts, bases;
  };
  llvm::SmallVector<Dim, 3> tileDims;

private:
  static bool isAlwaysInside(mlir::Value offset, mlir::Value limit,
                             int64_t last);
  mlir::Value getFirst(Dim &dim, mlir::Value base);
  mlir::Value getListedRow(const IndexSum &coordinate);

  CodeBuilder &b;
  const Buffer &buffer;
  llvm::SmallVector<mlir::Value, 4> origin;
  /// The buffer's dimension for the tile's last dimension.
  int64_t lastDim = -1;
  llvm::ArrayRef<int64_t> shape;
  const Buffer *list = nullptr;
  llvm::SmallVector<mlir::Value, 4> entry;
  int64_t divisor;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> listed;
};

/// Registers that hold neighbours of a row.
struct RegisterGroup {
  int64_t first, count;
};

/// Groups of registers with elements that are aligned to the group's size, up
/// to 16 bytes. All groups have the same, largest possible size.
llvm::SmallVector<RegisterGroup> getGroups(const nsatile::TileLayout &layout,
                                           int64_t bytes, bool isContiguous);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_TILEACCESS_H
