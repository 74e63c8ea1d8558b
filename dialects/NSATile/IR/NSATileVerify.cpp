//===- NSATileVerify.cpp - Verifiers of nsatile ops -----------------------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/WarpRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

using namespace mlir;
using namespace nsacc::nsatile;

//===----------------------------------------------------------------------===//
// Programs and plans
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  if (!getResultTypes().empty())
    return emitOpError("returns nothing; store results into a buffer argument");
  ScheduleAttr schedule = getScheduleAttr();
  if (schedule && (schedule.getTokens() == 0 || schedule.getTileColumns() == 0))
    return emitOpError("needs tokens, and keys or blocks, in its schedule, "
                       "found ")
           << schedule;
  return success();
}

LogicalResult PlanOp::verifyRegions() {
  if (!getResultTypes().empty())
    return emitOpError("returns nothing; results are buffer arguments");
  for (Operation &op : getBody().front()) {
    if (isa<arith::ArithDialect>(op.getDialect()) ||
        isa<memref::DimOp, WorkspaceOp, RepeatOp, LaunchOp, ReturnOp>(op))
      continue;
    InFlightDiagnostic error = op.emitOpError("can't stand in a launch plan");
    error.attachNote(getLoc()) << "a plan holds sizes of buffers, integer "
                                  "arithmetic, workspace and launches";
    return error;
  }
  return success();
}

LogicalResult WorkspaceOp::verify() {
  auto type = cast<MemRefType>(getBuffer().getType());
  if (getSizes().size() != static_cast<size_t>(type.getNumDynamicDims()))
    return emitOpError("expected a size for each of the ")
           << type.getNumDynamicDims() << " dynamic dimensions, found "
           << getSizes().size();
  return success();
}

LogicalResult RepeatOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 || !body.getArgument(0).getType().isIndex())
    return emitOpError("expected a body with one index: the number of a time");
  for (Operation &op : body) {
    if (isa<arith::ArithDialect>(op.getDialect()) || isa<LaunchOp>(op))
      continue;
    InFlightDiagnostic error = op.emitOpError("can't stand in a plan's loop");
    error.attachNote(getLoc())
        << "it holds integer arithmetic and launches; sizes of buffers and "
           "workspace stand in front";
    return error;
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto program =
      symbols.lookupNearestSymbolFrom<ProgramOp>(*this, getProgramAttr());
  if (!program)
    return emitOpError("expected the name of a program, found '")
           << getProgram() << "'";
  TypeRange expected = program.getArgumentTypes();
  if (expected == getArguments().getTypes())
    return success();
  InFlightDiagnostic error = emitOpError("expected arguments of types (")
                             << expected << "), found ("
                             << getArguments().getTypes() << ")";
  error.attachNote(program.getLoc()) << "the program stands here";
  return error;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyIndices(Operation *op, Value buffer,
                                   ValueRange indices, StringRef what) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  if (static_cast<int64_t>(indices.size()) == rank)
    return success();
  return op->emitOpError("expected an index for each of the ")
         << rank << " dimensions of the " << what << ", found "
         << indices.size();
}

/// Checks a count that is that of the tile's dimensions.
static LogicalResult verifyCount(AtOp at, size_t count, StringRef what) {
  size_t rank = at.getShape().size();
  if (count == rank)
    return success();
  return at.emitOpError("expected a ")
         << what << " for each of the " << rank
         << " dimensions of the tile, found " << count;
}

/// Checks that the tile's dimensions are different ones of the buffer.
static LogicalResult verifyDims(AtOp at, int64_t rank) {
  for (auto [index, dim] : llvm::enumerate(at.getDims())) {
    if (dim < 0 || dim >= rank)
      return at.emitOpError("expected dimensions of a buffer of rank ")
             << rank << ", found " << dim;
    if (llvm::is_contained(at.getDims().take_front(index), dim))
      return at.emitOpError("expected different buffer dimensions, found ")
             << dim << " twice";
  }
  return success();
}

static LogicalResult verifySteps(AtOp at) {
  if (at.getSteps().empty())
    return success();
  if (at.isListed())
    return at.emitOpError("expected steps or a list, found both");
  for (int64_t step : at.getSteps())
    if (step < 1)
      return at.emitOpError("expected steps of at least 1, found ") << step;
  return verifyCount(at, at.getSteps().size(), "step");
}

