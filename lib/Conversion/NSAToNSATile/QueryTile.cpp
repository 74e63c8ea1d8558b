//===- QueryTile.cpp - Queries that one program works on ------------------===//

#include "QueryTile.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Reshapes tensor<TxG> to tensor<R>, or tensor<TxGxC> to tensor<RxC>.
static Value collapseRows(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  if (type.getRank() == 3)
    groups.push_back({2});
  return tensor::CollapseShapeOp::create(builder, loc, value, groups);
}

static Value expandRows(OpBuilder &builder, Location loc, Value value,
                        int64_t tokens, int64_t group) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape = {tokens, group};
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  if (type.getRank() == 2) {
    shape.push_back(type.getDimSize(1));
    groups.push_back({2});
  }
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), value,
                                       groups);
}

QueryTile nsacc::getKeyHeadTile(ProgramBuilder &program, const QueryTile &tile,
                                Attribute keyHeadDim) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  auto type = RankedTensorType::get({tile.tokens}, builder.getIndexType());
  QueryTile narrow = tile;
  narrow.dims.head = keyHeadDim;
  narrow.group = 1;
  narrow.firstHead = tile.keyHead;
  narrow.tokenOfRow =
      nsatile::IotaOp::create(builder, loc, type, tile.firstToken);
  narrow.headOfRow = tensor::SplatOp::create(builder, loc, tile.keyHead, type);
  return narrow;
}

QueryTile nsacc::getTileInBuffer(ProgramBuilder &program, const QueryTile &tile,
                                 Value tensor) {
  if (!program.getPlan().isSliced(tensor))
    return tile;
  const StateSlices &slices = *tile.stateSlices;
  QueryTile inSlice = tile;
  inSlice.batchRow =
      program.math().sub(tile.batchRow, program.import(slices.firstRow));
  inSlice.firstToken = tile.tokenOfSlice;
  inSlice.numTokens = program.import(slices.tokens);
  return inSlice;
}

/// Creates a tile without its tokens.
static QueryTile createTile(ProgramBuilder &program, const QueryDims &dims,
                            int64_t tokens, int64_t group,
                            const QueryPlace &place) {
  QueryTile tile;
  static_cast<QueryPlace &>(tile) = place;
  tile.dims = dims;
  tile.tokens = tokens;
  tile.group = group;
  if (!tile.firstHead)
    tile.firstHead = program.math().mul(tile.keyHead, group);
  ProgramBuilder::Row row = program.getRow(dims.token, tile.batchRow);
  tile.rowStart = row.start;
  tile.numTokens = row.size;
  return tile;
}

QueryTile nsacc::getBatchRowTile(ProgramBuilder &program, const QueryDims &dims,
                                 int64_t group, Value keyHead, Value batchRow) {
  QueryTile tile =
      createTile(program, dims, /*tokens=*/0, group,
                 {.tokenTile = {}, .keyHead = keyHead, .batchRow = batchRow});
  tile.firstToken = program.math().constant(0);
  return tile;
}

static Value countFrom(ProgramBuilder &program, Value start, int64_t size) {
  OpBuilder &builder = program.getBuilder();
  return nsatile::IotaOp::create(
      builder, program.getLoc(),
      RankedTensorType::get({size}, builder.getIndexType()), start);
}

static void setRows(ProgramBuilder &program, QueryTile &tile, Value tokens) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  auto type =
      RankedTensorType::get({tile.tokens, tile.group}, builder.getIndexType());
  auto repeat = [&](Value numbers, int64_t missing) {
    Value both = nsatile::BroadcastOp::create(builder, loc, type, numbers,
                                              ArrayRef<int64_t>{missing});
    return collapseRows(builder, loc, both);
  };
  tile.tokenOfRow = repeat(tokens, 1);
  tile.headOfRow = repeat(countFrom(program, tile.firstHead, tile.group), 0);
}

