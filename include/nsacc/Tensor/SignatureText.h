//===- SignatureText.h - Signatures as JSON ---------------------*- C++ -*-===//

#ifndef NSACC_TENSOR_SIGNATURETEXT_H
#define NSACC_TENSOR_SIGNATURETEXT_H

#include "nsacc/Tensor/Signature.h"

namespace nsacc {

/// The whole signature as JSON, on one line.
std::string writeSignature(const Signature &signature);
/// Fails if writeSignature can't have made the text. Names may be of dimensions
/// that no input has.
llvm::Expected<Signature> readSignature(llvm::StringRef text);

} // namespace nsacc

#endif // NSACC_TENSOR_SIGNATURETEXT_H
