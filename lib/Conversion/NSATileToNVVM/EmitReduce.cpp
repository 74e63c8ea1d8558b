//===- EmitReduce.cpp - Sums and maxima along a dimension -----------------===//

#include "InlinePTX.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/LaneMap.h"
#include "Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Reduces in registers and lanes of a warp if these hold the elements, and
/// through shared memory if several warps or unequal lanes do.
class ReductionEmitter {
public:
  explicit ReductionEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        shared(kernel.shared), sharedTiles(kernel.sharedTiles),
        sync(kernel.sync) {}

  LogicalResult emitReduce(ReduceOp op);
  void emitAllFinite(AllFiniteOp op);

private:
  void reduceRows(ReduceOp op);
  bool reduceLanes(ReduceOp op);
  bool scatterLanes(ReduceOp op);
  SmallVector<Value> combineOwn(ReduceOp op, ArrayRef<Value> source,
                                ArrayRef<SmallVector<int64_t>> groups);
  SmallVector<Value> scatter(ReduceOp op, const LaneScatter &scatter,
                             ArrayRef<Value> source);
  Value getSourceLane(const LaneScatter::Source &source);
  Value reduceElements(ReduceOp op, const SharedTile &source,
                       ArrayRef<Value> coordinates);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  SharedTiles &sharedTiles;
  Synchronizer &sync;
};

} // namespace

/// The x in a sum of 0 · x, which is 0 for finite numbers and NaN for others.
/// Null for other sums.
static Value getMarked(ReduceOp op) {
  auto product = op.getSource().getDefiningOp<arith::MulFOp>();
  bool isMark = product && op.getKind() == ReduceKind::Sum &&
                matchPattern(product.getRhs(), m_AnyZeroFloat());
  return isMark ? product.getLhs() : Value();
}

namespace {
/// A sum over values with scores that aren't -inf; others count as -0.
struct PresentSum {
  Value scores, values;
};
} // namespace

static std::optional<PresentSum> getPresentSum(ReduceOp op) {
  Value source = op.getSource();
  while (auto reshape = source.getDefiningOp<ReshapeOp>())
    source = reshape.getSource();
  auto select = source.getDefiningOp<arith::SelectOp>();
  if (!select || op.getKind() != ReduceKind::Sum ||
      !matchPattern(select.getFalseValue(), m_NegZeroFloat()))
    return std::nullopt;
  auto isPresent = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!isPresent || isPresent.getPredicate() != arith::CmpFPredicate::UNE ||
      !matchPattern(isPresent.getRhs(), m_NegInfFloat()))
    return std::nullopt;
  return PresentSum{isPresent.getLhs(), select.getTrueValue()};
}

/// Reduces rows of a tensor core's matrix: registers first, then four lanes.
void ReductionEmitter::reduceRows(ReduceOp op) {
  const TileLayout &layout = program.getLayout(getTile(op.getSource()));
  const TileLayout &rows = program.getLayout(getTile(op.getResult()));
  Value marked = getMarked(op);
  ArrayRef<Value> values =
      program.getRegisters(marked ? marked : Value(op.getSource()));
  Value neutral = b.f32(getNeutral(op.getKind()));
  SmallVector<Value> results;
  for (int64_t row = 0; row < rows.getNumRegisters(); ++row) {
    SmallVector<Value> parts;
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index)
      if (layout.getCoordinates(index)[0] == rows.getCoordinates(row)[0] &&
          !layout.isPadding(index))
        parts.push_back(
            b.select(threads.getInside(layout, index), values[index], neutral));
    Value sum =
        marked ? addUpMarks(b, parts) : combineAll(b, op.getKind(), parts);
    results.push_back(combineRow(b, op.getKind(), sum));
  }
  program.setRegisters(op.getResult(), std::move(results));
}

/// Combines a thread's own values for each group of registers.
SmallVector<Value>
ReductionEmitter::combineOwn(ReduceOp op, ArrayRef<Value> source,
                             ArrayRef<SmallVector<int64_t>> groups) {
  return llvm::map_to_vector(groups, [&](ArrayRef<int64_t> registers) {
    return combineAll(b, op.getKind(),
                      llvm::map_to_vector(registers, [&](int64_t index) {
                        return source[index];
                      }));
  });
}

/// Reduces a thread's own elements first, then combines lanes. False if these
/// lanes don't hold all elements.
bool ReductionEmitter::reduceLanes(ReduceOp op) {
  std::optional<LaneReduction> reduction =
      findReduction(program.getLayout(getTile(op.getSource())),
                    program.getLayout(getTile(op.getResult())), op.getDim());
  if (!reduction)
    return false;
  SmallVector<Value> results = combineOwn(
      op, program.getRegisters(op.getSource()), reduction->registers);
  for (Value &result : results)
    for (int64_t lane : reduction->lanes)
      result =
          combine(b, op.getKind(), result, nvvm::shuffleXor(b, result, lane));
  program.setRegisters(op.getResult(), std::move(results));
  return true;
}

Value ReductionEmitter::getSourceLane(const LaneScatter::Source &source) {
  Value from = b.i32(source.base);
  for (auto [bit, change] : llvm::enumerate(source.ofBit)) {
    if (change == 0)
      continue;
    Value isSet = b.make<arith::CmpIOp>(
        arith::CmpIPredicate::ne,
        b.make<arith::AndIOp>(threads.getLane(), b.i32(int64_t{1} << bit)),
        b.i32(0));
    from =
        b.make<arith::XOrIOp>(from, b.select(isSet, b.i32(change), b.i32(0)));
  }
  return from;
}

