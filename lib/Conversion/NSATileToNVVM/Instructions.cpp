//===- Instructions.cpp - Instructions of the NVVM dialect ----------------===//

#include "Instructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace nsacc;

static Value toPointer(CodeBuilder &b, Value address,
                       NVVM::NVVMMemorySpace space) {
  return b.make<LLVM::IntToPtrOp>(
      LLVM::LLVMPointerType::get(b.getContext(), static_cast<unsigned>(space)),
      address);
}

Value nvvm::toPointer(CodeBuilder &b, Value address) {
  return ::toPointer(b, address, NVVM::NVVMMemorySpace::Shared);
}

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

static Value shuffle(CodeBuilder &b, Value value, Value lane,
                     NVVM::ShflKind kind) {
  // Lanes beyond the last, or before the first, have no value.
  Value end = b.i32(kind == NVVM::ShflKind::up ? 0 : 31);
  return b.make<NVVM::ShflOp>(value.getType(), b.i32(-1), value, lane, end,
                              kind, UnitAttr());
}

/// Shuffles a 64-bit value as two halves.
static Value shuffleHalves(CodeBuilder &b, Value value, Value lane,
                           NVVM::ShflKind kind) {
  Type type = value.getType();
  if (!type.isInteger(64))
    return shuffle(b, value, lane, kind);
  Type half = b.getI32Type();
  Value low = b.make<arith::TruncIOp>(half, value);
  Value high =
      b.make<arith::TruncIOp>(half, b.make<arith::ShRUIOp>(value, b.i64(32)));
  low = b.make<arith::ExtUIOp>(type, shuffle(b, low, lane, kind));
  high = b.make<arith::ExtUIOp>(type, shuffle(b, high, lane, kind));
  return b.make<arith::OrIOp>(b.make<arith::ShLIOp>(high, b.i64(32)), low);
}

Value nvvm::shuffleXor(CodeBuilder &b, Value value, Value mask) {
  return shuffleHalves(b, value, mask, NVVM::ShflKind::bfly);
}

Value nvvm::shuffleXor(CodeBuilder &b, Value value, int64_t mask) {
  return shuffleXor(b, value, b.i32(mask));
}

Value nvvm::readLane(CodeBuilder &b, Value value, Value lane) {
  return shuffleHalves(b, value, lane, NVVM::ShflKind::idx);
}

Value nvvm::readLaneBefore(CodeBuilder &b, Value value) {
  return shuffleHalves(b, value, b.i32(1), NVVM::ShflKind::up);
}

Value nvvm::broadcastLane(CodeBuilder &b, Value value) {
  return readLane(b, value, b.i32(0));
}

Value nvvm::collectLanes(CodeBuilder &b, Value condition) {
  return b.make<NVVM::VoteSyncOp>(b.getI32Type(), b.i32(-1), condition,
                                  NVVM::VoteSyncKind::ballot);
}

Value nvvm::matchLanes(CodeBuilder &b, Value value) {
  return b.make<NVVM::MatchSyncOp>(b.getI32Type(), b.i32(-1), value,
                                   NVVM::MatchSyncKind::any);
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
  NVVM::BarrierOp::create(b, TypeRange(), barrier, b.i32(threads),
                          NVVM::BarrierReductionAttr(), Value());
}

void nvvm::arriveThreads(CodeBuilder &b, Value barrier, int64_t threads) {
  NVVM::BarrierArriveOp::create(b, barrier, b.i32(threads));
}

void nvvm::initBarrier(CodeBuilder &b, Value pointer, int64_t arrivals) {
  NVVM::MBarrierInitOp::create(b, pointer, b.i32(arrivals),
                               /*predicate=*/Value());
}

void nvvm::fenceBarrierInit(CodeBuilder &b) {
  NVVM::FenceMbarrierInitOp::create(b);
}

void nvvm::arriveBehindCopies(CodeBuilder &b, Value barrier) {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "block");
  NVVM::CpAsyncMBarrierArriveOp::create(b, toPointer(b, barrier),
                                        /*noinc=*/true);
}

