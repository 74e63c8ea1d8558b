//===- Sequence.h - Dimensions of queries, keys and values ------*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_SEQUENCE_H
#define NSACC_LIB_FRONTEND_SEQUENCE_H

#include "KernelGen.h"

namespace nsacc::frontend {

/// The dimensions of [B, S, H, D] or [ragged S, H, D] by their meaning.
struct KernelGen::Sequence {
  const ast::Expr *expr;
  mlir::Attribute batch; ///< null if ragged rows are packed
  mlir::Attribute tokens, heads, features;

  bool isRagged() const { return !batch; }
  Dims getRows() const {
    Dims rows;
    if (batch)
      rows.push_back(batch);
    rows.push_back(tokens);
    return rows;
  }
};

/// The type of a tensor with the dimensions of inputs in the program's order,
/// for messages.
nsa::NamedTensorType getDeclaredType(mlir::Value tensor,
                                     const Symbols &symbols);

/// Whether a dimension's name is T, S, seq_len, tokens, …
bool soundsLikeTokens(llvm::StringRef name);

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_SEQUENCE_H