int64_t nsacc::countSlices(PlanBuilder &plan, Value tensor,
                           nsatile::ScheduleAttr schedule) {
  auto type = cast<NamedTensorType>(tensor.getType());
  if (schedule.getChannels() == 0 || !getRowDims(type).test(kChannel))
    return 1;
  int64_t channels = plan.getStaticSize(type.getDims().back()).value_or(1);
  return std::max<int64_t>(1,
                           llvm::divideCeil(channels, schedule.getChannels()));
}

ChannelSlice nsacc::getSlice(ProgramBuilder &program, Value number,
                             nsatile::ScheduleAttr schedule) {
  return {number, program.math().mul(number, schedule.getChannels()),
          schedule.getChannels()};
}

QueryTile nsacc::createQueryTile(ProgramBuilder &program, const QueryDims &dims,
                                 int64_t tokens, int64_t group,
                                 const QueryPlace &place) {
  IndexMath m = program.math();
  QueryTile tile = createTile(program, dims, tokens, group, place);
  tile.firstToken = m.mul(place.tokenTile, tokens);
  if (place.origin)
    tile.firstToken = m.add(tile.firstToken, place.origin);
  if (place.tileOfSlice)
    tile.tokenOfSlice = m.mul(place.tileOfSlice, tokens);
  setRows(program, tile, countFrom(program, tile.firstToken, tokens));
  return tile;
}

QueryTile nsacc::createListedTile(ProgramBuilder &program,
                                  const QueryDims &dims, int64_t tokens,
                                  int64_t group, const QueryPlace &place,
                                  ListedTokens listed) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  QueryTile tile = createTile(program, dims, tokens, group, place);
  tile.firstToken = listed.firstToken;
  TileMath math(builder, loc, tokens, /*columns=*/1);
  Value entries = nsatile::loadTile(
      builder, loc, listed.entries,
      {.offsets = listed.place,
       .limits = {listed.end},
       .dims = {static_cast<int64_t>(listed.place.size()) - 1},
       .shape = {tokens}});
  Tile named = math.convert<arith::IndexCastOp>({entries, TileAxes::Row},
                                                builder.getIndexType());
  Tile token = math.apply<arith::DivUIOp>(
      named, {m.constant(listed.top), TileAxes::Scalar});
  // Rows behind the last one have no token.
  Tile exists = math.compare(
      arith::CmpIPredicate::slt,
      {countFrom(program, listed.place.back(), tokens), TileAxes::Row},
      {listed.end, TileAxes::Scalar});
  token = math.select(exists, token, {tile.numTokens, TileAxes::Scalar});
  tile.listed = std::move(listed);
  setRows(program, tile, token.value);
  return tile;
}

Value nsacc::repeatForHeads(ProgramBuilder &program, const QueryTile &tile,
                            Value tokens) {
  OpBuilder &builder = program.getBuilder();
  auto type = cast<RankedTensorType>(tokens.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + 1, tile.group);
  Value both =
      nsatile::BroadcastOp::create(builder, program.getLoc(), type.clone(shape),
                                   tokens, ArrayRef<int64_t>{1});
  return collapseRows(builder, program.getLoc(), both);
}

namespace {

/// Place of a query tile's elements of a tensor in its buffer.
struct Access : nsatile::TilePlace {
  bool hasToken = false, hasHead = false, hasChannel = false;
};

} // namespace

/// Adds a dimension in front of the buffer's others.
static void addPrefix(Access &access, Value prefix) {
  access.offsets.insert(access.offsets.begin(), prefix);
  for (int64_t &dim : access.dims)
    ++dim;
}

