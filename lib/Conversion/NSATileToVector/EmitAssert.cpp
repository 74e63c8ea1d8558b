//===- EmitAssert.cpp - Conditions that a run depends on ------------------===//

#include "AssertionChecker.h"
#include "NSATile/IR/Assertions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

AssertionChecker::AssertionChecker(TileEmitter &emitter,
                                   SmallVector<AssertOp> given)
    : emitter(emitter), builder(emitter.getBuilder()),
      assertions(std::move(given)) {
  if (assertions.empty())
    return;
  Location loc = assertions.front().getLoc();
  allHold = emitter.allocateScratch(MemRefType::get({1}, builder.getI8Type()));
  Value yes =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  emitter.storeVector(yes, allHold, emitter.constant(0));
}

void AssertionChecker::check(VectorReader &reader, int64_t width) {
  if (assertions.empty())
    return;
  Value all;
  for (AssertOp op : assertions) {
    Value condition = reader.read(op.getCondition());
    all = all ? arith::AndIOp::create(builder, op.getLoc(), all, condition)
              : condition;
  }
  Location loc = assertions.front().getLoc();
  if (width > 1)
    all = vector::ReductionOp::create(builder, loc, vector::CombiningKind::AND,
                                      all);
  Value before = emitter.loadVector(allHold, emitter.constant(0), 1);
  Value now = arith::AndIOp::create(
      builder, loc, before,
      arith::ExtUIOp::create(builder, loc, builder.getI8Type(), all));
  emitter.storeVector(now, allHold, emitter.constant(0));
}

void AssertionChecker::report(ArrayRef<int64_t> shape) {
  if (assertions.empty())
    return;
  Location loc = assertions.front().getLoc();
  Value hold = arith::TruncIOp::create(
      builder, loc, builder.getI1Type(),
      emitter.loadVector(allHold, emitter.constant(0), 1));
  unless(hold, loc, [&] {
    values = emitter.allocateScratch(
        MemRefType::get({AssertOp::maxValues}, builder.getI64Type()));
    SmallVector<Value> lower(shape.size(), emitter.constant(0)), upper;
    for (int64_t size : shape)
      upper.push_back(emitter.constant(size));
    emitter.forEachPoint(lower, upper,
                         [&](ValueRange point) { reportAt(point); });
  });
}

/// Reports failures at a point. Values that assertions share, such as
/// positions, are stored once.
void AssertionChecker::reportAt(ValueRange point) {
  VectorReader reader(emitter, point, 1);
  SmallVector<Value> stored(AssertOp::maxValues);
  for (AssertOp op : assertions) {
    Location loc = op.getLoc();
    for (auto [index, value] : llvm::enumerate(op.getValues())) {
      if (stored[index] == value)
        continue;
      stored[index] = value;
      Value number = reader.read(value);
      if (number.getType().isIndex())
        number = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                            number);
      memref::StoreOp::create(builder, loc, number, values,
                              emitter.constant(index));
    }
    unless(reader.read(op.getCondition()), loc, [&] {
      Value address =
          memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, values);
      Value id = arith::ConstantOp::create(
          builder, loc, op->getAttrOfType<IntegerAttr>(kFailureIdAttrName));
      func::CallOp::create(builder, loc, kReportFailureName, TypeRange(),
                           ValueRange{id, address});
    });
  }
}

void AssertionChecker::unless(Value condition, Location loc,
                              llvm::function_ref<void()> body) {
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
