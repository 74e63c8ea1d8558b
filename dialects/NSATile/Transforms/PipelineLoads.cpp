//===- PipelineLoads.cpp - Load tiles of later steps during a step --------===//

#include "NSATile/IR/BlocksPerSM.h"
#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/NSATileUses.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/IR/SharedShape.h"
#include "NSATile/IR/TileLoop.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEPIPELINELOADS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kLoadRemarks = {"nsatile-pipeline-loads",
                                             "PipelinedLoads"};

//===----------------------------------------------------------------------===//
// Tiles that can be loaded ahead
//===----------------------------------------------------------------------===//

static SharedLayoutAttr getSharedLayout(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  Attribute layout = tile ? tile.getEncoding() : Attribute();
  if (auto reshape = dyn_cast_if_present<ReshapeLayoutAttr>(layout))
    layout = reshape.getOf();
  return dyn_cast_if_present<SharedLayoutAttr>(layout);
}

namespace {

/// A loop whose tiles are loaded ahead.
class Pipeline {
public:
  explicit Pipeline(TileLoop loop) : loop(loop) {}

  /// False if there is nothing to load ahead.
  bool find();
  int64_t getBytes() const;
  void apply(int64_t stages);

private:
  StringRef explainNotAhead(LoadOp load);
  void producerLoad(OpBuilder &builder, ArrayRef<size_t> which, Value index);
  void fillIfAny(OpBuilder &builder, ArrayRef<size_t> which, Value index);
  void applyInPlace();
  void applyAhead(int64_t stages);
  void consumerWait(OpBuilder &builder, size_t which);
  void consumerRelease(size_t which);

  TileLoop loop;
  /// Loads in the order of their first readers.
  SmallVector<LoadOp> loads;
  SmallVector<Operation *> firstReaders, lastReaders;
  SmallVector<Value> buffers;
};

} // namespace

/// Reason why a tile in shared memory can't be loaded ahead; empty if it can.
StringRef Pipeline::explainNotAhead(LoadOp load) {
  AtOp at = load.getAt();
  if (isStoredTo(at.getBuffer()))
    return "the program writes its buffer";
  if (at.isListed())
    return "a list names its rows";
  return loop.isKnownAhead(at)
             ? ""
             : "its place depends on tiles or on the step before";
}

/// The first and the last op of the body that read `value` or a reshape of it.
static std::pair<Operation *, Operation *> findReaders(Value value) {
  Operation *first = nullptr, *last = nullptr;
  Block *block = value.getParentBlock();
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (auto reshape = dyn_cast<ReshapeOp>(user)) {
        open.push_back(reshape.getResult());
        continue;
      }
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (!first || ancestor->isBeforeInBlock(first))
        first = ancestor;
      if (!last || last->isBeforeInBlock(ancestor))
        last = ancestor;
    }
  }
  return {first, last};
}

bool Pipeline::find() {
  for (LoadOp load : loop.getBody()->getOps<LoadOp>()) {
    auto [first, last] = findReaders(load.getTile());
    if (!first || !getSharedLayout(load.getTile().getType()))
      continue;
    StringRef reason = explainNotAhead(load);
    if (reason.empty() && last->hasTrait<OpTrait::IsTerminator>())
      reason = "the next step reads it";
    if (reason.empty())
      loads.push_back(load);
    else
      kLoadRemarks.missed(load, "the tile isn't loaded ahead: " + reason);
  }
  llvm::sort(loads, [](LoadOp lhs, LoadOp rhs) {
    Operation *left = findReaders(lhs.getTile()).first;
    Operation *right = findReaders(rhs.getTile()).first;
    return left == right ? lhs->isBeforeInBlock(rhs)
                         : left->isBeforeInBlock(right);
  });
  for (LoadOp load : loads) {
    auto [first, last] = findReaders(load.getTile());
    firstReaders.push_back(first);
    lastReaders.push_back(last);
  }
  return !loads.empty();
}

static int64_t getPlaceBytes(Type tile) {
  return SharedShape::get(cast<RankedTensorType>(tile)).getPlaceBytes();
}

/// Bytes of the tiles of a step.
int64_t Pipeline::getBytes() const {
  int64_t bytes = 0;
  for (LoadOp load : loads)
    bytes += getPlaceBytes(load.getTile().getType());
  return bytes;
}