LogicalResult AtOp::verify() {
  auto buffer = cast<MemRefType>(getBuffer().getType());
  int64_t rank = buffer.getRank();
  if (static_cast<int64_t>(getOffsets().size()) != rank)
    return emitOpError("expected an offset for each of the ")
           << rank << " dimensions of the buffer, found "
           << getOffsets().size();
  if (failed(verifyCount(*this, getDims().size(), "buffer dimension")) ||
      failed(verifyCount(*this, getLimits().size(), "limit")) ||
      failed(verifyDims(*this, rank)) || failed(verifySteps(*this)))
    return failure();
  constexpr int64_t mostElements = int64_t{1} << 31;
  std::optional<int64_t> elements = 1;
  for (int64_t size : getShape())
    elements = size < 1 || !elements ? std::nullopt
                                     : llvm::checkedMul(*elements, size);
  if (!elements || *elements > mostElements)
    return emitOpError("expected a tile of 1 to ")
           << mostElements << " elements, found " << getPlace().getType();
  if (getElementType() != buffer.getElementType())
    return emitOpError("expected a tile of the buffer's element type ")
           << buffer.getElementType() << ", found " << getElementType();
  if (!isListed())
    return success();
  if (getShape().empty())
    return emitOpError("expected a tile with rows, which a list names, found ")
           << getPlace().getType();
  return verifyIndices(*this, getList(), getEntry(), "list");
}

LogicalResult AccumulateOp::verify() {
  bool isOrdered = getTurn() != nullptr;
  if (isOrdered != getElementTypeOrSelf(getTile()).isF32()) {
    InFlightDiagnostic error =
        isOrdered ? emitOpError("expected no turn for integers: their sum is "
                                "the same in any order")
                  : emitOpError("expected a turn for f32: the sum depends on "
                                "the order of its terms");
    if (!isOrdered)
      error.attachNote() << "integers need no turn: round to multiples of a "
                            "power of two, and add these";
    return error;
  }
  return isOrdered ? verifyIndices(*this, getTurns(), getCounter(), "turns")
                   : success();
}

void GatherOp::build(OpBuilder &builder, OperationState &state, Type result,
                     Value buffer, ValueRange indices) {
  build(builder, state, result, buffer, indices, /*mask=*/Value());
}

LogicalResult LookupOp::verify() {
  return verifyIndices(*this, getBuffer(), getIndices(), "buffer");
}

/// Checks that a mask, if there is one, has a tile's shape.
template <typename OpTy>
static LogicalResult verifyMask(OpTy op, RankedTensorType tile) {
  if (!op.getMask())
    return success();
  auto type = cast<RankedTensorType>(op.getMask().getType());
  if (type.getShape() == tile.getShape())
    return success();
  return op.emitOpError("expected a mask of the shape of ")
         << tile << ", found " << type;
}

/// Checks ops that access an element of a buffer for each element of a tile.
template <typename OpTy>
static LogicalResult verifyElements(OpTy op, RankedTensorType tile) {
  auto buffer = cast<MemRefType>(op.getBuffer().getType());
  if (failed(verifyIndices(op, op.getBuffer(), op.getIndices(), "buffer")))
    return failure();
  for (Value index : op.getIndices()) {
    auto type = cast<RankedTensorType>(index.getType());
    if (!type.getElementType().isIndex() || type.getShape() != tile.getShape())
      return op.emitOpError("expected indices of the shape of ")
             << tile << ", found " << type;
  }
  if (tile.getElementType() != buffer.getElementType())
    return op.emitOpError("expected a tile of the buffer's element type ")
           << buffer.getElementType() << ", found " << tile.getElementType();
  return verifyMask(op, tile);
}

LogicalResult GatherOp::verify() {
  return verifyElements(*this, cast<RankedTensorType>(getResult().getType()));
}

LogicalResult ScatterOp::verify() {
  auto type = cast<RankedTensorType>(getValues().getType());
  if (getKind() != Combine::Set && !type.getElementType().isInteger(32))
    return emitOpError("expected integers of 32 bits to combine, found ")
           << type.getElementType() << "; sums of others depend on their order";
  return verifyElements(*this, type);
}

