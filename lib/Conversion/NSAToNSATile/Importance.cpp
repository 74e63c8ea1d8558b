//===- Importance.cpp - Importances of one query tile ---------------------===//

#include "Importance.h"
#include "QueryProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

ImportanceTiles::ImportanceTiles(ProgramBuilder &program, const QueryTile &tile,
                                 Attribute keyHeadDim,
                                 nsatile::ScheduleAttr schedule)
    : program(program), builder(program.getBuilder()), loc(program.getLoc()),
      tile(tile), keyHeadTile(getKeyHeadTile(program, tile, keyHeadDim)),
      schedule(schedule), evaluator(program, tile, schedule),
      keyHeadEvaluator(program, keyHeadTile, schedule) {}

static Attribute getColumnDim(Value tensor) {
  return cast<NamedTensorType>(tensor.getType()).getDims().back();
}

bool ImportanceTiles::isPerQueryHead(Value tensor) {
  return cast<NamedTensorType>(tensor.getType()).getDims().end()[-2] ==
         tile.dims.head;
}

LogicalResult ImportanceTiles::prepare(Value tensor) {
  if (program.getPlan().isMaterialized(tensor) ||
      !prepared.insert(tensor).second)
    return success();
  Operation *op = tensor.getDefiningOp();
  if (auto declare = dyn_cast<DeclareBlocksOp>(op))
    return prepare(declare.getInput());
  if (auto blocks = dyn_cast<BlocksOp>(op))
    return prepare(blocks.getImportance());
  if (auto map = dyn_cast<MapOp>(op))
    return prepareMap(map);
  auto importance = dyn_cast<ImportanceOp>(op);
  if (!importance || importance.getSelection()) {
    InFlightDiagnostic error =
        op->emitOpError(importance ? "isn't compiled yet within a selection"
                                   : "isn't compiled yet as an importance");
    error.attachNote() << "run the program with --target oracle";
    return error;
  }
  auto &source = sources[op];
  source = std::make_unique<Source>(program, tile, importance, schedule);
  if (!importance.getLse())
    return success();
  FailureOr<Normalizer> normalizer =
      evaluator.evaluateNormalizer(importance.getLse());
  if (succeeded(normalizer))
    source->normalizer = *normalizer;
  return normalizer;
}

LogicalResult ImportanceTiles::prepareMap(MapOp op) {
  auto whole = cast<NamedTensorType>(op.getResult().getType());
  for (OpOperand &operand : op->getOpOperands()) {
    Value input = operand.get();
    auto type = cast<NamedTensorType>(input.getType());
    if (llvm::is_contained(type.getDims(), getColumnDim(op.getResult()))) {
      if (type.getDims() != whole.getDims())
        return op.emitError("arithmetic of an importance and a tensor of "
                            "dimensions ")
               << type << " isn't compiled yet";
      if (failed(prepare(input)))
        return failure();
      continue;
    }
    Evaluator &rows =
        isPerQueryHead(op.getResult()) ? evaluator : keyHeadEvaluator;
    FailureOr<Tile> tile =
        rows.evaluate(input, compose(getRowDims(whole), op.getPlaces(input)));
    if (failed(tile))
      return failure();
    rowOperands[&operand] = *tile;
  }
  return success();
}

static int64_t getPeriod(Value tensor, llvm::DenseMap<Value, int64_t> &known) {
  auto found = known.find(tensor);
  if (found != known.end())
    return found->second;
  int64_t period = 1;
  if (auto blocks = tensor.getDefiningOp<BlocksOp>()) {
    int64_t own = std::lcm<int64_t>(blocks.getBlock(),
                                    blocks.getPooledDim().getStride()) /
                  blocks.getBlock();
    period = own * getPeriod(blocks.getImportance(), known);
  } else if (auto map = tensor.getDefiningOp<MapOp>()) {
    for (Value input : map.getInputs())
      period = std::lcm(period, getPeriod(input, known));
  }
  return known[tensor] = period;
}

/// Number of columns after which blocks stand alike to the pooling stride
/// again, where it doesn't divide them.
int64_t ImportanceTiles::getPeriod(Value tensor) {
  llvm::DenseMap<Value, int64_t> known;
  return ::getPeriod(tensor, known);
}

