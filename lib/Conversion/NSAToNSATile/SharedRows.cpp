//===- SharedRows.cpp - Rows that select together -------------------------===//

#include "Selecting.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

FailureOr<Sharing> nsacc::getSharing(PlanBuilder &plan, const QueryShape &shape,
                                     TopKOp op,
                                     nsatile::ScheduleAttr schedule) {
  Attribute head = op.getResult().getType().getDims().back();
  Sharing sharing;
  sharing.shareTokens = op.getShareTokens();
  sharing.tokens = llvm::alignTo(schedule.getTokens(), sharing.shareTokens);
  sharing.heads = head == shape.dims.head ? shape.group : 1;
  int64_t share = op.getShareHeads();
  int64_t heads = *plan.getStaticSize(head);
  if (heads % share != 0)
    return op.emitError("share heads ") << share << " doesn't divide the "
                                        << heads << " heads of the importance";
  if (share % sharing.heads != 0 && sharing.heads % share != 0) {
    InFlightDiagnostic error = op.emitError("a selection that ")
                               << share << " query heads share of groups of "
                               << sharing.heads << " isn't compiled yet";
    error.attachNote() << "run the program with --target oracle";
    return error;
  }
  sharing.shareHeads = std::min(share, sharing.heads);
  sharing.keyHeads = share / sharing.shareHeads;
  // Each list takes much of a program's memory, so heads that don't share have
  // separate programs.
  if (schedule.getMethod() == nsatile::SelectMethod::Threshold) {
    sharing.parts = sharing.heads / sharing.shareHeads;
    sharing.heads = sharing.shareHeads;
  }
  return sharing;
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

static Value getNumTokens(ProgramBuilder &program, SelectionType type,
                          Value batchRow) {
  NamedDimAttr dim = program.getPlan().getNamedDim(type.getOf());
  return program.getRow(dim, batchRow).size;
}

/// Positions of a batch row's tokens count from `shift`, and rows that share
/// are neighbours by position. Tiles start at a multiple of the tokens that
/// share.
static QueryPlace getAlignedPlace(ProgramBuilder &program,
                                  const QueryGrid &grid, SelectionType type) {
  IndexMath m = program.math();
  QueryPlace place = getPlace(program, grid);
  int64_t share = grid.shareTokens;
  if (share == 1)
    return place;
  Value shift =
      m.sub(getNumTokens(program, type, place.batchRow),
            program.getRow(grid.shape.dims.token, place.batchRow).size);
  place.origin = m.sub(m.mul(m.floorDiv(shift, share), share), shift);
  return place;
}

/// Number of blocks that a tile takes. Candidates have to come in the order of
/// their blocks, which they don't in a tile that leaves blocks out.
static int64_t getChunk(TopKOp op, nsatile::ScheduleAttr schedule) {
  bool isOrdered = schedule.getMethod() == nsatile::SelectMethod::Sort ||
                   ImportanceTiles::getPeriod(op.getImportance()) == 1;
  return isOrdered ? schedule.getTileColumns() : 1;
}

Selecting::Selecting(ProgramBuilder &program, const QueryGrid &grid, TopKOp op,
                     nsatile::ScheduleAttr schedule, Sharing sharing)
    : program(program), builder(program.getBuilder()), loc(program.getLoc()),
      shape(grid.shape), op(op), schedule(schedule), sharing(sharing),
      type(op.getResult().getType()),
      place(getAlignedPlace(program, grid, type)),
      firstKeyHead(program.math().mul(place.keyHead, sharing.keyHeads)),
      tile(getTile(firstKeyHead)),
      tiles(program, tile, shape.keyHead, schedule),
      chunk(getChunk(op, schedule)),
      math(builder, loc, sharing.getUnits(), chunk) {
  IndexMath m = program.math();
  Value tokens = getNumTokens(program, type, tile.batchRow);
  shift = m.sub(tokens, tile.numTokens);
  numBlocks = m.ceilDiv(tokens, type.getBlock());
  representative = getRepresentative();
}

QueryTile Selecting::getTile(Value keyHead) {
  QueryPlace here = place;
  here.keyHead = keyHead;
  return createQueryTile(program, shape.dims, sharing.tokens,
                         shape.group / sharing.parts, here);
}

Value Selecting::getFirstHead(Value keyHead) {
  return place.firstHead ? place.firstHead
                         : program.math().mul(keyHead, sharing.heads);
}

Selecting::Representative Selecting::getRepresentative() {
  IndexMath m = program.math();
  int64_t units = sharing.getUnits(), unitHeads = sharing.getUnitHeads();
  auto rows = RankedTensorType::get({units}, builder.getIndexType());
  Tile unit = {nsatile::IotaOp::create(builder, loc, rows, m.constant(0)),
               TileAxes::Row};
  Tile group = unit, head = index(m.constant(0));
  if (unitHeads > 1) {
    Tile heads = index(m.constant(unitHeads));
    group = math.apply<arith::DivUIOp>(unit, heads);
    head = math.apply<arith::RemUIOp>(unit, heads);
  }
  auto scale = [&](Tile tile, int64_t factor) {
    return factor == 1
               ? tile
               : math.apply<arith::MulIOp>(tile, index(m.constant(factor)));
  };
  Tile token = math.apply<arith::AddIOp>(scale(group, sharing.shareTokens),
                                         index(tile.firstToken));
  if (sharing.shareTokens > 1) {
    // The token has to exist.
    if (op.getShareTokensBy() == ShareBy::First) {
      token = math.apply<arith::MaxSIOp>(token, index(m.constant(0)));
    } else {
      token = math.apply<arith::AddIOp>(
          token, index(m.constant(sharing.shareTokens - 1)));
      token =
          math.apply<arith::MinSIOp>(token, index(m.add(tile.numTokens, -1)));
    }
  }
  int64_t member = op.getShareHeadsBy() == ShareBy::Last
                       ? sharing.shareHeads * sharing.keyHeads - 1
                       : 0;
  head = math.apply<arith::AddIOp>(
      scale(head, sharing.shareHeads),
      index(m.add(getFirstHead(firstKeyHead), member)));
  return {token, head};
}

//===----------------------------------------------------------------------===//
// Importance of blocks
//===----------------------------------------------------------------------===//

static EntryReduction::Kind getKind(ShareBy by) {
  switch (by) {
  case ShareBy::First: // of one member
  case ShareBy::Last:
  case ShareBy::Sum:
    return EntryReduction::Kind::Sum;
  case ShareBy::Mean:
    return EntryReduction::Kind::Mean;
  case ShareBy::Max:
    return EntryReduction::Kind::Max;
  }
  llvm_unreachable("unknown way to share");
}

Tile Selecting::reduceTokens(const QueryTile &from, Tile scores,
                             int64_t count) {
  if (sharing.shareTokens == 1)
    return scores;
  IndexMath m = program.math();
  int64_t rows = sharing.tokens * sharing.heads;
  TileMath all(builder, loc, rows, count);
  Value tokens = from.tokenOfRow;
  if (sharing.heads != from.group)
    tokens = nsatile::IotaOp::create(
        builder, loc, RankedTensorType::get({rows}, builder.getIndexType()),
        from.firstToken);
  Tile token = {tokens, TileAxes::Row};
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
    return all.compare(predicate, token, index(bound));
  };
  Tile exists = all.apply<arith::AndIOp>(
      compare(arith::CmpIPredicate::sge, m.constant(0)),
      compare(arith::CmpIPredicate::slt, from.numTokens));
  if (op.getShareTokensBy() == ShareBy::First ||
      op.getShareTokensBy() == ShareBy::Last) {
    bool isFirst = op.getShareTokensBy() == ShareBy::First;
    Tile place = all.apply<arith::RemUIOp>(
        all.apply<arith::SubIOp>(token, index(from.firstToken)),
        index(m.constant(sharing.shareTokens)));
    Tile atEdge =
        all.compare(arith::CmpIPredicate::eq, place,
                    index(m.constant(isFirst ? 0 : sharing.shareTokens - 1)));
    // A group that the batch row's end cuts has its edge there.
    Tile atEnd = compare(arith::CmpIPredicate::eq,
                         isFirst ? m.constant(0) : m.add(from.numTokens, -1));
    exists = all.apply<arith::AndIOp>(exists,
                                      all.apply<arith::OrIOp>(atEdge, atEnd));
  }
  scores = all.select(exists, scores, real(kAbsent));
  return reduceWithin(builder, loc, scores, getKind(op.getShareTokensBy()),
                      sharing.getGroups(), sharing.shareTokens);
}