//===----------------------------------------------------------------------===//
// Loads into circular buffers, and waits for them
//===----------------------------------------------------------------------===//

/// Starts the loads of step `index`.
void Pipeline::producerLoad(OpBuilder &builder, ArrayRef<size_t> which,
                            Value index) {
  IRMapping mapping;
  mapping.map(loop.getIndex(), index);
  for (size_t each : which) {
    LoadOp load = loads[each];
    Value place = loop.copyFor(builder, load.getPlace(), mapping);
    ProducerLoadOp::create(builder, load.getLoc(), buffers[each], place);
  }
}

/// Starts the loads of step `index` if there is such a step.
void Pipeline::fillIfAny(OpBuilder &builder, ArrayRef<size_t> which,
                         Value index) {
  if (which.empty())
    return;
  Location loc = loop.getLoc();
  Value isStep = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       index, loop.getEnd());
  auto branch = scf::IfOp::create(builder, loc, isStep);
  OpBuilder nested = OpBuilder::atBlockBegin(&branch.getThenRegion().front());
  producerLoad(nested, which, index);
}

/// Moves reshapes of the tile that come before it behind it.
static void moveReshapes(Operation *before) {
  Operation *last = before;
  SmallVector<Value> open = {before->getResult(0)};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (!isa<ReshapeOp>(user) || user->getBlock() != before->getBlock())
        continue;
      if (user->isBeforeInBlock(before)) {
        user->moveAfter(last);
        last = user;
      }
      open.push_back(user->getResult(0));
    }
}

void Pipeline::consumerWait(OpBuilder &builder, size_t which) {
  LoadOp load = loads[which];
  auto tile = ConsumerWaitOp::create(builder, load.getLoc(), buffers[which]);
  load.getTile().replaceAllUsesWith(tile.getTile());
  moveReshapes(tile);
}

void Pipeline::consumerRelease(size_t which) {
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(lastReaders[which]);
  ConsumerReleaseOp::create(builder, loads[which].getLoc(), buffers[which]);
}

/// The number of the step `steps` steps after `index`.
static Value getLater(OpBuilder &builder, TileLoop loop, Value index,
                      int64_t steps) {
  Location loc = loop.getLoc();
  for (int64_t i = 0; i < steps; ++i)
    index = arith::AddIOp::create(builder, loc, index, loop.getStep(builder));
  return index;
}

/// With room for several tiles, all threads meet once a step: by then, this
/// step's tiles have arrived and the previous step's have been read. The first
/// product doesn't wait for the loads that start in this step, and these loads,
/// in another block than the product, can't crowd its registers.
void Pipeline::applyAhead(int64_t stages) {
  auto all = llvm::to_vector(llvm::seq<size_t>(0, loads.size()));
  OpBuilder before(loop.getOperation());
  for (int64_t step = 0; step + 1 < stages; ++step)
    fillIfAny(before, all, getLater(before, loop, loop.getFirst(), step));
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  for (size_t each : all) {
    consumerWait(builder, each);
    consumerRelease(each);
  }
  // The loads start behind the release.
  builder.setInsertionPointAfter(lastReaders.front()->getNextNode());
  fillIfAny(builder, all, getLater(builder, loop, loop.getIndex(), stages - 1));
}

/// With room for one tile of each kind, a tile's load runs from the time when
/// its place has been read until the tile itself is read. The last tile is
/// loaded in the same step, the others in the step before.
void Pipeline::applyInPlace() {
  size_t last = loads.size() - 1;
  auto first = llvm::to_vector(llvm::seq<size_t>(0, std::max<size_t>(last, 1)));
  OpBuilder before(loop.getOperation());
  fillIfAny(before, first, loop.getFirst());
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  consumerWait(builder, 0);
  consumerRelease(0);
  if (last > 0)
    producerLoad(builder, last, loop.getIndex());
  for (size_t each = 0; each <= last; ++each) {
    // The loads start behind the barrier that says that the previous tile has
    // been read.
    builder.setInsertionPointAfter(lastReaders[each]->getNextNode());
    if (each < last) {
      consumerWait(builder, each + 1);
      consumerRelease(each + 1);
    }
    if (each < last || last == 0)
      fillIfAny(builder, each, getLater(builder, loop, loop.getIndex(), 1));
  }
}

