//===- MapProgram.cpp - Programs of elementwise code ----------------------===//

#include "QueryProgram.h"
#include "TileSource.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

namespace {

/// Tiles over the last two dimensions of a tensor. Other dimensions have one
/// index.
class Mapping : public TileSource {
public:
  Mapping(ProgramBuilder &program, NamedTensorType type,
          nsatile::ScheduleAttr schedule)
      : TileSource(program), type(type), schedule(schedule) {}

  /// Sets the sizes of the tensor's dimensions, which are values of the plan.
  void setPlace(ArrayRef<Value> planSizes);
  void store(Tile tile, Value buffer);

  TileMath getMath(NamedTensorType, const DimSet &) override {
    return TileMath(builder, loc, schedule.getRows(), schedule.getColumns());
  }
  Tile load(Value tensor, Value buffer, NamedTensorType from,
            const DimSet &dims) override;
  Value getBatchRow() override { return {}; }
  Demand getElementDemand(MapOp op, const DimSet &dims,
                          TileMath &math) override;

private:
  struct Access : nsatile::TilePlace {
    TileAxes axes = TileAxes::Scalar;
  };
  Access getAccess(const DimSet &dims);

  NamedTensorType type;
  nsatile::ScheduleAttr schedule;
  /// Start of the tile in each dimension of the tensor, and the dimensions'
  /// sizes.
  SmallVector<Value> offsets, sizes;
};

} // namespace

void Mapping::setPlace(ArrayRef<Value> planSizes) {
  IndexMath m = program.math();
  int64_t rank = planSizes.size();
  for (Value size : planSizes)
    sizes.push_back(program.import(size));
  offsets.resize(rank);
  if (rank > 0)
    offsets[rank - 1] = m.mul(program.programId(1), schedule.getColumns());
  if (rank > 1)
    offsets[rank - 2] = m.mul(program.programId(0), schedule.getRows());
  // All other dimensions are one axis of the grid.
  Value rest = program.programId(2);
  for (int64_t dim = rank - 3; dim >= 0; --dim) {
    offsets[dim] = arith::RemUIOp::create(builder, loc, rest, sizes[dim]);
    rest = arith::DivUIOp::create(builder, loc, rest, sizes[dim]);
  }
}

Mapping::Access Mapping::getAccess(const DimSet &dims) {
  Access access;
  int64_t rank = type.getRank();
  for (auto [index, dim] : llvm::enumerate(dims.set_bits())) {
    access.offsets.push_back(offsets[dim]);
    if (dim + 2 < rank)
      continue;
    bool isColumn = dim + 1 == rank;
    access.dims.push_back(index);
    access.shape.push_back(isColumn ? schedule.getColumns()
                                    : schedule.getRows());
    access.limits.push_back(sizes[dim]);
    access.axes =
        join(access.axes, isColumn ? TileAxes::Column : TileAxes::Row);
  }
  return access;
}

Tile Mapping::load(Value, Value buffer, NamedTensorType from,
                   const DimSet &dims) {
  Access access = getAccess(dims);
  Value value = nsatile::loadTile(builder, loc, buffer, access);
  value = widen(builder, loc, value, from);
  if (access.axes == TileAxes::Scalar)
    value = tensor::ExtractOp::create(builder, loc, value, ValueRange());
  return {value, access.axes};
}

/// Demand for elements within the tensor, by the indices of the map's
/// dimensions.
Demand Mapping::getElementDemand(MapOp map, const DimSet &dims,
                                 TileMath &math) {
  Demand demand;
  demand.op = getOpNumber(map);
  int64_t rank = type.getRank();
  for (int dim : dims.set_bits()) {
    Tile index = {offsets[dim], TileAxes::Scalar};
    if (dim + 2 >= rank) {
      TileAxes axes = dim + 1 == rank ? TileAxes::Column : TileAxes::Row;
      auto shape =
          cast<RankedTensorType>(math.getType(axes, builder.getIndexType()));
      index = {nsatile::IotaOp::create(builder, loc, shape, offsets[dim]),
               axes};
      Tile inside = math.compare(arith::CmpIPredicate::slt, index,
                                 {sizes[dim], TileAxes::Scalar});
      demand.active = demand.active.value
                          ? math.apply<arith::AndIOp>(demand.active, inside)
                          : inside;
    }
    demand.positions.push_back(index);
  }
  return demand;
}

void Mapping::store(Tile tile, Value buffer) {
  DimSet dims(type.getRank(), true);
  Access access = getAccess(dims);
  TileMath math = getMath(type, dims);
  Value value = math.broadcastTo(tile, access.axes);
  if (access.axes == TileAxes::Scalar)
    value = tensor::SplatOp::create(builder, loc, value,
                                    RankedTensorType::get({}, value.getType()));
  value = narrow(builder, loc, value,
                 cast<MemRefType>(buffer.getType()).getElementType());
  nsatile::storeTile(builder, loc, value, program.import(buffer), access);
}

/// The schedule of the map. Copies of other tensors have small tiles.
static nsatile::ScheduleAttr getMapSchedule(Value tensor) {
  if (auto map = tensor.getDefiningOp<MapOp>())
    return getSchedule(map);
  schedule::PerField<int64_t> values;
  values[static_cast<size_t>(schedule::Field::Rows)] = 16;
  values[static_cast<size_t>(schedule::Field::Columns)] = 64;
  return nsatile::ScheduleAttr::get(tensor.getContext(), values);
}

LogicalResult nsacc::buildMapProgram(PlanBuilder &plan, Value tensor,
                                     Value buffer) {
  auto type = cast<NamedTensorType>(tensor.getType());
  IndexMath m = plan.math();
  SmallVector<Value> sizes;
  for (size_t dim = 0; dim < type.getRank(); ++dim)
    sizes.push_back(plan.getBufferSize(buffer, dim));
  ProgramBuilder program(plan, tensor.getLoc(), "map");
  if (auto map = tensor.getDefiningOp<MapOp>())
    program.setOps(map.getOperation());
  nsatile::ScheduleAttr schedule = getMapSchedule(tensor);
  Mapping mapping(program, type, schedule);
  mapping.setPlace(sizes);
  FailureOr<Tile> value =
      mapping.evaluate(tensor, DimSet(type.getRank(), true));
  if (failed(value))
    return failure();
  mapping.store(*value, buffer);

  Value rest = m.constant(1);
  for (Value size :
       ArrayRef(sizes).drop_back(std::min<size_t>(2, sizes.size())))
    rest = arith::MulIOp::create(plan.getBuilder(), plan.getLoc(), rest, size);
  Value one = m.constant(1);
  program.launch(
      sizes.size() > 1 ? m.ceilDiv(sizes.end()[-2], schedule.getRows()) : one,
      sizes.empty() ? one : m.ceilDiv(sizes.back(), schedule.getColumns()),
      rest);
  return success();
}
