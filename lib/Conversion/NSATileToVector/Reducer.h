//===- Reducer.h - Sums and maxima of vectors -------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETOVECTOR_REDUCER_H
#define NSACC_LIB_CONVERSION_NSATILETOVECTOR_REDUCER_H

#include "TileEmitter.h"

namespace nsacc {

/// Emits code that combines two vectors, or the elements of one.
class Reducer {
public:
  enum class Kind {
    Sum,
    Max,           // a NaN makes it NaN
    MaxIgnoringNaN // one instruction where Max takes several
  };

  Reducer(TileEmitter &emitter, Kind kind) : emitter(emitter), kind(kind) {}

  mlir::Value getNeutral(int64_t width);
  /// Combines two values; Kind::MaxIgnoringNaN ignores a NaN in `next`.
  mlir::Value combine(mlir::Value next, mlir::Value result);
  /// Combines the elements of a vector, in a fixed order.
  mlir::Value reduce(mlir::Value vector);

private:
  TileEmitter &emitter;
  Kind kind;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETOVECTOR_REDUCER_H
