//===- ChooseForGPU.cpp - Tiles for GPUs ----------------------------------===//

#include "NSA/Analysis/AssertionNeed.h"
#include "NSATile/IR/WarpRoles.h"
#include "Tiling.h"
#include "nsacc/Schedule/Choose.h"
#include "nsacc/Schedule/ScalarCost.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

static constexpr llvm::StringLiteral kFewQueries =
    "few queries, whose rows fill one product, over many keys: memory is what "
    "they wait for";

/// Tiles of short batch rows, for products of warps or of warpgroups. Several
/// tiles of warpgroups share a multiprocessor where scores are plain products.
static std::optional<Tiling> tileShortRows(Queries queries, int64_t channels,
                                           bool isPlain, bool warpgroups) {
  const QueriesInfo &info = getInfo(queries);
  if (info.rows == 0)
    return std::nullopt;
  Tiling tiling = {info.rows, info.keys, /*warps=*/0,
                   "many short batch rows: their tokens and keys fill tiles of "
                   "this size best"};
  if (info.rows < kPartRows)
    return tiling;
  tiling.warps = warpgroups
                     ? info.rows / nsatile::kGroupRows * nsatile::kGroupWarps
                     : nsatile::kGroupWarps;
  if (!warpgroups || !isPlain)
    return tiling;
  bool isOne = info.rows == nsatile::kGroupRows;
  if (channels > 64)
    tiling.blocksPerSM = isOne ? 2 : 1;
  else if (isOne)
    tiling.blocksPerSM = info.keys <= 32 ? 4 : 3;
  else
    tiling.blocksPerSM = channels <= 32 || info.keys <= 32 ? 2 : 1;
  return tiling;
}

/// Tiles of a dense attention for products of warps. With 32 rows to a warp, a
/// fragment of keys or values that it reads from shared memory serves two
/// products. The state and the scores of 32 rows fill a warp's registers.
static std::optional<Tiling> tileDenseForWarps(const Scope &scope,
                                               Queries queries) {
  std::optional<DenseAttention> dense = findDenseAttention(scope);
  if (!dense || dense->channels > 128)
    return std::nullopt;
  MaskInfo mask = analyzeMask(dense->attend);
  bool isSimple = isPlain(dense->attend, mask);
  if (auto tiling = tileShortRows(queries, dense->channels, isSimple,
                                  /*warpgroups=*/false))
    return tiling;
  if (!isSimple)
    return std::nullopt;
  // Each interval of keys has its own loops.
  if (mask.intervals.size() > 1)
    return Tiling{/*rows=*/64, /*keys=*/64, /*warps=*/4,
                  "a dense attention whose mask has several ranges of keys, "
                  "each with loops of its own"};
  if (queries == Queries::Few)
    return Tiling{kPartRows, 64, 4, kFewQueries.str()};
  bool isWide = dense->channels <= 64 && !isBand(mask);
  return Tiling{/*rows=*/128, /*keys=*/isWide ? 128 : 64, /*warps=*/4,
                isWide ? "a dense attention of up to 64 channels: 32 rows to "
                         "a warp, and room for 128 keys"
                       : "a dense attention of wide heads or in a band: 32 "
                         "rows to a warp"};
}

/// Counts the tables that the mask reads for each query, `doc[b, i]` for
/// example.
static size_t countQueryTables(ScoringOpInterface attend) {
  llvm::SmallPtrSet<Value, 4> tables;
  if (attend.getMask().empty())
    return 0;
  ScalarPlaces places =
      ScalarPlaces::get(attend, attend.getMask(), /*leading=*/0);
  attend.getMask().walk([&](TableReadOp read) {
    for (Value index : read.getIndices())
      if (index == places.position || index == places.token)
        tables.insert(read.getTable());
  });
  return tables.size();
}

