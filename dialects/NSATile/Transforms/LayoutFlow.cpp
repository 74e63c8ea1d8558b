//===- LayoutFlow.cpp - Choice of each tile's layout ----------------------===//

#include "LayoutFlow.h"
#include "NSATile/IR/LaneMap.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/NSATileUses.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/IR/TileLayout.h"
#include "NSATile/IR/WarpRoles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kWarpRemarks = {"nsatile-assign-layouts", "Warps"};
static constexpr PassRemarks kSortRemarks = {"nsatile-assign-layouts",
                                             "Sorting"};

bool nsacc::nsatile::isElementwise(Operation *op) {
  return isa<GatherOp>(op) || op->hasTrait<OpTrait::Elementwise>();
}

/// Most elements of a load that is as cheap as arithmetic.
constexpr int64_t kSmallLoad = 256;

/// Whether a load is of a vector that is to be loaded ahead.
static bool isAhead(LoadOp load) {
  RankedTensorType tile = getTile(load.getTile());
  return load->hasAttr(kAheadAttrName) && tile.getRank() == 1 &&
         tile.getElementType().isF32();
}

static bool isCheapLoad(LoadOp load) {
  if (getTile(load.getTile()).getNumElements() > kSmallLoad || isAhead(load))
    return false;
  // Another load sees the same elements only if nobody writes in between.
  return !isStoredTo(load.getAt().getBuffer());
}

bool LayoutFlow::isCheap(Value tile) {
  auto known = cheap.find(tile);
  if (known == cheap.end())
    known = cheap.try_emplace(tile, computeIsCheap(tile)).first;
  return known->second;
}

bool LayoutFlow::computeIsCheap(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (!op)
    return false;
  if (auto load = dyn_cast<LoadOp>(op))
    return isCheapLoad(load);
  bool isPart =
      isa<arith::ConstantOp, tensor::SplatOp, IotaOp, BroadcastOp, ReshapeOp>(
          op) ||
      (isElementwise(op) && !isa<GatherOp>(op));
  return isPart && llvm::all_of(op->getOperands(), [&](Value operand) {
           return !isTile(operand.getType()) || isCheap(operand);
         });
}

/// Whether a layout is of tokens x heads that are the rows of a product.
static bool isReshapedProduct(Attribute layout) {
  auto reshape = dyn_cast_if_present<ReshapeLayoutAttr>(layout);
  return reshape && isa<MmaLayoutAttr>(reshape.getOf());
}

bool nsacc::nsatile::isShared(Attribute layout) {
  if (auto reshape = dyn_cast<ReshapeLayoutAttr>(layout))
    layout = reshape.getOf();
  return isa<SharedLayoutAttr>(layout);
}

/// Whether an op is computed in a product's layout.
static bool isProduct(Operation *op) { return isa<DotOp, SoftmaxUpdateOp>(op); }

/// Number of neighbouring elements of accumulators that a thread loads at once
/// when it merges states: 16 bytes of memory.
static int64_t getMergedVector(ProgramOp program) {
  constexpr int64_t vectorBits = 128;
  int64_t bits = 32, columns = 0;
  program.walk([&](SoftmaxFinalizeOp finalize) {
    columns = getTile(finalize.getAcc()).getShape().back();
  });
  program.walk([&](LoadOp load) {
    RankedTensorType tile = getTile(load.getTile());
    if (tile.getRank() > 1 && tile.getShape().back() == columns &&
        isa<FloatType>(tile.getElementType()))
      bits = std::min<int64_t>(bits, tile.getElementTypeBitWidth());
  });
  return vectorBits / bits;
}

LayoutFlow::LayoutFlow(ProgramOp program) : context(program.getContext()) {
  program.walk([&](Operation *op) { hasProducts |= isProduct(op); });
  mergedVector = getMergedVector(program);
  chooseWarps(program);
  assignAnchors(program);
  assignRest(program);
}