static Access getAccess(ProgramBuilder &program, const QueryTile &tile,
                        const DimSet &dims, Attribute last, int64_t channels) {
  IndexMath m = program.math();
  Access access;
  auto tileDim = [&](int64_t index, int64_t size, Value limit) {
    access.dims.push_back(index);
    access.shape.push_back(size);
    access.limits.push_back(limit);
  };
  for (auto [index, dim] : llvm::enumerate(dims.set_bits())) {
    switch (dim) {
    case kBatch:
      access.offsets.push_back(tile.batchRow);
      break;
    case kToken:
      access.hasToken = true;
      if (tile.listed) {
        access.list = tile.listed->entries;
        access.entry = tile.listed->place;
        access.divisor = tile.listed->top;
        access.offsets.push_back(tile.rowStart);
        tileDim(index, tile.tokens, tile.listed->end);
        break;
      }
      access.offsets.push_back(m.add(tile.rowStart, tile.firstToken));
      tileDim(index, tile.tokens, m.add(tile.rowStart, tile.numTokens));
      break;
    case kHead:
      access.hasHead = true;
      access.offsets.push_back(tile.firstHead);
      tileDim(index, tile.group, program.getSize(tile.dims.head));
      break;
    case kChannel:
      access.hasChannel = true;
      access.offsets.push_back(tile.slice ? tile.slice->first : m.constant(0));
      tileDim(index, channels, program.getSize(last));
      break;
    }
  }
  return access;
}

/// Lets only the program of the first channels store a tensor without channels.
static void storeOnce(ProgramBuilder &program, const QueryTile &tile,
                      Access &access) {
  if (!tile.slice || access.hasChannel)
    return;
  IndexMath m = program.math();
  Value isFirst =
      m.compare(arith::CmpIPredicate::eq, tile.slice->number, m.constant(0));
  access.limits.front() =
      m.select(isFirst, access.limits.front(), m.constant(0));
}

static Value load(ProgramBuilder &program, const nsatile::TilePlace &place,
                  Value buffer) {
  return nsatile::loadTile(program.getBuilder(), program.getLoc(), buffer,
                           place);
}

/// Access to a tensor with all dimensions in front of its last one.
static Access getAccess(ProgramBuilder &program, const QueryTile &tile,
                        NamedTensorType type, int64_t channels) {
  return getAccess(program, tile, getRowDims(type), type.getDims().back(),
                   channels);
}

Tile nsacc::loadQueryTile(ProgramBuilder &program, const QueryTile &tile,
                          NamedTensorType type, const DimSet &dims,
                          Value buffer, TileMath &math) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Attribute last = type.getRank() ? type.getDims().back() : Attribute();
  Access access = getAccess(program, tile, dims, last, math.getColumns());
  Value value = load(program, access, buffer);
  value = widen(builder, loc, value, type);
  if (access.shape.empty())
    return {tensor::ExtractOp::create(builder, loc, value, ValueRange()),
            TileAxes::Scalar};
  if (!access.hasToken && !access.hasHead)
    return {value, TileAxes::Column};

  // Repeats along the missing dimension, tokens or heads.
  if (!access.hasToken || !access.hasHead) {
    SmallVector<int64_t> shape = {tile.tokens, tile.group};
    if (access.hasChannel)
      shape.push_back(math.getColumns());
    auto repeated = cast<RankedTensorType>(value.getType()).clone(shape);
    value = nsatile::BroadcastOp::create(
        builder, loc, repeated, value,
        ArrayRef<int64_t>{access.hasToken ? 1 : 0});
  }
  return {collapseRows(builder, loc, value),
          access.hasChannel ? TileAxes::Matrix : TileAxes::Row};
}

Value nsacc::loadQueryMatrix(ProgramBuilder &program, const QueryTile &tile,
                             Value tensor, int64_t channels) {
  auto type = cast<NamedTensorType>(tensor.getType());
  QueryTile whole = tile;
  whole.slice.reset();
  Access access = getAccess(program, whole, type, channels);
  Value value = load(program, access, program.getBuffer(tensor));
  return collapseRows(program.getBuilder(), program.getLoc(), value);
}

/// Clamps to the nearest number that i32 holds.
static Value clampToI32(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto limit = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            type, static_cast<Attribute>(
                      builder.getIntegerAttr(type.getElementType(), number))));
  };
  using Limits = std::numeric_limits<int32_t>;
  value = arith::MaxSIOp::create(builder, loc, value, limit(Limits::min()));
  return arith::MinSIOp::create(builder, loc, value, limit(Limits::max()));
}

