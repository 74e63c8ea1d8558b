//===- Signature.h - The signature of a kernel op ---------------*- C++ -*-===//

#ifndef NSACC_PIPELINES_SIGNATURE_H
#define NSACC_PIPELINES_SIGNATURE_H

#include "nsacc/Signature/Signature.h" // IWYU pragma: export

#endif // NSACC_PIPELINES_SIGNATURE_H