Value ImportanceTiles::getNumColumns(Attribute dim) {
  PlanBuilder &plan = program.getPlan();
  // An importance has room for the longest row of a ragged batch.
  if (auto pooled = dyn_cast<PooledDimAttr>(dim)) {
    auto ofRow = PooledDimAttr::get(
        dim.getContext(), pooled.getBase(), pooled.getLen(), pooled.getStride(),
        pooled.getTail(), plan.isRagged(pooled.getBase()), pooled.getCount(),
        pooled.getOffset(), pooled.getMemory());
    return program.getRow(ofRow, tile.batchRow).size;
  }
  if (auto blocks = dyn_cast<BlocksDimAttr>(dim)) {
    NamedDimAttr tokens = plan.getNamedDim(blocks.getBase());
    return program.math().ceilDiv(program.getRow(tokens, tile.batchRow).size,
                                  blocks.getBlock());
  }
  return program.getSize(dim);
}

Value ImportanceTiles::getEnd(Value tensor) {
  IndexMath m = program.math();
  Operation *op = tensor.getDefiningOp();
  if (program.getPlan().isMaterialized(tensor))
    return getNumColumns(getColumnDim(tensor));
  if (auto importance = dyn_cast_or_null<ImportanceOp>(op)) {
    Source &source = *sources.find(op)->second;
    return source.scorer.getBounds().getLastKey(source.rows);
  }
  auto blocks = dyn_cast_or_null<BlocksOp>(op);
  if (!blocks)
    return getNumColumns(getColumnDim(tensor));
  // The end is in the block in which the last window ends.
  PooledDimAttr pooled = blocks.getPooledDim();
  Value last = m.add(getEnd(blocks.getImportance()), -1 - pooled.getMemory());
  Value end = m.add(m.mul(last, pooled.getStride()),
                    pooled.getFirstStart() + pooled.getLen());
  return m.min(m.max(m.ceilDiv(end, blocks.getBlock()), m.constant(0)),
               getNumColumns(getColumnDim(tensor)));
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// No tile is full: only its score of -inf tells that an entry is absent, so
/// every tile has to look.
nsatile::FoldOp nsacc::foldColumns(
    ProgramBuilder &program, Value end, int64_t columns, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(Value first, ValueRange state)>
        body) {
  IndexMath m = program.math();
  return foldColumnTiles(program, m.constant(0), m.ceilDiv(end, columns),
                         columns, inits, body);
}

nsatile::FoldOp nsacc::foldColumnTiles(
    ProgramBuilder &program, Value first, Value end, int64_t columns,
    ValueRange inits,
    llvm::function_ref<SmallVector<Value>(Value first, ValueRange state)>
        body) {
  OpBuilder &builder = program.getBuilder();
  IndexMath m = program.math();
  nsatile::FoldDomain domain = {.ranges = {{first, end, first, first}}};
  auto fold = nsatile::FoldOp::create(builder, program.getLoc(), domain,
                                      inits.getTypes(), inits);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&fold.getBody().front());
  SmallVector<Value> next =
      body(m.mul(fold.getTile(), columns), fold.getState());
  nsatile::YieldOp::create(builder, program.getLoc(), next);
  return fold;
}

Tile nsacc::getIndices(TileMath &math, const Columns &columns) {
  OpBuilder &builder = math.getBuilder();
  Location loc = math.getLoc();
  IndexMath m(builder, loc);
  auto type = RankedTensorType::get({columns.count}, builder.getIndexType());
  if (columns.step == 1)
    return {nsatile::IotaOp::create(builder, loc, type, columns.first),
            TileAxes::Column};
  Tile number = {nsatile::IotaOp::create(builder, loc, type, m.constant(0)),
                 TileAxes::Column};
  Tile step = {m.constant(columns.step), TileAxes::Scalar};
  return math.apply<arith::AddIOp>(math.apply<arith::MulIOp>(number, step),
                                   {columns.first, TileAxes::Scalar});
}

Tile ImportanceTiles::evaluate(Value tensor, const Columns &columns) {
  llvm::DenseMap<Value, Tile> known;
  return evaluate(tensor, columns, known);
}

Tile ImportanceTiles::evaluate(Value tensor, const Columns &columns,
                               llvm::DenseMap<Value, Tile> &known) {
  auto found = known.find(tensor);
  if (found != known.end())
    return found->second;
  Tile computed = compute(tensor, columns, known);
  return known[tensor] = computed;
}

