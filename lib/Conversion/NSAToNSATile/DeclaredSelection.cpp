//===- DeclaredSelection.cpp - Handed-in selections and their unions ------===//

#include "NSA/IR/NSANames.h"
#include "NSATile/IR/Remarks.h"
#include "SelectionLists.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static constexpr nsatile::PassRemarks kListRemarks = {"convert-nsa-to-nsatile",
                                                      "Lists"};

/// Number of lists of a width that one program orders, for whose indices
/// registers have room. Wide lists are spread over all threads, like tiles of
/// few rows.
static int64_t countLists(int64_t width) {
  constexpr int64_t narrow = 128, most = 16, wide = 512, mostWide = 4;
  return width <= narrow ? most
         : width <= wide ? mostWide
                         : std::max<int64_t>(1, mostWide * wide / width);
}

namespace {

/// A program that writes some neighbouring lists of a selection, of one batch
/// row and head. They are ordered where a reader asks for it. Otherwise they
/// stay as they are, and a program has a part of wide lists.
class ListProgram {
public:
  /// `selection` is an op with the written selection as its only result.
  ListProgram(PlanBuilder &plan, Operation *selection, StringRef name);

protected:
  static Tile scalar(Value value) { return {value, TileAxes::Scalar}; }
  Tile iota(TileAxes axes, Value start) {
    auto shape =
        cast<RankedTensorType>(math.getType(axes, builder.getIndexType()));
    return {nsatile::IotaOp::create(builder, loc, shape, start), axes};
  }
  Tile toIndex(Tile tile) {
    return math.convert<arith::IndexCastOp>(tile, builder.getIndexType());
  }
  Tile both(Tile a, Tile b) { return math.apply<arith::AndIOp>(a, b); }
  Tile either(Tile a, Tile b) { return math.apply<arith::OrIOp>(a, b); }
  Tile isBelow(Tile a, Tile b) {
    return math.compare(arith::CmpIPredicate::slt, a, b);
  }
  /// Indices in front of the given ones: the batch row's, where the batch is
  /// dense.
  SmallVector<Value> getBatch() const {
    return isRagged ? SmallVector<Value>() : SmallVector<Value>{batchRow};
  }
  /// Place of the program's lists in a tensor [.., tokens, heads, top].
  nsatile::TilePlace getListPlace();
  /// Loads an element of `tensor` for each of the lists, from the one at
  /// `first` on; 0 behind the batch row's end.
  Tile loadRows(Value tensor, Value first, bool headsFirst = false);
  /// Gathers elements of `tensor`, [.., tokens, heads, …], at these indices.
  /// Indices outside give any element.
  Tile gather(Value tensor, ArrayRef<Tile> indices);
  /// Asserts that `holds` is true for each element. `values` are the message's
  /// values behind the op's number.
  void require(Tile holds, const std::string &message, ArrayRef<Tile> values);
  /// Number of a list's parts. Each has a program.
  int64_t countParts() const {
    return llvm::divideCeil(static_cast<int64_t>(type.getTop()), width);
  }
  /// Reports the lists, and the entries of each, that a program has.
  void report();
  /// Writes the lists, of i32 or i64. Negative entries are none.
  void store(Tile blocks);

