//===- OperandsInRegisters.cpp - Left operands that stay in registers -----===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/IR/SharedShape.h"
#include "NSATile/IR/TileLayout.h"
#include "NSATile/IR/WarpRoles.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEOPERANDSINREGISTERS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kOperandRemarks = {"nsatile-operands-in-registers",
                                                "OperandInRegisters"};

/// Registers for addresses, counts, masks and code between two products. With
/// fewer, ptxas begins to keep values in memory, which serializes products.
static constexpr int64_t kReserve = 28;
/// Most columns to keep. More are slower, measured with 192, though there is
/// room.
static constexpr int64_t kMostColumns = 128;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Number of a thread's registers for a tile.
static int64_t countRegisters(Type type) {
  if (auto pending = dyn_cast<PendingType>(type))
    type = pending.getTile();
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return 0;
  std::optional<TileLayout> layout = TileLayout::get(tile);
  if (!layout)
    return 0;
  Type element = tile.getElementType();
  int64_t bits = element.isIndex() ? 32 : element.getIntOrFloatBitWidth();
  return llvm::divideCeil(layout->getNumRegisters() * bits, 32);
}

static int64_t countRegisters(TypeRange types) {
  int64_t count = 0;
  for (Type type : types)
    count += countRegisters(type);
  return count;
}

/// False for tiles that are made from scalars wherever they are needed.
static bool isKept(Operation &op) {
  return !op.hasTrait<OpTrait::ConstantLike>() &&
         !isa<IotaOp, tensor::SplatOp, tensor::EmptyOp>(op);
}

/// Whether `value` is used in the regions of `op` or behind it.
static bool isUsedFrom(Value value, Operation *op) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    return user != op && ancestor && !ancestor->isBeforeInBlock(op);
  });
}