void nvvm::arriveAndExpect(CodeBuilder &b, Value barrier, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      b, TypeRange(), toPointer(b, barrier), b.i32(bytes),
      NVVM::MemScopeKind::CTA, /*relaxed=*/false, /*predicate=*/Value());
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

void nvvm::addBits(CodeBuilder &b, Value pointer, Value bits) {
  LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::_or, pointer, bits,
                            LLVM::AtomicOrdering::monotonic, "block");
}

void nvvm::addTo(CodeBuilder &b, Value pointer, Value number) {
  LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, pointer, number,
                            LLVM::AtomicOrdering::monotonic, "block");
}

void nvvm::addToGlobal(CodeBuilder &b, Value pointer, Value number) {
  bool isFloat = isa<FloatType>(number.getType());
  LLVM::AtomicRMWOp::create(
      b, isFloat ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add, pointer,
      number, LLVM::AtomicOrdering::monotonic, "device");
}

void nvvm::countUpBehindStores(CodeBuilder &b, Value pointer) {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "device");
  LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, pointer, b.i32(1),
                            LLVM::AtomicOrdering::monotonic, "device");
}

Value nvvm::countUp(CodeBuilder &b, Value pointer, Value last) {
  return b.make<LLVM::AtomicRMWOp>(LLVM::AtomicBinOp::uinc_wrap, pointer, last,
                                   LLVM::AtomicOrdering::monotonic, "device");
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

void nvvm::letNextLaunchStart(CodeBuilder &b) {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}

void nvvm::waitForLaunchBefore(CodeBuilder &b) {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
}

//===----------------------------------------------------------------------===//
// Copies by threads
//===----------------------------------------------------------------------===//

void nvvm::copyChunk(CodeBuilder &b, Value target, Value source, Value bytes) {
  NVVM::CpAsyncOp::create(b, target, source, /*size=*/16,
                          NVVM::LoadCacheModifierKind::CG, bytes);
}

void nvvm::copyWord(CodeBuilder &b, Value target, Value source, Value bytes) {
  NVVM::CpAsyncOp::create(b, target, source, /*size=*/4,
                          NVVM::LoadCacheModifierKind::CA, bytes);
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
  // In the cluster's shared memory, a block's own has the same addresses.
  Value target = ::toPointer(b, address, NVVM::NVVMMemorySpace::SharedCluster);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, target, map, coordinates, toPointer(b, barrier),
      /*im2colOffsets=*/ValueRange(), /*multicastMask=*/Value(),
      /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

void nvvm::copyBoxFromShared(CodeBuilder &b, Value map, ValueRange coordinates,
                             Value address) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      b, map, toPointer(b, address), coordinates, /*l2CacheHint=*/Value(),
      NVVM::TMAStoreMode::TILE, /*predicate=*/Value());
}

void nvvm::commitBoxes(CodeBuilder &b) {
  NVVM::CpAsyncBulkCommitGroupOp::create(b);
}

void nvvm::waitBoxesRead(CodeBuilder &b, int64_t pending) {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, pending, b.getUnitAttr());
}

void nvvm::fenceSharedForAsync(CodeBuilder &b) {
  NVVM::FenceProxyOp::create(
      b, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
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

void nvvm::storeMatrices(CodeBuilder &b, Value pointer, ValueRange packed) {
  NVVM::StMatrixOp::create(b, pointer, packed, NVVM::MMALayout::row,
                           getMatrixShape(b), NVVM::LdStMatrixEltType::B16);
}

SmallVector<Value, 4> nvvm::multiply(CodeBuilder &b, Type element,
                                     ValueRange lhs, ValueRange rhs,
                                     ValueRange sums) {
  bool isBF16 = element.isBF16();
  // The op takes words of bf16 as integers, words of f16 as vectors.
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
  NVVM::SetMaxRegisterOp::create(b, registers,
                                 increase
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
}

void nvvm::sleep(CodeBuilder &b, int64_t nanoseconds) {
  NVVM::NanosleepOp::create(b, b.i32(nanoseconds));
}