Value nsacc::narrow(OpBuilder &builder, Location loc, Value value,
                    Type elementType) {
  auto as = [&](Type type) -> Type {
    return cast<RankedTensorType>(value.getType()).clone(type);
  };
  Type computed = getElementTypeOrSelf(value.getType());
  if (computed == elementType)
    return value;
  if (computed.isF32())
    return arith::TruncFOp::create(builder, loc, as(elementType), value);
  if (computed.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, as(elementType), value);
  if (elementType.isInteger(32))
    value = clampToI32(builder, loc, value);
  if (computed.isInteger(64))
    return arith::TruncIOp::create(builder, loc, as(elementType), value);
  return arith::IndexCastOp::create(builder, loc, as(elementType), value);
}

void nsacc::storeQueryTile(ProgramBuilder &program, const QueryTile &tile,
                           Tile value, NamedTensorType type, Value buffer,
                           TileMath &math) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Access access = getAccess(program, tile, type, math.getColumns());
  Value rows = math.broadcastTo(value, access.hasChannel ? TileAxes::Matrix
                                                         : TileAxes::Row);
  rows = narrow(builder, loc, rows,
                cast<MemRefType>(buffer.getType()).getElementType());
  Value stored = expandRows(builder, loc, rows, tile.tokens, tile.group);
  storeOnce(program, tile, access);
  nsatile::storeTile(builder, loc, stored, buffer, access);
}

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

/// Access to the rows of a state, which may have channels.
static Access getStateAccess(ProgramBuilder &program, const QueryTile &tile,
                             Value buffer, Value prefix) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t channels = type.getShape().back();
  int64_t first = tile.dims.batch ? kBatch : kToken;
  DimSet dims(kRowDims);
  dims.set(first, first + type.getRank() - 1);
  Access access = getAccess(program, tile, dims,
                            program.getBuilder().getI64IntegerAttr(channels),
                            tile.slice ? tile.slice->count : channels);
  addPrefix(access, prefix);
  return access;
}

Value nsacc::loadQueryState(ProgramBuilder &program, const QueryTile &tile,
                            Value buffer, Value prefix) {
  Access access = getStateAccess(program, tile, buffer, prefix);
  return collapseRows(program.getBuilder(), program.getLoc(),
                      load(program, access, buffer));
}

void nsacc::storeQueryState(ProgramBuilder &program, const QueryTile &tile,
                            Value rows, Value buffer, Value prefix) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Access access = getStateAccess(program, tile, buffer, prefix);
  storeOnce(program, tile, access);
  Value stored = expandRows(builder, loc, rows, tile.tokens, tile.group);
  nsatile::storeTile(builder, loc, stored, buffer, access);
}

//===----------------------------------------------------------------------===//
// States of listed tokens
//===----------------------------------------------------------------------===//

/// Access to rows of a buffer [batch, head, entries, group] or [batch, head,
/// entries, group, channels], with entries counted from `offset`. Query heads
/// with separate lists are groups of one.
static Access getEntryAccess(ProgramBuilder &program, const QueryTile &tile,
                             Value buffer, Value offset, Value limit) {
  IndexMath m = program.math();
  auto type = cast<MemRefType>(buffer.getType());
  int64_t head = tile.dims.batch ? 1 : 0, entry = head + 1, member = head + 2,
          channel = head + 3;
  bool isAlone = type.getDimSize(member) == 1;
  Value row = tile.batchRow, first = isAlone ? tile.firstHead : tile.keyHead;
  Value members =
      isAlone ? program.getSize(tile.dims.head) : m.constant(tile.group);
  if (const StateSlices *slices = tile.stateSlices) {
    if (tile.dims.batch)
      row = m.sub(row, program.import(slices->firstRow));
    first = m.sub(first, program.import(isAlone ? slices->firstQueryHead
                                                : slices->firstHead));
    if (isAlone)
      members = program.import(slices->queryHeads);
  }
  Access access;
  if (tile.dims.batch)
    access.offsets.push_back(row);
  access.offsets.append({first, offset, m.constant(0)});
  access.limits = {limit, members};
  access.dims = {entry, isAlone ? head : member};
  access.shape = {tile.tokens, tile.group};
  if (type.getRank() > channel) {
    int64_t channels = type.getDimSize(channel);
    access.offsets.push_back(m.constant(0));
    access.limits.push_back(m.constant(channels));
    access.dims.push_back(channel);
    access.shape.push_back(channels);
  }
  return access;
}

