//===- QueryShape.h - Which query tiles a value is computed over -*- C++ -*-==//

#ifndef NSACC_SCHEDULE_QUERYSHAPE_H
#define NSACC_SCHEDULE_QUERYSHAPE_H

#include "NSA/IR/NSAOps.h"
#include "llvm/ADT/SetVector.h"

namespace nsacc {

/// The size of a dimension that the kernel was specialized for.
std::optional<int64_t> getStaticSize(nsa::KernelOp kernel, mlir::Attribute dim);

/// The dimensions that a query tile runs over: [B, T, HQ] or [ragged T, HQ].
/// `batch` is null for ragged queries.
struct QueryDims {
  mlir::Attribute batch, token, head;

  static QueryDims get(nsa::NamedTensorType query);
  bool operator==(const QueryDims &other) const = default;
};

/// The dimensions of a tensor of rows, [batch, tokens, heads, channels], the
/// batch without a number where they are ragged.
enum RowDim { kBatch, kToken, kHead, kChannel, kRowDims };
/// Those of a tensor that starts with the first of them and has no others.
nsa::DimSet getRowDims(nsa::NamedTensorType type);
/// Whether a tensor has at most so many dimensions.
inline bool hasRowDims(nsa::NamedTensorType type) {
  return getRowDims(type).size() == kRowDims;
}

/// What a program over query tiles needs to know of a kernel's attentions.
struct QueryShape {
  QueryDims dims;
  mlir::Attribute keyHead;
  int64_t group = 1; ///< query heads of a key head; 1 without sizes

  bool operator==(const QueryShape &other) const = default;
};

/// The shape of one of them.
QueryShape getQueryShape(nsa::KernelOp kernel, nsa::ScoringOpInterface op);

/// Whether each of `group` query heads of a key head has a selection of its
/// own, rather than each key head, or all of them one.
bool isPerQueryHead(nsa::SelectionType selection, const QueryDims &dims,
                    int64_t group);

/// The different lists of a selection for a tile of `tokens` tokens.
struct TileLists {
  TileLists(nsa::SelectionType selection, const QueryDims &dims, int64_t tokens,
            int64_t group);

  /// Tokens that have one, and rows; their number in the tile.
  int64_t tokens, rows, count;
  /// Tokens of a list are all in the tile, or those of the tile have one.
  bool areWhole;
};

/// The shape of the attentions that a tensor is computed from, as far as they
/// don't stand in memory: that of the first, null without any. Others differ
/// from it, or have rows and channels in other places than the tensor.
struct FoundShape {
  std::optional<QueryShape> shape;
  nsa::ScoringOpInterface first;
  llvm::SetVector<mlir::Operation *> others;
};
FoundShape findQueryShape(nsa::KernelOp kernel, mlir::Value tensor,
                          llvm::function_ref<bool(mlir::Value)> isInMemory);

} // namespace nsacc

#endif // NSACC_SCHEDULE_QUERYSHAPE_H
