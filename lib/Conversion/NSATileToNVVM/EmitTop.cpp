//===- EmitTop.cpp - Running lists in a warp's lanes ----------------------===//

#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/WarpRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Lists of which each lane holds a key, in descending order.
class TopEmitter {
public:
  explicit TopEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program) {}

  LogicalResult emitTop(TopOp op);

private:
  Value insertAll(Value list, Value candidate, Value isBetter);
  Value insert(Value list, Value key);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
};

} // namespace

/// Whether lane l of a warp has column l of one row in each register.
static bool isInLanes(const TileLayout &layout) {
  for (int64_t reg = 0; reg < layout.getNumRegisters(); ++reg)
    for (int64_t thread = 0; thread < layout.getNumThreads(); ++thread) {
      auto element = layout.getElement(thread, reg);
      auto first = layout.getElement(thread / kWarpSize * kWarpSize, reg);
      if (element.has_value() != first.has_value() ||
          (element && (element->front() != first->front() ||
                       element->back() != thread % kWarpSize)))
        return false;
    }
  return true;
}

/// Keys behind the new one move on by a lane, and the last one is lost.
Value TopEmitter::insert(Value list, Value key) {
  Value isFirst = b.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                        threads.getLane(), b.i32(0));
  Value before = b.select(isFirst, b.i64(std::numeric_limits<int64_t>::max()),
                          nvvm::readLaneBefore(b, list));
  return b.make<arith::MaxSIOp>(list, b.make<arith::MinSIOp>(before, key));
}

/// The lanes' candidates that are better, one after the other.
Value TopEmitter::insertAll(Value list, Value candidate, Value isBetter) {
  return b.forEachBit(nvvm::collectLanes(b, isBetter), list,
                      [&](Value lane, Value list) {
                        return insert(list, nvvm::readLane(b, candidate, lane));
                      });
}

LogicalResult TopEmitter::emitTop(TopOp op) {
  const TileLayout &layout = program.getLayout(getTile(op.getResult()));
  if (!op.getInsert() || !isInLanes(layout) ||
      getTile(op.getCandidates()).getEncoding() !=
          getTile(op.getResult()).getEncoding())
    return reject(op);
  SmallVector<Value> lists(program.getRegisters(op.getList()));
  for (auto [index, list] : llvm::enumerate(lists)) {
    Value candidate = program.getRegisters(op.getCandidates())[index];
    // Narrower keys keep their order.
    Type type = list.getType(), wide = b.getI64Type();
    auto widen = [&](Value key) {
      return type == wide ? key : b.make<arith::ExtSIOp>(wide, key);
    };
    Value least = nvvm::readLane(b, widen(list), b.i32(*op.getInsert() - 1));
    Value isBetter = b.make<arith::CmpIOp>(arith::CmpIPredicate::sgt,
                                           widen(candidate), least);
    if (Value inside = threads.getInside(layout, index))
      isBetter = b.make<arith::AndIOp>(isBetter, inside);
    Value next = insertAll(widen(list), widen(candidate), isBetter);
    list = type == wide ? next : b.make<arith::TruncIOp>(type, next);
  }
  program.setRegisters(op.getResult(), std::move(lists));
  return success();
}

void nsacc::addTop(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<TopEmitter>(kernel), &TopEmitter::emitTop);
}
