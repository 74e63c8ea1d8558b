//===- SpecializeWarps.cpp - A producer that loads, consumers that compute ===//

#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/NSATileUses.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/IR/SharedShape.h"
#include "NSATile/IR/TileLoop.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILESPECIALIZEWARPS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kSpecializeRemarks = {"nsatile-specialize-warps",
                                                   "WarpSpecialized"};

//===----------------------------------------------------------------------===//
// Tiles that a producer can load
//===----------------------------------------------------------------------===//

/// Reason why no bulk tensor copy can load the matrix; empty if one can.
static StringRef explainNoBulkCopy(LoadOp load) {
  auto tile = cast<RankedTensorType>(load.getTile().getType());
  AtOp at = load.getAt();
  auto buffer = cast<MemRefType>(at.getBuffer().getType());
  constexpr int64_t rowMultiple = 8;
  if (tile.getElementTypeBitWidth() != 16)
    return "its elements don't have 16 bits";
  if (SharedShape::get(tile).swizzle != 128)
    return "its layout in shared memory has no swizzle of 128 bytes";
  if (buffer.getShape().back() % rowMultiple != 0)
    return "the size of the buffer's rows isn't a multiple of 8";
  if (at.getDims().back() != buffer.getRank() - 1)
    return "its rows aren't rows of the buffer";
  if (!llvm::is_sorted(at.getDims()))
    return "its dimensions aren't in the buffer's order";
  if (at.getStep(tile.getRank() - 1) != 1)
    return "it takes every other column";
  for (auto [dim, size] : llvm::enumerate(tile.getShape().drop_back()))
    if (int64_t step = at.getStep(dim); !isBoxSize(size, step))
      return step == 1 ? "it has more than 256 rows"
                       : "it reaches over more than 256 rows, or takes less "
                         "than every eighth";
  auto [strides, offset] = buffer.getStridesAndOffset();
  return strides.back() == 1 ? "" : "the buffer's rows aren't contiguous";
}

/// Whether `value` is computed from arguments, loop counters and buffers.
static bool isKnownToProducer(Value value) {
  return !walkSources(value, [](Value source) {
            auto argument = dyn_cast<BlockArgument>(source);
            if (!argument)
              return isScalarCode(source.getDefiningOp())
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            Operation *parent = argument.getOwner()->getParentOp();
            TileLoop loop(parent);
            return isa<ProgramOp>(parent) ||
                           (loop && argument == loop.getIndex())
                       ? WalkResult::skip()
                       : WalkResult::interrupt();
          }).wasInterrupted();
}

/// Whether a producer knows if and how often `op` runs.
static bool isReachedByProducer(Operation *op) {
  for (Operation *parent = op->getParentOp(); !isa<ProgramOp>(parent);
       parent = parent->getParentOp()) {
    if (TileLoop loop(parent); loop) {
      auto step = dyn_cast<scf::ForOp>(parent);
      if (!isKnownToProducer(loop.getFirst()) ||
          !isKnownToProducer(loop.getEnd()) ||
          (step && !isKnownToProducer(step.getStep())))
        return false;
    } else if (auto branch = dyn_cast<scf::IfOp>(parent)) {
      if (!isKnownToProducer(branch.getCondition()))
        return false;
    } else {
      return false;
    }
  }
  return true;
}

static bool isReadByProduct(LoadOp load) {
  if (load->hasAttr(kAheadAttrName))
    return true;
  SmallVector<Value> open = {load.getTile()};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<DotOp>(user))
        return true;
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        open.push_back(reshape.getResult());
    }
  return false;
}

/// Reason why a producer's warps can't copy the tile; empty if they can.
static StringRef explainNoCopy(LoadOp load) {
  AtOp at = load.getAt();
  if (!isa<BlockArgument>(at.getBuffer()))
    return "its buffer isn't an argument of the program";
  if (at.isListed() &&
      (!isa<BlockArgument>(at.getList()) || isStoredTo(at.getList())))
    return "the program may write the list of its rows";
  if (!load->hasAttr(kAheadAttrName) ||
      !isSharedVector(cast<RankedTensorType>(load.getTile().getType())))
    return explainNoBulkCopy(load);
  return isStoredTo(at.getBuffer()) ? "the program writes its buffer" : "";
}

/// Reason why the producer can't load the tile; empty if it can.
static StringRef explainNoProducer(LoadOp load) {
  if (StringRef reason = explainNoCopy(load); !reason.empty())
    return reason;
  if (!isReachedByProducer(load))
    return "a loop or a branch around it depends on tiles";
  return isKnownToProducer(load.getPlace()) ? "" : "its place depends on tiles";
}