Tile ImportanceTiles::compute(Value tensor, const Columns &columns,
                              llvm::DenseMap<Value, Tile> &known) {
  if (program.getPlan().isMaterialized(tensor))
    return load(tensor, columns);
  Operation *op = tensor.getDefiningOp();
  if (auto declare = dyn_cast<DeclareBlocksOp>(op))
    return evaluate(declare.getInput(), columns, known);
  if (auto blocks = dyn_cast<BlocksOp>(op))
    return evaluateBlocks(blocks, columns);
  if (auto map = dyn_cast<MapOp>(op))
    return evaluateMap(map, columns, known);
  return evaluateImportance(cast<ImportanceOp>(op), columns);
}

Tile ImportanceTiles::load(Value tensor, const Columns &columns) {
  IndexMath m = program.math();
  auto type = cast<NamedTensorType>(tensor.getType());
  bool perQueryHead = isPerQueryHead(tensor);
  nsatile::TilePlace place = {.offsets = tile.getBatch()};
  int64_t token = place.offsets.size();
  place.offsets.append({m.add(tile.rowStart, tile.firstToken),
                        perQueryHead ? tile.firstHead : tile.keyHead,
                        columns.first});
  place.dims = {token, token + 2};
  place.steps = {1, columns.step};
  place.shape = {tile.tokens, columns.count};
  place.limits = {m.add(tile.rowStart, tile.numTokens),
                  program.getSize(type.getDims().back())};
  if (perQueryHead) {
    place.dims.insert(place.dims.begin() + 1, token + 1);
    place.steps.insert(place.steps.begin() + 1, 1);
    place.shape.insert(place.shape.begin() + 1, tile.group);
    place.limits.insert(place.limits.begin() + 1,
                        program.getSize(tile.dims.head));
  }
  Value value =
      nsatile::loadTile(builder, loc, program.getBuffer(tensor), place);
  if (perQueryHead) {
    SmallVector<ReassociationIndices> rows = {{0, 1}, {2}};
    value = tensor::CollapseShapeOp::create(builder, loc, value, rows);
  }
  Tile loaded = {widen(builder, loc, value, type), TileAxes::Matrix};
  if (!tensor.getDefiningOp())
    return loaded;
  // Entries beyond the computed ones are absent.
  TileMath math(builder, loc, getRows(tensor), columns.count);
  loaded =
      keep(arith::CmpIPredicate::sge, m.constant(0), math, loaded, columns);
  return keep(arith::CmpIPredicate::slt, getNumColumns(type.getDims().back()),
              math, loaded, columns);
}

static EntryReduction::Kind getKind(HeadReduction heads) {
  switch (heads) {
  case HeadReduction::None: // of one head
  case HeadReduction::Sum:
    return EntryReduction::Kind::Sum;
  case HeadReduction::Mean:
    return EntryReduction::Kind::Mean;
  case HeadReduction::Max:
    return EntryReduction::Kind::Max;
  }
  llvm_unreachable("unknown reduction");
}

Tile ImportanceTiles::evaluateImportance(ImportanceOp op,
                                         const Columns &columns) {
  Source &source = *sources.find(op.getOperation())->second;
  IndexMath m = program.math();
  Value last = m.add(columns.first, (columns.count - 1) * columns.step);
  KeyTile keys = {.first = columns.first,
                  .count = columns.count,
                  .step = columns.step,
                  .partial = source.scorer.getBounds().isPartial(
                      source.bounds, keys.first, last),
                  .mayBeNegative = true};
  // A scale that the program gives may turn -inf around.
  bool rawScale = op.getKind() == ImportanceKind::Prob &&
                  op.getScale().empty() && op.getScore().empty();
  TileMath pairs(builder, loc, tile.getRows(), columns.count);
  Tile scores = {
      source.scorer.scoreVisible(source.rows, keys, rawScale, /*counts=*/false)
          .scores,
      TileAxes::Matrix};
  Tile value = scores;
  if (op.getKind() == ImportanceKind::Prob)
    value.value = nsatile::SoftmaxWeightsOp::create(
        builder, loc, scores.value, pairs.toMatrix(source.normalizer.lse),
        pairs.toMatrix(source.normalizer.residual),
        rawScale ? source.scorer.getScale() : getReal(pairs, 1.0).value,
        /*approximate=*/multipliesIn16Bits(op));
  else if (op.getKind() == ImportanceKind::Activation)
    value.value = source.scorer.weigh(source.rows, scores.value, keys);
  // A score of -inf is absent, whatever the weight makes of it.
  Tile present =
      pairs.compare(arith::CmpFPredicate::UNE, scores, getReal(pairs, kAbsent));
  value = pairs.select(present, value, getReal(pairs, kAbsent));
  if (isPerQueryHead(op.getResult()))
    return value;
  Entries entries = value;
  // A weight of -inf is absent, too.
  if (op.getKind() != ImportanceKind::Activation)
    entries.present = present;
  entries.mayBeNegative = op.getKind() != ImportanceKind::Prob;
  return reduceWithin(builder, loc, entries, getKind(op.getHeads()),
                      tile.tokens, tile.group);
}

