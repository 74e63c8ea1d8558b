//===- FailureWriter.cpp - Records of failures ----------------------------===//

#include "FailureWriter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "nsacc-rt/failures.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace mlir;
using namespace nsacc;

void FailureWriter::addValue(Value value, const IndexSum &sum) {
  added.push_back({value, sum.base, sum.offset, sum.offset});
}

void FailureWriter::add(Value isFailure) {
  candidates.push_back({isFailure, std::exchange(added, {})});
}

bool FailureWriter::isAlwaysLess(const Number &lhs, const Number &rhs) {
  return lhs.base == rhs.base && lhs.most < rhs.least;
}

/// Whether the left value is less where the two first differ. Null if the
/// result doesn't depend on the values: `isAlways` is the result then.
Value FailureWriter::isLess(const Candidate &lhs, const Candidate &rhs,
                            bool &isAlways) {
  isAlways = false;
  size_t decided = 0; // what comes behind it doesn't matter
  for (; decided < lhs.values.size(); ++decided) {
    isAlways = isAlwaysLess(lhs.values[decided], rhs.values[decided]);
    if (isAlways || isAlwaysLess(rhs.values[decided], lhs.values[decided]))
      break;
  }
  Value less;
  for (size_t index = decided; index-- > 0;) {
    Value left = lhs.values[index].value, right = rhs.values[index].value;
    if (left == right)
      continue;
    if (less)
      less = b.select(compare(arith::CmpIPredicate::eq, left, right), less,
                      compare(arith::CmpIPredicate::slt, left, right));
    else
      less = compare(isAlways ? arith::CmpIPredicate::sle
                              : arith::CmpIPredicate::slt,
                     left, right);
  }
  return less;
}

FailureWriter::Number FailureWriter::select(Value isRight, const Number &left,
                                            const Number &right) {
  if (left.value == right.value)
    return left;
  Value value = b.select(isRight, right.value, left.value);
  if (left.base != right.base)
    return {value, value};
  return {value, left.base, std::min(left.least, right.least),
          std::max(left.most, right.most)};
}

FailureWriter::Candidate FailureWriter::getLess(const Candidate &lhs,
                                                const Candidate &rhs) {
  bool isAlways;
  Value isRight = isLess(rhs, lhs, isAlways);
  if (isRight)
    isRight = b.make<arith::OrIOp>(negate(lhs.found), isRight);
  else if (!isAlways)
    isRight = negate(lhs.found);
  isRight = b.both(rhs.found, isRight);
  Candidate less{b.make<arith::OrIOp>(lhs.found, rhs.found), {}};
  for (auto [left, right] : llvm::zip_equal(lhs.values, rhs.values))
    less.values.push_back(select(isRight, left, right));
  return less;
}

/// Finds the least failure; neighbours are compared first. Values that a whole
/// row shares are only compared between rows.
FailureWriter::Candidate
FailureWriter::findLeast(ArrayRef<Candidate> candidates) {
  if (candidates.size() == 1)
    return candidates.front();
  size_t half = llvm::PowerOf2Ceil(candidates.size()) / 2;
  return getLess(findLeast(candidates.take_front(half)),
                 findLeast(candidates.drop_front(half)));
}

void FailureWriter::write() {
  Candidate first = findLeast(candidates);
  for (const Number &number : first.values)
    least.push_back(number.value.getType().isInteger(64)
                        ? number.value
                        : b.extend(number.value));
  b.when(first.found, [&] {
    Type flag = b.getI1Type();
    Value no = b.make<arith::ConstantOp>(b.getBoolAttr(false));
    auto loop = scf::WhileOp::create(b, TypeRange(flag), ValueRange(no));
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, {flag}, {b.getLoc()});
    scf::ConditionOp::create(b, negate(before->getArgument(0)),
                             before->getArguments());
    b.createBlock(&loop.getAfter(), {}, {flag}, {b.getLoc()});
    auto done = scf::IfOp::create(
        b, isBehindRecord(),
        [&](OpBuilder &, Location) {
          Value yes = b.make<arith::ConstantOp>(b.getBoolAttr(true));
          scf::YieldOp::create(b, yes);
        },
        [&](OpBuilder &, Location) { scf::YieldOp::create(b, tryToWrite()); });
    scf::YieldOp::create(b, done.getResult(0));
  });
}

Value FailureWriter::compare(arith::CmpIPredicate predicate, Value lhs,
                             Value rhs) {
  return b.make<arith::CmpIOp>(predicate, lhs, rhs);
}

Value FailureWriter::negate(Value flag) {
  Value yes = b.make<arith::ConstantOp>(b.getBoolAttr(true));
  return b.make<arith::XOrIOp>(flag, yes);
}

Value FailureWriter::getWord(int64_t index) {
  return b.make<LLVM::GEPOp>(record.getType(), b.getI64Type(), record,
                             ArrayRef<LLVM::GEPArg>{int32_t(index)});
}