/// Reduces a thread's own elements first. Lanes then swap halves of their parts
/// of the same sums, until each lane has different sums.
SmallVector<Value> ReductionEmitter::scatter(ReduceOp op,
                                             const LaneScatter &scatter,
                                             ArrayRef<Value> source) {
  SmallVector<Value> values = combineOwn(op, source, scatter.registers);
  for (LaneScatter::Step step : scatter.steps) {
    Value isFirst = b.make<arith::CmpIOp>(
        arith::CmpIPredicate::eq,
        b.make<arith::AndIOp>(threads.getLane(), b.i32(step.lane)), b.i32(0));
    SmallVector<Value> kept;
    int64_t half = values.size() / 2;
    for (int64_t index = 0; index < half; ++index) {
      Value first = values[step.even ? 2 * index : index];
      Value second = values[step.even ? 2 * index + 1 : index + half];
      Value other =
          nvvm::shuffleXor(b, b.select(isFirst, second, first), step.lane);
      kept.push_back(
          combine(b, op.getKind(), b.select(isFirst, first, second), other));
    }
    values = std::move(kept);
  }
  return llvm::map_to_vector(
      scatter.sources, [&](const LaneScatter::Source &from) {
        Value own = values[from.value];
        return from.isOwn() ? own : nvvm::readLane(b, own, getSourceLane(from));
      });
}

/// Reduces by `scatter`; false if lanes can't. If all scores are finite, as
/// most are, every value is present, and a warp skips the check of each: a
/// product with 0 finds out, in half the time of a comparison and a choice.
bool ReductionEmitter::scatterLanes(ReduceOp op) {
  std::optional<LaneScatter> lanes =
      findScatter(program.getLayout(getTile(op.getSource())),
                  program.getLayout(getTile(op.getResult())), op.getDim());
  if (!lanes)
    return false;
  auto sum = [&](Value source) {
    return scatter(op, *lanes, program.getRegisters(source));
  };
  SmallVector<Value> results;
  if (std::optional<PresentSum> present = getPresentSum(op)) {
    Value mark = addUpMarks(b, program.getRegisters(present->scores));
    Value mayLack = nvvm::anyLane(
        b, b.make<arith::CmpFOp>(arith::CmpFPredicate::UNE, mark, b.f32(0)));
    SmallVector<Type> types(lanes->sources.size(), b.getF32Type());
    results = b.branch(
        mayLack, types, [&] { return sum(op.getSource()); },
        [&] { return sum(present->values); });
  } else {
    results = sum(op.getSource());
  }
  program.setRegisters(op.getResult(), std::move(results));
  return true;
}

/// Computes one element of the result, in the order of the source's elements.
Value ReductionEmitter::reduceElements(ReduceOp op, const SharedTile &source,
                                       ArrayRef<Value> coordinates) {
  int64_t dim = op.getDim();
  auto loop = scf::ForOp::create(
      b, b.i32(0), b.i32(getTile(op.getSource()).getDimSize(dim)), b.i32(1),
      ValueRange{b.f32(getNeutral(op.getKind()))});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> place(coordinates);
  place.insert(place.begin() + dim, loop.getInductionVar());
  Value next = combine(b, op.getKind(), loop.getRegionIterArgs().front(),
                       shared.loadElement(source, place));
  scf::YieldOp::create(b, next);
  return loop.getResult(0);
}

LogicalResult ReductionEmitter::emitReduce(ReduceOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = getTile(op.getResult());
  if (isa<PartialLayoutAttr>(source.getEncoding()) || isShared(result))
    return reject(op);
  if (isa<MmaLayoutAttr>(source.getEncoding()) && op.getDim() == 1 &&
      TileLayout::getSlice(source.getEncoding(), 1) == result.getEncoding()) {
    reduceRows(op);
    return success();
  }
  bool isInPlace = isShared(source);
  if (!isInPlace && (reduceLanes(op) || scatterLanes(op)))
    return success();
  SharedTile tile = isInPlace ? sharedTiles.get(op.getSource())
                              : sharedTiles.spill(op.getSource());
  if (isInPlace)
    sync.beforeRead(tile);
  const TileLayout &layout = program.getLayout(result);
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    Value neutral = b.f32(getNeutral(op.getKind()));
    if (layout.isPadding(index)) {
      values.push_back(neutral);
      continue;
    }
    SmallVector<Value> coordinates = threads.getPlace(layout, index);
    values.push_back(b.branch(
        threads.getInside(layout, index), b.getF32Type(),
        [&] {
          return SmallVector<Value>{reduceElements(op, tile, coordinates)};
        },
        [&] { return SmallVector<Value>{neutral}; })[0]);
  }
  if (!isInPlace)
    sharedTiles.release(tile);
  program.setRegisters(op.getResult(), std::move(values));
  return success();
}

void ReductionEmitter::emitAllFinite(AllFiniteOp op) {
  SmallVector<Value> values;
  for (Value tile : op.getTiles()) {
    const TileLayout &layout = program.getLayout(getTile(tile));
    for (auto [index, value] : llvm::enumerate(program.getRegisters(tile)))
      if (!layout.isPadding(index))
        values.push_back(
            b.select(threads.getInside(layout, index), value, b.f32(0)));
  }
  Value sum = addUpMarks(b, values);
  Value areMine =
      b.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, sum, b.f32(0));
  const ThreadScope &scope = threads.getScope();
  program.map(op.getResult(),
              ptx::allThreads(b, scope.barrier, scope.numThreads, areMine));
}

void nsacc::addReductions(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<ReductionEmitter>(kernel),
              &ReductionEmitter::emitReduce, &ReductionEmitter::emitAllFinite);
}
