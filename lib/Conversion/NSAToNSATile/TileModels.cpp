//===- TileModels.cpp - Tiling of the nsa dialect's ops -------------------===//

#include "Attention.h"
#include "Evaluator.h"
#include "NSA/IR/NSADialect.h"
#include "SelectionLists.h"
#include "TileOpInterface.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using schedule::Field;

#include "nsacc/Conversion/NSAToNSATile/TileOpInterface.cpp.inc"

namespace {

template <typename Model, typename OpTy>
using TileModel = TileOpInterface::ExternalModel<Model, OpTy>;

//===----------------------------------------------------------------------===//
// Attentions
//===----------------------------------------------------------------------===//

struct AttendModel : TileModel<AttendModel, AttendOp> {
  SmallVector<Field> getTileFields(Operation *) const {
    return {Field::Tokens, Field::Keys};
  }

  LogicalResult addPrograms(Operation *op, PlanBuilder &plan) const {
    auto attend = cast<AttendOp>(op);
    if (op->use_empty())
      return success();
    QueryShape shape =
        getQueryShape(plan.getKernel(), cast<ScoringOpInterface>(op));
    nsatile::ScheduleAttr schedule = getSchedule(op);
    if (schedule.getOrder() == nsatile::LoopOrder::KeyMajor) {
      if (attend.getSelection())
        return buildInvertedPrograms(plan, shape, attend);
      buildKeyMajorProgram(plan, shape, attend);
      return success();
    }
    if (schedule.getOrder() == nsatile::LoopOrder::Union &&
        attend.getSelection())
      buildUnionLists(plan, shape, attend);
    return schedule.getSplits() == 1 ? success()
                                     : buildSplitProgram(plan, shape, attend);
  }

  FailureOr<Tile> computeTile(Operation *op, TileSource &source, Value result,
                              const DimSet &) const {
    auto attend = cast<AttendOp>(op);
    Evaluator *rows = source.getRows();
    if (!rows)
      return source.reject(op);
    compute(*rows, attend,
            result == attend.getLse() && attend.getOutput().use_empty());
    return rows->getRowTile(result);
  }
  FailureOr<Tile> computeLse(Operation *op, Evaluator &rows, Value lse) const {
    compute(rows, cast<AttendOp>(op), /*onlyLse=*/true);
    return rows.getRowTile(lse);
  }

private:
  static void compute(Evaluator &rows, AttendOp op, bool onlyLse) {
    rows.computeOp(op, [&](nsatile::ScheduleAttr schedule) {
      AttendTiles computed =
          attendTile(rows.getProgram(), rows.getTile(), op, schedule, onlyLse);
      if (computed.output)
        rows.getRowTile(op.getOutput()) = {computed.output, TileAxes::Matrix};
      if (!computed.lse)
        return;
      rows.getRowTile(op.getLse()) = {computed.lse, TileAxes::Row};
      rows.setState(op.getLse(), computed);
    });
  }
};

struct MergeModel : TileModel<MergeModel, MergeOp> {
  FailureOr<Tile> computeTile(Operation *op, TileSource &source, Value result,
                              const DimSet &) const {
    Evaluator *rows = source.getRows();
    if (!rows)
      return source.reject(op);
    if (failed(computeMerge(*rows, cast<MergeOp>(op))))
      return failure();
    return rows->getRowTile(result);
  }
  FailureOr<Tile> computeLse(Operation *op, Evaluator &rows, Value lse) const {
    if (failed(computeMergedLse(rows, cast<MergeOp>(op))))
      return failure();
    return rows.getRowTile(lse);
  }
};

//===----------------------------------------------------------------------===//
// Elementwise code
//===----------------------------------------------------------------------===//

struct MapModel : TileModel<MapModel, MapOp> {
  SmallVector<Field> getTileFields(Operation *) const {
    return {Field::Rows, Field::Columns};
  }

