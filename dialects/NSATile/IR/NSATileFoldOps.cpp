//===- NSATileFoldOps.cpp - Loops over tiles ------------------------------===//

#include "NSATile/IR/FoldSyntax.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace nsacc::nsatile;

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

int64_t FoldDomain::getNumWords() const {
  return members ? cast<ShapedType>(members.getType()).getShape().back() : 0;
}

/// Types of a body's arguments: the tile, whether it is partial, the entry's
/// words, the state.
static SmallVector<Type>
getArgumentTypes(Builder &builder, const FoldDomain &domain, TypeRange state) {
  SmallVector<Type> types = {builder.getIndexType(), builder.getI1Type()};
  if (domain.members)
    types.append(domain.getNumWords(),
                 cast<ShapedType>(domain.members.getType()).getElementType());
  llvm::append_range(types, state);
  return types;
}

template <typename FoldLike>
static void build(OpBuilder &builder, OperationState &state,
                  const FoldDomain &domain, TypeRange results, ValueRange inits,
                  bool bindsState) {
  auto addOptional = [&](Value value) {
    if (value)
      state.addOperands(value);
    return value ? 1 : 0;
  };
  for (const TileRange &range : domain.ranges)
    state.addOperands({range.first, range.end, range.fullFirst, range.fullEnd});
  SmallVector<int32_t> segments = {
      static_cast<int32_t>(kRangeOperands * domain.ranges.size())};
  segments.push_back(addOptional(domain.at));
  segments.push_back(addOptional(domain.list));
  state.addOperands(domain.indices);
  segments.push_back(domain.indices.size());
  segments.push_back(addOptional(domain.count));
  segments.push_back(addOptional(domain.first));
  segments.push_back(addOptional(domain.members));
  state.addOperands(inits);
  segments.push_back(inits.size());
  auto &properties = state.getOrAddProperties<typename FoldLike::Properties>();
  llvm::copy(segments, properties.operandSegmentSizes.begin());
  properties.parts = builder.getI64IntegerAttr(domain.parts);
  state.addTypes(results);

  OpBuilder::InsertionGuard guard(builder);
  Region *region = state.addRegion();
  SmallVector<Type> arguments = getArgumentTypes(
      builder, domain, bindsState ? TypeRange(inits) : TypeRange());
  SmallVector<Location> locations(arguments.size(), state.location);
  builder.createBlock(region, {}, arguments, locations);
}

void FoldOp::build(OpBuilder &builder, OperationState &state,
                   const FoldDomain &domain, TypeRange results,
                   ValueRange inits) {
  ::build<FoldOp>(builder, state, domain, results, inits, /*bindsState=*/true);
}

void SoftmaxFoldOp::build(OpBuilder &builder, OperationState &state,
                          const FoldDomain &domain, TypeRange results,
                          ValueRange inits) {
  ::build<SoftmaxFoldOp>(builder, state, domain, results, inits,
                         /*bindsState=*/false);
}

template <typename FoldLike> static FoldDomain getDomain(FoldLike fold) {
  FoldDomain domain;
  OperandRange ranges = fold.getRanges();
  for (size_t i = 0; i < ranges.size(); i += kRangeOperands)
    domain.ranges.push_back(
        {ranges[i], ranges[i + 1], ranges[i + 2], ranges[i + 3]});
  domain.at = fold.getAt();
  domain.list = fold.getList();
  domain.indices = llvm::to_vector(fold.getIndices());
  domain.count = fold.getCount();
  domain.first = fold.getFirst();
  domain.members = fold.getMembers();
  domain.parts = fold.getParts();
  return domain;
}

FoldDomain FoldOp::getDomain() { return ::getDomain(*this); }
FoldDomain SoftmaxFoldOp::getDomain() { return ::getDomain(*this); }

std::optional<TileRange> FoldOp::getSingleRange() {
  FoldDomain domain = getDomain();
  if (!domain.isRanges() || domain.ranges.size() != 1)
    return std::nullopt;
  return domain.ranges.front();
}

void FoldOp::setRange(const TileRange &range) {
  getRangesMutable().assign(
      {range.first, range.end, range.fullFirst, range.fullEnd});
}

Value TileRange::isPartial(OpBuilder &builder, Location loc, Value tile) const {
  auto constant = [&](bool value) {
    return arith::ConstantIntOp::create(builder, loc, value, /*width=*/1);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
    return arith::CmpIOp::create(builder, loc, predicate, tile, bound);
  };
  if (!hasFull())
    return constant(true);
  Value before, behind;
  if (hasHead())
    before = compare(arith::CmpIPredicate::slt, fullFirst);
  if (hasTail())
    behind = compare(arith::CmpIPredicate::sge, fullEnd);
  if (before && behind)
    return arith::OrIOp::create(builder, loc, before, behind);
  if (before || behind)
    return before ? before : behind;
  return constant(false);
}

YieldScoresOp SoftmaxFoldOp::getScores() {
  return cast<YieldScoresOp>(getBody().front().getTerminator());
}

//===----------------------------------------------------------------------===//
// Folds as loops
//===----------------------------------------------------------------------===//

std::optional<SmallVector<Value>> FoldOp::getLoopInductionVars() {
  return SmallVector<Value>{getTile()};
}

std::optional<SmallVector<OpFoldResult>> FoldOp::getLoopLowerBounds() {
  if (std::optional<TileRange> range = getSingleRange())
    return SmallVector<OpFoldResult>{range->first};
  return std::nullopt;
}

std::optional<SmallVector<OpFoldResult>> FoldOp::getLoopUpperBounds() {
  if (std::optional<TileRange> range = getSingleRange())
    return SmallVector<OpFoldResult>{range->end};
  return std::nullopt;
}

