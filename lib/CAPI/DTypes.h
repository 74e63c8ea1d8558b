//===- DTypes.h - Element types of the C interface --------------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_DTYPES_H
#define NSACC_LIB_CAPI_DTYPES_H

#include "nsacc-c/nsacc.h"
#include "nsacc/Runtime/Tensor.h"

namespace nsacc::capi {

nsacc_dtype toC(DType dtype);
/// None where C code passed something that isn't an element type.
std::optional<DType> fromC(nsacc_dtype dtype);

} // namespace nsacc::capi

#endif // NSACC_LIB_CAPI_DTYPES_H
