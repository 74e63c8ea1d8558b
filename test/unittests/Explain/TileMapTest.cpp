//===- TileMapTest.cpp - Tiles that a mask shows whole, in part or not ----===//

#include "nsacc/Explain/TileMap.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Pipelines/Phases.h"
#include <functional>
#include <gmock/gmock.h>

using namespace nsacc;
using namespace nsacc::explain;
using testing::ElementsAre;

namespace {

using Mask = std::function<bool(int64_t i, int64_t j)>;

/// An attention with a mask, for some numbers of tokens.
class Attention {
public:
  Attention(const std::string &where, int64_t queries, int64_t keys,
            const std::string &in = "")
      : context(mlir::MLIRContext::Threading::DISABLED) {
    std::string text =
        "kernel f(q: [B, T, H, D], k, v: [B, S, H, D], seg: i32[B, S]" +
        std::string(in.empty() ? "" : ", idx: i32[B, T, H, 3]") +
        ") -> [B, T, H, D] { " +
        (in.empty() ? "" : "sel = selection(idx, 8); ") +
        "return attend(q, k, v) " + in + (where.empty() ? "" : " where ") +
        where + "; }";
    module = frontend::compile(llvm::MemoryBufferRef(text, "f.nsa"),
                               frontend::Options(), context);
    EXPECT_TRUE(module) << text;
    EXPECT_TRUE(mlir::succeeded(runPhases(*module, Phase::NSA)));
    sizes.sizes["B"] = 1;
    sizes.sizes["T"] = queries;
    sizes.sizes["S"] = keys;
    sizes.sizes["H"] = 2;
    sizes.sizes["D"] = 16;
  }

  TileMap draw(int64_t tokens, int64_t keys, int64_t most = 64) {
    auto kernel = *module->getOps<nsa::KernelOp>().begin();
    nsa::AttendOp attend;
    kernel.walk([&](nsa::AttendOp op) { attend = op; });
    return makeTileMap(
        mlir::cast<nsa::ScoringOpInterface>(attend.getOperation()),
        tuning::CallSizes(kernel, sizes), tokens, keys, most);
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  DimSizes sizes;
};

/// Looks at each pair of a part of the map.
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
  EXPECT_EQ(map.empty, counts[0]);
  EXPECT_EQ(map.partial, counts[1]);
  EXPECT_EQ(map.full, counts[2]);
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

// Segments are known to a run alone, so that no tile within the bounds is full.
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
  EXPECT_EQ(map.full, 1);
}

TEST(TileMap, IsEmptyWithoutTokens) {
  TileMap map = Attention("j <= i", 0, 16).draw(8, 8);
  EXPECT_TRUE(map.cells.empty());
  EXPECT_EQ(map.full + map.partial + map.empty, 0);
}

} // namespace

/// Of many rows of tiles some are looked at: cells are right, numbers about so.
TEST(TileMap, LongCallsAreLookedAtHereAndThere) {
  int64_t tokens = int64_t{1} << 20;
  TileMap map = Attention("j <= i", tokens, tokens).draw(64, 64);
  EXPECT_TRUE(map.isSampled);
  double tiles = static_cast<double>(tokens) / 64;
  EXPECT_NEAR(map.full, tiles * (tiles - 1) / 2, 0.01 * tiles * tiles);
  EXPECT_NEAR(map.empty, tiles * (tiles - 1) / 2, 0.01 * tiles * tiles);
  EXPECT_NEAR(map.partial, tiles, 0.01 * tiles);
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
  EXPECT_NEAR(map.full, 0x1p79, 0x1p73);
  EXPECT_NEAR(map.empty, 0x1p79, 0x1p73);
  EXPECT_EQ(map.cells.size(), 64u * 64);
}
