//===- Symbols.h - What the names of a kernel mean --------------*- C++ -*-===//

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
    Unknown,   ///< reported; stands for anything
    Constant,  ///< a compile-time value
    Tensor,    ///<
    Attention, ///< an attend or merge result: a tensor with more to ask for
    Importance,
    Selection
  };

  bool isUnknown() const { return kind == Kind::Unknown; }
  /// Has dimensions and elements.
  bool isTensor() const {
    return kind == Kind::Tensor || kind == Kind::Attention;
  }
  nsa::NamedTensorType getTensorType() const {
    return mlir::cast<nsa::NamedTensorType>(value.getType());
  }

  Kind kind = Kind::Unknown;
  Constant constant = {};
  mlir::Value value = {};
  /// Of a selection that was handed in with a row for so many tokens.
  bool hasGroups = false;
  /// Of an attention with softmax.
  mlir::Value lse = {};
  /// Of an attention that isn't merged.
  nsa::AttendOp attend = {};
  /// `attend(q, k)`: has scores but no output.
  bool scoresOnly = false;
  /// Of an importance: what it counts. None: scores that were handed in.
  std::optional<nsa::ImportanceKind> importance = {};
};

/// "a selection of blocks", … for messages.
llvm::StringRef describe(Bound::Kind kind);

/// The type as programs write it: `bf16[B, T]`.
std::string spell(nsa::NamedTensorType type);

struct Symbol {
  enum class Kind { Param, Dim, Input, Value };
  Kind kind;
  Range range;
  Bound bound = {};
  /// Of a dimension.
  nsa::NamedDimAttr dim = {};
  /// Of an input: which dimension of its type each declared one is.
  llvm::SmallVector<int64_t, 4> order = {};
  /// Something asks for its value.
  mutable bool isUsed = false;

  /// Of an input: its dimensions as declared, for messages.
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