static EntryReduction::Kind getKind(BlockMap map) {
  switch (map) {
  case BlockMap::Overlap:
  case BlockMap::Sum:
    return EntryReduction::Kind::Sum;
  case BlockMap::Mean:
    return EntryReduction::Kind::Mean;
  case BlockMap::Max:
    return EntryReduction::Kind::Max;
  }
  llvm_unreachable("unknown block map");
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {

/// Pooled entries that blocks meet. With r = n · block mod stride, entry (n ·
/// block - r) / stride + d behind the memory tokens covers [f, f + len) of
/// block n's tokens, where f = firstStart + d · stride - r. All columns of a
/// tile have the same r.
class BlockEntries {
public:
  BlockEntries(IndexMath m, BlocksOp op, const Columns &columns)
      : m(m), pooled(op.getPooledDim()), columns(columns),
        stride(pooled.getStride()), block(op.getBlock()),
        outermost(op.getEntries()), token(m.mul(columns.first, block)),
        start(m.floorDiv(token, stride)) {}

  /// Entry d of each column.
  Columns get(Value d) const {
    return {m.add(m.add(start, d), pooled.getMemory()), columns.count,
            getStep()};
  }

  /// Whether all blocks stand alike to the entries.
  bool areAlike() const { return block % stride == 0; }

  /// Number of tokens that entry d has of its block. Not above 0 where it has
  /// none.
  Value getTokens(Value d) const {
    Value rest =
        areAlike() ? m.constant(0) : m.sub(token, m.mul(start, stride));
    Value begin = m.sub(m.add(m.mul(d, stride), pooled.getFirstStart()), rest);
    return m.sub(m.min(m.add(begin, pooled.getLen()), m.constant(block)),
                 m.max(begin, m.constant(0)));
  }

  /// The first of the entries and the first past them, of `numEntries` that
  /// there are. Blocks of many windows may be longer than the sequence: the
  /// first column stays in front of the last entry for longest. Long windows
  /// may start before the sequence: the last column is the first to meet an
  /// entry.
  std::pair<Value, Value> getRange(Value numEntries) const {
    auto [lowest, highest] = outermost;
    int64_t reach = (columns.count - 1) * getStep();
    Value first = m.constant(lowest), past = m.constant(highest + 1);
    if (-lowest - reach >= kMany)
      first = m.min(past, m.max(first, m.sub(m.constant(-reach), start)));
    if (highest >= kMany)
      past = m.min(past, m.max(first, m.sub(numEntries,
                                            m.add(start, pooled.getMemory()))));
    return {first, past};
  }

private:
  /// With so many entries, it is worth checking which of them exist.
  static constexpr int64_t kMany = 1024;

  /// A single column has no step to the next.
  int64_t getStep() const {
    return columns.count == 1 ? 1 : columns.step * block / stride;
  }

  IndexMath m;
  PooledDimAttr pooled;
  const Columns &columns;
  int64_t stride, block;
  std::pair<int64_t, int64_t> outermost;
  Value token, start;
};

} // namespace

Tile ImportanceTiles::evaluateBlocks(BlocksOp op, const Columns &columns) {
  IndexMath m = program.math();
  PooledDimAttr pooled = op.getPooledDim();
  BlockEntries entries(m, op, columns);
  TileMath math(builder, loc, getRows(op.getResult()), columns.count);
  EntryReduction::Kind kind = getKind(op.getMap());
  auto evaluateEntry = [&](Value d) {
    Columns wanted = entries.get(d);
    Tile value = evaluate(op.getImportance(), wanted);
    // Memory tokens are in no block.
    if (pooled.getMemory() > 0)
      value = keep(arith::CmpIPredicate::sge, m.constant(pooled.getMemory()),
                   math, value, wanted);
    return value;
  };
  auto addEntry = [&](EntryReduction &reduction, Value d, Tile value) {
    Value tokens = entries.getTokens(d);
    if (!entries.areAlike()) {
      Tile meets = {m.less(m.constant(0), tokens), TileAxes::Scalar};
      value = math.select(meets, value, getReal(math, kAbsent));
    }
    if (op.getMap() == BlockMap::Overlap)
      reduction.add(value, getShare(math, tokens, pooled.getStride()));
    else
      reduction.add(value);
  };

  SmallVector<Value> inits = EntryReduction(math, kind).getCarried();
  std::optional<EntryReduction> whole;
  if (auto found = carried.find(op); found != carried.end()) {
    // Starts with the last entries: for the block behind, they are the first
    // ones.
    SmallVector<Value> &before = found->second;
    auto [lowest, highest] = op.getEntries();
    int64_t shared = before.size(), own = op.getBlock() / pooled.getStride();
    size_t numSums = inits.size();
    inits.append(before);
    auto loop = scf::ForOp::create(
        builder, loc, m.constant(0), m.constant(own), m.constant(1), inits,
        [&](OpBuilder &, Location, Value number, ValueRange state) {
          Value isShared = m.less(number, m.constant(shared));
          Value d = m.add(number, lowest);
          Tile value = evaluateEntry(arith::SelectOp::create(
              builder, loc, isShared, m.add(d, own), d));
          // Entry d of a block, if shared, is entry d + own of the block in
          // front.
          ValueRange last = state.drop_front(numSums);
          Tile isOfFront = {isShared, TileAxes::Scalar};
          Tile inFront = {
              nsatile::ShiftOp::create(builder, loc, last.front(), value.value),
              TileAxes::Matrix};
          EntryReduction reduction(math, kind, state.take_front(numSums));
          addEntry(reduction, d, math.select(isOfFront, inFront, value));
          SmallVector<Value> next = reduction.getCarried();
          SmallVector<Value> behind(last.drop_front());
          behind.push_back(value.value);
          for (auto [moved, kept] : llvm::zip_equal(behind, last))
            next.push_back(math.select(isOfFront, {moved, TileAxes::Matrix},
                                       {kept, TileAxes::Matrix})
                               .value);
          scf::YieldOp::create(builder, loc, next);
        });
    whole.emplace(math, kind, loop.getResults().take_front(numSums));
    before = llvm::to_vector_of<Value>(loop.getResults().drop_front(numSums));
    for (auto [n, entry] : llvm::enumerate(before))
      addEntry(*whole, m.constant(highest - shared + 1 + n),
               {entry, TileAxes::Matrix});
  } else {
    auto [first, past] = entries.getRange(getNumColumns(pooled));
    auto loop = scf::ForOp::create(
        builder, loc, first, past, m.constant(1), inits,
        [&](OpBuilder &, Location, Value d, ValueRange state) {
          EntryReduction reduction(math, kind, state);
          addEntry(reduction, d, evaluateEntry(d));
          scf::YieldOp::create(builder, loc, reduction.getCarried());
        });
    whole.emplace(math, kind, loop.getResults());
  }
  Tile value = whole->get();
  // A row's last window may reach behind its last block.
  Attribute dim = getColumnDim(op.getResult());
  if (!program.getPlan().isRagged(cast<BlocksDimAttr>(dim).getBase()))
    return value;
  return keep(arith::CmpIPredicate::slt, getNumColumns(dim), math, value,
              columns);
}

void ImportanceTiles::startCarrying(Value tensor, int64_t count) {
  Operation *op = tensor.getDefiningOp();
  if (!op || program.getPlan().isMaterialized(tensor))
    return;
  if (isa<MapOp, DeclareBlocksOp>(op)) {
    for (Value operand : op->getOperands())
      startCarrying(operand, count);
    return;
  }
  auto blocks = dyn_cast<BlocksOp>(op);
  if (!blocks)
    return;
  int64_t shared = blocks.getNumSharedEntries();
  int64_t own = blocks.getBlock() / blocks.getPooledDim().getStride();
  // Windows that begin before token 0 are in the block in front of the first.
  if (shared == 0 || shared > own || blocks.getPooledDim().getFirstStart() < 0)
    return;
  TileMath math(builder, loc, getRows(tensor), count);
  carried[op].assign(shared, math.toMatrix(getReal(math, kAbsent)));
}

SmallVector<Value> ImportanceTiles::getCarried() const {
  SmallVector<Value> values;
  for (const auto &[op, entries] : carried)
    values.append(entries);
  return values;
}

void ImportanceTiles::setCarried(ValueRange values) {
  for (auto &[op, entries] : carried) {
    entries = llvm::to_vector_of<Value>(values.take_front(entries.size()));
    values = values.drop_front(entries.size());
  }
}

//===----------------------------------------------------------------------===//
// Columns and maps
//===----------------------------------------------------------------------===//

/// Keeps the values of columns below `start`, or from `start` on. Others are
/// absent.
Tile ImportanceTiles::keep(arith::CmpIPredicate side, Value start,
                           TileMath &math, Tile value, const Columns &columns) {
  Tile indices = getIndices(math, columns);
  Tile isKept = math.compare(side, indices, {start, TileAxes::Scalar});
  return math.select(isKept, value, getReal(math, kAbsent));
}

/// Number of tokens over the stride.
Tile ImportanceTiles::getShare(TileMath &math, Value tokens, int64_t stride) {
  Value integer =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), tokens);
  Value number =
      arith::SIToFPOp::create(builder, loc, builder.getF32Type(), integer);
  return math.apply<arith::DivFOp>({number, TileAxes::Scalar},
                                   getReal(math, stride));
}