  PlanBuilder &plan;
  Operation *op;
  SelectionType type;
  bool isRagged;
  /// The op that needs a list's blocks in order; null for none.
  Operation *orderedReader;
  /// Number of each list's entries that the program has.
  int64_t width;
  ProgramBuilder program;
  OpBuilder &builder;
  Location loc;
  IndexMath m;
  TileMath math;
  RowGrid grid;
  Value batchRow, head, firstColumn;
  ProgramBuilder::Row row;
  /// First list, and end of the batch row's lists, in the tensor.
  Value firstList, end;
  /// Indices of the program's lists, and of its entries within each list.
  Tile lists, columns;
};

class HandedIn : ListProgram {
public:
  HandedIn(PlanBuilder &plan, DeclareSelectionOp op)
      : ListProgram(plan, op, "order"), op(op) {}
  void build();

private:
  /// Entries of the lists: their blocks, whether they exist, and their places.
  struct Entries {
    Tile blocks, exist;
    SmallVector<Tile> place;
  };
  Entries load();
  Entries loadPacked();
  /// Whether entries are in front of their list's count; false where the count
  /// is wrong.
  Tile isCounted();
  void assertLists();
  /// Asserts that the bounds of lists are among the entries, in order and not
  /// too far from each other. Returns whether each list exists with such
  /// bounds.
  Tile assertOffsets(Tile starts, Tile ends,
                     const ProgramBuilder::Row &entries);
  Tile isWithin(Tile value, Tile greatest) {
    return both(
        math.compare(arith::CmpIPredicate::sge, value, scalar(m.constant(0))),
        math.compare(arith::CmpIPredicate::sle, value, greatest));
  }
  Tile isNot(Tile condition) {
    return math.apply<arith::XOrIOp>(condition,
                                     math.integer(builder.getI1Type(), 1));
  }
  void assertBlocks(const Entries &entries);
  /// Values of a message about an element of a tensor with these indices.
  SmallVector<Tile> getPlace(ArrayRef<Tile> indices);
  /// Indices into offsets or entries.
  SmallVector<Tile> getIndices(Value tensor, Tile place) {
    SmallVector<Tile> indices = {place, scalar(head)};
    if (op.hasHeadsFirst(tensor))
      std::swap(indices[0], indices[1]);
    return indices;
  }

  DeclareSelectionOp op;
};

class Union : ListProgram {
public:
  Union(PlanBuilder &plan, UnionOp op)
      : ListProgram(plan, op, "unite"), op(op) {}
  void build();

private:
  UnionOp op;
};

} // namespace

//===----------------------------------------------------------------------===//
// ListProgram
//===----------------------------------------------------------------------===//

static RowGrid getGrid(PlanBuilder &plan, SelectionType type, int64_t width) {
  ArrayRef<Attribute> dims = type.getDims();
  Attribute rows = type.getRowDim();
  return {.dim = rows,
          .rows = dims.size() == 2
                      ? plan.getNumRows(cast<NamedDimAttr>(rows).getName())
                      : plan.getSize(dims.front()),
          .tokens = countLists(width)};
}

/// Number of entries that a program has of lists with `top` entries.
static int64_t getWidth(int64_t top, bool isOrdered) {
  constexpr int64_t most = 512;
  return isOrdered ? top : std::min(top, most);
}

ListProgram::ListProgram(PlanBuilder &plan, Operation *selection,
                         StringRef name)
    : plan(plan), op(selection),
      type(cast<SelectionType>(op->getResult(0).getType())),
      isRagged(type.getDims().size() == 2),
      orderedReader(findOrderedReader(op->getResult(0))),
      width(getWidth(type.getTop(), orderedReader != nullptr)),
      program(plan, op->getLoc(), name), builder(program.getBuilder()),
      loc(program.getLoc()), m(program.math()),
      math(builder, loc, countLists(width), width),
      grid(getGrid(plan, type, width)) {
  RowTile tile = getRowTile(program, grid);
  batchRow = tile.batchRow;
  head = program.programId(1);
  firstColumn = m.constant(0);
  if (int64_t parts = countParts(); parts > 1) {
    Value number = head;
    head = m.floorDiv(number, parts);
    firstColumn = m.mul(m.sub(number, m.mul(head, parts)), width);
  }
  row = program.getRow(type.getRowDim(), batchRow);
  firstList = m.add(row.start, m.mul(tile.number, grid.tokens));
  end = m.add(row.start, row.size);
  lists = iota(TileAxes::Row, firstList);
  columns = iota(TileAxes::Column, firstColumn);
  report();
}

void ListProgram::report() {
  std::string lists =
      llvm::formatv("a program has {0} lists and {1} of their {2} entries",
                    grid.tokens, width, type.getTop());
  if (orderedReader)
    kListRemarks.missed(op, lists + ": '" +
                                orderedReader->getName().getStringRef() +
                                "' needs blocks in order, so lists stay whole");
  else
    kListRemarks.passed(op, lists + ", in the order in which they stand");
}

nsatile::TilePlace ListProgram::getListPlace() {
  int64_t tokens = isRagged ? 0 : 1;
  nsatile::TilePlace place = {.offsets = getBatch(),
                              .limits = {end, m.constant(type.getTop())},
                              .dims = {tokens, tokens + 2},
                              .shape = {countLists(width), width}};
  place.offsets.append({firstList, head, firstColumn});
  return place;
}

