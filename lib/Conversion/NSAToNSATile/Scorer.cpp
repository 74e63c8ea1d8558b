//===- Scorer.cpp - Scores, masks and key loops of one query tile ---------===//

#include "AttendTiles.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// The sequence dimension of a tensor of keys or values.
static Attribute getSequenceDim(Value keys) {
  auto type = cast<NamedTensorType>(keys.getType());
  return type.getDims()[type.isRagged() ? 0 : 1];
}

/// The token dimension that positions count in: S for keys over S or pooled
/// from S.
static Attribute getPositionDim(Attribute sequence) {
  if (auto pooled = dyn_cast<PooledDimAttr>(sequence))
    return NamedDimAttr::get(sequence.getContext(), pooled.getBase(),
                             pooled.getRagged());
  return sequence;
}

Scorer::Scorer(ProgramBuilder &program, const QueryTile &tile,
               ScoringOpInterface op, nsatile::ScheduleAttr schedule)
    : program(program), tile(tile), op(op), schedule(schedule),
      mask(analyzeMask(op)) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Attribute sequence = getSequenceDim(op.getKey());
  keyRow = program.getRow(sequence, tile.batchRow);
  Value numTokens =
      program.getRow(getPositionDim(sequence), tile.batchRow).size;
  shift = program.math().sub(numTokens, tile.numTokens);

  if (!op.getScale().empty()) {
    TileMath math(builder, loc, 1, 1);
    scale = tileRegion(op.getScale(), {}, math, getContext()).value;
  } else {
    auto type = cast<NamedTensorType>(op.getQuery().getType());
    int64_t size = *program.getPlan().getStaticSize(type.getDims().back());
    scale = arith::ConstantOp::create(
        builder, loc, builder.getF32FloatAttr(1.0 / std::sqrt(size)));
  }
}

QueryRows Scorer::getAllRows() {
  IndexMath m = program.math();
  auto type = cast<NamedTensorType>(op.getQuery().getType());
  int64_t channels = *program.getPlan().getStaticSize(type.getDims().back());
  Value end = m.min(m.add(tile.firstToken, tile.tokens), tile.numTokens);
  return {tile.getRows(),
          loadQueryMatrix(program, tile, op.getQuery(), channels),
          tile.tokenOfRow,
          tile.headOfRow,
          m.add(tile.firstToken, shift),
          m.add(m.add(end, -1), shift)};
}

QueryRows Scorer::slice(const QueryRows &rows, Value first, int64_t count,
                        Value token) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  OpFoldResult one = builder.getIndexAttr(1),
               size = builder.getIndexAttr(count);
  auto sliceRows = [&](Value value) -> Value {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<OpFoldResult> offsets = {first}, sizes = {size},
                              strides = {one};
    if (type.getRank() == 2) {
      offsets.push_back(builder.getIndexAttr(0));
      sizes.push_back(builder.getIndexAttr(type.getDimSize(1)));
      strides.push_back(one);
    }
    return tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes,
                                          strides);
  };
  Value position = program.math().add(token, shift);
  return {count,
          sliceRows(rows.query),
          sliceRows(rows.tokens),
          sliceRows(rows.heads),
          position,
          position};
}

//===----------------------------------------------------------------------===//
// Loops over key tiles
//===----------------------------------------------------------------------===//

Value Scorer::getSymbol(const MaskSymbol &symbol) {
  switch (symbol.kind) {
  case MaskSymbol::Kind::BatchRow:
    return tile.batchRow;
  case MaskSymbol::Kind::Head:
    llvm_unreachable("bounds that depend on the head are dropped");
  case MaskSymbol::Kind::Dim: {
    MLIRContext *context = op->getContext();
    bool ragged =
        static_cast<bool>(program.getPlan().getOffsetsInput(symbol.dim));
    return program
        .getRow(NamedDimAttr::get(context, symbol.dim, ragged), tile.batchRow)
        .size;
  }
  }
  llvm_unreachable("unknown symbol");
}

/// The rows of a tile have several heads: what depends on the head can't bound
/// a loop over all of them.
static bool mentionsHead(AffineExpr expr, const MaskInfo &mask) {
  for (auto [index, symbol] : llvm::enumerate(mask.symbols))
    if (symbol.kind == MaskSymbol::Kind::Head && expr.isFunctionOfSymbol(index))
      return true;
  return false;
}

