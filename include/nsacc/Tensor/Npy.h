//===- Npy.h - Tensors as NumPy .npy files ----------------------*- C++ -*-===//

#ifndef NSACC_TENSOR_NPY_H
#define NSACC_TENSOR_NPY_H

#include "nsacc/Tensor/Tensor.h"
#include "llvm/Support/Error.h"

namespace nsacc {

/// Reads a .npy file of format 1.0 to 3.0: little-endian booleans, i4, i8, f2,
/// f4, f8 and bf16, in C or Fortran order. NumPy has no bf16: `np.save` of an
/// array of ml_dtypes.bfloat16 writes elements of two opaque bytes ("<V2"),
/// which are read as bf16.
llvm::Expected<Tensor> readNpy(llvm::StringRef path);

/// Writes a .npy file of format 1.0 in C order, whole or not at all. bf16
/// becomes "<V2": `np.load(path).view(ml_dtypes.bfloat16)` reads it.
llvm::Error writeNpy(llvm::StringRef path, const Tensor &tensor);

} // namespace nsacc

#endif // NSACC_TENSOR_NPY_H
