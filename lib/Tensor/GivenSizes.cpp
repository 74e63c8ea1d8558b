//===- GivenSizes.cpp - Sizes that a caller gives, by name ----------------===//

#include "nsacc/Tensor/GivenSizes.h"
#include "nsacc/Support/Suggestions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace nsacc;

static llvm::Error makeError(SizeSyntax syntax, const llvm::Twine &message,
                             const llvm::Twine &hint) {
  return llvm::createStringError(
      message + (syntax == SizeSyntax::Flags ? "\nnote: " : ": ") + hint);
}

/// Spells a size as the user gives it: "--dims T=…" or "'T': …"
static std::string spell(SizeSyntax syntax, llvm::StringRef name,
                         const llvm::Twine &value) {
  bool isFlag = syntax == SizeSyntax::Flags;
  return ((isFlag ? "--dims " + name + "=" : "'" + name + "': ") + value).str();
}

/// "--dims T" or "'T'": the place where a size was given.
static std::string spellPlace(SizeSyntax syntax, llvm::StringRef name) {
  return syntax == SizeSyntax::Flags ? "--dims " + name.str()
                                     : quoteList({name.str()});
}

//===-- Names -------------------------------------------------------------===//

NamedDims::NamedDims(const Signature &signature) {
  for (const Argument &input : signature.inputs)
    for (const Dim &dim : input.dims) {
      bool isOfRows =
          dim.kind == Dim::Kind::Ragged || dim.kind == Dim::Kind::Offsets;
      if (!isOfRows && dim.kind != Dim::Kind::Named)
        continue;
      std::vector<std::string> &names = isOfRows ? ragged : dense;
      if (!llvm::is_contained(names, dim.name))
        names.push_back(dim.name);
    }
}

bool NamedDims::isRagged(llvm::StringRef name) const {
  return llvm::is_contained(ragged, name);
}

bool NamedDims::contains(llvm::StringRef name) const {
  return isRagged(name) || llvm::is_contained(dense, name);
}

//===-- Reading -----------------------------------------------------------===//

GivenSizes::GivenSizes(const Signature &signature, SizeSyntax syntax)
    : signature(signature), syntax(syntax), dims(signature) {}

llvm::Error GivenSizes::checkName(llvm::StringRef name) const {
  if (dims.contains(name))
    return llvm::Error::success();
  std::vector<std::string> all = dims.dense;
  llvm::append_range(all, dims.ragged);
  llvm::SmallVector<llvm::StringRef> names(all.begin(), all.end());
  llvm::StringRef nearest = findNearest(name, names);
  std::string hint = !nearest.empty() ? "did you mean '" + nearest.str() + "'?"
                     : all.empty()    ? "it has none by name"
                                      : "it has " + quoteList(all);
  return makeError(syntax,
                   "kernel '" + signature.kernel + "' has no dimension '" +
                       name + "'",
                   hint);
}

llvm::Expected<int64_t> GivenSizes::parse(llvm::StringRef name,
                                          llvm::StringRef text) const {
  int64_t size;
  if (!text.trim().getAsInteger(10, size) && size >= 0 && size <= kLargestSize)
    return size;
  std::string place = spellPlace(syntax, name);
  return llvm::createStringError(
      place + ": '" + text +
      "' isn't a size, expected a number from 0 to 2^40" +
      (text.contains('=') ? "; commas separate sizes, as in B=1,T=8" : ""));
}

llvm::Error GivenSizes::addNumber(llvm::StringRef name, llvm::StringRef text) {
  if (llvm::Error error = checkName(name))
    return error;
  bool isFlag = syntax == SizeSyntax::Flags;
  if (dims.isRagged(name))
    return makeError(
        syntax,
        "dimension " + name + " of kernel '" + signature.kernel + "' is ragged",
        "give the lengths of its rows" + llvm::Twine(isFlag ? ": " : ", as ") +
            spell(syntax, name, "[" + text + (isFlag ? ",…]" : ", …]")));
  llvm::Expected<int64_t> size = parse(name, text);
  if (!size)
    return size.takeError();
  sizes.sizes[name] = *size;
  return llvm::Error::success();
}

llvm::Error GivenSizes::addRows(llvm::StringRef name,
                                llvm::ArrayRef<llvm::StringRef> lengths) {
  if (llvm::Error error = checkName(name))
    return error;
  if (!dims.isRagged(name))
    return makeError(
        syntax,
        "dimension " + name + " of kernel '" + signature.kernel +
            "' isn't ragged",
        "give one size" +
            llvm::Twine(syntax == SizeSyntax::Flags ? ": " : ", as ") +
            spell(syntax, name, "…"));
  std::vector<int64_t> offsets = {0};
  for (llvm::StringRef text : lengths) {
    llvm::Expected<int64_t> length = parse(name, text);
    if (!length)
      return length.takeError();
    // Sums of a few sizes fit 64 bits, but many could overflow.
    offsets.push_back(std::min(offsets.back() + *length, kLargestSize));
  }
  std::string place = spellPlace(syntax, name);
  if (offsets.back() > INT32_MAX)
    return llvm::createStringError(place + ": the rows add up to " +
                                   llvm::Twine(offsets.back()) +
                                   ", more than the i32 offsets can say");
  if (sizes.batchRows && *sizes.batchRows != int64_t(lengths.size()))
    return makeError(syntax,
                     place + " gives " + llvm::Twine(lengths.size()) +
                         " rows, another ragged dimension " +
                         llvm::Twine(*sizes.batchRows),
                     "all ragged dimensions of a kernel share one batch");
  sizes.batchRows = lengths.size();
  sizes.sizes[name] = offsets.back();
  sizes.offsets[name] = std::move(offsets);
  return llvm::Error::success();
}

//===-- Checking ----------------------------------------------------------===//

/// "add --dims B=…,T=[…]" or "give them, as {'B': …, 'T': […]}"
static std::string askFor(llvm::ArrayRef<std::string> names,
                          const NamedDims &dims, SizeSyntax syntax) {
  bool isFlag = syntax == SizeSyntax::Flags;
  std::vector<std::string> parts;
  for (llvm::StringRef name : names) {
    llvm::StringRef value = dims.isRagged(name) ? "[…]" : "…";
    parts.push_back(isFlag ? (name + "=" + value).str()
                           : spell(syntax, name, value));
  }
  return isFlag ? "add --dims " + llvm::join(parts, ",")
                : "add them, as {" + llvm::join(parts, ", ") + "}";
}

llvm::Expected<DimSizes> nsacc::bindAllSizes(const Signature &signature,
                                             DimSizes known,
                                             const llvm::Twine &what,
                                             SizeSyntax syntax) {
  llvm::SmallVector<const Tensor *> none(signature.inputs.size(), nullptr);
  auto bound = bindKnownDimensions(signature, none, std::move(known));
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
    return makeError(syntax,
                     "nothing tells the size of " + quoteList(missing) +
                         ", and " + what + " is of one call's sizes",
                     askFor(missing, NamedDims(signature), syntax));
  // Sizes that other dimensions need, as the rows of offsets.
  for (const Argument &input : signature.inputs)
    if (auto shape = getShape(input, *bound); !shape)
      return shape.takeError();
  return bound;
}
