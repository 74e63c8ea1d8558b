//===- QueryShape.h - Query tiles that values are computed over -*- C++ -*-===//

#ifndef NSACC_SCHEDULE_QUERYSHAPE_H
#define NSACC_SCHEDULE_QUERYSHAPE_H

#include "NSA/IR/NSAOps.h"
#include "llvm/ADT/SetVector.h"

namespace nsacc {

/// Size of a dimension, if it is a constant or the kernel was specialized for
/// it.
std::optional<int64_t> getStaticSize(nsa::KernelOp kernel, mlir::Attribute dim);

/// A kernel's attentions: ops that score pairs and sum values.
llvm::SmallVector<nsa::ScoringOpInterface> findAttends(nsa::KernelOp kernel);

/// Dimensions that a query tile runs over: [B, T, HQ] or [ragged T, HQ].
/// `batch` is null for ragged queries.
struct QueryDims {
  mlir::Attribute batch, token, head;

  static QueryDims get(nsa::NamedTensorType query);
  bool operator==(const QueryDims &other) const = default;
};

/// Dimensions of a tensor of rows, [batch, tokens, heads, channels]. Ragged
/// rows have no batch dimension.
enum RowDim { kBatch, kToken, kHead, kChannel, kRowDims };
/// Set of the tensor's dimensions, numbered as dimensions of rows.
nsa::DimSet getRowDims(nsa::NamedTensorType type);
/// Whether a tensor has no more dimensions than rows have.
inline bool hasRowDims(nsa::NamedTensorType type) {
  return getRowDims(type).size() == kRowDims;
}

/// Facts about a kernel's attentions that a program over query tiles needs.
struct QueryShape {
  QueryDims dims;
  mlir::Attribute keyHead;
  int64_t group = 1; ///< query heads per key head; 1 without sizes

  bool operator==(const QueryShape &other) const = default;
};

/// Shape of one attention or importance.
QueryShape getQueryShape(nsa::KernelOp kernel, nsa::ScoringOpInterface op);

/// Whether each of the `group` query heads of a key head has its own selection.
/// Otherwise each key head has one, or all heads share one.
bool isPerQueryHead(nsa::SelectionType selection, const QueryDims &dims,
                    int64_t group);

/// Distinct lists of a selection in a tile of `tokens` tokens.
struct TileLists {
  TileLists(nsa::SelectionType selection, const QueryDims &dims, int64_t tokens,
            int64_t group);

  /// Tokens and rows of each list in the tile, and the number of lists in it.
  int64_t tokens, rows, count;
  /// Whether the tile has all tokens of each list, or one list has all tokens
  /// of the tile.
  bool areWhole;
};

/// Shape of the attentions that a tensor is computed from, unless they stand in
/// memory. It is the shape of the first one, null without any. `others` have
/// another shape, or have rows and channels in other places than the tensor.
struct FoundShape {
  std::optional<QueryShape> shape;
  nsa::ScoringOpInterface first;
  llvm::SetVector<mlir::Operation *> others;
};
FoundShape findQueryShape(nsa::KernelOp kernel, mlir::Value tensor,
                          llvm::function_ref<bool(mlir::Value)> isInMemory);

} // namespace nsacc

#endif // NSACC_SCHEDULE_QUERYSHAPE_H