namespace {

/// Number of warps of a program, given or computed from the rows of products.
struct WarpCount {
  explicit WarpCount(ProgramOp program) {
    if (ScheduleAttr schedule = program.getScheduleAttr())
      warps = schedule.getWarps();
    if (warps > 0)
      return;
    constexpr int64_t rowsOfWarp = 16, mostWarps = 8, usualWarps = 4;
    // A warp's lanes number keys in order without barriers.
    program.walk([&](EnumerateOp) { warps = 1; });
    if (warps > 0)
      return;
    int64_t elements = 0;
    program.walk([&](Operation *op) {
      if (auto dot = dyn_cast<DotOp>(op))
        rows = std::max(rows, getTile(dot.getResult()).getDimSize(0));
      hasProducts |= isProduct(op);
      // If products use only a few of the rows, warps still hold all of them.
      if (auto rest = dyn_cast<SoftmaxFinalizeOp>(op)) {
        rows = std::max(rows, getTile(rest.getAcc()).getDimSize(0));
        elements = std::max(elements, getTile(rest.getAcc()).getNumElements());
      }
    });
    if (!hasProducts && elements > 0) {
      // States are merged.
      int64_t elementsOfWarp = getMergedVector(program) * kWarpSize;
      rows = 0;
      wanted = warps =
          std::clamp<int64_t>(elements / elementsOfWarp, 1, mostWarps);
      return;
    }
    wanted = rows == 0 ? usualWarps : llvm::divideCeil(rows, rowsOfWarp);
    warps = std::min(wanted, mostWarps);
  }

  int64_t warps = 0;
  /// Number of warps that the rows would take; 0 if warps are given.
  int64_t wanted = 0;
  int64_t rows = 0;
  bool hasProducts = false;
};

} // namespace

int64_t nsacc::nsatile::countWarps(ProgramOp program) {
  return WarpCount(program).warps;
}

void LayoutFlow::chooseWarps(ProgramOp program) {
  WarpCount count(program);
  warps = count.warps;
  if (count.wanted == 0)
    return;
  int64_t rows = count.rows;
  if (count.wanted > warps)
    return kWarpRemarks.missed(program,
                               "16 rows for each warp: " + Twine(rows) +
                                   " rows would take " + Twine(count.wanted) +
                                   " warps, and it has " + Twine(warps));
  kWarpRemarks.passed(program,
                      Twine(warps) + " warps, " +
                          (rows == 0 ? Twine("without products")
                                     : "of 16 rows of its " + Twine(rows)));
}

Attribute LayoutFlow::getMma() const {
  return MmaLayoutAttr::get(context, warps);
}

Attribute LayoutFlow::getInserting(RankedTensorType tile) const {
  return BlockedLayoutAttr::get(context, kWarpSize * warps,
                                tile.getDimSize(1) / kWarpSize);
}

Attribute LayoutFlow::getRows() const {
  return SliceLayoutAttr::get(context, 1, getMma());
}

/// Whether the row of each register of a matrix is a row that the same thread
/// has in a register.
static bool haveSameRows(const TileLayout &matrix, const TileLayout &rows) {
  return llvm::all_of(llvm::seq(matrix.getNumRegisters()), [&](int64_t index) {
    return llvm::any_of(llvm::seq(rows.getNumRegisters()), [&](int64_t row) {
      return matrix.getCoordinates(index)[0] == rows.getCoordinates(row)[0];
    });
  });
}

Attribute LayoutFlow::getRows(SoftmaxFinalizeOp finalize) const {
  RankedTensorType acc = getTile(finalize.getAcc()),
                   max = getTile(finalize.getMax());
  Attribute blocked = getMerged(acc);
  Attribute rows = hasProducts ? Attribute() : slice(acc, blocked, 1, max);
  std::optional<TileLayout> ofMatrix, ofRows;
  if (rows) {
    ofMatrix = TileLayout::get(acc.getShape(), blocked);
    ofRows = TileLayout::get(max.getShape(), rows);
  }
  return ofMatrix && ofRows && haveSameRows(*ofMatrix, *ofRows) ? rows
                                                                : getRows();
}

