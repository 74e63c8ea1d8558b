//===- DTypes.cpp - Element types of the C interface ----------------------===//

#include "DTypes.h"

using namespace nsacc;

nsacc_dtype capi::toC(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return NSACC_DTYPE_BOOL;
  case DType::I32:
    return NSACC_DTYPE_I32;
  case DType::I64:
    return NSACC_DTYPE_I64;
  case DType::F16:
    return NSACC_DTYPE_F16;
  case DType::BF16:
    return NSACC_DTYPE_BF16;
  case DType::F32:
    return NSACC_DTYPE_F32;
  case DType::F64:
    return NSACC_DTYPE_F64;
  }
  return 0;
}

std::optional<DType> capi::fromC(nsacc_dtype dtype) {
  switch (dtype) {
  case NSACC_DTYPE_BOOL:
    return DType::Bool;
  case NSACC_DTYPE_I32:
    return DType::I32;
  case NSACC_DTYPE_I64:
    return DType::I64;
  case NSACC_DTYPE_F16:
    return DType::F16;
  case NSACC_DTYPE_BF16:
    return DType::BF16;
  case NSACC_DTYPE_F32:
    return DType::F32;
  case NSACC_DTYPE_F64:
    return DType::F64;
  }
  return std::nullopt;
}

const char *nsacc_dtype_name(nsacc_dtype dtype) {
  std::optional<DType> known = capi::fromC(dtype);
  return known ? getName(*known).data() : nullptr;
}

size_t nsacc_dtype_size(nsacc_dtype dtype) {
  std::optional<DType> known = capi::fromC(dtype);
  return known ? getSize(*known) : 0;
}
