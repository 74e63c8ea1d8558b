//===- PackageSignature.h - Signatures of packages' programs ----*- C++ -*-===//

#ifndef NSACC_DRIVER_PACKAGESIGNATURE_H
#define NSACC_DRIVER_PACKAGESIGNATURE_H

#include "nsacc/RT/Package.h"
#include "nsacc/Tensor/Signature.h"

namespace nsacc {

/// Sizes of a package's parameters, each in the order of its buffer.
class BufferSizes {
public:
  /// Parameters are the inputs and results of `signature`, in its order.
  static llvm::Expected<BufferSizes> get(const rt::Package &package,
                                         const Signature &signature,
                                         const DimSizes &dims);

  /// One pointer for each parameter, as the runtime takes them.
  std::vector<const int64_t *> getPointers() const;
  llvm::ArrayRef<int64_t> operator[](size_t parameter) const {
    return sizes[parameter];
  }
  int64_t getBytes(size_t parameter) const { return bytes[parameter]; }

private:
  std::vector<std::vector<int64_t>> sizes;
  std::vector<int64_t> bytes;
};

/// A size that is too large for any GPU's code: "T = 75000000000: sizes are
/// below 2^29 on a GPU"; empty if there is none.
std::string findTooLarge(const rt::Package &package, const BufferSizes &sizes);

/// Reads the signature that the compiler stored beside a package's parameters.
/// Fails if it doesn't match them, as in a damaged package.
llvm::Expected<Signature> readSignature(const rt::Package &package);

} // namespace nsacc

#endif // NSACC_DRIVER_PACKAGESIGNATURE_H