Value Scorer::evaluate(AffineExpr expr, const QueryRows &rows, bool greatest) {
  if (mentionsHead(expr, mask))
    return {};
  MLIRContext *context = expr.getContext();
  AffineExpr bound = boundOverRows(expr, getAffineDimExpr(0, context),
                                   getAffineDimExpr(1, context), greatest);
  if (!bound)
    return {};
  SmallVector<Value> symbols;
  for (auto [index, symbol] : llvm::enumerate(mask.symbols))
    symbols.push_back(bound.isFunctionOfSymbol(index) ? getSymbol(symbol)
                                                      : Value());
  return affine::expandAffineExpr(program.getBuilder(), program.getLoc(), bound,
                                  {rows.first, rows.last}, symbols);
}

Scorer::Bounds Scorer::getBounds(const QueryRows &rows,
                                 const KeyInterval &interval) {
  IndexMath m = program.math();
  Value zero = m.constant(0);
  Bounds bounds = {zero, keyRow.size, zero, keyRow.size, interval.exact};
  for (AffineExpr lower : interval.lower) {
    Value least = evaluate(lower, rows, /*greatest=*/false);
    Value most = evaluate(lower, rows, /*greatest=*/true);
    if (least)
      bounds.low = m.max(bounds.low, least);
    if (most)
      bounds.fullLow = m.max(bounds.fullLow, most);
    bounds.exact &= most != nullptr;
  }
  for (AffineExpr upper : interval.upper) {
    Value most = evaluate(upper, rows, /*greatest=*/true);
    Value least = evaluate(upper, rows, /*greatest=*/false);
    if (most)
      bounds.high = m.min(bounds.high, most);
    if (least)
      bounds.fullHigh = m.min(bounds.fullHigh, least);
    bounds.exact &= least != nullptr;
  }
  for (AffineExpr guard : interval.guards) {
    Value value = evaluate(guard, rows, /*greatest=*/true);
    bounds.exact &= value != nullptr;
    if (value)
      bounds.high = m.select(m.less(value, zero), zero, bounds.high);
  }
  bounds.high = m.max(bounds.high, zero);
  bounds.fullHigh = m.max(bounds.fullHigh, zero);
  return bounds;
}

Value Scorer::getLastKey(const QueryRows &rows) {
  IndexMath m = program.math();
  Value end = m.constant(0);
  for (const KeyInterval &interval : mask.intervals)
    end = m.max(end, getBounds(rows, interval).high);
  return end;
}

SmallVector<Value> Scorer::foldKeyTiles(const QueryRows &rows,
                                        ValueRange initial, Step step) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  int64_t keys = getTileKeys();
  SmallVector<Value> state(initial);
  /// Ranges of tiles that earlier intervals went over.
  SmallVector<std::pair<Value, Value>> earlier;

  auto fold = [&](Value first, Value last, bool masked) {
    auto body = [&](OpBuilder &, Location, Value index, ValueRange carried) {
      Value fresh;
      for (auto [start, end] : earlier) {
        Value before = m.less(index, start);
        Value behind = m.compare(arith::CmpIPredicate::sge, index, end);
        Value outside = arith::OrIOp::create(builder, loc, before, behind);
        fresh = fresh ? arith::AndIOp::create(builder, loc, fresh, outside)
                      : outside;
      }
      auto run = [&] { return step(m.mul(index, keys), masked, carried); };
      scf::YieldOp::create(
          builder, loc,
          fresh
              ? choose(fresh, run, [&] { return SmallVector<Value>(carried); })
              : run());
    };
    auto loop = scf::ForOp::create(builder, loc, first, last, m.constant(1),
                                   state, body);
    state.assign(loop.getResults().begin(), loop.getResults().end());
  };

  for (const KeyInterval &interval : mask.intervals) {
    Bounds bounds = getBounds(rows, interval);
    Value first = m.floorDiv(bounds.low, keys);
    Value last = m.max(m.ceilDiv(bounds.high, keys), first);
    if (bounds.exact) {
      Value fullFirst = m.min(m.ceilDiv(bounds.fullLow, keys), last);
      Value fullLast =
          m.max(m.min(m.floorDiv(bounds.fullHigh, keys), last), fullFirst);
      // Without a lower bound the first tile is whole for every row.
      if (!interval.lower.empty())
        fold(first, fullFirst, /*masked=*/true);
      fold(fullFirst, fullLast, /*masked=*/false);
      fold(fullLast, last, /*masked=*/true);
    } else {
      fold(first, last, /*masked=*/true);
    }
    earlier.push_back({first, last});
  }
  return state;
}

