//===- EmitAssert.cpp - Conditions that a run depends on ------------------===//

#include "FailureWriter.h"
#include "KernelEmitter.h"
#include "NSATile/IR/Assertions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Records elements for which a condition of a run is false.
class AssertionEmitter {
public:
  explicit AssertionEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        host(kernel.host) {}

  LogicalResult emitAssert(AssertOp op);

private:
  SmallVector<int64_t> getInOrder(const TileLayout &layout);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  const HostParameters &host;
};

} // namespace

/// A thread's registers in the lexicographic order of their places in the tile,
/// which is also the order of a failure's values.
SmallVector<int64_t> AssertionEmitter::getInOrder(const TileLayout &layout) {
  SmallVector<std::pair<SmallVector<int64_t>, int64_t>> registers;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    SmallVector<int64_t> place;
    if (!layout.isPadding(index))
      for (const IndexSum &coordinate : threads.getCoordinates(layout, index))
        place.push_back(coordinate.offset);
    registers.push_back({std::move(place), index});
  }
  llvm::sort(registers);
  return llvm::map_to_vector(registers,
                             [](const auto &entry) { return entry.second; });
}

LogicalResult AssertionEmitter::emitAssert(AssertOp op) {
  auto assertion = op->getAttrOfType<IntegerAttr>(kFailureIdAttrName);
  if (!assertion || !host.failureRecord)
    return reject(op);
  Value yes = b.make<arith::ConstantOp>(b.getBoolAttr(true));
  FailureWriter writer(b, host.failureRecord, assertion.getInt());
  auto add = [&](Value failed, int64_t index) {
    for (Value value : op.getValues()) {
      Value number = isTile(value.getType())
                         ? program.getRegisters(value)[index]
                         : program.lookup(value);
      writer.addValue(number, threads.split(number));
    }
    writer.add(failed);
  };
  if (!isTile(op.getCondition().getType())) {
    Value failed =
        b.make<arith::XOrIOp>(program.lookup(op.getCondition()), yes);
    add(b.both(failed, threads.isFirstThread()), 0);
    writer.write();
    return success();
  }
  const TileLayout &layout = program.getLayout(getTile(op.getCondition()));
  SmallVector<std::pair<int64_t, Value>> failures;
  Value any;
  for (int64_t index : getInOrder(layout)) {
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
      add(failed, index);
    writer.write();
  });
  return success();
}

void nsacc::addAssertions(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<AssertionEmitter>(kernel),
              &AssertionEmitter::emitAssert);
}