/// Makes a unit's rows absent, but for the rows of `head`.
Tile Selecting::keepHead(Tile scores, int64_t head, int64_t count) {
  IndexMath m = program.math();
  int64_t rows = sharing.getGroups() * sharing.heads;
  TileMath all(builder, loc, rows, count);
  Tile row = {nsatile::IotaOp::create(
                  builder, loc,
                  RankedTensorType::get({rows}, builder.getIndexType()),
                  m.constant(0)),
              TileAxes::Row};
  Tile member =
      all.apply<arith::RemUIOp>(row, index(m.constant(sharing.shareHeads)));
  Tile kept =
      all.compare(arith::CmpIPredicate::eq, member, index(m.constant(head)));
  return all.select(kept, scores, real(kAbsent));
}

Tile Selecting::getScores(const Columns &columns) {
  int64_t count = columns.count;
  ShareBy by = op.getShareHeadsBy();
  bool isLast = by == ShareBy::Last, isOne = isLast || by == ShareBy::First;
  auto reduceHeads = [&](EntryReduction &reduction, Tile scores) {
    if (isOne && sharing.shareHeads > 1)
      scores = keepHead(scores, isLast ? sharing.shareHeads - 1 : 0, count);
    reduction.addWithin(scores, sharing.getUnits(), sharing.shareHeads);
  };
  if (sharing.keyHeads == 1) {
    Tile scores =
        reduceTokens(tile, tiles.evaluate(importance(), columns), count);
    if (sharing.shareHeads == 1)
      return scores;
    EntryReduction reduction(math, getKind(by));
    reduceHeads(reduction, scores);
    return reduction.get();
  }

  // Goes over one key head after the other.
  IndexMath m = program.math();
  int64_t begin = isLast ? sharing.keyHeads - 1 : 0;
  int64_t end = by == ShareBy::First ? 1 : sharing.keyHeads;
  EntryReduction start(math, getKind(by));
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(begin), m.constant(end), m.constant(1),
      start.getCarried(),
      [&](OpBuilder &, Location, Value member, ValueRange carried) {
        QueryTile other = getTile(m.add(firstKeyHead, member));
        ImportanceTiles others(program, other, shape.keyHead, schedule);
        // The first key head's check is valid for the others.
        (void)others.prepare(importance());
        EntryReduction reduction(math, getKind(by), carried);
        reduceHeads(
            reduction,
            reduceTokens(other, others.evaluate(importance(), columns), count));
        scf::YieldOp::create(builder, loc, reduction.getCarried());
      });
  return EntryReduction(math, getKind(by), loop.getResults()).get();
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// Stores the list of a group for each of its tokens that exists, and all heads
/// of a unit.
void Selecting::storeShared(Value indices, Value firstColumn) {
  IndexMath m = program.math();
  int64_t width = cast<RankedTensorType>(indices.getType()).getDimSize(1);
  int64_t unitHeads = sharing.getUnitHeads();
  auto attr = [&](int64_t value) -> OpFoldResult {
    return builder.getIndexAttr(value);
  };
  auto loopOver = [&](Value begin, Value end,
                      llvm::function_ref<void(Value)> body) {
    scf::ForOp::create(builder, loc, begin, end, m.constant(1), ValueRange(),
                       [&](OpBuilder &, Location, Value index, ValueRange) {
                         body(index);
                         scf::YieldOp::create(builder, loc);
                       });
  };
  Value first = m.max(tile.firstToken, m.constant(0));
  Value end = m.min(m.add(tile.firstToken, tile.tokens), tile.numTokens);
  loopOver(first, end, [&](Value token) {
    Value group =
        m.floorDiv(m.sub(token, tile.firstToken), sharing.shareTokens);
    Value lists = tensor::ExtractSliceOp::create(
        builder, loc, indices,
        SmallVector<OpFoldResult>{m.mul(group, unitHeads), attr(0)},
        SmallVector<OpFoldResult>{attr(unitHeads), attr(width)},
        SmallVector<OpFoldResult>{attr(1), attr(1)});
    Value repeated = nsatile::BroadcastOp::create(
        builder, loc,
        RankedTensorType::get({unitHeads, sharing.shareHeads, width},
                              builder.getI32Type()),
        lists, ArrayRef<int64_t>{1});
    SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
    repeated = tensor::CollapseShapeOp::create(builder, loc, repeated, groups);
    loopOver(m.constant(0), m.constant(sharing.keyHeads), [&](Value member) {
      nsatile::TilePlace place = {.offsets = tile.getBatch()};
      int64_t dim = place.offsets.size();
      Value keyHead = m.add(firstKeyHead, member);
      place.offsets.append(
          {m.add(tile.rowStart, token), getFirstHead(keyHead), firstColumn});
      place.limits = {program.getSize(type.getDims().back()),
                      m.constant(type.getTop())};
      place.dims = {dim + 1, dim + 2};
      nsatile::storeTile(builder, loc, repeated,
                         program.getBuffer(op.getResult()), place);
    });
  });
}