/// Tiles that fill the registers of two or three warpgroups with the state and
/// the scores of their rows, as measured on an H200. With 128 channels, narrow
/// key tiles of three warpgroups read less shared memory for each product. They
/// are faster where the rows of a band see few keys beside their own, and in
/// many long rows (6 % without a mask, 2 % with a causal one). At 1024 tokens
/// they are 3 % slower, since their last tile has unused rows.
static std::optional<Tiling> tileDenseForGroups(const Scope &scope,
                                                Queries queries) {
  std::optional<DenseAttention> dense = findDenseAttention(scope);
  if (!dense)
    return std::nullopt;
  auto [attend, channels] = *dense;
  MaskInfo mask = analyzeMask(attend);
  // A third warpgroup leaves registers for products and softmax only.
  bool isSimple = isPlain(attend, mask);
  if (auto tiling =
          tileShortRows(queries, channels, isSimple, /*warpgroups=*/true))
    return tiling;
  if (queries == Queries::Few && channels <= 256) {
    bool isShort = mask.isExact() && countQueryTables(attend) < 2;
    int64_t keys = isShort && channels <= 128 ? 128 : 64;
    // Heads of a token that exceed one warpgroup fill a second one.
    if (scope.group > kPartRows)
      return Tiling{2 * kPartRows, keys, 2 * nsatile::kGroupWarps,
                    kFewQueries.str()};
    return Tiling{kPartRows, keys, nsatile::kGroupWarps, kFewQueries.str()};
  }
  // Registers suffice for a short weight, such as silu (on an H100, 2.51 ms
  // instead of 2.82 ms).
  bool weighs = !attend.getWeight().empty() && attend.getScore().empty() &&
                !attend.getNormalizer() && mask.isExact() &&
                isShort(attend.getWeight());
  if (channels <= 64 && (isSimple || weighs))
    return Tiling{192, 128, 12,
                  "a dense attention of up to 64 channels: three warpgroups "
                  "have registers for it"};
  // Faster than two warpgroups by 6 to 8 % at 8192 tokens, by 9 % at 2500
  // (H200).
  if (channels <= 96 && isSimple && !isBand(mask))
    return Tiling{192, 112, 12,
                  "a dense attention of up to 96 channels: three warpgroups "
                  "have registers for it"};
  // Values from tables for each row and pair wait in registers, too.
  if (channels <= 128 && countQueryTables(attend) > 1)
    return Tiling{128, 64, 8,
                  "a mask that reads several tables for each query, which "
                  "wait in registers"};
  if (hasChoice(channels) && !mask.isExact())
    return Tiling{128, 96, 8,
                  "a mask that isn't ranges of keys, so that scores wait for "
                  "it in registers"};
  if (channels <= 128 && isSimple && (queries == Queries::Many || isBand(mask)))
    return Tiling{192, 80, 12,
                  isBand(mask) ? "a band of keys: three warpgroups with "
                                 "narrow key tiles"
                               : "many queries: three warpgroups with narrow "
                                 "key tiles"};
  if (channels <= 128)
    return Tiling{128, 128, 8,
                  "a dense attention of up to 128 channels: two warpgroups "
                  "fill their registers"};
  if (channels <= 192)
    return Tiling{128, 96, 8,
                  "a dense attention of up to 192 channels: two warpgroups "
                  "fill their registers"};
  if (channels <= 256)
    return Tiling{128, mask.isExact() ? 80 : 32, 8,
                  mask.isExact()
                      ? "a dense attention of up to 256 channels: two "
                        "warpgroups fill their registers"
                      : "up to 256 channels and a mask that isn't ranges of "
                        "keys"};
  return std::nullopt;
}

/// Takes as many keys as two warpgroups have registers for beside the sums,
/// where each pair has values that wait for the other pairs: values from
/// tables, for instance. With 128 rows, a thread has half as many pairs as a
/// tile has keys. With 128 to 32 keys, 64 to 128 channels, one or two tables,
/// logarithms and cosines, ptxas spilled where more were kept.
static std::optional<Tiling> tileDenseForWarpgroups(const Scope &scope,
                                                    Queries queries) {
  constexpr int64_t mostHalves = 656, unit = 16;
  std::optional<Tiling> tiling = tileDenseForGroups(scope, queries);
  int64_t held = 0, keys = tiling ? tiling->keys : 0,
          channels = scope.getChannels();
  for (ScoringOpInterface op : scope.ops)
    held = std::max(held, countHeldHalves(op));
  if (held == 0 || keys == 0 || queries == Queries::Few)
    return tiling;
  // Tiles of wider heads have few keys, and half of them fit.
  int64_t least = channels > 128 ? llvm::alignDown(keys / 2, unit) : unit;
  while (tiling->keys > std::max(least, unit) &&
         tiling->keys * (2 + held) + channels * 9 / 4 > mostHalves)
    tiling->keys -= unit;
  if (tiling->keys != keys)
    tiling->reason += "; fewer keys, as values of pairs wait in registers";
  return tiling;
}

