//===- GivenSizes.h - Sizes that a caller gives, by name --------*- C++ -*-===//

#ifndef NSACC_TENSOR_GIVENSIZES_H
#define NSACC_TENSOR_GIVENSIZES_H

#include "nsacc/Tensor/Signature.h"

namespace nsacc {

/// The largest size; sums and products of a few sizes stay in range.
constexpr int64_t kLargestSize = int64_t(1) << 40;

/// Spelling of sizes in messages: as flags, `--dims B=1,T=[5,7]`, with a note
/// that says how to fix them; or as a mapping of Python or JSON, `{'B': 1, 'T':
/// [5, 7]}`.
enum class SizeSyntax { Flags, Mapping };

/// The named dimensions of a kernel's inputs.
struct NamedDims {
  explicit NamedDims(const Signature &signature);

  bool isRagged(llvm::StringRef name) const;
  bool contains(llvm::StringRef name) const;

  std::vector<std::string> dense, ragged;
};

/// Collects sizes as a caller gives them: a number, or the lengths of a ragged
/// dimension's rows. Numbers may be strings.
class GivenSizes {
public:
  GivenSizes(const Signature &signature, SizeSyntax syntax);

  llvm::Error addNumber(llvm::StringRef name, llvm::StringRef size);
  llvm::Error addRows(llvm::StringRef name,
                      llvm::ArrayRef<llvm::StringRef> lengths);

  DimSizes take() { return std::move(sizes); }

private:
  llvm::Expected<int64_t> parse(llvm::StringRef name,
                                llvm::StringRef text) const;
  llvm::Error checkName(llvm::StringRef name) const;

  const Signature &signature;
  SizeSyntax syntax;
  NamedDims dims;
  DimSizes sizes;
};

/// The sizes of all inputs, none of which is given as a tensor: fails if
/// `known` lacks some, and names them all. `what` needs one call's sizes, "an
/// explanation".
llvm::Expected<DimSizes> bindAllSizes(const Signature &signature,
                                      DimSizes known, const llvm::Twine &what,
                                      SizeSyntax syntax);

} // namespace nsacc

#endif // NSACC_TENSOR_GIVENSIZES_H
