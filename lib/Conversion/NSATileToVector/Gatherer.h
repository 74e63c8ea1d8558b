//===- Gatherer.h - Elements of buffers by vectors of indices ---*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETOVECTOR_GATHERER_H
#define NSACC_LIB_CONVERSION_NSATILETOVECTOR_GATHERER_H

#include "TileEmitter.h"

namespace nsacc {

/// Reads elements of a buffer by vectors of indices.
class Gatherer {
public:
  Gatherer(TileEmitter &emitter, mlir::Value buffer);

  /// Reads `width` elements; a scalar for a width of 1. Indices are clamped to
  /// the buffer's sizes. With a mask, elements are 0 where it is false, and
  /// indices are in the buffer where it is true.
  mlir::Value gather(llvm::ArrayRef<mlir::Value> indices, int64_t width,
                     mlir::Value mask = {});

private:
  mlir::Value gatherWide(mlir::Value distance, mlir::VectorType resultType,
                         mlir::Value mask);
  mlir::Value gatherNarrow(mlir::Value distance, mlir::VectorType resultType);
  mlir::Value zeros(mlir::VectorType type);
  mlir::Value repeat(mlir::Value value, mlir::VectorType type);
  mlir::Value clamp(mlir::Value index, mlir::Value size, mlir::VectorType type);

  TileEmitter &emitter;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::MemRefType type;
  mlir::memref::ExtractStridedMetadataOp metadata;
  mlir::Value flat, filled;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETOVECTOR_GATHERER_H