LogicalResult EnumerateOp::verify() {
  if (getCounters().getType().getRank() != 1)
    return emitOpError("expected counters in one dimension, found ")
           << getCounters().getType();
  return verifyMask(*this, cast<RankedTensorType>(getNumbers().getType()));
}

LogicalResult ScanOp::verify() {
  if (!cast<RankedTensorType>(getSource().getType()).hasStaticShape())
    return emitOpError("expected a tile of static shape, found ")
           << getSource().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// The first `{n}` of a message behind the last of `count` values.
static std::optional<StringRef> findUnknownValue(StringRef message,
                                                 unsigned count) {
  while (true) {
    message = message.drop_front(std::min(message.find('{'), message.size()));
    if (message.empty())
      return std::nullopt;
    StringRef name = message.drop_front().take_until(
        [](char letter) { return letter == '}'; });
    unsigned index;
    if (name.getAsInteger(10, index) || index >= count)
      return name;
    message = message.drop_front(name.size() + 1);
  }
}

LogicalResult AssertOp::verify() {
  if (getValues().size() > maxValues)
    return emitOpError("expected at most ")
           << maxValues << " values, found " << getValues().size();
  if (std::optional<StringRef> unknown =
          findUnknownValue(getMessage(), getValues().size()))
    return emitOpError("expected the message to name values 0 to ")
           << getValues().size() << " - 1 in braces, found '{" << *unknown
           << "}'";
  auto tile = dyn_cast<RankedTensorType>(getCondition().getType());
  for (Value value : getValues()) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && (!tile || type.getShape() != tile.getShape()))
      return emitOpError("expected values of the condition's shape, found ")
             << type << " for " << getCondition().getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  if (!cast<RankedTensorType>(getResult().getType()).hasStaticShape())
    return emitOpError("expected a tile of static shape, found ")
           << getResult().getType();
  return success();
}

LogicalResult RowRangeOp::verify() {
  if (std::optional<int64_t> groups = getGroups();
      groups && static_cast<int64_t>(getSize()) % *groups != 0)
    return emitOpError("expected equal shares, found ")
           << getSize() << " positions for " << *groups << " warpgroups";
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(result.getShape()))
    if (!llvm::is_contained(getDims(), static_cast<int64_t>(dim)))
      kept.push_back(size);
  for (int64_t dim : getDims())
    if (dim < 0 || dim >= result.getRank())
      return emitOpError("expected dimensions of a result of rank ")
             << result.getRank() << ", found " << dim;
  if (source.getShape() != ArrayRef(kept) ||
      source.getElementType() != result.getElementType())
    return emitOpError("expected the source to be the result without "
                       "dimensions [")
           << getDims() << "], found " << source << " and " << result;
  return success();
}

LogicalResult ReduceOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  int64_t dim = getDim();
  if (dim < 0 || dim >= source.getRank())
    return emitOpError("expected a dimension of a tile of rank ")
           << source.getRank() << ", found " << dim;
  SmallVector<int64_t> kept(source.getShape());
  kept.erase(kept.begin() + dim);
  if (result.getShape() != ArrayRef(kept))
    return emitOpError("expected the source without dimension ")
           << dim << ", found " << result;
  return success();
}

/// Checks that all products share, in flight or not.
template <typename OpTy>
static LogicalResult verifyProduct(OpTy op, RankedTensorType result) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  auto rhs = cast<RankedTensorType>(op.getRhs().getType());
  if (!lhs.hasStaticShape() || !rhs.hasStaticShape() ||
      !result.hasStaticShape())
    return op.emitOpError("expected tiles of static shape");
  int64_t inner = rhs.getDimSize(op.getTransposeRhs() ? 1 : 0);
  int64_t columns = rhs.getDimSize(op.getTransposeRhs() ? 0 : 1);
  int64_t rows = lhs.getDimSize(op.getTransposeLhs() ? 1 : 0);
  if (lhs.getDimSize(op.getTransposeLhs() ? 0 : 1) != inner)
    return op.emitOpError("expected operands with equal inner sizes, found ")
           << lhs << (op.getTransposeLhs() ? " transposed" : "") << " and "
           << rhs << (op.getTransposeRhs() ? " transposed" : "");
  if (result.getDimSize(0) != rows || result.getDimSize(1) != columns)
    return op.emitOpError("expected a result of ")
           << rows << "x" << columns << ", found " << result;
  if (op.getAcc() && op.getAcc().getType() != result)
    return op.emitOpError("expected an accumulator of the result's type ")
           << result << ", found " << op.getAcc().getType();
  return success();
}