Attribute LayoutFlow::getMatrix(SoftmaxFinalizeOp finalize) const {
  return getRows(finalize) == getRows() ? getMma()
                                        : getMerged(getTile(finalize.getAcc()));
}

Attribute LayoutFlow::getMerged(RankedTensorType tile) const {
  return getBlocked(tile, mergedVector);
}

Attribute LayoutFlow::getBlocked(RankedTensorType tile) const {
  constexpr int64_t vectorBits = 128;
  Type type = tile.getElementType();
  int64_t bits = type.isIndex() ? 32 : type.getIntOrFloatBitWidth();
  return getBlocked(tile, vectorBits / std::max<int64_t>(bits, 8));
}

Attribute LayoutFlow::getBlocked(RankedTensorType tile, int64_t vector) const {
  int64_t last = tile.getRank() == 0 ? 1 : tile.getShape().back();
  while (vector > 1 &&
         (last % vector != 0 || tile.getNumElements() < vector * 32 * warps))
    vector /= 2;
  return BlockedLayoutAttr::get(context, 32 * warps, vector);
}

/// Layout for sorting: each row is in lanes of one warp, which exchange its
/// keys without shared memory, and each key is held once.
Attribute LayoutFlow::getSorting(ProgramOp program, RankedTensorType tile) {
  constexpr int64_t mostKeys = 16, leastRows = 8;
  int64_t columns = tile.getDimSize(1), threads = kWarpSize * warps;
  int64_t ofThread = llvm::divideCeil(tile.getNumElements(), threads);
  int64_t vector =
      std::max(columns / kWarpSize,
               std::min<int64_t>(columns, llvm::bit_floor<uint64_t>(ofThread)));
  bool isFirst = sorted.insert(tile).second;
  // There are more keys than registers have room for. If such a tile has few
  // rows, a product's layout would leave most threads empty.
  if (int64_t most = std::max(vector, ofThread); most > mostKeys) {
    if (isFirst)
      kSortRemarks.missed(program, "lanes don't hold rows of " +
                                       Twine(columns) + " keys to sort: " +
                                       Twine(most) + " a thread, and at most " +
                                       Twine(mostKeys) + " have room");
    return tile.getDimSize(0) >= leastRows ? getMma() : getBlocked(tile);
  }
  if (isFirst)
    kSortRemarks.passed(program, "lanes of a warp hold rows of " +
                                     Twine(columns) + " keys to sort, " +
                                     Twine(std::max<int64_t>(vector, 1)) +
                                     " in each");
  return BlockedLayoutAttr::get(context, threads, std::max<int64_t>(vector, 1));
}

Attribute LayoutFlow::getShared(RankedTensorType tile, bool forProduct) const {
  bool hasHalves =
      tile.getElementType().isBF16() || tile.getElementType().isF16();
  return SharedLayoutAttr::get(
      context, forProduct && hasHalves && tile.getRank() == 2 ? 128 : 0);
}

//===----------------------------------------------------------------------===//
// Start of layouts
//===----------------------------------------------------------------------===//

/// Whether `tile` is loaded, perhaps through reshapes that keep its last
/// dimension.
static bool isLoaded(Value tile) {
  while (auto reshape = tile.getDefiningOp<ReshapeOp>()) {
    // Rows of memory are rows of the product.
    if (getTile(reshape.getSource()).getShape().back() !=
        getTile(tile).getShape().back())
      return false;
    tile = reshape.getSource();
  }
  return tile.getDefiningOp<LoadOp>() != nullptr;
}

