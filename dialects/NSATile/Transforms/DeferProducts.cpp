//===- DeferProducts.cpp - Products for sums in memory, a step late -------===//

#include "NSATile/IR/BlocksPerSM.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/NSATileUses.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/IR/SharedShape.h"
#include "NSATile/IR/TileLoop.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEDEFERPRODUCTS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kDeferRemarks = {"nsatile-defer-products",
                                              "DeferredProducts"};

/// The step that writes a tile goes on while others still read the one before.
static constexpr int64_t kHandedStages = 2;

namespace {

/// A sum in memory whose products run a step late.
class Deferral {
public:
  explicit Deferral(AccumulateOp sum)
      : sum(sum), loop(sum->getParentOp()), body(sum->getBlock()) {}

  /// Reason why the sum can't be late; empty if it can.
  StringRef collect();
  void apply();
  size_t getNumProducts() const { return products.size(); }
  /// Bytes of shared memory that the program takes if the sum is late.
  int64_t countBytes() const;

private:
  /// A tile that one step writes and the next one's products read.
  struct Handed {
    /// The tile before it is in shared memory.
    Value source;
    Value buffer = {};
    DotOp lastReader = {};
  };

  bool isOutside(Value value) const {
    return loop.getInterface().isDefinedOutsideOfLoop(value);
  }
  bool sharesMemory();
  bool isOnlyForSum(Operation *op) const;
  StringRef collectOperand(DotOp product, Value operand);
  StringRef explainInputs(Operation *op);
  void createBuffers();
  void emitProduct(OpBuilder &builder, DotOp product, IRMapping &step);
  void emitRest(OpBuilder &builder, Value index, Value isStep, IRMapping &step);

  AccumulateOp sum;
  TileLoop loop;
  Block *body;
  /// The chain, each part in the order of the body. The sum is the last of the
  /// rest.
  SmallVector<DotOp> products;
  SmallVector<Operation *> rest;
  llvm::SmallPtrSet<Operation *, 8> chain;
  llvm::MapVector<Value, Handed> handed;
};

} // namespace

//===----------------------------------------------------------------------===//
// The chain of a sum
//===----------------------------------------------------------------------===//

/// Whether an op of the body computes a tile that only the chain reads, and
/// gives the same one when it runs later.
bool Deferral::isOnlyForSum(Operation *op) const {
  auto load = dyn_cast<LoadOp>(op);
  bool mayWait = op->getNumRegions() == 0 &&
                 (isMemoryEffectFree(op) ||
                  (load && !isStoredTo(load.getAt().getBuffer())));
  return mayWait && op->getNumResults() == 1 &&
         isa<RankedTensorType>(op->getResult(0).getType()) &&
         !op->use_empty() && llvm::all_of(op->getUses(), [&](OpOperand &use) {
           bool isHanded =
               isa<DotOp>(use.getOwner()) && use.getOperandNumber() < 2;
           return !isHanded && chain.contains(use.getOwner());
         });
}

/// Whether a tile is loaded, by the step itself or by a producer.
static bool comesFromLoad(Value tile) {
  while (auto reshape = tile.getDefiningOp<ReshapeOp>())
    tile = reshape.getSource();
  return tile.getDefiningOp<LoadOp>() || tile.getDefiningOp<ConsumerWaitOp>();
}

/// Finds out how the product's operand gets to the next step.
StringRef Deferral::collectOperand(DotOp product, Value operand) {
  if (isOutside(operand))
    return "";
  if (comesFromLoad(operand))
    return "its product reads a tile that its step loads";
  Operation *source = operand.getDefiningOp();
  if (!source)
    return "its product reads a tile that the loop carries";
  auto type = cast<RankedTensorType>(operand.getType());
  Value written = operand;
  if (type.getEncoding()) {
    auto convert = dyn_cast<ConvertLayoutOp>(source);
    if (!convert || !isa<SharedLayoutAttr>(type.getEncoding()))
      return "its product reads a tile of its step in registers";
    SharedShape shape = SharedShape::get(type);
    if (shape.paddedRows != shape.rows || shape.paddedColumns != shape.columns)
      return "its product reads beyond a tile whose sizes aren't multiples of "
             "16";
    written = convert.getSource();
  }
  Handed &tile = handed.insert({operand, {written}}).first->second;
  tile.lastReader = product;
  return "";
}

