//===- PTXBuilder.cpp - Instructions that no dialect has ------------------===//

#include "PTXBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nsacc;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

Value PTXBuilder::constant(int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                  builder.getI32IntegerAttr(value));
}

Value PTXBuilder::add(Value address, int64_t bytes) {
  return bytes == 0
             ? address
             : LLVM::AddOp::create(builder, loc, address, constant(bytes));
}

static char getConstraint(Type type) {
  if (type.isF32())
    return 'f';
  if (type.isF64())
    return 'd';
  if (isa<LLVM::LLVMPointerType>(type) || type.isInteger(64))
    return 'l';
  return type.getIntOrFloatBitWidth() == 16 ? 'h' : 'r';
}

SmallVector<Value> PTXBuilder::assemble(StringRef text, TypeRange results,
                                        ValueRange operands, ValueRange ties,
                                        bool earlyClobber) {
  SmallVector<std::string> constraints;
  for (Type type : results)
    constraints.push_back((earlyClobber ? "=&" : "=") +
                          std::string(1, getConstraint(type)));
  for (Value operand : operands)
    constraints.push_back(std::string(1, getConstraint(operand.getType())));
  for (size_t i = 0; i < ties.size(); ++i)
    constraints.push_back(std::to_string(i));

  SmallVector<Value> all(operands);
  llvm::append_range(all, ties);
  Type type;
  if (results.size() == 1)
    type = results.front();
  else if (!results.empty())
    type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                            llvm::to_vector(results));
  auto op = LLVM::InlineAsmOp::create(
      builder, loc, type ? TypeRange(type) : TypeRange(), all, text,
      llvm::join(constraints, ","), /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  if (results.size() <= 1)
    return SmallVector<Value>(op->getResults());
  SmallVector<Value> values;
  for (int64_t i = 0, e = results.size(); i < e; ++i)
    values.push_back(
        LLVM::ExtractValueOp::create(builder, loc, op.getRes(), i));
  return values;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void PTXBuilder::initBarrier(Value barrier, int64_t arrivals) {
  assemble(formatv("mbarrier.init.shared::cta.b64 [$0], {0};", arrivals).str(),
           {}, barrier);
}

void PTXBuilder::fenceBarrierInit() {
  assemble("fence.mbarrier_init.release.cluster;", {}, {});
}

void PTXBuilder::waitBarrier(Value barrier, Value parity) {
  assemble("{ .reg .pred done; again: "
           "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; "
           "@done bra.uni end; bra.uni again; end: }",
           {}, {barrier, parity});
}

void PTXBuilder::arrive(Value barrier, Value predicate) {
  assemble("{ .reg .pred mine; setp.ne.b32 mine, $1, 0; "
           "@mine mbarrier.arrive.shared::cta.b64 _, [$0]; }",
           {}, {barrier, predicate});
}

void PTXBuilder::arriveAndExpect(Value barrier, int64_t bytes) {
  assemble(
      formatv("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {0};", bytes)
          .str(),
      {}, barrier);
}

void PTXBuilder::syncThreads(Value barrier, int64_t threads) {
  assemble(formatv("bar.sync $0, {0};", threads).str(), {}, barrier);
}

void PTXBuilder::arriveThreads(Value barrier, int64_t threads) {
  assemble(formatv("bar.arrive $0, {0};", threads).str(), {}, barrier);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void PTXBuilder::letNextLaunchStart() {
  assemble("griddepcontrol.launch_dependents;", {}, {});
}

void PTXBuilder::waitForLaunchBefore() {
  assemble("griddepcontrol.wait;", {}, {});
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

Value PTXBuilder::loadShared(Value address, Value predicate) {
  return assemble("{ .reg .pred mine; setp.ne.b32 mine, $2, 0; mov.b32 $0, 0; "
                  "@mine ld.volatile.shared::cta.b32 $0, [$1]; }",
                  builder.getI32Type(), {address, predicate}, /*ties=*/{},
                  /*earlyClobber=*/true)[0];
}

void PTXBuilder::storeShared(Value address, Value word) {
  assemble("st.volatile.shared::cta.b32 [$0], $1;", {}, {address, word});
}

Value PTXBuilder::countUp(Value pointer, Value last) {
  return assemble("atom.global.inc.u32 $0, [$1], $2;", builder.getI32Type(),
                  {pointer, last})[0];
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The operands from `first` on as a list in braces.
static std::string listOperands(size_t first, size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

void PTXBuilder::copyBoxToShared(Value address, Value map,
                                 ValueRange coordinates, Value barrier) {
  SmallVector<Value> operands = {address, map, barrier};
  llvm::append_range(operands, coordinates);
  assemble(formatv("cp.async.bulk.tensor.{0}d.shared::cluster.global.tile."
                   "mbarrier::complete_tx::bytes [$0], [$1, {1}], [$2];",
                   coordinates.size(), listOperands(3, coordinates.size()))
               .str(),
           {}, operands);
}

void PTXBuilder::copyBoxFromShared(Value map, ValueRange coordinates,
                                   Value address) {
  SmallVector<Value> operands = {map, address};
  llvm::append_range(operands, coordinates);
  assemble(formatv("cp.async.bulk.tensor.{0}d.global.shared::cta.tile."
                   "bulk_group [$0, {1}], [$1];",
                   coordinates.size(), listOperands(2, coordinates.size()))
               .str(),
           {}, operands);
}

void PTXBuilder::commitCopies() {
  assemble("cp.async.bulk.commit_group;", {}, {});
}

void PTXBuilder::waitCopiesRead(int64_t pending) {
  assemble(formatv("cp.async.bulk.wait_group.read {0};", pending).str(), {},
           {});
}

void PTXBuilder::waitCopies(int64_t pending) {
  assemble(formatv("cp.async.bulk.wait_group {0};", pending).str(), {}, {});
}

void PTXBuilder::fenceSharedForAsync() {
  assemble("fence.proxy.async.shared::cta;", {}, {});
}

void PTXBuilder::storeMatrices(Value address, ValueRange packed) {
  SmallVector<Value> operands = {address};
  llvm::append_range(operands, packed);
  assemble(formatv("stmatrix.sync.aligned.m8n8.x{0}.shared.b16 [$0], {1};",
                   packed.size(), listOperands(1, packed.size()))
               .str(),
           {}, operands);
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

/// Inner elements of one instruction.
static constexpr int64_t kStep = 16;
/// Bytes from one group of 8 rows of a slab to the next.
static constexpr int64_t kGroupBytes = 8 * SharedMatrix::rowBytes;

/// Bytes in the unit of descriptors.
static int64_t encode(int64_t bytes) { return bytes >> 4; }

/// A matrix descriptor (PTX ISA, wgmma): address, leading and stride byte
/// offsets, 128-byte swizzle. The leading offset counts only for operands
/// whose rows run along the inner dimension.
Value PTXBuilder::describe(SharedMatrix matrix, Value row, bool isTransposed) {
  Value address = matrix.address;
  if (row)
    address = LLVM::AddOp::create(
        builder, loc, address,
        LLVM::MulOp::create(builder, loc, row,
                            constant(SharedMatrix::rowBytes)));
  // Above these bits stands the rank of a cluster's block.
  address = LLVM::AndOp::create(builder, loc, address, constant(0x3FFFF));
  address = LLVM::LShrOp::create(builder, loc, address, constant(4));
  int64_t leading = isTransposed ? kStep : matrix.getSlabBytes();
  Value low = LLVM::OrOp::create(builder, loc, address,
                                 constant(encode(leading) << 16));
  // The address has room for all of shared memory, so that nothing is carried
  // out of it; loops add to what stays the same.
  if (matrix.place)
    low = LLVM::AddOp::create(
        builder, loc, low,
        LLVM::LShrOp::create(builder, loc, matrix.place, constant(4)));
  Type i64 = builder.getI64Type();
  int64_t fields = encode(kGroupBytes) << 32 | int64_t(1) << 62;
  Value high = LLVM::ConstantOp::create(builder, loc, i64,
                                        builder.getI64IntegerAttr(fields));
  return LLVM::OrOp::create(builder, loc,
                            LLVM::ZExtOp::create(builder, loc, i64, low), high);
}

SmallVector<Value> PTXBuilder::startProduct(const LeftRows &lhs,
                                            SharedMatrix rhs, bool transposeRhs,
                                            int64_t columns, int64_t inner,
                                            Type element, ValueRange acc,
                                            Value adds) {
  size_t count = columns / 2;
  std::string type = element.isF16() ? "f16" : "bf16";
  SmallVector<Value> operands;
  auto addOperand = [&](Value value) {
    operands.push_back(value);
    return count + operands.size() - 1;
  };
  size_t right = addOperand(describe(rhs, Value(), transposeRhs));
  size_t head = count + operands.size(), matrix = 0;
  llvm::append_range(operands, lhs.head);
  int64_t headSteps = lhs.head.size() / 4;
  if (headSteps * kStep < inner)
    matrix = addOperand(describe(*lhs.matrix, lhs.row, /*isTransposed=*/true));
  std::string first = acc.empty() ? "0" : "1";
  if (adds)
    first = "$" + std::to_string(addOperand(LLVM::ZExtOp::create(
                      builder, loc, builder.getI32Type(), adds)));
  std::string text = "{ .reg .pred first, adds; .reg .b64 a, b; "
                     ".reg .b32 one, z; mov.b32 one, 1; mov.b32 z, " +
                     first +
                     "; setp.ne.b32 first, z, 0; setp.ne.b32 adds, one, 0; "
                     "wgmma.fence.sync.aligned; ";
  int64_t slabSteps = SharedMatrix::slabColumns / kStep;
  for (int64_t step = 0; step * kStep < inner; ++step) {
    int64_t inSlab = step % slabSteps * (kStep * 2);
    int64_t slab = step / slabSteps;
    int64_t rhsOffset = transposeRhs ? slab * rhs.getSlabBytes() + inSlab
                                     : step * 2 * kGroupBytes;
    text += formatv("add.s64 b, ${0}, {1}; ", right, encode(rhsOffset)).str();
    bool isInHead = step < headSteps;
    std::string left = "a";
    if (isInHead)
      left = listOperands(head + 4 * step, 4);
    else
      text += formatv("add.s64 a, ${0}, {1}; ", matrix,
                      encode(slab * lhs.matrix->getSlabBytes() + inSlab))
                  .str();
    text += formatv("wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} {2}, "
                    "{3}, b, {4}, 1, 1, {5}{6}; ",
                    columns, type, listOperands(0, count), left,
                    step == 0 ? "first" : "adds", isInHead ? "" : "0, ",
                    transposeRhs ? 0 : 1)
                .str();
  }
  text += "wgmma.commit_group.sync.aligned; }";
  SmallVector<Type> results(count, builder.getF32Type());
  // A fresh accumulator is written before operands have been read.
  return assemble(text, results, operands, acc, /*earlyClobber=*/acc.empty());
}

SmallVector<Value> PTXBuilder::waitProducts(int64_t allow, ValueRange acc) {
  return assemble(formatv("wgmma.wait_group.sync.aligned {0};", allow).str(),
                  SmallVector<Type>(acc.size(), builder.getF32Type()), {}, acc);
}

void PTXBuilder::setRegisters(int64_t registers, bool increase) {
  assemble(formatv("setmaxnreg.{0}.sync.aligned.u32 {1};",
                   increase ? "inc" : "dec", registers)
               .str(),
           {}, {});
}