/// Whether the last reader of each tile comes before the first reader of the
/// next tile.
static bool areApart(ArrayRef<Operation *> firstReaders,
                     ArrayRef<Operation *> lastReaders) {
  for (size_t i = 0; i + 1 < firstReaders.size(); ++i)
    if (!lastReaders[i]->isBeforeInBlock(firstReaders[i + 1]))
      return false;
  return true;
}

void Pipeline::apply(int64_t stages) {
  if (stages == 1 && !areApart(firstReaders, lastReaders))
    return kLoadRemarks.missed(loop.getOperation(),
                               "shared memory has room for one step's tiles, "
                               "and they are read side by side");
  kLoadRemarks.passed(loop.getOperation(),
                      "tiles of a step that are loaded ahead: " +
                          Twine(loads.size()) + "; stages: " + Twine(stages));
  OpBuilder builder(loop.getOperation());
  for (LoadOp load : loads) {
    auto tile = cast<RankedTensorType>(load.getTile().getType());
    buffers.push_back(CircularBufferOp::create(
        builder, load.getLoc(),
        CircularBufferType::get(loop->getContext(), stages, tile)));
  }
  if (stages == 1)
    applyInPlace();
  else
    applyAhead(stages);
  for (LoadOp load : loads)
    load.erase();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Most bytes of shared memory that the program has beside the tiles of loops:
/// loads, and one tile at a time on its way between threads.
static int64_t getOtherBytes(ProgramOp program) {
  int64_t loaded = 0, greatest = 0;
  program.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      auto tile = dyn_cast<RankedTensorType>(type);
      if (!tile)
        continue;
      if (isa<LoadOp, ConvertLayoutOp>(op) && getSharedLayout(tile))
        loaded += getPlaceBytes(tile);
      bool isMoved = isa<ConvertLayoutOp, ReduceOp, ExchangeOp, ShiftOp>(op);
      if (isMoved)
        for (Value operand : op->getOperands())
          if (auto from = dyn_cast<RankedTensorType>(operand.getType());
              from && !isa_and_present<MmaLayoutAttr>(from.getEncoding()))
            greatest = std::max(greatest, getPlaceBytes(from));
      if (auto dot = dyn_cast<DotOp>(op))
        if (dot.getVisible() || dot.getLhs().getType().getElementType().isF32())
          greatest = std::max(greatest, getPlaceBytes(cast<RankedTensorType>(
                                            dot.getLhs().getType())));
    }
  });
  return loaded + 2 * greatest;
}

namespace {

struct PipelineLoads
    : nsacc::nsatile::impl::NSATilePipelineLoadsBase<PipelineLoads> {
  using NSATilePipelineLoadsBase::NSATilePipelineLoadsBase;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    ScheduleAttr schedule = program.getScheduleAttr();
    StringRef reason = schedule ? "" : "it has no schedule";
    program.walk([&](Operation *op) {
      if (isa<WarpSpecializeOp, CircularBufferOp>(op))
        reason = "its tiles go through circular buffers already";
      else if (isa<RepairOp>(op))
        reason = "it repairs what another program computes, which is rare";
    });
    if (!reason.empty())
      return kLoadRemarks.missed(program, reason);
    std::vector<Pipeline> pipelines;
    int64_t bytes = 0;
    program.walk([&](Operation *op) {
      TileLoop loop(op);
      if (!loop)
        return;
      Pipeline pipeline(loop);
      if (!pipeline.find())
        return;
      bytes += pipeline.getBytes();
      pipelines.push_back(std::move(pipeline));
    });
    if (pipelines.empty())
      return;
    int64_t room = getSharedBytesOfBlock(program, sharedBytes);
    int64_t stages = schedule.getStages();
    // Two stages, the usual number, become one where there is no room.
    if (stages == 2 && bytes > room - getOtherBytes(program))
      stages = 1;
    // The lowering reports more stages than there is room for. One too many is
    // enough for that.
    stages = std::min(stages, std::max<int64_t>(room / bytes, 1) + 1);
    for (Pipeline &pipeline : pipelines)
      pipeline.apply(stages);
  }
};

} // namespace