void LayoutFlow::assignAnchors(ProgramOp program) {
  program.walk([&](LoadOp load) {
    if (isAhead(load))
      assign(load.getTile(), getShared(getTile(load.getTile()), false));
  });
  program.walk([&](DotOp dot) {
    if (isLoaded(dot.getLhs()) && !dot.getVisible())
      assign(dot.getLhs(), getShared(getTile(dot.getLhs()), true));
    if (isLoaded(dot.getRhs()))
      assign(dot.getRhs(), getShared(getTile(dot.getRhs()), true));
  });
  program.walk([&](Operation *op) {
    if (isProduct(op)) {
      propagate(op);
      propagate();
    }
  });
  // Lists in a warp's lanes have no other layout.
  program.walk([&](TopOp top) {
    if (!top.getInsert())
      return;
    assign(top.getResult(), getInserting(getTile(top.getResult())));
    assign(top.getCandidates(), getInserting(getTile(top.getCandidates())));
  });
  program.walk([&](ExchangeOp exchange) {
    assign(exchange.getResult(),
           getSorting(program, exchange.getKeys().getType()));
  });
  program.walk([&](TopOp top) {
    assign(top.getResult(), getSorting(program, top.getCandidates().getType()));
  });
  program.walk([&](SoftmaxFinalizeOp op) {
    propagate(op);
    propagate();
  });
  program.walk([&](ScanOp scan) {
    assign(scan.getSource(), getBlocked(getTile(scan.getSource())));
  });
  // Neighbouring lanes read neighbouring entries, and lanes number them in
  // order.
  program.walk([&](EnumerateOp enumerate) {
    RankedTensorType keys = getTile(enumerate.getKeys());
    assign(enumerate.getKeys(), getBlocked(keys, /*vector=*/1));
  });
  program.walk([&](ScatterOp scatter) {
    propagate(scatter);
    for (Value index : scatter.getIndices().take_back(1))
      assign(index, getBlocked(getTile(index), /*vector=*/1));
  });
}

void LayoutFlow::assignRest(ProgramOp program) {
  program.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        if (isTile(argument.getType()) && !getLayout(argument))
          assign(argument, getBlocked(getTile(argument)));
    for (Value result : op->getResults())
      if (isTile(result.getType()) && !getLayout(result) && !isCheap(result))
        assign(result, getBlocked(getTile(result)));
  });
  // Cheap tiles are computed in the layout that their last reader wants; users
  // come first.
  SmallVector<Operation *> ops;
  program.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    for (OpOperand &operand : op->getOpOperands()) {
      Value tile = operand.get();
      if (!isTile(tile.getType()) || getLayout(tile))
        continue;
      Attribute wanted = getWanted(operand);
      if (!wanted || isShared(wanted))
        wanted = getBlocked(getTile(tile));
      assign(tile, wanted);
    }
}

//===----------------------------------------------------------------------===//
// Flow of layouts
//===----------------------------------------------------------------------===//

/// Whether `tile` is a softmax's sum or carries one.
static bool canBePartial(Value tile) {
  Operation *op = tile.getDefiningOp();
  return !op || isa<SoftmaxUpdateOp, LoopLikeOpInterface, scf::IfOp,
                    arith::ConstantOp>(op);
}

void LayoutFlow::assign(Value tile, Attribute layout) {
  auto partial = dyn_cast_if_present<PartialLayoutAttr>(layout);
  if (partial && !canBePartial(tile))
    layout = partial.getOf();
  if (!layout || !isTile(tile.getType()) ||
      !layouts.try_emplace(tile, layout).second)
    return;
  worklist.push_back(tile);
  propagate();
}

void LayoutFlow::propagate() {
  while (!worklist.empty()) {
    Value tile = worklist.pop_back_val();
    if (Operation *op = tile.getDefiningOp())
      propagate(op);
    else
      propagateControl(tile.getParentBlock()->getParentOp());
    // Other readers may compute a cheap tile again in their layouts.
    if (isCheap(tile) || isSumOfLanes(tile))
      continue;
    for (Operation *user : tile.getUsers())
      propagate(user);
  }
}

Attribute LayoutFlow::slice(RankedTensorType whole, Attribute layout,
                            ArrayRef<int64_t> dims,
                            RankedTensorType sliced) const {
  if (isa<BlockedLayoutAttr>(layout))
    layout = ReshapeLayoutAttr::get(
        context, ArrayRef<int64_t>{whole.getNumElements()}, layout);
  for (int64_t dim : llvm::reverse(dims))
    layout = TileLayout::getSlice(layout, dim);
  return isPossible(sliced, layout) ? layout : Attribute();
}