/// Whether the lists of so many tokens fit the list of a union. Lists of up to
/// 64 rows always do: a product takes these rows in one anyway. If `areWhole`,
/// each list also has all of its tokens in the tile, or all tokens of the tile.
static bool fitsUnion(ScoringOpInterface selecting, int64_t group,
                      int64_t tokens, bool areWhole) {
  auto type = cast<SelectionType>(selecting.getSelection().getType());
  auto query = cast<NamedTensorType>(selecting.getQuery().getType());
  TileLists lists(type, QueryDims::get(query), tokens, group);
  int64_t top = type.getTop();
  return (tokens * group <= kPartRows || lists.count * top <= kMostListed) &&
         (lists.areWhole || !areWhole);
}

/// Greatest number of tokens, at most `tokens`, with lists that fit the list of
/// a union (kMostListed) for each attention, and of which no tile has only some
/// of the tokens. Attentions without room for a single token's lists have no
/// unions and don't count.
static int64_t fitUnions(const Scope &scope, int64_t tokens) {
  SmallVector<ScoringOpInterface> uniting = scope.findAllSelecting();
  llvm::erase_if(uniting, [&](ScoringOpInterface each) {
    return !fitsUnion(each, scope.group, /*tokens=*/1, /*areWhole=*/false);
  });
  while (tokens > 1 && !llvm::all_of(uniting, [&](ScoringOpInterface each) {
           return fitsUnion(each, scope.group, tokens, /*areWhole=*/true);
         }))
    --tokens;
  return tokens;
}

/// Number of keys in tiles of blocks, as in KeyTiling::ofBlocks.
static int64_t getTileKeys(int64_t block, int64_t keys) {
  constexpr int64_t granularity = 16;
  int64_t parts = llvm::divideCeil(block, keys);
  return block % keys == 0
             ? keys
             : llvm::alignTo(llvm::divideCeil(block, parts), granularity);
}

static SelectionType getSelection(ScoringOpInterface attend) {
  return cast<SelectionType>(attend.getSelection().getType());
}

/// Whether two warpgroups, with so many rows together, share most of their
/// blocks.
static bool sharesBlocks(ScoringOpInterface attend, int64_t rows,
                         int64_t group) {
  // An entry has a bit for each list of its tile. With more than 64, lists
  // would take more than 16 bytes for each block that a row selects.
  constexpr int64_t longBlock = 256, mostLists = 64;
  SelectionType type = getSelection(attend);
  auto query = cast<NamedTensorType>(attend.getQuery().getType());
  int64_t lists = TileLists(type, QueryDims::get(query),
                            std::max<int64_t>(rows / group, 1), group)
                      .count;
  bool hasOneList = lists == 1 && rows % group == 0;
  return hasOneList || (type.getBlock() >= longBlock && lists <= mostLists);
}

