//===- OverlapProducts.cpp - Products of one step that run together -------===//

#include "OverlapProducts.h"
#include "AsyncProducts.h"
#include "LayoutFlow.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/SharedShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace nsacc::nsatile;

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

/// Whether an op reads a vector that waits in a circular buffer.
static bool readsVector(Operation *op) {
  auto convert = dyn_cast_if_present<ConvertLayoutOp>(op);
  return convert && isSharedVector(getTile(convert.getSource())) &&
         getCircularBuffer(convert.getSource());
}

/// Whether an op may run at any place in front of its results' readers. Vectors
/// are read as late as possible, because they take registers.
static bool isPlacedByNeed(Operation *op) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return readsVector(broadcast.getSource().getDefiningOp());
  return isa<ConsumerWaitOp, ReshapeOp>(op) || readsVector(op);
}

/// Whether an op runs behind the products that read a tile.
static bool isPlacedByProducts(Operation *op) {
  return isa<ConsumerReleaseOp, UniformStepOp>(op);
}

/// Ops of the step that `op` comes behind. A tile that a step hands on is read
/// where the step's own tile would be: behind the store.
static SmallVector<Operation *> getSources(Operation *op) {
  SmallVector<Operation *> sources;
  if (auto wait = dyn_cast<ConsumerWaitOp>(op))
    for (Operation *user : wait.getCircularBuffer().getUsers())
      if (isa<ConsumerStoreOp>(user) && user->getBlock() == op->getBlock() &&
          user->isBeforeInBlock(op))
        sources.push_back(user);
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (Operation *source = operand.getDefiningOp())
        if (source->getBlock() == op->getBlock() && source != op)
          sources.push_back(source);
  });
  return sources;
}

ProductLevels::ProductLevels(Block &body) {
  int64_t written = 0;
  for (Operation &op : body.without_terminator()) {
    if (isPlacedByNeed(&op) || isPlacedByProducts(&op))
      continue;
    int64_t level = 0;
    SmallVector<Operation *> open = getSources(&op);
    while (!open.empty()) {
      Operation *source = open.pop_back_val();
      if (isPlacedByNeed(source))
        llvm::append_range(open, getSources(source));
      else
        level =
            std::max(level, levels.lookup(source) + products.contains(source));
    }
    // Ops that read or write memory stay in order.
    if (!isMemoryEffectFree(&op))
      level = written = std::max(level, written);
    levels[&op] = level;
    auto dot = dyn_cast<DotOp>(op);
    if (!dot || !canBeAsync(dot))
      continue;
    products.insert(dot);
    if (level >= static_cast<int64_t>(groups.size()))
      groups.resize(level + 1);
    groups[level].push_back(dot);
  }
}

StringRef ProductLevels::explainNoOverlap(Block &body) const {
  if (llvm::none_of(groups,
                    [](ArrayRef<DotOp> group) { return group.size() > 1; }))
    return "each product waits for the one before";
  llvm::SmallPtrSet<Value, 8> buffers;
  for (auto wait : body.getOps<ConsumerWaitOp>())
    if (!buffers.insert(wait.getCircularBuffer()).second)
      return "a step takes several tiles of one circular buffer";
  for (auto release : body.getOps<ConsumerReleaseOp>())
    if (!buffers.contains(release.getCircularBuffer()))
      return "a step gives back a tile that another one took";
  return "";
}

//===----------------------------------------------------------------------===//
// Writing a step
//===----------------------------------------------------------------------===//

namespace {

/// Moves the ops of a step to its end, one after the other, in their new order.
class StepWriter {
public:
  explicit StepWriter(Block &body)
      : body(body), levels(body), builder(OpBuilder::atBlockTerminator(&body)) {
  }

  void write();

private:
  struct Pending {
    DotOp dot;
    DotAsyncOp start;
  };
  void place(Operation *op);
  void start(DotOp dot);
  void waitFor(Operation *product);
  void releaseRead();

