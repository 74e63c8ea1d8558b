//===- PackageSignature.cpp - The signature of a package's program --------===//

#include "nsacc/Driver/PackageSignature.h"
#include "nsacc/Tensor/SignatureText.h"
#include "llvm/ADT/STLExtras.h"

using namespace nsacc;

/// Whether a declared dimension can have a parameter's size. Computed
/// dimensions are checked with tensors.
static bool hasSize(const Dim &dim, const rt::Size &size) {
  if (dim.kind == Dim::Kind::Constant)
    return size.name.empty() && size.fixed.value_or(dim.size) == dim.size;
  return dim.kind != Dim::Kind::Named || size.name.empty() ||
         size.name == dim.name;
}

/// Whether the signature matches the package's parameters, which the runtime
/// checks.
static bool describes(const Signature &signature, const rt::Package &package) {
  auto isSame = [](const Argument &argument, const rt::Parameter &parameter,
                   bool isResult) {
    return argument.name == parameter.name &&
           argument.dtype == parameter.dtype &&
           argument.dims.size() == parameter.sizes.size() &&
           llvm::equal(argument.dims, parameter.sizes, hasSize) &&
           parameter.isResult == isResult &&
           parameter.offsetsOf ==
               (argument.isOffsets() ? argument.dims.front().name : "");
  };
  size_t numInputs = signature.inputs.size();
  if (numInputs + signature.results.size() != package.parameters.size() ||
      signature.kernel != package.kernel)
    return false;
  for (auto [index, parameter] : llvm::enumerate(package.parameters)) {
    bool isResult = index >= numInputs;
    const Argument &argument = isResult ? signature.results[index - numInputs]
                                        : signature.inputs[index];
    if (!isSame(argument, parameter, isResult))
      return false;
  }
  return true;
}

llvm::Expected<Signature> nsacc::readSignature(const rt::Package &package) {
  auto signature = readSignature(llvm::StringRef(package.signature));
  if (signature && describes(*signature, package))
    return signature;
  llvm::consumeError(signature.takeError());
  return llvm::createStringError(
      "damaged package: its signature isn't that of its parameters");
}

llvm::Expected<BufferSizes> BufferSizes::get(const rt::Package &package,
                                             const Signature &signature,
                                             const DimSizes &dims) {
  BufferSizes bound;
  for (const std::vector<Argument> *arguments :
       {&signature.inputs, &signature.results})
    for (const Argument &argument : *arguments) {
      auto shape = getShape(argument, dims);
      if (!shape)
        return shape.takeError();
      const rt::Parameter &parameter = package.parameters[bound.sizes.size()];
      auto &own = bound.sizes.emplace_back(shape->size());
      int64_t &bytes = bound.bytes.emplace_back(rt::getBytes(parameter.dtype));
      for (auto [dim, size] : llvm::enumerate(*shape)) {
        own[parameter.order[dim]] = size;
        bytes *= size;
      }
    }
  return bound;
}

std::vector<const int64_t *> BufferSizes::getPointers() const {
  std::vector<const int64_t *> pointers;
  for (const auto &each : sizes)
    pointers.push_back(each.data());
  return pointers;
}

std::string nsacc::findTooLarge(const rt::Package &package,
                                const BufferSizes &sizes) {
  for (auto [index, parameter] : llvm::enumerate(package.parameters))
    for (auto [dim, size] : llvm::enumerate(parameter.sizes)) {
      int64_t found = sizes[index][parameter.order[dim]];
      if (found < rt::kDeviceSizeLimit)
        continue;
      llvm::StringRef name = size.name;
      name.consume_front("ragged ");
      return (name.empty() ? "size " + std::to_string(dim) + " of '" +
                                 parameter.name + "'"
                           : name.str()) +
             " = " + std::to_string(found) + ": sizes are below 2^29 on a GPU";
    }
  return "";
}
