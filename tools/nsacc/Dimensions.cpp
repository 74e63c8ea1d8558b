//===- Dimensions.cpp - Sizes given on the command line -------------------===//

#include "Dimensions.h"
#include "Messages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;

/// No size is larger, so that sums and products of a few stay in range.
static constexpr int64_t largestSize = int64_t(1) << 40;

//===-- Reading -----------------------------------------------------------===//

namespace {
/// The named dimensions of a kernel's inputs.
struct NamedDims {
  explicit NamedDims(const Signature &signature);

  std::vector<std::string> all;
  llvm::SetVector<llvm::StringRef> dense, ragged;
};
} // namespace

NamedDims::NamedDims(const Signature &signature) {
  for (const Argument &input : signature.inputs)
    for (const Dim &dim : input.dims) {
      if (dim.kind == Dim::Kind::Ragged || dim.kind == Dim::Kind::Offsets)
        ragged.insert(dim.name);
      else if (dim.kind == Dim::Kind::Named)
        dense.insert(dim.name);
    }
  for (llvm::StringRef name :
       llvm::concat<const llvm::StringRef>(dense, ragged))
    all.push_back(name.str());
}

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
  if (llvm::is_contained(NamedDims(signature).all, name))
    return FlagOfName{"a dimension", "--dims " + text + "=…"};
  return std::nullopt;
}

static llvm::Expected<int64_t> parseSize(llvm::StringRef name,
                                         llvm::StringRef text) {
  int64_t size;
  if (!text.trim().getAsInteger(10, size) && size >= 0 && size <= largestSize)
    return size;
  return makeError(
      "--dims " + name + ": '" + text +
      "' isn't a size, expected a number from 0 to 2^40" +
      (text.contains('=') ? "; commas separate sizes, as in B=1,T=8" : ""));
}

static llvm::Error readRows(llvm::StringRef name, llvm::StringRef text,
                            DimSizes &sizes) {
  text = text.drop_front().drop_back();
  llvm::SmallVector<llvm::StringRef> rows;
  if (!text.trim().empty())
    text.split(rows, ',');
  std::vector<int64_t> offsets = {0};
  for (llvm::StringRef row : rows) {
    llvm::Expected<int64_t> length = parseSize(name, row);
    if (!length)
      return length.takeError();
    offsets.push_back(offsets.back() + *length);
  }
  if (offsets.back() > INT32_MAX)
    return makeError("--dims " + name + ": the rows add up to " +
                     llvm::Twine(offsets.back()) +
                     ", more than the i32 offsets can say");
  if (sizes.batchRows && *sizes.batchRows != int64_t(rows.size()))
    return makeError("--dims " + name + " gives " + llvm::Twine(rows.size()) +
                         " rows, another ragged dimension " +
                         llvm::Twine(*sizes.batchRows),
                     "all ragged dimensions of a kernel share one batch");
  sizes.batchRows = rows.size();
  sizes.sizes[name] = offsets.back();
  sizes.offsets[name] = std::move(offsets);
  return llvm::Error::success();
}

static llvm::Error rejectUnknown(llvm::StringRef name, const NamedDims &dims,
                                 const Signature &signature) {
  if (auto flag = findFlag(signature, name))
    return makeError("'" + name + "' is " + flag->kind + " of kernel '" +
                         signature.kernel + "', not a dimension",
                     "give it as " + flag->spelling);
  return makeError("kernel '" + signature.kernel + "' has no dimension '" +
                       name + "'",
                   suggest(name, dims.all,
                           dims.all.empty() ? "it has none by name"
                                            : "it has " + quoteList(dims.all)));
}

llvm::Expected<DimSizes> nsacc::readDimensions(const Settings &settings,
                                               const Signature &signature) {
  NamedDims dims(signature);
  DimSizes sizes;
  for (auto &[name, value] : settings) {
    llvm::StringRef text = value;
    bool isList = text.starts_with("[") && text.ends_with("]");
    if (!dims.dense.contains(name) && !dims.ragged.contains(name))
      return rejectUnknown(name, dims, signature);
    if (dims.ragged.contains(name)) {
      if (!isList)
        return makeError("dimension " + name + " of kernel '" +
                             signature.kernel + "' is ragged",
                         "give the lengths of its rows: --dims " + name + "=[" +
                             value + ",…]");
      if (llvm::Error error = readRows(name, value, sizes))
        return error;
      continue;
    }
    if (isList)
      return makeError("dimension " + name + " of kernel '" + signature.kernel +
                           "' isn't ragged",
                       "give one size: --dims " + name + "=…");
    llvm::Expected<int64_t> size = parseSize(name, value);
    if (!size)
      return size.takeError();
    sizes.sizes[name] = *size;
  }
  return sizes;
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
  llvm::SmallVector<const Tensor *> none(signature.inputs.size(), nullptr);
  auto bound = bindKnownDimensions(signature, none, std::move(*sizes));
  if (!bound)
    return bound.takeError();
  std::vector<std::string> missing;
  for (const Argument &input : signature.inputs)
    for (const Dim &dim : input.dims)
      if ((dim.kind == Dim::Kind::Named || dim.kind == Dim::Kind::Ragged) &&
          !bound->sizes.contains(dim.name) &&
          !llvm::is_contained(missing, dim.name))
        missing.push_back(dim.name);
  if (!missing.empty())
    return makeError("nothing tells the size of " + quoteList(missing) +
                         ", and " + what + " is of one call's sizes",
                     "add --dims " + llvm::join(missing, "=…,") + "=…");
  // What other dimensions need, as the rows of offsets.
  for (const Argument &input : signature.inputs)
    if (auto shape = getShape(input, *bound); !shape)
      return shape.takeError();
  return bound;
}