/// Number of registers that a thread needs for tiles in a step of the loop.
static int64_t countRegisters(scf::ForOp loop, Region &consumers) {
  int64_t count = 0;
  for (auto dot : loop.getBody()->getOps<DotAsyncOp>())
    if (!dot.getAcc())
      count += countRegisters(dot.getResult().getType());
  for (Operation *op = loop;; op = op->getParentOp()) {
    if (auto around = dyn_cast<scf::ForOp>(op))
      count += countRegisters(around.getResultTypes());
    for (Operation &before :
         llvm::make_range(op->getBlock()->begin(), op->getIterator()))
      for (Value value : before.getResults())
        if (isKept(before) && isUsedFrom(value, op))
          count += countRegisters(value.getType());
    if (op->getParentRegion() == &consumers)
      return count;
  }
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Whether the loop starts products with that left operand.
static bool multiplies(scf::ForOp loop, Value lhs) {
  return llvm::any_of(loop.getBody()->getOps<DotAsyncOp>(),
                      [&](DotAsyncOp dot) { return dot.getLhs() == lhs; });
}

static bool isInRegisters(Value lhs) {
  return !isa_and_present<SharedLayoutAttr>(
      cast<RankedTensorType>(lhs.getType()).getEncoding());
}

/// Whether ptxas may reuse the operand's registers. ptxas 13.0 takes them as
/// free once its product is done, and gives them to the left operand of a later
/// product, though the next step needs them (D 128, tiles of 128 keys). It
/// doesn't if both products are in flight.
static bool mayLoseRegisters(scf::ForOp loop, Value lhs) {
  SmallVector<DotAsyncOp> inFlight, alone;
  for (Operation &op : *loop.getBody()) {
    if (auto wait = dyn_cast<DotWaitOp>(op)) {
      auto *done =
          llvm::find(inFlight, wait.getPending().getDefiningOp<DotAsyncOp>());
      if (done != inFlight.end())
        inFlight.erase(inFlight.begin(), std::next(done));
    }
    auto dot = dyn_cast<DotAsyncOp>(op);
    if (!dot)
      continue;
    if (dot.getLhs() == lhs)
      llvm::erase_if(alone, [&](DotAsyncOp other) {
        return llvm::is_contained(inFlight, other);
      });
    else if (isInRegisters(dot.getLhs()) &&
             llvm::none_of(inFlight, [&](DotAsyncOp other) {
               return other.getLhs() == lhs;
             }))
      alone.push_back(dot);
    inFlight.push_back(dot);
  }
  return !alone.empty();
}

/// The last op of `lhs`'s block with a product of it; null if it has other
/// uses, too.
static Operation *findLastProduct(Value lhs) {
  Block *block = lhs.getParentBlock();
  Operation *last = nullptr;
  for (OpOperand &use : lhs.getUses()) {
    auto dot = dyn_cast<DotAsyncOp>(use.getOwner());
    if (!dot || use.getOperandNumber() != 0 || dot.getTransposeLhs())
      return nullptr;
    Operation *ancestor = block->findAncestorOpInBlock(*dot);
    if (!last || last->isBeforeInBlock(ancestor))
      last = ancestor;
  }
  return last;
}

/// Number of `registers` that loops with products of `lhs` leave. None, with a
/// remark, if there is no such loop, if a loop without such products comes
/// between, or if a loop may lose registers.
static std::optional<int64_t> findRoom(Value lhs, Region &consumers,
                                       int64_t registers) {
  Operation *source = lhs.getDefiningOp();
  Operation *last = findLastProduct(lhs);
  if (!last) {
    kOperandRemarks.missed(source,
                           "the operand is read by more than products in "
                           "flight, of which it is the left one");
    return std::nullopt;
  }
  std::optional<int64_t> room;
  StringRef reason;
  for (Operation *op = source; op != last->getNextNode();
       op = op->getNextNode()) {
    WalkResult result = op->walk([&](scf::ForOp loop) {
      if (countRegisters(loop.getResultTypes()) == 0)
        return WalkResult::advance();
      if (!multiplies(loop, lhs))
        reason = "a loop without products of the operand runs between those "
                 "with some";
      else if (mayLoseRegisters(loop, lhs))
        reason = "its product is done before one whose left operand is in "
                 "registers starts, which may get the operand's";
      if (!reason.empty())
        return WalkResult::interrupt();
      int64_t left = registers - kReserve - countRegisters(loop, consumers);
      room = std::min(room.value_or(left), left);
      return WalkResult::advance();
    });
    if (result.wasInterrupted()) {
      kOperandRemarks.missed(source, reason);
      return std::nullopt;
    }
  }
  if (!room)
    kOperandRemarks.missed(source, "no loop has products of the operand");
  return room;
}

/// Keeps the columns that the schedule gives, or as many as there is room for.
static void hold(Value lhs, Attribute layout, int64_t room, int64_t given) {
  auto type = cast<RankedTensorType>(lhs.getType());
  auto getFragmentType = [&](int64_t columns) {
    return RankedTensorType::get({type.getDimSize(0), columns},
                                 type.getElementType(), layout);
  };
  bool isGiven = given >= 0;
  int64_t columns = llvm::alignDown(
      std::min(type.getDimSize(1), isGiven ? given : kMostColumns), 16);
  while (!isGiven && columns > 0 &&
         countRegisters(getFragmentType(columns)) > room)
    columns = llvm::alignDown(columns - 1, kSlabColumns);
  if (columns == 0 && isGiven)
    return kOperandRemarks.missed(lhs.getDefiningOp(),
                                  "the schedule holds no columns");
  if (columns == 0)
    return kOperandRemarks.missed(
        lhs.getDefiningOp(),
        room > 0 ? "the loops' tiles leave a thread " + Twine(room) +
                       " registers, too few for columns of the operand"
                 : Twine("the loops' tiles leave a thread no registers"));
  kOperandRemarks.passed(lhs.getDefiningOp(),
                         Twine(columns) + " of " + Twine(type.getDimSize(1)) +
                             " columns of the operand stay in registers");
  OpBuilder builder(lhs.getContext());
  builder.setInsertionPointAfterValue(lhs);
  auto fragment =
      FragmentOp::create(builder, lhs.getLoc(), getFragmentType(columns), lhs);
  for (Operation *user : lhs.getUsers())
    if (auto dot = dyn_cast<DotAsyncOp>(user))
      dot.getHeadMutable().assign(fragment.getResult());
}

namespace {

struct OperandsInRegisters
    : nsacc::nsatile::impl::NSATileOperandsInRegistersBase<
          OperandsInRegisters> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](WarpSpecializeOp specialized) {
      int64_t groups = specialized.getWarps() / kGroupWarps;
      if (groups == 0)
        return;
      Region &consumers = specialized.getConsumers();
      int64_t each = RoleRegisters::get(specialized, registers).consumer;
      // Left operands in shared memory and the layouts of their products.
      llvm::MapVector<Value, Attribute> operands;
      consumers.walk([&](DotAsyncOp dot) {
        Value lhs = dot.getLhs();
        if (!isInRegisters(lhs) && !dot.getHead() && !dot.getTransposeLhs() &&
            lhs.getDefiningOp())
          operands[lhs] = dot.getResult().getType().getTile().getEncoding();
      });
      ScheduleAttr schedule =
          specialized->getParentOfType<ProgramOp>().getScheduleAttr();
      int64_t given = schedule ? schedule.getColumnsInRegisters() : -1;
      for (auto [lhs, layout] : operands)
        if (std::optional<int64_t> room = findRoom(lhs, consumers, each))
          hold(lhs, layout, *room, given);
    });
  }
};

} // namespace
