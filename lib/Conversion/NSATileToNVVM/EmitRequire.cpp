//===- EmitRequire.cpp - Conditions that a run depends on -----------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "nsacc-rt/failures.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"
#include <algorithm>
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Code for failures, which no run that goes well comes to
/// (include/nsacc-rt/failures.h says how records are kept).
class FailureWriter {
public:
  FailureWriter(KernelEmitter &emitter, Value record, int64_t requirement)
      : e(emitter), record(record), requirement(requirement) {}

  /// Keeps the least of failures at several elements: values where there is
  /// one.
  void add(Value isFailure, ArrayRef<Value> values) {
    if (!found) {
      found = isFailure;
      least.assign(values.begin(), values.end());
      return;
    }
    // Less where there is none yet, or by the first values that differ.
    Value isLess = e.make<arith::ConstantOp>(e.builder.getBoolAttr(false));
    for (auto [value, old] : llvm::reverse(llvm::zip_equal(values, least))) {
      Value isSame = compare(arith::CmpIPredicate::eq, value, old);
      isLess = e.select(isSame, isLess,
                        compare(arith::CmpIPredicate::slt, value, old));
    }
    Value isNew = e.make<arith::OrIOp>(negate(found), isLess);
    isNew = e.both(isFailure, isNew);
    for (auto [value, old] : llvm::zip_equal(values, least))
      old = e.select(isNew, value, old);
    found = e.make<arith::OrIOp>(found, isFailure);
  }

  /// Waits for the record and writes the failure into it, unless what is there
  /// is less.
  void write() {
    e.when(found, [&] {
      Type flag = e.builder.getI1Type();
      Value no = e.make<arith::ConstantOp>(e.builder.getBoolAttr(false));
      auto loop = scf::WhileOp::create(e.builder, e.loc, TypeRange(flag),
                                       ValueRange(no));
      OpBuilder::InsertionGuard guard(e.builder);
      Block *before =
          e.builder.createBlock(&loop.getBefore(), {}, {flag}, {e.loc});
      scf::ConditionOp::create(e.builder, e.loc, negate(before->getArgument(0)),
                               before->getArguments());
      e.builder.createBlock(&loop.getAfter(), {}, {flag}, {e.loc});
      auto done = scf::IfOp::create(
          e.builder, e.loc, isBehindRecord(),
          [&](OpBuilder &, Location) {
            Value yes = e.make<arith::ConstantOp>(e.builder.getBoolAttr(true));
            scf::YieldOp::create(e.builder, e.loc, yes);
          },
          [&](OpBuilder &, Location) {
            scf::YieldOp::create(e.builder, e.loc, tryToWrite());
          });
      scf::YieldOp::create(e.builder, e.loc, done.getResult(0));
    });
  }

private:
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return e.make<arith::CmpIOp>(predicate, lhs, rhs);
  }
  Value negate(Value flag) {
    Value yes = e.make<arith::ConstantOp>(e.builder.getBoolAttr(true));
    return e.make<arith::XOrIOp>(flag, yes);
  }
  Value getWord(int64_t index) {
    return e.make<LLVM::GEPOp>(record.getType(), e.builder.getI64Type(), record,
                               ArrayRef<LLVM::GEPArg>{int32_t(index)});
  }
  Value read(int64_t index) {
    return e.make<LLVM::LoadOp>(e.builder.getI64Type(), getWord(index),
                                /*alignment=*/8, /*isVolatile=*/true);
  }
  /// Before what is read later.
  Value readFirst(int64_t index) {
    return e.make<LLVM::LoadOp>(
        e.builder.getI64Type(), getWord(index), /*alignment=*/8,
        /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire, "device");
  }
  void write(int64_t index, Value value) {
    LLVM::StoreOp::create(e.builder, e.loc, value, getWord(index),
                          /*alignment=*/8, /*isVolatile=*/false,
                          /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                          LLVM::AtomicOrdering::release, "device");
  }

  /// Whether the record holds a lesser failure, without the lock: nearly all
  /// threads of a run that fails are done with that. Others may be writing. The
  /// last value is written first, so each value read here is of the same record
  /// as the one before or of a later one; and records only become less.
  Value isBehindRecord() {
    // The clause, the batch row, the token and the head tell most failures
    // apart; more values would cost registers.
    constexpr size_t looked = 4;
    Value isBehind = e.make<arith::ConstantOp>(e.builder.getBoolAttr(false));
    Value isSame = compare(arith::CmpIPredicate::ne,
                           readFirst(NSACC_RT_FAILURE_COUNT), e.i64(0));
    for (auto [index, value] : llvm::enumerate(
             ArrayRef(least).take_front(std::min(looked, least.size())))) {
      Value old = readFirst(NSACC_RT_FAILURE_VALUES + index);
      Value isLess = compare(arith::CmpIPredicate::slt, old, value);
      isBehind = e.make<arith::OrIOp>(isBehind, e.both(isSame, isLess));
      isSame = e.both(isSame, compare(arith::CmpIPredicate::eq, old, value));
    }
    return isBehind;
  }

  /// One try for the lock; whether it was had.
  Value tryToWrite() {
    Value lock = getWord(NSACC_RT_FAILURE_LOCK);
    Value pair = e.make<LLVM::AtomicCmpXchgOp>(
        lock, e.i32(0), e.i32(1), LLVM::AtomicOrdering::acquire,
        LLVM::AtomicOrdering::monotonic, "device");
    Value isMine = e.make<LLVM::ExtractValueOp>(pair, 1);
    e.when(isMine, [&] {
      e.when(isLessThanRecord(), [&] {
        // A list comes before all that it begins: it ends with what is least.
        if (least.size() < NSACC_RT_FAILURE_MAX_VALUES)
          write(NSACC_RT_FAILURE_VALUES + least.size(),
                e.i64(std::numeric_limits<int64_t>::min()));
        for (size_t index = least.size(); index-- > 0;)
          write(NSACC_RT_FAILURE_VALUES + index, least[index]);
        write(NSACC_RT_FAILURE_REQUIREMENT, e.i64(requirement));
        write(NSACC_RT_FAILURE_COUNT, e.i64(1 + least.size()));
      });
      LLVM::FenceOp::create(e.builder, e.loc, LLVM::AtomicOrdering::acq_rel,
                            StringRef());
      LLVM::StoreOp::create(e.builder, e.loc, e.i32(0), lock, /*alignment=*/4,
                            /*isVolatile=*/false, /*isNonTemporal=*/false,
                            /*isInvariantGroup=*/false,
                            LLVM::AtomicOrdering::release, "device");
    });
    return isMine;
  }

  /// A list comes before all that it begins.
  Value isLessThanRecord() {
    Value count = read(NSACC_RT_FAILURE_COUNT);
    Value isEmpty = compare(arith::CmpIPredicate::eq, count, e.i64(0));
    // All of the new values are those of the record.
    Value isLess =
        compare(arith::CmpIPredicate::ugt, count, e.i64(1 + least.size()));
    Value isFirst = compare(arith::CmpIPredicate::slt, e.i64(requirement),
                            read(NSACC_RT_FAILURE_REQUIREMENT));
    Value isAsLong =
        compare(arith::CmpIPredicate::eq, count, e.i64(1 + least.size()));
    isLess = e.make<arith::OrIOp>(isLess, e.both(isAsLong, isFirst));
    for (int64_t index = least.size(); index-- > 0;) {
      Value old = read(NSACC_RT_FAILURE_VALUES + index);
      Value isThere =
          compare(arith::CmpIPredicate::ugt, count, e.i64(1 + index));
      Value isSame = compare(arith::CmpIPredicate::eq, least[index], old);
      Value less = compare(arith::CmpIPredicate::slt, least[index], old);
      isLess = e.both(isThere, e.select(isSame, isLess, less));
    }
    return e.make<arith::OrIOp>(isEmpty, isLess);
  }

  KernelEmitter &e;
  Value record;
  int64_t requirement;
  Value found;
  SmallVector<Value> least;
};

} // namespace

