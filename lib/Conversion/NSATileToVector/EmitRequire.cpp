//===- EmitRequire.cpp - Conditions that a run depends on -----------------===//

#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Code for failures, which no run that goes well comes to.
class FailureReporter {
public:
  FailureReporter(TileEmitter &emitter, RequireOp op, Value values)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        op(op), values(values) {}

  /// Where `condition`, a boolean, doesn't hold.
  void reportUnless(Value condition, ValueRange point) {
    unless(condition, [&] {
      VectorReader reader(emitter, point, 1);
      for (auto [index, value] : llvm::enumerate(op.getValues())) {
        Value number = reader.read(value);
        if (number.getType().isIndex())
          number = arith::IndexCastOp::create(builder, loc,
                                              builder.getI64Type(), number);
        memref::StoreOp::create(builder, loc, number, values,
                                emitter.constant(index));
      }
      Value address =
          memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, values);
      Value id = arith::ConstantOp::create(
          builder, loc, op->getAttrOfType<IntegerAttr>(kFailureIdAttrName));
      func::CallOp::create(builder, loc, kReportFailureName, TypeRange(),
                           ValueRange{id, address});
    });
  }

  /// Where it doesn't hold for some of the elements that a vector has from
  /// `point` on: one by one.
  void reportUnlessAll(Value conditions, ValueRange point, int64_t width) {
    if (width == 1)
      return reportUnless(conditions, point);
    Value all = vector::ReductionOp::create(
        builder, loc, vector::CombiningKind::AND, conditions);
    unless(all, [&] {
      emitter.forEach(width, [&](Value lane) {
        SmallVector<Value> element(point);
        element.back() =
            arith::AddIOp::create(builder, loc, element.back(), lane);
        reportUnless(VectorReader(emitter, element, 1).read(op.getCondition()),
                     element);
      });
    });
  }

private:
  void unless(Value condition, llvm::function_ref<void()> body) {
    auto ifOp = scf::IfOp::create(builder, loc, TypeRange(), condition,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(builder, loc);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(builder, loc);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    body();
  }

  TileEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  RequireOp op;
  Value values;
};

} // namespace

void TileEmitter::emitRequire(RequireOp op) {
  auto values = MemRefType::get({RequireOp::maxValues}, builder.getI64Type());
  FailureReporter reporter(*this, op, scratch.allocate(values, loc));
  if (!isTile(op.getCondition().getType()))
    return reporter.reportUnless(lookup(op.getCondition()), {});
  forEachVector(cast<RankedTensorType>(op.getCondition().getType()).getShape(),
                [&](ValueRange point, int64_t width) {
                  Value conditions =
                      VectorReader(*this, point, width).read(op.getCondition());
                  reporter.reportUnlessAll(conditions, point, width);
                });
}