/// Tiles of tokens that walk the union of their blocks. Rows fill a warpgroup's
/// products, unless so many tokens would select more blocks than a list has.
///
/// Two warpgroups usually have separate thread blocks with separate lists, so
/// that neither spends time on blocks that only the other's tokens selected.
/// Measured on an H200, 32768 tokens, bf16, 16 blocks of 64, 64 query heads on
/// 4: 6.3 ms instead of 10.3 ms for unrelated neighbours, 2.56 ms instead of
/// 2.72 ms for related ones.
///
/// Two warpgroups share a tile where blocks are long: a sequence has few long
/// blocks, and neighbours together select most of them (moba, 8 of 64 blocks of
/// 512: 17.3 ms instead of 19.1 ms). They don't where the tile has more than 64
/// lists, whose members would take too much memory. They also share a tile
/// where all of its tokens have one list that was handed in. A shared tile has
/// as many keys as a dense attention's (on an H100 12.9 ms instead of 16.0 ms,
/// and 2.46 ms instead of 3.21 ms for lists of 128 tokens).
static std::optional<Tiling>
tileForSelections(const Scope &scope, bool warpgroups, Queries queries) {
  SmallVector<ScoringOpInterface> selecting = scope.findAllSelecting();
  if (selecting.empty())
    return std::nullopt;
  SmallVector<ScoringOpInterface> attends = scope.findAttends();
  size_t count = attends.size();
  int64_t channels = scope.getChannels(), group = scope.group;
  bool areHalves = llvm::all_of(attends, [](auto op) { return hasHalves(op); });
  bool usesGroups = warpgroups && areHalves && channels <= 128;
  // The sum of several attentions of wide heads stays in registers, too.
  bool isCrowded = channels > 64 && count > 2;
  constexpr int64_t groupRows = 2 * kPartRows;
  bool areShared = llvm::all_of(selecting, [&](ScoringOpInterface attend) {
    return sharesBlocks(attend, groupRows, group);
  });
  // Few queries fill one warpgroup, unless a token has more heads than that.
  if (queries == Queries::Few)
    areShared = group > kPartRows;
  int64_t rows = usesGroups && !isCrowded && areShared ? groupRows : kPartRows;
  int64_t tokens = fitUnions(scope, std::clamp<int64_t>(rows / group, 1, rows));
  Tiling tiling;
  tiling.selecting = selecting.front();
  tiling.rows = tokens * group;
  tiling.keys = (isCrowded && !usesGroups) || channels > 128 ? 32 : 64;
  if (usesGroups && tiling.rows > 32) {
    tiling.warps = tiling.rows > kPartRows ? 8 : 4;
    // Narrow heads leave registers for a third block (block_sparse with 64
    // channels on an H100: 4.81 ms instead of 5.51 ms).
    bool isNarrow = channels <= 64 && count <= 2;
    tiling.blocksPerSM = tiling.rows > kPartRows ? 1 : isNarrow ? 3 : 2;
    if (tiling.rows > kPartRows &&
        llvm::all_of(selecting, [](ScoringOpInterface attend) {
          return getSelection(attend).getBlock() % 128 == 0;
        }))
      tiling.keys = 128;
    // ptxas lacks registers for a pipelined softmax of 48 keys (it spills 816
    // bytes of each thread), but has enough for 32 and for 64.
    constexpr int64_t unfit = 48, fit = 32;
    auto getKeys = [&](ScoringOpInterface attend) {
      return getTileKeys(getSelection(attend).getBlock(), tiling.keys);
    };
    if (llvm::any_of(selecting, [&](ScoringOpInterface each) {
          return getKeys(each) == unfit;
        }))
      tiling.keys = fit;
    // Few queries wait for memory. With small blocks, more stages keep as many
    // keys on their way.
    constexpr int64_t usual = 64, most = 8;
    int64_t keys = usual;
    for (ScoringOpInterface each : selecting)
      keys = std::min(keys, getKeys(each));
    if (queries == Queries::Few && keys < usual)
      tiling.stages = std::min(tiling.stages * usual / keys, most);
  }
  tiling.reason =
      "rows walk the union of their blocks, " +
      std::string(isCrowded && !usesGroups
                      ? "and several attentions of wide heads crowd the "
                        "registers"
                  : tiling.warps > 4
                      ? "which they share, and fill the products "
                        "of two warpgroups"
                  : tiling.warps > 0
                      ? "and fill the products of a warpgroup, several of "
                        "which share a multiprocessor"
                      : "64 at a time");
  return tiling;
}

/// Tiles over the keys of a block and over queries that selected it, which a
/// list names. A tile has few steps, so two thread blocks share a
/// multiprocessor: one begins or ends a tile during the other's products (moba
/// on an H100, 8 blocks of 512: 4.5 ms instead of 5.0 ms with the 128 rows and
/// keys of a dense attention).
static std::optional<Tiling> tileForBlocks(const Scope &scope,
                                           bool warpgroups) {
  ScoringOpInterface attend = scope.findSelecting();
  if (!attend)
    return std::nullopt;
  int64_t channels = scope.getChannels();
  Tiling tiling;
  tiling.selecting = attend;
  tiling.keys = channels > 128 ? 32 : 64;
  if (channels > 128)
    tiling.reason = "64 rows, and few keys, as heads are wide";
  if (!warpgroups || !hasHalves(attend) || channels > 128)
    return tiling;
  tiling.warps = nsatile::kGroupWarps;
  tiling.blocksPerSM = 2;
  tiling.reason = "a block's queries fill the products of a warpgroup, several "
                  "of which share a multiprocessor";
  return tiling;
}