LogicalResult KernelEmitter::emitRequire(RequireOp op) {
  auto requirement = op->getAttrOfType<IntegerAttr>(kFailureIdAttrName);
  if (!requirement || !failureRecord)
    return reject(op);
  Value yes = make<arith::ConstantOp>(builder.getBoolAttr(true));
  auto getValues = [&](int64_t index) {
    SmallVector<Value> values;
    for (Value value : op.getValues()) {
      Value number =
          isTile(value.getType()) ? getRegisters(value)[index] : lookup(value);
      values.push_back(number.getType().isInteger(64) ? number
                                                      : extend(number));
    }
    return values;
  };
  FailureWriter writer(*this, failureRecord, requirement.getInt());
  if (!isTile(op.getCondition().getType())) {
    Value failed = make<arith::XOrIOp>(lookup(op.getCondition()), yes);
    Value isFirst =
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, scope.thread, i32(0));
    writer.add(both(failed, isFirst), getValues(0));
    writer.write();
    return success();
  }
  const TileLayout &layout = getLayout(getTile(op.getCondition()));
  SmallVector<std::pair<int64_t, Value>> failures;
  Value any;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index))
      continue;
    Value failed =
        make<arith::XOrIOp>(getRegisters(op.getCondition())[index], yes);
    failed = both(failed, getInside(layout, index));
    failures.push_back({index, failed});
    any = any ? make<arith::OrIOp>(any, failed) : failed;
  }
  if (failures.empty())
    return success();
  when(any, [&] {
    for (auto [index, failed] : failures)
      writer.add(failed, getValues(index));
    writer.write();
  });
  return success();
}