Value FailureWriter::read(int64_t index) {
  return b.make<LLVM::LoadOp>(b.getI64Type(), getWord(index),
                              /*alignment=*/8, /*isVolatile=*/true);
}

/// Reads a word of the record before later reads.
Value FailureWriter::readFirst(int64_t index) {
  return b.make<LLVM::LoadOp>(
      b.getI64Type(), getWord(index), /*alignment=*/8,
      /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
      /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire, "device");
}

void FailureWriter::write(int64_t index, Value value) {
  LLVM::StoreOp::create(b, value, getWord(index),
                        /*alignment=*/8, /*isVolatile=*/false,
                        /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                        LLVM::AtomicOrdering::release, "device");
}

/// Whether the record holds a lesser failure, without the lock: nearly all
/// threads of a failing run end here. Other threads may be writing. The last
/// value is written first, so each value read here belongs to the same record
/// as the previous one or to a later record; and records only become less.
Value FailureWriter::isBehindRecord() {
  // The clause, the batch row, the token and the head tell most failures
  // apart; more values would cost registers.
  constexpr size_t looked = 4;
  Value isBehind = b.make<arith::ConstantOp>(b.getBoolAttr(false));
  Value isSame = compare(arith::CmpIPredicate::ne,
                         readFirst(NSACC_RT_FAILURE_COUNT), b.i64(0));
  for (auto [index, value] : llvm::enumerate(
           ArrayRef(least).take_front(std::min(looked, least.size())))) {
    Value old = readFirst(NSACC_RT_FAILURE_VALUES + index);
    Value isLess = compare(arith::CmpIPredicate::slt, old, value);
    isBehind = b.make<arith::OrIOp>(isBehind, b.both(isSame, isLess));
    isSame = b.both(isSame, compare(arith::CmpIPredicate::eq, old, value));
  }
  return isBehind;
}

void FailureWriter::writeRecord() {
  // A list comes before all longer lists that begin with it: it ends with the
  // least value.
  if (least.size() < NSACC_RT_FAILURE_MAX_VALUES)
    write(NSACC_RT_FAILURE_VALUES + least.size(),
          b.i64(std::numeric_limits<int64_t>::min()));
  for (size_t index = least.size(); index-- > 0;)
    write(NSACC_RT_FAILURE_VALUES + index, least[index]);
  write(NSACC_RT_FAILURE_ASSERTION, b.i64(assertion));
  write(NSACC_RT_FAILURE_COUNT, b.i64(1 + least.size()));
}

/// Tries once to take the lock; returns whether it was taken.
Value FailureWriter::tryToWrite() {
  Value lock = getWord(NSACC_RT_FAILURE_LOCK);
  Value pair = b.make<LLVM::AtomicCmpXchgOp>(
      lock, b.i32(0), b.i32(1), LLVM::AtomicOrdering::acquire,
      LLVM::AtomicOrdering::monotonic, "device");
  Value isMine = b.make<LLVM::ExtractValueOp>(pair, 1);
  b.when(isMine, [&] {
    b.when(isLessThanRecord(), [&] { writeRecord(); });
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, StringRef());
    LLVM::StoreOp::create(b, b.i32(0), lock, /*alignment=*/4,
                          /*isVolatile=*/false, /*isNonTemporal=*/false,
                          /*isInvariantGroup=*/false,
                          LLVM::AtomicOrdering::release, "device");
  });
  return isMine;
}

/// Whether the failure is less than the recorded one. A list comes before all
/// longer lists that begin with it.
Value FailureWriter::isLessThanRecord() {
  Value count = read(NSACC_RT_FAILURE_COUNT);
  Value isEmpty = compare(arith::CmpIPredicate::eq, count, b.i64(0));
  // Here all of the new values equal the record's.
  Value isLess =
      compare(arith::CmpIPredicate::ugt, count, b.i64(1 + least.size()));
  Value isFirst = compare(arith::CmpIPredicate::slt, b.i64(assertion),
                          read(NSACC_RT_FAILURE_ASSERTION));
  Value isAsLong =
      compare(arith::CmpIPredicate::eq, count, b.i64(1 + least.size()));
  isLess = b.make<arith::OrIOp>(isLess, b.both(isAsLong, isFirst));
  for (int64_t index = least.size(); index-- > 0;) {
    Value old = read(NSACC_RT_FAILURE_VALUES + index);
    Value isThere = compare(arith::CmpIPredicate::ugt, count, b.i64(1 + index));
    Value isSame = compare(arith::CmpIPredicate::eq, least[index], old);
    Value less = compare(arith::CmpIPredicate::slt, least[index], old);
    isLess = b.both(isThere, b.select(isSame, isLess, less));
  }
  return b.make<arith::OrIOp>(isEmpty, isLess);
}
