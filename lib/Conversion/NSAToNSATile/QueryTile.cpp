//===- QueryTile.cpp - The queries that one program works on --------------===//

#include "QueryTile.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

QueryDims QueryDims::get(NamedTensorType query) {
  ArrayRef<Attribute> dims = query.getDims();
  if (query.isRagged())
    return {Attribute(), dims[0], dims[1]};
  return {dims[0], dims[1], dims[2]};
}

/// tensor<TxG> to tensor<R>, tensor<TxGxC> to tensor<RxC>.
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

QueryTile nsacc::createQueryTile(ProgramBuilder &program, const QueryDims &dims,
                                 int64_t tokens, int64_t group) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  QueryTile tile;
  tile.dims = dims;
  tile.tokens = tokens;
  tile.group = group;
  tile.keyHead = program.programId(1);
  tile.batchRow = program.programId(2);
  tile.firstToken = m.mul(program.programId(0), tokens);
  ProgramBuilder::Row row = program.getRow(dims.token, tile.batchRow);
  tile.rowStart = row.start;
  tile.numTokens = row.size;

  auto spread = [&](Value start, int64_t size, int64_t missing) {
    Type index = builder.getIndexType();
    Value iota = nsatile::IotaOp::create(
        builder, loc, RankedTensorType::get({size}, index), start);
    Value both = nsatile::BroadcastOp::create(
        builder, loc, RankedTensorType::get({tokens, group}, index), iota,
        ArrayRef<int64_t>{missing});
    return collapseRows(builder, loc, both);
  };
  tile.tokenOfRow = spread(tile.firstToken, tokens, 1);
  tile.headOfRow = spread(m.mul(tile.keyHead, group), group, 0);
  return tile;
}

namespace {

/// Where a tensor's elements of a query tile lie in its buffer.
struct Access {
  SmallVector<Value> offsets, limits;
  SmallVector<int64_t> dims, shape;
  bool hasToken = false, hasHead = false, hasChannel = false;
};

} // namespace

static Access getAccess(ProgramBuilder &program, const QueryTile &tile,
                        ArrayRef<Attribute> dims, int64_t channels) {
  IndexMath m = program.math();
  Access access;
  auto tileDim = [&](int64_t index, int64_t size, Value limit) {
    access.dims.push_back(index);
    access.shape.push_back(size);
    access.limits.push_back(limit);
  };
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (dim == tile.dims.batch) {
      access.offsets.push_back(tile.batchRow);
    } else if (dim == tile.dims.token) {
      access.hasToken = true;
      access.offsets.push_back(m.add(tile.rowStart, tile.firstToken));
      tileDim(index, tile.tokens, m.add(tile.rowStart, tile.numTokens));
    } else if (dim == tile.dims.head) {
      access.hasHead = true;
      access.offsets.push_back(m.mul(tile.keyHead, tile.group));
      tileDim(index, tile.group, program.getSize(dim));
    } else {
      access.hasChannel = true;
      access.offsets.push_back(m.constant(0));
      tileDim(index, channels, program.getSize(dim));
    }
  }
  return access;
}

static Value load(ProgramBuilder &program, const Access &access, Value buffer) {
  Type elementType = cast<MemRefType>(buffer.getType()).getElementType();
  return nsatile::LoadOp::create(
      program.getBuilder(), program.getLoc(),
      RankedTensorType::get(access.shape, elementType), buffer, access.offsets,
      access.limits, access.dims, DenseI64ArrayAttr());
}

Tile nsacc::loadQueryTile(ProgramBuilder &program, const QueryTile &tile,
                          Value tensor, TileMath &math) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  auto type = cast<NamedTensorType>(tensor.getType());
  Access access = getAccess(program, tile, type.getDims(), math.getColumns());
  Value value = load(program, access, program.getBuffer(tensor));
  value = widen(builder, loc, value, type);
  if (access.shape.empty())
    return {tensor::ExtractOp::create(builder, loc, value, ValueRange()),
            Spread::Scalar};
  if (!access.hasToken && !access.hasHead)
    return {value, Spread::Column};

  // Repeat along the missing one of tokens and heads.
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
          access.hasChannel ? Spread::Matrix : Spread::Row};
}

Value nsacc::loadQueryMatrix(ProgramBuilder &program, const QueryTile &tile,
                             Value tensor, int64_t channels) {
  auto type = cast<NamedTensorType>(tensor.getType());
  Access access = getAccess(program, tile, type.getDims(), channels);
  Value value = load(program, access, program.getBuffer(tensor));
  return collapseRows(program.getBuilder(), program.getLoc(), value);
}

/// What code computed to elements in memory.
static Value narrow(OpBuilder &builder, Location loc, Value value,
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
  return arith::IndexCastOp::create(builder, loc, as(elementType), value);
}

void nsacc::storeQueryTile(ProgramBuilder &program, const QueryTile &tile,
                           Tile value, NamedTensorType type, Value buffer,
                           TileMath &math) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Access access = getAccess(program, tile, type.getDims(), math.getColumns());
  Value rows =
      math.spreadTo(value, access.hasChannel ? Spread::Matrix : Spread::Row);
  rows = narrow(builder, loc, rows,
                cast<MemRefType>(buffer.getType()).getElementType());
  Value stored = expandRows(builder, loc, rows, tile.tokens, tile.group);
  nsatile::StoreOp::create(builder, loc, stored, buffer, access.offsets,
                           access.limits, access.dims);
}
