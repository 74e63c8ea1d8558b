//===- TileMapTest.cpp - Tiles that a mask shows fully or in part ---------===//

#include "nsacc/Explain/TileMap.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Pipelines/Phases.h"
#include <functional>
#include <gmock/gmock.h>
#include <random>

using namespace nsacc;
using namespace nsacc::explain;
using testing::ElementsAre;

namespace {

using Mask = std::function<bool(int64_t i, int64_t j)>;

/// A call of a kernel with one attention.
class Call {
public:
  Call(const std::string &text,
       std::initializer_list<std::pair<llvm::StringRef, int64_t>> given)
      : context(mlir::MLIRContext::Threading::DISABLED) {
    module = frontend::compile(llvm::MemoryBufferRef(text, "f.nsa"),
                               frontend::Options(), context);
    EXPECT_TRUE(module) << text;
    EXPECT_TRUE(mlir::succeeded(runPhases(*module, Phase::NSA)));
    for (auto [name, size] : given)
      sizes.sizes[name] = size;
  }

  TileMap draw(int64_t tokens, int64_t keys, int64_t most = 64) {
    auto kernel = *module->getOps<nsa::KernelOp>().begin();
    nsa::AttendOp attend;
    kernel.walk([&](nsa::AttendOp op) { attend = op; });
    return makeTileMap(
        mlir::cast<nsa::ScoringOpInterface>(attend.getOperation()),
        tuning::CallSizes(kernel, sizes), tokens, keys, most);
  }

