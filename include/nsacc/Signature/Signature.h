//===- Signature.h - The signature of a kernel op ---------------*- C++ -*-===//

#ifndef NSACC_SIGNATURE_SIGNATURE_H
#define NSACC_SIGNATURE_SIGNATURE_H

#include "nsacc/Tensor/Signature.h"

namespace nsacc::nsa {
class KernelOp;
} // namespace nsacc::nsa

namespace nsacc {

/// The kernel's signature as plain data.
Signature getSignature(nsa::KernelOp kernel);

} // namespace nsacc

#endif // NSACC_SIGNATURE_SIGNATURE_H