  FailureOr<Tile> computeTile(Operation *op, TileSource &source, Value,
                              const DimSet &dims) const {
    auto map = cast<MapOp>(op);
    ProgramBuilder &program = source.getProgram();
    if (!source.getBatchRow() && readsRowLength(program.getPlan(), map)) {
      InFlightDiagnostic error = map.emitError(
          "arithmetic with the length of a ragged row isn't compiled yet apart "
          "from attention");
      error.attachNote() << "run the program with --target oracle";
      return error;
    }
    SmallVector<Tile> operands;
    for (Value input : map.getInputs()) {
      FailureOr<Tile> operand =
          source.evaluate(input, compose(dims, map.getPlaces(input)));
      if (failed(operand))
        return failure();
      operands.push_back(*operand);
    }
    TileMath math =
        source.getMath(cast<NamedTensorType>(map.getResult().getType()), dims);
    ScalarContext context = {program, source.getBatchRow()};
    if (!needsAssertion(map.getBody(), ScalarPlaces()))
      return tileRegion(map.getBody(), operands, math, context);
    Demand demand = source.getElementDemand(map, dims, math);
    context.demand = &demand;
    return tileRegion(map.getBody(), operands, math, context);
  }

private:
  static bool readsRowLength(PlanBuilder &plan, MapOp map) {
    return map.getBody()
        .walk([&](DimOp dim) {
          return plan.isRagged(dim.getDim()) ? WalkResult::interrupt()
                                             : WalkResult::advance();
        })
        .wasInterrupted();
  }
};

//===----------------------------------------------------------------------===//
// Importances and selections
//===----------------------------------------------------------------------===//

struct ImportanceModel : TileModel<ImportanceModel, ImportanceOp> {
  SmallVector<Field> getTileFields(Operation *) const {
    return {Field::Tokens, Field::Keys};
  }
};

struct TopKModel : TileModel<TopKModel, TopKOp> {
  bool writesResults(Operation *) const { return true; }
  SmallVector<Field> getTileFields(Operation *) const {
    return {Field::Tokens, Field::Blocks};
  }
  LogicalResult addPrograms(Operation *op, PlanBuilder &plan) const {
    auto topk = cast<TopKOp>(op);
    FailureOr<QueryShape> shape = getSelectionShape(plan, topk);
    return failed(shape) ? failure() : buildTopKProgram(plan, *shape, topk);
  }
};

struct DeclareSelectionModel
    : TileModel<DeclareSelectionModel, DeclareSelectionOp> {
  bool writesResults(Operation *) const { return true; }
  LogicalResult addPrograms(Operation *op, PlanBuilder &plan) const {
    return buildDeclaredSelectionProgram(plan, cast<DeclareSelectionOp>(op));
  }
};

struct UnionModel : TileModel<UnionModel, UnionOp> {
  bool writesResults(Operation *) const { return true; }
  LogicalResult addPrograms(Operation *op, PlanBuilder &plan) const {
    return buildUnionProgram(plan, cast<UnionOp>(op));
  }
};

/// The blocks of a selection, as they stand in memory.
struct IndicesModel : TileModel<IndicesModel, IndicesOp> {
  FailureOr<Tile> computeTile(Operation *op, TileSource &source, Value result,
                              const DimSet &dims) const {
    Value selection = cast<IndicesOp>(op).getSelection();
    ProgramBuilder &program = source.getProgram();
    if (source.getRows() || !program.getPlan().isMaterialized(selection))
      return source.reject(op);
    return source.load(result, program.getBuffer(selection),
                       cast<NamedTensorType>(result.getType()), dims);
  }
};

/// Scores that were handed in, one for each block.
struct DeclareBlocksModel : TileModel<DeclareBlocksModel, DeclareBlocksOp> {
  FailureOr<Tile> computeTile(Operation *op, TileSource &source, Value result,
                              const DimSet &dims) const {
    if (source.getRows())
      return source.reject(op);
    Value input = cast<DeclareBlocksOp>(op).getInput();
    return source.load(result, source.getProgram().getBuffer(input),
                       cast<NamedTensorType>(result.getType()), dims);
  }
};

//===----------------------------------------------------------------------===//
// Pooled keys
//===----------------------------------------------------------------------===//

struct PoolModel : TileModel<PoolModel, PoolOp> {
  bool writesResults(Operation *) const { return true; }
  SmallVector<Field> getTileFields(Operation *) const {
    return {Field::Windows};
  }
  LogicalResult addPrograms(Operation *op, PlanBuilder &plan) const {
    return buildPoolProgram(plan, cast<PoolOp>(op));
  }
};

struct DeclarePooledModel : TileModel<DeclarePooledModel, DeclarePooledOp> {
  LogicalResult addPrograms(Operation *op, PlanBuilder &plan) const {
    auto declare = cast<DeclarePooledOp>(op);
    plan.bind(declare.getResult(), plan.getBuffer(declare.getInput()));
    return success();
  }
};

} // namespace

void nsacc::registerTileModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, NSADialect *) {
    AttendOp::attachInterface<AttendModel>(*context);
    MergeOp::attachInterface<MergeModel>(*context);
    MapOp::attachInterface<MapModel>(*context);
    ImportanceOp::attachInterface<ImportanceModel>(*context);
    TopKOp::attachInterface<TopKModel>(*context);
    DeclareSelectionOp::attachInterface<DeclareSelectionModel>(*context);
    UnionOp::attachInterface<UnionModel>(*context);
    IndicesOp::attachInterface<IndicesModel>(*context);
    DeclareBlocksOp::attachInterface<DeclareBlocksModel>(*context);
    PoolOp::attachInterface<PoolModel>(*context);
    DeclarePooledOp::attachInterface<DeclarePooledModel>(*context);
  });
}