/// Reason why an op can't run a step later; empty if it can.
StringRef Deferral::explainInputs(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    Operation *source = value.getDefiningOp();
    bool isTile = isa<RankedTensorType>(value.getType());
    if (isTile && isa<DotOp>(op) && operand.getOperandNumber() < 2) {
      if (StringRef reason = collectOperand(cast<DotOp>(op), value);
          !reason.empty())
        return reason;
    } else if (isTile && isa<DotOp>(op) && !isOutside(value)) {
      return "its product adds to a tile of its step";
    } else if (isTile && !isOutside(value) && !chain.contains(source)) {
      return "it reads a tile of its step beside its products";
    } else if (!isTile && !loop.isKnownAhead(value)) {
      return "its place depends on tiles or on values that the loop carries";
    }
  }
  return "";
}

/// Whether another op of the loop reads or writes memory of the sum: a late sum
/// would stand on the other side of it.
bool Deferral::sharesMemory() {
  auto isOther = [&](Operation *user) {
    return user != sum && loop->isProperAncestor(user);
  };
  SmallVector<Value> buffers = {sum.getAt().getBuffer()};
  if (Value turns = sum.getTurns())
    buffers.push_back(turns);
  return llvm::any_of(buffers, [&](Value buffer) {
    return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
      return isa<AtOp>(user) ? llvm::any_of(user->getUsers(), isOther)
                             : isOther(user);
    });
  });
}

StringRef Deferral::collect() {
  if (!loop)
    return "it doesn't stand in a loop over tiles";
  if (!loop.hasUnitStep())
    return "its loop leaves out numbers between steps";
  if (sharesMemory())
    return "another op of its loop reads or writes its buffer";
  chain.insert(sum);
  for (Operation &op : llvm::reverse(*body)) {
    if (&op != sum && !isOnlyForSum(&op))
      continue;
    chain.insert(&op);
    if (auto product = dyn_cast<DotOp>(op))
      products.push_back(product);
    else
      rest.push_back(&op);
  }
  std::reverse(products.begin(), products.end());
  std::reverse(rest.begin(), rest.end());
  if (products.empty())
    return "no product is only for it";
  for (DotOp product : products)
    if (StringRef reason = explainInputs(product); !reason.empty())
      return reason;
  for (Operation *op : rest)
    if (StringRef reason = explainInputs(op); !reason.empty())
      return reason;
  return handed.empty() ? "its products read no tile of their step" : "";
}

//===----------------------------------------------------------------------===//
// Room
//===----------------------------------------------------------------------===//

static int64_t getBytes(int64_t stages, RankedTensorType tile) {
  return llvm::alignTo(stages * SharedShape::get(tile).bytes, kSharedAlignment);
}

