//===- BitonicTopK.cpp - Sorts and running lists as bitonic networks ------===//

#include "LayoutFlow.h"
#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/IR/WarpRoles.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEBITONICTOPK
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kInsertRemarks = {"nsatile-bitonic-topk",
                                               "InsertCandidates"};

namespace {

/// Networks over the rows of keys.
class BitonicNetwork {
public:
  BitonicNetwork(OpBuilder &builder, Location loc, Order order)
      : builder(builder), loc(loc), order(order) {}

  /// Sorts rows of any keys; the number of columns is a power of two.
  Value sort(Value keys) {
    int64_t columns = getColumns(keys);
    for (int64_t run = 2; run <= columns; run *= 2)
      for (int64_t distance = run / 2; distance > 0; distance /= 2)
        keys = compareExchange(keys, distance, run);
    return keys;
  }
  /// Sorts rows that rise and then fall, or fall and then rise.
  Value merge(Value keys) {
    int64_t columns = getColumns(keys);
    for (int64_t distance = columns / 2; distance > 0; distance /= 2)
      keys = compareExchange(keys, distance, columns);
    return keys;
  }
  /// The first `columns` columns of the keys, padded with keys that come last.
  Value resize(Value keys, int64_t columns) {
    auto type = cast<RankedTensorType>(keys.getType());
    int64_t found = getColumns(keys);
    if (found == columns)
      return keys;
    auto resized = type.clone({type.getDimSize(0), columns});
    auto attr = [&](int64_t value) -> OpFoldResult {
      return builder.getIndexAttr(value);
    };
    SmallVector<OpFoldResult> offsets = {attr(0), attr(0)};
    SmallVector<OpFoldResult> ones = {attr(1), attr(1)};
    SmallVector<OpFoldResult> sizes = {attr(type.getDimSize(0)),
                                       attr(std::min(found, columns))};
    if (columns < found)
      return tensor::ExtractSliceOp::create(builder, loc, resized, keys,
                                            offsets, sizes, ones);
    unsigned bits = type.getElementTypeBitWidth();
    int64_t last =
        order == Order::Ascending ? llvm::maxIntN(bits) : llvm::minIntN(bits);
    return tensor::InsertSliceOp::create(
        builder, loc, keys, constant(resized, last), offsets, sizes, ones);
  }
  static int64_t getColumns(Value keys) {
    return cast<RankedTensorType>(keys.getType()).getDimSize(1);
  }

private:
  Value constant(RankedTensorType type, int64_t value) {
    auto attr = builder.getIntegerAttr(type.getElementType(), value);
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, Attribute(attr)));
  }

  /// Orders each key and the key `distance` columns further: one way in every
  /// other run of `run` columns, the other way in the rest.
  Value compareExchange(Value keys, int64_t distance, int64_t run) {
    auto type = cast<RankedTensorType>(keys.getType());
    Value other = ExchangeOp::create(builder, loc, keys, distance);
    Value less = arith::MinSIOp::create(builder, loc, keys, other);
    Value greater = arith::MaxSIOp::create(builder, loc, keys, other);
    Value isFirst = isLower(type.getDimSize(1), distance, run);
    Value everywhere =
        BroadcastOp::create(builder, loc, type.clone(builder.getI1Type()),
                            isFirst, ArrayRef<int64_t>{0});
    if (order == Order::Descending)
      std::swap(less, greater);
    return arith::SelectOp::create(builder, loc, everywhere, less, greater);
  }

  /// Columns that get the first key of a pair: columns without the bit
  /// `distance` in runs without the bit `run`, and columns with both bits.
  Value isLower(int64_t columns, int64_t distance, int64_t run) {
    auto indices = RankedTensorType::get({columns}, builder.getIndexType());
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value column = IotaOp::create(builder, loc, indices, zero);
    auto lacks = [&](int64_t bit) -> Value {
      Value masked =
          arith::AndIOp::create(builder, loc, column, constant(indices, bit));
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                   masked, constant(indices, 0));
    };
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                 lacks(distance), lacks(run));
  }

  OpBuilder &builder;
  Location loc;
  Order order;
};

/// A list that a loop carries and only `top` reads. The loops that carry it are
/// listed from the innermost one outwards.
class CarriedList {
public:
  explicit CarriedList(TopOp op) : op(op) {
    Value list = op.getList(), next = op.getResult();
    while (auto argument = dyn_cast<BlockArgument>(list)) {
      auto loop =
          dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
      if (!loop || !argument.hasOneUse() || !next.hasOneUse())
        break;
      OpOperand *init = loop.getTiedLoopInit(argument);
      OpOperand *yielded = loop.getTiedLoopYieldedValue(argument);
      if (!init || !yielded || yielded->get() != next)
        break;
      loops.push_back({loop, argument});
      list = init->get();
      next = loop.getTiedLoopResult(argument);
    }
  }