SmallVector<Value> Scorer::choose(Value condition, Branch yes, Branch no) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  auto build = [&](Branch branch) {
    return [&builder, loc, branch](OpBuilder &, Location) {
      scf::YieldOp::create(builder, loc, branch());
    };
  };
  auto op = scf::IfOp::create(builder, loc, condition, build(yes), build(no));
  return SmallVector<Value>(op.getResults());
}

SmallVector<Value> Scorer::foldBlocks(const QueryRows &rows, Value list,
                                      ValueRange prefix, int64_t blockSize,
                                      ValueRange initial, Step step) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  SmallVector<Bounds> exact;
  for (const KeyInterval &interval : mask.intervals) {
    Bounds bounds = getBounds(rows, interval);
    if (bounds.exact)
      exact.push_back(bounds);
  }
  auto isFull = [&](Value firstKey) {
    Value full;
    Value end = m.add(firstKey, getTileKeys());
    for (const Bounds &bounds : exact) {
      Value inside = arith::AndIOp::create(
          builder, loc,
          m.compare(arith::CmpIPredicate::sge, firstKey, bounds.fullLow),
          m.compare(arith::CmpIPredicate::sle, end, bounds.fullHigh));
      full = full ? arith::OrIOp::create(builder, loc, full, inside) : inside;
    }
    return full;
  };
  auto foldBlock = [&](Value block, ValueRange carried) {
    SmallVector<Value> state(carried);
    Value firstKey = m.mul(block, blockSize);
    for (int64_t key = 0; key < blockSize; key += getTileKeys()) {
      Value tileKey = m.add(firstKey, key);
      // A tile that ends behind its block has keys that weren't selected.
      bool whole = key + getTileKeys() <= blockSize;
      auto masked = [&] { return step(tileKey, /*masked=*/true, state); };
      auto plain = [&] { return step(tileKey, /*masked=*/false, state); };
      Value full = whole ? isFull(tileKey) : Value();
      state = full ? choose(full, plain, masked) : masked();
    }
    return state;
  };

  int64_t top = cast<MemRefType>(list.getType()).getShape().back();
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), m.constant(top), m.constant(1), initial,
      [&](OpBuilder &, Location, Value entry, ValueRange carried) {
        SmallVector<Value> indices(prefix);
        indices.push_back(entry);
        Value stored = memref::LoadOp::create(builder, loc, list, indices);
        Value block = arith::IndexCastOp::create(
            builder, loc, builder.getIndexType(), stored);
        Value isBlock =
            m.compare(arith::CmpIPredicate::sge, block, m.constant(0));
        scf::YieldOp::create(builder, loc,
                             choose(
                                 isBlock,
                                 [&] { return foldBlock(block, carried); },
                                 [&] { return SmallVector<Value>(carried); }));
      });
  return SmallVector<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// One tile of keys
//===----------------------------------------------------------------------===//

Value Scorer::loadKeys(Value tensor, Value firstKey, int64_t count,
                       int64_t step) {
  OpBuilder &builder = program.getBuilder();
  IndexMath m = program.math();
  auto type = cast<NamedTensorType>(tensor.getType());
  int64_t channels = *program.getPlan().getStaticSize(type.getDims().back());
  Value buffer = program.getBuffer(tensor);
  SmallVector<Value> offsets;
  if (!type.isRagged())
    offsets.push_back(tile.batchRow);
  int64_t sequence = offsets.size();
  offsets.push_back(m.add(keyRow.start, firstKey));
  offsets.push_back(tile.keyHead);
  offsets.push_back(m.constant(0));
  SmallVector<Value> limits = {m.add(keyRow.start, keyRow.size),
                               m.constant(channels)};
  DenseI64ArrayAttr steps;
  if (step != 1)
    steps = builder.getDenseI64ArrayAttr({step, 1});
  return nsatile::LoadOp::create(
      builder, program.getLoc(),
      RankedTensorType::get({count, channels}, type.getElementType()), buffer,
      offsets, limits, ArrayRef<int64_t>{sequence, sequence + 2}, steps);
}