//===----------------------------------------------------------------------===//
// The split
//===----------------------------------------------------------------------===//

namespace {

class Specializer {
public:
  Specializer(ProgramOp program, int64_t warps, int64_t stages)
      : program(program), warps(warps), stages(stages) {}

  void run();

private:
  StringRef collectLoads();
  StringRef explainUnfitProduct();
  void createCircularBuffers(OpBuilder &builder);
  void cloneForProducer(Block &from, OpBuilder &builder, IRMapping &mapping);
  bool isProducers(Value value, const IRMapping &mapping);
  void consume(LoadOp load);
  bool containsStaged(Operation *op) const;

  ProgramOp program;
  int64_t warps, stages;
  Region *consumers = nullptr;
  /// The producer's loads, and the circular buffers that they go through.
  llvm::MapVector<LoadOp, Value> buffers;
};

struct SpecializeWarps
    : nsacc::nsatile::impl::NSATileSpecializeWarpsBase<SpecializeWarps> {
  void runOnOperation() override;
};

} // namespace

/// Fills `buffers`. Returns the reason if nothing can be loaded ahead, else an
/// empty string.
StringRef Specializer::collectLoads() {
  bool inLoop = false;
  program.walk<WalkOrder::PreOrder>([&](LoadOp load) {
    if (StringRef reason = explainNoProducer(load); !reason.empty()) {
      if (isReadByProduct(load))
        kSpecializeRemarks.missed(
            load, "the tile isn't loaded by a producer: " + reason);
      return;
    }
    buffers[load] = Value();
    inLoop |= static_cast<bool>(load->getParentOfType<LoopLikeOpInterface>());
  });
  if (buffers.empty())
    return "a producer can load none of its tiles";
  return inLoop ? "" : "without a loop there is nothing to load ahead";
}

