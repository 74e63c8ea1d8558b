//===- Symbols.h - Meanings of the names of a kernel ------------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_SYMBOLS_H
#define NSACC_LIB_FRONTEND_SYMBOLS_H

#include "Constant.h"
#include "NSA/IR/NSAOps.h"
#include "Problems.h"
#include "llvm/ADT/MapVector.h"

namespace nsacc::frontend {

/// The value of an expression over tensors.
struct Bound {
  enum class Kind {
    Unknown,   ///< reported; accepted as anything
    Constant,  ///< a compile-time value
    Tensor,    ///<
    Attention, ///< an attend or merge result: a tensor with further properties
    Importance,
    Selection
  };

  bool isUnknown() const { return kind == Kind::Unknown; }
  /// Whether it has dimensions and elements.
  bool isTensor() const {
    return kind == Kind::Tensor || kind == Kind::Attention;
  }
  nsa::NamedTensorType getTensorType() const {
    return mlir::cast<nsa::NamedTensorType>(value.getType());
  }

  Kind kind = Kind::Unknown;
  Constant constant = {};
  mlir::Value value = {};
  /// Whether a selection is an input with a row for a group of tokens.
  bool hasGroups = false;
  /// Log-sum-exp of an attention with softmax.
  mlir::Value lse = {};
  /// The op of an attention that isn't merged.
  nsa::ScoringOpInterface attend = {};
  /// `attend(q, k)`: has scores but no output.
  bool scoresOnly = false;
  /// The kind of an importance. None: scores that are an input.
  std::optional<nsa::ImportanceKind> importance = {};
};

/// "a selection of blocks", … for messages.
llvm::StringRef describe(Bound::Kind kind);

/// The type in a program's spelling: `bf16[B, T]`.
std::string spell(nsa::NamedTensorType type);

struct Symbol {
  enum class Kind { Param, Dim, Input, Value };
  Kind kind;
  Range range;
  Bound bound = {};
  /// For a dimension.
  nsa::NamedDimAttr dim = {};
  /// For an input: the index in its type of each declared dimension.
  llvm::SmallVector<int64_t, 4> order = {};
  /// Whether its value is used.
  mutable bool isUsed = false;

  /// The declared dimensions of an input, for messages.
  llvm::SmallVector<mlir::Attribute, 4> getDeclaredDims() const {
    llvm::SmallVector<mlir::Attribute, 4> dims;
    for (int64_t dim : order)
      dims.push_back(bound.getTensorType().getDims()[dim]);
    return dims;
  }
};

using Symbols = llvm::MapVector<llvm::StringRef, Symbol,
                                llvm::DenseMap<llvm::StringRef, unsigned>>;

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_SYMBOLS_H