Tile Scorer::getKeyIndices(TileMath &math, Value firstKey, int64_t step) {
  OpBuilder &builder = math.getBuilder();
  Location loc = math.getLoc();
  auto type = cast<RankedTensorType>(
      math.getType(Spread::Column, builder.getIndexType()));
  IndexMath m(builder, loc);
  if (step == 1)
    return {nsatile::IotaOp::create(builder, loc, type, firstKey),
            Spread::Column};
  Tile count = {nsatile::IotaOp::create(builder, loc, type, m.constant(0)),
                Spread::Column};
  Tile stepped =
      math.apply<arith::MulIOp>(count, {m.constant(step), Spread::Scalar});
  return math.apply<arith::AddIOp>(stepped, {firstKey, Spread::Scalar});
}

SmallVector<Tile> Scorer::getRowArguments(const QueryRows &rows) {
  OpBuilder &builder = program.getBuilder();
  TileMath math(builder, program.getLoc(), rows.count, 1);
  Tile tokens = {rows.tokens, Spread::Row};
  Tile position = math.apply<arith::AddIOp>(tokens, {shift, Spread::Scalar});
  return {{tile.batchRow, Spread::Scalar},
          {rows.heads, Spread::Row},
          tokens,
          position};
}

SmallVector<Tile> Scorer::getPairArguments(const QueryRows &rows, Tile keys) {
  SmallVector<Tile> arguments = getRowArguments(rows);
  arguments.push_back(keys);
  return arguments;
}

ScoreTile Scorer::score(const QueryRows &rows, Value firstKey, int64_t count,
                        int64_t step, bool masked, bool rawScale) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  TileMath math(builder, loc, rows.count, count);
  Tile keys = getKeyIndices(math, firstKey, step);
  Value keyTile = loadKeys(op.getKey(), firstKey, count, step);
  auto type = cast<RankedTensorType>(
      math.getType(Spread::Matrix, builder.getF32Type()));
  Tile scores = {nsatile::DotOp::create(builder, loc, type, rows.query, keyTile,
                                        Value(), /*transpose_rhs=*/true),
                 Spread::Matrix};
  bool hasRegion = !op.getScore().empty();
  if (!rawScale)
    scores = math.apply<arith::MulFOp>(scores, {scale, Spread::Scalar});
  SmallVector<Tile> arguments = getPairArguments(rows, keys);
  if (hasRegion) {
    SmallVector<Tile> all = {scores};
    all.append(arguments);
    scores = tileRegion(op.getScore(), all, math, getContext());
  }
  if (!masked)
    return {math.toMatrix(scores), Value()};

  // Keys outside of the sequence were loaded as zeros.
  IndexMath m(builder, loc);
  Tile zero = {m.constant(0), Spread::Scalar};
  Tile size = {keyRow.size, Spread::Scalar};
  Tile visible = math.compare(arith::CmpIPredicate::slt, keys, size);
  if (step != 1)
    visible = math.apply<arith::AndIOp>(
        visible, math.compare(arith::CmpIPredicate::sge, keys, zero));
  if (!op.getMask().empty())
    visible = math.apply<arith::AndIOp>(
        visible, tileRegion(op.getMask(), arguments, math, getContext()));
  return {math.toMatrix(scores), math.toMatrix(visible)};
}

Value Scorer::weigh(const QueryRows &rows, Value scores, Value firstKey,
                    int64_t step) {
  OpBuilder &builder = program.getBuilder();
  int64_t count = cast<RankedTensorType>(scores.getType()).getDimSize(1);
  TileMath math(builder, program.getLoc(), rows.count, count);
  Tile keys = getKeyIndices(math, firstKey, step);
  SmallVector<Tile> arguments = {{scores, Spread::Matrix}};
  arguments.append(getPairArguments(rows, keys));
  return math.toMatrix(
      tileRegion(op.getWeight(), arguments, math, getContext()));
}
