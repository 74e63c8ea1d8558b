//===- ScratchPool.h - Stack memory of a program ----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETOVECTOR_SCRATCHPOOL_H
#define NSACC_LIB_CONVERSION_NSATILETOVECTOR_SCRATCHPOOL_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

namespace nsacc {

/// Buffers in the frame of one function. A block's buffers may be used again
/// once its code is complete. The buffers are separate allocations, not parts
/// of one, so that LLVM knows that they don't overlap.
class ScratchPool {
public:
  ScratchPool(mlir::Block *entry) : entry(entry) {}

  mlir::Value allocate(mlir::MemRefType type, mlir::Location loc) {
    std::vector<mlir::Value> &unused = free[type];
    mlir::Value buffer;
    if (unused.empty()) {
      auto builder = mlir::OpBuilder::atBlockBegin(entry);
      buffer = mlir::memref::AllocaOp::create(builder, loc, type,
                                              builder.getI64IntegerAttr(64));
      int64_t size = getBytes(type);
      bytes += size;
      if (!largest || size > getBytes(largest))
        largest = type;
    } else {
      buffer = unused.back();
      unused.pop_back();
    }
    scopes.back().push_back(buffer);
    return buffer;
  }

  void enter() { scopes.emplace_back(); }
  void leave() {
    for (mlir::Value buffer : scopes.back())
      free[buffer.getType()].push_back(buffer);
    scopes.pop_back();
  }

  int64_t getBytes() const { return bytes; }
  /// The type of the largest buffer; null if there is none.
  mlir::MemRefType getLargest() const { return largest; }

private:
  static int64_t getBytes(mlir::MemRefType type) {
    mlir::Type element = type.getElementType();
    int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    return llvm::alignTo(type.getNumElements() * bits / 8, 64);
  }

  mlir::Block *entry;
  std::vector<std::vector<mlir::Value>> scopes;
  llvm::DenseMap<mlir::Type, std::vector<mlir::Value>> free;
  int64_t bytes = 0;
  mlir::MemRefType largest;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETOVECTOR_SCRATCHPOOL_H