Tile ImportanceTiles::evaluateMap(MapOp op, const Columns &columns,
                                  llvm::DenseMap<Value, Tile> &known) {
  SmallVector<Tile> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    auto row = rowOperands.find(&operand);
    operands.push_back(row != rowOperands.end()
                           ? row->second
                           : evaluate(operand.get(), columns, known));
  }
  TileMath math(builder, loc, getRows(op.getResult()), columns.count);
  Tile value =
      tileRegion(op.getBody(), operands, math, {program, tile.batchRow});
  return {math.toMatrix(value), TileAxes::Matrix};
}

//===----------------------------------------------------------------------===//
// Importances as results
//===----------------------------------------------------------------------===//

LogicalResult nsacc::buildImportanceProgram(PlanBuilder &plan,
                                            const FoundShape &found,
                                            Value tensor, Value buffer) {
  const QueryShape &shape = *found.shape;
  nsatile::ScheduleAttr schedule = getSchedule(found.first);
  auto type = cast<NamedTensorType>(tensor.getType());
  Value width = plan.getBufferSize(buffer, type.getRank() - 1);
  ProgramBuilder program(plan, tensor.getLoc(), "importance", schedule);
  program.setOps(nsa::ScoringOpInterface(found.first).getOperation());
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  QueryGrid grid = {shape, schedule.getTokens()};
  QueryTile tile = createQueryTile(program, shape.dims, grid.tokens,
                                   shape.group, getPlace(program, grid));
  ImportanceTiles tiles(program, tile, shape.keyHead, schedule);
  if (failed(tiles.prepare(tensor)))
    return failure();

  IndexMath m = program.math();
  // Takes single columns where neighbours don't stand alike to the pooled keys.
  int64_t chunk =
      ImportanceTiles::getPeriod(tensor) == 1 ? schedule.getTileColumns() : 1;
  int64_t heads = tiles.getHeads(tensor);
  Value end = program.import(width), target = program.import(buffer);
  auto body = [&](Value first, ValueRange) -> SmallVector<Value> {
    Value value = tiles.evaluate(tensor, {first, chunk}).value;
    value = narrow(builder, loc, value,
                   cast<MemRefType>(buffer.getType()).getElementType());
    value = tensor::ExpandShapeOp::create(
        builder, loc,
        cast<RankedTensorType>(value.getType())
            .clone({tile.tokens, heads, chunk}),
        value, SmallVector<ReassociationIndices>{{0, 1}, {2}});
    nsatile::TilePlace place = {.offsets = tile.getBatch()};
    int64_t token = place.offsets.size();
    place.offsets.append({m.add(tile.rowStart, tile.firstToken),
                          m.mul(tile.keyHead, heads), first});
    place.limits = {m.add(tile.rowStart, tile.numTokens),
                    program.getSize(type.getDims().end()[-2]), end};
    place.dims = {token, token + 1, token + 2};
    nsatile::storeTile(builder, loc, value, target, place);
    return {};
  };
  foldColumns(program, end, chunk, {}, body);
  launch(program, grid);
  return success();
}