Tile ListProgram::loadRows(Value tensor, Value first, bool headsFirst) {
  SmallVector<Value> offsets = getBatch();
  SmallVector<int64_t> dims = {static_cast<int64_t>(offsets.size()) +
                               headsFirst};
  offsets.append({first, head});
  if (headsFirst)
    std::swap(offsets.end()[-2], offsets.end()[-1]);
  Value loaded = nsatile::loadTile(builder, loc, program.getBuffer(tensor),
                                   {.offsets = offsets,
                                    .limits = {end},
                                    .dims = dims,
                                    .shape = {countLists(width)}});
  return toIndex({loaded, TileAxes::Row});
}

Tile ListProgram::gather(Value tensor, ArrayRef<Tile> indices) {
  Value buffer = program.getBuffer(tensor);
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  SmallVector<Value> operands;
  for (Value index : getBatch())
    operands.push_back(math.toMatrix(scalar(index)));
  for (Tile index : indices)
    operands.push_back(math.toMatrix(index));
  return {nsatile::GatherOp::create(builder, loc,
                                    math.getType(TileAxes::Matrix, element),
                                    buffer, operands),
          TileAxes::Matrix};
}

void ListProgram::require(Tile holds, const std::string &message,
                          ArrayRef<Tile> values) {
  SmallVector<Value> operands = {m.constant(getOpNumber(op))};
  for (Tile each : values)
    operands.push_back(each.axes == TileAxes::Scalar
                           ? each.value
                           : math.broadcastTo(each, holds.axes));
  nsatile::AssertOp::create(builder, op->getLoc(), holds.value,
                            builder.getStringAttr(message), operands);
}

void ListProgram::store(Tile blocks) {
  Type i32 = builder.getI32Type();
  if (cast<RankedTensorType>(blocks.value.getType())
          .getElementType()
          .isInteger(64))
    blocks = math.convert<arith::TruncIOp>(blocks, i32);
  if (orderedReader) {
    blocks = sortDistinct(math, blocks);
    Tile isPadding = math.compare(arith::CmpIPredicate::eq, blocks,
                                  math.integer(i32, kListPadding));
    blocks = math.select(isPadding, math.integer(i32, -1), blocks);
  }
  nsatile::TilePlace place = getListPlace();
  nsatile::storeTile(builder, loc, blocks.value,
                     program.getBuffer(op->getResult(0)), place);
  launch(program, grid,
         plan.math().mul(plan.getSize(type.getDims().back()), countParts()));
}

//===----------------------------------------------------------------------===//
// Handed-in selections
//===----------------------------------------------------------------------===//

SmallVector<Tile> HandedIn::getPlace(ArrayRef<Tile> indices) {
  SmallVector<Tile> place;
  for (Value index : getBatch())
    place.push_back(scalar(index));
  place.append(indices.begin(), indices.end());
  return place;
}

Tile HandedIn::isCounted() {
  Tile counts = loadRows(op.getCount(), firstList);
  Tile inside = isWithin(counts, scalar(m.constant(type.getTop())));
  SmallVector<Tile> values = getPlace({lists, scalar(head)});
  values.push_back(counts);
  require(either(inside, isNot(isBelow(lists, scalar(end)))),
          "count " + describeTensor(op.getCount()) + " at " +
              describeElement(op.getCount(), /*first=*/1) + " is {" +
              std::to_string(values.size()) + "}, but must be 0 to " +
              std::to_string(type.getTop()) + " (top)",
          values);
  return both(inside, isBelow(columns, counts));
}

HandedIn::Entries HandedIn::load() {
  nsatile::TilePlace place = getListPlace();
  Value loaded = nsatile::loadTile(builder, loc,
                                   program.getBuffer(op.getIndices()), place);
  Tile exist = isBelow(lists, scalar(end));
  if (op.getCount())
    exist = both(exist, isCounted());
  else if (type.getTop() % width != 0)
    exist = both(exist, isBelow(columns, scalar(m.constant(type.getTop()))));
  return {{loaded, TileAxes::Matrix},
          exist,
          getPlace({lists, scalar(head), columns})};
}