  DimSizes sizes;

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// An attention with a mask, for some numbers of tokens.
class Attention : public Call {
public:
  Attention(const std::string &where, int64_t queries, int64_t keys,
            const std::string &in = "")
      : Call("kernel f(q: [B, T, H, D], k, v: [B, S, H, D], seg: i32[B, S]" +
                 std::string(in.empty() ? "" : ", idx: i32[B, T, H, 3]") +
                 ") -> [B, T, H, D] { " +
                 (in.empty() ? "" : "sel = selection(idx, 8); ") +
                 "return attend(q, k, v) " + in +
                 (where.empty() ? "" : " where ") + where + "; }",
             {{"B", 1}, {"T", queries}, {"S", keys}, {"H", 2}, {"D", 16}}) {}
};

/// The state of a part of the map, by looking at each pair.
TileState look(const Mask &mask, const TileMap &map, int64_t firstQuery,
               int64_t lastQuery, int64_t firstKey, int64_t lastKey) {
  int64_t seen = 0, all = 0;
  for (int64_t query = firstQuery; query < std::min(lastQuery, map.queries);
       ++query)
    for (int64_t key = firstKey; key < std::min(lastKey, map.keys); ++key) {
      ++all;
      seen += mask(query + map.keys - map.queries, key);
    }
  return seen == 0     ? TileState::Empty
         : seen == all ? TileState::Full
                       : TileState::Partial;
}

void checkAgainstPairs(const std::string &where, const Mask &mask,
                       int64_t queries, int64_t keys, int64_t tokens,
                       int64_t tileKeys, int64_t most) {
  SCOPED_TRACE(where + ", T=" + std::to_string(queries) +
               ", S=" + std::to_string(keys) + ", tiles of " +
               std::to_string(tokens) + " and " + std::to_string(tileKeys));
  TileMap map = Attention(where, queries, keys).draw(tokens, tileKeys, most);
  int64_t counts[3] = {};
  for (int64_t query = 0; query < queries; query += tokens)
    for (int64_t key = 0; key < keys; key += tileKeys)
      ++counts[static_cast<size_t>(
          look(mask, map, query, query + tokens, key, key + tileKeys))];
  // In both heads.
  EXPECT_EQ(map.empty, 2 * counts[0]);
  EXPECT_EQ(map.partial, 2 * counts[1]);
  EXPECT_EQ(map.full, 2 * counts[2]);
  EXPECT_LE(map.rows, most);
  EXPECT_LE(map.columns, most);
  ASSERT_EQ(static_cast<int64_t>(map.cells.size()), map.rows * map.columns);
  int64_t cellQueries = tokens * map.rowTiles,
          cellKeys = tileKeys * map.columnTiles;
  for (int64_t row = 0; row < map.rows; ++row)
    for (int64_t column = 0; column < map.columns; ++column)
      EXPECT_EQ(map.get(row, column),
                look(mask, map, row * cellQueries, (row + 1) * cellQueries,
                     column * cellKeys, (column + 1) * cellKeys))
          << row << ", " << column;
}

TEST(TileMap, IsWhatPairsSay) {
  const std::pair<const char *, Mask> masks[] = {
      {"", [](int64_t, int64_t) { return true; }},
      {"j <= i", [](int64_t i, int64_t j) { return j <= i; }},
      {"0 <= i - j < 9",
       [](int64_t i, int64_t j) { return 0 <= i - j && i - j < 9; }},
      {"j <= i and (i - j < 5 or j < 3)",
       [](int64_t i, int64_t j) { return j <= i && (i - j < 5 || j < 3); }},
      {"j > i", [](int64_t i, int64_t j) { return j > i; }},
      {"i floordiv 8 == j floordiv 8",
       [](int64_t i, int64_t j) { return i / 8 == j / 8; }},
  };
  const std::pair<int64_t, int64_t> sizes[] = {
      {1, 40}, {32, 32}, {33, 47}, {7, 64}, {64, 64}};
  for (const auto &[where, mask] : masks)
    for (auto [queries, keys] : sizes)
      for (auto [tokens, tileKeys] :
           {std::pair(int64_t{4}, int64_t{8}), {16, 16}, {5, 7}})
        for (int64_t most : {64, 3})
          checkAgainstPairs(where, mask, queries, keys, tokens, tileKeys, most);
}

// Segments are known only in a run, so that no tile within the bounds is full.
TEST(TileMap, LooksAtPairsWhereBoundsSayTooLittle) {
  TileMap map =
      Attention("j <= i and seg[b, i] == seg[b, j]", 16, 16).draw(8, 8);
  EXPECT_TRUE(map.isPerPair);
  EXPECT_THAT(map.cells, ElementsAre(TileState::Partial, TileState::Empty,
                                     TileState::Partial, TileState::Partial));
}

TEST(TileMap, TellsWhatASelectionTakes) {
  TileMap map = Attention("j <= i", 16, 16, "in sel").draw(8, 8);
  EXPECT_EQ(map.block, 8);
  EXPECT_EQ(map.top, 3);
  EXPECT_EQ(map.full, 2);
}

TEST(TileMap, IsEmptyWithoutTokens) {
  TileMap map = Attention("j <= i", 0, 16).draw(8, 8);
  EXPECT_TRUE(map.cells.empty());
  EXPECT_EQ(map.full + map.partial + map.empty, 0);
}

} // namespace

/// Only some of many rows of tiles are looked at: cells are exact, counts are
/// estimates.
TEST(TileMap, LongCallsAreLookedAtHereAndThere) {
  int64_t tokens = int64_t{1} << 20;
  TileMap map = Attention("j <= i", tokens, tokens).draw(64, 64);
  EXPECT_TRUE(map.isSampled);
  double tiles = static_cast<double>(tokens) / 64;
  EXPECT_NEAR(map.full, tiles * (tiles - 1), 0.01 * tiles * tiles);
  EXPECT_NEAR(map.empty, tiles * (tiles - 1), 0.01 * tiles * tiles);
  EXPECT_NEAR(map.partial, 2 * tiles, 0.01 * tiles);
  for (int64_t row = 0; row < map.rows; ++row)
    for (int64_t column = 0; column < map.columns; ++column)
      EXPECT_EQ(map.get(row, column), column < row    ? TileState::Full
                                      : column == row ? TileState::Partial
                                                      : TileState::Empty);
  EXPECT_FALSE(Attention("j <= i", 131072, 131072).draw(64, 64).isSampled);
}

/// More tiles than 64 bits can count.
TEST(TileMap, TheMostTokens) {
  int64_t most = int64_t{1} << 40;
  TileMap map = Attention("j <= i", most, most).draw(1, 1);
  EXPECT_FALSE(map.full.getWhole());
  EXPECT_NEAR(map.full, 0x1p80, 0x1p74);
  EXPECT_NEAR(map.empty, 0x1p80, 0x1p74);
  EXPECT_EQ(map.cells.size(), 64u * 64);
}

/// Compares tiles of random masks that depend on batch row and head, in random
/// groups of query heads, with all pairs of the call.
TEST(TileMap, CountsAllBatchRowsAndHeads) {
  std::mt19937 random(7);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 40; ++trial) {
    int64_t batch = draw(1, 4), keyHeads = draw(1, 3), group = draw(1, 3),
            queries = draw(1, 30), keys = draw(1, 50), tokens = draw(1, 9),
            tileKeys = draw(1, 12), first = draw(-20, 20), ofRow = draw(-9, 9),
            ofHead = draw(-9, 9), period = draw(1, 3);
    auto spell = [](int64_t number) { return std::to_string(number); };
    std::string where = "j <= i + " + spell(first) + " + b * (" + spell(ofRow) +
                        ") + (h mod " + spell(period) + ") * (" +
                        spell(ofHead) + ")";
    SCOPED_TRACE(where + ", trial " + spell(trial));
    Call call("kernel f(q: [B, T, HQ, D], k, v: [B, S, H, D]) -> [B, T, HQ, D] "
              "{ return attend(q, k, v) where " +
                  where + "; }",
              {{"B", batch},
               {"T", queries},
               {"S", keys},
               {"HQ", keyHeads * group},
               {"H", keyHeads},
               {"D", 16}});
    TileMap map = call.draw(tokens, tileKeys);
    int64_t counts[3] = {};
    auto sees = [&](int64_t b, int64_t h, int64_t t, int64_t j) {
      return j <= t + keys - queries + first + b * ofRow + h % period * ofHead;
    };
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t head = 0; head < keyHeads; ++head)
        for (int64_t t = 0; t < queries; t += tokens)
          for (int64_t j = 0; j < keys; j += tileKeys) {
            int64_t seen = 0, all = 0;
            for (int64_t h = head * group; h < (head + 1) * group; ++h)
              for (int64_t i = t; i < std::min(t + tokens, queries); ++i)
                for (int64_t k = j; k < std::min(j + tileKeys, keys); ++k)
                  ++all, seen += sees(b, h, i, k);
            ++counts[seen == 0 ? 0 : seen == all ? 2 : 1];
          }
    EXPECT_FALSE(map.isSampled);
    EXPECT_EQ(map.full, counts[2]);
    if (map.isPerPair) {
      // Bounds show more than the mask.
      EXPECT_LE(map.empty, counts[0]);
      continue;
    }
    EXPECT_EQ(map.empty, counts[0]);
    EXPECT_EQ(map.partial, counts[1]);
  }
}

