//===- SignatureText.h - Signatures as JSON ---------------------*- C++ -*-===//

#ifndef NSACC_TENSOR_SIGNATURETEXT_H
#define NSACC_TENSOR_SIGNATURETEXT_H

#include "nsacc/Tensor/Signature.h"

namespace nsacc {

/// All that is in a signature, on one line.
std::string writeSignature(const Signature &signature);
/// Fails where the text isn't what writeSignature makes. Names may be of
/// dimensions that no input has.
llvm::Expected<Signature> readSignature(llvm::StringRef text);

} // namespace nsacc

#endif // NSACC_TENSOR_SIGNATURETEXT_H