/// Checks the first columns of a matrix in shared memory, which tensor cores
/// read.
static LogicalResult verifyFragment(Operation *op, RankedTensorType source,
                                    RankedTensorType fragment) {
  if (!source.hasStaticShape() || !fragment.hasStaticShape())
    return op->emitOpError("expected tiles of static shape");
  if (!isa_and_present<SharedLayoutAttr>(source.getEncoding()))
    return op->emitOpError("expected a source in shared memory, found ")
           << source;
  bool isLeft = isa_and_present<MmaLayoutAttr>(fragment.getEncoding()) &&
                fragment.getElementTypeBitWidth() == 16;
  int64_t columns = fragment.getDimSize(1);
  if (!isLeft || fragment.getElementType() != source.getElementType() ||
      fragment.getDimSize(0) != source.getDimSize(0) ||
      columns > source.getDimSize(1) || columns % 16 != 0)
    return op->emitOpError("expected a fragment of ")
           << source.getDimSize(0)
           << " rows and a multiple of 16 columns of 16-bit elements, up to "
           << source.getDimSize(1) << ", in a layout 'mma', found " << fragment;
  return success();
}

LogicalResult FragmentOp::verify() {
  return verifyFragment(*this, cast<RankedTensorType>(getSource().getType()),
                        cast<RankedTensorType>(getResult().getType()));
}

LogicalResult DotAsyncOp::verify() {
  if (getAdds() && !getAcc())
    return emitOpError("expected an accumulator for 'if'");
  RankedTensorType result = getResult().getType().getTile();
  auto shared = dyn_cast_if_present<SharedLayoutAttr>(
      cast<RankedTensorType>(getLhs().getType()).getEncoding());
  if (getTransposeLhs() && (!shared || shared.getSwizzle() != 128))
    return emitOpError("expected a transposed left operand in shared memory, "
                       "with a swizzle of 128 bytes, found ")
           << getLhs().getType();
  if (getTransposeLhs() && getHead())
    return emitOpError("expected no head of a transposed left operand");
  if (getHead()) {
    auto head = cast<RankedTensorType>(getHead().getType());
    if (failed(verifyFragment(*this, cast<RankedTensorType>(getLhs().getType()),
                              head)))
      return failure();
    if (head.getEncoding() != result.getEncoding())
      return emitOpError("expected a head in the result's layout ")
             << result.getEncoding() << ", found " << head;
  }
  return verifyProduct(*this, result);
}

LogicalResult DotOp::verify() {
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  if (failed(
          verifyProduct(*this, cast<RankedTensorType>(getResult().getType()))))
    return failure();
  if (!getVisible())
    return success();
  if (getTransposeRhs() || getTransposeLhs())
    return emitOpError("expected operands that aren't transposed where rows "
                       "see parts of them");
  if (getVisible().getType().getShape() != lhs.getShape())
    return emitOpError("expected visibility for each element of the left "
                       "operand ")
           << lhs << ", found " << getVisible().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

LogicalResult ConvertLayoutOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (source.getShape() != result.getShape() ||
      source.getElementType() != result.getElementType())
    return emitOpError("expected tiles of one shape and element type, found ")
           << source << " and " << result;
  if (!source.getEncoding() || !result.getEncoding())
    return emitOpError("expected tiles with layouts, found ")
           << source << " and " << result;
  return success();
}

/// The shape and the layout under reshapes.
static std::pair<ArrayRef<int64_t>, Attribute> resolve(RankedTensorType type) {
  if (auto reshape = dyn_cast_if_present<ReshapeLayoutAttr>(type.getEncoding()))
    return {reshape.getAs(), reshape.getOf()};
  return {type.getShape(), type.getEncoding()};
}

LogicalResult ReshapeOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (source.getNumElements() != result.getNumElements() ||
      source.getElementType() != result.getElementType())
    return emitOpError("expected as many elements of one type, found ")
           << source << " and " << result;
  Attribute from = source.getEncoding(), to = result.getEncoding();
  bool isRowMajor = from == to && (!from || isa<BlockedLayoutAttr>(from));
  if (!isRowMajor && resolve(source) != resolve(result))
    return emitOpError("expected one layout to be #nsatile.reshape of the "
                       "other, so that no element moves; found ")
           << source << " and " << result
           << "; change the layout first, with nsatile.convert_layout";
  return success();
}