  /// Makes loops carry as many columns as a step has: keys behind the wanted
  /// ones do no harm, and no step cuts keys off. False if there are too many
  /// columns, or no loop.
  bool widen(int64_t columns) {
    int64_t kept = BitonicNetwork::getColumns(op.getList());
    if (kept == columns)
      return true;
    if (loops.empty() || kept > columns)
      return false;
    auto [outermost, argument] = loops.back();
    OpBuilder builder(outermost);
    BitonicNetwork network(builder, op.getLoc(), Order::Descending);
    OpOperand *init = outermost.getTiedLoopInit(argument);
    // A list of equal keys may be wider: the loop's result is cut to the same
    // keys.
    DenseElementsAttr equal;
    if (matchPattern(init->get(), m_Constant(&equal)) && equal.isSplat())
      init->set(arith::ConstantOp::create(
          builder, op.getLoc(),
          equal.resizeSplat(equal.getType().clone(
              {equal.getType().getDimSize(0), columns}))));
    else
      init->set(network.resize(init->get(), columns));
    Type wide = init->get().getType();
    for (auto [loop, inner] : loops) {
      inner.setType(wide);
      loop.getTiedLoopResult(inner).setType(wide);
    }
    op.getResult().setType(cast<RankedTensorType>(wide));
    OpResult result = outermost.getTiedLoopResult(argument);
    builder.setInsertionPointAfter(outermost);
    Value narrow = network.resize(result, kept);
    result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
    return true;
  }

private:
  TopOp op;
  SmallVector<std::pair<LoopLikeOpInterface, BlockArgument>> loops;
};

/// sort -> compare-exchanges
struct ExpandSort : OpRewritePattern<SortOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SortOp op,
                                PatternRewriter &rewriter) const override {
    BitonicNetwork network(rewriter, op.getLoc(), op.getOrder());
    int64_t columns = BitonicNetwork::getColumns(op.getKeys());
    Value keys = network.resize(op.getKeys(), llvm::PowerOf2Ceil(columns));
    rewriter.replaceOp(op, network.resize(network.sort(keys), columns));
    return success();
  }
};

/// Lets lists of a warp's width take candidates one by one if each warp has few
/// lists, and each lane few candidates: most candidates don't get in.
static void insertByLanes(TopOp op, int64_t warps) {
  constexpr int64_t mostLists = 2, mostOfLane = 2;
  int64_t kept = BitonicNetwork::getColumns(op.getList());
  int64_t candidates = BitonicNetwork::getColumns(op.getCandidates());
  auto type = cast<RankedTensorType>(op.getList().getType());
  int64_t ofLane = llvm::PowerOf2Ceil(llvm::divideCeil(candidates, kWarpSize));
  auto decline = [&](const Twine &reason) {
    kInsertRemarks.missed(op, "candidates are sorted and merged: " + reason);
  };
  if (type.getDimSize(0) > mostLists * warps)
    return decline("each warp has more than " + Twine(mostLists) + " lists");
  if (kept > kWarpSize)
    return decline("a list of " + Twine(kept) +
                   " keys is longer than a warp has lanes");
  if (ofLane > mostOfLane)
    return decline("each lane would have " + Twine(ofLane) +
                   " candidates, more than " + Twine(mostOfLane));
  if (!CarriedList(op).widen(kWarpSize))
    return decline("the list is read by more than its loops");
  kInsertRemarks.passed(op, "each lane has a key of a list, and candidates are "
                            "inserted one by one");
  OpBuilder builder(op);
  BitonicNetwork network(builder, op.getLoc(), Order::Descending);
  op.getCandidatesMutable().set(
      network.resize(op.getCandidates(), ofLane * kWarpSize));
  op.setInsert(kept);
}

/// top -> sort of the candidates, one maximum, one merge
struct ExpandTop : OpRewritePattern<TopOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TopOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInsert())
      return failure();
    Location loc = op.getLoc();
    BitonicNetwork network(rewriter, loc, Order::Descending);
    int64_t kept = BitonicNetwork::getColumns(op.getList());
    int64_t columns = llvm::PowerOf2Ceil(kept);
    int64_t candidates = BitonicNetwork::getColumns(op.getCandidates());
    Value sorted = network.sort(
        network.resize(op.getCandidates(), llvm::PowerOf2Ceil(candidates)));
    sorted = network.resize(sorted, columns);
    Value list = network.resize(op.getList(), columns);
    // Two falling rows, one of them reversed: the greater key of each pair of
    // columns is one of the greatest, and these keys fall and then rise.
    if (columns > 1)
      sorted = ExchangeOp::create(rewriter, loc, sorted, columns - 1);
    Value greatest = arith::MaxSIOp::create(rewriter, loc, list, sorted);
    rewriter.replaceOp(op, network.resize(network.merge(greatest), kept));
    return success();
  }
};

/// Widens a list to at most twice its columns: beyond that, registers cost more
/// than a cut.
static void widen(TopOp op) {
  uint64_t columns =
      llvm::PowerOf2Ceil(BitonicNetwork::getColumns(op.getCandidates()));
  uint64_t kept = llvm::PowerOf2Ceil(BitonicNetwork::getColumns(op.getList()));
  if (columns <= 2 * kept)
    CarriedList(op).widen(columns);
}

struct BitonicTopK : nsacc::nsatile::impl::NSATileBitonicTopKBase<BitonicTopK> {
  void runOnOperation() override {
    getOperation()->walk([](ProgramOp program) {
      int64_t warps = countWarps(program);
      program.walk([&](TopOp op) {
        insertByLanes(op, warps);
        if (!op.getInsert())
          widen(op);
      });
    });
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandSort, ExpandTop>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