void nsacc::storeListedState(ProgramBuilder &program, const QueryTile &tile,
                             Value rows, Value buffer) {
  OpBuilder &builder = program.getBuilder();
  const ListedTokens &listed = *tile.listed;
  IndexMath m = program.math();
  Value start = tile.rowStart;
  if (tile.stateSlices && tile.stateSlices->firstToken)
    start = m.sub(start, program.import(tile.stateSlices->firstToken));
  Access access = getEntryAccess(program, tile, buffer,
                                 m.mul(start, listed.top), listed.end);
  Value stored =
      expandRows(builder, program.getLoc(), rows, tile.tokens, tile.group);
  access.list = listed.entries;
  access.entry = listed.place;
  nsatile::storeTile(builder, program.getLoc(), stored, buffer, access);
}

Value nsacc::loadListedState(ProgramBuilder &program, const QueryTile &tile,
                             Value buffer, Value entry, int64_t top) {
  IndexMath m = program.math();
  Value first = tile.tokenOfSlice, end;
  if (first) {
    end = program.import(tile.stateSlices->tokens);
  } else {
    first = m.add(tile.rowStart, tile.firstToken);
    end = m.add(tile.rowStart, tile.numTokens);
  }
  Access access = getEntryAccess(
      program, tile, buffer, m.add(m.mul(first, top), entry), m.mul(end, top));
  access.steps.assign(access.shape.size(), 1);
  access.steps.front() = top;
  return collapseRows(program.getBuilder(), program.getLoc(),
                      load(program, access, buffer));
}

//===----------------------------------------------------------------------===//
// Lists of selections
//===----------------------------------------------------------------------===//

static SelectionType getSelectionType(Value selection) {
  return cast<SelectionType>(selection.getType());
}

Value nsacc::getListOfToken(ProgramBuilder &program, const QueryTile &tile,
                            Value selection, Value token) {
  SelectionType type = getSelectionType(selection);
  IndexMath m = program.math();
  if (type.getRowDim() == tile.dims.token)
    return m.add(tile.rowStart, token);
  Value start = program.getRow(type.getRowDim(), tile.batchRow).start;
  return m.add(start, m.floorDiv(token, type.getTokens()));
}

Value nsacc::getListHead(ProgramBuilder &program, const QueryTile &tile,
                         Value selection) {
  std::optional<int64_t> heads = program.getPlan().getStaticSize(
      getSelectionType(selection).getDims().back());
  return heads == 1 ? program.math().constant(0) : tile.keyHead;
}

namespace {

/// Neighbouring entries of each list.
struct ListColumns {
  Value first;
  int64_t count;
};

} // namespace

static ListColumns getAllEntries(ProgramBuilder &program, Value selection) {
  return {program.math().constant(0),
          static_cast<int64_t>(getSelectionType(selection).getTop())};
}