//===----------------------------------------------------------------------===//
// Online softmax
//===----------------------------------------------------------------------===//

/// Sums are rows like maxima, but may be partial.
static LogicalResult verifySums(Operation *op, Type max, Type sum) {
  auto maxType = cast<RankedTensorType>(max);
  auto sumType = cast<RankedTensorType>(sum);
  Attribute layout = sumType.getEncoding();
  if (auto partial = dyn_cast_if_present<PartialLayoutAttr>(layout))
    layout = partial.getOf();
  if (maxType.getShape() == sumType.getShape() &&
      maxType.getEncoding() == layout)
    return success();
  return op->emitOpError("expected sums of the type of maxima ")
         << max << ", or partial ones, found " << sum;
}

static LogicalResult verifyRows(Operation *op, Type rows, Type matrix) {
  auto rowsType = cast<RankedTensorType>(rows);
  auto matrixType = cast<RankedTensorType>(matrix);
  if (!rowsType.hasStaticShape() || !matrixType.hasStaticShape())
    return op->emitOpError("expected tiles of static shape");
  if (rowsType.getDimSize(0) != matrixType.getDimSize(0))
    return op->emitOpError("expected one state for each of the ")
           << matrixType.getDimSize(0) << " rows, found "
           << rowsType.getDimSize(0);
  return success();
}

LogicalResult SoftmaxUpdateOp::verify() {
  if (failed(verifySums(*this, getMax().getType(), getSum().getType())))
    return failure();
  Type rows = cast<RankedTensorType>(getMax().getType())
                  .clone(IntegerType::get(getContext(), 1));
  if (getRows() && getRows().getType() != rows)
    return emitOpError("expected rows of type ")
           << rows << ", found " << getRows().getType();
  return verifyRows(*this, getMax().getType(), getScores().getType());
}

LogicalResult SoftmaxFinalizeOp::verify() {
  if (failed(verifySums(*this, getMax().getType(), getSum().getType())))
    return failure();
  return verifyRows(*this, getMax().getType(), getAcc().getType());
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

LogicalResult SortOp::verify() {
  if (!cast<RankedTensorType>(getKeys().getType()).hasStaticShape())
    return emitOpError("expected keys of static shape, found ")
           << getKeys().getType();
  return success();
}

LogicalResult TopOp::verify() {
  auto list = cast<RankedTensorType>(getList().getType());
  auto candidates = cast<RankedTensorType>(getCandidates().getType());
  if (!list.hasStaticShape() || !candidates.hasStaticShape())
    return emitOpError("expected tiles of static shape");
  if (list.getDimSize(0) != candidates.getDimSize(0))
    return emitOpError("expected candidates for each of the ")
           << list.getDimSize(0) << " lists, found rows for "
           << candidates.getDimSize(0);
  if (!getInsert())
    return success();
  if (list.getDimSize(1) != kWarpSize)
    return emitOpError("expected a column for each of a warp's ")
           << kWarpSize << " lanes to insert, found " << list;
  if (int64_t columns = candidates.getDimSize(1);
      columns == 0 || columns % kWarpSize != 0)
    return emitOpError("expected as many candidates for each of a warp's ")
           << kWarpSize << " lanes, found " << candidates;
  if (int64_t kept = *getInsert(); kept < 1 || kept > kWarpSize)
    return emitOpError("expected to keep 1 to ")
           << kWarpSize << " keys, found " << kept;
  return success();
}

LogicalResult ExchangeOp::verify() {
  auto type = cast<RankedTensorType>(getKeys().getType());
  if (!type.hasStaticShape() || !llvm::isPowerOf2_64(type.getDimSize(1)))
    return emitOpError("expected a number of columns that is a power of two, "
                       "found ")
           << type;
  int64_t mask = getMask();
  if (mask < 1 || mask >= type.getDimSize(1))
    return emitOpError("expected a mask from 1 to ")
           << type.getDimSize(1) - 1 << ", found " << mask;
  return success();
}