/// Reason why a product can't be in flight; empty if all can. Products in
/// flight can't check visibility. They also take 16 inner elements at a time:
/// no bulk copy writes the part of the last 16 that is beyond the tile, and 0
/// times its contents may be NaN.
StringRef Specializer::explainUnfitProduct() {
  constexpr int64_t innerStep = 16;
  StringRef reason;
  program.walk([&](DotOp dot) {
    auto isStaged = [&](Value operand) {
      while (auto reshape = operand.getDefiningOp<ReshapeOp>())
        operand = reshape.getSource();
      auto load = operand.getDefiningOp<LoadOp>();
      return load && buffers.contains(load);
    };
    // Inner elements of other operands are columns.
    bool readsRows = (dot.getTransposeLhs() && isStaged(dot.getLhs())) ||
                     (!dot.getTransposeRhs() && isStaged(dot.getRhs()));
    if (dot.getVisible() && isStaged(dot.getRhs()))
      reason = "a product looks at which pairs are visible";
    else if (readsRows && dot.getInner() % innerStep != 0)
      reason = "the inner size of a product isn't a multiple of 16";
    return reason.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return reason;
}

/// Creates the circular buffers. Loads of one type in the same block go through
/// different buffers; loads of different blocks share them.
void Specializer::createCircularBuffers(OpBuilder &builder) {
  llvm::DenseMap<std::pair<Block *, Type>, unsigned> counts;
  llvm::MapVector<std::pair<Type, unsigned>, Value> created;
  for (auto &[load, buffer] : buffers) {
    bool inLoop =
        static_cast<bool>(load->getParentOfType<LoopLikeOpInterface>());
    auto type = CircularBufferType::getChecked(
        [&] { return load.emitError(); }, load.getContext(),
        inLoop ? stages : 1, cast<RankedTensorType>(load.getTile().getType()));
    unsigned number = counts[{load->getBlock(), type}]++;
    Value &shared = created[{type, number}];
    if (!shared)
      shared = CircularBufferOp::create(builder, load.getLoc(), type);
    buffer = shared;
  }
}

bool Specializer::containsStaged(Operation *op) const {
  return llvm::any_of(buffers,
                      [&](auto &entry) { return op->isAncestor(entry.first); });
}

/// Whether the producer has a copy of the value, or it is defined outside of
/// both regions. Scalars that come from a tile, like elements of tables, belong
/// to the consumers.
bool Specializer::isProducers(Value value, const IRMapping &mapping) {
  return mapping.contains(value) ||
         !consumers->isAncestor(value.getParentRegion());
}

void Specializer::cloneForProducer(Block &from, OpBuilder &builder,
                                   IRMapping &mapping) {
  for (Operation &op : from) {
    Location loc = op.getLoc();
    auto lookup = [&](Value value) { return mapping.lookupOrDefault(value); };
    auto load = dyn_cast<LoadOp>(op);
    if (load && buffers.contains(load)) {
      ProducerLoadOp::create(builder, loc, buffers.lookup(load),
                             lookup(load.getPlace()));
    } else if (isScalarCode(&op) &&
               llvm::all_of(op.getOperands(), [&](Value operand) {
                 return isProducers(operand, mapping);
               })) {
      builder.clone(op, mapping);
    } else if (TileLoop loop(&op); loop && containsStaged(&op)) {
      loop.createBare(builder, mapping,
                      [&](OpBuilder &nested, IRMapping &, Value index,
                          ValueRange) -> SmallVector<Value> {
                        mapping.map(loop.getIndex(), index);
                        cloneForProducer(*loop.getBody(), nested, mapping);
                        return {};
                      });
    } else if (auto branch = dyn_cast<scf::IfOp>(op);
               branch && containsStaged(branch)) {
      auto copy = scf::IfOp::create(builder, loc, TypeRange(),
                                    lookup(branch.getCondition()),
                                    /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
      for (auto [region, into] :
           llvm::zip(branch->getRegions(), copy->getRegions())) {
        OpBuilder nested = OpBuilder::atBlockBegin(&into.front());
        if (!region.empty())
          cloneForProducer(region.front(), nested, mapping);
        scf::YieldOp::create(nested, loc);
      }
    }
  }
}

/// The last op of `value`'s block that reads it or a reshape of it.
static Operation *findLastReader(Value value) {
  Operation *last = value.getDefiningOp();
  Block *block = last->getBlock();
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        open.push_back(reshape.getResult());
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (last->isBeforeInBlock(ancestor))
        last = ancestor;
    }
  }
  return last;
}

void Specializer::consume(LoadOp load) {
  Value buffer = buffers.lookup(load);
  OpBuilder builder(load);
  auto wait = ConsumerWaitOp::create(builder, load.getLoc(), buffer);
  load.getTile().replaceAllUsesWith(wait.getTile());
  builder.setInsertionPointAfter(findLastReader(wait.getTile()));
  ConsumerReleaseOp::create(builder, load.getLoc(), buffer);
}

void Specializer::run() {
  StringRef reason = collectLoads();
  if (reason.empty())
    reason = explainUnfitProduct();
  if (!reason.empty())
    return kSpecializeRemarks.missed(program, reason);
  kSpecializeRemarks.passed(program, "tiles that a producer loads for " +
                                         Twine(warps) +
                                         " warps: " + Twine(buffers.size()));
  Block &body = program.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  createCircularBuffers(builder);
  auto specialized = WarpSpecializeOp::create(builder, program.getLoc(), warps);
  consumers = &specialized.getConsumers();
  Block *consumer = builder.createBlock(consumers);
  Block *producer = builder.createBlock(&specialized.getProducer());
  consumer->getOperations().splice(consumer->end(), body.getOperations(),
                                   std::next(specialized->getIterator()),
                                   std::prev(body.end()));
  IRMapping mapping;
  OpBuilder producing = OpBuilder::atBlockBegin(producer);
  cloneForProducer(*consumer, producing, mapping);
  for (auto &[load, buffer] : buffers) {
    consume(load);
    load.erase();
  }
}

/// Number of warps that products are split over; 0 if there are no products.
static int64_t findWarps(ProgramOp program) {
  int64_t warps = 0;
  program.walk([&](DotOp dot) {
    auto type = cast<RankedTensorType>(dot.getResult().getType());
    if (auto layout = dyn_cast_if_present<MmaLayoutAttr>(type.getEncoding()))
      warps = layout.getWarps();
  });
  return warps;
}

void SpecializeWarps::runOnOperation() {
  for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
    ScheduleAttr schedule = program.getScheduleAttr();
    int64_t warps = findWarps(program);
    if (!program.getBody().front().getOps<RepairOp>().empty())
      kSpecializeRemarks.missed(program,
                                "it repairs what another program computes: "
                                "tiles say whether it loads anything, and "
                                "its products look at each pair");
    else if (!schedule || schedule.getWarps() == 0)
      kSpecializeRemarks.missed(program, "its schedule names no warps");
    else if (warps == 0)
      kSpecializeRemarks.missed(program, "no product is split over warps");
    // Products in flight belong to whole warpgroups.
    else if (warps % 4 != 0)
      kSpecializeRemarks.missed(program,
                                "the " + Twine(warps) +
                                    " warps of its products aren't warpgroups");
    else
      Specializer(program, warps, schedule.getStages()).run();
  }
}
