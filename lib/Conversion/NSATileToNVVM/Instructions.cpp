//===- Instructions.cpp - Instructions of the NVVM dialect ----------------===//

#include "Instructions.h"
#include "InlinePTX.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nsacc;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Places in the grid
//===----------------------------------------------------------------------===//

Value nvvm::getThread(CodeBuilder &b) {
  return b.make<NVVM::ThreadIdXOp>(b.getI32Type());
}

Value nvvm::getBlock(CodeBuilder &b, unsigned axis) {
  switch (axis) {
  case 0:
    return b.make<NVVM::BlockIdXOp>(b.getI32Type());
  case 1:
    return b.make<NVVM::BlockIdYOp>(b.getI32Type());
  default:
    return b.make<NVVM::BlockIdZOp>(b.getI32Type());
  }
}

Value nvvm::getNumBlocks(CodeBuilder &b) {
  return b.make<NVVM::GridDimXOp>(b.getI32Type());
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

static Value shuffle(CodeBuilder &b, Value value, int64_t offset,
                     NVVM::ShflKind kind) {
  return b.make<NVVM::ShflOp>(value.getType(), b.i32(-1), value, b.i32(offset),
                              b.i32(31), kind, UnitAttr());
}

Value nvvm::shuffleXor(CodeBuilder &b, Value value, int64_t mask) {
  Type type = value.getType();
  if (!type.isInteger(64))
    return shuffle(b, value, mask, NVVM::ShflKind::bfly);
  Type half = b.getI32Type();
  Value low = b.make<arith::TruncIOp>(half, value);
  Value high =
      b.make<arith::TruncIOp>(half, b.make<arith::ShRUIOp>(value, b.i64(32)));
  low = b.make<arith::ExtUIOp>(type, shuffleXor(b, low, mask));
  high = b.make<arith::ExtUIOp>(type, shuffleXor(b, high, mask));
  return b.make<arith::OrIOp>(b.make<arith::ShLIOp>(high, b.i64(32)), low);
}

Value nvvm::broadcastLane(CodeBuilder &b, Value value) {
  return shuffle(b, value, 0, NVVM::ShflKind::idx);
}

Value nvvm::anyLane(CodeBuilder &b, Value condition) {
  return b.make<NVVM::VoteSyncOp>(b.getI1Type(), b.i32(-1), condition,
                                  NVVM::VoteSyncKind::any);
}

void nvvm::syncWarp(CodeBuilder &b) { NVVM::SyncWarpOp::create(b, b.i32(-1)); }

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void nvvm::syncBlock(CodeBuilder &b, int64_t barrier) {
  NVVM::BarrierOp::create(b, b.i32(barrier));
}

void nvvm::syncThreads(CodeBuilder &b, Value barrier, int64_t threads) {
  ptx::assemble(b, formatv("bar.sync $0, {0};", threads).str(), {}, barrier);
}

void nvvm::arriveThreads(CodeBuilder &b, Value barrier, int64_t threads) {
  ptx::assemble(b, formatv("bar.arrive $0, {0};", threads).str(), {}, barrier);
}

Value nvvm::allThreads(CodeBuilder &b, int64_t barrier, int64_t threads,
                       Value condition) {
  Value mine = b.make<arith::ExtUIOp>(b.getI32Type(), condition);
  std::string text =
      llvm::formatv("{{ .reg .pred mine, all; setp.ne.b32 mine, $1, 0; "
                    "barrier.cta.red.and.pred all, {0}, {1}, mine; "
                    "selp.b32 $0, 1, 0, all; }",
                    barrier, threads)
          .str();
  Value all = ptx::assemble(b, text, b.getI32Type(), mine)[0];
  return b.make<arith::CmpIOp>(arith::CmpIPredicate::ne, all, b.i32(0));
}

void nvvm::initBarrier(CodeBuilder &b, Value barrier, int64_t arrivals) {
  ptx::assemble(
      b, formatv("mbarrier.init.shared::cta.b64 [$0], {0};", arrivals).str(),
      {}, barrier);
}

void nvvm::fenceBarrierInit(CodeBuilder &b) {
  ptx::assemble(b, "fence.mbarrier_init.release.cluster;", {}, {});
}

void nvvm::arriveAndExpect(CodeBuilder &b, Value barrier, int64_t bytes) {
  ptx::assemble(
      b,
      formatv("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {0};", bytes)
          .str(),
      {}, barrier);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

void nvvm::storeShared(CodeBuilder &b, Value address, Value word) {
  ptx::assemble(b, "st.volatile.shared::cta.b32 [$0], $1;", {},
                {address, word});
}

Value nvvm::countUp(CodeBuilder &b, Value pointer, Value last) {
  return ptx::assemble(b, "atom.global.inc.u32 $0, [$1], $2;", b.getI32Type(),
                       {pointer, last})[0];
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void nvvm::letNextLaunchStart(CodeBuilder &b) {
  ptx::assemble(b, "griddepcontrol.launch_dependents;", {}, {});
}

void nvvm::waitForLaunchBefore(CodeBuilder &b) {
  ptx::assemble(b, "griddepcontrol.wait;", {}, {});
}

//===----------------------------------------------------------------------===//
// Copies by threads
//===----------------------------------------------------------------------===//

void nvvm::copyChunk(CodeBuilder &b, Value target, Value source, Value bytes) {
  NVVM::CpAsyncOp::create(b, target, source, /*size=*/16,
                          NVVM::LoadCacheModifierKind::CG, bytes);
}

void nvvm::commitCopies(CodeBuilder &b) {
  NVVM::CpAsyncCommitGroupOp::create(b);
}

void nvvm::waitCopies(CodeBuilder &b, int64_t pending) {
  NVVM::CpAsyncWaitGroupOp::create(b, pending);
}

//===----------------------------------------------------------------------===//
// Bulk copies
//===----------------------------------------------------------------------===//

void nvvm::copyBoxToShared(CodeBuilder &b, Value address, Value map,
                           ValueRange coordinates, Value barrier) {
  SmallVector<Value> operands = {address, map, barrier};
  llvm::append_range(operands, coordinates);
  ptx::assemble(b,
                formatv("cp.async.bulk.tensor.{0}d.shared::cluster.global.tile."
                        "mbarrier::complete_tx::bytes [$0], [$1, {1}], [$2];",
                        coordinates.size(),
                        ptx::listOperands(3, coordinates.size()))
                    .str(),
                {}, operands);
}

void nvvm::copyBoxFromShared(CodeBuilder &b, Value map, ValueRange coordinates,
                             Value address) {
  SmallVector<Value> operands = {map, address};
  llvm::append_range(operands, coordinates);
  ptx::assemble(b,
                formatv("cp.async.bulk.tensor.{0}d.global.shared::cta.tile."
                        "bulk_group [$0, {1}], [$1];",
                        coordinates.size(),
                        ptx::listOperands(2, coordinates.size()))
                    .str(),
                {}, operands);
}

void nvvm::commitBoxes(CodeBuilder &b) {
  ptx::assemble(b, "cp.async.bulk.commit_group;", {}, {});
}

void nvvm::waitBoxesRead(CodeBuilder &b, int64_t pending) {
  ptx::assemble(b, formatv("cp.async.bulk.wait_group.read {0};", pending).str(),
                {}, {});
}

void nvvm::fenceSharedForAsync(CodeBuilder &b) {
  ptx::assemble(b, "fence.proxy.async.shared::cta;", {}, {});
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

static NVVM::LdStMatrixShapeAttr getMatrixShape(CodeBuilder &b) {
  return NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
}

SmallVector<Value, 4> nvvm::loadMatrices(CodeBuilder &b, Value pointer,
                                         int64_t count, bool isTransposed) {
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(count, b.getI32Type()));
  Value loaded = b.make<NVVM::LdMatrixOp>(
      type, pointer, count,
      isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      getMatrixShape(b), NVVM::LdStMatrixEltType::B16);
  SmallVector<Value, 4> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(b.element(loaded, i));
  return words;
}

void nvvm::storeMatrices(CodeBuilder &b, Value address, ValueRange packed) {
  SmallVector<Value> operands = {address};
  llvm::append_range(operands, packed);
  ptx::assemble(b,
                formatv("stmatrix.sync.aligned.m8n8.x{0}.shared.b16 [$0], {1};",
                        packed.size(), ptx::listOperands(1, packed.size()))
                    .str(),
                {}, operands);
}

SmallVector<Value, 4> nvvm::multiply(CodeBuilder &b, Type element,
                                     ValueRange lhs, ValueRange rhs,
                                     ValueRange sums) {
  bool isBF16 = element.isBF16();
  // Words of bf16 are integers to the op, those of f16 vectors.
  auto toOperands = [&](ValueRange words) {
    return llvm::map_to_vector(words, [&](Value word) {
      return isBF16
                 ? word
                 : b.make<LLVM::BitcastOp>(VectorType::get({2}, element), word);
    });
  };
  auto type = isBF16 ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  SmallVector<Value> left = toOperands(lhs), right = toOperands(rhs);
  auto four = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  Value product = b.make<NVVM::MmaOp>(
      four, left, right, sums, ArrayRef<int64_t>{16, 8, 16}, std::nullopt,
      std::nullopt, std::array{type, type},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  SmallVector<Value, 4> next;
  for (int64_t i = 0; i < 4; ++i)
    next.push_back(b.element(product, i));
  return next;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value nvvm::roundPair(CodeBuilder &b, Type element, Value low, Value high) {
  Type pair = VectorType::get({2}, element);
  constexpr auto nearest = NVVM::FPRoundingMode::RN;
  if (element.isBF16())
    return b.make<NVVM::ConvertF32x2ToBF16x2Op>(pair, high, low, Value(),
                                                nearest);
  return b.make<NVVM::ConvertF32x2ToF16x2Op>(pair, high, low, Value(), nearest);
}

Value nvvm::reciprocal(CodeBuilder &b, Value x) {
  return b.make<NVVM::RcpApproxFtzF32Op>(b.getF32Type(), x);
}

//===----------------------------------------------------------------------===//
// Resources of a thread
//===----------------------------------------------------------------------===//

void nvvm::setRegisters(CodeBuilder &b, int64_t registers, bool increase) {
  ptx::assemble(b,
                formatv("setmaxnreg.{0}.sync.aligned.u32 {1};",
                        increase ? "inc" : "dec", registers)
                    .str(),
                {}, {});
}

void nvvm::sleep(CodeBuilder &b, int64_t nanoseconds) {
  ptx::assemble(b, formatv("nanosleep.u32 {0};", nanoseconds).str(), {}, {});
}