/// Loads `count` neighbouring lists. A selection per query head has them for
/// each of the tile's heads.
static Value loadLists(ProgramBuilder &program, const QueryTile &tile,
                       Value selection, int64_t count,
                       const ListColumns &entries) {
  IndexMath m = program.math();
  SelectionType type = getSelectionType(selection);
  bool perQueryHead = isPerQueryHead(type, tile.dims, tile.group);
  ProgramBuilder::Row row = program.getRow(type.getRowDim(), tile.batchRow);
  nsatile::TilePlace access = {.offsets = tile.getBatch()};
  int64_t token = access.offsets.size();
  access.offsets.append(
      {getListOfToken(program, tile, selection, tile.firstToken),
       perQueryHead ? tile.firstHead : getListHead(program, tile, selection),
       entries.first});
  access.dims = {token, token + 2};
  access.shape = {count, entries.count};
  access.limits = {m.add(row.start, row.size), m.constant(type.getTop())};
  if (perQueryHead) {
    access.dims.insert(access.dims.begin() + 1, token + 1);
    access.shape.insert(access.shape.begin() + 1, tile.group);
    access.limits.insert(access.limits.begin() + 1,
                         program.getSize(tile.dims.head));
  }
  Value loaded = load(program, access, program.getBuffer(selection));
  return perQueryHead
             ? collapseRows(program.getBuilder(), program.getLoc(), loaded)
             : loaded;
}

/// Gathers the lists of `tokens`, which are tokens of the batch row. Tokens
/// behind the last one have any list.
static Value gatherLists(ProgramBuilder &program, const QueryTile &tile,
                         Value selection, Value tokens,
                         const ListColumns &entries) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  SelectionType type = getSelectionType(selection);
  int64_t rows = cast<RankedTensorType>(tokens.getType()).getDimSize(0);
  TileMath math(builder, loc, rows, entries.count);
  auto scalar = [](Value value) { return Tile{value, TileAxes::Scalar}; };
  Value start = program.getRow(type.getRowDim(), tile.batchRow).start;
  Tile list = math.apply<arith::AddIOp>(
      math.apply<arith::DivUIOp>({tokens, TileAxes::Row},
                                 scalar(m.constant(type.getTokens()))),
      scalar(start));
  Tile head = isPerQueryHead(type, tile.dims, tile.group)
                  ? Tile{tile.headOfRow, TileAxes::Row}
                  : scalar(getListHead(program, tile, selection));
  Tile entry = {
      nsatile::IotaOp::create(builder, loc,
                              cast<RankedTensorType>(math.getType(
                                  TileAxes::Column, builder.getIndexType())),
                              entries.first),
      TileAxes::Column};
  SmallVector<Value> indices;
  if (tile.dims.batch)
    indices.push_back(math.toMatrix(scalar(tile.batchRow)));
  for (Tile index : {list, head, entry})
    indices.push_back(math.toMatrix(index));
  return nsatile::GatherOp::create(
      builder, loc, math.getType(TileAxes::Matrix, builder.getI32Type()),
      program.getBuffer(selection), indices);
}

/// Tokens of the batch row, `step` apart.
static Value getTokens(ProgramBuilder &program, const QueryTile &tile,
                       int64_t count, int64_t step) {
  OpBuilder &builder = program.getBuilder();
  TileMath math(builder, program.getLoc(), count, /*columns=*/1);
  IndexMath m = program.math();
  auto type = cast<RankedTensorType>(
      math.getType(TileAxes::Row, builder.getIndexType()));
  Tile number = {
      nsatile::IotaOp::create(builder, program.getLoc(), type, m.constant(0)),
      TileAxes::Row};
  Tile distance =
      math.apply<arith::MulIOp>(number, {m.constant(step), TileAxes::Scalar});
  return math
      .apply<arith::AddIOp>(distance, {tile.firstToken, TileAxes::Scalar})
      .value;
}

ListsOfTile nsacc::getListsOfTile(ProgramBuilder &program,
                                  const QueryTile &tile, Value selection) {
  IndexMath m = program.math();
  SelectionType type = getSelectionType(selection);
  bool perQueryHead = isPerQueryHead(type, tile.dims, tile.group);
  ProgramBuilder::Row row = program.getRow(type.getRowDim(), tile.batchRow);
  ListsOfTile lists;
  lists.offsets = tile.getBatch();
  lists.along = lists.offsets.size();
  lists.offsets.append(
      {row.start,
       perQueryHead ? tile.firstHead : getListHead(program, tile, selection),
       m.constant(0)});
  lists.heads = perQueryHead ? tile.group : 1;
  lists.end = m.add(row.start, row.size);
  return lists;
}

