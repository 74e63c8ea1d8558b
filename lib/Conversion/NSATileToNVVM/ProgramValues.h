//===- ProgramValues.h - Code for a program's values ------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_PROGRAMVALUES_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_PROGRAMVALUES_H

#include "NSATile/IR/TileLayout.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ValueRange.h"
#include <map>

namespace nsacc {

inline bool isTile(mlir::Type type) {
  return mlir::isa<mlir::RankedTensorType>(type);
}
inline mlir::RankedTensorType getTile(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
/// Whether a tile's layout is a place in shared memory.
bool isShared(mlir::RankedTensorType tile);

/// A buffer argument, taken apart.
struct Buffer {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value, 4> sizes, strides;
  mlir::MemRefType type;
};

/// Scalars, buffers and tiles in registers, by the program's values. The class
/// writes no code.
class ProgramValues {
public:
  void map(mlir::Value from, mlir::Value to) { scalars.map(from, to); }
  /// The new value of a scalar.
  mlir::Value lookup(mlir::Value value) const {
    return scalars.lookupOrDefault(value);
  }
  llvm::SmallVector<mlir::Value> lookupAll(mlir::ValueRange values) const;

  void mapBuffer(mlir::Value from, Buffer buffer) {
    buffers[from] = std::move(buffer);
  }
  const Buffer &getBuffer(mlir::Value value) const {
    return buffers.find(value)->second;
  }

  /// A thread's values of a tile, in the order of the layout's registers.
  llvm::ArrayRef<mlir::Value> getRegisters(mlir::Value tile) const {
    return registers.at(tile.getAsOpaquePointer());
  }
  void setRegisters(mlir::Value tile, llvm::SmallVector<mlir::Value> values) {
    registers[tile.getAsOpaquePointer()] = std::move(values);
  }
  /// Layout of a type that has one; computed once.
  const nsatile::TileLayout &getLayout(mlir::RankedTensorType tile);

private:
  mlir::IRMapping scalars;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  // std::map: references to its elements stay valid.
  std::map<const void *, llvm::SmallVector<mlir::Value>> registers;
  std::map<const void *, nsatile::TileLayout> layouts;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_PROGRAMVALUES_H
