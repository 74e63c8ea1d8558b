//===- Tensors.h - Tensors that cross the C interface -----------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_TENSORS_H
#define NSACC_LIB_CAPI_TENSORS_H

#include "Error.h"
#include "nsacc/Runtime/Tensor.h"

namespace nsacc::capi {

enum class Access {
  None, ///< only the shape is wanted; there may be no memory
  Read,
  Write ///< elements must not overlap
};

/// Borrows the caller's memory as `result` after checking what C code may have
/// got wrong. `what` names the tensor in messages.
Failure borrow(const nsacc_tensor &tensor, Access access,
               const std::string &what, Tensor &result);

} // namespace nsacc::capi

#endif // NSACC_LIB_CAPI_TENSORS_H