int64_t Deferral::countBytes() const {
  // Barriers' and threads' own tiles.
  constexpr int64_t slack = 1024;
  int64_t bytes = slack;
  sum->getParentOfType<ProgramOp>().walk([&](Operation *op) {
    if (auto buffer = dyn_cast<CircularBufferOp>(op)) {
      CircularBufferType type = buffer.getCircularBuffer().getType();
      bytes += getBytes(type.getStages(), type.getTile());
    } else if (isa<LoadOp, ConvertLayoutOp>(op)) {
      auto tile = cast<RankedTensorType>(op->getResult(0).getType());
      if (isa_and_present<SharedLayoutAttr>(tile.getEncoding()))
        bytes += getBytes(1, tile);
    }
  });
  for (auto &[operand, tile] : handed) {
    auto type = cast<RankedTensorType>(operand.getType());
    bool staysToo = operand == tile.source || !operand.hasOneUse();
    bytes += getBytes(kHandedStages - !staysToo, type);
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// A step late
//===----------------------------------------------------------------------===//

/// Creates the circular buffers, each with a tile of zeros for the first step's
/// products, whose results nobody adds.
void Deferral::createBuffers() {
  Operation *place = loop.getOperation();
  if (auto specialized = loop->getParentOfType<WarpSpecializeOp>())
    place = specialized;
  OpBuilder atTop(place), before(loop.getOperation());
  for (auto &[operand, tile] : handed) {
    Location loc = operand.getLoc();
    auto type =
        CircularBufferType::get(loop->getContext(), kHandedStages,
                                cast<RankedTensorType>(operand.getType()));
    tile.buffer = CircularBufferOp::create(atTop, loc, type);
    Value zeros = arith::ConstantOp::create(
        before, loc,
        cast<TypedAttr>(before.getZeroAttr(tile.source.getType())));
    ConsumerStoreOp::create(before, loc, zeros, tile.buffer);
    OpBuilder after(loop->getContext());
    after.setInsertionPointAfterValue(tile.source);
    if (operand != tile.source)
      after.setInsertionPoint(operand.getDefiningOp());
    ConsumerStoreOp::create(after, loc, tile.source, tile.buffer);
  }
}

/// Writes a product that reads the tiles which were handed on first.
void Deferral::emitProduct(OpBuilder &builder, DotOp product, IRMapping &step) {
  Location loc = product.getLoc();
  SmallVector<Value, 2> operands = {product.getLhs(), product.getRhs()};
  for (Value operand : operands)
    if (auto found = handed.find(operand);
        found != handed.end() && !step.contains(operand))
      step.map(
          operand,
          ConsumerWaitOp::create(builder, loc, found->second.buffer).getTile());
  builder.clone(*product, step);
  for (auto &[operand, tile] : handed)
    if (tile.lastReader == product)
      ConsumerReleaseOp::create(builder, loc, tile.buffer);
}

/// Writes the sum, and what lies between it and the products, for step `index`
/// if there is such a step.
void Deferral::emitRest(OpBuilder &builder, Value index, Value isStep,
                        IRMapping &step) {
  auto branch = scf::IfOp::create(builder, loop.getLoc(), isStep);
  OpBuilder nested = OpBuilder::atBlockBegin(&branch.getThenRegion().front());
  Value one = arith::ConstantIndexOp::create(nested, loop.getLoc(), 1);
  step.map(loop.getIndex(),
           arith::SubIOp::create(nested, loop.getLoc(), index, one));
  for (Operation *op : rest) {
    for (Value operand : op->getOperands())
      if (!isa<RankedTensorType>(operand.getType()))
        loop.copyFor(nested, operand, step);
    nested.clone(*op, step)->removeAttr(kStageAttrName);
  }
}

/// Before:   for i: A(i) B(i); B adds to memory
/// After:    for i: A(i) B(i - 1), and nothing is added in the first step;
///           B(last)
void Deferral::apply() {
  createBuffers();
  OpBuilder behind(loop->getContext());
  behind.setInsertionPointAfter(loop.getOperation());
  IRMapping ofLast, ofPrevious;
  for (DotOp product : products)
    emitProduct(behind, product, ofLast);
  Value any =
      arith::CmpIOp::create(behind, loop.getLoc(), arith::CmpIPredicate::slt,
                            loop.getFirst(), loop.getEnd());
  emitRest(behind, loop.getEnd(), any, ofLast);

  for (DotOp product : products) {
    OpBuilder builder(product);
    emitProduct(builder, product, ofPrevious);
  }
  OpBuilder builder(sum);
  Value isBehindFirst =
      arith::CmpIOp::create(builder, loop.getLoc(), arith::CmpIPredicate::sgt,
                            loop.getIndex(), loop.getFirst());
  emitRest(builder, loop.getIndex(), isBehindFirst, ofPrevious);

  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (chain.contains(&op))
      op.erase();
  for (AtOp at : llvm::make_early_inc_range(body->getOps<AtOp>()))
    if (at->use_empty())
      at.erase();
  for (auto &[operand, tile] : handed)
    if (operand != tile.source && operand.use_empty())
      operand.getDefiningOp()->erase();
}

namespace {

struct DeferProducts
    : nsacc::nsatile::impl::NSATileDeferProductsBase<DeferProducts> {
  using NSATileDeferProductsBase::NSATileDeferProductsBase;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    SmallVector<AccumulateOp> sums;
    program.walk([&](AccumulateOp sum) {
      auto stage = sum->getAttrOfType<IntegerAttr>(kStageAttrName);
      if (stage && stage.getInt() == 1)
        sums.push_back(sum);
    });
    for (AccumulateOp sum : sums) {
      Deferral deferral(sum);
      StringRef reason = deferral.collect();
      if (reason.empty() && sharedBytes > 0 &&
          deferral.countBytes() > getSharedBytesOfBlock(program, sharedBytes))
        reason = "shared memory has no room for the next step's tiles beside "
                 "those that its products read";
      if (!reason.empty()) {
        kDeferRemarks.missed(sum, "the sum isn't a step late: " + reason);
        sum->removeAttr(kStageAttrName);
        continue;
      }
      kDeferRemarks.passed(sum, "products that run a step late: " +
                                    Twine(deferral.getNumProducts()));
      deferral.apply();
    }
  }
};

} // namespace
