//===- Queries.h - Numbers of queries that code is chosen for ---*- C++ -*-===//

#ifndef NSACC_SCHEDULE_QUERIES_H
#define NSACC_SCHEDULE_QUERIES_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace nsacc {

/// Kinds of calls that a kernel's code is chosen for, by their number of
/// queries. The code is right for any number.
enum class Queries {
  Any,
  /// Few query tiles, which don't keep a GPU busy, over many keys.
  Few,
  /// Many queries, in long batch rows.
  Many,
  /// Short batch rows, in tiles of so many rows (tokens times query heads per
  /// key head) and keys.
  Short16x16,
  Short16x32,
  Short16x64,
  Short64x32,
  Short64x64,
  Short128x32,
  Short128x64,
  Short128x128
};

/// A value of Queries and its tile, 0 x 0 where it has none.
struct QueriesInfo {
  Queries queries;
  llvm::StringLiteral name;
  llvm::StringLiteral description;
  int64_t rows = 0, keys = 0;
};

/// One entry for each value of Queries, in the enum's order.
inline constexpr QueriesInfo kQueries[] = {
    {Queries::Any, "any", "any number"},
    {Queries::Few, "few", "too few for a GPU, over many keys, which are split"},
    {Queries::Many, "many", "many long batch rows"},
    {Queries::Short16x16, "short-16x16", "tiles of short rows", 16, 16},
    {Queries::Short16x32, "short-16x32", "tiles of short rows", 16, 32},
    {Queries::Short16x64, "short-16x64", "tiles of short rows", 16, 64},
    {Queries::Short64x32, "short-64x32", "tiles of short rows", 64, 32},
    {Queries::Short64x64, "short-64x64", "tiles of short rows", 64, 64},
    {Queries::Short128x32, "short-128x32", "tiles of short rows", 128, 32},
    {Queries::Short128x64, "short-128x64", "tiles of short rows", 128, 64},
    {Queries::Short128x128, "short-128x128", "tiles of short rows", 128, 128}};

inline constexpr const QueriesInfo &getInfo(Queries queries) {
  return kQueries[static_cast<size_t>(queries)];
}

/// "few queries", "short rows, in tiles of 16 by 64"; empty for any number.
std::string describeQueries(Queries queries);

} // namespace nsacc

#endif // NSACC_SCHEDULE_QUERIES_H