  Block &body;
  ProductLevels levels;
  OpBuilder builder;
  llvm::SmallPtrSet<Operation *, 32> placed;
  SmallVector<Pending> pending;
  SmallVector<DotOp> ended;
  SmallVector<ConsumerReleaseOp> releases;
};

} // namespace

/// Waits for `product`. Products end in the order in which they start.
void StepWriter::waitFor(Operation *product) {
  while (llvm::any_of(
      pending, [&](const Pending &each) { return each.dot == product; })) {
    Pending first = pending.front();
    pending.erase(pending.begin());
    auto wait = DotWaitOp::create(builder, first.dot.getLoc(),
                                  first.start.getResult(), pending.size());
    placed.insert(wait);
    first.dot.getResult().replaceAllUsesWith(wait.getTile());
    ended.push_back(first.dot);
    releaseRead();
  }
}

/// Releases tiles that all of the step's ops have read.
void StepWriter::releaseRead() {
  auto isRead = [&](ConsumerReleaseOp release) {
    SmallVector<Value> open;
    for (auto wait : body.getOps<ConsumerWaitOp>())
      if (wait.getCircularBuffer() == release.getCircularBuffer())
        open.push_back(wait.getTile());
    while (!open.empty())
      for (Operation *user : open.pop_back_val().getUsers()) {
        Operation *reader = body.findAncestorOpInBlock(*user);
        if (isa<ReshapeOp>(reader))
          open.push_back(reader->getResult(0));
        // The original op of a product in flight is still beside its start.
        else if (isa<DotAsyncOp>(reader)
                     ? llvm::any_of(pending,
                                    [&](const Pending &each) {
                                      return each.start == reader;
                                    })
                     : !placed.contains(reader))
          return false;
      }
    return true;
  };
  llvm::erase_if(releases, [&](ConsumerReleaseOp release) {
    if (!isRead(release))
      return false;
    release->moveBefore(body.getTerminator());
    return true;
  });
}

void StepWriter::place(Operation *op) {
  if (!placed.insert(op).second)
    return;
  for (Operation *source : getSources(op)) {
    if (levels.isProduct(source))
      waitFor(source);
    else
      place(source);
  }
  op->moveBefore(body.getTerminator());
}

void StepWriter::start(DotOp dot) {
  for (Operation *source : getSources(dot))
    place(source);
  auto type = PendingType::get(
      dot.getContext(), cast<RankedTensorType>(dot.getResult().getType()));
  auto op = DotAsyncOp::create(builder, dot.getLoc(), type, dot.getLhs(),
                               /*head=*/Value(), dot.getRhs(), dot.getAcc(),
                               /*adds=*/Value(), dot.getTransposeRhs(),
                               dot.getTransposeLhs());
  placed.insert(dot);
  pending.push_back({dot, op});
}

void StepWriter::write() {
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator()) {
    if (auto release = dyn_cast<ConsumerReleaseOp>(op))
      releases.push_back(release);
    ops.push_back(&op);
  }
  auto groups = levels.getGroups();
  for (size_t level = 0; level <= groups.size(); ++level) {
    // A group's operands are all computed before its first product starts, and
    // nothing else is in flight: code that writes registers which products in
    // flight read would serialize the products.
    for (Operation *op : ops)
      if (!levels.isProduct(op) && levels.isOfLevel(op, level))
        place(op);
    while (!pending.empty())
      waitFor(pending.front().dot);
    if (level < groups.size())
      for (DotOp dot : groups[level])
        start(dot);
  }
  releaseRead();
  for (DotOp dot : ended)
    dot.erase();
}

LogicalResult nsacc::nsatile::overlapProducts(Operation *loop) {
  Block &body = loop->getRegion(0).front();
  StringRef reason = ProductLevels(body).explainNoOverlap(body);
  if (!reason.empty())
    return loop->emitOpError("of one stage needs products that run side by "
                             "side: ")
           << reason;
  StepWriter(body).write();
  return success();
}
