//===- QueryCount.h - Kernels whose tiles depend on rows --------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_QUERYCOUNT_H
#define NSACC_SCHEDULE_QUERYCOUNT_H

#include "NSA/IR/NSAOps.h"
#include "nsacc/GPU/Device.h"
#include "nsacc/Schedule/Queries.h"
#include "llvm/ADT/StringMap.h"

namespace nsacc {

/// A product of sizes, those of named dimensions and `factor`, that has to be
/// at least, or at most, so large.
struct SizeCondition {
  std::vector<std::string> dims;
  int64_t factor = 1;
  int64_t limit = 0;
  bool isMost = false;
  /// The limit holds for each batch row of this ragged dimension; empty: for
  /// all of a call.
  std::string rowsOf = {};

  /// Where a size isn't known, a most doesn't hold; a least does, unless the
  /// first one isn't. `batchRows` are those of ragged kernels.
  bool holds(const llvm::StringMap<int64_t> &sizes,
             std::optional<int64_t> batchRows = std::nullopt) const;
  /// "T * B >= 1024"
  std::string describe() const;
};

/// The queries of a kernel whose schedule on a GPU depends on how many there
/// are.
class QueryCount {
public:
  /// None for kernels with the same schedule for any number.
  static std::optional<QueryCount> get(nsa::KernelOp kernel);

  /// One of the cases, and what holds, all of it, where it is given.
  struct Case {
    Queries queries = Queries::Any;
    std::vector<SizeCondition> conditions;
  };
  /// Those that matter for so many channels, which `sizes` has: the first one
  /// whose conditions hold is chosen. The last has none.
  std::vector<Case> getCases(const llvm::StringMap<int64_t> &sizes) const;
  Queries find(const llvm::StringMap<int64_t> &sizes,
               std::optional<int64_t> batchRows = std::nullopt) const;
  /// Whether a device has a schedule of its own for a case.
  static bool hasCase(const gpu::Device &device, Queries queries) {
    return queries != Queries::Many || device.code.hasWarpgroupProducts;
  }

private:
  /// A dimension's name, or its size.
  struct Dim {
    std::string name;
    int64_t size;
  };

  static Dim getDim(mlir::Attribute dim);
  /// Whether an input has the dimension, so that a call tells its size.
  static bool hasInput(nsa::KernelOp kernel, llvm::StringRef name);
  void setFewAndMany(nsa::KernelOp kernel);
  void setShort(nsa::KernelOp kernel);
  static SizeCondition multiply(llvm::ArrayRef<Dim> dims, int64_t limit,
                                bool isMost);
  /// None where constant sizes fail a condition, or no input has a dimension;
  /// conditions that constants meet are left out.
  static std::optional<Case> makeCase(nsa::KernelOp kernel, Queries queries,
                                      llvm::ArrayRef<SizeCondition> conditions);
  /// A kernel of one dense attention, whose short batch rows have small tiles.
  struct ShortRows {
    Dim tokens, keys, queryHeads, keyHeads;
    /// Ragged dimensions of tokens and of keys; empty: batch rows are alike.
    std::string raggedTokens, raggedKeys;
  };
  static int64_t getSize(const Dim &dim,
                         const llvm::StringMap<int64_t> &sizes) {
    return dim.name.empty() ? dim.size : sizes.lookup(dim.name);
  }
  /// The wider ones of keys and of values.
  int64_t getChannels(const llvm::StringMap<int64_t> &sizes) const;
  /// Adds the cases of short rows: the smaller tiles first.
  void addShort(std::vector<Case> &cases,
                const llvm::StringMap<int64_t> &sizes) const;
  /// Whether tiles depend on whether there are many.
  bool hasTilesForMany(const llvm::StringMap<int64_t> &sizes) const;

  Dim keyChannels, valueChannels;
  std::optional<ShortRows> shortRows;
  /// Many queries have programs of their own, whatever the channels are.
  bool hasOwnTiles = false;
  /// None: there is no such case. `decode` is of few tokens in any number of
  /// batch rows.
  std::optional<Case> few, decode, many;
};

} // namespace nsacc

#endif // NSACC_SCHEDULE_QUERYCOUNT_H