Tile HandedIn::assertOffsets(Tile starts, Tile ends,
                             const ProgramBuilder::Row &entries) {
  Tile most = scalar(entries.size), one = scalar(m.constant(1));
  Tile next = math.apply<arith::AddIOp>(lists, one);
  Tile exist = isBelow(next, scalar(end));
  std::string offset = "offset " + describeTensor(op.getOffsets()) + " at " +
                       describeElement(op.getOffsets(), /*first=*/1) + " is {";
  auto place = [](const SmallVector<Tile> &values) {
    return std::to_string(values.size());
  };
  for (auto [list, value] : {std::pair(lists, starts), std::pair(next, ends)}) {
    Tile inside = isWithin(value, most);
    SmallVector<Tile> values = getPlace(getIndices(op.getOffsets(), list));
    values.push_back(value);
    std::string message = offset + place(values) + "}, but must be 0 to {";
    values.push_back(most);
    message += place(values) + "}, the number of indices of batch row {";
    values.push_back(scalar(batchRow));
    require(either(inside, isNot(exist)), message + place(values) + "}",
            values);
    exist = both(exist, inside);
  }
  Tile size = math.apply<arith::SubIOp>(ends, starts);
  Tile grows =
      math.compare(arith::CmpIPredicate::sge, size, scalar(m.constant(0)));
  SmallVector<Tile> values = getPlace(getIndices(op.getOffsets(), next));
  values.push_back(ends);
  std::string message = offset + place(values) + "} behind {";
  values.push_back(starts);
  message += place(values) + "}: ";
  require(either(grows, isNot(exist)), message + "offsets don't decrease",
          values);
  exist = both(exist, grows);
  Tile fits = isWithin(size, scalar(m.constant(type.getTop())));
  message += "a list has at most " + std::to_string(type.getTop()) +
             " (top) indices, found {";
  values.push_back(size);
  require(either(fits, isNot(exist)), message + place(values) + "}", values);
  return both(exist, fits);
}

/// Loads lists that stand behind each other. Wrong bounds of a list have been
/// reported, and its entries aren't looked at.
HandedIn::Entries HandedIn::loadPacked() {
  ProgramBuilder::Row entries = program.getRow(op.getEntryDim(), batchRow);
  bool headsFirst = op.hasHeadsFirst(op.getOffsets());
  Tile starts = loadRows(op.getOffsets(), firstList, headsFirst);
  Tile ends = loadRows(op.getOffsets(), m.add(firstList, 1), headsFirst);
  Tile exist = assertOffsets(starts, ends, entries);
  exist =
      both(exist, isBelow(columns, math.apply<arith::SubIOp>(ends, starts)));
  Tile position = math.apply<arith::AddIOp>(
      math.apply<arith::AddIOp>(starts, scalar(entries.start)), columns);
  SmallVector<Tile> indices = getIndices(op.getIndices(), position);
  return {gather(op.getIndices(), indices), exist, getPlace(indices)};
}

/// Asserts that existing indices are -1 or a block of the batch row's keys.
void HandedIn::assertBlocks(const Entries &entries) {
  NamedDimAttr keys = plan.getNamedDim(type.getOf());
  Value tokens = program.getRow(keys, batchRow).size;
  Value blocks = m.ceilDiv(tokens, type.getBlock());
  Tile value = toIndex(entries.blocks);
  Tile fits = both(
      math.compare(arith::CmpIPredicate::sge, value, scalar(m.constant(-1))),
      isBelow(value, scalar(blocks)));
  fits = either(fits, isNot(entries.exist));

  SmallVector<Tile> values = entries.place;
  size_t first = values.size() + 1;
  values.append({value, scalar(m.add(blocks, -1)), scalar(tokens),
                 scalar(batchRow), scalar(blocks)});
  auto place = [&](size_t index) {
    return "{" + std::to_string(first + index) + "}";
  };
  auto getMessage = [&](const std::string &range) {
    return "selection " + describeTensor(op.getIndices()) + " at " +
           describeElement(op.getIndices(), /*first=*/1) + " is " + place(0) +
           "; expected -1" + range + ": " + type.getOf().str() + " has " +
           place(2) + " tokens in batch row " + place(3) + ", " + place(4) +
           " blocks of " + std::to_string(type.getBlock());
  };
  Tile any =
      scalar(m.compare(arith::CmpIPredicate::sgt, blocks, m.constant(0)));
  Tile none =
      scalar(m.compare(arith::CmpIPredicate::sle, blocks, m.constant(0)));
  require(either(fits, none), getMessage(" or 0 to " + place(1)), values);
  require(either(fits, any), getMessage(""), values);
}

