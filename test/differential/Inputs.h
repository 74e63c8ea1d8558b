//===- Inputs.h - Tensors of a run ------------------------------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_INPUTS_H
#define NSACC_TEST_DIFFERENTIAL_INPUTS_H

#include "Case.h"

namespace nsacc::differential {

llvm::Expected<std::vector<Tensor>>
makeInputs(const Case &testCase, const Run &run, const Signature &signature);

/// A tensor of zeros in a layout.
Tensor allocate(DType dtype, llvm::ArrayRef<int64_t> shape, Layout layout);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_INPUTS_H
