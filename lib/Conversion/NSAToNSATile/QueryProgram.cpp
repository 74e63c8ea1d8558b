//===- QueryProgram.cpp - Programs that run over query tiles --------------===//

#include "QueryProgram.h"
#include "Evaluator.h"

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
  InFlightDiagnostic error = op->emitOpError("needs the size of dimension '")
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
    return plan.getKernel().emitOpError(
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

LogicalResult nsacc::materializeLse(PlanBuilder &plan, const QueryShape &shape,
                                    Value lse, nsatile::ScheduleAttr schedule) {
  ProgramBuilder program(plan, "lse", schedule);
  QueryTile tile = createQueryTile(program, shape.dims, schedule.getTokens(),
                                   shape.group, getProgramPlace(program));
  Evaluator evaluator(program, tile, schedule);
  FailureOr<Tile> rows = evaluator.evaluateLse(lse);
  if (failed(rows))
    return failure();
  auto type = cast<NamedTensorType>(lse.getType());
  TileMath math = evaluator.getMath(type);
  Value buffer = plan.allocate(lse);
  storeQueryTile(program, tile, *rows, type, program.import(buffer), math);
  launchQueryProgram(program, shape, schedule.getTokens());
  return success();
}