/// Asserts that each batch row has as many lists as the tokens of attentions
/// need.
void HandedIn::assertLists() {
  int64_t group = type.getTokens();
  std::string each = group == 1
                         ? "each of them has"
                         : "each " + std::to_string(group) + " of them have";
  bool isPacked = op.getOffsets() != nullptr;
  llvm::SmallSetVector<Attribute, 1> queries;
  auto findQueries = [&](auto &&self, Value selection) -> void {
    for (Operation *user : selection.getUsers())
      if (auto scoring = dyn_cast<ScoringOpInterface>(user))
        queries.insert(
            QueryDims::get(cast<NamedTensorType>(scoring.getQuery().getType()))
                .token);
      else if (auto whole = dyn_cast<UnionOp>(user))
        self(self, whole.getResult());
  };
  findQueries(findQueries, op.getResult());
  for (Attribute tokens : queries) {
    if (tokens == type.getRowDim())
      continue;
    Value size = program.getRow(tokens, batchRow).size;
    Value expected = m.add(m.ceilDiv(size, group), isPacked ? 1 : 0);
    Value holds = m.compare(arith::CmpIPredicate::eq, row.size, expected);
    Value counted = isPacked ? Value(op.getOffsets()) : Value(op.getIndices());
    std::string message =
        describeTensor(counted) + " has {2} " +
        (isPacked ? "offsets" : "rows of indices") +
        " in batch row {1}, expected {3}: " + toString(tokens) +
        " has {4} tokens, " +
        (isPacked ? each + " a list, and offsets are one more than lists"
                  : "and " + each + " one");
    require(
        scalar(holds), message,
        {scalar(batchRow), scalar(row.size), scalar(expected), scalar(size)});
  }
}

/// A handed-in selection is a set. Where programs walk its lists, each list is
/// sorted once, without repetitions.
void HandedIn::build() {
  if (isRagged)
    assertLists();
  Entries entries = op.getOffsets() ? loadPacked() : load();
  assertBlocks(entries);
  Type stored = op.getIndices().getType().getElementType();
  store(math.select(entries.exist, entries.blocks, math.integer(stored, -1)));
}

//===----------------------------------------------------------------------===//
// Unions
//===----------------------------------------------------------------------===//

/// Puts the parts' lists behind each other, and orders them where needed.
void Union::build() {
  Tile none = math.integer(builder.getI32Type(), -1);
  Tile blocks = none;
  Tile list = math.apply<arith::SubIOp>(lists, scalar(row.start));
  int64_t first = 0;
  for (Value part : op.getParts()) {
    auto own = cast<SelectionType>(part.getType());
    ProgramBuilder::Row rows = program.getRow(own.getRowDim(), batchRow);
    Tile number = math.apply<arith::DivUIOp>(
        list, scalar(m.constant(own.getTokens() / type.getTokens())));
    Tile column = math.apply<arith::SubIOp>(columns, scalar(m.constant(first)));
    bool isForAll = plan.getStaticSize(own.getDims().back()) == 1;
    Tile entries =
        gather(part, {math.apply<arith::AddIOp>(number, scalar(rows.start)),
                      scalar(isForAll ? m.constant(0) : head), column});
    Tile exist = both(isBelow(number, scalar(rows.size)),
                      both(math.compare(arith::CmpIPredicate::sge, column,
                                        scalar(m.constant(0))),
                           isBelow(column, scalar(m.constant(own.getTop())))));
    blocks = math.select(exist, entries, blocks);
    first += own.getTop();
  }
  if (hasRowsOfOffsets(op->getResult(0))) {
    Tile next = math.apply<arith::AddIOp>(lists, scalar(m.constant(1)));
    blocks = math.select(isBelow(next, scalar(end)), blocks, none);
  }
  store(blocks);
}

LogicalResult nsacc::buildDeclaredSelectionProgram(PlanBuilder &plan,
                                                   DeclareSelectionOp op) {
  HandedIn(plan, op).build();
  return success();
}

LogicalResult nsacc::buildUnionProgram(PlanBuilder &plan, UnionOp op) {
  Union(plan, op).build();
  return success();
}