bool LayoutFlow::isPossible(RankedTensorType tile, Attribute layout) const {
  std::pair<Type, Attribute> key = {
      RankedTensorType::get(tile.getShape(), tile.getElementType()), layout};
  auto known = possible.find(key);
  if (known == possible.end())
    known = possible
                .try_emplace(
                    key, TileLayout::get(tile.getShape(), layout).has_value())
                .first;
  return known->second;
}

/// Layout of a tile that is reduced in its registers; null if it is reduced
/// through shared memory and may end in any layout.
Attribute LayoutFlow::getReduced(ReduceOp reduce, Attribute layout) const {
  RankedTensorType source = getTile(reduce.getSource());
  RankedTensorType result = getTile(reduce.getResult());
  int64_t dim = reduce.getDim();
  Attribute sliced = slice(source, layout, dim, result);
  if (!sliced || !isReshapedProduct(layout))
    return sliced;
  std::optional<TileLayout> from = TileLayout::get(source.getShape(), layout);
  std::optional<TileLayout> to = TileLayout::get(result.getShape(), sliced);
  return findReduction(*from, *to, dim) ? sliced : Attribute();
}

/// Whether `tile` is a sum of heads over lanes. These lanes hold copies of the
/// sum, and code on it runs once.
bool LayoutFlow::isSumOfLanes(Value tile) const {
  auto reduce = tile.getDefiningOp<ReduceOp>();
  auto slice = dyn_cast_if_present<SliceLayoutAttr>(getLayout(tile));
  return reduce && slice && isReshapedProduct(slice.getOf());
}

bool nsacc::nsatile::flows(Attribute layout) {
  return layout && !isShared(layout) && !isa<PartialLayoutAttr>(layout);
}