/// Loads these entries of the lists of the tile's tokens, or of its rows.
static Value loadEntries(ProgramBuilder &program, const QueryTile &tile,
                         Value selection, const ListColumns &entries) {
  SelectionType type = getSelectionType(selection);
  Value tokens = isPerQueryHead(type, tile.dims, tile.group)
                     ? tile.tokenOfRow
                     : getTokens(program, tile, tile.tokens, /*step=*/1);
  Value lists = type.getTokens() == 1
                    ? loadLists(program, tile, selection, tile.tokens, entries)
                    : gatherLists(program, tile, selection, tokens, entries);
  int64_t units = cast<RankedTensorType>(lists.getType()).getDimSize(0);
  TileMath math(program.getBuilder(), program.getLoc(), units, entries.count);
  Tile exists = math.compare(arith::CmpIPredicate::slt, {tokens, TileAxes::Row},
                             {tile.numTokens, TileAxes::Scalar});
  return math
      .select(exists, {lists, TileAxes::Matrix},
              math.integer(program.getBuilder().getI32Type(), -1))
      .value;
}

Value nsacc::loadSelection(ProgramBuilder &program, const QueryTile &tile,
                           Value selection) {
  return loadEntries(program, tile, selection,
                     getAllEntries(program, selection));
}

Value nsacc::hasEntry(ProgramBuilder &program, const QueryTile &tile,
                      Value selection, Value entry) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Value column = loadEntries(program, tile, selection, {entry, 1});
  auto type = cast<RankedTensorType>(column.getType());
  Value blocks = tensor::CollapseShapeOp::create(
      builder, loc, column, SmallVector<ReassociationIndices>{{0, 1}});
  if (!isPerQueryHead(getSelectionType(selection), tile.dims, tile.group))
    blocks = repeatForHeads(program, tile, blocks);
  int64_t rows = cast<RankedTensorType>(blocks.getType()).getDimSize(0);
  TileMath math(builder, loc, rows, /*columns=*/1);
  return math
      .compare(arith::CmpIPredicate::sge, {blocks, TileAxes::Row},
               math.integer(type.getElementType(), 0))
      .value;
}

namespace {

/// Place of neighbouring rows in a tile.
struct RowSlice {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  RowSlice(OpBuilder &builder, RankedTensorType type, Value first,
           int64_t count)
      : offsets({first}), sizes({builder.getIndexAttr(count)}) {
    for (int64_t size : type.getShape().drop_front()) {
      offsets.push_back(builder.getIndexAttr(0));
      sizes.push_back(builder.getIndexAttr(size));
    }
    strides.assign(offsets.size(), builder.getIndexAttr(1));
  }
};

} // namespace

Value nsacc::toOneRow(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<ReassociationIndices> both = {{0, 1}};
  if (type.getRank() == 2)
    value = tensor::CollapseShapeOp::create(builder, loc, value, both);
  return tensor::ExpandShapeOp::create(
      builder, loc,
      RankedTensorType::get({1, type.getNumElements()}, type.getElementType()),
      value, both);
}

Value nsacc::extractRows(OpBuilder &builder, Location loc, Value tile,
                         Value first, int64_t count) {
  RowSlice slice(builder, cast<RankedTensorType>(tile.getType()), first, count);
  return tensor::ExtractSliceOp::create(builder, loc, tile, slice.offsets,
                                        slice.sizes, slice.strides);
}

Value nsacc::insertRows(OpBuilder &builder, Location loc, Value rows,
                        Value tile, Value first) {
  auto type = cast<RankedTensorType>(rows.getType());
  RowSlice slice(builder, type, first, type.getDimSize(0));
  return tensor::InsertSliceOp::create(builder, loc, rows, tile, slice.offsets,
                                       slice.sizes, slice.strides);
}
