//===- QueryCount.h - Schedules that depend on query counts -----*- C++ -*-===//

#ifndef NSACC_SCHEDULE_QUERYCOUNT_H
#define NSACC_SCHEDULE_QUERYCOUNT_H

#include "NSA/IR/NSAOps.h"
#include "nsacc/GPU/Device.h"
#include "nsacc/Schedule/Queries.h"
#include "llvm/ADT/StringMap.h"

namespace nsacc {

/// A bound of a product, which is `factor` times the sizes of named dimensions.
/// The product is at least `limit`, or at most if `isMost`.
struct SizeCondition {
  std::vector<std::string> dims;
  int64_t factor = 1;
  int64_t limit = 0;
  bool isMost = false;
  /// Ragged dimension if the limit counts for each of its batch rows, on
  /// average. Empty if the limit counts for a whole call.
  std::string rowsOf = {};

  /// Whether the condition holds. An upper bound doesn't hold where a size is
  /// unknown. A lower bound takes an unknown size as large enough, unless it is
  /// the first one. `batchRows` is the number of batch rows of a ragged kernel.
  bool holds(const llvm::StringMap<int64_t> &sizes,
             std::optional<int64_t> batchRows = std::nullopt) const;
  /// "T * B >= 1024"
  std::string describe() const;
};

/// Cases of a kernel's queries, if its schedule on a GPU depends on their
/// number.
class QueryCount {
public:
  /// None for kernels that have the same schedule for any number.
  static std::optional<QueryCount> get(nsa::KernelOp kernel);

  /// A case, and the conditions that must all hold for it.
  struct Case {
    Queries queries = Queries::Any;
    std::vector<SizeCondition> conditions;
  };
  /// Cases that matter for the numbers of channels in `sizes`. The first case
  /// with conditions that hold is chosen. The last case has no conditions.
  std::vector<Case> getCases(const llvm::StringMap<int64_t> &sizes) const;
  Queries find(const llvm::StringMap<int64_t> &sizes,
               std::optional<int64_t> batchRows = std::nullopt) const;
  /// Whether a device has a separate schedule for a case.
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
  /// Whether an input has the dimension, so that a call gives its size.
  static bool hasInput(nsa::KernelOp kernel, llvm::StringRef name);
  void setFewAndMany(nsa::KernelOp kernel);
  void setShort(nsa::KernelOp kernel);
  static SizeCondition multiply(llvm::ArrayRef<Dim> dims, int64_t limit,
                                bool isMost);
  /// None where constant sizes fail a condition, or where no input has one of
  /// the dimensions. Conditions that constants meet are left out.
  static std::optional<Case> makeCase(nsa::KernelOp kernel, Queries queries,
                                      llvm::ArrayRef<SizeCondition> conditions);
  /// Sizes of a kernel of one dense attention, which has small tiles for short
  /// batch rows.
  struct ShortRows {
    Dim tokens, keys, queryHeads, keyHeads;
    /// Ragged dimensions of tokens and of keys; empty where batch rows are
    /// alike.
    std::string raggedTokens, raggedKeys;
  };
  static int64_t getSize(const Dim &dim,
                         const llvm::StringMap<int64_t> &sizes) {
    return dim.name.empty() ? dim.size : sizes.lookup(dim.name);
  }
  /// Channels of keys or of values, whichever are more.
  int64_t getChannels(const llvm::StringMap<int64_t> &sizes) const;
  /// Adds the cases of short rows, smaller tiles first.
  void addShort(std::vector<Case> &cases,
                const llvm::StringMap<int64_t> &sizes) const;
  /// Whether many queries have different tiles.
  bool hasTilesForMany(const llvm::StringMap<int64_t> &sizes) const;

  Dim keyChannels, valueChannels;
  std::optional<ShortRows> shortRows;
  /// Whether many queries have separate programs, whatever the channels are.
  bool hasOwnTiles = false;
  /// None where there is no such case. `decode` has few tokens in any number of
  /// batch rows.
  std::optional<Case> few, decode, many;
};

} // namespace nsacc

#endif // NSACC_SCHEDULE_QUERYCOUNT_H
