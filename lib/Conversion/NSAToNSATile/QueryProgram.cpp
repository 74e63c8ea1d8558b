//===- QueryProgram.cpp - Programs that run over query tiles --------------===//

#include "QueryProgram.h"
#include "AttendTiles.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static Attribute getHeadDim(Value keys) {
  auto type = cast<NamedTensorType>(keys.getType());
  return type.getDims()[type.isRagged() ? 1 : 2];
}

/// The size of `dim`, which compiled programs need to know.
static FailureOr<int64_t> requireSize(PlanBuilder &plan, Operation *op,
                                      Attribute dim) {
  if (std::optional<int64_t> size = plan.getStaticSize(dim))
    return *size;
  InFlightDiagnostic error = op->emitError("needs the size of dimension '")
                             << toString(dim) << "' to be compiled";
  error.attachNote() << "fix it, for example with --dims " << toString(dim)
                     << "=64";
  return error;
}

FailureOr<QueryShape> nsacc::getQueryShape(PlanBuilder &plan) {
  std::optional<QueryShape> shape;
  ScoringOpInterface first;
  WalkResult result = plan.getKernel().walk([&](ScoringOpInterface op) {
    auto query = cast<NamedTensorType>(op.getQuery().getType());
    QueryShape own = {QueryDims::get(query), getHeadDim(op.getKey())};
    FailureOr<int64_t> queryHeads = requireSize(plan, op, own.dims.head);
    FailureOr<int64_t> keyHeads = requireSize(plan, op, own.keyHead);
    for (Value tensor : op->getOperands())
      if (auto type = dyn_cast<NamedTensorType>(tensor.getType()))
        if (tensor == op.getQuery() || tensor == op.getKey())
          if (failed(requireSize(plan, op, type.getDims().back())))
            return WalkResult::interrupt();
    if (auto attend = dyn_cast<AttendOp>(op.getOperation())) {
      auto value = cast<NamedTensorType>(attend.getValue().getType());
      if (failed(requireSize(plan, op, value.getDims().back())))
        return WalkResult::interrupt();
    }
    if (failed(queryHeads) || failed(keyHeads))
      return WalkResult::interrupt();
    if (*queryHeads % *keyHeads != 0) {
      op.emitError("expected a number of query heads that is a multiple of the "
                   "number of key heads, found ")
          << *queryHeads << " and " << *keyHeads;
      return WalkResult::interrupt();
    }
    own.group = *queryHeads / *keyHeads;
    if (shape && (shape->dims != own.dims || shape->keyHead != own.keyHead)) {
      InFlightDiagnostic error = op.emitError(
          "attentions of queries or key heads of different dimensions aren't "
          "compiled in one kernel yet");
      error.attachNote(first.getLoc()) << "the other attention stands here";
      return WalkResult::interrupt();
    }
    if (!shape) {
      shape = own;
      first = op;
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!shape)
    return plan.getKernel().emitError(
        "has no attention; only programs with one are compiled yet");
  return *shape;
}

void nsacc::launchQueryProgram(ProgramBuilder &program, const QueryShape &shape,
                               int64_t tokens) {
  PlanBuilder &plan = program.getPlan();
  IndexMath m = plan.math();
  // A ragged batch launches tiles for its longest possible row.
  Value x = m.ceilDiv(plan.getSize(shape.dims.token), tokens);
  Value y = plan.getSize(shape.keyHead);
  Value z =
      shape.dims.batch
          ? plan.getSize(shape.dims.batch)
          : plan.getNumRows(cast<NamedDimAttr>(shape.dims.token).getName());
  program.launch(x, y, z);
}

//===----------------------------------------------------------------------===//
// Values of a query tile
//===----------------------------------------------------------------------===//

namespace {

/// Asks for the tiles of values from the results backwards.
class Evaluator {
public:
  Evaluator(ProgramBuilder &program, const QueryTile &tile,
            nsatile::ScheduleAttr schedule)
      : program(program), builder(program.getBuilder()), loc(program.getLoc()),
        tile(tile), schedule(schedule) {}

  /// The rows (and channels, if the tensor has them) of the tile.
  FailureOr<Tile> evaluate(Value tensor);
  TileMath getMath(NamedTensorType type) {
    return TileMath(builder, loc, tile.getRows(), getChannels(type));
  }

private:
  int64_t getChannels(NamedTensorType type);
  FailureOr<Tile> compute(Value tensor);
  FailureOr<Tile> computeMap(MapOp op);
  FailureOr<Tile> computeMerge(MergeOp op, Value result);

  ProgramBuilder &program;
  OpBuilder &builder;
  Location loc;
  const QueryTile &tile;
  nsatile::ScheduleAttr schedule;
  DenseMap<Value, Tile> tiles;
};

} // namespace

/// The size of the dimension behind batch, token and head; 1 if there is none.
int64_t Evaluator::getChannels(NamedTensorType type) {
  for (Attribute dim : type.getDims())
    if (dim != tile.dims.batch && dim != tile.dims.token &&
        dim != tile.dims.head)
      return program.getPlan().getStaticSize(dim).value_or(1);
  return 1;
}

FailureOr<Tile> Evaluator::evaluate(Value tensor) {
  auto found = tiles.find(tensor);
  if (found != tiles.end())
    return found->second;
  FailureOr<Tile> computed = compute(tensor);
  if (succeeded(computed))
    tiles[tensor] = *computed;
  return computed;
}

FailureOr<Tile> Evaluator::compute(Value tensor) {
  auto type = cast<NamedTensorType>(tensor.getType());
  if (program.getPlan().isMaterialized(tensor)) {
    TileMath math = getMath(type);
    return loadQueryTile(program, tile, tensor, math);
  }
  Operation *op = tensor.getDefiningOp();
  if (auto map = dyn_cast<MapOp>(op))
    return computeMap(map);
  if (auto merge = dyn_cast<MergeOp>(op))
    return computeMerge(merge, tensor);
  if (auto attend = dyn_cast<AttendOp>(op)) {
    bool onlyLse = tensor == attend.getLse() && attend.getOutput().use_empty();
    AttendTiles both = attendTile(program, tile, attend, schedule, onlyLse);
    if (both.output)
      tiles[attend.getOutput()] = {both.output, Spread::Matrix};
    if (both.lse)
      tiles[attend.getLse()] = {both.lse, Spread::Row};
    return tiles.lookup(tensor);
  }
  InFlightDiagnostic error =
      op->emitError("isn't compiled yet where its value is a result or an "
                    "operand of arithmetic");
  error.attachNote() << "run the program with --target oracle";
  return error;
}

FailureOr<Tile> Evaluator::computeMap(MapOp op) {
  SmallVector<Tile> operands;
  for (Value input : op.getInputs()) {
    FailureOr<Tile> operand = evaluate(input);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  auto type = cast<NamedTensorType>(op.getResult().getType());
  TileMath math = getMath(type);
  return tileRegion(op.getBody(), operands, math, {program, tile.batchRow});
}

/// With m the greatest log-sum-exp: o = Σ exp(lse - m) o_n / Σ exp(lse - m) and
/// lse = m + log Σ exp(lse - m).
FailureOr<Tile> Evaluator::computeMerge(MergeOp op, Value result) {
  SmallVector<Tile> outputs, lses;
  for (auto [output, lse] : llvm::zip_equal(op.getOutputs(), op.getLses())) {
    FailureOr<Tile> outputTile = evaluate(output);
    FailureOr<Tile> lseTile = evaluate(lse);
    if (failed(outputTile) || failed(lseTile))
      return failure();
    outputs.push_back(*outputTile);
    lses.push_back(*lseTile);
  }
  TileMath math = getMath(cast<NamedTensorType>(op.getOutput().getType()));
  Tile greatest = lses.front();
  for (Tile lse : llvm::drop_begin(lses))
    greatest = math.apply<arith::MaximumFOp>(greatest, lse);
  // A row that sees nothing anywhere: exp(-inf - 0) = 0 for each branch.
  Tile hidden = {
      math.constant(Spread::Row, -std::numeric_limits<double>::infinity()),
      Spread::Row};
  Tile zero = {math.constant(Spread::Row, 0.0), Spread::Row};
  Tile one = {math.constant(Spread::Row, 1.0), Spread::Row};
  auto equals = [&](Tile lhs, Tile rhs) -> Tile {
    return {arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                  lhs.value, rhs.value),
            Spread::Row};
  };
  Tile infinite = {
      math.constant(Spread::Row, std::numeric_limits<double>::infinity()),
      Spread::Row};
  Tile base = math.select(equals(greatest, hidden), zero, greatest);
  Tile total = zero;
  Tile sum = {math.constant(Spread::Matrix, 0.0), Spread::Matrix};
  for (auto [output, lse] : llvm::zip_equal(outputs, lses)) {
    Tile distance = math.apply<arith::SubFOp>(lse, base);
    Tile share = {math::ExpOp::create(builder, loc, distance.value),
                  Spread::Row};
    total = math.apply<arith::AddFOp>(total, share);
    sum = math.apply<arith::AddFOp>(sum,
                                    math.apply<arith::MulFOp>(output, share));
  }
  Tile divisor = math.select(equals(total, zero), one, total);
  tiles[op.getOutput()] = math.apply<arith::DivFOp>(sum, divisor);
  Tile logarithm = {math::LogOp::create(builder, loc, total.value),
                    Spread::Row};
  // inf - inf has made the rest NaN.
  tiles[op.getLse()] = math.select(equals(greatest, infinite), greatest,
                                   math.apply<arith::AddFOp>(base, logarithm));
  return tiles.lookup(result);
}

LogicalResult nsacc::buildQueryProgram(PlanBuilder &plan,
                                       const QueryShape &shape,
                                       ArrayRef<unsigned> results,
                                       nsatile::ScheduleAttr schedule) {
  ProgramBuilder program(plan, "attend", schedule);
  QueryTile tile = createQueryTile(program, shape.dims, schedule.getTokens(),
                                   shape.group, getProgramPlace(program));
  Evaluator evaluator(program, tile, schedule);
  auto ret = cast<ReturnOp>(plan.getKernel().getBody().front().getTerminator());
  for (unsigned index : results) {
    Value result = ret.getResults()[index];
    FailureOr<Tile> value = evaluator.evaluate(result);
    if (failed(value))
      return failure();
    auto type = cast<NamedTensorType>(result.getType());
    TileMath math = evaluator.getMath(type);
    storeQueryTile(program, tile, *value, type,
                   program.import(plan.getResultBuffer(index)), math);
  }
  launchQueryProgram(program, shape, schedule.getTokens());
  return success();
}
