//===- TileSource.cpp - Tiles of tensors in one program -------------------===//

#include "TileSource.h"
#include "ScaledF16.h"
#include "TileOpInterface.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

TileSource::~TileSource() = default;

FailureOr<Tile> TileSource::evaluate(Value tensor, const DimSet &dims) {
  auto found = tiles.find({tensor, dims});
  if (found != tiles.end())
    return found->second;
  FailureOr<Tile> computed = compute(tensor, dims);
  if (succeeded(computed))
    tiles[{tensor, dims}] = *computed;
  return computed;
}

FailureOr<Tile> TileSource::compute(Value tensor, const DimSet &dims) {
  PlanBuilder &plan = program.getPlan();
  auto type = cast<NamedTensorType>(tensor.getType());
  if (plan.isMaterialized(tensor)) {
    Tile loaded = load(tensor, program.getBuffer(tensor), type, dims);
    Value scale = plan.getScale(tensor);
    if (!scale)
      return loaded;
    DimSet rowDims = dims;
    rowDims.reset(dims.find_last()); // channels
    TileMath math = getMath(type, dims);
    return unpackScaledF16(
        math, loaded,
        load(tensor, program.import(scale), getScaleType(type), rowDims));
  }
  Operation *op = tensor.getDefiningOp();
  if (auto tiled = dyn_cast<TileOpInterface>(op))
    return tiled.computeTile(*this, tensor, dims);
  return reject(op);
}

LogicalResult TileSource::reject(Operation *op) {
  InFlightDiagnostic error =
      op->emitOpError("isn't compiled yet where its value is a result or an "
                      "operand of arithmetic");
  error.attachNote() << "run the program with --target oracle";
  return error;
}
