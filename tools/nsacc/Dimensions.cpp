//===- Dimensions.cpp - Sizes given on the command line -------------------===//

#include "Dimensions.h"
#include "Messages.h"
#include "nsacc/Tensor/GivenSizes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;

//===-- Reading -----------------------------------------------------------===//

std::optional<FlagOfName> nsacc::findFlag(const Signature &signature,
                                          llvm::StringRef name) {
  auto isNamed = [&](const Argument &argument) {
    return argument.name == name;
  };
  std::string text = name.str();
  if (llvm::any_of(signature.params,
                   [&](auto &param) { return param.first == name; }))
    return FlagOfName{"a parameter", "--set " + text + "=…"};
  if (llvm::any_of(signature.inputs, isNamed))
    return FlagOfName{"an input", "--input " + text + "=FILE.npy"};
  if (llvm::any_of(signature.results, isNamed))
    return FlagOfName{"a result", "--output " + text + "=FILE.npy"};
  if (NamedDims(signature).contains(name))
    return FlagOfName{"a dimension", "--dims " + text + "=…"};
  return std::nullopt;
}

llvm::Expected<DimSizes> nsacc::readDimensions(const Settings &settings,
                                               const Signature &signature) {
  NamedDims dims(signature);
  GivenSizes sizes(signature, SizeSyntax::Flags);
  for (auto &[name, value] : settings) {
    llvm::StringRef text = value;
    if (auto flag = findFlag(signature, name); flag && !dims.contains(name))
      return makeError("'" + name + "' is " + flag->kind + " of kernel '" +
                           signature.kernel + "', not a dimension",
                       "give it as " + flag->spelling);
    bool isList = text.consume_front("[") && text.consume_back("]");
    llvm::SmallVector<llvm::StringRef> rows;
    if (isList && !text.trim().empty())
      text.split(rows, ',');
    if (llvm::Error error =
            isList ? sizes.addRows(name, rows) : sizes.addNumber(name, value))
      return error;
  }
  return sizes.take();
}

//===-- Checking ----------------------------------------------------------===//

llvm::Error nsacc::checkDimensions(const Signature &signature,
                                   llvm::ArrayRef<const Tensor *> given,
                                   const DimSizes &sizes) {
  llvm::SetVector<llvm::StringRef> missing;
  std::vector<std::string> inputs, flags;
  for (auto [argument, tensor] : llvm::zip(signature.inputs, given)) {
    if (tensor)
      continue;
    bool isMissing = false;
    for (const Dim &dim : argument.dims) {
      bool isRagged =
          dim.kind == Dim::Kind::Ragged || dim.kind == Dim::Kind::Offsets;
      if (!isRagged && dim.kind != Dim::Kind::Named)
        continue;
      if (isRagged ? sizes.offsets.contains(dim.name)
                   : sizes.sizes.contains(dim.name))
        continue;
      isMissing = true;
      if (missing.insert(dim.name))
        flags.push_back(dim.name + (isRagged ? "=[…]" : "=…"));
    }
    if (isMissing)
      inputs.push_back(argument.name);
  }
  if (missing.empty())
    return llvm::Error::success();
  std::vector<std::string> names;
  for (llvm::StringRef name : missing)
    names.push_back(name.str());
  return makeError("nothing tells the size of " + quoteList(names) +
                       ", needed to make " + quoteList(inputs),
                   "add --dims " + llvm::join(flags, ",") +
                       ", or hand in tensors with --input NAME=FILE");
}

llvm::Expected<DimSizes> nsacc::readAllDimensions(const Settings &dims,
                                                  const Signature &signature,
                                                  const llvm::Twine &what) {
  auto sizes = readDimensions(dims, signature);
  if (!sizes)
    return sizes.takeError();
  return bindAllSizes(signature, std::move(*sizes), what, SizeSyntax::Flags);
}