void LayoutFlow::propagate(Operation *op) {
  auto known = [&](Value tile) {
    Attribute layout = getLayout(tile);
    return flows(layout) ? layout : Attribute();
  };
  auto isZero = [](ArrayRef<int64_t> offsets) {
    return llvm::all_of(offsets, [](int64_t offset) { return offset == 0; });
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](DotOp dot) {
        assign(dot.getResult(), getMma());
        if (dot.getAcc())
          assign(dot.getAcc(), getMma());
        if ((!isLoaded(dot.getLhs()) && !dot.getTransposeLhs()) ||
            dot.getVisible())
          assign(dot.getLhs(), getMma());
        if (dot.getVisible())
          assign(dot.getVisible(), getMma());
      })
      .Case([&](SoftmaxUpdateOp update) {
        assign(update.getScores(), getMma());
        assign(update.getProbs(), getMma());
        for (Value rows :
             {update.getMax(), update.getNewMax(), update.getDecay()})
          assign(rows, getRows());
        if (update.getRows())
          assign(update.getRows(), getRows());
        for (Value sums : {update.getSum(), update.getNewSum()})
          assign(sums, PartialLayoutAttr::get(context, getRows()));
      })
      .Case([&](SoftmaxFinalizeOp finalize) {
        assign(finalize.getAcc(), getMatrix(finalize));
        assign(finalize.getOutput(), getMatrix(finalize));
        for (Value rows : {finalize.getMax(), finalize.getLse()})
          assign(rows, getRows(finalize));
        assign(finalize.getSum(), getRows(finalize));
      })
      .Case([&](BroadcastOp broadcast) {
        RankedTensorType whole = getTile(broadcast.getResult());
        Attribute layout = known(broadcast.getResult());
        if (layout && !getLayout(broadcast.getSource()))
          assign(broadcast.getSource(),
                 slice(whole, layout, broadcast.getDims(),
                       getTile(broadcast.getSource())));
      })
      .Case([&](ReduceOp reduce) {
        Attribute layout = known(reduce.getSource());
        if (layout && !getLayout(reduce.getResult()))
          assign(reduce.getResult(), getReduced(reduce, layout));
        // Rows of a product are reduced in their registers.
        auto rows =
            dyn_cast_if_present<SliceLayoutAttr>(getLayout(reduce.getResult()));
        if (rows && static_cast<int64_t>(reduce.getDim()) == rows.getDim() &&
            isa<MmaLayoutAttr>(rows.getOf()))
          assign(reduce.getSource(), rows.getOf());
      })
      .Case([&](ReshapeOp reshape) {
        Value source = reshape.getSource(), result = reshape.getResult();
        auto convert = [&](Value from, Value to) {
          Attribute layout = getLayout(from);
          if (auto partial = dyn_cast_if_present<PartialLayoutAttr>(layout))
            layout = partial.getOf();
          if (layout && !getLayout(to))
            assign(to, TileLayout::getReshaped(getTile(from).getShape(), layout,
                                               getTile(to).getShape()));
        };
        convert(source, result);
        convert(result, source);
      })
      .Case([&](ExchangeOp exchange) {
        tie({exchange.getKeys(), exchange.getResult()});
      })
      .Case([&](ShiftOp shift) {
        tie({shift.getResult(), shift.getTile(), shift.getBefore()});
      })
      .Case([&](ScanOp scan) { tie({scan.getSource(), scan.getBefore()}); })
      .Case([&](TopOp top) {
        tie({top.getList(), top.getResult()});
        if (!top.getInsert())
          tie({top.getResult(), top.getCandidates()});
      })
      .Case([&](tensor::InsertSliceOp insert) {
        tie({insert.getDest(), insert.getResult()});
        if (isZero(insert.getStaticOffsets()))
          tie({insert.getSource(), insert.getResult()});
      })
      .Case([&](tensor::ExtractSliceOp extract) {
        if (isZero(extract.getStaticOffsets()) &&
            extract.getSourceType().getRank() == extract.getType().getRank())
          tie({extract.getSource(), extract.getResult()});
      })
      .Case<LoopLikeOpInterface, scf::IfOp, scf::YieldOp, YieldOp>(
          [&](auto control) {
            propagateControl(control->template hasTrait<OpTrait::IsTerminator>()
                                 ? control->getParentOp()
                                 : control);
          })
      .Default([&](Operation *other) {
        if (!isElementwise(other) &&
            !isa<AssertOp, ScatterOp, EnumerateOp>(other))
          return;
        SmallVector<Value> tiles;
        for (Value value : other->getResults())
          tiles.push_back(value);
        for (Value value : other->getOperands())
          tiles.push_back(value);
        tie(tiles);
      });
}

/// Gives all tiles the layout of the first one that has a layout.
void LayoutFlow::tie(ArrayRef<Value> tiles) {
  Attribute found;
  for (Value tile : tiles)
    if (!found && isTile(tile.getType()) && flows(getLayout(tile)) &&
        !isSumOfLanes(tile))
      found = getLayout(tile);
  if (!found)
    return;
  // A layout of a few columns may be impossible for more.
  for (Value tile : tiles)
    if (isTile(tile.getType()) && !getLayout(tile) &&
        isPossible(getTile(tile), found))
      assign(tile, found);
}

/// Loops and branches carry partial sums, too.
void LayoutFlow::propagateControl(Operation *op) {
  auto carry = [&](ArrayRef<Value> tiles) {
    Attribute found;
    // A constant may have the layout that columns of another loop want.
    for (Value tile : tiles)
      if (!found && !isCheap(tile))
        if (Attribute layout = getLayout(tile); layout && !isShared(layout))
          found = layout;
    for (Value tile : tiles)
      assign(tile, found);
  };
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    for (auto [init, argument, yielded, result] :
         llvm::zip_equal(loop.getInits(), loop.getRegionIterArgs(),
                         loop.getYieldedValues(), loop->getResults()))
      if (isTile(result.getType()))
        carry({argument, yielded, result, init});
  } else if (auto ifOp = dyn_cast<scf::IfOp>(op)) {
    for (OpResult result : ifOp.getResults())
      if (isTile(result.getType()))
        carry({result, ifOp.thenYield().getOperand(result.getResultNumber()),
               ifOp.elseYield().getOperand(result.getResultNumber())});
  }
}
