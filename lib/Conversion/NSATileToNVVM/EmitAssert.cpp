//===- EmitAssert.cpp - Conditions that a run depends on ------------------===//

#include "FailureWriter.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Records elements for which a condition of a run doesn't hold.
class AssertionEmitter {
public:
  explicit AssertionEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        host(kernel.host) {}

  LogicalResult emitAssert(AssertOp op);

private:
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  const HostParameters &host;
};

} // namespace

LogicalResult AssertionEmitter::emitAssert(AssertOp op) {
  auto assertion = op->getAttrOfType<IntegerAttr>(kFailureIdAttrName);
  if (!assertion || !host.failureRecord)
    return reject(op);
  Value yes = b.make<arith::ConstantOp>(b.getBoolAttr(true));
  llvm::DenseMap<Value, Value> extended;
  auto getValues = [&](int64_t index) {
    SmallVector<Value> values;
    for (Value value : op.getValues()) {
      Value number = isTile(value.getType())
                         ? program.getRegisters(value)[index]
                         : program.lookup(value);
      Value &wide = extended[number];
      if (!wide)
        wide = number.getType().isInteger(64) ? number : b.extend(number);
      values.push_back(wide);
    }
    return values;
  };
  FailureWriter writer(b, host.failureRecord, assertion.getInt());
  if (!isTile(op.getCondition().getType())) {
    Value failed =
        b.make<arith::XOrIOp>(program.lookup(op.getCondition()), yes);
    writer.add(b.both(failed, threads.isFirstThread()), getValues(0));
    writer.write();
    return success();
  }
  const TileLayout &layout = program.getLayout(getTile(op.getCondition()));
  SmallVector<std::pair<int64_t, Value>> failures;
  Value any;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index))
      continue;
    Value failed = b.make<arith::XOrIOp>(
        program.getRegisters(op.getCondition())[index], yes);
    failed = b.both(failed, threads.getInside(layout, index));
    failures.push_back({index, failed});
    any = any ? b.make<arith::OrIOp>(any, failed) : failed;
  }
  if (failures.empty())
    return success();
  b.when(any, [&] {
    for (auto [index, failed] : failures)
      writer.add(failed, getValues(index));
    writer.write();
  });
  return success();
}

void nsacc::addAssertions(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<AssertionEmitter>(kernel),
              &AssertionEmitter::emitAssert);
}