/// Rows have different lengths, and the picture shows the longest.
TEST(TileMap, CountsRaggedRows) {
  Call call("kernel f(q, k: [ragged T, 2, 16]) -> [ragged T, 2, 16] { return "
            "attend(q, k, k) where j <= i; }",
            {{"T", 132}});
  call.sizes.batchRows = 3;
  call.sizes.offsets["T"] = {0, 5, 5, 132};
  TileMap map = call.draw(16, 16);
  EXPECT_EQ(map.full, 2 * 7 * 8 / 2);
  EXPECT_EQ(map.partial, 2 * (8 + 1));
  EXPECT_EQ(map.empty, 2 * 7 * 8 / 2);
  EXPECT_EQ(map.queries, 127);
  EXPECT_EQ(map.batchRow, 2);
}

/// Counts of many rows are scaled by the number of rows, for any number.
TEST(TileMap, ManyBatchRowsAreEstimated) {
  for (int64_t batch : {65, 96, 97, 300, 1000}) {
    SCOPED_TRACE(batch);
    Call call("kernel f(q: [B, T, 1, 16], k: [B, S, 1, 16]) -> [B, T, 1, 16] { "
              "return attend(q, k, k) where j <= i + b floordiv 100000; }",
              {{"B", batch}, {"T", 64}, {"S", 64}});
    TileMap map = call.draw(8, 8);
    EXPECT_EQ(map.full, batch * 7 * 8 / 2);
    EXPECT_EQ(map.partial, batch * 8);
    EXPECT_EQ(map.empty, batch * 7 * 8 / 2);
  }
}
