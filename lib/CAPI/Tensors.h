//===- Tensors.h - Tensors of the C interface -------------------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_TENSORS_H
#define NSACC_LIB_CAPI_TENSORS_H

#include "Error.h"
#include "nsacc/Tensor/Tensor.h"

namespace nsacc::capi {

using TensorName = llvm::function_ref<std::string()>;

enum class Access {
  None, ///< only the shape is needed; there may be no memory
  Read,
  Write ///< elements must not overlap
};

/// Borrows the caller's memory as `result` after checking for mistakes of C
/// code. `what` computes the tensor's name in messages; most calls don't need
/// it.
Failure borrow(const nsacc_tensor &tensor, Access access, TensorName what,
               Tensor &result);

/// Whether the ranges of memory of both tensors overlap.
bool mayOverlap(const Tensor &left, const Tensor &right);
/// Whether an element of one shares memory with one of the other. Both were
/// borrowed for writing.
bool overlap(const Tensor &left, const Tensor &right);

} // namespace nsacc::capi

#endif // NSACC_LIB_CAPI_TENSORS_H