std::optional<SmallVector<OpFoldResult>> FoldOp::getLoopSteps() {
  return SmallVector<OpFoldResult>{Builder(getContext()).getIndexAttr(1)};
}

Block::BlockArgListType FoldOp::getRegionIterArgs() {
  return getBody().getArguments().drop_front(2 + getDomain().getNumWords());
}

std::optional<MutableArrayRef<OpOperand>> FoldOp::getYieldedValuesMutable() {
  return cast<YieldOp>(getBody().front().getTerminator()).getValuesMutable();
}

std::optional<ResultRange> FoldOp::getLoopResults() { return getResults(); }

SmallVector<Region *> FoldOp::getLoopRegions() { return {&getBody()}; }

//===----------------------------------------------------------------------===//
// Names of arguments
//===----------------------------------------------------------------------===//

static void nameTile(Region &region, OpAsmSetValueNameFn setName) {
  if (region.getNumArguments() < 2)
    return;
  setName(region.getArgument(0), "tile");
  setName(region.getArgument(1), "partial");
}

void FoldOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  nameTile(region, setName);
}

void SoftmaxFoldOp::getAsmBlockArgumentNames(Region &region,
                                             OpAsmSetValueNameFn setName) {
  nameTile(region, setName);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

template <typename FoldLike> static LogicalResult verifyList(FoldLike fold) {
  auto list = cast<ShapedType>(fold.getList().getType());
  if (!list.getElementType().isIntOrIndex())
    return fold.emitOpError("expected a list of integers, found ") << list;
  if (list.getRank() != static_cast<int64_t>(fold.getIndices().size()) + 1)
    return fold.emitOpError("expected an index for each dimension of the list "
                            "but the last, found ")
           << fold.getIndices().size() << " for " << list;
  if (fold.getMembers()) {
    auto members = cast<ShapedType>(fold.getMembers().getType());
    if (!members.getElementType().isInteger() ||
        members.getRank() != list.getRank() + 1 ||
        members.isDynamicDim(members.getRank() - 1))
      return fold.emitOpError("expected members that are integers, with a "
                              "dimension of fixed size behind those of ")
             << list << ", found " << members;
  }
  if (fold.getFirst() && !fold.getCount())
    return fold.emitOpError("expected a first entry with a count only");
  if (!fold.getCount() && list.isDynamicDim(list.getRank() - 1))
    return fold.emitOpError("expected a count, as rows of the list have no "
                            "fixed size");
  return success();
}

template <typename FoldLike> static LogicalResult verifyDomain(FoldLike fold) {
  if (fold.getRanges().size() % kRangeOperands != 0)
    return fold.emitOpError("expected four bounds for each range, found ")
           << fold.getRanges().size() << " in all";
  if (fold.getAt() && fold.getList())
    return fold.emitOpError("expected a tile or a list, found both");
  if (!fold.getAt() && !fold.getList()) {
    if (fold.getRanges().empty())
      return fold.emitOpError("expected ranges, a list or a tile to go over");
    if (fold.getParts() != 1)
      return fold.emitOpError("expected parts of a tile or of a list's "
                              "entries, found them with ranges alone");
  }
  if (fold.getList())
    return verifyList(fold);
  if (fold.getCount() || fold.getFirst() || fold.getMembers() ||
      !fold.getIndices().empty())
    return fold.emitOpError(
        "expected a count, members and indices with a list only");
  return success();
}

static LogicalResult verifyArguments(Operation *op, const FoldDomain &domain,
                                     TypeRange state) {
  Builder builder(op->getContext());
  SmallVector<Type> expected = getArgumentTypes(builder, domain, state);
  TypeRange found = op->getRegion(0).getArgumentTypes();
  if (found == TypeRange(expected))
    return success();
  return op->emitOpError("expected a body of arguments (")
         << TypeRange(expected) << "), found (" << found << ")";
}

LogicalResult FoldOp::verify() {
  if (failed(verifyDomain(*this)))
    return failure();
  if (getResultTypes() != getInits().getTypes())
    return emitOpError("expected results of the state's types (")
           << getInits().getTypes() << "), found (" << getResultTypes() << ")";
  if (failed(verifyArguments(*this, getDomain(), getInits().getTypes())))
    return failure();
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError("expected a body that ends with nsatile.yield");
  if (yield.getOperandTypes() != getInits().getTypes())
    return yield.emitOpError("expected values of the state's types (")
           << getInits().getTypes() << "), found (" << yield.getOperandTypes()
           << ")";
  return success();
}

LogicalResult SoftmaxFoldOp::verify() {
  if (failed(verifyDomain(*this)) ||
      failed(verifyArguments(*this, getDomain(), {})))
    return failure();
  auto yield = dyn_cast<YieldScoresOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError("expected a body that ends with nsatile.yield_scores");
  auto scores = cast<RankedTensorType>(yield.getScores().getType());
  auto rows =
      RankedTensorType::get({scores.getDimSize(0)}, scores.getElementType());
  SmallVector<Type> expected = {rows, rows};
  if (yield.getValues()) {
    auto values = cast<RankedTensorType>(yield.getValues().getType());
    if (values.getDimSize(0) != scores.getDimSize(1))
      return yield.emitOpError("expected values of ")
             << scores.getDimSize(1) << " keys, as many as scores, found "
             << values.getDimSize(0);
    expected.push_back(
        scores.clone({scores.getDimSize(0), values.getDimSize(1)}));
  }
  if (getResultTypes() != TypeRange(expected))
    return emitOpError("expected results of types (")
           << TypeRange(expected) << "), found (" << getResultTypes() << ")";
  if (!getInits().empty() && getInits().getTypes() != TypeRange(expected))
    return emitOpError("expected a state of types (")
           << TypeRange(expected) << "), found (" << getInits().getTypes()
           << ")";
  return success();
}
