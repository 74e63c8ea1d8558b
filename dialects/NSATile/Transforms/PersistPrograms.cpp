//===- PersistPrograms.cpp - Blocks that take tile after tile -------------===//

#include "Launches.h"
#include "NSATile/IR/BlocksPerSM.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/IR/SharedShape.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEPERSISTPROGRAMS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kPersistenceRemarks = {"nsatile-persist-programs",
                                                    "PersistentProgram"};

/// Whether loop bounds depend on a point's x, as they do with a causal mask.
/// Points without any row don't count: a condition selects their bounds.
static bool isUneven(TilesOp tiles) {
  llvm::SetVector<Value> numbers;
  tiles.walk([&](scf::ForOp loop) {
    numbers.insert(loop.getLowerBound());
    numbers.insert(loop.getUpperBound());
  });
  for (size_t i = 0; i < numbers.size(); ++i) {
    Operation *op = numbers[i].getDefiningOp();
    if (auto select = dyn_cast_if_present<arith::SelectOp>(op)) {
      numbers.insert(select.getTrueValue());
      numbers.insert(select.getFalseValue());
    } else if (op) {
      numbers.insert_range(op->getOperands());
    }
  }
  return numbers.contains(tiles.getBody().getArgument(0));
}

/// Whether blocks take points in sections: as the schedule says, or if columns
/// are uneven.
static bool goesInSections(TilesOp tiles) {
  ScheduleAttr schedule = tiles->getParentOfType<ProgramOp>().getScheduleAttr();
  if (schedule && schedule.getGrid() != GridOrder::Auto)
    return schedule.getGrid() == GridOrder::Sections;
  return isUneven(tiles);
}

/// Moves the producer or the consumers into `nsatile.tiles`. Program ids become
/// the points of `nsatile.tiles`.
static TilesOp wrap(Region &partition, ArrayRef<Value> extents) {
  Block &block = partition.front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  Location loc = partition.getLoc();
  auto tiles = TilesOp::create(builder, loc, extents[0], extents[1], extents[2],
                               /*sections=*/false);
  Type index = builder.getIndexType();
  Block *body = builder.createBlock(&tiles.getBody(), {}, {index, index, index},
                                    {loc, loc, loc});
  body->getOperations().splice(body->end(), block.getOperations(),
                               std::next(tiles->getIterator()), block.end());
  replaceProgramIds(tiles);
  return tiles;
}

/// Whether a program id is read outside of producer and consumers: it would be
/// the block's number there.
static bool numbersOutside(ProgramOp program) {
  return program
      .walk([](ProgramIdOp id) {
        return id->getParentOfType<WarpSpecializeOp>()
                   ? WalkResult::advance()
                   : WalkResult::interrupt();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Room for the next tile
//===----------------------------------------------------------------------===//

static int64_t getBytes(CircularBufferType buffer) {
  return buffer.getStages() * SharedShape::get(buffer.getTile()).bytes;
}

/// Bytes of shared memory that consumers write: 16-bit results on their way to
/// memory, and operands of products.
static int64_t getConsumerBytes(ProgramOp program) {
  constexpr int64_t swizzle = 128;
  int64_t bytes = 0;
  program.walk([&](StoreOp store) {
    auto tile = cast<RankedTensorType>(store.getTile().getType());
    if (tile.getRank() >= 2 && tile.getElementType().isIntOrFloat() &&
        tile.getElementTypeBitWidth() == 16)
      bytes += SharedShape::get(tile.getShape(), tile.getElementType(), swizzle)
                   .bytes;
  });
  program.walk([&](ConvertLayoutOp convert) {
    auto tile = cast<RankedTensorType>(convert.getResult().getType());
    if (isa_and_present<SharedLayoutAttr>(tile.getEncoding()))
      bytes += SharedShape::get(tile).bytes;
  });
  return bytes;
}

/// Gives circular buffers of query tiles the schedule's number of stages, or a
/// second stage if there is room. Returns the number of circular buffers that
/// got more.
static int64_t deepenCircularBuffers(ProgramOp program, int64_t sharedBytes) {
  ScheduleAttr schedule = program.getScheduleAttr();
  int64_t given = schedule ? schedule.getQueryStages() : 0;
  // Room for barriers.
  constexpr int64_t slack = 1024;
  int64_t left = sharedBytes - slack - getConsumerBytes(program);
  auto buffers =
      llvm::to_vector(program.getBody().front().getOps<CircularBufferOp>());
  for (CircularBufferOp buffer : buffers)
    left -= getBytes(buffer.getCircularBuffer().getType());
  int64_t count = 0;
  for (CircularBufferOp buffer : buffers) {
    CircularBufferType type = buffer.getCircularBuffer().getType();
    if (type.getStages() != 1 || given == 1 ||
        (given == 0 && getBytes(type) > left))
      continue;
    left -= getBytes(type);
    buffer.getCircularBuffer().setType(CircularBufferType::get(
        type.getContext(), given == 0 ? 2 : given, type.getTile()));
    ++count;
  }
  return count;
}

/// Reason why blocks can't take tile after tile; empty if they can.
static StringRef explainNotPersistent(ProgramOp program) {
  auto specialized = program.getBody().front().getOps<WarpSpecializeOp>();
  if (specialized.empty())
    return "it isn't warp-specialized";
  if (findLaunches(program).empty())
    return "nothing launches it";
  if (numbersOutside(program))
    return "its number is read outside of its producer and consumers";
  if (!(*specialized.begin()).getConsumers().getOps<TilesOp>().empty())
    return "its blocks take tile after tile already";
  return "";
}

namespace {

struct PersistPrograms
    : nsacc::nsatile::impl::NSATilePersistProgramsBase<PersistPrograms> {
  using NSATilePersistProgramsBase::NSATilePersistProgramsBase;

  void runOnOperation() override {
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      if (StringRef reason = explainNotPersistent(program); !reason.empty()) {
        kPersistenceRemarks.missed(program, reason);
        continue;
      }
      WarpSpecializeOp op =
          *program.getBody().front().getOps<WarpSpecializeOp>().begin();
      SmallVector<Value> extents =
          addArguments(program, findLaunches(program), getGrid);
      TilesOp consumers = wrap(op.getConsumers(), extents);
      TilesOp producer = wrap(op.getProducer(), extents);
      bool inSections = goesInSections(producer);
      consumers.setSections(inSections);
      producer.setSections(inSections);
      int64_t count = deepenCircularBuffers(
          program, getSharedBytesOfBlock(program, sharedBytes));
      kPersistenceRemarks.passed(
          program,
          Twine("blocks take tile after tile, ") +
              (inSections ? "heads in sections" : "one head after the other") +
              "; circular buffers with more stages for the next "
              "one's: " +
              Twine(count));
    }
  }
};

} // namespace