/// Tiles for three or more attentions of one program. Registers don't hold the
/// scores of 64 keys beside the sum of the other attentions. nsa fits with 32.
static std::optional<Tiling> tileForSeveral(const Scope &scope) {
  SmallVector<ScoringOpInterface> attends = scope.findAttends();
  int64_t channels = 0;
  for (ScoringOpInterface op : attends)
    channels = std::max(channels,
                        getChannels(scope.kernel, op.getValue()).value_or(0));
  if (attends.size() < 3 || channels <= 64)
    return std::nullopt;
  return Tiling{/*rows=*/64, /*keys=*/32, /*warps=*/0,
                "several attentions of wide heads in one program: no "
                "registers for the scores of 64 keys"};
}

int64_t schedule::countPairInstructions(const Scope &scope) {
  int64_t count = 0;
  for (ScoringOpInterface op : scope.ops)
    count = std::max(count, nsacc::countPairInstructions(op));
  return count;
}

/// Takes fewer keys at a time where a pair's scalar code is long. A GPU's code
/// is written out for each pair of a thread: registers would spill, and
/// compilation would take minutes.
static Tiling shorten(Tiling tiling, const Scope &scope) {
  constexpr int64_t warpSize = 32, usualWarps = 4, leastKeys = 16,
                    most = 16 << 10; // a thread's instructions for a tile
  int64_t count = countPairInstructions(scope);
  int64_t threads = warpSize * (tiling.warps ? tiling.warps : usualWarps),
          keys = tiling.keys;
  while (tiling.keys > leastKeys &&
         count * tiling.rows * tiling.keys > most * threads)
    tiling.keys = llvm::alignTo(tiling.keys / 2, leastKeys);
  if (tiling.keys != keys)
    tiling.reason += "; fewer keys, as a pair's scalar code is long (" +
                     std::to_string(count) + " instructions)";
  return tiling;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Chooses tiles by the loop order. `dense` are the tiles of a dense attention
/// alone, if there are any.
static Tiling chooseTiling(const Scope &scope, nsatile::LoopOrder order,
                           bool warpgroups, Queries queries,
                           std::optional<Tiling> dense) {
  std::optional<Tiling> chosen;
  switch (order) {
  case nsatile::LoopOrder::Union:
    chosen = tileForSelections(scope, warpgroups, queries);
    break;
  case nsatile::LoopOrder::QueryMajor:
    chosen = std::move(dense);
    break;
  case nsatile::LoopOrder::KeyMajor:
    return shorten(tileForBlocks(scope, warpgroups).value_or(Tiling()), scope);
  case nsatile::LoopOrder::BlockMajor:
    return {};
  }
  if (!chosen)
    chosen = tileForSeveral(scope);
  return shorten(chosen.value_or(Tiling()), scope);
}

/// Whether benchmark records cover such code (benchmarks/dense.json,
/// sparse.json): operands of 16 bits, plain products, masks of one range and
/// short weights.
static bool isMeasured(const Scope &scope) {
  int64_t channels = scope.getChannels();
  bool selects = scope.findSelecting() != nullptr;
  auto isOneRange = [](const MaskInfo &mask) {
    return mask.isExact() && mask.intervals.size() <= 1;
  };
  auto isKnown = [&](ScoringOpInterface op) {
    return !op.getValue() ||
           (hasHalves(op) && op.getScore().empty() &&
            (op.getWeight().empty() || isShort(op.getWeight())) &&
            isOneRange(analyzeMask(op)));
  };
  bool areWidths = selects ? channels == 64 || channels == 128
                           : scope.ops.size() == 1 && channels <= 256;
  return areWidths && llvm::all_of(scope.ops, isKnown);
}

Tiling schedule::tileForWarps(const Scope &scope, nsatile::LoopOrder order,
                              Queries queries) {
  Tiling tiling = chooseTiling(scope, order, /*warpgroups=*/false, queries,
                               tileDenseForWarps(scope, queries));
  tiling.isMeasured = isMeasured(scope);
  return tiling;
}

Tiling schedule::tileForWarpgroups(const Scope &scope, nsatile::LoopOrder order,
                                   Queries queries) {
  Tiling tiling = chooseTiling(scope, order, /*warpgroups=*/true, queries,
                               tileDenseForWarpgroups(scope, queries));
  tiling.isMeasured = isMeasured(scope);
  return tiling;
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

bool schedule::fillsWarpgroup(KernelOp kernel, TopKOp op, int64_t tokens,
                              int64_t group, bool usesThreshold) {
  // Registers of a thread for lists with two words an entry. With more, it
  // spills.
  constexpr int64_t mostListRegisters = 32;
  int64_t listRegisters =
      2 * tokens * llvm::PowerOf2Ceil(op.getTop()) / nsatile::kGroupThreads;
  SmallVector<ImportanceOp> found = findImportances(op);
  if (found.size() != 1 || op.getShareHeads() > 1 ||
      llvm::alignTo(tokens * group, 16) != nsatile::kGroupRows ||
      (listRegisters > mostListRegisters && !usesThreshold))
    return false;
  ImportanceOp importance = found.front();
  constexpr int64_t mostChannels = 128;
  return llvm::all_of(
      ValueRange{importance.getQuery(), importance.getKey()},
      [&](Value tensor) {
        return hasHalves(tensor) &&
               getChannels(kernel, tensor).value_or(mostChannels + 1) <=
                   mostChannels;
      });
}

//===----------------------------------------------------------------------===//
// Blocks that share a multiprocessor
//===----------------------------------------------------------------------===//

/// Whether a thread has registers for the sums, the scores and the weights of
/// its rows, and starts with enough for the registers that one product names.
static bool hasRegisters(int64_t keys, int64_t channels, int64_t groups,
                         int64_t registers, int64_t leastProducer) {
  // Further registers; with fewer, ptxas spills.
  constexpr int64_t reserve = 28, named = 30;
  int64_t atStart =
      llvm::alignDown(registers / ((groups + 1) * nsatile::kGroupThreads), 8);
  int64_t each =
      nsatile::RoleRegisters::get(groups, registers, leastProducer).consumer;
  return std::max(keys, channels) / 2 + named <= atStart &&
         channels / 2 + keys / 2 + keys / 4 + reserve <= each;
}

/// Whether shared memory has room for queries, results, and two buffers each of
/// keys and of values, all of 16 bits, beside the memory that the system takes
/// for each block.
static bool hasSharedMemory(const Tiling &tiling, int64_t channels,
                            const GivenBlocks &given) {
  constexpr int64_t reserved = 2048, halfBytes = 2, buffers = 2;
  int64_t rows = 2 * tiling.rows + 2 * buffers * tiling.keys;
  return halfBytes * channels * rows + reserved <=
         given.limits.sharedBytesOfMultiprocessor / given.count;
}

Tiling schedule::fitBlocks(Tiling tiling, const Scope &scope,
                           nsatile::LoopOrder order, const GivenBlocks &given) {
  int64_t groups = std::max<int64_t>(given.warps / nsatile::kGroupWarps, 1);
  if (given.count <= tiling.blocksPerSM || tiling.warps == 0 ||
      given.warps % nsatile::kGroupWarps != 0)
    return tiling;
  bool isUnion = order == nsatile::LoopOrder::Union;
  int64_t rows = groups * nsatile::kGroupRows;
  // A union's tile has no more rows than its list has room for.
  tiling.rows = isUnion ? std::min(tiling.rows, rows) : rows;
  tiling.warps = groups * nsatile::kGroupWarps;
  constexpr int64_t step = 16;
  while (tiling.keys > step &&
         (!hasSharedMemory(tiling, scope.getChannels(), given) ||
          !hasRegisters(tiling.keys, scope.getChannels(), groups,
                        given.limits.registersOfMultiprocessor / given.count,
                        isUnion ? nsatile::RoleRegisters::kLists
                                : nsatile::RoleRegisters::kCopies)))
    tiling.keys = llvm::alignTo(tiling.keys - step, step);
  tiling.reason = "rows and keys for which a block has room where " +
                  std::to_string(given.count) + " share a multiprocessor";
  return tiling;
}
