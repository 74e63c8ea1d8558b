//===- TileMapPicture.cpp - Pictures of full, partial and empty tiles -----===//

#include "Numbers.h"
#include "SVG.h"
#include "llvm/Support/FormatVariadic.h"

using namespace nsacc;
using namespace nsacc::explain;
using llvm::formatv;

namespace {
/// The map's position in its picture.
struct Frame {
  static constexpr double left = 64, top = 8, right = 24, bottom = 44;
  double cellWidth, cellHeight, width, height;

  explicit Frame(const TileMap &map) {
    // Maps with few rows, as in decoding, keep a minimum height.
    auto fit = [](int64_t count) {
      return std::clamp(
          384.0 / static_cast<double>(std::max<int64_t>(count, 1)), 4.0, 24.0);
    };
    cellWidth = fit(map.columns);
    cellHeight = fit(map.rows);
    width = cellWidth * static_cast<double>(map.columns);
    height = cellHeight * static_cast<double>(map.rows);
  }
};
} // namespace

static const char *getStyle(TileState state, bool isSelection) {
  switch (state) {
  case TileState::Empty:
    return "empty";
  case TileState::Partial:
    return isSelection ? "maybe-partial" : "partial";
  case TileState::Full:
    return isSelection ? "maybe" : "full";
  }
  llvm_unreachable("unknown state");
}

/// Adjacent cells of one state are drawn as one rectangle.
static void drawCells(SVG &picture, const TileMap &map, const Frame &frame) {
  picture.addRect(frame.left, frame.top, frame.width, frame.height, "empty");
  for (int64_t row = 0; row < map.rows; ++row)
    for (int64_t begin = 0, end; begin < map.columns; begin = end) {
      TileState state = map.get(row, begin);
      for (end = begin + 1; end < map.columns && map.get(row, end) == state;)
        ++end;
      if (state == TileState::Empty)
        continue;
      int64_t tokens = map.tileTokens * map.rowTiles,
              keys = map.tileKeys * map.columnTiles;
      std::string title =
          formatv("queries {0} to {1}, keys {2} to {3}: {4}", row * tokens,
                  std::min((row + 1) * tokens, map.queries) - 1, begin * keys,
                  std::min(end * keys, map.keys) - 1, getName(state));
      picture.addRect(frame.left + static_cast<double>(begin) * frame.cellWidth,
                      frame.top + static_cast<double>(row) * frame.cellHeight,
                      static_cast<double>(end - begin) * frame.cellWidth,
                      frame.cellHeight, getStyle(state, map.block > 0), title);
    }
}

static void drawGrid(SVG &picture, const TileMap &map, const Frame &frame) {
  double right = frame.left + frame.width, bottom = frame.top + frame.height;
  for (int64_t row = 1; row < map.rows; ++row) {
    double y = frame.top + static_cast<double>(row) * frame.cellHeight;
    picture.addLine(frame.left, y, right, y, "cell-edge");
  }
  for (int64_t column = 1; column < map.columns; ++column) {
    double x = frame.left + static_cast<double>(column) * frame.cellWidth;
    picture.addLine(x, frame.top, x, bottom, "cell-edge");
  }
  picture.addRect(frame.left, frame.top, frame.width, frame.height, "frame");
}

static void drawAxes(SVG &picture, const TileMap &map, const Frame &frame) {
  double bottom = frame.top + frame.height;
  picture.addText(frame.left, bottom + 16, "0", "start");
  picture.addText(frame.left + frame.width, bottom + 16,
                  std::to_string(map.keys), "end");
  bool isLow = frame.height < 40;
  std::string keys = "keys";
  if (isLow)
    keys +=
        formatv(" of {0} quer{1}", map.queries, map.queries == 1 ? "y" : "ies");
  picture.addText(frame.left + frame.width / 2, bottom + 34, keys, "middle");
  if (isLow)
    return;
  picture.addText(frame.left - 6, frame.top + 11, "0", "end");
  picture.addText(frame.left - 6, bottom, std::to_string(map.queries), "end");
  picture.addVerticalText(14, frame.top + frame.height / 2, "queries");
}

std::string explain::drawTileMap(const OpExplanation &op) {
  if (!op.map || op.map->cells.empty())
    return "";
  const TileMap &map = *op.map;
  Frame frame(map);
  // A map of a single column leaves room for its labels.
  SVG picture(std::max(frame.left + frame.width + frame.right, 200.0),
              frame.top + frame.height + frame.bottom,
              "tiles of " + op.name + ": " + describeMap(map));
  drawCells(picture, map, frame);
  drawGrid(picture, map, frame);
  drawAxes(picture, map, frame);
  auto count = [&](const Quantity &tiles, const char *what) {
    return spellTiles(tiles, map) + " " + what;
  };
  bool isSelection = map.block > 0;
  std::string legend = makeLegend(
      {{getStyle(TileState::Full, isSelection),
        count(map.full, isSelection ? "that the mask shows whole" : "full")},
       {getStyle(TileState::Partial, isSelection),
        count(map.partial, isSelection ? "that it shows in part" : "partial")},
       {"empty", count(map.empty, "empty")}});
  std::string caption =
      formatv("Tiles of {0} query tokens and {1} keys{2}: {3}.", map.tileTokens,
              map.tileKeys, describeShown(map), op.mask);
  if (map.batch != 1 || map.keyHeads != 1)
    caption += " Numbers are of all batch rows and key heads.";
  if (map.rowTiles > 1 || map.columnTiles > 1)
    caption += formatv(" A cell stands for {0} x {1} of them, and is full or "
                       "empty where all are.",
                       map.rowTiles, map.columnTiles);
  if (map.isSampled || map.areCellsSampled)
    caption += " There are too many to look at all: some stand for the others.";
  if (isSelection)
    caption += formatv(" Of the tiles that the mask shows, each query takes "
                       "those of its selection, at most {0} blocks of {1} "
                       "keys, which a run decides.",
                       map.top, map.block);
  if (map.isPerPair)
    caption += " The mask says more than bounds of keys: it is looked at pair "
               "by pair in partial tiles.";
  return makeFigure("Tiles of " + op.name, picture.finish(), legend, caption);
}
