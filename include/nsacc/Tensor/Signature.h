//===- Signature.h - Inputs, results and dimensions of a kernel -*- C++ -*-===//

#ifndef NSACC_TENSOR_SIGNATURE_H
#define NSACC_TENSOR_SIGNATURE_H

#include "nsacc/Tensor/Tensor.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace nsacc {

/// One dimension of an input or a result.
struct Dim {
  enum class Kind {
    Constant, ///< `size`
    Named,    ///< `name`, bound from the inputs
    Ragged,   ///< the packed rows of dimension `name`
    Offsets,  ///< one more than the number of batch rows; offsets of `name`
    Pool,     ///< windows of `len` every `stride` tokens of `name`
    Pooled,   ///< declared pooled keys: size bound by dimension `count`
    Blocks    ///< blocks of `block` tokens of `name`
  };
  enum class Tail { Drop, Average, ZerosLeft, ZerosRight };

  Kind kind = Kind::Named;
  std::string name;
  std::string count;
  int64_t size = 0, len = 0, stride = 0, block = 0;
  Tail tail = Tail::Drop;
  bool ragged = false; ///< Pool and Pooled: packed rows
};

/// "drop", "average", "zeros_left", "zeros_right"; a literal.
llvm::StringRef getName(Dim::Tail tail);

/// The dimension as programs and messages spell it ("HQ", "ragged T", …).
std::string toString(const Dim &dim);

/// The integers that an input may hold, if the program says so.
struct Domain {
  enum class Kind {
    Range, ///< low <= value <= high
    /// An index of the blocks of `block` tokens of `of`; -1 is padding. If
    /// lists are stored one after the other: along dimension `rows`; else in
    /// the last one.
    Blocks,
    /// Bounds of lists along dimension `rows`. A list has at most `high` of the
    /// entries of dimension `of`.
    Offsets
  };
  Kind kind = Kind::Range;
  int64_t low = 0, high = 0;
  std::string of;
  int64_t block = 0;
  std::string rows = {};
};

struct Argument {
  std::string name;
  DType dtype = DType::BF16;
  /// In the order of the program's declaration.
  std::vector<Dim> dims;
  /// Integer inputs: known for a selection's indices, offsets and count.
  std::optional<Domain> domain;

  bool isOffsets() const {
    return dims.size() == 1 && dims.front().kind == Dim::Kind::Offsets;
  }
};

/// `q: bf16[B, T, HQ, D]`
std::string toString(const Argument &argument);

/// Dimension `multiple` must be a multiple of dimension `of`.
struct Multiple {
  enum class Reason {
    Groups, ///< each key head serves as many query heads
    Sharing ///< `of` neighbouring heads share one selection
  };
  Dim multiple, of;
  Reason reason = Reason::Groups;
};

/// Groups of `tokens` neighbouring tokens of a batch row share one row of
/// indices: dimension `groups` has one for each group of dimension `of`.
struct TokenGroups {
  std::string tensor; ///< name in messages
  Dim groups, of;
  int64_t tokens;
  bool areOffsets = false; ///< offsets of lists, one more than there are groups
};

/// Scores that are given as an input have an entry for each block: dimension
/// `entries` is as long as `blocks`.
struct BlockScores {
  std::string tensor; ///< name in messages
  Dim entries, blocks;
};

/// A dimension of input `tensor`, a dense one of a ragged kernel, is read with
/// the batch row: it has an entry for each.
struct RowTable {
  std::string tensor;
  size_t place = 0; ///< among the input's dimensions
  bool operator==(const RowTable &other) const = default;
};

/// A dimension of input `tensor`, a dense one of a ragged kernel, is read with
/// places in a row of ragged dimension `tokens`: all rows read its first
/// entries.
struct PositionTable {
  std::string tensor;
  size_t place = 0; ///< among the input's dimensions
  std::string tokens;
  bool operator==(const PositionTable &other) const = default;
};

/// An attention's dimensions by their meaning, if all have names.
struct AttentionDims {
  std::string queries, keys, queryHeads, keyHeads;
  /// Its mask shows no key to queries that come before all keys.
  bool isCausal = false;
};

/// A kernel's interface for callers. Plain data, so that packages and the
/// runtime can hold it without MLIR.
struct Signature {
  std::string kernel;
  std::vector<Argument> inputs;
  std::vector<Argument> results;
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<Multiple> multiples;
  std::vector<TokenGroups> tokenGroups;
  std::vector<BlockScores> blockScores;
  std::vector<RowTable> rowTables;
  std::vector<PositionTable> positionTables;
  std::vector<AttentionDims> attentions;
  /// Whether the program marks which dimensions are heads. Packages don't store
  /// it.
  bool marksHeads = false;
};

/// Dimension `place` of input `tensor`; null if there is none.
const Dim *findDim(const Signature &signature, llvm::StringRef tensor,
                   size_t place);

/// Sizes of named dimensions. For a ragged dimension: its packed size; the
/// offsets of its rows stand in `offsets`.
struct DimSizes {
  llvm::StringMap<int64_t> sizes;
  llvm::StringMap<std::vector<int64_t>> offsets;
  std::optional<int64_t> batchRows; ///< of ragged kernels
};

/// Binds every named dimension from the inputs and checks ranks, dtypes, equal
/// names, multiples, token groups, block scores, tables of rows and offsets.
/// Messages name inputs and dimensions as the program does.
llvm::Expected<DimSizes> bindDimensions(const Signature &signature,
                                        llvm::ArrayRef<Tensor> inputs);

/// Binds dimensions while some inputs are still missing (null): starts from
/// `known` sizes and leaves dimensions that no input determines without a size.
llvm::Expected<DimSizes>
bindKnownDimensions(const Signature &signature,
                    llvm::ArrayRef<const Tensor *> inputs, DimSizes known);

/// Says why sizes suggest that tensors have tokens and heads in another order
/// than the program. The signs are: causal attentions with more queries than
/// keys; as many heads of keys as of queries and fewer tokens, if there are
/// more than 128 heads, or at least 64 and more queries than keys; or, if the
/// program doesn't mark its heads, more than 32 heads of keys, twice as many as
/// there are queries and as many keys. Also reports tables whose size suggests
/// that they hold packed tokens, although each row reads them from the first
/// entry on. Empty if sizes suggest nothing.
std::string describeOddSizes(const Signature &signature, const DimSizes &sizes);

/// The shape of an input or a result under `sizes`. Fails if a name has no
/// size. For pooled keys or blocks of a ragged dimension whose rows aren't
/// packed (the last dimension of an importance), the size is the longest row's.
llvm::Expected<std::vector<int64_t>> getShape(const Argument &argument,
                                              const DimSizes &sizes);

} // namespace nsacc

#endif // NSACC_TENSOR_SIGNATURE_H
