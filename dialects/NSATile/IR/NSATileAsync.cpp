//===- NSATileAsync.cpp - Circular buffers, products in flight ------------===//

#include "NSATile/IR/NSATileOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc::nsatile;

/// `2x64xbf16`, or `bf16` for a tile of no dimensions.
static ParseResult parsePlaceShape(AsmParser &parser,
                                   SmallVector<int64_t> &shape, Type &element) {
  return failure(parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
                 parser.parseType(element));
}

static void printPlaceShape(AsmPrinter &printer, ArrayRef<int64_t> shape,
                            Type element) {
  for (int64_t size : shape)
    printer << size << 'x';
  printer << element;
}

#define GET_TYPEDEF_CLASSES
#include "NSATile/IR/NSATileTypes.cpp.inc"

void NSATileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "NSATile/IR/NSATileTypes.cpp.inc"
      >();
}

LogicalResult
CircularBufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                           int64_t stages, RankedTensorType tile) {
  if (stages < 1)
    return emitError() << "expected room for at least 1 tile, found " << stages;
  if (!tile.hasStaticShape())
    return emitError() << "expected tiles of static shape, found " << tile;
  return success();
}

LogicalResult ConsumerStoreOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  RankedTensorType place = getCircularBuffer().getType().getTile();
  if (tile.getShape() != place.getShape() ||
      tile.getElementType() != place.getElementType())
    return emitOpError("expected the elements of ")
           << place << ", found " << tile;
  for (Operation *user : getCircularBuffer().getUsers())
    if (isa<ProducerLoadOp>(user)) {
      InFlightDiagnostic error =
          emitOpError("expected a circular buffer that consumers fill alone");
      error.attachNote(user->getLoc()) << "a producer fills it here";
      return error;
    }
  return success();
}

/// Checks that a consumer loads nothing and a producer reads no tile.
LogicalResult WarpSpecializeOp::verifyRegions() {
  auto reject = [&](Region &region, StringRef role, auto isOther) {
    WalkResult result = region.walk([&](Operation *op) {
      if (!isOther(op))
        return WalkResult::advance();
      op->emitOpError("can't stand in the region of ")
          << role << "; it is for the other role";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  };
  if (failed(reject(getConsumers(), "consumers",
                    [](Operation *op) { return isa<ProducerLoadOp>(op); })))
    return failure();
  return reject(getProducer(), "the producer", [](Operation *op) {
    return isa<ConsumerStoreOp, ConsumerWaitOp, ConsumerReleaseOp, FragmentOp,
               DotAsyncOp, DotWaitOp, StoreOp, AccumulateOp>(op);
  });
}

/// Checks that the region's arguments are a point of a grid.
static LogicalResult verifyPoint(Operation *op) {
  TypeRange types = op->getRegion(0).getArgumentTypes();
  if (types.size() == 3 &&
      llvm::all_of(types, [](Type type) { return type.isIndex(); }))
    return success();
  return op->emitOpError("expected a region of 3 indices, found ") << types;
}

LogicalResult TilesOp::verifyRegions() { return verifyPoint(*this); }
LogicalResult RepairOp::verifyRegions() { return verifyPoint(*this); }
