/*===- nsacc-c/dtype.h - Element types of tensors -----------------*- C -*-===*\
|*                                                                            *|
|* Both C interfaces, nsacc-c/nsacc.h and nsacc-rt/nsacc_rt.h, number element *|
|* types so. The header needs nothing else of nsacc.                          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef NSACC_C_DTYPE_H
#define NSACC_C_DTYPE_H

#include <stdint.h>

/**
 * An element type, as an integer: a value that a library doesn't know is an
 * error, not undefined. 0 is no element type.
 */
typedef int32_t nsacc_dtype;
enum {
  NSACC_DTYPE_BOOL = 1, /**< one byte, 0 or 1 */
  NSACC_DTYPE_I32 = 2,
  NSACC_DTYPE_I64 = 3,
  NSACC_DTYPE_F16 = 4,
  NSACC_DTYPE_BF16 = 5,
  NSACC_DTYPE_F32 = 6,
  NSACC_DTYPE_F64 = 7
};

#endif /* NSACC_C_DTYPE_H */
