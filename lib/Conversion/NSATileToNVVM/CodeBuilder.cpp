//===- CodeBuilder.cpp - Code of one thread -------------------------------===//

#include "CodeBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;

Value CodeBuilder::i32(int64_t value) {
  return make<arith::ConstantOp>(getI32IntegerAttr(value));
}

Value CodeBuilder::i64(int64_t value) {
  return make<arith::ConstantOp>(getI64IntegerAttr(value));
}

Value CodeBuilder::f32(float value) {
  return make<arith::ConstantOp>(getF32FloatAttr(value));
}

Value CodeBuilder::zero(Type type) {
  return make<arith::ConstantOp>(getZeroAttr(type));
}

Value CodeBuilder::add(Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return make<arith::AddFOp>(lhs, rhs);
  return make<arith::AddIOp>(lhs, rhs);
}

Value CodeBuilder::mul(Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return make<arith::MulFOp>(lhs, rhs);
  return make<arith::MulIOp>(lhs, rhs);
}

Value CodeBuilder::fma(Value a, Value b, Value c) {
  return make<LLVM::FMAOp>(a, b, c);
}

Value CodeBuilder::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return make<arith::AndIOp>(lhs, rhs);
}

Value CodeBuilder::select(Value condition, Value yes, Value no) {
  return condition ? make<arith::SelectOp>(condition, yes, no) : yes;
}

Value CodeBuilder::extend(Value index) {
  return make<arith::ExtSIOp>(getI64Type(), index);
}

Value CodeBuilder::element(Value aggregate, int64_t index) {
  if (isa<VectorType>(aggregate.getType()))
    return make<LLVM::ExtractElementOp>(aggregate, i32(index));
  return make<LLVM::ExtractValueOp>(aggregate, index);
}

Value CodeBuilder::join(ArrayRef<Value> values) {
  int64_t count = values.size();
  Value vector =
      make<LLVM::PoisonOp>(VectorType::get({count}, values.front().getType()));
  for (auto [index, value] : llvm::enumerate(values))
    vector = make<LLVM::InsertElementOp>(vector, value, i32(index));
  return vector;
}

SmallVector<Value>
CodeBuilder::branch(Value condition, TypeRange types,
                    llvm::function_ref<SmallVector<Value>()> body,
                    llvm::function_ref<SmallVector<Value>()> other) {
  if (!condition)
    return body();
  auto ifOp = scf::IfOp::create(*this, types, condition,
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToEnd(ifOp.thenBlock());
  scf::YieldOp::create(*this, body());
  setInsertionPointToEnd(ifOp.elseBlock());
  scf::YieldOp::create(*this, other());
  return ifOp.getResults();
}

void CodeBuilder::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto ifOp = scf::IfOp::create(*this, TypeRange(), condition,
                                /*addThenBlock=*/true, /*addElseBlock=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToEnd(ifOp.thenBlock());
  body();
  scf::YieldOp::create(*this);
}

void CodeBuilder::forEach(int64_t count, int64_t unrolled,
                          llvm::function_ref<void(Value)> body) {
  if (count <= unrolled) {
    for (int64_t i = 0; i < count; ++i)
      body(i32(i));
    return;
  }
  auto loop = scf::ForOp::create(*this, i32(0), i32(count), i32(1));
  // The assembler would otherwise unroll the loop.
  auto off = LLVM::LoopUnrollAttr::get(getContext(), getBoolAttr(true), {}, {},
                                       {}, {}, {}, {});
  loop->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(
                                       getContext(), {}, {}, {}, off, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {}, {}));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

void CodeBuilder::createLoop(Value first, Value end, Value step,
                             llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(*this, first, end, step);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

Value CodeBuilder::createLoop(Value first, Value end, Value step, Value carried,
                              llvm::function_ref<Value(Value, Value)> body) {
  auto loop = scf::ForOp::create(*this, first, end, step, carried);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
  scf::YieldOp::create(*this, next);
  return loop.getResult(0);
}

SmallVector<Value> CodeBuilder::forEachBit(
    ArrayRef<Value> words, ArrayRef<Value> carried,
    llvm::function_ref<SmallVector<Value>(ValueRange, ValueRange)> body) {
  SmallVector<Value> inits(words);
  llvm::append_range(inits, carried);
  SmallVector<Type> types(ValueRange(inits).getTypes());
  auto loop = scf::WhileOp::create(*this, types, inits);
  OpBuilder::InsertionGuard guard(*this);
  SmallVector<Location> locations(types.size(), getLoc());
  Block *asking = createBlock(&loop.getBefore(), {}, types, locations);
  ValueRange open = asking->getArguments().take_front(words.size());
  Value any = open.front();
  for (Value word : open.drop_front())
    any = make<arith::OrIOp>(any, word);
  Value isAny = make<arith::CmpIOp>(arith::CmpIPredicate::ne, any, i32(0));
  scf::ConditionOp::create(*this, isAny, asking->getArguments());
  Block *doing = createBlock(&loop.getAfter(), {}, types, locations);
  open = doing->getArguments().take_front(words.size());
  SmallVector<Value> bits, next;
  for (Value word : open) {
    bits.push_back(make<LLVM::CountTrailingZerosOp>(
        word.getType(), word, /*is_zero_poison=*/words.size() == 1));
    next.push_back(
        make<arith::AndIOp>(word, make<arith::SubIOp>(word, i32(1))));
  }
  llvm::append_range(
      next, body(bits, doing->getArguments().drop_front(words.size())));
  scf::YieldOp::create(*this, next);
  return SmallVector<Value>(loop.getResults().drop_front(words.size()));
}

Value CodeBuilder::load(Type type, Value pointer, int64_t align) {
  Value value = make<LLVM::LoadOp>(getMemoryType(type), pointer, align);
  if (type.isInteger(1))
    value = make<arith::TruncIOp>(type, value);
  return value;
}

void CodeBuilder::store(Value value, Value pointer, int64_t align) {
  if (value.getType().isInteger(1))
    value = make<arith::ExtUIOp>(getI8Type(), value);
  LLVM::StoreOp::create(*this, value, pointer, align);
}

Value CodeBuilder::advance(Value pointer, int64_t bytes) {
  return make<LLVM::GEPOp>(pointer.getType(), getI8Type(), pointer,
                           ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Type nsacc::getRegisterType(Type elementType) {
  if (elementType.isIndex())
    return IntegerType::get(elementType.getContext(), 32);
  return elementType;
}

Type nsacc::getMemoryType(Type type) {
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

int64_t nsacc::getMemoryBytes(Type type) {
  return type.isIndex() ? 8 : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}
